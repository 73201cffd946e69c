# SPDX-License-Identifier: Apache-2.0

import random
import statistics as stdlib

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from rally_scenarios.bench.stats import steadiness

VALUES = strategies.lists(strategies.floats(1, 10**6), min_size=5, max_size=80)


def seconds(values, start_ms=0):
    return [(start_ms + 1000 * n, value) for n, value in enumerate(values)]


@ddt.ddt
class JudgeTest(testtools.TestCase):
    @ddt.data(
        ('constant', [100] * 60, True, 0, 0),
        ('within both limits', [96, 98, 100, 102, 104], True, 0.08, 0.08),
        (
            'at the limit of the excursion',
            [100, 110, 90, 100, 100],
            True,
            0.2,
            -0.04,
        ),
        (
            'over the limit of the excursion',
            [100, 111, 90, 100, 99],
            False,
            0.21,
            -0.052,
        ),
        (
            'rising slowly, within 20 %',
            [93, 97, 100, 103, 107],
            False,
            0.14,
            0.136,
        ),
        ('falling', [120, 110, 100, 90, 80], False, 0.4, -0.4),
    )
    @ddt.unpack
    def test_the_rule(self, _what, values, steady, excursion, slope):
        found = steadiness.judge(seconds(values))
        self.assertEqual(steady, found.steady, found.reason)
        self.assertAlmostEqual(excursion, found.excursion, places=6)
        self.assertAlmostEqual(slope, found.slope, places=6)

    def test_the_reason_has_the_numbers(self):
        found = steadiness.judge(seconds([93, 97, 100, 103, 107]))
        self.assertEqual(
            'not steady by slope: excursion 14.0 % (limit 20 %), slope'
            ' +13.6 % (limit 10 %) over 5 rounds of 1 values',
            found.reason,
        )

    def test_what_cannot_be_judged_says_why(self):
        self.assertIn('4 values', steadiness.judge(seconds([1] * 4)).reason)
        self.assertIn(
            'all values are 0', steadiness.judge(seconds([0] * 9)).reason
        )
        self.assertIsNone(steadiness.judge([]).steady)

    @ddt.data(
        [(0, 1), (0, 1)], [(5, 1), (4, 1)], [(0, -1)], [(0, float('nan'))]
    )
    def test_what_is_no_series_is_refused(self, series):
        self.assertRaises(ValueError, steadiness.judge, series)

    def test_single_seconds_may_scatter_where_nothing_changes(self):
        """A second with 40 I/Os is off by 16 %, a round of 60 is not."""
        generator = random.Random(1)
        values = [
            max(0.0, generator.gauss(40, 40**0.5)) for _second in range(300)
        ]
        self.assertGreater((max(values) - min(values)) / 40, 0.5)
        self.assertTrue(steadiness.judge(seconds(values)).steady)

    def test_a_cache_that_fills_is_not_steady(self):
        """Fast for a fifth of the time, then as slow as the disks."""
        found = steadiness.judge(seconds([2000] * 20 + [480] * 80))
        self.assertFalse(found.steady)
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
