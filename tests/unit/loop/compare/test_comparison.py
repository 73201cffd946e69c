# SPDX-License-Identifier: Apache-2.0

"""What a comparison of results claims, and what it says before."""

import dataclasses

import numpy
import testtools

from benchmarks import protocols
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from tests.unit.figures import results

#: Enough I/Os for p99.
MANY_MS = (1,) * 1990 + (5,) * 10
IOPS_ONLY = comparison.Question(quantities=('iops',))


def slots(*iops, **about):
    """A repeat for each figure."""
    about.setdefault('clat_ms', MANY_MS)
    return [results.slot([each], **about) for each in iops]


def one_tier(*iops, **about):
    """A run of one tier."""
    return results.run({'general': {'x': slots(*iops, **about)}})


def turns(run, *order):
    """The run with its tiers having their turns in this order in each repeat.

    :param order: for each repeat, the tiers
    """
    number = {
        (tier, repeat): place + len(tiers) * (repeat - 1)
        for repeat, tiers in enumerate(order, 1)
        for place, tier in enumerate(tiers)
    }
    return dataclasses.replace(
        run,
        tiers=tuple(
            dataclasses.replace(
                tier,
                patterns=tuple(
                    dataclasses.replace(
                        pattern,
                        slots=tuple(
                            dataclasses.replace(
                                slot, number=number[tier.tier, slot.repeat]
                            )
                            for slot in pattern.slots
                        ),
                    )
                    for pattern in tier.patterns
                ),
            )
            for tier in run.tiers
        ),
    )


class RunsCase(testtools.TestCase):
    def compare(self, first, second, question=IOPS_ONLY, **about):
        """Three runs of each, which is the fewest that show something."""
        return comparison.runs(
            3 * [first], {'': 3 * [second]}, question, **about
        )


