# SPDX-License-Identifier: Apache-2.0

import testtools

from tests.functional import faults_cloud
from tests.functional import faults_injected
from tests.functional import faults_load
from tests.functional import faults_run

STOPPED = next(
    fault for fault in faults_injected.FAULTS if fault.name == 'Glance stopped'
)
RESTARTED = next(
    fault
    for fault in faults_injected.FAULTS
    if fault.name == 'database restarted'
)


def a_run(
    *failed_kinds,
    doors='both',
    post_s=1.0,
    total_s=5.0,
    door_s=0.1,
    of_each=20,
):
    """A run in which one create failed for each mention of its kind."""
    creates = [
        faults_load.Create(
            name=f'{kind}-{number}',
            kind=kind,
            began=0.0,
            http_status=202,
            post_s=post_s,
            status='available',
            total_s=total_s,
        )
        for kind in faults_load.KINDS
        for number in range(of_each)
    ]
    for kind in failed_kinds:
        next(
            create
            for create in creates
            if create.kind == kind and not create.has_failed
        ).status = 'error'
    return faults_run.Run(
        fault='a fault',
        doors=doors,
        creates=tuple(creates),
        faulty_answers=0,
        decisions=(
            faults_cloud.Decision(
                door='api', request_id='req-1', error=None, seconds=door_s
            ),
        ),
    )


class VerdictTest(testtools.TestCase):
    def judge(self, on, off, fault=STOPPED):
        return faults_run.problems(fault, on, off)

    def test_two_runs_without_a_failure_are_alike(self):
        self.assertEqual([], self.judge(a_run(), a_run(doors='off')))

    def test_what_cinder_fails_alone_may_fail(self):
        self.assertEqual(
            [],
            self.judge(
                a_run('tagged image', 'tagged image'), a_run('tagged image')
            ),
        )

    def test_a_kind_that_never_fails_without_doors_may_not_with_them(self):
        (problem,) = self.judge(a_run('untagged image'), a_run('tagged image'))
        self.assertIn('1 creates (untagged image) failed', problem)

    def test_a_kind_that_needs_no_glance_may_not_fail_at_all(self):
        (problem,) = self.judge(a_run('blank'), a_run('blank', 'blank'))
        self.assertIn('blank', problem)

    def test_far_more_failures_are_no_accident(self):
        (problem,) = self.judge(
            a_run(*['tagged image'] * 12), a_run('tagged image')
        )
        self.assertIn('12 creates (tagged image) failed', problem)

    def test_a_fault_that_hits_all_kinds_alike_is_judged_over_all(self):
        self.assertEqual(
            [],
            self.judge(
                a_run('blank', 'explicit type'),
                a_run('tagged image'),
                RESTARTED,
            ),
        )

    def test_an_answer_may_be_as_late_as_documented(self):
        self.assertEqual(
            [], self.judge(a_run(post_s=17.9), a_run(post_s=11.0))
        )
        (problem,) = self.judge(a_run(post_s=18.1), a_run(post_s=11.0))
        self.assertIn('an answer came after 18.1 s', problem)

    def test_so_may_a_volume(self):
        self.assertEqual(
            [], self.judge(a_run(total_s=34.0), a_run(total_s=20.0))
        )
        (problem,) = self.judge(a_run(total_s=36.0), a_run(total_s=20.0))
        self.assertIn('a volume came after 36.0 s', problem)

    def test_the_api_door_is_held_to_the_bound_without_another_run(self):
        self.assertEqual([], self.judge(a_run(door_s=5.1), None))
        (problem,) = self.judge(a_run(door_s=8.0), None)
        self.assertIn('a decision of the API door came after 8.0 s', problem)

    def test_a_difference_of_one_is_likely(self):
        self.assertGreater(faults_run.chance_of(2, 100, 1, 100), 0.1)
        self.assertEqual(1.0, faults_run.chance_of(0, 100, 5, 100))

    def test_the_chance_is_that_of_drawing_balls(self):
        # 2 red of 4 balls, 2 drawn: both red in one of six draws
        self.assertAlmostEqual(1 / 6, faults_run.chance_of(2, 2, 0, 2))
