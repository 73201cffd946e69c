# SPDX-License-Identifier: Apache-2.0

"""What is claimed of figures that are drawn here, with the truth known.

Seeds are fixed: a draw of so many runs has the shares below, or the rule is
another one.
"""

import math

import numpy
import testtools

from cinder_tiers.figures.stats import differences
from tests.unit.figures.stats import figures_of_runs

#: Relative width of one of fio's buckets.
BUCKET = 1 / 64
TEN_PERCENT = math.log(1.1)


def claimed(found):
    """How many of a family of differences are claimed."""
    return sum(
        each <= 1 - differences.CONFIDENCE
        for each in differences.holm([one.p_differs() for one in found])
    )


class NoDifferenceTestCase(testtools.TestCase):
    """Both sides are the same storage."""

    def test_of_sixteen_patterns_none_differs_in_95_percent_of_runs(self):
        draw = numpy.random.default_rng(20261123)
        for repeats in (3, 6):
            false = 0
            for _run in range(400):
                found = [
                    figures_of_runs.difference(
                        *numpy.exp(draw.normal(7, 0.1, (2, repeats))),
                        resolution=BUCKET,
                    )
                    for _pattern in range(16)
                ]
                false += claimed(found) > 0
            # 0.05 of 400 is 20; three standard deviations more are 33.
            self.assertLessEqual(false, 33, repeats)

    def test_a_pair_is_as_safe(self):
        draw = numpy.random.default_rng(1)
        false = sum(
            claimed(
                [
                    differences.of_blocks(
                        *numpy.exp(draw.normal(7, 0.1, (2, 4))),
                        resolution=BUCKET,
                    )
                    for _pattern in range(16)
                ]
            )
            > 0
            for _run in range(400)
        )
        self.assertLessEqual(false, 33)

    def test_repeats_in_one_bucket_do_not_differ_from_those_in_the_next(self):
        found = figures_of_runs.difference(
            [1.0, 1.0, 1.0], [1.0 + BUCKET] * 3, resolution=BUCKET
        )
        self.assertEqual(1.0, found.p_differs())
        low, high = found.interval_percent()
        self.assertLess(low, high)

    def test_what_changes_from_turn_to_turn_is_no_difference(self):
        # 8 % are lost by whoever comes second, and turns alternate.
        draw = numpy.random.default_rng(2)
        false = 0
        for _run in range(300):
            ones, others = numpy.exp(draw.normal(7, 0.02, (2, 6)))
            for repeat in range(6):
                (others, ones)[repeat % 2][repeat] *= 0.92
            false += (
                differences.of_blocks(
                    ones, others, resolution=BUCKET
                ).p_differs()
                <= 0.05
            )
        self.assertLessEqual(false, 15)


