# SPDX-License-Identifier: Apache-2.0

import jsonschema
from rally.common.objects import task as task_objects
import testtools

from rally_scenarios.plugins.report import tables
from tests.unit.figures.result import test_build

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
STEADY = test_build.text([480, 500, 520, 500, 500])
STALLING = test_build.text([500, 500, 0, 0, 0, 500])


def outputs(*of_guests):
    return {
        each['title']: each
        for each in tables.complete_outputs(
            test_build.result(
                *(
                    test_build.outcome(f'g{number:03d}', output=output)
                    for number, output in enumerate(of_guests)
                )
            )
        )
    }


class CaveatsTest(testtools.TestCase):
    def test_a_stall_is_said_however_short_the_run_is(self):
        found = outputs(STALLING, STALLING)
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            {'additive': [], 'complete': list(found.values())}
        )
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
