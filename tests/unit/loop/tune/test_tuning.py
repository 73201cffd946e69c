# SPDX-License-Identifier: Apache-2.0

"""What is confirmed of a tuning, in worlds whose truth is known."""

import math

import numpy
import testtools

from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.tune import decision
from cinder_tiers.loop.tune import expected
from cinder_tiers.loop.tune import history
from cinder_tiers.loop.tune import measured
from tests.unit.figures import results

DOUBLE = math.log(2)


def gains(*found):
    return [
        decision.Gain(candidate=candidate, gain=gain, block=block)
        for block, (candidate, gain) in enumerate(found, 1)
    ]


def best_of(found, *, counts, **about):
    return expected.effects(
        found,
        counts,
        variation_percent=5.0,
    ).best(**about)


class ChoiceTestCase(testtools.TestCase):
    def test_one_lucky_measurement_is_not_the_best(self):
        found = gains(((1,), 0.12), *[((2,), 0.1)] * 4)
        self.assertEqual(((2,),), best_of(found, counts=(3,)))

    def test_what_is_worse_than_the_default_is_not_the_best(self):
        self.assertEqual((), best_of(gains(((1,), -0.1)), counts=(2,)))

    def test_what_breaks_a_constraint_is_not_the_best(self):
        found = gains(((1,), 1.0))
        self.assertEqual((), best_of(found, counts=(3,), broken={(1,)}))

    def test_options_that_do_not_help_are_left_out(self):
        found = gains(
            ((1, 1, 0), DOUBLE + 0.01),
            ((1, 0, 2), DOUBLE),
            ((0, 1, 2), -0.01),
            ((0, 1, 0), 0.0),
            ((0, 2, 1), 0.01),
        )
        self.assertEqual((1, 0, 0), best_of(found, counts=(2, 3, 3))[0])

    def test_values_that_help_are_put_together(self):
        found = gains(
            ((1, 0), 0.2),
            ((0, 1), 0.2),
            ((1, 2), 0.0),
            ((2, 1), 0.0),
            ((2, 2), -0.4),
        )
        self.assertEqual(((1, 1),), best_of(found, counts=(3, 3)))

    def test_what_only_helps_alone_is_not_put_together(self):
        found = gains(
            *[((1, 0), 0.3)] * 3,
            *[((1, 1), -0.1)] * 3,
            *[((1, 2), -0.1)] * 3,
            *[((0, 1), 0.0)] * 3,
        )
        self.assertEqual(((1, 0),), best_of(found, counts=(2, 3)))

    def test_noise_is_that_of_repeated_candidates(self):
        draw = numpy.random.default_rng(1)
        found = gains(
            *(((1,), each) for each in draw.normal(0.3, 0.1, 400)),
            *(((2,), each) for each in draw.normal(0.9, 0.1, 400)),
        )
        # A gain of 10 % noise is of two sides of 7 %.
        self.assertAlmostEqual(
            7.1, decision.variation_percent(found), delta=0.4
        )

    def test_more_noise_needs_more_blocks(self):
        def blocks(deviation):
            return decision.blocks_to_confirm(
                gains(*(((1,), deviation * sign) for sign in (1, -1) * 4)),
                candidates=2,
                wanted_percent=10,
                least_percent=0,
            )

        self.assertEqual(decision.LEAST_BLOCKS, blocks(0.001))
        self.assertEqual(decision.MOST_BLOCKS, blocks(0.3))
        self.assertTrue(blocks(0.001) < blocks(0.05) < blocks(0.3))

    def test_the_simpler_of_two_alike_is_chosen(self):
        def chosen(one, other):
            best = decision.choose(
                decision.confirm({(1, 1): one, (1, 0): other}, least_percent=0)
            )
            return best and best.candidate

        alike = [DOUBLE, DOUBLE + 0.01, DOUBLE - 0.01, DOUBLE]
        self.assertEqual((1, 0), chosen(alike, alike))
        self.assertEqual((1, 1), chosen([2 * each for each in alike], alike))
        self.assertIsNone(chosen([0.1, -0.1, 0.2, -0.2], [0, 0, 0, 0]))
        self.assertIsNone(chosen([-each for each in alike], [1.0]))

    def test_a_gain_below_the_least_relevant_is_none(self):
        small = {(1,): [0.03, 0.031, 0.029, 0.03]}
        self.assertTrue(decision.confirm(small, least_percent=0)[0].is_better)
        self.assertFalse(decision.confirm(small, least_percent=5)[0].is_better)


