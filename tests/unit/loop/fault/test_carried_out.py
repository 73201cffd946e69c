# SPDX-License-Identifier: Apache-2.0

"""Whatever ends a fault, all of it is undone."""

import itertools

import ddt

from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import run_restore
from tests.unit.loop.fault import test_means
from tests.worlds import fault_cluster


@ddt.ddt
class MendTestCase(test_means.FaultCase):
    def killed_after(self, writes):
        """Steps through all faults until the process ends, if it does."""
        self.cluster.left = writes
        line = self.timeline(test_means.OUT, test_means.DOWN)
        try:
            self.step_to(line, 400)
        except fault_cluster.Killed:
            return True
        finally:
            self.cluster.left = None
        return False

    def test_whatever_ends_it_everything_is_mended(self):
        for writes in itertools.count():
            self.cluster = fault_cluster.Cluster()
            self.clock = test_means.Clock()
            was_killed = self.killed_after(writes)
            for expected in (
                {
                    run_restore.RestoreOutcome.AS_BEFORE,
                    run_restore.RestoreOutcome.BROUGHT_BACK,
                },
                {run_restore.RestoreOutcome.AS_BEFORE},
            ):
                found = [
                    self.means(are_ended=False).mend(one)
                    for one in self.targets(test_means.OUT, test_means.DOWN)
                ]
                self.assertLessEqual({one.outcome for one in found}, expected)
                self.assertTrue(all(one.is_back for one in found))
            self.assertEqual(self.before, self.cluster.state)
            if not was_killed:
                break
        # Out, in, the flags, down and the flags again.
        self.assertEqual(5, writes)

    def test_an_osd_that_does_not_come_up_is_told(self):
        self.killed_after(3)
        self.cluster.is_broken = True
        (target,) = self.targets(test_means.DOWN)
        found = self.means(are_ended=False).mend(target, wait_s=0)
        self.assertEqual(
            (run_restore.RestoreOutcome.FAILED, False),
            (found.outcome, found.is_back),
        )
        self.assertIn('osd.2 is still down, expected up', found.reason)

    def test_an_answer_that_is_not_known_is_told(self):
        (target,) = self.targets(test_means.OUT)
        self.cluster.osds[1].weight = None
        found = self.means(are_ended=False).mend(target, wait_s=0)
        self.assertEqual(run_restore.RestoreOutcome.FAILED, found.outcome)
        self.assertIn('a form that is not known', found.reason)

    def test_an_osd_that_is_gone_is_told(self):
        (target,) = self.targets(test_means.OUT)
        del self.cluster.osds[1]
        found = self.means(are_ended=False).mend(target, wait_s=0)
        self.assertIn('no longer exists', found.reason)

    @ddt.data(True, False)
    def test_commands_are_only_ended_where_they_may_have_begun(self, known):
        path, commands = self.touch('ended')
        path.touch()
        (target,) = self.targets(
            test_means.fault(faults.FaultKind.COMMAND, **commands)
        )
        found = self.means(are_ended=known).mend(target)
        self.assertTrue(found.is_back)
        self.assertEqual(known, path.exists())

    def test_the_end_command_fails(self):
        (target,) = self.targets(
            test_means.fault(
                faults.FaultKind.COMMAND, begin=('true',), end=('false',)
            )
        )
        found = self.means(are_ended=False).mend(target)
        self.assertEqual(run_restore.RestoreOutcome.FAILED, found.outcome)
