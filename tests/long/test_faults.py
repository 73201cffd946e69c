# SPDX-License-Identifier: Apache-2.0
"""Creates while each kind of fault happens, with the doors and without.

A table of all faults with 100 creates for each, which takes an hour, is made
by ``python -m tests.functional.faults --table FILE``.
"""

import contextlib
import io

from testtools import content
from testtools import content_type

from tests.functional import faults
from tests.functional import faults_cloud
from tests.functional import faults_injected
from tests.functional import faults_run
from tests.functional import glance_proxy
from tests.functional import lab


#: Creates for each row of the table of all faults.
CREATES = 40


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

    def test_3_without_glance_fails_only_what_cinder_fails_alone(self):
        fault = faults_injected.GLANCE_GONE
        on = self.run_fault(fault, 'both', 50)
        off = self.run_fault(fault, 'off', 50)
        self.assert_not_worse(fault, on, off)

    def test_4_restarts_fail_no_more_creates_than_without_doors(self):
        fault = faults_injected.RESTARTS
        off = self.run_fault(fault, 'off', 40)
        on = self.run_fault(fault, 'both', 40)
        self.assert_not_worse(fault, on, off)


class FaultTableTest(lab.LabTestCase):
    def test_the_doors_make_no_fault_worse(self):
        """Of the whole table, with fewer creates."""
        said = io.StringIO()
        self.addDetail(
            'what it said',
            content.Content(
                content_type.UTF8_TEXT, lambda: [said.getvalue().encode()]
            ),
        )
        with contextlib.redirect_stdout(said):
            status = faults.main(['--creates', str(CREATES)])
        self.assertEqual(0, status)
