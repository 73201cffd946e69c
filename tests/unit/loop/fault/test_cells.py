# SPDX-License-Identifier: Apache-2.0

"""Faults of slots as rows of a table."""

import datetime
import json

import ddt
import testtools

from cinder_tiers.loop.fault import cells as render
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import record


@ddt.ddt
class RowsTestCase(testtools.TestCase):
    def rows(self, *made):
        return list(
            render.record_rows(
                record.SlotRecord(
                    slot=design.TreatmentSlot(
                        number=1, block=2, treatment='default'
                    ),
                    verdict=record.TreatmentVerdict.IN_EFFECT,
                    measured=record.MeasuredSlot(
                        exit_status=0, result_file=None, faults=made
                    ),
                    started='',
                    ended='',
                )
            )
        )

    def test_a_row_for_each_fault(self):
        at = datetime.datetime(
            2026, 11, 24, 1, 2, 3, tzinfo=datetime.UTC
        ).timestamp()
        rows = self.rows(
            faults.FaultRecord(
                name='out',
                kind=faults.FaultKind.OSD_OUT,
                target='osd.2',
                began=at,
                ended=at + 60.04,
                healthy=at + 90.04,
            ),
            faults.FaultRecord(
                name='slow',
                kind=faults.FaultKind.COMMAND,
                target='command',
                problem='not \x1b[31mmade',
            ),
        )
        self.assertEqual(
            [
                ['osd.2', '2026-11-24T01:02:03Z', 60.0, 30.0, ''],
                ['command', None, None, None, 'not \\x1b[31mmade'],
            ],
            [
                [
                    getattr(cell, 'machine_readable', lambda cell=cell: cell)()
                    for cell in row[5:]
                ]
                for row in rows
            ],
        )
        self.assertTrue(
            all(len(row) == len(render.RECORD_COLUMNS) for row in rows)
        )
        json.dumps(
            [
                getattr(cell, 'machine_readable', lambda cell=cell: cell)()
                for row in rows
                for cell in row
            ]
        )

    def test_a_slot_that_was_not_measured_has_a_row(self):
        (row,) = self.rows()
        self.assertEqual(len(render.RECORD_COLUMNS), len(row))
