# SPDX-License-Identifier: Apache-2.0

"""How many repeats are told before a run, and how long they take."""

import dataclasses
import math

import numpy
import testtools

from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import repeats
from tests.unit.figures import results
from tests.unit.figures.stats import figures_of_runs
from tests.unit.loop.compare import test_comparison

MANY_MS = (1,) * 1990 + (5,) * 10
IOPS_ONLY = comparison.Question(quantities=('iops',))
#: From the beginning of a repeat to that of the next.
REPEAT_S = 70


def run(**iops_of_tiers):
    """A run whose repeats begin REPEAT_S after one another."""
    found = results.run(
        {
            tier: {
                'x': [results.slot([each], clat_ms=MANY_MS) for each in iops]
            }
            for tier, iops in iops_of_tiers.items()
        }
    )

    def planned(slot, place):
        begin_ms = 5000 + 1000 * (REPEAT_S * (slot.repeat - 1) + 20 * place)
        return dataclasses.replace(
            slot,
            guests=tuple(
                dataclasses.replace(guest, planned_ms=begin_ms)
                for guest in slot.guests
            ),
        )

    return dataclasses.replace(
        found,
        tiers=tuple(
            dataclasses.replace(
                tier,
                patterns=tuple(
                    dataclasses.replace(
                        pattern,
                        slots=tuple(
                            planned(slot, place) for slot in pattern.slots
                        ),
                    )
                    for pattern in tier.patterns
                ),
            )
            for place, tier in enumerate(found.tiers)
        ),
    )


class OfRunTestCase(testtools.TestCase):
    def between_runs(self, question=IOPS_ONLY, **iops):
        """Of runs with two alike repeats each."""
        return repeats.of_runs(
            [
                dataclasses.replace(
                    run(
                        **{
                            tier: (each, each)
                            for tier, each in zip(iops, of_run, strict=True)
                        }
                    ),
                    run=f'{number:016x}',
                )
                for number, of_run in enumerate(
                    zip(*iops.values(), strict=True)
                )
            ],
            question,
        )

    def test_as_many_as_a_comparison_tells_afterwards(self):
        paired = run(fast=(100, 110, 92), slow=(95, 111, 90))
        (claim,) = comparison.tiers_of_run(paired, IOPS_ONLY).claims
        (need,) = repeats.of_run(paired, IOPS_ONLY).needs
        self.assertEqual(claim.repeats_needed, need.repeats)
        self.assertEqual(('slow', 'fast'), (need.tier, need.reference))

    def test_they_show_the_difference_as_often_as_wanted(self):
        draw = numpy.random.default_rng(20261124)
        for power in (0.8, 0.95):
            question = dataclasses.replace(IOPS_ONLY, power=power)
            seen = 0
            for _run in range(100):
                (need,) = self.between_runs(
                    question, general=numpy.exp(draw.normal(7, 0.05, 6))
                ).needs
                sides = numpy.exp(draw.normal(7, 0.05, (2, need.repeats)))
                seen += (
                    figures_of_runs.difference(
                        sides[0], 1.1 * sides[1], resolution=0.0
                    ).p_differs()
                    <= 0.05
                )
            self.assertGreaterEqual(seen, 100 * power - 3, power)

    def test_time_is_that_of_the_repeats_and_what_is_around_them(self):
        (few,), (many,) = (
            repeats.of_run(
                run(a=(100, 101, 99.5, 100), b=iops), IOPS_ONLY
            ).needs
            for iops in ((100, 101, 99, 100), (100, 110, 90, 104))
        )
        self.assertGreater(many.repeats, few.repeats)
        self.assertEqual(
            REPEAT_S * (many.repeats - few.repeats),
            many.seconds - few.seconds,
        )

    def test_runs_take_as_long_as_each_of_them(self):
        """On a cloud that is slower than the estimate assumes."""
        cost = run_result.Cost(
            told=duration.Duration(
                volumes=2, boot=10, prepare=1, measure=300, delete=4
            ),
            volumes_s=20.0,
            boot_s=100.0,
            prepare_s=30.0,
            measure_s=4 * REPEAT_S + 15.0,
        )
        former = [
            dataclasses.replace(
                run(general=(each, each + 1, each, each + 1)),
                run=f'{each:016x}',
                cost=cost,
            )
            for each in (100, 110, 90, 104, 98, 101)
        ]
        (need,) = repeats.of_runs(former, IOPS_ONLY).needs
        self.assertEqual(
            (20 + 100 + 30 + 15 + 4 + 4 * REPEAT_S) * need.repeats,
            need.seconds,
        )

    def test_all_tiers_are_one_comparison(self):
        noise = (100, 106, 97, 101, 99, 104)
        alone = self.between_runs(a=noise)
        together = self.between_runs(
            **{f't{number}': noise for number in range(12)}
        )
        self.assertEqual((1, 12), (alone.claims, together.claims))
        self.assertGreater(together.repeats, alone.repeats)

    def test_one_run_does_not_show_how_much_runs_vary(self):
        for count in (1, 5):
            error = self.assertRaises(
                comparison.ComparisonError,
                self.between_runs,
                a=range(100, 100 + count),
            )
            self.assertIn(
                f'{count} results: expected at least 6 runs', str(error)
            )

    def test_one_that_is_not_known_leaves_the_whole_unknown(self):
        found = self.between_runs(
            a=(100, 101, 99, 100, 102, 98), c=(0, 0, 0, 0, 0, 0)
        )
        self.assertEqual(1, found.claims)
        self.assertIsNone(found.repeats)
        self.assertIsNone(found.seconds)
        self.assertEqual(
            ['', 'in a repeat no I/O was done'],
            [need.reason for need in found.needs],
        )

    def test_reads_and_writes_of_a_mix_have_needs_of_their_own(self):
        def needs(of_run):
            return repeats.of_runs(
                [
                    dataclasses.replace(
                        of_run(reads, writes), run=f'{writes:016x}'
                    )
                    for reads, writes in (
                        *((100, 100), (101, 110), (99, 92)),
                        *((100, 104), (101, 97), (99, 101)),
                    )
                ],
                comparison.Question(quantities=('read_iops', 'write_iops')),
            )

        found = needs(
            lambda reads, writes: test_comparison.mix([reads], [writes])
        )
        reads, writes = found.needs
        self.assertEqual(2, found.claims)
        self.assertGreater(writes.repeats, reads.repeats)
        # One that tells neither has reads alone.
        (need,) = needs(lambda reads, _writes: run(general=[reads])).needs
        self.assertEqual((None, 'read_iops'), (need.repeats, need.quantity))
        self.assertIn('does not tell reads from writes', need.reason)

    def test_more_than_anybody_runs_is_said(self):
        (need,) = self.between_runs(a=(1, 1e9, 3, 2e9, 2, 3e9)).needs
        self.assertIsNone(need.repeats)
        self.assertIn('more than 1000', need.reason)

    def test_what_is_not_relevant_is_not_planned_for(self):
        question = dataclasses.replace(
            IOPS_ONLY, least_difference_percent=5, wanted_difference_percent=5
        )
        (need,) = self.between_runs(
            question, a=(100, 101, 99, 100, 102, 98)
        ).needs
        self.assertIsNone(need.repeats)
        self.assertIn('5 % is no relevant difference', need.reason)
        self.assertGreater(need.repeats_for_none, 1)