class RunsTestCase(RunsCase):
    """Runs against other runs."""

    def test_twice_the_iops_is_better_and_half_is_worse(self):
        slow = one_tier(100, 101, 99, 100)
        fast = one_tier(200, 203, 198, 200)
        for first, second, expected, percent in (
            (slow, fast, 'better', 100),
            (fast, slow, 'worse', -50),
        ):
            (claim,) = self.compare(first, second).claims
            self.assertEqual(expected, claim.finding.value)
            self.assertAlmostEqual(
                percent, claim.difference_percent, delta=0.5
            )
            self.assertLess(claim.low_percent, claim.difference_percent)
            self.assertGreater(claim.high_percent, claim.difference_percent)
            self.assertFalse(claim.is_paired)

    def test_more_latency_is_worse(self):
        question = comparison.Question(quantities=('p99_ms', 'mean_ms'))
        found = self.compare(
            one_tier(1, 1, 1),
            one_tier(1, 1, 1, clat_ms=(2,) * 1990 + (10,) * 10),
            question,
        )
        self.assertEqual(
            [('p99_ms', 'worse'), ('mean_ms', 'worse')],
            [(each.quantity, each.finding.value) for each in found.claims],
        )

    def test_noise_is_no_difference_and_says_how_many_runs_are_needed(self):
        (claim,) = comparison.runs(
            [one_tier(each) for each in (100, 110, 90)],
            {'': [one_tier(each) for each in (103, 92, 112)]},
            IOPS_ONLY,
        ).claims
        self.assertEqual(
            comparison.DifferenceFinding.CANNOT_TELL, claim.finding
        )
        self.assertGreater(claim.repeats_needed, 3)
        self.assertIn(
            f'to see 10 %, {claim.repeats_needed} runs are needed',
            claim.reason,
        )

    def test_with_runs_enough_it_says_what_would_have_shown(self):
        (claim,) = self.compare(
            one_tier(300, 302, 301), one_tier(301, 300, 302)
        ).claims
        self.assertEqual(
            comparison.DifferenceFinding.CANNOT_TELL, claim.finding
        )
        self.assertLessEqual(claim.repeats_needed, 3)
        self.assertEqual(
            '10 % would most likely have shown, as'
            f' {claim.repeats_needed} runs are enough for that;'
            ' t of 3 runs each, 1 claim',
            claim.reason,
        )

    def test_a_difference_that_is_not_relevant_is_said_to_be_none(self):
        question = comparison.Question(
            quantities=('iops',), least_difference_percent=20
        )
        (claim,) = self.compare(
            one_tier(100, 101, 99, 100), one_tier(104, 105, 103, 104), question
        ).claims
        self.assertEqual(
            comparison.DifferenceFinding.NO_RELEVANT_DIFFERENCE, claim.finding
        )
        (claim,) = self.compare(
            one_tier(100, 101, 99, 100), one_tier(104, 105, 103, 104)
        ).claims
        self.assertEqual(comparison.DifferenceFinding.BETTER, claim.finding)

    def test_claims_are_corrected_for_each_other(self):
        def of(count):
            return [
                results.run(
                    {
                        f't{number}': {'x': slots(*iops)}
                        for number in range(count)
                    }
                )
                for iops in ((100, 101, 99), (102, 103, 101))
            ]

        (alone,) = self.compare(*of(1)).claims
        self.assertEqual(comparison.DifferenceFinding.BETTER, alone.finding)
        self.assertEqual(
            {comparison.DifferenceFinding.CANNOT_TELL},
            {each.finding for each in self.compare(*of(20)).claims},
        )

    def test_between_one_run_each_nothing_is_claimed(self):
        (claim,) = comparison.runs(
            [one_tier(100, 101, 99)],
            {'': [one_tier(50, 51, 49)]},
            IOPS_ONLY,
        ).claims
        self.assertEqual(
            comparison.DifferenceFinding.CANNOT_TELL, claim.finding
        )
        self.assertEqual(
            'one run each: cannot tell a change of the storage from a change'
            ' between runs; three runs on each side are needed, or a history'
            ' of 17 other runs of the first storage',
            claim.reason,
        )
        self.assertAlmostEqual(-50, claim.difference_percent, delta=0.1)
        self.assertIsNone(claim.low_percent)
        self.assertIn('-50.0 %; one run each', claim.sentence)
        self.assertFalse(claim.is_no_worse(90))

    def test_a_history_says_how_much_runs_vary(self):
        def history(*iops):
            return [
                dataclasses.replace(one_tier(each), run=f'{each:016x}')
                for each in iops
            ]

        def findings(second, past):
            return [
                claim.finding.value
                for claim in comparison.runs(
                    [one_tier(100)],
                    {'': [one_tier(second)]},
                    IOPS_ONLY,
                    history=past,
                ).claims
            ]

        quiet = history(*range(92, 109))
        self.assertEqual(['worse'], findings(60, quiet))
        self.assertEqual(['cannot tell'], findings(98, quiet))
        self.assertEqual(['cannot tell'], findings(60, quiet[:16]))
        loud = history(*range(60, 145, 5))
        self.assertEqual(['cannot tell'], findings(60, loud))

    def test_a_run_that_is_on_a_side_is_no_history(self):
        runs = [
            dataclasses.replace(one_tier(each), run=f'{each:016x}')
            for each in range(90, 108)
        ]
        for past, expected in ((runs[:17], 'cannot tell'), (runs, 'worse')):
            (claim,) = comparison.runs(
                [runs[0]], {'': [one_tier(50)]}, IOPS_ONLY, history=past
            ).claims
            self.assertEqual(expected, claim.finding.value)

    def test_the_first_claim_is_of_all_patterns_together(self):
        def of(*iops):
            return [
                results.run(
                    {
                        'general': {
                            f'x.g{number}': slots(each * (1 + number % 3 / 50))
                            for number in range(1, 9)
                        }
                    }
                )
                for each in iops
            ]

        def named(run):
            (pattern,) = run.profile.patterns
            return dataclasses.replace(
                run,
                profile=dataclasses.replace(
                    run.profile,
                    patterns=tuple(
                        dataclasses.replace(pattern, name=f'x.g{number}')
                        for number in range(1, 9)
                    ),
                ),
            )

        found = comparison.runs(
            list(map(named, of(100, 104, 97))),
            {'': list(map(named, of(90, 93, 87)))},
            IOPS_ONLY,
        )
        first, *others = found.claims
        self.assertEqual(
            (comparison.ALL_PATTERNS, 'worse'),
            (first.pattern, first.finding.value),
        )
        self.assertEqual(8, len(others))
        self.assertEqual(
            {'cannot tell'}, {each.finding.value for each in others}
        )
        self.assertLess(first.high_percent, 0)
        self.assertTrue(first.is_no_worse(25))
        self.assertFalse(first.is_no_worse(10))

    def test_a_run_without_a_complete_repeat_is_not_compared(self):
        lost = dataclasses.replace(one_tier(100, 100, without=1), run='f' * 16)
        (claim,) = self.compare(one_tier(1, 1), lost).claims
        self.assertEqual(
            (
                'not compared',
                None,
                'run ffffffffffffffff has no repeat in which all guests are'
                ' complete, of x on general: see the verdicts of its guests',
            ),
            (claim.finding.value, claim.second, claim.reason),
        )

    def test_a_lost_run_among_others_is_none_in_which_nothing_was_done(self):
        lost = dataclasses.replace(one_tier(100, 100, without=1), run='f' * 16)
        (claim,) = comparison.runs(
            [one_tier(1, 1), one_tier(1, 1)],
            {'': [lost, one_tier(2, 2)]},
            IOPS_ONLY,
        ).claims
        self.assertEqual('not compared', claim.finding.value)
        self.assertIn('run ffffffffffffffff has no repeat', claim.reason)

    def test_what_both_sides_lack_is_said_once(self):
        (claim,) = self.compare(one_tier(0, 5), one_tier(0, 5)).claims
        self.assertEqual('in a repeat no I/O was done', claim.reason)

    def test_what_each_side_lacks_is_said_of_each(self):
        run = results.run(
            {'general': {'x': slots(1)}, 'gold': {'x': slots(0)}}
        )
        (claim,) = comparison.tiers_of_run(run, IOPS_ONLY).claims
        self.assertEqual(
            'measured once: a comparison needs 3 repeats or more',
            claim.reason,
        )

    def test_a_percentile_of_too_few_ios_tells_nothing(self):
        question = comparison.Question(quantities=('p99.9_ms',))
        (claim,) = self.compare(
            one_tier(1, 1), one_tier(2, 2, clat_ms=(9,) * 75), question
        ).claims
        self.assertEqual(
            comparison.DifferenceFinding.CANNOT_TELL, claim.finding
        )
        self.assertIn('expected at least 10000 I/Os', claim.reason)
        self.assertEqual((None, None), (claim.first, claim.second))

    def test_no_io_at_all_tells_nothing(self):
        (claim,) = self.compare(one_tier(1, 1), one_tier(0, 5)).claims
        self.assertEqual(
            (
                comparison.DifferenceFinding.CANNOT_TELL,
                'second: in a repeat no I/O was done',
            ),
            (claim.finding, claim.reason),
        )

    def test_tiers_of_other_names_are_compared_when_told_so(self):
        other = results.run({'gold': {'x': slots(5, 5)}})
        error = self.assertRaises(
            comparison.ComparisonError, self.compare, one_tier(1, 1), other
        )
        self.assertIn('no tier is on both sides', str(error))
        (claim,) = self.compare(
            one_tier(1, 1), other, tiers={'general': 'gold'}
        ).claims
        self.assertEqual(
            ('general', 'gold'), (claim.first_tier, claim.second_tier)
        )
        error = self.assertRaises(
            comparison.ComparisonError,
            self.compare,
            one_tier(1, 1),
            other,
            tiers={'none': 'such'},
        )
        self.assertIn("'none'", str(error))
        self.assertIn("'such'", str(error))

    def test_with_runs_on_both_sides_each_run_is_one_observation(self):
        # Runs differ by far more than their repeats do.
        first = [one_tier(each, each + 1) for each in (100, 150, 80)]
        second = [one_tier(each, each + 1) for each in (120, 90, 160)]
        (claim,) = comparison.runs(first, {'': second}, IOPS_ONLY).claims
        self.assertEqual(
            (comparison.DifferenceFinding.CANNOT_TELL, 3),
            (claim.finding, claim.repeats),
        )

    def test_one_run_is_not_worse_for_being_one_of_those_before(self):
        # Each run of the baseline would be, by its repeats alone.
        first = [
            one_tier(*(each * share for share in (0.997, 1.0, 1.003)))
            for each in (950, 1050, 1000, 1010, 990, 970, 1030, 1020, 980)
        ]
        (claim,) = comparison.runs(
            first, {'': [one_tier(949, 951, 952)]}, IOPS_ONLY
        ).claims
        self.assertEqual(
            (comparison.DifferenceFinding.CANNOT_TELL, 1),
            (claim.finding, claim.repeats),
        )
        self.assertIn('runs are needed; t of 1 and 9 runs', claim.reason)
        for baseline, expected in ((first, 'worse'), (first[1:], 'cannot')):
            (claim,) = comparison.runs(
                baseline, {'': [one_tier(500, 501, 502)]}, IOPS_ONLY
            ).claims
            self.assertIn(expected, claim.finding.value)
        self.assertIn('1 and 8 runs: cannot tell', claim.reason)

    def test_a_tier_that_one_side_lacks_is_not_compared(self):
        def run(*tiers):
            return results.run(
                {each: {'x': slots(100, 101, 99)} for each in tiers}
            )

        for first, second in (
            (run('general', 'database'), run('general', 'Database')),
            (run('general', 'database'), run('general')),
        ):
            claims = self.compare(first, second).claims
            self.assertEqual('general', claims[0].first_tier)
            self.assertEqual(
                {comparison.DifferenceFinding.NOT_COMPARED},
                {each.finding for each in claims[1:]},
            )
            self.assertIn(
                'has no tier database, but general', claims[1].reason
            )
            # What is named is all that is compared.
            (claim,) = self.compare(
                first, second, tiers={'general': 'general'}
            ).claims
            self.assertEqual('general', claim.first_tier)

    def test_a_latency_of_nothing_is_not_0(self):
        def run(*reads):
            return dataclasses.replace(
                results.run(
                    {
                        'general': {
                            'x': [
                                results.slot(
                                    [100],
                                    clat_ms=MANY_MS,
                                    directions={
                                        'write': results.direction(
                                            90, MANY_MS
                                        ),
                                        **(
                                            {
                                                'read': results.direction(
                                                    10, MANY_MS
                                                )
                                            }
                                            if has_read
                                            else {}
                                        ),
                                    },
                                )
                                for has_read in reads
                            ]
                        }
                    }
                ),
                profile=dataclasses.replace(
                    results.PROFILE,
                    patterns=(
                        fio_pattern.Pattern(name='x', rw='randrw', bs='4k'),
                    ),
                ),
            )

        (iops, p99) = comparison.runs(
            [run(True, False)],
            {'': [run(True, True)]},
            comparison.Question(quantities=('read_iops', 'read_p99_ms')),
        ).claims
        self.assertEqual((0.0, None), (iops.first, p99.first))
        self.assertIn('nothing was read', p99.reason)

    def test_each_of_several_results_is_compared_with_the_first(self):
        found = comparison.runs(
            3 * [one_tier(100, 101, 99)],
            {
                'b': 3 * [one_tier(100, 101, 99)],
                'c': 3 * [one_tier(50, 51, 49)],
            },
            IOPS_ONLY,
        )
        self.assertEqual(
            [('b', 'cannot tell'), ('c', 'worse')],
            [(each.side, each.finding.value) for each in found.claims],
        )


