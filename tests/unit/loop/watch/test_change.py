# SPDX-License-Identifier: Apache-2.0

"""Alarms, delays and causes of simulated watches; more are in tests/long."""

import math

import ddt
import numpy
import testtools

from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import usual
from tests.unit.loop.watch import simulated


@ddt.ddt
class AlarmsTestCase(testtools.TestCase):
    @ddt.data('white noise', 'half-hourly job', 'hourly job')
    def test_a_load_is_silent_after_its_first_day(self, load):
        values = simulated.levels(load, 3 * simulated.DAY // 2, seed=1)
        self.assertEqual(
            [],
            [
                seen
                for seen, _ in simulated.alarms(values)
                if seen > simulated.DAY
            ],
        )

    def test_the_simulation_alarms_as_the_watch_does(self):
        values = simulated.levels('half-hourly job', 600, seed=1)
        kept = series.Series(tier='t', pools=('p',))
        for number, level in enumerate(values):
            began_at = simulated.BEGAN + number * series.WINDOW_S
            kept, _ = judgement.added(
                kept,
                series.TierWindow(
                    began_at=began_at, write_ms=(math.exp(level),)
                ),
                {},
            )
            if number == 300:
                # It is started again.
                kept = series.read(series.write(kept))
        found = simulated.alarms(values)
        self.assertLess(0, len(found))
        self.assertEqual(
            [
                tuple(
                    simulated.BEGAN + place * series.WINDOW_S
                    for place in (seen - 1, since)
                )
                for seen, since in found
            ],
            [
                (each.found_at, each.since)
                for each in kept.changes
                if each.is_worse
            ],
        )

    @ddt.data(*simulated.RISES)
    def test_a_rise_is_found_and_dated(self, during):
        found = [
            simulated.planted(
                'white noise', factor=2, during=during, seed=seed
            )
            for seed in range(3)
        ]
        for each in found:
            self.assertIsNotNone(each.delay)
            self.assertLessEqual(abs(each.off), max(during / 4, 6))

    def test_causes_are_named_first(self):
        found = [
            simulated.blamed(cause, during=during, seed=1)
            for cause in simulated.CAUSES
            for during in simulated.RISES[:2]
        ]
        self.assertGreaterEqual(sum(map(bool, found)), 0.8 * len(found), found)


class ChangeTestCase(testtools.TestCase):
    def test_a_burst_is_no_change(self):
        values = 0.02 * numpy.sin(numpy.arange(60))
        values[-3:] += math.log(10)
        self.assertIsNone(change.find(values))

    def test_three_minutes_are_a_burst_and_more_are_none(self):
        values = 0.02 * numpy.sin(numpy.arange(100))
        values[-9:] += math.log(10)
        for span in change.SPANS:
            self.assertIsNone(change.find(values, span=span))
        values = numpy.append(values, values[-1])
        self.assertEqual(91, change.find(values).index)

    def test_a_fall_is_a_change_as_a_rise_is(self):
        values = 0.02 * numpy.sin(numpy.arange(100))
        values[-12:] -= math.log(3)
        found = change.find(values)
        self.assertEqual(88, found.index)
        self.assertLess(found.after, found.before)

    def test_a_level_that_wanders_is_told_by_levels_far_apart(self):
        # From one window to the next, less than a tenth of the whole.
        values = numpy.sin(numpy.arange(600) / 60)
        self.assertIsNone(change.find(values))
        self.assertIsNone(change.find(values, span=change.LONG))

    def test_a_change_before_hides_none(self):
        values = 0.05 * numpy.sin(numpy.arange(400) ** 2)
        values[100:200] += 2
        values[-12:] += 1
        found = change.find(values, first=200)
        self.assertEqual(388, found.index)

    def test_slow_windows_before_a_large_step_are_not_part_of_it(self):
        values = 0.02 * numpy.sin(numpy.arange(75))
        values[57:60] = math.log(1.5)
        values[60:] += math.log(500)
        found = change.find(values)
        self.assertEqual(60, found.index)
        self.assertAlmostEqual(
            500, math.exp(found.after - found.before), delta=100
        )

    def test_a_rise_of_less_than_the_least_is_none(self):
        values = 0.02 * numpy.sin(numpy.arange(60))
        values[40:] += math.log(1.3)
        self.assertIsNone(change.find(values))
        self.assertIsNotNone(change.find(values, least_percent=15))

    def test_too_few_windows_show_nothing(self):
        values = [0.0] * (change.LEAST_BEFORE - 1)
        values += [1.0] * change.SHORT
        self.assertIsNone(change.find(values))


class UsualTestCase(testtools.TestCase):
    HOUR = 472_000

    def is_usual(self, *ago, level=2.0, lowest=1.0, span=change.SHORT):
        hours = tuple(
            series.Hour(
                direction='write',
                number=self.HOUR - each,
                highest_ms=math.exp(2.0),
                lasting_ms=math.exp(1.0),
                lowest_ms=math.exp(lowest),
            )
            for each in sorted(ago, reverse=True)
        )
        return usual.is_usual(
            hours,
            direction='write',
            since=self.HOUR * 3600.0,
            moment=self.HOUR * 3600.0,
            level=level,
            span=span,
        )

    def test_what_three_hours_of_a_day_had_is_usual(self):
        self.assertTrue(self.is_usual(2, 4, 6))
        self.assertFalse(self.is_usual(2, 4))
        self.assertFalse(self.is_usual(2, 4, 30))
        self.assertFalse(self.is_usual(2, 4, 6, level=2.5))

    def test_what_three_hours_had_all_the_time_is_not(self):
        # The afternoon of a tier that is slow by day says nothing of a night.
        self.assertFalse(self.is_usual(2, 4, 6, lowest=1.9))

    def test_minutes_are_no_quarter_of_an_hour(self):
        self.assertFalse(self.is_usual(2, 4, 6, span=change.LONG))
        self.assertTrue(
            self.is_usual(2, 4, 6, level=1.0, lowest=0.5, span=change.LONG)
        )

    def test_what_this_hour_of_another_day_had_is_usual(self):
        for ago in (23, 24, 25, 7 * 24):
            self.assertTrue(self.is_usual(ago), ago)
        for ago in (1, 12, 22, 26):
            self.assertFalse(self.is_usual(ago), ago)

    def test_a_week_is_kept(self):
        hours = ()
        for number in range(500):
            hours = usual.noted(
                hours,
                direction='write',
                moment=number * 3600.0,
                levels=[1.0],
            )
        self.assertEqual(series.OLDEST_HOUR + 1, len(hours))