class LeastRelevantDifferenceTestCase(testtools.TestCase):
    NOISE = 5.0

    def needed(self, **about):
        (need,) = repeats.of_variation(
            self.NOISE,
            comparison.Question(**about),
            between=repeats.Between.RUNS,
            claims=1,
        ).needs
        return need

    def drawn(self, count, ratio, margin):
        """Shares of runs that (differ, do not) by more than a margin."""
        draw = numpy.random.default_rng(7)
        deviation = math.sqrt(math.log1p((self.NOISE / 100) ** 2))
        shares = [0, 0]
        for _run in range(400):
            sides = numpy.exp(draw.normal(7, deviation, (2, count)))
            found = figures_of_runs.difference(
                sides[0], ratio * sides[1], resolution=0.0
            )
            shares[0] += found.p_differs(margin) <= 0.05
            shares[1] += found.p_within(margin) <= 0.05
        return [share / 400 for share in shares]

    def test_a_relevant_difference_needs_more_repeats(self):
        self.assertGreater(
            self.needed(least_difference_percent=5).repeats,
            self.needed().repeats,
        )

    def test_both_numbers_show_what_they_say_as_often_as_they_say(self):
        need = self.needed(least_difference_percent=5)
        margin = differences.logarithm(5)
        differ, _none = self.drawn(need.repeats, 1.1, margin)
        self.assertGreaterEqual(differ, 0.77)
        self.assertLess(differ, 0.9)
        _differ, none = self.drawn(need.repeats_for_none, 1.0, margin)
        # Counted with two one-sided tests of 5 %; claims need 2.5 %.
        self.assertGreaterEqual(none, 0.77)

    def test_sides_that_differ_by_the_margin_are_seldom_called_alike(self):
        need = self.needed(least_difference_percent=5)
        differ, none = self.drawn(need.repeats, 1.05, differences.logarithm(5))
        self.assertLessEqual(differ, 0.08)
        self.assertLessEqual(none, 0.08)


class OfVariationTestCase(testtools.TestCase):
    def test_the_textbook_number(self):
        """d = 1, two-sided 5 %, power 80 %: 17 of each (Cohen 1988)."""
        # Of a log-normal variation, so that one deviation is the wanted one.
        deviation = differences.logarithm(10)
        found = repeats.of_variation(
            100 * math.sqrt(math.expm1(deviation**2)),
            comparison.Question(),
            between=repeats.Between.RUNS,
            claims=1,
        )
        self.assertEqual(17, found.repeats)
        self.assertIsNone(found.seconds)

    def test_a_result_tells_the_time(self):
        found = repeats.of_variation(
            5,
            comparison.Question(),
            between=repeats.Between.RUNS,
            claims=1,
            run=run(a=(1, 1)),
        )
        # Each run of a side has one repeat, as this one.
        self.assertEqual((30 + REPEAT_S) * found.repeats, found.seconds)
