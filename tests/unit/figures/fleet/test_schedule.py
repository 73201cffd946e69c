# SPDX-License-Identifier: Apache-2.0

import collections
import math

import numpy
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.stats import differences

SMALL = fio_pattern.Pattern(
    name='randwrite-4k', rw='randwrite', bs='4k', iodepth=16
)
LARGE = fio_pattern.Pattern(name='write-1m', rw='write', bs='1m', iodepth=4)
PROFILE = fio_pattern.Profile(region_mib=8, ramp_seconds=5, runtime_seconds=6)


class ScheduleTest(testtools.TestCase):
    def test_tiers_take_turns_and_never_overlap(self):
        plan = schedule.plan(['database', 'general'], [SMALL, LARGE], PROFILE)
        self.assertEqual(
            [
                (0, 'database', 'randwrite-4k'),
                (1, 'database', 'write-1m'),
                (2, 'general', 'randwrite-4k'),
                (3, 'general', 'write-1m'),
            ],
            [(s.number, s.tier, s.pattern.name) for s in plan.slots],
        )
        self.assertEqual(
            [(0, 15), (15, 15), (30, 15), (45, 15)],
            [(s.begin_seconds, s.seconds) for s in plan.slots],
        )
        self.assertEqual(60, plan.seconds)
        self.assertEqual(
            (2, 3), tuple(s.number for s in plan.of_tier('general'))
        )
        self.assertEqual((), plan.of_tier('archive'))

    def test_a_repeat_begins_when_all_had_their_turn(self):
        plan = schedule.plan(['a', 'b'], [SMALL, LARGE], PROFILE, repeats=2)
        self.assertEqual(
            [
                (repeat, tier, name)
                for repeat in (1, 2)
                for tier in 'ab'
                for name in ('randwrite-4k', 'write-1m')
            ],
            [(s.repeat, s.tier, s.pattern.name) for s in plan.slots],
        )
        self.assertEqual(list(range(8)), [s.number for s in plan.slots])
        self.assertRaises(
            ValueError, schedule.plan, ['a'], [SMALL], PROFILE, repeats=0
        )

    def test_a_slot_has_room_for_the_start_delay(self):
        delayed = fio_pattern.Pattern(
            name='x', rw='read', bs='4k', startdelay_seconds=15
        )
        plan = schedule.plan(['a'], [delayed, SMALL], PROFILE)
        self.assertEqual(
            [(0, 30), (30, 15)],
            [(s.begin_seconds, s.seconds) for s in plan.slots],
        )

    def test_in_steps_the_first_guests_run_and_the_others_are_idle(self):
        plan = schedule.plan(
            ['a', 'b'], [SMALL, LARGE], PROFILE, guest_steps=[1, 3]
        )
        self.assertEqual(
            [
                (tier, f'{name}.g{guests}', guests)
                for tier in 'ab'
                for name in ('randwrite-4k', 'write-1m')
                for guests in (1, 3)
            ],
            [(s.tier, s.pattern.name, s.guests) for s in plan.slots],
        )
        self.assertEqual(
            [0, 1, 2, 3], [s.number for s in plan.of_guest('a', 0)]
        )
        self.assertEqual([5, 7], [s.number for s in plan.of_guest('b', 2)])
        self.assertEqual((), plan.of_guest('b', 3))

    def test_without_steps_all_guests_have_all_slots(self):
        plan = schedule.plan(['a'], [SMALL], PROFILE)
        self.assertEqual(plan.slots, plan.of_guest('a', 99))

    def test_steps_must_rise_from_one(self):
        for steps in ([0, 1], [2, 1], [1, 1], [-1]):
            error = self.assertRaises(
                ValueError,
                schedule.plan,
                ['a'],
                [SMALL],
                PROFILE,
                guest_steps=steps,
            )
            self.assertIn(f'guest_steps {steps}', str(error))

    def test_a_slot_waits_for_what_a_slow_tier_has_in_flight(self):
        """It waits for what is in flight as the ramp ends, and at the end.

        12 guests with 32 MiB each take 39 s at 10 MiB/s.
        """
        huge = fio_pattern.Pattern(name='x', rw='write', bs='32m')
        for pattern, mib_per_second, expected in (
            (SMALL, 10, 4),
            (huge, 10, 2 + 39 + 34),
            (huge, 100, 2 + 4),
        ):
            self.assertEqual(
                expected,
                schedule.gap_seconds(
                    pattern,
                    guests=12,
                    ramp_seconds=5,
                    tier_mib_per_second=mib_per_second,
                ),
            )
        self.assertEqual(
            2 + 32 + 27,
            schedule.gap_seconds(
                SMALL, guests=200, ramp_seconds=5, tier_mib_per_second=1000
            ),
        )
        self.assertEqual(
            6 + 39 + 34,
            schedule.gap_seconds(
                huge,
                guests=12,
                ramp_seconds=5,
                tier_mib_per_second=10,
                least_seconds=8,
            ),
        )
        self.assertEqual(
            11 + 8,
            schedule.plan(
                ['a'], [SMALL], PROFILE, least_gap_seconds=8
            ).seconds,
        )
        plan = schedule.plan(
            ['a'], [huge, SMALL], PROFILE, guest_steps=[1, 12]
        )
        self.assertEqual(
            [11 + 6, 11 + 75, 11 + 4, 11 + 4], [s.seconds for s in plan.slots]
        )
        self.assertEqual(
            11 + 75,
            schedule.plan(['a'], [huge], PROFILE, guests_per_tier=12).seconds,
        )

    def test_a_slot_waits_for_what_fsync_writes_out(self):
        """12 volumes with 24 MiB each take 29 s at 10 MiB/s."""
        for synced, expected in ((False, 4), (True, 4 + 29)):
            self.assertEqual(
                expected,
                schedule.gap_seconds(
                    fio_pattern.Pattern(
                        name='x', rw='write', bs='4k', end_fsync=synced
                    ),
                    guests=12,
                    ramp_seconds=0,
                    tier_mib_per_second=10,
                ),
            )

    def test_nothing_to_measure_and_names_twice_are_refused(self):
        for tiers, patterns, message in (
            ([], [SMALL], 'no tier'),
            (['a'], [], 'no pattern'),
            (['a', 'b', 'a'], [SMALL], 'tier named twice: a'),
            (['a'], [SMALL, SMALL], 'pattern named twice: randwrite'),
        ):
            error = self.assertRaises(
                ValueError, schedule.plan, tiers, patterns, PROFILE
            )
            self.assertIn(message, str(error))


