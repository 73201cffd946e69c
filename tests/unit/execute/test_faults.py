# SPDX-License-Identifier: Apache-2.0

"""Faults at their times, in a cluster in memory, and what they leave."""

import contextlib
import itertools
import os
import pathlib
import sys
import tempfile
import time
from unittest import mock

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.fault import means as fault_means
from cinder_tiers.loop.fault import objections
from cinder_tiers.loop.fault import observed_facts
from cinder_tiers.loop.fault import slot as fault_slot
from cinder_tiers.loop.fault import timeline
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import run_measure as measure
from cinder_tiers.loop.sweep import run_restore
from tests.contract import fault_cluster
from tests.unit.loop.sweep import test_run_restore

NOW = 1_764_000_000.0
SLOT = design.TreatmentSlot(number=1, block=1, treatment='default')


def fault(kind, at_s=60.0, for_s=30.0, **fields):
    return faults.Fault(
        **{
            'name': kind.value,
            'kind': kind,
            'at_s': at_s,
            'for_s': for_s,
            **fields,
        }
    )


OUT = fault(faults.FaultKind.OSD_OUT, osd=1)
DOWN = fault(faults.FaultKind.OSD_DOWN, at_s=200.0, osd=2)
SCRUB = fault(faults.FaultKind.DEEP_SCRUB)


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


class FaultCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cluster = fault_cluster.Cluster()
        self.before = self.cluster.state
        self.clock = Clock()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )

    def means(self, **named):
        return fault_means.Means(
            self.cluster,
            observed_facts.Reader(self.cluster),
            'tier-a',
            **named,
        )

    def targets(self, *made):
        return self.means().facts(made, seed=3)[1]

    def timeline(self, *made, means=None, **named):
        return timeline.Timeline(
            self.targets(*made),
            means=means or self.means(),
            **{
                'counts_from': faults.COMMAND,
                'announced': lambda: None,
                'clock': self.clock,
                **named,
            },
        )

    def step_to(self, line, seconds):
        """Steps each second, as far as that."""
        while self.clock.now < NOW + seconds:
            self.clock.now += 1
            line.step()

    def touch(self, name):
        """A command that makes a file, and one that removes it."""
        path = self.folder / name
        return path, {
            'begin': (sys.executable, '-c', f'open({str(path)!r}, "w")'),
            'end': ('rm', '-f', str(path)),
        }


@ddt.ddt
class TimelineTestCase(FaultCase):
    @ddt.data(
        (OUT, (True, 0.0, frozenset())),
        (DOWN, (False, 1.0, frozenset({'noup', 'noout'}))),
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
            (NOW + one.at_s, NOW + one.at_s + one.for_s, ''),
            (found.began, found.ended, found.problem),
        )
        # Two looks find that it still recovers.
        self.assertTrue(4 <= found.healthy - found.ended <= 8)

    def test_a_clock_that_is_set_back_makes_no_fault_longer(self):
        one = fault(faults.FaultKind.OSD_OUT, at_s=0.0, for_s=0.2, osd=1)
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
        line = self.timeline(OUT, SCRUB, DOWN)
        self.step_to(line, 300)
        line.finish()
        self.assertEqual(self.before, self.cluster.state)
        self.assertEqual(['', '', ''], [one.problem for one in line.records])
        self.assertEqual(
            ['osd.1', 'pool tier-a', 'osd.2'],
            [one.target for one in line.records],
        )

    def test_the_command_ends_first(self):
        line = self.timeline(OUT, DOWN)
        self.step_to(line, 70)
        line.finish()
        self.assertEqual(self.before, self.cluster.state)
        out, down = line.records
        self.assertIn('ended early', out.problem)
        self.assertEqual(NOW + 70, out.ended)
        self.assertIn('not made: the command ended', down.problem)
        self.assertIsNone(down.began)

    def test_times_count_from_what_the_command_announces(self):
        moments = [None, NOW + 400]
        line = self.timeline(
            OUT,
            counts_from=faults.ANNOUNCEMENT,
            announced=lambda: moments[self.clock.now > NOW + 390],
        )
        self.step_to(line, 500)
        self.assertEqual(NOW + 460, line.records[0].began)

    def test_a_command_that_announces_nothing(self):
        line = self.timeline(OUT, counts_from=faults.ANNOUNCEMENT)
        self.step_to(line, 500)
        line.finish()
        self.assertIn('did not announce', line.records[0].problem)
        self.assertEqual([], self.cluster.written)

    def test_no_fault_in_a_cluster_that_is_not_healthy_by_then(self):
        line = self.timeline(OUT)
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
        line = self.timeline(OUT)
        self.step_to(line, 70)
        self.cluster.silent = {'osd in'}
        self.step_to(line, 100)
        self.assertRaises(errors.ActionFailed, line.finish)
        self.cluster.silent = set()
        line.step()
        line.finish()
        self.assertEqual(self.before, self.cluster.state)

    def test_health_that_does_not_come_back_is_told(self):
        line = self.timeline(DOWN)
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
        line = self.timeline(fault(faults.FaultKind.COMMAND, **commands))
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
            fault(faults.FaultKind.COMMAND, begin=begin, end=commands['end'])
        )
        self.step_to(line, 62)
        self.assertFalse(path.exists())
        self.assertIn(problem, line.records[0].problem)
        self.assertIsNone(line.records[0].began)


