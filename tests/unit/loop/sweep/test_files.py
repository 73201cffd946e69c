# SPDX-License-Identifier: Apache-2.0

"""The sweep file, the journal and the results."""

import json
import os
import pathlib
import tempfile
from unittest import mock

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.files.tiers import reader as tiers_reader
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_journal as journals
from cinder_tiers.loop.sweep import file_reader
from cinder_tiers.loop.sweep import file_results
from cinder_tiers.loop.sweep import kept as keeping
from cinder_tiers.loop.sweep import record

TIERS = """version: 1
clusters: {ceph: {}}
tiers:
  database:
    fallback: true
    rbd:
      cluster: ceph
      pool: tier-database
      device_class: ssd
      replicated: {size: 3}
      osd_options: {osd_recovery_sleep: 0.1}
  plain:
    backend: b0
  theirs:
    take_over: false
    backend: b1
"""
SOUND = """version: 1
tier: database
seed: 5
factors:
  osd_options:
    osd_recovery_sleep: [0, 0.5]
    osd_max_scrubs: [2]
  guest:
    iodepth: [4]
"""


ETC = pathlib.Path(__file__).resolve().parents[4] / 'etc' / 'cinder-tiers'


#: {paper: (treatments, blocks)}
PAPERS = {
    'meyer2016': (7, 9),
    'ornl2013': (17, 3),
    'poat2016': (2, 3),
    'lin2013': (24, 3),
}


@ddt.ddt
class ShippedTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.tiers = tiers_reader.read(str(ETC / 'tiers.yaml'))

    def test_each_sweep_of_a_paper_is_known_here(self):
        self.assertEqual(
            {f'sweep-{paper}.yaml' for paper in PAPERS},
            {path.name for path in ETC.glob('sweep-*.yaml')},
        )

    @ddt.data(*PAPERS)
    def test_the_sweep_of_a_paper_fits_the_sample_tiers_file(self, paper):
        path = str(ETC / f'sweep-{paper}.yaml')
        treatments, blocks = PAPERS[paper]
        file = file_reader.read_file(path, self.tiers)
        self.assertEqual(
            (treatments, blocks),
            (len(file.sweep.treatments), file.sweep.blocks),
        )
        smoke = file_reader.read_file(path, self.tiers, blocks=2)
        self.assertEqual(2 * (treatments + 1), len(smoke.sweep.slots))

    @ddt.data(*PAPERS)
    def test_each_release_has_all_options_of_the_sweep(self, paper):
        file = file_reader.read_file(
            str(ETC / f'sweep-{paper}.yaml'), self.tiers
        )
        used = {
            str(place[-1])
            for one in file.sweep.treatments
            for place in one.changes
        }
        missing = {
            name: found
            for name in used
            if (found := osd_options.releases_with().get(name)) != (16, 18, 20)
        }
        self.assertEqual({}, missing)

    @ddt.data(
        'osd_options: {ms_crc_data: [false]}',
        "osd_options: {debug_osd: ['0/0']}",
        'osd_options: {osd_op_threads: [8]}',
        'osd_options: {osd_disk_threads: [8]}',
        'osd_options: {filestore_flusher: [true]}',
        'pool_options: {size: [2]}',
        'primary_affinity: [0.5]',
        'cache: {mode: [writeback]}',
    )
    def test_what_papers_changed_and_no_sweep_can_is_refused(self, factors):
        self.assertRaises(
            errors.ProblemsFound,
            file_reader.read_text,
            f'version: 1\ntier: general\nfactors:\n  {factors}\n',
            file='sweep.yaml',
            tiers=self.tiers,
        )