class BrokenTestCase(testtools.TestCase):
    """What a candidate breaks that the default of its block keeps."""

    EXPECTED = {
        'a': {'rand': {'iops_min': 50.0}},
        'b': {'rand': {'iops_min': 50.0}, 'seq': {'iops_min': 50.0}},
    }
    FAST, SLOW = [results.slot([100])], [results.slot([10])]

    def broken(self, default, treated):
        return measured.broken(
            results.run(default), results.run(treated), self.EXPECTED
        )

    def test_a_limit_that_the_default_keeps(self):
        fast = {'a': {'rand': self.FAST}, 'b': {'rand': self.FAST}}
        slow = {'a': {'rand': self.FAST}, 'b': {'rand': self.SLOW}}
        (found,) = self.broken(fast, slow)
        self.assertIn('b rand: all guests 10 IOPS', found)
        self.assertEqual((), self.broken(slow, slow))
        self.assertEqual((), self.broken(slow, fast))
        self.assertEqual((), self.broken(fast, fast))

    def test_what_has_no_figure_any_more_is_not_kept(self):
        default = {'b': {'rand': self.FAST}}
        # No guest of the tier has come so far.
        for treated in (
            {'a': {'rand': self.FAST}},
            {'b': {'seq': self.FAST}},
            {'b': {'rand': [results.slot([100], without=1)]}},
        ):
            (found,) = self.broken(default, treated)
            self.assertIn('b rand', found)
            self.assertEqual((), self.broken(treated, treated))

    def test_a_gain_of_a_percentile_is_more_than_a_bucket_of_fio(self):
        for goal, asked, least in (
            ('p99_ms', 1.0, 100 / 64),
            ('p99_ms', 5.0, 5.0),
            ('iops', 1.0, 1.0),
            ('lat_mean_ms', 1.0, 1.0),
        ):
            self.assertEqual(least, measured.least_gain_percent(goal, asked))

    def test_what_the_default_may_break_itself_says_nothing(self):
        """The default: from 38 to 58 ms in its repeats, 45 ms in the mean."""
        default, treated = (
            results.run(
                {
                    'b': {
                        'rand': [
                            results.slot([1], clat_ms=[ms] * 2000)
                            for ms in repeats
                        ]
                    }
                }
            )
            for repeats in ((38, 45, 58), (60, 60.1, 60.2))
        )
        expected = {'b': {'rand': {'p99_ms_max': 50.0}}}
        self.assertEqual((), measured.broken(default, treated, expected))

    def test_what_is_too_slow_for_a_figure_is_not_kept(self):
        default, treated = (
            results.run(
                {'b': {'rand': [results.slot([1], clat_ms=[1] * ios)]}}
            )
            for ios in (2000, 20)
        )
        expected = {'b': {'rand': {'p99_ms_max': 5.0}}}
        (found,) = measured.broken(default, treated, expected)
        self.assertIn('b rand', found)
        self.assertIn('20 I/Os', found)
        # It was no better before, or there is noise alone.
        self.assertEqual((), measured.broken(treated, treated, expected))
        self.assertEqual((), measured.broken(default, default, expected))


class RefusedTestCase(testtools.TestCase):
    REFUSED = (None, ('refused: libvirt',))

    def taken(self, *outcomes, seconds=60.0):
        return history.Taken(
            part=history.BlockPurpose.SEARCH,
            seconds=seconds,
            outcomes=tuple(
                history.CandidateOutcome(
                    candidate=(1,), gain=gain, broken=broken
                )
                for gain, broken in outcomes
            ),
        )

    def test_what_was_refused_took_no_slot(self):
        refused = self.REFUSED
        for slots, found in (
            (4, self.taken((0.1, ()), (None, ()), (0.1, ('slow',)))),
            (2, self.taken(refused, refused, (0.1, ()))),
            (0, self.taken(refused, refused, seconds=0.0)),
        ):
            self.assertEqual(slots, found.slots)

    def test_what_was_refused_is_not_measured_in_vain(self):
        refused = self.taken(self.REFUSED, seconds=0.0)
        vain, good = self.taken((None, ())), self.taken((0.1, ()))
        for number, blocks in (
            (0, ()),
            (0, (refused,) * 9),
            (2, (vain, good, vain, refused, vain, refused)),
            (0, (vain, vain, vain, good)),
        ):
            self.assertEqual(number, history.History(blocks=blocks).in_vain)


class SimulationTestCase(testtools.TestCase):
    """Candidates are proposed by chance; the search only finds better ones."""

    RUNS = 200

    def proposed(self, draw, truth):
        """What is proposed after 24 trials by chance; 8 % noise of a side."""

        def measured(candidate):
            return truth(candidate) + draw.normal(0, 0.08 * math.sqrt(2))

        found = []
        for _ in range(24):
            candidate = tuple(int(each) for each in draw.integers(0, 5, 5))
            found += gains((candidate, measured(candidate)))
        chosen = best_of(found, counts=(5,) * 5)
        blocks = decision.blocks_to_confirm(
            found,
            candidates=max(1, len(chosen)),
            wanted_percent=10,
            least_percent=0,
        )
        best = decision.choose(
            decision.confirm(
                {
                    each: [measured(each) for _ in range(blocks)]
                    for each in chosen
                },
                least_percent=0,
            )
        )
        return best and best.candidate

    def test_on_a_flat_world_nothing_is_better(self):
        draw = numpy.random.default_rng(20261123)
        claimed = sum(
            self.proposed(draw, lambda candidate: 0.0) is not None
            for _ in range(self.RUNS)
        )
        self.assertLessEqual(claimed, (1 - differences.CONFIDENCE) * self.RUNS)

    def test_an_option_that_doubles_is_found(self):
        draw = numpy.random.default_rng(20261124)
        found = [
            self.proposed(
                draw, lambda candidate: DOUBLE if candidate[2] == 3 else 0.0
            )
            for _ in range(self.RUNS)
        ]
        right = [each for each in found if each and each[2] == 3]
        self.assertGreaterEqual(len(right), 0.95 * self.RUNS)
        # Most of them say so in as few options as there need to be.
        simple = [each for each in right if sum(map(bool, each)) <= 2]
        self.assertGreaterEqual(len(simple), 0.7 * len(right))
