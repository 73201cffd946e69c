# SPDX-License-Identifier: Apache-2.0
"""Creates while each kind of fault happens, with doors and without.

Those of test_faults and two that take longer; together nine minutes on two
busy cores, so that they are no part of the functional tests. With the lab up:
``python -m testtools.run tests.functional.faults_cases``. The complete run,
with as many creates on both sides for every fault, is
``python -m tests.functional.faults``; it takes about an hour.
"""

from tests.functional import faults_injected
from tests.long import test_faults


class MoreFaultsTest(test_faults.FaultsTest):
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
