# SPDX-License-Identifier: Apache-2.0

import jsonschema
from rally.common.objects import task as task_objects
import testtools

from rally_scenarios.plugins.report import tables
from tests.unit.guest import test_run_result

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
STEADY = test_run_result.text([480, 500, 520, 500, 500])
FALLING = test_run_result.text([900, 700, 500, 300, 100])


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
            ['fast', 'randwrite-4k (2 of 3)', 5.0, 1000.0, 8.0, 3.2],
            [*row[:4], *(round(each, 1) for each in row[4:6])],
            row,
        )
        self.assertEqual('steady:', row[6][:7])
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

    def test_what_is_not_steady_is_said(self):
        found = outputs(STEADY, FALLING)
        row = found[tables.STEADY_TABLE_TITLE]['data']['rows'][0]
        self.assertEqual(
            'not steady by excursion and slope', row[6].split(':')[0]
        )

    def test_guests_without_seconds_have_no_such_table(self):
        self.assertNotIn(tables.STEADY_TABLE_TITLE, outputs(None, None))
        # One that has them does not speak for both.
        rows = outputs(STEADY, None, STEADY)
        self.assertNotIn(tables.STEADY_TABLE_TITLE, rows)
