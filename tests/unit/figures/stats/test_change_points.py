# SPDX-License-Identifier: Apache-2.0

"""Where a series of figures changes its level."""

import numpy
from scipy import signal
import testtools

from cinder_tiers.figures.stats import change_points


def outlasting(values):
    """Changes that are found, and that outlast wandering."""
    found = change_points.find(values, least_probability=0.05)
    return found, change_points.outlast_wandering(
        values, found, least_probability=0.05
    )


class OutlastTestCase(testtools.TestCase):
    def test_values_that_wander_have_rarely_a_change(self):
        draw = numpy.random.default_rng(5)
        found = [
            outlasting(
                signal.lfilter([1], [1, -0.6], draw.normal(0, 1, 130))[100:]
            )
            for _series in range(40)
        ]
        # Otherwise two of three have one.
        self.assertGreaterEqual(sum(bool(some) for some, _ in found), 20)
        # 6 % are expected of many.
        self.assertLessEqual(sum(bool(kept) for _, kept in found), 7)

    def test_a_step_of_four_deviations_is_kept(self):
        draw = numpy.random.default_rng(6)
        kept = 0
        for place in range(6, 26):
            values = draw.normal(0, 1, 30)
            values[place:] += 4
            kept += any(
                abs(each.index - place) <= 1 for each in outlasting(values)[1]
            )
        self.assertGreaterEqual(kept, 18)

    def test_a_step_without_noise_is_kept(self):
        for values in ([1] * 5 + [2] * 5, [1] * 5 + [2] * 5 + [1] * 6):
            found, kept = outlasting(values)
            self.assertNotEqual([], kept)
            self.assertEqual(found, kept)

    def test_nothing_is_kept_of_nothing(self):
        for values in ([], [1.0], [1.0] * 20):
            self.assertEqual(([], []), outlasting(values))


class ChangePointsTestCase(testtools.TestCase):
    def test_noise_has_no_change_in_95_percent_of_series(self):
        draw = numpy.random.default_rng(1)
        false = sum(
            bool(
                change_points.find(
                    draw.normal(0, 1, 12), least_probability=0.05
                )
            )
            for _series in range(200)
        )
        # 10 are expected; three standard deviations more are 19.
        self.assertLessEqual(false, 19)

    def test_noise_of_many_series_has_none_in_95_percent_of_commands(self):
        draw = numpy.random.default_rng(4)
        commands, series = 40, 30
        false = sum(
            any(
                change_points.find(
                    draw.normal(0, 1, 16), least_probability=0.05 / series
                )
                for _series in range(series)
            )
            for _command in range(commands)
        )
        # 2 are expected; three standard deviations more are 6.
        self.assertLessEqual(false, 6)

    def test_how_many_values_the_clearest_change_needs(self):
        # With four values on each side, 4 of the 70 ways to choose those of
        # one level explain as much: 0.057.
        for series, expected in ((1, 9), (2, 10), (10, 13), (128, 19)):
            least = 0.05 / series
            needed = change_points.least_values(least_probability=least)
            self.assertEqual(expected, needed)
            for count in range(4, needed + 4):
                half = count // 2
                found = change_points.find(
                    [0] * half + [1] * (count - half), least_probability=least
                )
                self.assertEqual(
                    [half] if count >= needed else [],
                    [each.index for each in found],
                )

    def test_a_change_of_three_deviations_is_found_where_it_is(self):
        draw = numpy.random.default_rng(2)
        near = 0
        for _series in range(100):
            values = draw.normal(0, 1, 20)
            values[12:] += 3
            found = change_points.find(values, least_probability=0.01)
            near += any(abs(each.index - 12) <= 1 for each in found)
        self.assertGreaterEqual(near, 90)

    def test_several_changes(self):
        values = [
            1,
            1.1,
            0.9,
            1,
            1.1,
            1,
            5,
            5.1,
            4.9,
            5,
            5,
            5.1,
            2,
            2.1,
            2,
            1.9,
            2,
            2,
        ]
        self.assertEqual(
            [6, 12],
            [
                each.index
                for each in change_points.find(values, least_probability=0.05)
            ],
        )

    def test_a_level_that_goes_and_comes_back(self):
        values = [10, 10.1, 9.9, 10] * 2 + [8, 8.1, 7.9, 8] * 2
        values += [10, 10.1, 9.9, 10] * 2
        self.assertEqual(
            [8, 16],
            [
                each.index
                for each in change_points.find(values, least_probability=0.02)
            ],
        )

    def test_one_value_out_of_line_is_no_new_level(self):
        values = [1.0, 1.1, 0.9, 1.0, 9.0, 1.1, 0.9, 1.0, 1.1, 0.9]
        self.assertEqual(
            [], change_points.find(values, least_probability=0.05)
        )

    def test_what_is_too_short_or_all_the_same(self):
        for values in ([], [1], [1, 2, 3], [7] * 20):
            self.assertEqual(
                [], change_points.find(values, least_probability=0.05)
            )
        self.assertRaises(
            ValueError,
            change_points.find,
            [1, float('nan')],
            least_probability=0.05,
        )

    def test_the_same_series_gives_the_same_answer(self):
        values = numpy.random.default_rng(3).normal(0, 1, 30)
        values[15:] += 1
        self.assertEqual(
            change_points.find(values, least_probability=0.5),
            change_points.find(values, least_probability=0.5),
        )
