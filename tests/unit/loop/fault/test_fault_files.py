# SPDX-License-Identifier: Apache-2.0

"""Faults in the sweep file, the journal, the results; announcements."""

import json
import pathlib
import tempfile
import time

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader as tiers_reader
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_announcement
from cinder_tiers.loop.sweep import file_journal as journals
from cinder_tiers.loop.sweep import file_reader
from cinder_tiers.loop.sweep import file_results
from cinder_tiers.loop.sweep import record
from tests.unit.loop.sweep import test_files

SOUND = """version: 1
tier: database
blocks: 2
seed: 5
counts_from: announcement
recovery_minutes: 5
faults:
  out:
    kind: osd_out
    at_seconds: 60
    for_seconds: 120.5
    osd: 2
  down:
    kind: osd_down
    at_seconds: 300
    for_seconds: 30
  scrub:
    kind: deep_scrub
    at_seconds: 0
    for_seconds: 600
  slow:
    kind: command
    at_seconds: 100
    for_seconds: 10
    begin: [slow, --disk, sda]
    end: [fast]
"""
FACTORS = """factors:
  osd_options:
    osd_max_scrubs: [2]
"""


def sweep_file(text=SOUND, *, has_faults=True):
    return file_reader.read_text(
        text,
        file='fault.yaml',
        tiers=tiers(),
        has_faults=has_faults,
    )


def tiers():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'tiers.yaml'
        path.write_text(test_files.TIERS, 'utf-8')
        return tiers_reader.read(str(path))


class ShippedTestCase(testtools.TestCase):
    def test_the_faults_of_a_paper_fit_the_sample_tiers_file(self):
        (path,) = test_files.ETC.glob('fault-*.yaml')
        found = file_reader.read_file(
            str(path),
            tiers_reader.read(str(test_files.ETC / 'tiers.yaml')),
            has_faults=True,
        )
        self.assertEqual(
            [faults.FaultKind.OSD_DOWN, faults.FaultKind.OSD_OUT],
            [one.kind for one in found.faults.faults],
        )
        self.assertEqual(3, len(found.sweep.slots))


@ddt.ddt
class FaultFileTestCase(testtools.TestCase):
    def problems(self, text, **named):
        error = self.assertRaises(
            errors.ProblemsFound, sweep_file, text, **named
        )
        return str(error)

    def test_a_sound_file(self):
        found = sweep_file()
        self.assertEqual(
            faults.Faults(
                faults=(
                    faults.Fault(
                        name='out',
                        kind=faults.FaultKind.OSD_OUT,
                        at_s=60.0,
                        for_s=120.5,
                        osd=2,
                    ),
                    faults.Fault(
                        name='down',
                        kind=faults.FaultKind.OSD_DOWN,
                        at_s=300.0,
                        for_s=30.0,
                    ),
                    faults.Fault(
                        name='scrub',
                        kind=faults.FaultKind.DEEP_SCRUB,
                        at_s=0.0,
                        for_s=600.0,
                    ),
                    faults.Fault(
                        name='slow',
                        kind=faults.FaultKind.COMMAND,
                        at_s=100.0,
                        for_s=10.0,
                        begin=('slow', '--disk', 'sda'),
                        end=('fast',),
                    ),
                ),
                counts_from=faults.ANNOUNCEMENT,
                recovery_minutes=5.0,
            ),
            found.faults,
        )
        self.assertEqual(
            ['default', 'default'],
            [one.treatment for one in found.sweep.slots],
        )

    def test_faults_with_each_treatment(self):
        found = sweep_file(SOUND + FACTORS)
        self.assertEqual(4, len(found.sweep.slots))
        self.assertEqual(4, len(found.faults.faults))

    @ddt.data(
        ('kind: osd_out', 'kind: osd_gone', 'one of osd_out, osd_down'),
        ('at_seconds: 60', 'at_seconds: -1', 'from 0 to 86400'),
        ('for_seconds: 120.5', 'for_seconds: 0', 'from 1 to 86400'),
        ('for_seconds: 120.5', 'for_seconds: .NaN', 'the number .NaN'),
        ('recovery_minutes: 5', 'recovery_minutes: .nan', 'the number .nan'),
        ('osd: 2', 'osd: two', 'the id of an OSD'),
        ('[fast]', 'fast', 'a list of a program'),
        ('[fast]', '[]', 'a list of a program'),
        ('    end: [fast]\n', '', 'without end'),
        ('at_seconds: 300', 'at_seconds: 170', 'before out ends at 180.5 s'),
        ('kind: osd_out', 'kind: deep_scrub', 'osd only for osd_down'),
        ('kind: command', 'kind: osd_down', 'begin only for command'),
        ('counts_from: announcement', 'counts_from: x', 'one of command'),
        ('tier: database', 'tier: plain', 'has no rbd'),
        ('  out:', '  "a b":', 'a name of 1 to 80'),
        ('kind: deep_scrub', 'kidn: deep_scrub', "unknown key 'kidn'"),
        (
            'faults:\n',
            'treatments: {x: {guest: {a: 1}}}\n' + FACTORS + 'faults:\n',
            'factors together with treatments',
        ),
    )
    @ddt.unpack
    def test_what_is_wrong_is_told_with_its_place(self, old, new, expected):
        self.assertIn(old, SOUND)
        found = self.problems(SOUND.replace(old, new, 1))
        self.assertIn(expected, found)
        self.assertIn('fault.yaml:', found)

    def test_a_fault_file_has_faults(self):
        self.assertIn(
            "has no 'faults'",
            self.problems('version: 1\ntier: database\n' + FACTORS),
        )

    def test_a_sweep_makes_none(self):
        found = self.problems(SOUND + FACTORS, has_faults=False)
        self.assertIn('fault.yaml:7', found)
        self.assertIn('run "openstack tier fault"', found)

    @ddt.data('', 'faults', '[faults]', '7')
    def test_a_file_that_is_no_mapping(self, text):
        self.assertNotEqual('', self.problems(text, has_faults=False))


class KeptFaultsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )

    def journal(self, *targets):
        path = str(self.folder / 'journal.json')
        journals.write(
            path,
            journals.Journal(
                **dict.fromkeys(
                    (
                        *('cloud', 'tier', 'sweep_file', 'catalog_file'),
                        *('catalog', 'started', 'by', 'results'),
                    ),
                    'x',
                ),
                objects=(),
                faults=targets,
            ),
        )
        return path

    def test_a_journal_keeps_what_is_to_be_mended(self):
        made = sweep_file().faults.faults
        targets = tuple(
            faults.Target(fault=one, cluster='ceph', pool='p', osd=one.osd)
            for one in made
        )
        found = journals.read(self.journal(*targets)).faults
        self.assertEqual(targets, found)

    def test_an_osd_below_zero_is_refused(self):
        made = sweep_file().faults.faults[0]
        path = self.journal(
            faults.Target(fault=made, cluster='ceph', pool='p', osd=-1)
        )
        error = self.assertRaises(errors.ProblemsFound, journals.read, path)
        self.assertIn('faults[0].osd: found -1', str(error))

    def test_results_say_what_became_of_faults(self):
        made = (
            faults.FaultRecord(
                name='out',
                kind=faults.FaultKind.OSD_OUT,
                target='osd.2',
                began=1.5,
                ended=2.5,
                healthy=9.5,
            ),
            faults.FaultRecord(
                name='scrub',
                kind=faults.FaultKind.DEEP_SCRUB,
                target='pool p',
                problem='not made',
            ),
        )
        found = file_results.Results(
            sweep=design.Sweep(
                tier='database', treatments=(), blocks=1, seed=1
            ),
            sweep_file='',
            catalog_file='',
            started='',
            state=file_results.COMPLETE,
            is_brought_back=True,
            records=(
                record.SlotRecord(
                    slot=design.TreatmentSlot(
                        number=1, block=1, treatment='default'
                    ),
                    verdict=record.TreatmentVerdict.FAULT_NOT_MADE,
                    reason='scrub: not made',
                    measured=record.MeasuredSlot(
                        exit_status=0, result_file='a.json', faults=made
                    ),
                    started='',
                    ended='',
                ),
            ),
        )
        path = str(self.folder / 'sweep.json')
        file_results.write(path, found)
        self.assertEqual(found, file_results.read(path))
        text = json.loads(pathlib.Path(path).read_text('utf-8'))
        for moment in ('soon', -1, 1e12, float('nan')):
            text['slots'][0]['faults'][0]['began'] = moment
            pathlib.Path(path).write_text(json.dumps(text), 'utf-8')
            self.assertRaises(errors.ProblemsFound, file_results.read, path)


@ddt.ddt
class AnnouncementTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.path = (
            pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
            / 'begin'
        )

    def test_none_yet(self):
        self.assertIsNone(file_announcement.read(str(self.path)))
        self.path.write_text('17640', 'utf-8')
        self.assertIsNone(file_announcement.read(str(self.path)))

    def test_a_moment(self):
        now = time.time() + 300
        self.path.write_text(f'{now}\n', 'utf-8')
        self.assertEqual(now, file_announcement.read(str(self.path)))

    @ddt.data('soon\n', 'nan\n', 'inf\n', '0\n', '9' * 80, '1e400\n', '\n')
    def test_something_else(self, text):
        self.path.write_text(text, 'utf-8')
        self.assertRaises(
            errors.TiersError, file_announcement.read, str(self.path)
        )
