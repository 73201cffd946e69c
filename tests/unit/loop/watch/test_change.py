# SPDX-License-Identifier: Apache-2.0

"""Changes of level in series of which the truth is known.

A window's value is the median of ten writes with the spread of latencies. The
level under it wanders (an autoregressive process), and bursts of one to three
windows are up to eight times as slow.
"""

import math

import numpy
import testtools

from cinder_tiers.loop.watch import change

#: Of 20 s each.
FIVE_MINUTES = 15


def series(seed, windows, *, correlation=0.7, deviation=0.15, bursts=0.01):
    """Logarithms of a tier on which nothing changes but its load.

    :param correlation: of the levels of two windows that follow each other.
    :param deviation: of the level, of which 0.15 is 15 %.
    :param bursts: probability that one begins in a window.
    """
    draw = numpy.random.default_rng(seed)
    steps = draw.normal(0, deviation * math.sqrt(1 - correlation**2), windows)
    level = numpy.zeros(windows)
    here = draw.normal(0, deviation)
    for window in range(windows):
        here = correlation * here + steps[window]
        level[window] = here
    for window in numpy.flatnonzero(draw.random(windows) < bursts):
        level[window : window + draw.integers(1, 4)] += math.log(
            draw.uniform(2, 8)
        )
    return numpy.array(
        [numpy.median(draw.normal(each, 0.5, 10)) for each in level]
    )


def alarms(values):
    """(windows that had been seen, index) of each change, one by one."""
    found, start = [], 0
    for seen in range(1, len(values) + 1):
        here = change.find(list(values[start:seen]))
        if here is not None:
            start += here.index
            found.append((seen, start))
    return found


class ChangeTestCase(testtools.TestCase):
    def test_at_most_one_false_alarm_in_a_hundred_windows(self):
        runs, windows = 6, 500
        found = sum(len(alarms(series(seed, windows))) for seed in range(runs))
        self.assertLessEqual(found / (runs * windows), 0.01)

    def test_doubled_latency_is_found_within_five_minutes(self):
        runs, begin, in_time, near = 20, 60, 0, 0
        for seed in range(runs):
            values = series(1000 + seed, begin + FIVE_MINUTES)
            values[begin:] += math.log(2)
            found = [each for each in alarms(values) if each[0] > begin]
            in_time += bool(found)
            near += any(abs(index - begin) <= 5 for _, index in found)
        self.assertGreaterEqual(in_time, 0.9 * runs)
        # And it is known since when, to less than two minutes.
        self.assertGreaterEqual(near, 0.9 * runs)

    def test_a_burst_is_no_change(self):
        values = series(1, 60, bursts=0)
        values[-3:] += math.log(10)
        self.assertEqual([], alarms(values))

    def test_a_level_that_comes_back_is_a_second_change(self):
        values = series(2, 120, deviation=0.05, bursts=0)
        values[50:80] += math.log(3)
        first, second = alarms(values)
        self.assertEqual([50, 80], [first[1], second[1]])

    def test_slow_windows_before_a_large_step_are_not_part_of_it(self):
        values = series(3, 70, deviation=0.05, bursts=0)
        values[57:60] = math.log(1.5)
        values[60:] += math.log(500)
        ((_seen, index),) = alarms(values)
        self.assertEqual(60, index)
        found = change.find(list(values))
        self.assertAlmostEqual(
            500, math.exp(found.after - found.before), delta=100
        )

    def test_a_rise_of_less_than_the_least_is_none(self):
        values = 0.02 * numpy.sin(numpy.arange(60))
        values[40:] += math.log(1.3)
        self.assertIsNone(change.find(list(values)))
        self.assertIsNotNone(change.find(list(values), least_percent=15))

    def test_a_level_that_the_series_had_before_is_not_new(self):
        values = 0.02 * numpy.sin(numpy.arange(80))
        values[60:] += math.log(2)
        self.assertEqual(60, change.find(list(values)).index)
        values[10:30] += math.log(2)
        self.assertIsNone(change.find(list(values)))

    def test_too_few_windows_show_nothing(self):
        values = [0.0] * (change.LEAST_BEFORE - 1)
        values += [1.0] * change.LEAST_WINDOWS
        self.assertIsNone(change.find(values))