class SlotTestCase(FaultCase):
    def measure(self, command, *made, limit_minutes=None, **fields):
        return fault_slot.Measure(
            measure.Command(
                command,
                folder=str(self.folder),
                tier='a',
                said=sys.__stderr__,
                limit_minutes=limit_minutes,
            ),
            made=faults.Faults(faults=made, **fields),
            targets=self.targets(*made),
            means=self.means(),
            read_announcement=lambda path: None,
            is_to_stop=lambda: False,
        )(SLOT, design.Treatment(name='default'))

    def test_a_slot_with_a_fault(self):
        self.cluster.recovery_looks = 0
        found = self.measure(
            ('sleep', '3'),
            fault(faults.FaultKind.OSD_OUT, at_s=0.0, for_s=1.0),
        )
        self.assertEqual(0, found.exit_status)
        (made,) = found.faults
        self.assertEqual('', made.problem)
        self.assertTrue(1 <= made.ended - made.began <= 2.5)
        self.assertIsNotNone(made.healthy)
        self.assertEqual(self.before, self.cluster.state)

    def test_a_command_that_hangs_ends_with_its_limit(self):
        process_id = self.folder / 'process'
        error = self.assertRaises(
            errors.ActionFailed,
            self.measure,
            ('sh', '-c', f'echo $$ > {process_id}; exec sleep 600'),
            fault(faults.FaultKind.OSD_OUT, at_s=0.0, for_s=300.0),
            limit_minutes=0.03,
        )
        self.assertIn(
            f'the command of slot {SLOT.number} did not end within 0.03 min',
            str(error),
        )
        self.assertRaises(
            ProcessLookupError, os.kill, int(process_id.read_text()), 0
        )
        self.assertEqual(self.before, self.cluster.state)

    def test_a_command_that_cannot_be_started_leaves_nothing(self):
        self.assertRaises(
            errors.ActionFailed, self.measure, ('/no/such',), OUT
        )
        self.assertEqual(self.before, self.cluster.state)

    def test_no_slot_in_a_cluster_that_is_not_healthy(self):
        self.cluster.checks = {'POOL_FULL'}
        path, commands = self.touch('measured')
        error = self.assertRaises(
            errors.ActionFailed, self.measure, commands['begin'], SCRUB
        )
        self.assertIn('POOL_FULL', str(error))
        self.assertFalse(path.exists())


@ddt.ddt
class MendTestCase(FaultCase):
    def killed_after(self, writes):
        """Steps through all faults until the process ends, if it does."""
        self.cluster.left = writes
        line = self.timeline(OUT, DOWN)
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
            self.clock = Clock()
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
                    for one in self.targets(OUT, DOWN)
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
        (target,) = self.targets(DOWN)
        found = self.means(are_ended=False).mend(target, wait_s=0)
        self.assertEqual(
            (run_restore.RestoreOutcome.FAILED, False),
            (found.outcome, found.is_back),
        )
        self.assertIn('osd.2 is still down, expected up', found.reason)

    def test_an_answer_that_is_not_known_is_told(self):
        (target,) = self.targets(OUT)
        self.cluster.osds[1].weight = None
        found = self.means(are_ended=False).mend(target, wait_s=0)
        self.assertEqual(run_restore.RestoreOutcome.FAILED, found.outcome)
        self.assertIn('a form that is not known', found.reason)

    def test_an_osd_that_is_gone_is_told(self):
        (target,) = self.targets(OUT)
        del self.cluster.osds[1]
        found = self.means(are_ended=False).mend(target, wait_s=0)
        self.assertIn('no longer exists', found.reason)

    @ddt.data(True, False)
    def test_commands_are_only_ended_where_they_may_have_begun(self, known):
        path, commands = self.touch('ended')
        path.touch()
        (target,) = self.targets(fault(faults.FaultKind.COMMAND, **commands))
        found = self.means(are_ended=known).mend(target)
        self.assertTrue(found.is_back)
        self.assertEqual(known, path.exists())

    def test_the_end_command_fails(self):
        (target,) = self.targets(
            fault(faults.FaultKind.COMMAND, begin=('true',), end=('false',))
        )
        found = self.means(are_ended=False).mend(target)
        self.assertEqual(run_restore.RestoreOutcome.FAILED, found.outcome)


