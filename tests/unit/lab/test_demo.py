# SPDX-License-Identifier: Apache-2.0
"""What the demo makes of what it has seen; its doing is a functional test."""

import contextlib
import io
import os
import pathlib
import statistics
import subprocess
import tempfile
from unittest import mock

import ddt
import fixtures
import testtools
import yaml

from lab import demo
from lab.openstack import access
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins.results import reference
from rally_scenarios.plugins.results import store
from tests.unit.loop.report import runs

CATALOG = {
    'tiers': {
        'database': {
            'tags': ['database'],
            'rbd': {
                'pool': 'tier-database',
                'device_class': 'ssd',
                'replicated': {'size': 3},
            },
        },
        'general': {
            'fallback': True,
            'rbd': {
                'pool': 'tier-general',
                'device_class': 'hdd',
                'replicated': {'size': 3},
            },
        },
        'archive': {
            'tags': ['archive'],
            'rbd': {
                'pool': 'tier-archive',
                'device_class': 'hdd',
                'erasure_coded': {'k': 2, 'm': 1},
            },
        },
    }
}


def placement(image='image', tags=(), pool='tier-general'):
    return demo.VolumePlacement(
        image=image,
        tags=tags,
        pool=pool,
        data_pool='',
        volume_type='image-tier',
        backend='host@b#p',
    )


@ddt.ddt
class JudgementTest(testtools.TestCase):
    def judge(self, **iops):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            problems = demo.compare(
                iops,
                demo.estimate_tiers(CATALOG),
                demo.find_throttled_tiers(CATALOG),
            )
        return problems, said.getvalue()

    def test_only_replicated_tiers_on_throttled_disks_have_an_estimate(self):
        # 3 disks x 160 IOPS / 3 copies
        (estimate,) = demo.estimate_tiers(CATALOG)
        self.assertEqual(('general', 160), (estimate.tier, estimate.iops))

    def test_both_figures_are_shown(self):
        problems, said = self.judge(database=800, general=150, archive=170)
        self.assertEqual([], problems)
        self.assertIn(
            '150 IOPS of 4k random writes. Its throttle allows 3 disks x 160 '
            'IOPS / 3 copies = 160 (-6%)',
            said,
        )
        self.assertIn('database / general: 5.3 times measured', said)
        self.assertNotIn('archive / general', said)

    @ddt.data(119, 201, 0)
    def test_a_tier_far_from_its_estimate_is_a_problem(self, iops):
        problems, _ = self.judge(database=800, general=iops)
        self.assertIn(
            f'general: {iops} IOPS, expected 160 within 25%', problems[0]
        )

    def test_a_fast_tier_that_is_not_faster_is_a_problem(self):
        problems, _ = self.judge(database=150, general=160)
        self.assertEqual(
            ['database: 150 IOPS, no more than the throttled general'],
            problems,
        )

    def test_the_mean_of_repeats_is_compared(self):
        """As in a demo by two transports, which measures each tier thrice."""
        result = runs.run(tiers=('database', 'general'), repeats=3)
        (pattern,) = (
            each
            for each in result.tiers[1].patterns
            if each.pattern == 'randwrite-4k'
        )
        self.assertEqual(
            round(
                statistics.geometric_mean(
                    slot.merged.iops for slot in pattern.slots
                ),
                6,
            ),
            round(demo.random_writes(result)['general'], 6),
        )

    def test_a_tier_without_a_figure_is_a_problem(self):
        problems, _ = self.judge(database=800)
        self.assertEqual(1, len(problems))


class PlacementTest(testtools.TestCase):
    def test_volumes_on_their_tiers_are_no_problem(self):
        self.assertEqual(
            [],
            demo.find_misplaced(
                [
                    placement(),
                    placement(tags=('database',), pool='tier-database'),
                ],
                CATALOG,
            ),
        )

    def test_each_misplaced_volume_is_named(self):
        wrong = demo.find_misplaced(
            [
                placement('a', ('archive',), 'tier-general'),
                placement('b', (), ''),
            ],
            CATALOG,
        )
        self.assertEqual(
            [
                'a volume of a lies in pool tier-general, expected '
                'tier-archive '
                'of tier archive',
                'a volume of b lies in pool (none), expected tier-general of '
                'tier general',
            ],
            wrong,
        )


