# SPDX-License-Identifier: Apache-2.0

"""`openstack tier trend`, run by the real shell on real result files."""

import json
import pathlib
import tempfile

import testtools

from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import shell
from tests.unit.loop.compare import test_trend


class TrendTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def trend(self, *iops, options=(), lost=()):
        paths = []
        for run in test_trend.runs(*iops):
            if run.run in lost:
                run = test_trend.lost(run)
            path = self.folder / f'{run.run}.json'
            path.write_text(run_result.write(run))
            paths.append(str(path))
        return shell.openstack('tier', 'trend', *paths, *options)

    def test_a_worse_level_has_a_status_of_its_own(self):
        ran = self.trend(
            *[100, 101, 99, 100] * 2,
            *[80, 81, 79, 80] * 2,
            options=('--changes', '-f', 'json'),
        )
        self.assertEqual(4, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(
            ('general', 'x', 'iops', 'worse', -20.0, 16),
            tuple(
                row[name]
                for name in (
                    'Tier',
                    'Pattern',
                    'Quantity',
                    'Finding',
                    'Change %',
                    'Runs',
                )
            ),
        )
        self.assertEqual(f'{9:016x}', row['Run'])

    def test_a_level_that_is_good_again_is_no_failure(self):
        ran = self.trend(
            *[100, 101, 99, 100] * 2,
            *[80, 81, 79, 80] * 2,
            *[100, 101, 99, 100] * 2,
        )
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn('worse', ran.stdout)
        self.assertIn('better', ran.stdout)
        for line in ran.stdout.splitlines():
            self.assertLessEqual(len(line), 120)
        # What the table has no room for is told below it.
        self.assertIn(
            f'iops of x on general: since run {9:016x}; with it changed '
            'nothing else that is recorded',
            ran.stderr,
        )

    def test_a_newest_run_that_is_lost_has_a_status_and_is_named(self):
        newest = f'{12:016x}'
        ran = self.trend(*[100] * 12, options=('-f', 'json'), lost=[newest])
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn(
            f'run {newest}, ended at 2026-11-12T00:00:00+00:00, is left out of'
            f' x on general: no repeat in which all guests are complete',
            ran.stderr,
        )
        row, _p99 = json.loads(ran.stdout)
        self.assertEqual('cannot tell', row['Finding'])
        self.assertEqual(
            [
                {
                    'run': newest,
                    'ended_at': '2026-11-12T00:00:00+00:00',
                    'reason': 'no repeat in which all guests are complete',
                }
            ],
            row['Left out'],
        )
        ran = self.trend(*[100] * 12, lost=[f'{5:016x}'])
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn(f'run {5:016x}', ran.stderr)

    def test_runs_that_wander_have_a_status_and_are_named(self):
        ran = self.trend(*test_trend.WANDERING, options=('--changes',))
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn(
            'iops of x on general: the level changed no more than it may by'
            ' itself',
            ran.stderr,
        )

    def test_a_copy_of_a_run_is_refused(self):
        (run, *_others) = test_trend.runs(100, 101)
        paths = []
        for name in ('run.json', 'copy.json'):
            path = self.folder / name
            path.write_text(run_result.write(run))
            paths.append(str(path))
        ran = shell.openstack('tier', 'trend', *paths)
        self.assertEqual(1, ran.status)
        self.assertIn(
            f'{", ".join(paths)}: are results of the same run {run.run}',
            ran.stderr,
        )

    def test_too_few_runs(self):
        self.assertEqual(3, self.trend(1, 2, 3).status)
        ran = self.trend(
            132, 133, 13, 13, options=('--quantity', 'iops', '-f', 'json')
        )
        self.assertEqual(3, ran.status)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(
            ('too few runs', 4, 9),
            (row['Finding'], row['Runs'], row['Runs needed']),
        )
        ran = self.trend(
            132, 133, 13, 13, options=('--quantity', 'iops', '--changes')
        )
        self.assertEqual(3, ran.status)
        self.assertIn('1 of the series have too few runs', ran.stderr)
        self.assertIn('at least 9', ran.stderr)
        ran = self.trend(1)
        self.assertEqual(1, ran.status)
        self.assertIn('expected at least 2', ran.stderr)