class SideBySideTest(testtools.TestCase):
    def plan(self, **options):
        return schedule.plan(
            ['a', 'b', 'c'],
            [SMALL, LARGE],
            PROFILE,
            side_by_side=True,
            **options,
        )

    def test_a_pattern_is_the_turn_of_all_tiers(self):
        plan = self.plan(repeats=2)
        self.assertEqual(
            [
                (repeat, name, begin, tier)
                for repeat, name, begin in (
                    (1, 'randwrite-4k', 0),
                    (1, 'write-1m', 15),
                    (2, 'randwrite-4k', 30),
                    (2, 'write-1m', 45),
                )
                for tier in 'abc'
            ],
            [
                (s.repeat, s.pattern.name, s.begin_seconds, s.tier)
                for s in plan.slots
            ],
        )
        self.assertEqual(list(range(12)), [s.number for s in plan.slots])
        self.assertEqual(60, plan.seconds)
        self.assertEqual(30, plan.up_to(1).seconds)
        self.assertTrue(plan.up_to(1).side_by_side)

    def test_each_tier_has_the_turns_that_it_has_alone(self):
        alone = schedule.plan(
            ['b'], [SMALL, LARGE], PROFILE, repeats=3, guest_steps=[1, 4]
        )
        beside = self.plan(repeats=3, guest_steps=[1, 4])
        self.assertEqual(
            [
                (s.repeat, s.pattern, s.guests, s.begin_seconds, s.seconds)
                for s in alone.slots
            ],
            [
                (s.repeat, s.pattern, s.guests, s.begin_seconds, s.seconds)
                for s in beside.of_tier('b')
            ],
        )

    def test_the_order_of_patterns_is_drawn_for_all_tiers(self):
        seen = set()
        for seed in range(20):
            plan = self.plan(repeats=2, seed=seed)
            orders = {
                tuple(s.pattern.name for s in plan.of_tier(tier))
                for tier in 'abc'
            }
            self.assertEqual(1, len(orders))
            (names,) = orders
            self.assertEqual(names[:2], names[3:1:-1])
            seen.add(names)
        self.assertEqual(2, len(seen))

    def test_one_tier_has_none_beside_it(self):
        error = self.assertRaises(
            ValueError,
            schedule.plan,
            ['a'],
            [SMALL],
            PROFILE,
            side_by_side=True,
        )
        self.assertIn("side_by_side with the tier 'a' alone", str(error))