class ReportTest(testtools.TestCase):
    def task(self, *outputs):
        return {
            'tasks': [
                {
                    'subtasks': [
                        {
                            'workloads': [
                                {
                                    'data': [
                                        {'output': {'complete': list(outputs)}}
                                    ]
                                }
                            ]
                        }
                    ]
                }
            ]
        }

    def test_rows_are_found_by_the_tables_title(self):
        table = {
            'title': tables.TIER_TABLE_TITLE,
            'data': {'cols': ['tier', 'IOPS'], 'rows': [['x', 1]]},
        }
        self.assertEqual(
            [{'tier': 'x', 'IOPS': 1}],
            demo.read_rows(
                self.task({'title': 'another', 'data': []}, table),
                tables.TIER_TABLE_TITLE,
            ),
        )

    def test_a_report_without_the_table_is_an_error(self):
        self.assertRaises(
            demo.DemoFailed,
            demo.read_rows,
            self.task(),
            tables.TIER_TABLE_TITLE,
        )

    def test_result_files_are_those_that_iterations_name(self):
        """As the scenario names them, and two in a task that runs twice."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ('a', 'b')]
            for path in paths:
                path.write_text('{}')
            self.assertEqual(
                [str(path) for path in paths],
                demo.find_results(
                    self.task(
                        *(reference.output(path, 'run') for path in paths)
                    )
                ),
            )

    def test_a_task_without_a_result_file_is_an_error(self):
        error = self.assertRaises(
            demo.DemoFailed, demo.find_results, self.task()
        )
        self.assertIn('the result file', str(error))

    def test_the_report_of_rally_is_beside_ours(self):
        self.assertEqual(
            pathlib.Path('/a/demo-rally.html'),
            demo.of_rally(pathlib.Path('/a/demo.html')),
        )


#: Stands in for commands: notes how it is called, and fails if it is told to.
COMMAND = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CT_CALLS"
echo "output of $(basename "$0") $1 $2"
case $* in
    "$CT_FAILING"*) exit 5 ;;
esac
"""


class TailTest(testtools.TestCase):
    """What is done beside a task of Rally, and after it."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.calls = self.folder / 'calls'
        for name in ('openstack', 'rally'):
            (self.folder / name).write_text(COMMAND)
            (self.folder / name).chmod(0o755)
        catalog = self.folder / 'tiers.yaml'
        catalog.write_text(yaml.safe_dump(CATALOG))
        for name, value in {
            'PATH': f'{self.folder}:{os.environ["PATH"]}',
            'CT_CALLS': str(self.calls),
            'CT_FAILING': 'none',
            access.CATALOG_VARIABLE: str(catalog),
        }.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        self.result = store.write(
            self.folder,
            runs.run(tiers=('database', 'general'), repeats=3),
        )

    def run_demo(self, lines):
        def start(transport, arguments):
            return subprocess.Popen(
                ['printf', '%s\n', *lines], stdout=subprocess.PIPE, text=True
            )

        self.said = io.StringIO()
        with (
            contextlib.redirect_stdout(self.said),
            mock.patch.object(demo, '_start_rally', start),
            mock.patch.object(demo, 'place_volumes', lambda: iter(())),
            mock.patch.object(demo, 'compare', lambda *found: []),
        ):
            demo.demo(self.folder / 'demo.html', ['console'])
        return self.calls.read_text().splitlines()

    @property
    def task(self):
        return f'Task  {"0" * 8}-{"0" * 4}-{"0" * 4}-{"0" * 4}-{"0" * 12}'

    def lines(self):
        return [
            f'{self.task}: started',
            f'2026-11-29 INFO run [-] The result is in {self.result}',
        ]

    def test_figures_are_made_once_and_rally_is_not_asked_where_they_are(self):
        calls = self.run_demo(self.lines())
        self.assertEqual(
            1, calls.count(f'openstack tier result {self.result}')
        )
        self.assertEqual(
            1,
            calls.count(
                f'openstack tier report {self.result} -o'
                f' {self.folder / "demo.html"}'
            ),
        )
        self.assertEqual([], [call for call in calls if '--json' in call])
        self.assertIn('output of openstack tier result', self.said.getvalue())
        self.assertIn(f'result: {self.result}\n', self.said.getvalue())

    def test_a_log_without_the_file_leaves_the_word_to_rally(self):
        with mock.patch.object(
            demo, '_ask_for_results', lambda ids: [str(self.result)]
        ):
            calls = self.run_demo(self.lines()[:1])
        for words in ('result', 'report'):
            self.assertEqual(
                1,
                len(
                    [
                        call
                        for call in calls
                        if call.startswith(f'openstack tier {words} ')
                    ]
                ),
            )

    def test_figures_that_cannot_be_shown_say_why(self):
        self.useFixture(
            fixtures.EnvironmentVariable('CT_FAILING', 'tier result')
        )
        error = self.assertRaises(demo.DemoFailed, self.run_demo, self.lines())
        self.assertIn('openstack tier result ended with 5', str(error))
        self.assertIn('output of openstack', str(error))
