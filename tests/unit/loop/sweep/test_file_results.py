# SPDX-License-Identifier: Apache-2.0

"""The results of a sweep in a file."""

import os
import tempfile

import testtools

from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_results
from cinder_tiers.loop.sweep import record


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