class BeyondBucketsTestCase(testtools.TestCase):
    """fio counts all above 17.2 s in one bucket."""

    QUESTION = comparison.Question(
        quantities=('p99_ms',), least_difference_percent=5
    )

    def run_of(self, run, longest_ms):
        clat_ms = [min(longest_ms, 2**34 / 1e6 - 2**26 / 1e6)] * 1000
        done = dataclasses.replace(
            results.direction(500, clat_ms, alone=True),
            clat_moments=run_result.Moments(
                mean_ns=1e6 * longest_ms, max_ns=round(1e6 * longest_ms)
            ),
        )
        return dataclasses.replace(
            one_tier(*[500] * 4, clat_ms=clat_ms, directions={'read': done}),
            run=run * 16,
        )

    def finding(self, first_ms, second_ms):
        (claim,) = comparison.runs(
            3 * [self.run_of('a', first_ms)],
            {'': 3 * [self.run_of('b', second_ms)]},
            self.QUESTION,
        ).claims
        return claim.finding, claim.reason

    def test_two_that_are_there_are_not_compared(self):
        finding, reason = self.finding(18_000, 600_000)
        self.assertEqual(comparison.DifferenceFinding.CANNOT_TELL, finding)
        self.assertIn('the longest was 600.0 s', reason)

    def test_one_that_is_there_is_worse(self):
        self.assertEqual(
            comparison.DifferenceFinding.WORSE, self.finding(100, 600_000)[0]
        )
        self.assertEqual(
            comparison.DifferenceFinding.BETTER, self.finding(600_000, 100)[0]
        )


