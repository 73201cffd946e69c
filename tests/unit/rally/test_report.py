# SPDX-License-Identifier: Apache-2.0

import jsonschema
from rally.common.objects import task as task_objects
import testtools

from rally_scenarios.plugins.report import tables
from tests.unit.guest import test_run_result

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
STEADY = test_run_result.text([480, 500, 520, 500, 500])
STALLING = test_run_result.text([500, 500, 0, 0, 0, 500])


def outputs(*of_guests):
    return {
        each['title']: each
        for each in tables.complete_outputs(
            test_run_result.result(
                *(
                    test_run_result.outcome(f'g{number:03d}', output=output)
                    for number, output in enumerate(of_guests)
                )
            )
        )
    }


class OverTimeTest(testtools.TestCase):
    def test_seconds_become_a_verdict_and_a_line(self):
        found = outputs(STEADY, STEADY)
        row = found[tables.STEADY_TABLE_TITLE]['data']['rows'][1]
        self.assertEqual(
            [
                'fast',
                'randwrite-4k (2 of 3)',
                5.0,
                1000.0,
                '-',
                '-',
                0.0,
                'cannot tell: 5 s, expected at least 30',
            ],
            row,
        )
        lines = found['IOPS over time: randwrite-4k']['data']
        self.assertEqual(
            ['fast (1 of 3)', 'fast (2 of 3)', 'fast (3 of 3)'],
            [name for name, _points in lines],
        )
        self.assertEqual(
            [[1, 960], [2, 1000], [3, 1040], [4, 1000], [5, 1000]], lines[0][1]
        )
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            {'additive': [], 'complete': list(found.values())}
        )

    def test_a_stall_is_said_however_short_the_run_is(self):
        found = outputs(STALLING, STALLING)
        row = found[tables.STEADY_TABLE_TITLE]['data']['rows'][0]
        self.assertEqual(3.0, row[6])
        self.assertIn('1 stall of 3.0 s', row[7])
        self.assertIn(
            [
                'stall',
                'fast randwrite-4k: in 3 of 3 repeats no guest completed an'
                ' I/O, or next to none, for up to 3 s (repeat 1)',
            ],
            found[tables.CAVEAT_TABLE_TITLE]['data']['rows'],
        )

    def test_a_stall_of_one_guest_is_said_too(self):
        found = outputs(STEADY, STALLING)
        self.assertIn(
            [
                'stall',
                'fast randwrite-4k: single guests completed no I/O, or next'
                ' to none, for so long: g001 (3 s)',
            ],
            found[tables.CAVEAT_TABLE_TITLE]['data']['rows'],
        )

    def test_guests_without_seconds_have_no_such_table(self):
        self.assertNotIn(tables.STEADY_TABLE_TITLE, outputs(None, None))
        # One that has them does not speak for both.
        rows = outputs(STEADY, None, STEADY)
        self.assertNotIn(tables.STEADY_TABLE_TITLE, rows)
