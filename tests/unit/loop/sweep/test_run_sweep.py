# SPDX-License-Identifier: Apache-2.0

"""A sweep slot by slot: what is measured, and what is not."""

from cinder_tiers.domain import errors
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.loop.sweep import record
from tests.unit.loop.sweep import test_run_restore


class RunSweepTestCase(test_run_restore.SlotCase):
    def test_what_is_not_in_effect_is_not_measured(self):
        self.world.cloud.ignored = {test_run_restore.OSDS}
        self.assertEqual(
            {
                'default': record.TreatmentVerdict.IN_EFFECT,
                '0': record.TreatmentVerdict.NOT_IN_EFFECT,
                '1': record.TreatmentVerdict.IN_EFFECT,
            },
            self.verdicts(
                [test_run_restore.BACKFILLS, test_run_restore.LIMIT]
            ),
        )
        self.assertEqual({'default', '1'}, set(self.measured))

    def test_what_is_changed_while_it_is_measured_is_told(self):
        def measure(slot, treatment):
            if treatment.name == '0':
                self.world.cloud.objects[test_run_restore.OSDS] = (
                    ceph_state.OsdOptions(name='ssd', values={})
                )
            return record.MeasuredSlot(exit_status=0, result_file=None)

        prepared = self.prepared(
            self.world,
            test_run_restore.PLAIN,
            [test_run_restore.BACKFILLS, test_run_restore.NOTHING],
        )
        found = {
            one.slot.treatment: one.verdict
            for one in self.run_sweep(prepared, self.world, measure)
        }
        self.assertEqual(record.TreatmentVerdict.CHANGED, found['0'])
        self.assertEqual(record.TreatmentVerdict.IN_EFFECT, found['1'])

    def test_a_world_that_is_not_as_declared_is_not_swept(self):
        error = self.assertRaises(
            errors.ActionFailed,
            self.prepared,
            self.world,
            test_run_restore.with_parts(
                test_run_restore.PLAIN, test_run_restore.BACKFILLS
            ),
            [test_run_restore.LIMIT],
        )
        self.assertIn('update osd options ssd', str(error))

    def test_each_slot_is_measured_in_its_order(self):
        prepared = self.prepared(
            self.world,
            test_run_restore.PLAIN,
            [
                test_run_restore.BACKFILLS,
                test_run_restore.LIMIT,
                test_run_restore.NOTHING,
            ],
            blocks=3,
        )
        self.run_sweep(prepared, self.world, self.measure)
        self.assertEqual(
            [one.treatment for one in prepared.sweep.slots], self.measured
        )

    def test_no_slot_begins_after_a_stop(self):
        self.assertEqual(
            {},
            self.verdicts(
                [test_run_restore.BACKFILLS], is_to_stop=lambda: True
            ),
        )

    def verdicts(self, treatments, **arguments):
        prepared = self.prepared(
            self.world, test_run_restore.PLAIN, treatments
        )
        return {
            one.slot.treatment: one.verdict
            for one in self.run_sweep(
                prepared, self.world, self.measure, **arguments
            )
        }
