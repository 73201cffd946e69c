# SPDX-License-Identifier: Apache-2.0

"""Faults at their times, in a cluster in memory, and what they leave."""

import contextlib
import pathlib
import sys
import tempfile
import time

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
from tests.unit.loop.sweep import test_run_restore
from tests.worlds import fault_cluster

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
