# SPDX-License-Identifier: Apache-2.0

"""One verdict of several runs, the worst first."""

import ddt
from rally import plugins
from rally.task import sla

plugins.load()  # rally_openstack cannot be imported before

from tests.unit.rally import test_sla


@ddt.ddt
class JudgedRunsTest(test_sla.TierSLACase):
    def test_one_bad_run_of_several_is_bad_and_comes_first(self):
        good = self.iteration()
        self.cloud.images_by_name = {}
        bad = self.iteration()
        success, detail = self.judge(test_sla.HELD, good, bad)
        self.assertIs(False, success)
        self.assertIn(
            'a run without figures: its output names 0 result'
            ' files, expected one; it failed with FleetError: no'
            " active image is called 'db'",
            detail,
        )
        self.assertLess(detail.index('a run without'), detail.index('held'))

    def test_merged_is_as_if_one_had_judged_all(self):
        good = self.iteration()
        bad = {'output': {'complete': [], 'additive': []}, 'error': []}
        one, other, all_of_them = (
            sla.SLAChecker({'sla': {'cinder_tiers': test_sla.HELD}})
            for _number in range(3)
        )
        one.add_iteration(good)
        other.add_iteration(bad)
        for iteration in (good, bad):
            all_of_them.add_iteration(iteration)
        self.assertIs(False, one.merge(other))
        self.assertEqual(all_of_them.results(), one.results())
