# SPDX-License-Identifier: Apache-2.0

import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.fleet import schedule

PROFILE = fio_pattern.Profile(
    region_mib=100, ramp_seconds=5, runtime_seconds=6, fill_passes=2
)
PLAN = schedule.plan(
    ['a', 'b'],
    [fio_pattern.Pattern(name='x', rw='write', bs='4k')],
    PROFILE,
    repeats=3,
)


class DurationTest(testtools.TestCase):
    def test_the_parts_add_up(self):
        found = duration.estimate(
            PLAN, PROFILE, guests=12, tier_mib_per_second=10
        )
        self.assertEqual(
            duration.Duration(
                volumes=24,
                boot=120,
                prepare=240,
                measure=12 + 12 + 6 * 15,
                delete=48,
                turns=6 * 15 - 4,
                extent=duration.Extent(
                    guests=12,
                    volumes=12,
                    fill_mib=2400,
                    around_seconds=4 + 12 + 12,
                    by_clock=False,
                ),
            ),
            found,
        )
        self.assertEqual(24 + 120 + 240 + 114 + 48, found.seconds)

    def test_limits_leave_room_for_a_cloud_half_as_fast(self):
        found = duration.estimate(
            PLAN, PROFILE, guests=100, tier_mib_per_second=10
        )
        self.assertEqual(
            {
                'volumes': 2 * 400 + 60,
                'boot': 2 * 1000 + 60,
                'prepare': 2 * 2000 + 60,
                'ready': 2 * 3000 + 60,
                'end': 100,
            },
            duration.time_limits_seconds(found),
        )

    def test_limits_of_small_fleets_are_not_short(self):
        self.assertEqual(
            {
                'volumes': 300,
                'boot': 300,
                'prepare': 180,
                'ready': 240,
                'end': 30,
            },
            duration.time_limits_seconds(
                duration.estimate(
                    PLAN, PROFILE, guests=2, tier_mib_per_second=10
                )
            ),
        )

    def test_a_cloud_that_was_fast_may_be_slow_today(self):
        fast, assumed = (
            duration.estimate(
                PLAN, PROFILE, guests=100, tier_mib_per_second=10, rates=rates
            )
            for rates in (
                duration.Rates(per_boot=1, per_filled_mib=0.2, run='ab'),
                duration.ASSUMED,
            )
        )
        self.assertEqual((100, 4000), (fast.boot, fast.prepare))
        limits = duration.time_limits_seconds(fast, assumed)
        self.assertEqual(
            (2060, 8060, 2 * 4100 + 60),
            (limits['boot'], limits['prepare'], limits['ready']),
        )

    def test_what_is_no_rate_is_refused(self):
        for value in (-1, float('nan'), float('inf'), 10**400):
            error = self.assertRaises(
                ValueError, duration.Rates, per_boot=value
            )
            self.assertIn('per_boot', str(error))

    def test_with_a_start_by_clock_servers_boot_at_once(self):
        """10 at a time; the wait is what booting and filling leave."""
        found = duration.estimate(
            PLAN,
            PROFILE,
            guests=25,
            by_clock=True,
            after_seconds=600,
            tier_mib_per_second=10,
        )
        self.assertEqual(
            duration.Duration(
                volumes=50,
                boot=30,
                prepare=500,
                after=600,
                measure=6 * 15,
                delete=100,
                turns=6 * 15 - 4,
                extent=duration.Extent(
                    guests=25,
                    volumes=25,
                    fill_mib=5000,
                    around_seconds=4,
                    by_clock=True,
                ),
            ),
            found,
        )
        self.assertEqual(
            (70, 50 + 30 + 500 + 70 + 90 + 100), (found.wait, found.seconds)
        )

    def test_unless_told_it_leaves_room_for_a_cloud_half_as_fast(self):
        found = duration.estimate(
            PLAN, PROFILE, guests=25, by_clock=True, tier_mib_per_second=10
        )
        self.assertEqual(2 * (30 + 500) + 60, found.after)
        found = duration.estimate(
            PLAN, PROFILE, guests=300, by_clock=True, tier_mib_per_second=10
        )
        self.assertEqual(300, found.boot)
        self.assertEqual(660, duration.time_limits_seconds(found)['boot'])

    def test_rounds_before_the_first_turn_take_their_time_once(self):
        plain, rounds = (
            duration.estimate(
                PLAN,
                PROFILE,
                guests=25,
                tier_mib_per_second=10,
                precondition_seconds=seconds,
            )
            for seconds in (0, 600)
        )
        self.assertEqual(600, rounds.seconds - plain.seconds)
        self.assertEqual(
            600,
            duration.time_limits_seconds(rounds)['ready']
            - duration.time_limits_seconds(plain)['ready'],
        )
        by_clock = duration.estimate(
            PLAN,
            PROFILE,
            guests=25,
            by_clock=True,
            tier_mib_per_second=10,
            precondition_seconds=600,
        )
        self.assertEqual(2 * (30 + 500) + 600 + 60, by_clock.after)
        self.assertEqual(30 + 500 + 60, by_clock.wait)

    def test_data_volumes_take_time_and_no_filling_takes_none(self):
        found = duration.estimate(
            PLAN,
            PROFILE,
            guests=12,
            fill=False,
            volumes_per_guest=2,
            tier_mib_per_second=10,
        )
        self.assertEqual(
            (48, 0, None, 0),
            (found.volumes, found.prepare, found.after, found.wait),
        )

    def test_short_is_told_in_minutes_and_long_in_hours(self):
        self.assertEqual(
            ['1 min', '7 min', '2.0 h', '10.0 h'],
            [duration.in_words(s) for s in (1, 400, 7200, 36000)],
        )