class DifferenceTestCase(testtools.TestCase):
    def test_ten_percent_are_found_with_the_repeats_that_were_asked_for(self):
        draw = numpy.random.default_rng(3)
        found = 0
        for _run in range(200):
            pilot = figures_of_runs.difference(
                *numpy.exp(draw.normal(7, 0.06, (2, 4))), resolution=BUCKET
            )
            repeats = differences.repeats_needed(
                pilot, wanted=TEN_PERCENT, claims=16
            )
            first = numpy.exp(draw.normal(7, 0.06, repeats))
            second = 1.1 * numpy.exp(draw.normal(7, 0.06, repeats))
            difference = figures_of_runs.difference(
                first, second, resolution=BUCKET
            )
            found += 16 * difference.p_differs() <= 0.05
        self.assertGreaterEqual(found, 160)

    def test_noise_of_a_whole_repeat_does_not_hide_it_from_pairs(self):
        # 15 % noise that both have in common, 3 % of their own, true +10 %.
        draw = numpy.random.default_rng(4)
        seen = {'pairs': 0, 'groups': 0}
        for _run in range(200):
            common = draw.normal(0, 0.15, 4)
            ones, others = draw.normal(7, 0.03, (2, 4))
            sides = (
                numpy.exp(ones + common),
                1.1 * numpy.exp(others + common),
            )
            for name, compare in (
                ('pairs', differences.of_blocks),
                ('groups', figures_of_runs.difference),
            ):
                seen[name] += (
                    compare(*sides, resolution=BUCKET).p_differs() <= 0.05
                )
        self.assertGreaterEqual(seen['pairs'], 120)
        self.assertLessEqual(seen['groups'], 30)

    def test_more_noise_needs_more_repeats_and_more_claims_too(self):
        def needed(noise, claims=1):
            values = [1 + noise, 1.0, 1 - noise, 1.0]
            return differences.repeats_needed(
                figures_of_runs.difference(
                    values, list(reversed(values)), resolution=0.001
                ),
                wanted=TEN_PERCENT,
                claims=claims,
            )

        self.assertLess(needed(0.02), needed(0.1))
        self.assertLess(needed(0.1), needed(0.1, claims=32))
        self.assertIsNone(needed(0.99))

    def test_what_a_bucket_hides_is_never_seen(self):
        found = figures_of_runs.difference(
            [1.0, 1.1], [1.2, 1.0], resolution=BUCKET
        )
        self.assertIsNone(differences.repeats_needed(found, wanted=BUCKET / 2))

    def test_a_margin_is_taken_off_the_difference(self):
        found = figures_of_runs.difference(
            [100, 101, 99, 100], [104, 105, 103, 104], resolution=0.001
        )
        self.assertLess(found.p_differs(), 0.01)
        self.assertEqual(1.0, found.p_differs(differences.logarithm(5)))
        self.assertGreater(found.p_within(differences.logarithm(4.1)), 0.05)
        self.assertLess(found.p_within(differences.logarithm(10)), 0.01)

    def test_figures_that_have_no_logarithm_are_refused(self):
        for first, second in (
            ([1.0], [1.0, 2.0]),
            ([0.0, 1.0], [1.0, 2.0]),
            ([math.inf, 1.0], [1.0, 2.0]),
        ):
            self.assertRaises(
                ValueError,
                differences.of_blocks,
                first,
                second,
                resolution=0.01,
            )
        for first, second in (
            ([1.0], [1.0]),
            ([], [1.0, 2.0]),
            ([0.0, 1.0], [1.0, 2.0]),
            ([math.inf, 1.0], [1.0, 2.0]),
        ):
            self.assertRaises(
                ValueError,
                figures_of_runs.difference,
                first,
                second,
                resolution=0.01,
            )

    def test_no_percentage_is_without_a_logarithm(self):
        # As of repeats of which one has a long stall.
        found = differences.of_blocks(
            [2.0, 2.0, 2.0], [1.0, 1.0, 1e9], resolution=0.01
        )
        for each in found.interval_percent():
            self.assertTrue(math.isfinite(differences.logarithm(each)))

    def test_what_cannot_be_distinguished_is_off_by_as_much(self):
        # All of one bucket: the true ratio is up to BUCKET from 1.
        same = figures_of_runs.difference(
            [1.0] * 9, [1.0] * 9, resolution=BUCKET
        )
        self.assertEqual(1.0, same.p_within(BUCKET))
        self.assertLess(same.p_within(2 * BUCKET), 0.01)
        self.assertIsNone(differences.repeats_for_none(same, margin=BUCKET))
        # A step to the next bucket does not exceed half a bucket for sure.
        next_one = figures_of_runs.difference(
            [1.0] * 9, [1.0 + BUCKET] * 9, resolution=BUCKET
        )
        self.assertEqual(1.0, next_one.p_differs(BUCKET / 2))


class HolmTestCase(testtools.TestCase):
    def test_a_later_one_is_never_more_certain(self):
        self.assertEqual(
            [0.03, 0.06, 0.06], differences.holm([0.01, 0.04, 0.03])
        )
        self.assertEqual([1.0, 1.0], differences.holm([0.6, 0.9]))
        self.assertEqual([], differences.holm([]))
