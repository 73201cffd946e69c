# SPDX-License-Identifier: Apache-2.0

"""Faults in the sweep file, the journal, the results; announcements."""

import json
import pathlib
import tempfile

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader as tiers_reader
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_journal as journals
from cinder_tiers.loop.sweep import file_reader
from cinder_tiers.loop.sweep import file_results
from cinder_tiers.loop.sweep import record
from tests.unit.loop.sweep import test_file_reader

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
        path.write_text(test_file_reader.TIERS, 'utf-8')
        return tiers_reader.read(str(path))


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
