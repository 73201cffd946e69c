# SPDX-License-Identifier: Apache-2.0

import math
import statistics as stdlib

import ddt
from hypothesis import given
from hypothesis import strategies
import numpy as np
import testtools

from cinder_tiers.figures.stats import steadiness

VALUES = strategies.lists(
    strategies.floats(1, 10**6), min_size=30, max_size=80
)


def seconds(values, start_ms=0):
    return [(start_ms + 1000 * n, value) for n, value in enumerate(values)]


def noisy(generator, draws, length, deviation, correlation=0.0):
    """Windows of stationary seconds around 100, AR(1), a row each."""
    noise = generator.normal(size=(draws, length))
    found = np.empty((draws, length))
    found[:, 0] = noise[:, 0]
    for at in range(1, length):
        found[:, at] = (
            correlation * found[:, at - 1]
            + math.sqrt(1 - correlation**2) * noise[:, at]
        )
    return np.maximum(0, 100 * (1 + deviation * found))


def share_unsteady(windows):
    """Of windows, a row each."""
    verdicts = [steadiness.judge(seconds(window)).steady for window in windows]
    return verdicts.count(False) / len(verdicts)


def with_stalls(generator, values, *, begin, length, guests):
    """IOPS of guests that stand still from begin on, as guests report it.

    Each guest has seconds of its own, and the common clock has others.

    :param values: IOPS of each second if nothing stood still
    :param begin: in seconds, any part of one
    """
    series = {}
    for guest in range(guests):
        phase_ms = int(generator.integers(0, 1000))
        starts_s = phase_ms / 1000 + np.arange(len(values))
        idle = np.clip(
            np.minimum(starts_s + 1, begin + length)
            - np.maximum(starts_s, begin),
            0,
            1,
        )
        series[f'g{guest}'] = seconds(values * (1 - idle), phase_ms)
    return steadiness.cut(series, offsets_ms=dict.fromkeys(series, 0)).total