class TiersTestCase(testtools.TestCase):
    """The tiers of one run."""

    def run_of(self, first, second):
        return results.run(
            {'general': {'x': slots(*first)}, 'gold': {'x': slots(*second)}}
        )

    def test_they_are_compared_within_each_repeat(self):
        run = self.run_of((100, 150, 70, 120), (110, 166, 77, 131))
        (claim,) = comparison.tiers_of_run(run, IOPS_ONLY).claims
        self.assertEqual(
            (comparison.DifferenceFinding.BETTER, True, 4),
            (claim.finding, claim.is_paired, claim.repeats),
        )
        self.assertAlmostEqual(10, claim.difference_percent, delta=1)

    def test_a_repeat_that_one_tier_lost_is_left_out_of_both(self):
        run = self.run_of((100, 101, 99), (200, 201, 202))
        broken = results.slot([1.0], clat_ms=MANY_MS, without=1)
        first = run.tiers[0].patterns[0]
        slots_left = (
            dataclasses.replace(broken, repeat=1),
            *first.slots[1:],
        )
        run = dataclasses.replace(
            run,
            tiers=(
                dataclasses.replace(
                    run.tiers[0],
                    patterns=(dataclasses.replace(first, slots=slots_left),),
                ),
                run.tiers[1],
            ),
        )
        (claim,) = comparison.tiers_of_run(run, IOPS_ONLY).claims
        self.assertEqual(2, claim.repeats)
        self.assertAlmostEqual(100, claim.first, delta=0.1)

    def test_the_reference_is_named_or_the_first(self):
        run = self.run_of((100, 101), (200, 201))
        (claim,) = comparison.tiers_of_run(
            run, IOPS_ONLY, reference='gold'
        ).claims
        self.assertEqual('general', claim.second_tier)
        error = self.assertRaises(
            comparison.ComparisonError,
            comparison.tiers_of_run,
            run,
            IOPS_ONLY,
            reference='silver',
        )
        self.assertIn('general, gold: expected silver', str(error))
        for few in (one_tier(1, 1), results.run({})):
            error = self.assertRaises(
                comparison.ComparisonError,
                comparison.tiers_of_run,
                few,
                IOPS_ONLY,
            )
            self.assertIn('two or more, or another result', str(error))

    def test_a_tier_that_was_always_second_is_told(self):
        run = self.run_of((100, 101), (200, 201))
        one, other = 'general', 'gold'
        fixed = turns(run, (one, other), (one, other))
        (told,) = comparison.tiers_of_run(fixed, IOPS_ONLY).circumstances
        self.assertIn('gold ran after general in each repeat', told)
        (told,) = comparison.tiers_of_run(
            dataclasses.replace(fixed, side_by_side=True), IOPS_ONLY
        ).circumstances
        self.assertIn('measured side by side', told)
        changing = turns(run, (one, other), (other, one))
        self.assertEqual(
            (), comparison.tiers_of_run(changing, IOPS_ONLY).circumstances
        )


