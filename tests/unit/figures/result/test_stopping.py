# SPDX-License-Identifier: Apache-2.0

"""Why repeats of a result ended, and what that doubts."""

import dataclasses

import testtools

from cinder_tiers.figures.result import caveats
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import stopping as result_stopping
from cinder_tiers.figures.stats import stopping
from cinder_tiers.loop.compare import comparison
from tests.unit.figures import results


MANY_MS = (1,) * 1990 + (5,) * 10


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
