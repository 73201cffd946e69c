# SPDX-License-Identifier: Apache-2.0

"""Alarms, delays and causes of simulated watches; more are in tests/long."""

import math

import ddt
import numpy
import testtools

from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series
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

    def test_four_minutes_are_a_burst_and_nearly_five_are_none(self):
        values = 0.02 * numpy.sin(numpy.arange(100))
        values[-13:] += math.log(10)
        for span in change.SPANS:
            self.assertIsNone(change.find(values, span=span))
        values = numpy.append(values, values[-1])
        self.assertEqual(87, change.find(values).index)

    def test_a_fall_is_a_change_as_a_rise_is(self):
        values = 0.02 * numpy.sin(numpy.arange(100))
        values[-change.SHORT :] -= math.log(3)
        found = change.find(values)
        self.assertEqual(100 - change.SHORT, found.index)
        self.assertLess(found.after, found.before)

    def test_a_level_that_wanders_is_told_by_levels_far_apart(self):
        # From one window to the next, less than a tenth of the whole.
        values = numpy.sin(numpy.arange(600) / 60)
        self.assertIsNone(change.find(values))
        self.assertIsNone(change.find(values, span=change.LONG))

    def test_a_change_before_hides_none(self):
        values = 0.05 * numpy.sin(numpy.arange(400) ** 2)
        values[100:200] += 2
        values[-change.SHORT :] += 1
        found = change.find(values, first=200)
        self.assertEqual(400 - change.SHORT, found.index)

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