@ddt.ddt
class SweepFileTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        path = self.folder / 'tiers.yaml'
        path.write_text(TIERS)
        self.tiers = tiers_reader.read(str(path))

    def read(self, text):
        return file_reader.read_text(text, file='sweep.yaml', tiers=self.tiers)

    def problems(self, text):
        error = self.assertRaises(errors.ProblemsFound, self.read, text)
        return [str(one) for one in error.problems]

    def options(self, file, treatment):
        return dict(file.catalogs[treatment].tier('database').rbd.osd_options)

    def test_a_treatment_is_the_tiers_file_with_other_values(self):
        file = self.read(SOUND)
        self.assertEqual(
            [
                'osd_recovery_sleep=0',
                'osd_recovery_sleep=0.5',
                'osd_max_scrubs=2',
                'iodepth=4',
            ],
            [one.name for one in file.sweep.treatments],
        )
        self.assertEqual(
            {'osd_recovery_sleep': 0.5},
            self.options(file, 'osd_recovery_sleep=0.5'),
        )
        self.assertEqual(
            {'osd_recovery_sleep': 0.1, 'osd_max_scrubs': 2},
            self.options(file, 'osd_max_scrubs=2'),
        )
        self.assertEqual(self.tiers.catalog, file.catalogs[design.DEFAULT])
        self.assertEqual(self.tiers.catalog, file.catalogs['iodepth=4'])

    def test_named_treatments_have_all_options_at_once(self):
        file = self.read(
            'version: 1\ntier: database\ntreatments:\n'
            '  many: {osd_options: {osd_max_scrubs: 2, '
            'osd_recovery_sleep: 1}, guest: {bs: 4k}}\n'
        )
        self.assertEqual(
            {'osd_recovery_sleep': 1, 'osd_max_scrubs': 2},
            self.options(file, 'many'),
        )
        self.assertEqual({'bs': '4k'}, file.sweep.treatments[0].guest)

    def test_without_a_seed_there_is_one(self):
        file = self.read(SOUND.replace('seed: 5\n', ''))
        self.assertIsInstance(file.sweep.seed, int)

    def test_all_problems_are_told_with_their_lines(self):
        found = self.problems(
            """version: 1
tier: database
factors:
  osd_options:
    osd_op_threads: [1]
    osd_debug_drop_ping_probability: [1]
  pool_options:
    compression_mode: [aggressive, wrong]
    csum_type: [crc32c, none]
    quota_max_bytes: [5]
    allow_ec_optimizations: [true]
  rbd_options:
    rbd_qos_iops_burst: [5]
  qos:
    front_end: {totl_iops_sec: ['4']}
"""
        )
        for beginning, text in (
            (5, 'its replacement: osd_op_num_shards'),
            (6, 'with which OSDs can lose data'),
            (8, "'wrong' (text); expected one of aggressive"),
            (9, 'csum_type none; expected a checksum'),
            (10, 'quota_max_bytes 5'),
            (11, 'allow_ec_optimizations true'),
            (13, '5 without rbd_qos_iops_limit'),
            (15, "did you mean 'total_iops_sec'?"),
        ):
            self.assertTrue(
                any(
                    one.startswith(f'sweep.yaml:{beginning}:') and text in one
                    for one in found
                ),
                (beginning, text, found),
            )

    @ddt.data(
        ('tier: databas', "sweep.yaml:2: tier 'databas'"),
        ('tier: theirs', "sweep.yaml:2: tier 'theirs' has take_over: false"),
        ('tier: plain', "osd_recovery_sleep of tier 'plain', which has no"),
    )
    @ddt.unpack
    def test_the_tier_must_have_what_is_swept(self, tier, text):
        found = self.problems(SOUND.replace('tier: database', tier))
        self.assertTrue(
            any(
                text.replace('osd_recovery_sleep of', 'osd_options of') in one
                for one in found
            ),
            found,
        )

    @ddt.data(
        ('factors:', 'vary: together\nfactors:', 'write treatments'),
        ('seed: 5', 'seed: -1', 'an integer of 0 or more'),
        ('seed: 5', 'seed: 5\nblocks: 0', 'an integer from 1 to 100'),
        ('  guest:', '  gest:', "unknown key 'gest'"),
        ('[2]', '[]', 'a list of different values, at least one'),
        ('[2]', '[2, 2]', 'a list of different values, at least one'),
        ('[2]', "[2, '2']", "2 treatments of the name 'osd_max_scrubs=2'"),
        ('[4]', "[4, '4']", "2 treatments of the name 'iodepth=4'"),
        ('seed: 5', 'slot_minutes: .nan', 'the number .nan'),
        ('seed: 5', 'slot_limit_minutes: 0', 'slot_limit_minutes'),
        (SOUND, '', 'a mapping with version, tier'),
        ('factors:', 'treatments:', 'treatments.osd_options'),
        (
            '[2]',
            str(list(range(2, 300))),
            'use fewer values, or vary: one_at_a_time',
        ),
    )
    @ddt.unpack
    def test_a_file_of_another_form_is_refused(self, old, new, text):
        found = '\n'.join(self.problems(SOUND.replace(old, new)))
        self.assertIn(text, found)

    def test_a_limit_of_a_slot(self):
        found = self.read(f'{SOUND}slot_limit_minutes: 90\n')
        self.assertEqual(90, found.slot_limit_minutes)
        self.assertIsNone(self.read(SOUND).slot_limit_minutes)

    def test_two_treatments_may_fit_alone_and_not_together(self):
        text = """version: 1
tier: database
vary: {}
factors:
  rbd_options:
    rbd_qos_iops_limit: [9]
    rbd_qos_bps_limit: [5]
  qos:
    front_end: {{total_iops_sec: ['4'], read_iops_sec: ['4']}}
"""
        self.assertEqual(
            4, len(self.read(text.format('one_at_a_time')).sweep.treatments)
        )
        found = self.problems(text.format('product'))
        self.assertIn('total_iops_sec together with read_iops_sec', found[0])
        self.assertTrue(found[0].startswith('sweep.yaml:9:'))