def mix(reads, writes, *, clat_ms=MANY_MS, more_ms=0):
    """A run of a pattern that reads and writes, with a repeat for each.

    :param reads: their IOPS in each repeat
    :param writes: likewise
    """
    run = results.run(
        {
            'general': {
                'x': [
                    results.slot(
                        [read + write],
                        clat_ms=clat_ms,
                        directions={
                            'read': results.direction(
                                read, clat_ms, more_ms=more_ms
                            ),
                            'write': results.direction(write, clat_ms),
                        },
                    )
                    for read, write in zip(reads, writes, strict=True)
                ]
            }
        }
    )
    (pattern,) = run.profile.patterns
    return dataclasses.replace(
        run,
        profile=dataclasses.replace(
            run.profile, patterns=(dataclasses.replace(pattern, rw='randrw'),)
        ),
    )


class PairsTestCase(testtools.TestCase):
    def pairs(self, *runs):
        return comparison.pairs_of_tiers(
            runs, IOPS_ONLY, patterns={'x'}
        ).claims

    def both(self, general, database, number, **about):
        return dataclasses.replace(
            results.run(
                {
                    'general': {'x': slots(*general)},
                    'database': {'x': slots(*database, **about)},
                }
            ),
            run=f'{number:016x}',
        )

    def test_runs_are_the_observations(self):
        (claim,) = self.pairs(
            *(
                self.both((each, each), (2 * each, 2.1 * each), each)
                for each in (100, 150, 90)
            )
        )
        self.assertEqual(comparison.DifferenceFinding.BETTER, claim.finding)
        self.assertIn('paired t within runs, 3 runs', claim.reason)

    def test_a_run_that_a_tier_lost_is_not_passed_over(self):
        (claim,) = self.pairs(
            self.both((100, 101), (200, 202), 1),
            self.both((100, 101), (200, 202), 2),
            self.both((100, 101), (200, 202), 3, without=1),
        )
        self.assertEqual(
            comparison.DifferenceFinding.NOT_COMPARED, claim.finding
        )
        self.assertIn('run 0000000000000003 has no repeat', claim.reason)


