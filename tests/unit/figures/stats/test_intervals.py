# SPDX-License-Identifier: Apache-2.0

import math
import random
import statistics as stdlib

from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.figures.stats import intervals

FINITE = strategies.floats(0, 10**9)


def ar1(generator, length, phi, mean=1000.0, deviation=100.0):
    """Correlated samples: each keeps ``phi`` of the one before it."""
    noise = deviation * math.sqrt(1 - phi * phi)
    value = generator.gauss(0, deviation)
    found = []
    for _sample in range(length):
        value = phi * value + generator.gauss(0, noise)
        found.append(mean + value)
    return found


def coverage(trials, estimate_of, mean=1000.0):
    """Share of the intervals that hold the true mean."""
    hits = total = 0
    for trial in range(trials):
        found = estimate_of(random.Random(1000 + trial))
        if found.low is not None:
            total += 1
            hits += found.low <= mean <= found.high
    return hits / total, total


class RepeatsTest(testtools.TestCase):
    def test_the_interval_of_nine_repeats_by_hand(self):
        values = [98, 99, 100, 100, 100, 100, 100, 101, 102]
        found = intervals.estimate_mean(values)
        half = 2.306 * stdlib.stdev(values) / 3
        self.assertEqual((100, 9), (found.mean, found.values))
        self.assertAlmostEqual(100 - half, found.low, places=3)
        self.assertAlmostEqual(100 + half, found.high, places=3)
        self.assertAlmostEqual(1.118, found.spread_percent, places=3)
        self.assertFalse(found.spread_is_wide)
        self.assertEqual("Student's t over 9 repeats", found.method)

    def test_intervals_are_those_of_the_tables(self):
        """Abramowitz and Stegun, table 26.10."""
        for freedom, quantile in ((1, 12.706), (2, 4.303), (8, 2.306)):
            values = [0.0] * freedom + [10.0]
            found = intervals.estimate_mean(values)
            self.assertAlmostEqual(
                quantile * stdlib.stdev(values) / len(values) ** 0.5,
                found.high - found.mean,
                places=2,
            )

    def test_one_repeat_has_no_interval_and_says_why(self):
        found = intervals.estimate_mean([5])
        self.assertEqual(
            (5, None, None, None),
            (found.mean, found.low, found.high, found.spread_percent),
        )
        self.assertIn('one repeat', found.method)

    def test_a_spread_over_ten_percent_is_flagged(self):
        self.assertTrue(intervals.estimate_mean([80, 100, 120]).spread_is_wide)
        self.assertFalse(
            intervals.estimate_mean([95, 100, 105]).spread_is_wide
        )

    def test_nothing_and_what_is_no_number_is_refused(self):
        for wrong in ([], [1, math.nan], [math.inf]):
            self.assertRaises(ValueError, intervals.estimate_mean, wrong)

    @given(strategies.lists(FINITE, min_size=2, max_size=20))
    def test_the_mean_lies_in_its_interval(self, values):
        found = intervals.estimate_mean(values)
        self.assertLessEqual(found.low, found.mean)
        self.assertLessEqual(found.mean, found.high)

    @given(
        strategies.lists(
            strategies.integers(1, 10**6), min_size=2, max_size=9
        ),
        strategies.integers(1, 1000),
    )
    def test_another_unit_scales_the_interval(self, values, factor):
        one = intervals.estimate_mean(values)
        other = intervals.estimate_mean([factor * value for value in values])
        for name in ('mean', 'low', 'high'):
            self.assertAlmostEqual(
                1,
                (1 + abs(getattr(other, name)))
                / (1 + factor * abs(getattr(one, name))),
                places=6,
            )

    def test_intervals_of_repeats_cover_the_truth(self):
        """Runs of 60 s whose seconds are correlated, 3 and 9 repeats."""
        for repeats in (3, 9):
            for phi in (0, 0.9):
                found, total = coverage(
                    1500,
                    lambda generator, n=repeats, phi=phi: (
                        intervals.estimate_mean(
                            [
                                stdlib.fmean(ar1(generator, 60, phi))
                                for _repeat in range(n)
                            ]
                        )
                    ),
                )
                self.assertEqual(1500, total)
                self.assertTrue(
                    0.93 <= found <= 0.97,
                    f'{found} of {repeats} repeats, phi {phi}',
                )

    def test_seconds_taken_for_repeats_would_not(self):
        """Why the module is as it is."""
        found, _total = coverage(
            300,
            lambda generator: intervals.estimate_mean(
                ar1(generator, 300, 0.9)
            ),
        )
        self.assertLess(found, 0.5)


class FairnessTest(testtools.TestCase):
    def test_equal_shares_are_fair_and_one_for_all_is_not(self):
        self.assertEqual(1, intervals.fairness([5, 5, 5, 5]))
        self.assertEqual(0.25, intervals.fairness([9, 0, 0, 0]))
        self.assertRaises(ValueError, intervals.fairness, [0, 0])
        self.assertRaises(ValueError, intervals.fairness, [1, -1])

    @given(
        strategies.lists(
            strategies.floats(0.001, 10**9), min_size=1, max_size=50
        )
    )
    def test_the_index_lies_between_its_ends(self, values):
        found = intervals.fairness(values)
        self.assertTrue(1 / len(values) - 1e-9 <= found <= 1 + 1e-9)