JOURNAL = journals.Journal(
    cloud='a b',
    tier='database',
    sweep_file='sweep.yaml',
    catalog_file='tiers.yaml',
    catalog=TIERS,
    started='2026-11-23T20:00:00Z',
    by='root on a, process 1',
    results='/r/sweep.json',
    folder='/r',
    objects=(
        keeping.Kept(
            kind=actions.Kind.OSD_OPTIONS,
            cluster='ceph',
            name='ssd',
            existed=True,
            settings=(
                keeping.Setting(
                    field='values.osd_recovery_sleep',
                    before=None,
                    swept=frozenset({'0.5', '1'}),
                    option_kind='float',
                ),
            ),
        ),
        keeping.Kept(
            kind=actions.Kind.QOS_SPEC,
            name='tier-database',
            existed=False,
            settings=(
                keeping.Setting(
                    field='consumer', before=None, swept=frozenset({'both'})
                ),
            ),
        ),
    ),
)


class JournalTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(
            self.enterContext(tempfile.TemporaryDirectory()), 'new', 'j.json'
        )

    def test_it_is_read_as_it_was_written(self):
        self.assertIsNone(journals.read(self.path))
        journals.write(self.path, JOURNAL)
        self.assertEqual(JOURNAL, journals.read(self.path))
        self.assertEqual(0o600, os.stat(self.path).st_mode & 0o777)
        self.assertEqual(
            0o700, os.stat(os.path.dirname(self.path)).st_mode & 0o777
        )
        journals.remove(self.path)
        self.assertIsNone(journals.read(self.path))
        journals.remove(self.path)

    def test_it_never_takes_the_place_of_another(self):
        journals.write(self.path, JOURNAL)
        self.assertRaises(
            errors.TiersError, journals.write, self.path, JOURNAL
        )

    def test_a_link_in_its_place_is_neither_read_nor_followed(self):
        os.makedirs(os.path.dirname(self.path))
        elsewhere = f'{self.path}.other'
        os.symlink(elsewhere, self.path)
        self.assertRaises(
            errors.TiersError, journals.write, self.path, JOURNAL
        )
        self.assertFalse(os.path.exists(elsewhere))
        journals.write(elsewhere, JOURNAL)
        error = self.assertRaises(
            errors.ProblemsFound, journals.read, self.path
        )
        self.assertIn('a symbolic link', str(error))

    @testtools.skipIf(os.geteuid(), 'only root gives files away')
    def test_that_of_another_user_is_not_read(self):
        journals.write(self.path, JOURNAL)
        os.chown(self.path, 12345, -1)
        error = self.assertRaises(
            errors.ProblemsFound, journals.read, self.path
        )
        self.assertIn('a journal of user 12345', str(error))

    def test_its_new_folder_is_on_the_disk_too(self):
        synced = []
        fsync = os.fsync

        def note(handle):
            synced.append(os.readlink(f'/proc/self/fd/{handle}'))
            fsync(handle)

        with mock.patch.object(os, 'fsync', note):
            journals.write(self.path, JOURNAL)
        folder = os.path.realpath(os.path.dirname(self.path))
        self.assertIn(folder, synced)
        self.assertIn(os.path.dirname(folder), synced)

    def test_what_no_sweep_makes_is_never_deleted(self):
        journals.write(self.path, JOURNAL)
        path = pathlib.Path(self.path)
        content = json.loads(path.read_text())
        for kind in ('pool', 'osd options'):
            content['objects'] = [
                {
                    'kind': kind,
                    'cluster': 'ceph',
                    'name': 'tier-database',
                    'existed': False,
                    'settings': [],
                }
            ]
            path.write_text(json.dumps(content))
            error = self.assertRaises(
                errors.ProblemsFound, journals.read, self.path
            )
            self.assertIn(
                f'"existed": false of {kind} tier-database (ceph), which no '
                'sweep creates',
                str(error),
            )

    def test_another_version_is_not_read(self):
        journals.write(self.path, JOURNAL)
        content = json.loads(pathlib.Path(self.path).read_text())
        pathlib.Path(self.path).write_text(
            json.dumps({**content, 'version': 2})
        )
        error = self.assertRaises(
            errors.ProblemsFound, journals.read, self.path
        )
        self.assertIn('do not remove it', str(error))