class RecordTestCase(FaultCase):
    def test_a_slot_whose_fault_was_not_made_is_not_sound(self):
        for problem, is_sound in (('', True), ('not made', False)):
            one = record.SlotRecord(
                slot=SLOT,
                verdict=record.TreatmentVerdict.FAULT_NOT_MADE
                if problem
                else record.TreatmentVerdict.IN_EFFECT,
                measured=record.MeasuredSlot(exit_status=0, result_file=None),
                started='',
                ended='',
            )
            self.assertEqual(is_sound, one.is_sound)


class ConsentTestCase(FaultCase):
    def test_only_a_cluster_that_is_named(self):
        struck = faults.Struck(
            cluster='ceph',
            fsid=fault_cluster.FSID,
            targets=self.targets(OUT),
        )
        error = self.assertRaises(
            errors.Refused, objections.check_consent, struck, ('ceph',)
        )
        self.assertIn(f'--allow {fault_cluster.FSID}', str(error))
        objections.check_consent(struck, (fault_cluster.FSID,))


class SweepWithFaultsTestCase(test_run_restore.SweepCase):
    """Treatments and faults together come back, wherever it ends."""

    made = (
        fault(faults.FaultKind.OSD_OUT, at_s=0.0, for_s=0.1, osd=1),
        fault(faults.FaultKind.OSD_DOWN, at_s=0.2, for_s=0.1, osd=2),
    )

    def sweep(self, left_of_world, left_of_cluster):
        """(slots, or None if it ended; the world; the cluster)."""
        cluster = fault_cluster.Cluster(left=left_of_cluster)
        cluster.recovery_looks = 0
        world = test_run_restore.World(
            test_run_restore.applied(test_run_restore.PLAIN),
            test_run_restore.PLAIN,
            left_of_world,
        )
        before = world.objects, cluster.state
        prepared = self.prepared(
            world, test_run_restore.PLAIN, [test_run_restore.BACKFILLS]
        )
        means = fault_means.Means(
            cluster, observed_facts.Reader(cluster), 'tier-a'
        )
        targets = means.facts(self.made, seed=1)[1]
        slots = None
        with contextlib.suppress(
            fault_cluster.Killed, test_run_restore.Killed
        ):
            slots = self.run_sweep(
                prepared,
                world,
                fault_slot.Measure(
                    Running(cluster),
                    made=faults.Faults(faults=self.made),
                    targets=targets,
                    means=means,
                    read_announcement=lambda path: None,
                    is_to_stop=lambda: False,
                ),
            )
        world.left = cluster.left = None
        mended = [
            fault_means.Means(
                cluster,
                observed_facts.Reader(cluster),
                'tier-a',
                are_ended=False,
            ).mend(one)
            for one in targets
            if one.is_to_mend
        ]
        self.assertTrue(all(one.is_back for one in mended))
        self.assertTrue(
            all(one.is_back for one in self.restore(prepared, world))
        )
        self.assertEqual(before, (world.objects, cluster.state))
        return slots

    def test_all_slots_have_their_faults(self):
        slots = self.sweep(None, None)
        self.assertEqual(2, len(slots))
        for slot in slots:
            self.assertTrue(slot.is_sound, slot)
            self.assertEqual(
                ['', ''], [one.problem for one in slot.measured.faults]
            )

    def test_wherever_it_ends(self):
        for left in range(10):
            self.assertIsNone(self.sweep(None, left))
        for left in range(2):
            self.assertIsNone(self.sweep(left, None))

    def test_a_fault_that_is_not_made_is_told(self):
        self.made = (
            *self.made,
            fault(faults.FaultKind.DEEP_SCRUB, at_s=100.0, for_s=1.0),
        )
        for slot in self.sweep(None, None):
            self.assertEqual(
                record.TreatmentVerdict.FAULT_NOT_MADE, slot.verdict
            )
            self.assertIn('deep_scrub: not made', slot.reason)
            self.assertFalse(slot.is_sound)


class Running:
    """A command that measures until all faults of a slot are over."""

    def __init__(self, cluster):
        self.cluster = cluster

    def announcement(self, slot):
        return ''

    def __call__(self, slot, treatment, while_running):
        # Out, in, the flags, down and the flags again.
        while len(self.cluster.written) < 5 * slot.number:
            while_running()
            time.sleep(0.02)
        return record.MeasuredSlot(exit_status=0, result_file=None)