class DirectionsTestCase(testtools.TestCase):
    """Reads and writes of a mixed pattern apart."""

    def compare(self, first, second, *quantities):
        return comparison.runs(
            3 * [first],
            {'': 3 * [second]},
            comparison.Question(quantities=quantities),
        )

    def test_reads_may_be_better_and_writes_worse(self):
        found = self.compare(
            mix((100, 101, 99), (200, 202, 198)),
            mix((200, 202, 198), (100, 101, 99)),
            'iops',
            'read_iops',
            'write_iops',
        )
        self.assertEqual(
            {
                'iops': 'cannot tell',
                'read_iops': 'better',
                'write_iops': 'worse',
            },
            {each.quantity: each.finding.value for each in found.claims},
        )
        self.assertIn('3 claims', found.claims[1].reason)

    def test_directions_are_claims_that_are_corrected_for_each_other(self):
        first = mix((100, 101, 99), (100, 101, 99))
        second = mix((104, 106, 103), (104, 106, 103))
        (alone,) = self.compare(first, second, 'read_iops').claims
        both = self.compare(first, second, 'read_iops', 'write_iops').claims
        self.assertAlmostEqual(2 * alone.probability, both[0].probability)

    def test_total_latency_differs_where_completion_latency_does_not(self):
        first = mix((9, 9, 9), (9, 9, 9))
        second = mix((9, 9, 9), (9, 9, 9), more_ms=3)
        found = self.compare(
            first,
            second,
            'mean_ms',
            'read_mean_ms',
            'read_lat_mean_ms',
            'write_lat_mean_ms',
            'lat_longest_ms',
        )
        self.assertEqual(
            ['cannot tell', 'cannot tell', 'worse', 'cannot tell', 'worse'],
            [each.finding.value for each in found.claims],
        )

    def test_too_few_writes_tell_nothing_of_them(self):
        run = mix((9, 9), (1, 1), clat_ms=(1,) * 150)
        (reads, writes) = self.compare(
            run, run, 'read_p50_ms', 'write_p95_ms'
        ).claims
        self.assertIsNotNone(reads.difference_percent)
        self.assertEqual(
            comparison.DifferenceFinding.CANNOT_TELL, writes.finding
        )
        self.assertIn('expected at least 200 writes', writes.reason)

    def test_a_repeat_in_which_nothing_was_written_tells_nothing(self):
        run = mix((9, 9), (9, 9))
        idle = one_tier(9, 9)
        (slot, *rest) = run.tiers[0].patterns[0].slots
        merged = dataclasses.replace(
            slot.merged,
            directions={'read': slot.merged.directions['read']},
        )
        pattern = dataclasses.replace(
            idle.tiers[0].patterns[0],
            slots=(dataclasses.replace(slot, merged=merged), *rest),
        )
        idle = dataclasses.replace(
            run,
            tiers=(dataclasses.replace(idle.tiers[0], patterns=(pattern,)),),
        )
        found = self.compare(run, idle, 'write_iops', 'write_p50_ms')
        self.assertEqual(
            {
                (
                    'cannot tell',
                    'second: in a repeat nothing was written',
                )
            },
            {(each.finding.value, each.reason) for each in found.claims},
        )

    def test_an_older_file_is_not_compared_by_direction(self):
        old = mix((9, 9, 9), (9, 9, 9))
        old = dataclasses.replace(old, tiers=one_tier(18, 18, 18).tiers)
        found = self.compare(
            mix((9, 9, 9), (9, 9, 9)), old, 'iops', 'write_iops', 'lat_mean_ms'
        )
        self.assertEqual(
            ['cannot tell', 'not compared', 'not compared'],
            [each.finding.value for each in found.claims],
        )
        self.assertIn(
            'does not tell reads from writes', found.claims[1].reason
        )

    def test_a_pattern_that_only_reads_has_no_claim_of_writes(self):
        run = one_tier(100, 101)
        found = self.compare(run, run, 'iops', 'write_iops')
        self.assertEqual(['iops'], [each.quantity for each in found.claims])
        error = self.assertRaises(
            comparison.ComparisonError, self.compare, run, run, 'write_iops'
        )
        self.assertIn('no pattern has write_iops', str(error))

    def test_tiers_are_compared_by_direction_within_each_repeat(self):
        one = mix((100, 150, 70), (50, 75, 35))
        other = mix((110, 166, 77), (50, 75, 35))
        run = dataclasses.replace(
            one,
            tiers=(
                one.tiers[0],
                dataclasses.replace(other.tiers[0], tier='gold'),
            ),
        )
        found = comparison.tiers_of_run(
            run,
            comparison.Question(quantities=('read_iops', 'write_iops')),
        )
        self.assertEqual(
            ['better', 'cannot tell'],
            [each.finding.value for each in found.claims],
        )