class ResultsTestCase(testtools.TestCase):
    def test_they_are_read_as_they_were_written(self):
        place = ('tiers', 'database', 'qos', 'front_end', 'total_iops_sec')
        sweep = design.Sweep(
            tier='database',
            treatments=(
                design.Treatment(name='limited', changes={place: '5'}),
                design.Treatment(name='deep', guest={'iodepth': 16}),
            ),
            blocks=2,
            seed=3,
        )
        first, second, *_others = sweep.slots
        written = file_results.Results(
            sweep=sweep,
            sweep_file='sweep.yaml',
            catalog_file='tiers.yaml',
            started='2026-11-23T20:00:00Z',
            state=file_results.RUNNING,
            is_brought_back=False,
            records=(
                record.SlotRecord(
                    slot=first,
                    verdict=record.TreatmentVerdict.IN_EFFECT,
                    measured=record.MeasuredSlot(
                        exit_status=0, result_file='/a/slot-0001.json'
                    ),
                    started='2026-11-23T20:00:00Z',
                    ended='2026-11-23T20:01:00Z',
                ),
                record.SlotRecord(
                    slot=second,
                    verdict=record.TreatmentVerdict.NOT_IN_EFFECT,
                    reason='it is not',
                    started='2026-11-23T20:01:00Z',
                    ended='2026-11-23T20:02:00Z',
                ),
            ),
        )
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = os.path.join(folder, file_results.NAME)
        file_results.write(path, written)
        self.assertEqual(written, file_results.read(path))
        # Another sweep has taken the folder since.
        file_results.note_restored(
            path, started='2026-11-22T20:00:00Z', is_brought_back=True
        )
        self.assertEqual(written, file_results.read(path))
        file_results.note_restored(
            path, started=written.started, is_brought_back=True
        )
        found = file_results.read(path)
        self.assertEqual(
            (file_results.ENDED_EARLY, True),
            (found.state, found.is_brought_back),
        )
        self.assertEqual(written.records, found.records)
        gone = os.path.join(folder, 'gone')
        file_results.note_restored(gone, started='', is_brought_back=True)
        self.assertFalse(os.path.exists(gone))
