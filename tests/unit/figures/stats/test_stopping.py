# SPDX-License-Identifier: Apache-2.0

"""When repeats are enough, and what such a run may claim, truth known.

Seeds are fixed: a draw of so many runs has the shares below, or the rule is
another one.
"""

import dataclasses
import math

import numpy
import testtools

from cinder_tiers.figures.result import caveats
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import stopping as result_stopping
from cinder_tiers.figures.stats import differences
from cinder_tiers.figures.stats import intervals
from cinder_tiers.figures.stats import stopping
from cinder_tiers.loop.compare import comparison
import tests
from tests.unit.figures import results

RULE = stopping.StoppingRule(interval_percent=5, most_repeats=12)
MANY_MS = (1,) * 1990 + (5,) * 10


def stopped(figures, rule=RULE):
    """The repeats after which a run of some series ends.

    :param figures: a row for each series
    """
    for count in rule.looks:
        series = [
            stopping.RepeatSeries(
                name='x',
                values=tuple(row[:count]),
                limit_percent=rule.interval_percent,
            )
            for row in figures
        ]
        if not stopping.wide(series, looks=len(rule.looks)):
            break
    return figures[:, :count]


class RuleTestCase(testtools.TestCase):
    def test_looks_are_few_and_after_even_numbers_of_repeats(self):
        def looks(most):
            return stopping.StoppingRule(
                interval_percent=5, most_repeats=most
            ).looks

        self.assertEqual((4, 6, 8, 10, 12), looks(12))
        self.assertEqual((4, 5), looks(5))
        self.assertEqual((4, 6, 8, 10, 14, 18, 20), looks(20))
        self.assertEqual(100, looks(100)[-1])
        self.assertLessEqual(len(looks(100)), 14)

    def test_all_that_is_wrong_is_said(self):
        error = self.assertRaises(
            ValueError,
            stopping.StoppingRule,
            interval_percent=0,
            p99_interval_percent=100,
            most_repeats=4,
        )
        for word in ('interval_percent 0:', 'p99_interval_percent 100:'):
            self.assertIn(word, str(error))
        self.assertIn('most_repeats 4: expected 5 to 100', str(error))

    def test_repeats_in_one_bucket_are_not_known_exactly(self):
        def wide(resolution):
            return stopping.wide(
                [
                    stopping.RepeatSeries(
                        name='x',
                        values=(10.0,) * 4,
                        limit_percent=0.5,
                        resolution=resolution,
                    )
                ],
                looks=5,
            )

        self.assertEqual([], wide(0.0))
        (found,) = wide(1 / 64)
        # Student's at 97.5 % of 4 values: 4.177.
        self.assertAlmostEqual(
            100 * 4.177 / 64 / math.sqrt(12) / 2,
            found.half_percent,
            delta=0.01,
        )

    def test_what_has_no_interval_is_too_wide(self):
        for values in ((), (1.0,), (0.0, 0.0)):
            (found,) = stopping.wide(
                [
                    stopping.RepeatSeries(
                        name='x', values=values, limit_percent=99
                    )
                ],
                looks=5,
            )
            self.assertEqual('x: no interval', str(found))


class CoverageTestCase(testtools.TestCase):
    """Runs of noise from far below to above what is wanted."""

    RUNS = tests.draws(1000)

    def shares(self, noise, rule):
        """(of intervals that have the truth, mean of the last repeats)."""
        draw = numpy.random.default_rng(20261125)
        held, repeats = 0, 0
        for _run in range(self.RUNS):
            values = stopped(
                draw.normal(100, noise, (1, rule.most_repeats)), rule
            )[0]
            found = intervals.estimate_mean(values, looks=len(rule.looks))
            held += found.low <= 100 <= found.high
            repeats += len(values)
        return held / self.RUNS, repeats / self.RUNS

    def test_a_95_percent_interval_holds_after_stopping(self):
        for most in (12, 24):
            rule = stopping.StoppingRule(interval_percent=5, most_repeats=most)
            repeats = []
            for noise in (1, 2.5, 3.5, 5, 7.5, 12):
                held, mean = self.shares(noise, rule)
                # Less three standard deviations.
                least = 0.95 - 3 * math.sqrt(0.95 * 0.05 / self.RUNS)
                self.assertGreaterEqual(held, least, (most, noise))
                repeats.append(mean)
            self.assertLess(repeats[0], 4.1)
            self.assertEqual(sorted(repeats), repeats)
            self.assertGreater(repeats[-1], most - 1)

    def test_without_the_adjustment_it_would_not(self):
        rule = stopping.StoppingRule(interval_percent=5, most_repeats=12)
        draw = numpy.random.default_rng(20261125)
        held = 0
        for _run in range(2000):
            values = stopped(draw.normal(100, 5, (1, 12)), rule)[0]
            found = intervals.estimate_mean(values)
            held += found.low <= 100 <= found.high
        self.assertLess(held / 2000, 0.935)