class TreatmentsTestCase(testtools.TestCase):
    def claims(self, gains):
        """Of a sweep: whether anything is found to have an effect."""
        default, *others = numpy.exp(
            numpy.concatenate([0 * gains[:, :1], gains], axis=1).T[0]
        )
        found = comparison.treatments(
            {
                block: one_tier(100 * iops)
                for block, iops in enumerate(default.tolist())
            },
            [
                comparison.SweptTreatment(
                    name=str(number),
                    runs={
                        block: one_tier(100 * iops)
                        for block, iops in enumerate(values.tolist())
                    },
                )
                for number, values in enumerate(others)
            ],
            IOPS_ONLY,
        )
        return any(
            claim.finding
            in (
                comparison.DifferenceFinding.BETTER,
                comparison.DifferenceFinding.WORSE,
            )
            for claim in found.claims
        )

    def test_options_that_do_nothing_seldom_have_an_effect(self):
        draw = numpy.random.default_rng(5)
        for noise in (
            'AR(1)',
            'bimodal',
            'half and half',
            'of one side',
            'of some',
        ):
            for size in protocols.SWEEPS:
                gains = protocols.sweeps(draw, noise, *size, 300)
                # Three standard deviations more than 5 % of them.
                self.assertLessEqual(
                    protocols.have_effects(gains).sum(), 26, (noise, size)
                )

    def test_as_the_simulation_has_it(self):
        draw = numpy.random.default_rng(6)
        seen = set()
        for noise, options, blocks, change in (
            ('5 %', 1, 3, 0.2),
            ('5 %', 4, 4, 0.5),
            ('of some', 8, 3, 0.5),
            ('of some', 8, 4, 0.1),
        ):
            gains = protocols.sweeps(draw, noise, options, blocks, 8)
            gains[:, :, 0] += change
            for sweep in gains[..., :1]:
                found = self.claims(sweep)
                self.assertEqual(protocols.have_effects(sweep[None])[0], found)
                seen.add(found)
        self.assertEqual({False, True}, seen)

    def test_two_blocks_show_nothing(self):
        gains = numpy.array([[[1.0]], [[1.0]]])
        self.assertFalse(self.claims(gains))


class QuestionTestCase(testtools.TestCase):
    def test_all_that_is_wrong_is_said_at_once(self):
        error = self.assertRaises(
            comparison.ComparisonError,
            comparison.Question,
            quantities=('iops', 'speed', 'fairness'),
            least_difference_percent=100,
            wanted_difference_percent=float('nan'),
        )
        for each in ("'speed'", "'fairness'", '100 %', 'nan %'):
            self.assertIn(each, str(error))
