# SPDX-License-Identifier: Apache-2.0

"""The way back: a step for each volume that is as a repair left it."""

import dataclasses

import ddt
import testtools

from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import undo
from tests.unit.loop.repair import test_order
from tests.unit.loop.repair import test_repair as cases


@ddt.ddt
class UndoTestCase(testtools.TestCase):
    def undone(self, orders, *volumes, around=test_order.AROUND, **options):
        return undo.plan(orders, volumes, circumstances=around, **options)

    def record(self, step, outcome=repair.StepOutcome.DONE, host=None):
        return test_order.orders_of(
            [step], order.Origin.RECORD, outcome=outcome, host=host
        )

    def moved(self, **fields):
        """A volume of which a record says that it got the type fast-type."""
        (step,) = test_order.planned(
            test_order.listed(test_order.ON_SLOW, type_name='slow-type'),
            orders=test_order.recommended(),
        )
        return (
            self.record(step, host=cases.FAST, **fields),
            test_order.listed(
                cases.RIGHT, type_name='fast-type', host=cases.FAST
            ),
        )

    def test_a_type_is_given_back(self):
        orders, volume = self.moved()
        (step,) = self.undone(orders, volume)
        self.assertEqual(
            ('slow-type', 'fast', 'slow', 7, ''),
            (
                step.retype_to,
                step.tier,
                step.to_tier,
                step.moved_gib,
                step.refusal,
            ),
        )
        # There and back again.
        (step,) = self.undone(
            self.record(step),
            test_order.listed(test_order.ON_SLOW, type_name='slow-type'),
        )
        self.assertEqual('fast-type', step.retype_to)

    def test_a_type_is_not_given_back_to_who_may_not_use_it(self):
        (step,) = test_order.planned(
            test_order.listed(
                cases.RIGHT, type_name='fast-type', host=cases.FAST
            ),
            orders=test_order.recommended(tier='fast', to_tier='slow'),
        )
        (step,) = self.undone(
            self.record(step),
            test_order.listed(
                test_order.ON_SLOW, type_name='slow-type', project='b' * 32
            ),
        )
        self.assertIn('its project may not use', step.refusal)

    def test_a_volume_is_moved_back_if_there_is_room(self):
        (step,) = test_order.planned(test_order.listed())
        orders = self.record(step, host=cases.FAST)
        there = test_order.listed(
            dataclasses.replace(cases.RIGHT, allowed=(cases.FAST, cases.SLOW)),
            host='other@fast#fast',
        )
        (step,) = self.undone(orders, there)
        self.assertEqual((cases.SLOW, ''), (step.migrate_to, step.refusal))
        (step,) = self.undone(
            orders, test_order.listed(cases.RIGHT, host='other@fast#fast')
        )
        self.assertIn('its type does not allow backend', step.refusal)
        (step,) = self.undone(
            orders,
            there,
            around=dataclasses.replace(
                test_order.AROUND, free_gib={cases.SLOW: 6.0}
            ),
        )
        self.assertIn('less than 7 GiB free', step.refusal)

    def test_limits_are_set_back(self):
        around = dataclasses.replace(
            test_order.AROUND,
            limits=dataclasses.replace(
                cases.LIMITS,
                images={cases.PLACE: {test_order.IDS[0]: cases.HAS}},
            ),
        )
        volume = test_order.listed(cases.RIGHT, host=cases.FAST)
        (step,) = test_order.planned(volume, around=around)
        orders = self.record(step)
        around.limits.images[cases.PLACE] = {
            test_order.IDS[0]: {**cases.HAS, 'rbd_qos_iops_limit': '80'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertEqual('', step.refusal)
        self.assertEqual({'rbd_qos_iops_limit': '40'}, step.limits.changes)
        around.limits.images[cases.PLACE] = {
            test_order.IDS[0]: {'rbd_qos_iops_limit': '70'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertIn(
            'since the repair, rbd_qos_iops_limit changed from 80 to 70',
            step.refusal,
        )

    def test_limits_that_were_set_in_part_are_told(self):
        kind = cases.back_end(total_iops_sec='80', total_bytes_sec='1000')
        images = {cases.PLACE: {test_order.IDS[0]: cases.HAS}}
        around = dataclasses.replace(
            test_order.AROUND,
            limits=dataclasses.replace(
                cases.LIMITS, images=images, types={'type-fast': kind}
            ),
        )
        volume = test_order.listed(cases.RIGHT, host=cases.FAST)
        (step,) = test_order.planned(volume, around=around)
        orders = self.record(step, outcome=repair.StepOutcome.FAILED)
        self.assertEqual([], self.undone(orders, volume, around=around))
        images[cases.PLACE] = {
            test_order.IDS[0]: {**cases.HAS, 'rbd_qos_iops_limit': '80'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertIn('rbd_qos_bps_limit changed from 1000', step.refusal)

    @ddt.data(('100M', ''), (str(2**64 - 1), ''), ('\x1b[m', r"'\x1b[m'"))
    @ddt.unpack
    def test_limits_that_were_set_by_hand_are_kept(self, had, words):
        """In the way that Ceph takes them."""
        around = dataclasses.replace(
            test_order.AROUND,
            limits=dataclasses.replace(
                cases.LIMITS,
                images={
                    cases.PLACE: {
                        test_order.IDS[0]: {'rbd_qos_iops_limit': had}
                    }
                },
            ),
        )
        volume = test_order.listed(cases.RIGHT, host=cases.FAST)
        orders = self.record(*test_order.planned(volume, around=around))
        self.assertEqual(
            {'rbd_qos_iops_limit': had}, orders.steps[0].had_limits
        )
        around.limits.images[cases.PLACE] = {
            test_order.IDS[0]: {'rbd_qos_iops_limit': '80'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertEqual({'rbd_qos_iops_limit': had}, step.limits.changes)
        self.assertIn(words, step.refusal)
        self.assertEqual(words == '', step.refusal == '')
        if not step.refusal:
            self.assertEqual(
                step.limits.changes, self.record(step).steps[0].limits
            )

    @ddt.data(
        ({'type_name': 'other'}, 'its type changed from fast-type to other'),
        ({'host': 'node@x#x'}, 'its host changed from node@fast#fast to'),
        ({'status': 'in-use'}, 'it is attached'),
    )
    @ddt.unpack
    def test_what_is_not_as_it_was_left(self, change, words):
        orders, volume = self.moved()
        volume = dataclasses.replace(
            volume, volume=dataclasses.replace(volume.volume, **change)
        )
        (step,) = self.undone(orders, volume)
        self.assertIn(words, step.refusal)

    def test_what_was_not_done_is_not_taken_back(self):
        for outcome in (
            repair.StepOutcome.REFUSED,
            repair.StepOutcome.CHANGED,
            repair.StepOutcome.NOT_STARTED,
        ):
            self.assertEqual([], self.undone(*self.moved(outcome=outcome)))
        # Nobody waited for the end of these.
        for outcome in (None, repair.StepOutcome.FAILED):
            orders, volume = self.moved(outcome=outcome)
            self.assertEqual(1, len(self.undone(orders, volume)))
            self.assertEqual(
                [],
                self.undone(
                    orders,
                    test_order.listed(
                        test_order.ON_SLOW, type_name='slow-type'
                    ),
                ),
            )
        orders, volume = self.moved()
        self.assertEqual([], self.undone(orders))
        self.assertEqual([], self.undone(orders, volume, tiers=('fast',)))
        self.assertEqual(
            [], self.undone(orders, volume, volumes=(test_order.IDS[1],))
        )

    def test_a_volume_that_had_no_type_keeps_the_new_one(self):
        orders, volume = self.moved()
        orders = dataclasses.replace(
            orders,
            steps=(dataclasses.replace(orders.steps[0], had_type=None),),
        )
        (step,) = self.undone(orders, volume)
        self.assertIn('it had no volume type', step.refusal)
        (step,) = self.undone(
            self.moved()[0],
            volume,
            around=dataclasses.replace(
                test_order.AROUND, types=test_order.TYPES[:1]
            ),
        )
        self.assertIn('no volume type slow-type any more', step.refusal)
