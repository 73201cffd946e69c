# SPDX-License-Identifier: Apache-2.0

"""A slot that is measured while its faults are made."""

import os
import sys

from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.fault import slot as fault_slot
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import run_measure as measure
from tests.unit.loop.fault import test_means


class SlotTestCase(test_means.FaultCase):
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
        )(test_means.SLOT, design.Treatment(name='default'))

    def test_a_slot_with_a_fault(self):
        self.cluster.recovery_looks = 0
        found = self.measure(
            ('sleep', '3'),
            test_means.fault(faults.FaultKind.OSD_OUT, at_s=0.0, for_s=1.0),
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
            test_means.fault(faults.FaultKind.OSD_OUT, at_s=0.0, for_s=300.0),
            limit_minutes=0.03,
        )
        self.assertIn(
            f'the command of slot {test_means.SLOT.number} did not end '
            'within 0.03 min',
            str(error),
        )
        self.assertRaises(
            ProcessLookupError, os.kill, int(process_id.read_text()), 0
        )
        self.assertEqual(self.before, self.cluster.state)

    def test_a_command_that_cannot_be_started_leaves_nothing(self):
        self.assertRaises(
            errors.ActionFailed, self.measure, ('/no/such',), test_means.OUT
        )
        self.assertEqual(self.before, self.cluster.state)

    def test_no_slot_in_a_cluster_that_is_not_healthy(self):
        self.cluster.checks = {'POOL_FULL'}
        path, commands = self.touch('measured')
        error = self.assertRaises(
            errors.ActionFailed,
            self.measure,
            commands['begin'],
            test_means.SCRUB,
        )
        self.assertIn('POOL_FULL', str(error))
        self.assertFalse(path.exists())
