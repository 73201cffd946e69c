# SPDX-License-Identifier: Apache-2.0

import testtools

from tests.functional import faults_cloud
from tests.functional import faults_injected
from tests.functional import faults_load
from tests.functional import faults_run

STOPPED = next(
    fault for fault in faults_injected.FAULTS if fault.name == 'Glance stopped'
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

    def test_far_more_failures_are_no_accident(self):
        (problem,) = self.judge(
            a_run(*['tagged image'] * 12), a_run('tagged image')
        )
        self.assertIn('12 creates (tagged image) failed', problem)

    def test_what_holds_cinder_may_have_missed_the_run_without_doors(self):
        frozen = faults_injected.GLANCE_GONE
        self.assertEqual(
            [], self.judge(a_run(post_s=18.9), a_run(post_s=1.0), frozen)
        )
        (problem,) = self.judge(a_run(post_s=19.1), a_run(post_s=1.0), frozen)
        self.assertIn('an answer came after 19.1 s', problem)

    def test_an_answer_may_be_as_late_as_documented(self):
        self.assertEqual(
            [], self.judge(a_run(post_s=17.9), a_run(post_s=11.0))
        )
        (problem,) = self.judge(a_run(post_s=18.1), a_run(post_s=11.0))
        self.assertIn('an answer came after 18.1 s', problem)
