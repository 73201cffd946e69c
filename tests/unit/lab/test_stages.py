# SPDX-License-Identifier: Apache-2.0
"""The stages of ``up``: order, side by side, and failure."""

import threading

import testtools

from lab import stages


def stage(name, *needs, run=lambda: None):
    return stages.Stage(name=name, needs=needs, run=run)


class StagesTest(testtools.TestCase):
    def run_all(self, *wanted, workers=4):
        reported = []
        results = stages.run(wanted, reported.append, workers)
        self.assertEqual(results, reported)
        return [result.name for result in results]

    def test_a_stage_runs_after_all_that_it_needs(self):
        order = []

        def note(name):
            return lambda: order.append(name)

        self.run_all(
            stage('c', 'a', 'b', run=note('c')),
            stage('b', 'a', run=note('b')),
            stage('a', run=note('a')),
        )
        self.assertEqual(['a', 'b', 'c'], order)

    def test_stages_that_need_nothing_of_each_other_run_side_by_side(self):
        # Each waits for the other: one after the other would never end.
        meeting = threading.Barrier(2, timeout=60)
        self.assertEqual(
            {'a', 'b'},
            set(
                self.run_all(
                    stage('a', run=lambda: str(meeting.wait())),
                    stage('b', run=lambda: str(meeting.wait())),
                )
            ),
        )

    def test_what_a_stage_needs_is_found_through_others(self):
        all_of_them = [
            stage('c', 'b'),
            stage('a'),
            stage('other', 'a'),
            stage('b', 'a'),
        ]
        self.assertEqual(
            ['c', 'a', 'b'],
            [one.name for one in stages.needed_for(all_of_them, 'c')],
        )
        self.assertRaises(KeyError, stages.needed_for, all_of_them, 'd')

    def test_a_remark_is_reported(self):
        (result,) = stages.run(
            [stage('a', run=lambda: 'all there')], lambda result: None
        )
        self.assertEqual('all there', result.remark)

    def test_after_a_failure_the_others_end_and_nothing_new_starts(self):
        failed = threading.Event()

        def fail():
            try:
                raise OSError('disk full')
            finally:
                failed.set()

        slow = stage('slow', run=lambda: str(failed.wait(60)))
        problem = self.assertRaises(
            stages.StagesFailed,
            self.run_all,
            stage('broken', run=fail),
            slow,
            stage('next', 'broken'),
            stage('last', 'slow', 'next'),
        )
        by_name = {result.name: result for result in problem.results}
        self.assertEqual({'broken', 'slow'}, set(by_name))
        self.assertEqual('True', by_name['slow'].remark)
        self.assertEqual('disk full', str(by_name['broken'].problem))
        self.assertEqual(['next', 'last'], problem.skipped)

    def test_a_need_that_is_no_stage_is_an_error(self):
        problem = self.assertRaises(
            ValueError, self.run_all, stage('a', 'nowhere')
        )
        self.assertIn('nowhere', str(problem))

    def test_a_circle_is_an_error(self):
        problem = self.assertRaises(
            ValueError, self.run_all, stage('a', 'b'), stage('b', 'a')
        )
        self.assertIn('wait for each other', str(problem))