class SameStorageTestCase(testtools.TestCase):
    """Two tiers of a run that ended when all intervals were narrow."""

    def false(self, noise, patterns, runs):
        draw = numpy.random.default_rng(20261126)
        false = 0
        for _run in range(runs):
            rows = stopped(
                numpy.exp(draw.normal(7, noise, (2 * patterns, 12)))
            )
            found = [
                differences.of_blocks(
                    *pair, resolution=0.0, looks=len(RULE.looks)
                )
                for pair in zip(rows[::2], rows[1::2], strict=True)
            ]
            false += any(
                p <= 0.05
                for p in differences.holm([one.p_differs() for one in found])
            )
        return false / runs

    def test_one_pattern_does_not_differ(self):
        for noise in (0.025, 0.05, 0.075):
            self.assertLessEqual(self.false(noise, 1, 600), 0.05, noise)

    def test_of_sixteen_patterns_none_differs(self):
        for noise in (0.02, 0.035):
            self.assertLessEqual(self.false(noise, 16, 150), 0.05, noise)


class ResultTestCase(testtools.TestCase):
    def run_of(self, *iops, looks=1, clat_ms=MANY_MS):
        slots = [results.slot([each], clat_ms=clat_ms) for each in iops]
        found = results.run({'general': {'x': slots}})
        if looks == 1:
            return found
        return dataclasses.replace(
            found,
            stopping=result_stopping.record(
                {'general': found.tiers[0].patterns},
                stopping.StoppingRule(interval_percent=5, most_repeats=12),
                repeats=len(iops),
                looks=1,
            ),
        )

    def test_a_result_says_why_its_repeats_ended(self):
        found = self.run_of(100, 101, 99, 100, looks=5).stopping
        self.assertTrue(found.is_narrow)
        self.assertEqual(
            (5, 1, 4), (found.most_looks, found.looks, found.repeats)
        )
        self.assertEqual(
            '4 of at most 12 repeats: all intervals are narrow enough',
            found.reason,
        )

    def test_an_end_at_the_bound_is_a_caveat(self):
        run = self.run_of(*[100, 150, 80] * 4, looks=5)
        self.assertFalse(run.stopping.is_narrow)
        (found,) = [
            each
            for each in caveats.find_caveats(run)
            if each.about == 'wide intervals'
        ]
        self.assertIn('such as general x: iops: +-', found.text)
        self.assertIn('results of 4 of 5 looks were not there', found.text)

    def test_it_is_written_and_read(self):
        run = self.run_of(100, 101, 99, 100, looks=5)
        self.assertEqual(run, run_result.read(run_result.write(run)))
        self.assertEqual(5, run.looks)

    def test_p99_counts_if_it_is_asked_for(self):
        rule = stopping.StoppingRule(
            interval_percent=5, p99_interval_percent=5
        )
        few = self.run_of(100, 101, 99, 100, clat_ms=MANY_MS[:500])
        (wide,) = result_stopping.too_wide(
            {'general': few.tiers[0].patterns}, rule
        )
        self.assertEqual('general x: p99_ms: no interval', str(wide))
        many = self.run_of(100, 101, 99, 100)
        self.assertEqual(
            [],
            result_stopping.too_wide(
                {'general': many.tiers[0].patterns}, rule
            ),
        )

    def test_a_comparison_is_corrected_for_the_looks(self):
        def compared(looks):
            one, other = (
                self.run_of(*iops, looks=looks)
                for iops in ((100, 103, 98, 101), (108, 107, 108, 106))
            )
            (tier,) = other.tiers
            both = dataclasses.replace(
                one,
                tiers=(*one.tiers, dataclasses.replace(tier, tier='gold')),
            )
            (claim,) = comparison.tiers_of_run(
                both, comparison.Question(quantities=('iops',))
            ).claims
            return claim

        fixed, looked_at = compared(1), compared(5)
        self.assertAlmostEqual(5 * fixed.probability, looked_at.probability)
        self.assertLess(looked_at.low_percent, fixed.low_percent)
        self.assertGreater(looked_at.repeats_needed, fixed.repeats_needed)
        self.assertEqual('better', fixed.finding.value)

    def test_repeats_of_a_run_are_not_looked_at_between_runs(self):
        sides = [
            [self.run_of(each, each + 1, looks=looks) for each in iops]
            for iops, looks in (((100, 103, 98), 1), ((104, 108, 103), 5))
        ]
        fixed, looked_at = (
            comparison.runs(
                sides[0],
                {'': second},
                comparison.Question(quantities=('iops',)),
            ).claims[0]
            for second in (
                [
                    dataclasses.replace(each, stopping=None)
                    for each in sides[1]
                ],
                sides[1],
            )
        )
        self.assertEqual(fixed.probability, looked_at.probability)