class RandomOrderTest(testtools.TestCase):
    """The order of turns, drawn with a seed."""

    def blocks(self, seed, repeats=4, tiers='abc', steps=()):
        """[(tiers in order of time, patterns in order of time)]."""
        plan = schedule.plan(
            list(tiers),
            [SMALL, LARGE],
            PROFILE,
            repeats,
            guest_steps=steps,
            seed=seed,
        )
        self.assertEqual(seed, plan.seed)
        self.assertEqual(
            list(range(len(plan.slots))), [s.number for s in plan.slots]
        )
        found = []
        for repeat in range(1, repeats + 1):
            slots = [s for s in plan.slots if s.repeat == repeat]
            found.append(
                (
                    ''.join(dict.fromkeys(s.tier for s in slots)),
                    tuple(dict.fromkeys(s.pattern.name for s in slots)),
                )
            )
            self.assertEqual(len(slots), len(set(slots)))
        return found

    def test_the_same_seed_gives_the_same_order_and_others_others(self):
        self.assertEqual(self.blocks(7), self.blocks(7))
        self.assertGreater(
            len({str(self.blocks(seed)) for seed in range(20)}), 10
        )

    def test_of_two_repeats_each_tier_is_before_each_other_once(self):
        for seed in range(20):
            blocks = self.blocks(seed)
            for one, other in zip(blocks[::2], blocks[1::2], strict=True):
                self.assertEqual(one[0], other[0][::-1])
                self.assertEqual(one[1], other[1][::-1])

    def test_each_repeat_has_all_turns(self):
        for tiers, patterns in self.blocks(3, steps=(1, 2)):
            self.assertEqual('abc', ''.join(sorted(tiers)))
            self.assertEqual(4, len(patterns))

    def test_each_order_is_drawn_about_as_often(self):
        seen = collections.Counter(
            self.blocks(seed, repeats=1)[0][0] for seed in range(600)
        )
        self.assertEqual(6, len(seen))
        self.assertGreater(min(seen.values()), 60)

    def test_what_the_turn_before_leaves_is_no_difference(self):
        """A carry-over of 8 % onto what comes second of two equal tiers."""
        draw = numpy.random.default_rng(5)
        false = 0
        for seed in range(300):
            sides = {'a': [], 'b': []}
            for tiers, _patterns in self.blocks(seed, 6, 'ab'):
                for place, tier in enumerate(tiers):
                    sides[tier].append(
                        math.exp(draw.normal(7, 0.02)) * (0.92 if place else 1)
                    )
            false += (
                differences.of_blocks(
                    sides['a'], sides['b'], resolution=0.001
                ).p_differs()
                <= 0.05
            )
        self.assertLessEqual(false, 15)
