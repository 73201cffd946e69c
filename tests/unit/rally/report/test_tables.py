# SPDX-License-Identifier: Apache-2.0

"""A run's result as tables of Rally's report."""

import jsonschema
from rally.common.objects import task as task_objects
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.report import tables
from tests.unit.figures.result import test_build
from tests.unit.rally.fleet import test_run


class TablesTest(test_run.FleetFioCase):
    def test_caveats_come_first_and_are_in_the_file(self):
        self.run_scenario()
        self.assertEqual(
            tables.CAVEAT_TABLE_TITLE,
            self.scenario._output['complete'][0]['title'],
        )
        self.assertEqual(
            [
                'one repeat',
                # Of each tier.
                'too few I/Os',
                'too few I/Os',
                'steadiness not known',
                'host load not known',
                'storage load not known',
                'placement not known',
                'placement not known',
            ],
            [row[0] for row in self.rows(tables.CAVEAT_TABLE_TITLE)],
        )
        self.assertEqual((), self.result().doubts)

    def test_each_repeat_has_its_rows(self):
        self.run_scenario(repeats=2)
        self.assertEqual(
            [
                (tier, f'{name} ({repeat} of 2)')
                for repeat in (1, 2)
                for tier in ('database', 'general')
                for name in ('randwrite-4k', 'write-1m')
            ],
            [tuple(row[:2]) for row in self.rows(tables.TIER_TABLE_TITLE)],
        )
        self.assertEqual(8, len(self.scenario._output['additive'][0]['data']))
        jsonschema.Draft4Validator(test_run.OUTPUT_SCHEMA).validate(
            self.scenario._output
        )

    def test_outputs_fit_the_schema_that_rally_imports_results_with(self):
        self.cloud.guests_do['g003'] = lambda lines: lines[:3]
        self.cloud.guests_stop.add('g003')
        self.failure()
        self.assertEqual(7, len(self.scenario._output['complete']))
        jsonschema.Draft4Validator(test_run.OUTPUT_SCHEMA).validate(
            self.scenario._output
        )

    def test_so_do_those_of_a_run_in_which_all_is_well(self):
        self.run_scenario()
        self.assertEqual(1, len(self.scenario._output['additive']))
        jsonschema.Draft4Validator(test_run.OUTPUT_SCHEMA).validate(
            self.scenario._output
        )


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
