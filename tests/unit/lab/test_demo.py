# SPDX-License-Identifier: Apache-2.0
"""What the demo makes of what it has seen; its doing is a functional test."""

import contextlib
import io
import pathlib
import statistics
import tempfile

import ddt
import testtools

from lab import demo
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins.results import reference
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
