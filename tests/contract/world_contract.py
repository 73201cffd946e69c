# SPDX-License-Identifier: Apache-2.0

"""What any world must keep to in which plans are carried out.

Mixed into a test case for the world in memory, and into one for a real Ceph
cluster.
"""

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import difference
from cinder_tiers.execute import apply


class WorldContract:
    """Tests of a world.

    The test case gives `catalog`, `executors`, `read(key)` and `observe()`.
    """

    #: Seconds that a write may take to be in effect. Of the test case: a
    #: value here would come before that of a case named behind this one.
    settle_s: float

    def make_plan(self):
        return plans.make(catalog=self.catalog, actual=self.observe())

    def carry_out(self, plan):
        return apply.apply(
            plan=plan,
            executors=self.executors,
            read=self.read,
            report=lambda result: None,
            settle_s=self.settle_s,
        )

    def assert_all_done(self, results):
        self.assertEqual(
            [],
            [
                (str(one.action.key), one.reason)
                for one in results
                if one.outcome is not actions.Outcome.DONE
            ],
        )

    def test_what_is_applied_needs_nothing(self):
        plan = self.make_plan()
        self.assertNotEqual((), plan.actions)
        self.assert_all_done(self.carry_out(plan))
        self.assertEqual((), self.make_plan().actions)

    def test_every_object_is_what_its_action_said(self):
        plan = self.make_plan()
        self.carry_out(plan)
        for action in plan.actions:
            self.assertEqual(
                (), difference.differences(self.read(action.key), action.after)
            )

    def test_an_apply_that_was_cut_off_is_finished_by_the_next(self):
        plan = self.make_plan()
        half = plans.Plan(actions=plan.actions[: len(plan.actions) // 2])
        self.carry_out(half)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)

    def test_a_plan_may_be_applied_twice(self):
        plan = self.make_plan()
        self.carry_out(plan)
        self.assert_all_done(self.carry_out(plan))
        self.assertEqual((), self.make_plan().actions)
