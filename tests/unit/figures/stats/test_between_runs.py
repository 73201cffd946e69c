# SPDX-License-Identifier: Apache-2.0

"""A few of the comparisons that ``tests/long/test_programmes.py`` simulates.

Of the same storage, each run is as noisy as it may be between runs.
"""

import dataclasses
import math

import numpy
import testtools

from benchmarks import false_claims
from benchmarks import protocols
from cinder_tiers.figures.stats import between_runs
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.compare import comparison
from tests.unit.figures import results

#: Of each cell; 5 % of them are 10, three standard deviations more are 19.
COMPARISONS = 200
MOST_FALSE_PERCENT = 9.5
QUANTITIES = ('iops', 'mib_per_s')
#: Its I/Os are as many as the resolution of the simulation says.
SLOT = results.slot([1.0], clat_ms=(1,) * 10_000)


def rates(iops, speed):
    """A repeat of such IOPS and bandwidth."""
    return dataclasses.replace(
        SLOT,
        merged=dataclasses.replace(
            SLOT.merged, iops=iops, bw_bytes=round(2**40 * speed)
        ),
    )


def latencies(p99_ms, sync_p99_ms):
    """A repeat of such latencies, of writes and of the syncs after them."""
    return results.slot(
        [1.0],
        clat_ms=[p99_ms] * false_claims.SYNCS,
        sync_ms=[sync_p99_ms] * false_claims.SYNCS,
    )


def result_runs(figures, side, name, slot):
    """Results of the runs of a side, as a fleet would have them.

    :param figures: as ``false_claims.simulate`` has them
    :param side: first, second or history
    :param name: of the runs, a digit
    :param slot: makes a repeat of its figures, one of each quantity
    """
    first, second = numpy.exp(getattr(figures, side)[0])
    names = [f'p{number}' for number in range(len(first))]
    (pattern,) = results.PROFILE.patterns
    pattern = dataclasses.replace(pattern, rw='write', fdatasync=1)
    for run in range(first.shape[1]):
        found = results.run(
            {
                'general': {
                    each: [
                        slot(*values)
                        for values in zip(
                            first[at][run], second[at][run], strict=True
                        )
                    ]
                    for at, each in enumerate(names)
                }
            }
        )
        yield dataclasses.replace(
            found,
            run=f'{name}{run:015x}',
            profile=dataclasses.replace(
                found.profile,
                patterns=tuple(
                    dataclasses.replace(pattern, name=each) for each in names
                ),
            ),
        )


class CommonNoiseTestCase(testtools.TestCase):
    def noise_of_the_steady(self, *pairs):
        """Noise of a steady side beside up to two unsteady ones."""
        ones = [100, 101, 99, 100, 100]
        found = [
            differences.of_blocks(ones[:count], others[:count], resolution=0)
            for count, others in zip(
                pairs,
                (
                    [150, 151, 149, 152, 150],
                    [60, 150, 90, 190, 70],
                    [90, 240, 130, 60, 200],
                ),
                strict=False,
            )
        ]
        return between_runs.with_common_noise(found)[0].deviation

    def test_what_is_steady_for_long_is_claimed_beside_what_is_not(self):
        self.assertLess(0.1, self.noise_of_the_steady(3, 3, 3))
        self.assertGreater(0.05, self.noise_of_the_steady(4, 4, 4))
        self.assertGreater(0.05, self.noise_of_the_steady(5, 5, 5))

    def test_a_single_unsteady_one_hides_nothing(self):
        self.assertGreater(0.05, self.noise_of_the_steady(3, 3))

    def test_a_lost_repeat_of_others_hides_nothing(self):
        self.assertGreater(0.05, self.noise_of_the_steady(4, 3, 3))


class FalseClaimsTestCase(testtools.TestCase):
    def test_few_comparisons_of_the_same_storage_claim_anything(self):
        draw = numpy.random.default_rng(20261129)
        for noise, runs, repeats in (
            ('runs 5 %', (3, 3, 0), 3),
            ('runs 5 %', (3, 3, 0), 8),
            ('bimodal runs', (3, 3, 0), 2),
            ('heavy tails', (1, 9, 0), 3),
            ('AR(1) repeats', (2, 5, 0), 5),
            ('sync p99', (3, 3, 0), 3),
            ('sync p99', (2, 5, 0), 8),
            ('noise of one side', (3, 7, 0), 3),
            ('noise of one side', (2, 5, 0), 5),
        ):
            found = false_claims.false_claims(
                draw, noise, runs, repeats, COMPARISONS
            )
            self.assertLessEqual(found, MOST_FALSE_PERCENT, (noise, runs))

    def test_a_gate_of_each_night_seldom_stops_what_is_no_worse(self):
        draw = numpy.random.default_rng(4)
        for name in ('last 30, 1 new', 'last 3, 3 new, 27 before'):
            for noise in ('AR(1)', 'bimodal', '1 of 8 slow', 'spells'):
                self.assertLessEqual(
                    protocols.gate(draw, noise, name, 1), 5, (name, noise)
                )

    def test_two_runs_a_side_claim_nothing(self):
        for runs in ((1, 1, 0), (2, 2, 0), (1, 8, 0), (1, 1, 16)):
            self.assertFalse(between_runs.can_differ(*runs), runs)

    def test_as_tier_compare_does(self):
        draw = numpy.random.default_rng(3)
        patterns = ('patterns 5 %', QUANTITIES, rates)
        syncs = ('sync p99', ('p99_ms', 'sync_p99_ms'), latencies)
        for (noise, quantities, slot), runs, change in (
            (patterns, (3, 3, 0), 0.0),
            (patterns, (3, 3, 0), 0.7),
            (patterns, (1, 1, 17), 0.5),
            (
                patterns,
                (2, 5, 0),
                numpy.linspace(-1.0, 1.0, false_claims.PATTERNS),
            ),
            (syncs, (3, 3, 0), 0.0),
            (syncs, (2, 5, 0), 0.7),
            (syncs, (1, 1, 17), 0.5),
        ):
            figures = false_claims.simulate(
                draw, noise, runs, 2, change=change
            )
            sides = [
                list(result_runs(figures, *each, slot))
                for each in (('first', 'a'), ('second', 'b'), ('history', 'c'))
            ]
            claims = comparison.runs(
                sides[0],
                {'': sides[1]},
                comparison.Question(quantities=quantities),
                history=sides[2],
            ).claims
            of_all, each = false_claims.judge(figures)
            expected = [
                (of_all, (0, quantity), 0)
                for quantity in range(false_claims.QUANTITIES)
            ] + [
                (each, (0, quantity, pattern), 1)
                for pattern in range(false_claims.PATTERNS)
                for quantity in range(false_claims.QUANTITIES)
            ]
            self.assertEqual(len(expected), len(claims))
            for claim, (judged, place, which) in zip(
                claims, expected, strict=True
            ):
                self.assertAlmostEqual(
                    judged.mean[place],
                    math.log1p(claim.difference_percent / 100),
                    3,
                )
                share = false_claims.SHARES[which]
                self.assertAlmostEqual(
                    judged.probabilities(share)[place], claim.probability, 2
                )
                self.assertEqual(
                    bool(judged.are_claimed(share)[place]),
                    claim.finding
                    in (
                        comparison.DifferenceFinding.BETTER,
                        comparison.DifferenceFinding.WORSE,
                    ),
                )
