# SPDX-License-Identifier: Apache-2.0
"""Creates while Glance answers wrongly, and while tiers change.

Two of the faults that the doors must survive; `faults_cases` has more.
"""

import contextlib

from tests.functional import faults_cloud
from tests.functional import faults_injected
from tests.functional import faults_run
from tests.functional import glance_proxy
from tests.functional import lab


class FaultsTest(lab.LabTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.ExitStack() as stack:
            cls.cloud = faults_cloud.Cloud()
            cls.proxy = stack.enter_context(
                glance_proxy.GlanceProxy(cls.cloud.glance_url)
            )
            # one configuration may serve several tests
            stack.enter_context(cls.cloud.as_it_was())
            stack.enter_context(cls.cloud.no_limit())
            cls.addClassCleanup(stack.pop_all().close)

    def run_fault(self, fault, doors, creates):
        return faults_run.run(self.cloud, self.proxy, fault, doors, creates)

    def assert_not_worse(self, fault, on, off=None):
        self.assertEqual([], faults_run.problems(fault, on, off))

    def test_1_what_glance_answers_to_the_doors_only_fails_no_create(self):
        fault = faults_injected.EACH_ANSWER
        on = self.run_fault(fault, 'both', 100)
        self.assert_not_worse(fault, on)
        self.assertEqual([], on.failures)
        given = {
            answer
            for agent, answer in self.proxy.counts
            if agent == faults_injected.DOORS_AGENT
        }
        self.assertEqual(set(faults_injected.ANSWERS), given - {None})
        # each volume is where the tags or the policy say
        self.assertEqual(
            set(),
            {
                (create.kind, create.pool)
                for create in on.creates
                if not create.is_on_own_tier
            }
            - {('tagged image', 'tier-general')},
        )

    def test_2_tiers_that_change_meanwhile_fail_no_create(self):
        fault = faults_injected.TIERS_CHANGED
        on = self.run_fault(fault, 'both', 50)
        self.assert_not_worse(fault, on)
        self.assertEqual([], on.failures)
