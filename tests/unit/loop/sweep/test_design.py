# SPDX-License-Identifier: Apache-2.0

"""The design of sweeps, and how values are told from one another."""

import collections

from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.loop.sweep import design

PLACE = ('tiers', 'a', 'rbd', 'osd_options', 'osd_max_backfills')
DEPTH = ('guest', 'iodepth')


def sweep(treatments=3, **changes):
    return design.Sweep(
        tier='a',
        treatments=tuple(
            design.Treatment(name=str(number)) for number in range(treatments)
        ),
        **{'blocks': 4, 'seed': 1, **changes},
    )


class DesignTestCase(testtools.TestCase):
    @given(
        treatments=strategies.integers(1, 6),
        blocks=strategies.integers(1, 6),
        seed=strategies.integers(0),
    )
    def test_each_block_has_each_treatment_once(
        self, treatments, blocks, seed
    ):
        planned = sweep(treatments, blocks=blocks, seed=seed)
        self.assertEqual(
            list(range(1, blocks * (treatments + 1) + 1)),
            [one.number for one in planned.slots],
        )
        found = collections.Counter(
            (one.block, one.treatment) for one in planned.slots
        )
        self.assertEqual({1}, set(found.values()))
        self.assertEqual(blocks * (treatments + 1), len(found))
        self.assertEqual(
            planned.slots, sweep(treatments, blocks=blocks, seed=seed).slots
        )

    def test_the_order_of_a_seed_does_not_change(self):
        """Who repeats a sweep gets the same order, whatever the release."""
        self.assertEqual(
            ['0', 'default', '2', '1', '2', '1', '0', 'default'],
            [one.treatment for one in sweep(blocks=2).slots],
        )

    def test_orders_of_blocks_differ(self):
        orders = collections.defaultdict(list)
        for one in sweep(6, blocks=10).slots:
            orders[one.block].append(one.treatment)
        self.assertGreater(len(set(map(tuple, orders.values()))), 5)

    def test_the_length_is_that_of_all_slots(self):
        self.assertIsNone(sweep().minutes)
        self.assertEqual(160.0, sweep(slot_minutes=10).minutes)

    def test_a_product_has_each_combination(self):
        found = design.treatments_of(
            {PLACE: [1, 2], DEPTH: [4, 8]}, design.PRODUCT, guest={DEPTH}
        )
        self.assertEqual(
            [
                ('osd_max_backfills=1 iodepth=4', {PLACE: 1}, {'iodepth': 4}),
                ('osd_max_backfills=1 iodepth=8', {PLACE: 1}, {'iodepth': 8}),
                ('osd_max_backfills=2 iodepth=4', {PLACE: 2}, {'iodepth': 4}),
                ('osd_max_backfills=2 iodepth=8', {PLACE: 2}, {'iodepth': 8}),
            ],
            [(one.name, one.changes, one.guest) for one in found],
        )

    def test_names_of_the_same_limit_differ(self):
        found = design.treatments_of(
            {
                ('tiers', 'a', 'qos', 'front_end', 'x'): ['1'],
                ('tiers', 'a', 'qos', 'back_end', 'x'): ['1'],
            },
            design.ONE_AT_A_TIME,
        )
        self.assertEqual(
            ['front_end.x=1', 'back_end.x=1'], [one.name for one in found]
        )
