# SPDX-License-Identifier: Apache-2.0

"""The faults of one slot, each at its time."""

import time
from unittest import mock

import ddt

from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import fault as faults
from tests.unit.loop.fault import test_means


@ddt.ddt
class TimelineTestCase(test_means.FaultCase):
    @ddt.data(
        (test_means.OUT, (True, 0.0, frozenset())),
        (test_means.DOWN, (False, 1.0, frozenset({'noup', 'noout'}))),
    )
    @ddt.unpack
    def test_a_fault_of_an_osd_begins_and_ends_in_time(self, one, state):
        line = self.timeline(one)
        self.step_to(line, one.at_s - 1)
        self.assertEqual(self.before, self.cluster.state)
        self.step_to(line, one.at_s + 1)
        self.assertEqual(state, self.cluster.state[one.osd])
        self.step_to(line, one.at_s + one.for_s - 1)
        self.assertEqual(state, self.cluster.state[one.osd])
        self.step_to(line, one.at_s + one.for_s + 20)
        self.assertEqual(self.before, self.cluster.state)
        (found,) = line.records
        self.assertEqual(
            (
                test_means.NOW + one.at_s,
                test_means.NOW + one.at_s + one.for_s,
                '',
            ),
            (found.began, found.ended, found.problem),
        )
        # Two looks find that it still recovers.
        self.assertTrue(4 <= found.healthy - found.ended <= 8)

    def test_a_clock_that_is_set_back_makes_no_fault_longer(self):
        one = test_means.fault(
            faults.FaultKind.OSD_OUT, at_s=0.0, for_s=0.2, osd=1
        )
        line = self.timeline(one, clock=None)
        line.step()
        self.assertNotEqual(self.before, self.cluster.state)
        now = time.time()
        with mock.patch('time.time', lambda: now - 3600):
            time.sleep(0.3)
            line.step()
        self.assertEqual(self.before, self.cluster.state)
        (found,) = line.records
        self.assertEqual('', found.problem)
        self.assertTrue(0.2 <= found.ended - found.began < 60)

    def test_faults_come_one_after_the_other(self):
        line = self.timeline(test_means.OUT, test_means.SCRUB, test_means.DOWN)
        self.step_to(line, 300)
        line.finish()
        self.assertEqual(self.before, self.cluster.state)
        self.assertEqual(['', '', ''], [one.problem for one in line.records])
        self.assertEqual(
            ['osd.1', 'pool tier-a', 'osd.2'],
            [one.target for one in line.records],
        )

    def test_the_command_ends_first(self):
        line = self.timeline(test_means.OUT, test_means.DOWN)
        self.step_to(line, 70)
        line.finish()
        self.assertEqual(self.before, self.cluster.state)
        out, down = line.records
        self.assertIn('ended early', out.problem)
        self.assertEqual(test_means.NOW + 70, out.ended)
        self.assertIn('not made: the command ended', down.problem)
        self.assertIsNone(down.began)

    def test_times_count_from_what_the_command_announces(self):
        moments = [None, test_means.NOW + 400]
        line = self.timeline(
            test_means.OUT,
            counts_from=faults.ANNOUNCEMENT,
            announced=lambda: moments[self.clock.now > test_means.NOW + 390],
        )
        self.step_to(line, 500)
        self.assertEqual(test_means.NOW + 460, line.records[0].began)

    def test_a_command_that_announces_nothing(self):
        line = self.timeline(test_means.OUT, counts_from=faults.ANNOUNCEMENT)
        self.step_to(line, 500)
        line.finish()
        self.assertIn('did not announce', line.records[0].problem)
        self.assertEqual([], self.cluster.written)

    def test_no_fault_in_a_cluster_that_is_not_healthy_by_then(self):
        line = self.timeline(test_means.OUT)
        self.step_to(line, 50)
        self.cluster.checks = {'OSD_NEARFULL'}
        self.step_to(line, 200)
        line.finish()
        self.assertEqual([], self.cluster.written)
        self.assertIn(
            'not made: the cluster has HEALTH_WARN: OSD_NEARFULL',
            line.records[0].problem,
        )

    def test_what_cannot_be_undone_is_tried_again(self):
        line = self.timeline(test_means.OUT)
        self.step_to(line, 70)
        self.cluster.silent = {'osd in'}
        self.step_to(line, 100)
        self.assertRaises(errors.ActionFailed, line.finish)
        self.cluster.silent = set()
        line.step()
        line.finish()
        self.assertEqual(self.before, self.cluster.state)

    def test_health_that_does_not_come_back_is_told(self):
        line = self.timeline(test_means.DOWN)
        self.cluster.recovery_looks = 10**6
        self.step_to(line, 250)
        line.finish()

        def pause(seconds):
            self.clock.now += seconds

        line.wait_for_health(60, is_to_stop=lambda: False, pause=pause)
        self.assertIn(
            'the cluster had HEALTH_OK: 1 placement groups active+remapped',
            line.records[0].problem,
        )

    def test_commands_of_the_operator(self):
        path, commands = self.touch('slow')
        line = self.timeline(
            test_means.fault(faults.FaultKind.COMMAND, **commands)
        )
        self.step_to(line, 61)
        self.assertTrue(path.exists())
        self.step_to(line, 100)
        self.assertFalse(path.exists())
        self.assertEqual('', line.records[0].problem)

    @ddt.data(
        (('false',), "'false' ended with 1"),
        (('/no/such',), 'cannot be started'),
    )
    @ddt.unpack
    def test_a_command_that_fails_is_ended(self, begin, problem):
        path, commands = self.touch('slow')
        path.touch()
        line = self.timeline(
            test_means.fault(
                faults.FaultKind.COMMAND, begin=begin, end=commands['end']
            )
        )
        self.step_to(line, 62)
        self.assertFalse(path.exists())
        self.assertIn(problem, line.records[0].problem)
        self.assertIsNone(line.records[0].began)
