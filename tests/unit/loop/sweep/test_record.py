# SPDX-License-Identifier: Apache-2.0

"""A slot whose fault was not made."""

from cinder_tiers.loop.sweep import record
from tests.unit.loop.fault import test_means


class RecordTestCase(test_means.FaultCase):
    def test_a_slot_whose_fault_was_not_made_is_not_sound(self):
        for problem, is_sound in (('', True), ('not made', False)):
            one = record.SlotRecord(
                slot=test_means.SLOT,
                verdict=record.TreatmentVerdict.FAULT_NOT_MADE
                if problem
                else record.TreatmentVerdict.IN_EFFECT,
                measured=record.MeasuredSlot(exit_status=0, result_file=None),
                started='',
                ended='',
            )
            self.assertEqual(is_sound, one.is_sound)