@ddt.ddt
class JudgeTest(testtools.TestCase):
    @ddt.data(
        ('constant', [100] * 60, True, 0, 0),
        (
            'within both limits',
            [96] * 8 + [98] * 8 + [100] * 8 + [102] * 8 + [104] * 8,
            True,
            0.08,
            0.0937,
        ),
        (
            'over the limit of the excursion',
            [100] * 8 + [111] * 8 + [90] * 8 + [100] * 8 + [99] * 8,
            False,
            0.21,
            -0.0609,
        ),
        (
            'rising slowly, within 20 %',
            [93 + 14 * second / 59 for second in range(60)],
            False,
            0.1139,
            0.14,
        ),
        (
            'falling',
            [120] * 8 + [110] * 8 + [100] * 8 + [90] * 8 + [80] * 8,
            False,
            0.4,
            -0.4683,
        ),
    )
    @ddt.unpack
    def test_the_rule(self, _what, values, steady, excursion, slope):
        found = steadiness.judge(seconds(values))
        self.assertEqual(steady, found.steady, found.reason)
        self.assertAlmostEqual(excursion, found.excursion, places=4)
        self.assertAlmostEqual(slope, found.slope, places=4)

    def test_the_reason_has_the_numbers(self):
        found = steadiness.judge(
            seconds([93 + 14 * second / 59 for second in range(60)])
        )
        self.assertEqual(
            'not steady by slope: excursion 11.4 % (limit 20 %, noise 94.7 %),'
            ' slope +14.0 % (limit 10 %, noise 0.0 %) over 60 s',
            found.reason,
        )

    def test_what_cannot_be_judged_says_why(self):
        short = steadiness.judge(seconds([100, 900] * 14 + [100]))
        self.assertIsNone(short.steady)
        self.assertEqual(
            'cannot tell: 29 s, expected at least 30', short.reason
        )
        idle = steadiness.judge(seconds([0] * 30))
        self.assertIn('all values are 0', idle.reason)
        self.assertEqual(30, idle.longest_stall_s)
        self.assertIsNone(steadiness.judge([]).steady)

    @ddt.data(
        [(0, 1), (0, 1)], [(5, 1), (4, 1)], [(0, -1)], [(0, float('nan'))]
    )
    def test_what_is_no_series_is_refused(self, series):
        self.assertRaises(ValueError, steadiness.judge, series)

    # Length in s, noise of a second, its correlation with the next one, most
    # that may be called unsteady.  The rule of the SNIA alone says 11 to 90 %.
    @ddt.data(
        (30, 0.10, 0.0, 0.05),
        (30, 0.20, 0.0, 0.05),
        (60, 0.30, 0.0, 0.05),
        (60, 0.10, 0.5, 0.05),
        (300, 0.10, 0.9, 0.05),
    )
    @ddt.unpack
    def test_stationary_noise_is_not_called_unsteady(
        self, length, deviation, correlation, most
    ):
        windows = noisy(
            np.random.default_rng(7), 400, length, deviation, correlation
        )
        self.assertLessEqual(share_unsteady(windows), most)

    # As above; least that must be called unsteady.
    @ddt.data(
        (30, 0.10, 0.0, 0.8),
        (60, 0.10, 0.0, 0.98),
        (120, 0.10, 0.5, 0.9),
        (300, 0.30, 0.0, 0.9),
    )
    @ddt.unpack
    def test_a_drift_of_25_percent_is_found(
        self, length, deviation, correlation, least
    ):
        drift = 25 * (np.arange(length) / (length - 1) - 0.5)
        windows = noisy(
            np.random.default_rng(8), 100, length, deviation, correlation
        )
        self.assertGreaterEqual(
            share_unsteady(np.maximum(0, windows + drift)), least
        )

    def test_a_hump_in_the_middle_is_found(self):
        """It has no slope."""
        hump = np.where(np.abs(np.arange(100) - 49.5) < 20, 40, 0)
        windows = noisy(np.random.default_rng(9), 100, 100, 0.1)
        self.assertGreaterEqual(share_unsteady(windows + hump), 0.98)

    def test_a_cache_that_fills_is_not_steady(self):
        """Fast for a fifth of the time, then as slow as the disks."""
        for fast in (20, 27, 50):
            values = [2000] * fast + [480] * (100 - fast)
            found = steadiness.judge(seconds(values))
            self.assertIs(False, found.steady, found.reason)
            self.assertLess(found.slope, -0.10)

    @given(VALUES, strategies.floats(0.001, 1000))
    def test_the_unit_does_not_matter(self, values, factor):
        one = steadiness.judge(seconds(values))
        other = steadiness.judge(seconds([v * factor for v in values]))
        self.assertAlmostEqual(one.excursion, other.excursion, places=6)
        self.assertAlmostEqual(one.slope, other.slope, places=6)

    @given(VALUES)
    def test_time_backwards_turns_the_slope_only(self, values):
        values = values[: len(values) // 5 * 5]
        one = steadiness.judge(seconds(values))
        other = steadiness.judge(seconds(values[::-1]))
        self.assertAlmostEqual(one.excursion, other.excursion, places=6)
        self.assertAlmostEqual(one.slope, -other.slope, places=6)


class StallTest(testtools.TestCase):
    def test_stalls_of_two_seconds_and_more_are_always_named(self):
        """100 runs: 1 to 5 guests, 12 to 300 s, wherever it begins."""
        generator = np.random.default_rng(11)
        for run in range(100):
            length = int(generator.integers(12, 300))
            stall = float(generator.uniform(2, 6))
            values = noisy(generator, 1, length, 0.1)[0]
            total = with_stalls(
                generator,
                values,
                begin=float(generator.uniform(2, length - 9)),
                length=stall,
                guests=1 + run % 5,
            )
            found = steadiness.judge(total)
            self.assertAlmostEqual(
                stall, found.longest_stall_s, delta=0.6, msg=found.reason
            )
            self.assertIn('1 stall of', found.reason)
            self.assertIsNot(True, found.steady, found.reason)

    def test_a_disk_throttled_to_next_to_nothing_is_a_stall(self):
        values = [500] * 20 + [480, 12, 3, 3, 4, 2, 320] + [505] * 20
        found = steadiness.judge(seconds(values))
        self.assertAlmostEqual(5.3, found.longest_stall_s, places=1)
        self.assertIn('and stalls', found.reason)

    def test_stalls_that_come_again_are_not_steady(self):
        """6 s of every 30, the same in each round."""
        values = [0 if second % 30 < 6 else 125 for second in range(300)]
        found = steadiness.judge(seconds(values))
        self.assertIs(False, found.steady, found.reason)
        self.assertIn('10 stalls of up to 6.0 s', found.reason)

    def test_on_for_5_s_and_off_for_5_s_is_no_steady_load(self):
        values = [200 if second // 5 % 2 else 0 for second in range(300)]
        found = steadiness.judge(seconds(values))
        self.assertIs(False, found.steady, found.reason)
        self.assertEqual(5, found.longest_stall_s)

    def test_what_goes_on_has_none(self):
        generator = np.random.default_rng(12)
        for deviation in (0.1, 0.2, 0.3):
            for window in noisy(generator, 200, 60, deviation):
                self.assertEqual([], steadiness.find_stalls(window))
        for often in (10, 20, 40, 1000):
            for window in generator.poisson(often, size=(100, 100)):
                self.assertEqual([], steadiness.find_stalls(window))

    def test_slow_disks_have_seconds_without_a_completion(self):
        """One is by chance, two are told, whatever the others are."""
        self.assertEqual([], steadiness.find_stalls([3, 1, 0, 4, 2, 0, 3]))
        self.assertEqual(
            [steadiness.Stall(at=2, seconds=3)],
            steadiness.find_stalls([3, 1, 0, 0, 0, 2, 0, 3]),
        )

    @given(strategies.lists(strategies.floats(0, 10**6), max_size=60))
    def test_no_stall_is_longer_than_the_run(self, values):
        for stall in steadiness.find_stalls(values):
            self.assertLessEqual(stall.seconds, len(values))
            self.assertLess(stall.at, len(values))


class CutTest(testtools.TestCase):
    def test_the_window_is_from_the_latest_start_to_the_earliest_end(self):
        spans = {
            'a': steadiness.Window(start_ms=0, end_ms=5000),
            'b': steadiness.Window(start_ms=700, end_ms=6000),
        }
        self.assertEqual(
            steadiness.Window(start_ms=700, end_ms=5000),
            steadiness.common_window(spans),
        )
        spans['c'] = steadiness.Window(start_ms=9000, end_ms=9500)
        self.assertEqual(0, steadiness.common_window(spans).length_ms)
        self.assertRaises(ValueError, steadiness.common_window, {})

    def test_guests_are_brought_to_one_clock_and_added_up(self):
        """Guest b's clock is 2 s ahead and it began half a second later."""
        found = steadiness.cut(
            {
                'a': seconds([10, 20, 30, 40], 1000),
                'b': seconds([100, 200, 300], 3500),
            },
            offsets_ms={'a': 0, 'b': 2000},
        )
        self.assertEqual(
            steadiness.Window(start_ms=1500, end_ms=4500), found.window
        )
        self.assertEqual(((1500, 115), (2500, 225), (3500, 335)), found.total)

    def test_a_gap_counts_as_nothing_done(self):
        found = steadiness.cut(
            {'a': [(0, 10), (1000, 10), (4000, 10)]}, offsets_ms={'a': 0}
        )
        self.assertEqual([10, 10, 0, 0, 10], [v for _ms, v in found.total])

    def test_guests_that_never_ran_side_by_side_have_no_total(self):
        found = steadiness.cut(
            {'a': seconds([1, 1]), 'b': seconds([1, 1], 5000)},
            offsets_ms={'a': 0, 'b': 0},
        )
        self.assertEqual((0, ()), (found.window.length_ms, found.total))

    def test_a_guest_without_values_or_clock_is_named(self):
        error = self.assertRaises(
            ValueError,
            steadiness.cut,
            {'a': [], 'b': seconds([1]), 'c': seconds([1])},
            offsets_ms={'a': 0, 'b': 0},
        )
        self.assertIn(
            'without values: a; without a clock offset: c', str(error)
        )

    @given(
        strategies.lists(
            strategies.tuples(strategies.integers(0, 3000), VALUES),
            min_size=1,
            max_size=6,
        )
    )
    def test_no_work_is_lost_or_made_up(self, guests):
        """The mean lies between the sums of the least and of the most."""
        series = {
            f'g{n}': seconds(values, start_ms)
            for n, (start_ms, values) in enumerate(guests)
        }
        found = steadiness.cut(series, offsets_ms=dict.fromkeys(series, 0))
        if found.total:
            sums = {
                name: sum(
                    bound(value for _ms, value in values)
                    for values in series.values()
                )
                for name, bound in (('least', min), ('most', max))
            }
            mean = stdlib.fmean(value for _ms, value in found.total)
            self.assertTrue(
                sums['least'] - 1e-6 <= mean <= sums['most'] * (1 + 1e-9)
            )
        for start_ms, _value in found.total:
            self.assertTrue(
                found.window.start_ms <= start_ms <= found.window.end_ms - 1000
            )

    @given(
        strategies.lists(
            strategies.tuples(
                strategies.integers(0, 3000),
                strategies.integers(-5000, 5000),
                VALUES,
            ),
            min_size=1,
            max_size=6,
        )
    )
    def test_a_clock_that_is_off_by_a_known_amount_changes_nothing(
        self, guests
    ):
        right = {
            f'g{n}': seconds(values, start_ms)
            for n, (start_ms, _off, values) in enumerate(guests)
        }
        wrong = {
            f'g{n}': seconds(values, start_ms + off_ms)
            for n, (start_ms, off_ms, values) in enumerate(guests)
        }
        self.assertEqual(
            steadiness.cut(right, offsets_ms=dict.fromkeys(right, 0)),
            steadiness.cut(
                wrong,
                offsets_ms={
                    f'g{n}': off_ms
                    for n, (_s, off_ms, _v) in enumerate(guests)
                },
            ),
        )
