# SPDX-License-Identifier: Apache-2.0

import dataclasses

import math

import ddt
from hypothesis import given
from hypothesis import strategies
import numpy as np
import testtools

from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.sla import judgement
from cinder_tiers.figures.stats import intervals
import tests
from tests.unit.figures import results

Outcome = judgement.CriterionOutcome
VALUES = strategies.lists(strategies.floats(1, 10**6), min_size=1, max_size=6)
BOUNDS = strategies.floats(0.5, 2 * 10**6)


def of_iops(*by_repeat, **more):
    """A run of one tier, with the IOPS of its one guest in each repeat."""
    return results.run(
        {'fast': {'4k': [results.slot([iops], **more) for iops in by_repeat]}}
    )


def judge(result, **limits):
    """Outcomes and texts of limits of the pattern 4k of the tier fast."""
    found = judgement.judge(
        result, judgement.Criteria(required={'fast': {'4k': limits}})
    )
    return [one.outcome for one in found], [one.text for one in found]


@ddt.ddt
class LimitTest(testtools.TestCase):
    @ddt.data(
        ('iops_min', 500, Outcome.HELD),
        ('iops_min', 500.1, Outcome.BROKEN),
        ('iops_max', 500, Outcome.HELD),
        ('iops_max', 499.9, Outcome.BROKEN),
        ('mib_per_s_min', 1, Outcome.HELD),
        ('mib_per_s_min', 1.1, Outcome.BROKEN),
        ('p50_ms_max', 2, Outcome.HELD),
        ('p50_ms_max', 1.9, Outcome.BROKEN),
        ('p75_ms_max', 3.9, Outcome.BROKEN),
        ('p74.9_ms_max', 4, Outcome.HELD),
        ('mean_ms_max', 2.75, Outcome.HELD),
        ('mean_ms_max', 2.74, Outcome.BROKEN),
        ('guest_iops_min', 200, Outcome.HELD),
        ('guest_iops_min', 201, Outcome.BROKEN),
        ('guest_iops_max', 300, Outcome.HELD),
        ('guest_iops_max', 299, Outcome.BROKEN),
        ('fairness_min', 0.96, Outcome.HELD),
        ('fairness_min', 0.97, Outcome.BROKEN),
    )
    @ddt.unpack
    def test_one_repeat_is_judged_by_its_value(self, name, bound, expected):
        found = results.run(
            {
                'fast': {
                    '4k': [
                        results.slot([200, 300], clat_ms=2500 * (1, 2, 4, 4))
                    ]
                }
            }
        )
        self.assertEqual([expected], judge(found, **{name: bound})[0])

    def test_a_guest_without_iops_is_not_measured(self):
        """A file may say that it is complete all the same."""
        slot = results.slot([200, 300])
        odd = dataclasses.replace(slot.guests[0], iops=None)
        slot = dataclasses.replace(slot, guests=(odd, *slot.guests[1:]))
        outcomes, (text,) = judge(
            results.run({'fast': {'4k': [slot]}}), guest_iops_min=100
        )
        self.assertEqual([Outcome.NOT_MEASURED], outcomes)
        self.assertIn('does not have the IOPS of each guest', text)

    @ddt.data(
        # fio's own mean, of which no bucket has the end.
        ('mean_ms_max', 2000, Outcome.BROKEN),
        ('mean_ms_max', 6100, Outcome.HELD),
        ('p50_ms_max', 2, Outcome.HELD),
        # 17.1 s or more.
        ('p95_ms_max', 16900, Outcome.BROKEN),
        ('p95_ms_max', 18000, Outcome.CANNOT_TELL),
        ('p95_ms_max', 60000, Outcome.CANNOT_TELL),
        ('read_p95_ms_max', 18000, Outcome.CANNOT_TELL),
    )
    @ddt.unpack
    def test_what_is_longer_than_the_buckets_of_fio(
        self, name, bound, expected
    ):
        """A tenth of the I/Os takes a minute: fio says 17.1 s of these."""
        clat_ms = [1] * 9000 + [2**34 / 1e6 - 2**26 / 1e6] * 1000
        reads = dataclasses.replace(
            results.direction(500, clat_ms, alone=True),
            clat_moments=run_result.Moments(
                mean_ns=6001e6, max_ns=60_000_000_000
            ),
        )
        found = results.run(
            {
                'fast': {
                    '4k': [
                        results.slot(
                            [500], clat_ms=clat_ms, directions={'read': reads}
                        )
                    ]
                    * 3
                }
            }
        )
        outcomes, (text,) = judge(found, **{name: bound})
        self.assertEqual([expected], outcomes, text)
        if name.startswith(('p95', 'read_p95')):
            self.assertIn('the longest was 60.0 s', text)

    @ddt.data(
        ('write_iops_min', 100, Outcome.BROKEN),
        ('write_mib_per_s_min', 100, Outcome.BROKEN),
        ('write_iops_min', 0.01, Outcome.CANNOT_TELL),
        ('write_iops_max', 0.09, Outcome.CANNOT_TELL),
        ('write_mean_ms_max', 0.5, Outcome.CANNOT_TELL),
    )
    @ddt.unpack
    def test_that_hardly_anything_was_written_is_no_doubt_of_too_little(
        self, name, bound, expected
    ):
        found = results.run(
            {
                'fast': {
                    '4k': [
                        results.slot(
                            [1000],
                            clat_ms=[1] * 10000,
                            directions={
                                'read': results.direction(1000, [1] * 9995),
                                'write': results.direction(0.1, [1] * 5),
                            },
                        )
                    ]
                    * 3
                }
            }
        )
        self.assertEqual([expected], judge(found, **{name: bound})[0])

    def of_seconds(self, *by_repeat):
        """A run with the IOPS of all guests in each second."""
        return results.run(
            {
                'fast': {
                    '4k': [
                        dataclasses.replace(
                            results.slot([500]),
                            series=tuple(
                                (1000 * at, iops)
                                for at, iops in enumerate(seconds)
                            ),
                        )
                        for seconds in by_repeat
                    ]
                }
            }
        )

    @ddt.data(
        # One second of 100 may be below.
        ([500] * 99 + [10], 450, Outcome.HELD),
        ([500] * 98 + [10] * 2, 450, Outcome.BROKEN),
        ([500] * 98 + [10] * 2, 10, Outcome.HELD),
        ([449] * 100, 450, Outcome.BROKEN),
        # Two of 299 are less than 1 %, three are not.
        ([10] * 2 + [500] * 297, 450, Outcome.HELD),
        ([10] * 3 + [500] * 296, 450, Outcome.BROKEN),
        # Of 99 s, none may be left out.
        ([500] * 99, 450, Outcome.CANNOT_TELL),
        ([], 450, Outcome.NOT_MEASURED),
    )
    @ddt.unpack
    def test_iops_of_a_share_of_the_seconds(self, seconds, bound, expected):
        outcomes, _texts = judge(
            self.of_seconds(seconds), iops_99_percent_of_time_min=bound
        )
        self.assertEqual([expected], outcomes)

    def test_a_share_of_the_seconds_has_an_interval_over_repeats(self):
        outcomes, (text,) = judge(
            self.of_seconds([500] * 100, [400] * 100, [450] * 100),
            iops_99_percent_of_time_min=449,
        )
        self.assertEqual([Outcome.CANNOT_TELL], outcomes)
        self.assertIn('all guests in 99 % of the seconds 450 IOPS (95', text)
        _outcomes, (text,) = judge(
            self.of_seconds([500] * 60), iops_99_percent_of_time_min=1
        )
        self.assertIn('a repeat has 60 s', text)
        self.assertIn('expected at least 100 s', text)

    def test_the_text_has_tier_pattern_value_and_limit(self):
        self.assertEqual(
            [
                'fast 4k: p99 2 ms (one repeat, no interval), at most 50 ms',
                'fast 4k: all guests 500 IOPS (one repeat, no interval),'
                ' at least 600 IOPS',
                'fast 4k: fairness (Jain) 1 (one repeat, no interval),'
                ' at least 0.9',
            ],
            judge(
                of_iops(500, clat_ms=[1, 2] * 500),
                p99_ms_max=50,
                iops_min=600,
                fairness_min=0.9,
            )[1],
        )

    def test_an_interval_that_spans_the_limit_cannot_tell(self):
        """Of 490, 500, 510 it is 475.2 to 524.8."""
        run = of_iops(490, 500, 510)
        self.assertEqual(
            (
                [Outcome.CANNOT_TELL],
                [
                    'fast 4k: all guests 500 IOPS (95 % from 475.159 to '
                    '524.841,'
                    " Student's t over 3 repeats), at least 480 IOPS"
                ],
            ),
            judge(run, iops_min=480),
        )
        self.assertEqual([Outcome.HELD], judge(run, iops_min=475)[0])
        self.assertEqual([Outcome.BROKEN], judge(run, iops_min=525)[0])
        self.assertEqual([Outcome.HELD], judge(run, iops_max=525)[0])

    def test_what_cannot_be_told_passes_only_if_that_was_asked_for(self):
        (found,) = judgement.judge(
            of_iops(490, 510),
            judgement.Criteria(required={'fast': {'4k': {'iops_min': 500}}}),
        )
        self.assertEqual(
            (False, True),
            (
                found.passes(unsure_passes=False),
                found.passes(unsure_passes=True),
            ),
        )

    def test_a_repeat_without_all_guests_is_not_counted_but_told(self):
        run = results.run(
            {
                'fast': {
                    '4k': [results.slot([500]), results.slot([900], without=1)]
                }
            }
        )
        self.assertEqual(
            (
                [Outcome.HELD],
                [
                    'fast 4k: all guests 500 IOPS (one repeat, no interval, '
                    '1 more'
                    ' without all guests), at least 400 IOPS'
                ],
            ),
            judge(run, iops_min=400),
        )

    @ddt.data(
        ([results.slot([500], without=1)], '0 of 1 repeats have all guests,'),
        ([results.slot([])], '0 of 1 repeats have all guests,'),
        (
            [results.slot([9]), results.slot([0, 0])],
            '2 of 2 repeats have all guests, and in a repeat no I/O was done,',
        ),
    )
    @ddt.unpack
    def test_without_a_figure_nothing_is_held(self, slots, told):
        run = results.run({'fast': {'4k': slots}})
        (found,) = judgement.judge(
            run,
            judgement.Criteria(
                required={'fast': {'4k': {'fairness_min': 0.1}}}
            ),
        )
        self.assertEqual(Outcome.NOT_MEASURED, found.outcome)
        self.assertIn(told, found.text)
        self.assertIs(False, found.passes(unsure_passes=True))

    @given(VALUES, BOUNDS, BOUNDS)
    def test_who_holds_a_limit_holds_every_lower_one(self, values, one, other):
        low, high = sorted((one, other))
        ranks = {Outcome.HELD: 2, Outcome.CANNOT_TELL: 1, Outcome.BROKEN: 0}
        (at_low,), (at_high,) = (
            judge(of_iops(*values), iops_min=bound)[0] for bound in (low, high)
        )
        self.assertGreaterEqual(ranks[at_low], ranks[at_high])

    @given(VALUES, BOUNDS)
    def test_a_least_and_a_most_never_both_break(self, values, bound):
        outcomes, _texts = judge(
            of_iops(*values), iops_min=bound, iops_max=bound
        )
        self.assertNotEqual([Outcome.BROKEN] * 2, outcomes)
        interval = intervals.estimate_mean(values)
        self.assertEqual(
            interval.low is not None and interval.low < bound < interval.high,
            outcomes == [Outcome.CANNOT_TELL] * 2,
        )


def mixed(*repeats):
    """A run of one tier that reads and writes.

    :param repeats: (directions as in ``results.slot``) of each
    """
    return results.run(
        {'fast': {'4k': [results.slot([1], directions=d) for d in repeats]}}
    )


@ddt.ddt
class SyncTest(testtools.TestCase):
    def judge_syncs(self, name, bound, syncs_ms):
        slot = results.slot([100.0])
        syncs = syncs_ms and run_result.SyncFigures(
            lat=run_result.latencies(results._histogram(syncs_ms)),
            moments=run_result.Moments(
                mean_ns=1e6 * sum(syncs_ms) / len(syncs_ms),
                max_ns=max(syncs_ms) * 10**6,
            ),
        )
        merged = dataclasses.replace(slot.merged, syncs=syncs or None)
        slot = dataclasses.replace(slot, merged=merged)
        [outcome], [text] = judge(
            results.run({'fast': {'4k': [slot]}}), **{name: bound}
        )
        return outcome, text

    @ddt.data(
        ('sync_p50_ms_max', 10, Outcome.HELD),
        ('sync_p99_ms_max', 10, Outcome.BROKEN),
        ('sync_mean_ms_max', 4, Outcome.HELD),
        ('sync_mean_ms_max', 3.7, Outcome.BROKEN),
    )
    @ddt.unpack
    def test_two_percent_of_slow_calls_break_p99_alone(
        self, name, bound, expected
    ):
        outcome, text = self.judge_syncs(name, bound, [3] * 1960 + [40] * 40)
        self.assertEqual(expected, outcome, text)
        self.assertIn(' of syncs ', text)

    def test_few_syncs_tell_no_percentile(self):
        outcome, text = self.judge_syncs('sync_p99_ms_max', 10, [3] * 99)
        self.assertEqual(Outcome.CANNOT_TELL, outcome)
        self.assertIn('expected at least 1000 syncs', text)

    def test_a_result_without_syncs_says_what_to_measure(self):
        outcome, text = self.judge_syncs('sync_p99_ms_max', 10, [])
        self.assertEqual(Outcome.NOT_MEASURED, outcome)
        self.assertIn('a pattern with fdatasync or fsync', text)


@ddt.ddt
class DirectionTest(testtools.TestCase):
    """Ten reads of 1 to 10 ms, and a hundred writes of 40 ms."""

    MIX = {
        'read': results.direction(30, range(1, 11), more_ms=1),
        'write': results.direction(270, [40] * 100, bw_bytes=2**21),
    }

    @ddt.data(
        ('read_iops_min', 30, Outcome.HELD),
        ('read_iops_min', 31, Outcome.BROKEN),
        ('write_iops_max', 270, Outcome.HELD),
        ('write_iops_max', 269, Outcome.BROKEN),
        ('read_mib_per_s_min', 1, Outcome.HELD),
        ('write_mib_per_s_min', 2.1, Outcome.BROKEN),
        # fio's buckets are within 0.8 %.
        ('read_mean_ms_max', 5.55, Outcome.HELD),
        ('read_mean_ms_max', 5.4, Outcome.BROKEN),
        ('write_p50_ms_max', 40.4, Outcome.HELD),
        ('write_p50_ms_max', 39.6, Outcome.BROKEN),
        # What fio sums up, not from buckets.
        ('read_lat_mean_ms_max', 6.5, Outcome.HELD),
        ('read_lat_mean_ms_max', 6.49, Outcome.BROKEN),
        ('read_lat_longest_ms_max', 11, Outcome.HELD),
        ('read_lat_longest_ms_max', 10.9, Outcome.BROKEN),
        # Of both: each I/O counts the same, whatever it was.
        ('lat_mean_ms_max', (65 + 4000) / 110, Outcome.HELD),
        ('lat_mean_ms_max', 36, Outcome.BROKEN),
        ('lat_longest_ms_max', 40, Outcome.HELD),
        ('lat_longest_ms_max', 39, Outcome.BROKEN),
    )
    @ddt.unpack
    def test_limits_of_one_direction(self, name, bound, expected):
        outcomes, texts = judge(mixed(self.MIX), **{name: bound})
        self.assertEqual([expected], outcomes, texts)

    def test_the_text_says_whose_latency_it_is(self):
        _outcomes, texts = judge(
            mixed(self.MIX), read_lat_mean_ms_max=7, write_iops_min=200
        )
        self.assertEqual(
            [
                'fast 4k: mean total latency of reads 6.5 ms (one repeat, no'
                ' interval), at most 7 ms',
                'fast 4k: all guests of writes 270 IOPS (one repeat, no'
                ' interval), at least 200 IOPS',
            ],
            texts,
        )

    def test_the_only_direction_has_the_latencies_of_all(self):
        run = results.run(
            {
                'fast': {
                    '4k': [
                        results.slot(
                            [9],
                            clat_ms=[8] * 50,
                            directions={
                                'write': results.direction(
                                    9, [8] * 50, alone=True
                                )
                            },
                        )
                    ]
                }
            }
        )
        for name in ('write_p50_ms_max', 'p50_ms_max', 'write_mean_ms_max'):
            self.assertEqual([Outcome.HELD], judge(run, **{name: 8.1})[0])
            self.assertEqual([Outcome.BROKEN], judge(run, **{name: 7.9})[0])

    def test_too_few_reads_of_a_mix_tell_nothing(self):
        few = {**self.MIX, 'read': results.direction(3, range(1, 10))}
        for name, expected in (
            ('read_iops_min', '9 reads: expected at least 10'),
            ('read_mean_ms_max', '9 reads: expected at least 10'),
            ('read_p50_ms_max', 'expected at least 20 reads'),
            ('write_p95_ms_max', '5 are above p95: expected at least 200 w'),
        ):
            outcomes, (text,) = judge(mixed(self.MIX, few), **{name: 1})
            self.assertEqual([Outcome.CANNOT_TELL], outcomes, name)
            self.assertIn(expected, text)
        self.assertEqual([Outcome.HELD], judge(mixed(few), iops_min=1)[0])

    def test_a_file_that_does_not_tell_directions_holds_nothing(self):
        for name in ('read_iops_min', 'lat_mean_ms_max'):
            outcomes, (text,) = judge(mixed(None), **{name: 1})
            self.assertEqual([Outcome.NOT_MEASURED], outcomes)
            self.assertIn('does not tell reads from writes', text)

    def test_a_repeat_in_which_nothing_was_read_has_no_latency(self):
        run = mixed(self.MIX, {'write': self.MIX['write']})
        outcomes, (text,) = judge(run, read_mean_ms_max=99)
        self.assertEqual([Outcome.NOT_MEASURED], outcomes)
        self.assertIn('in a repeat nothing was read', text)

    def test_tiers_have_an_order_for_reads_and_another_for_writes(self):
        def tier(read_iops, write_iops):
            return {
                'mix': [
                    results.slot(
                        [1],
                        directions={
                            'read': results.direction(
                                read_iops + each, range(1, 20)
                            ),
                            'write': results.direction(
                                write_iops + each, range(1, 20)
                            ),
                        },
                    )
                    for each in (0, 1, 2)
                ]
            }

        run = results.run({'a': tier(100, 300), 'b': tier(200, 100)})
        found = judgement.judge(
            run,
            judgement.Criteria(
                order=(
                    judgement.ExpectedOrder(
                        patterns=('mix',),
                        by='iops',
                        direction='write',
                        tiers=('a', 'b'),
                    ),
                    judgement.ExpectedOrder(
                        patterns=('mix',), by='read_iops', tiers=('a', 'b')
                    ),
                )
            ),
        )
        self.assertEqual(
            [
                ('mix: a before b by write_iops: 301 IOPS', Outcome.HELD),
                ('mix: a before b by read_iops: 101 IOPS', Outcome.BROKEN),
            ],
            [(one.text.partition(' and ')[0], one.outcome) for one in found],
        )
        self.assertIn('as one of 2 claims', found[0].text)


class NotRunTest(testtools.TestCase):
    def in_catalog(self, **patterns):
        return judgement.judge(
            of_iops(500), judgement.Criteria(in_catalog={'fast': patterns})
        )

    def test_what_the_task_asks_for_must_have_run(self):
        found = judgement.judge(
            of_iops(5),
            judgement.Criteria(
                required={
                    'fast': {'1m': {'iops_min': 5}},
                    'slow': {'4k': {'p99_ms_max': 5}},
                }
            ),
        )
        self.assertEqual(
            [
                'fast 1m: iops_min 5: the run had only 4k: not measured',
                'slow 4k: p99_ms_max 5: the run had only fast: not measured',
            ],
            [str(one) for one in found],
        )

    def test_of_a_catalog_some_is_enough(self):
        found = self.in_catalog(
            **{'4k': {'iops_min': 5}, '1m': {'iops_min': 5}}
        )
        self.assertEqual(
            [Outcome.HELD, Outcome.NOT_RUN], [one.outcome for one in found]
        )
        self.assertEqual(
            [True, True], [one.passes(unsure_passes=False) for one in found]
        )

    def test_of_a_catalog_nothing_is_not_enough(self):
        for patterns, told in (
            ({'1m': {'iops_min': 5}}, 'fast 1m'),
            ({}, 'nothing'),
        ):
            (found,) = self.in_catalog(**patterns)
            self.assertEqual(Outcome.NOT_MEASURED, found.outcome)
            self.assertIn(f'it has expectations for {told}', found.text)


@ddt.ddt
class OrderTest(testtools.TestCase):
    @ddt.data(
        # ms of the better and of the worse; 17,112 stands for that or more
        (10, None, Outcome.HELD),
        (16000, None, Outcome.CANNOT_TELL),
        (None, 10, Outcome.BROKEN),
        (None, None, Outcome.CANNOT_TELL),
    )
    @ddt.unpack
    def test_what_is_longer_than_the_buckets_of_fio(
        self, better, worse, expected
    ):
        def repeat(ms):
            clat_ms = [ms or 2**34 / 1e6 - 2**26 / 1e6] * 1000
            done = results.direction(500, clat_ms, alone=True)
            if ms is None:
                done = dataclasses.replace(
                    done,
                    clat_moments=run_result.Moments(
                        mean_ns=30e9, max_ns=60_000_000_000
                    ),
                )
            return results.slot(
                [500], clat_ms=clat_ms, directions={'read': done}
            )

        (found,) = self.order(
            [repeat(better)] * 4,
            [repeat(worse)] * 4,
            by='p99_ms',
            at_least_percent=50,
        )
        self.assertEqual(expected, found.outcome, found.text)

    def test_an_order_has_one_direction(self):
        error = self.assertRaises(
            ValueError,
            judgement.ExpectedOrder,
            patterns=('4k',),
            tiers=('a', 'b'),
            by='read_p99_ms',
            direction='write',
        )
        self.assertIn('expected direction read, or leave it out', str(error))
        for by, direction in (
            ('read_p99_ms', 'read'),
            ('read_p99_ms', None),
            ('p99_ms', 'read'),
        ):
            judged = judgement.ExpectedOrder(
                patterns=('4k',),
                tiers=('a', 'b'),
                by=by,
                direction=direction,
            )
            self.assertEqual('read_p99_ms', judged.quantity)

    def order(self, *by_tier, by='iops', **asked):
        """Outcomes of tiers called a, b and so on, in this order."""
        names = 'abcdefghi'[: len(by_tier)]
        run = results.run(
            {
                name: {
                    '4k': [
                        slot
                        if not isinstance(slot, int | float)
                        else results.slot([slot], clat_ms=2000 * [slot])
                        for slot in slots
                    ]
                }
                for name, slots in zip(names, by_tier, strict=True)
            }
        )
        return judgement.judge(
            run,
            judgement.Criteria(
                order=(
                    judgement.ExpectedOrder(
                        patterns=('4k',),
                        by=by,
                        tiers=tuple(names),
                        **asked,
                    ),
                )
            ),
        )

    @ddt.data(
        ('iops', [9], [5], Outcome.CANNOT_TELL),
        ('p99_ms', [5], [9], Outcome.CANNOT_TELL),
        ('iops', [5, 5], [5, 5], Outcome.CANNOT_TELL),
        ('mean_ms', [90, 91, 90], [50, 51, 50], Outcome.BROKEN),
        # Each repeat had its own load, which both felt.
        ('iops', [40, 90, 60], [30, 68, 45], Outcome.HELD),
        # No difference within one of fio's buckets is any.
        ('p99_ms', [50.1, 50.1], [50, 50], Outcome.CANNOT_TELL),
        ('iops', [90, 91, 90], [50, 51, 50], Outcome.HELD),
        ('iops', [50, 51, 50], [90, 91, 90], Outcome.BROKEN),
        ('p99_ms', [50, 51, 50], [90, 91, 90], Outcome.HELD),
        ('iops', [40, 90], [50, 60], Outcome.CANNOT_TELL),
    )
    @ddt.unpack
    def test_neighbours_are_compared(self, by, first, second, expected):
        (found,) = self.order(first, second, by=by)
        self.assertEqual(expected, found.outcome, found.text)

    def test_each_two_neighbours_have_a_text(self):
        self.assertEqual(
            [
                '4k: a before b by iops: 9 IOPS and 7 IOPS: 1 repeats with all'
                ' guests of both, expected at least 3: cannot tell',
                '4k: b before c by iops: 7 IOPS and 8 IOPS: 1 repeats with all'
                ' guests of both, expected at least 3: cannot tell',
            ],
            [str(one) for one in self.order([9], [7], [8])],
        )
        found = [
            str(one)
            for one in self.order([90, 91, 92], [70, 71, 72], [80, 60, 70])
        ]
        self.assertIn('over 3 repeats, p 0.0', found[0])
        self.assertIn('as one of 2 claims: held', found[0])
        self.assertIn('; to see 10 %, ', found[1])

    def test_of_equal_tiers_few_are_claimed_to_differ(self):
        """Eight pairs of each run, which are one family of claims."""
        generator = np.random.default_rng(21)
        claimed, runs = 0, tests.draws(240)
        for _run in range(runs):
            tiers = generator.normal(100, 5, size=(9, 5)).tolist()
            claimed += any(
                one.outcome is not Outcome.CANNOT_TELL
                for one in self.order(*tiers)
            )
        # 5 % are expected, and three standard deviations more are allowed.
        most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
        self.assertLessEqual(claimed / runs, most)

    def test_a_difference_is_found_whatever_a_repeat_has_in_common(self):
        generator = np.random.default_rng(22)
        found = 0
        for _run in range(100):
            common = generator.normal(0, 15, size=5)
            first, second = (
                (mean + common + generator.normal(0, 2, size=5)).tolist()
                for mean in (110, 100)
            )
            (one,) = self.order(first, second)
            found += one.outcome is Outcome.HELD
        self.assertGreaterEqual(found, 80)

    def test_a_percentile_of_few_ios_is_no_evidence(self):
        slots = [results.slot([5], clat_ms=[1] * 75) for _repeat in '123']
        run = results.run({'fast': {'4k': slots}, 'slow': {'4k': slots}})
        found = judgement.judge(
            run,
            judgement.Criteria(
                required={'fast': {'4k': {'p99.9_ms_max': 50}}},
                order=(
                    judgement.ExpectedOrder(
                        patterns=('4k',), by='p99.9_ms', tiers=('fast', 'slow')
                    ),
                ),
            ),
        )
        for one in found:
            self.assertEqual(Outcome.CANNOT_TELL, one.outcome)
            self.assertIn('expected at least 10000 I/Os', one.text)

    def test_a_limit_within_the_bucket_of_all_repeats_cannot_be_told(self):
        slots = [results.slot([5], clat_ms=[2] * 2000) for _repeat in '123']
        run = results.run({'fast': {'4k': slots}})
        for bound, outcome in (
            (1.9, Outcome.BROKEN),
            (1.999, Outcome.CANNOT_TELL),
            (2.001, Outcome.CANNOT_TELL),
            (2.1, Outcome.HELD),
        ):
            self.assertEqual([outcome], judge(run, p99_ms_max=bound)[0])

    def test_a_tier_without_figures_has_no_place(self):
        (found,) = self.order([9], [results.slot([5], without=1)])
        self.assertEqual(Outcome.NOT_MEASURED, found.outcome)
        self.assertIn('b: no repeat has all guests', found.text)

    def test_a_tier_that_did_not_run_has_none_either(self):
        (found,) = judgement.judge(
            of_iops(5),
            judgement.Criteria(
                order=(
                    judgement.ExpectedOrder(
                        patterns=('4k',), by='iops', tiers=('fast', 'slow')
                    ),
                )
            ),
        )
        self.assertEqual(Outcome.NOT_MEASURED, found.outcome)
        self.assertIn('slow: the run had only fast', found.text)

    @ddt.data(
        ('fairness', ('a', 'b')),
        ('guest_iops', ('a', 'b')),
        ('p100_ms', ('a', 'b')),
        ('iops', ('a',)),
        ('iops', ('a', 'a')),
        ('iops_min', ('a', 'b')),
    )
    @ddt.unpack
    def test_what_cannot_be_ordered_is_refused(self, by, tiers):
        self.assertRaises(
            ValueError,
            judgement.ExpectedOrder,
            patterns=('4k',),
            by=by,
            tiers=tiers,
        )

    @ddt.data(
        (('a',), ('4k', '4k'), 'patterns 4k, 4k: expected each once'),
        (('a', 'b'), ('4k', '1m'), 'an order of 2 tiers and 2 patterns'),
        (('a',), ('4k',), 'an order of 1 tiers and 1 patterns'),
        ((), ('4k', '1m'), 'an order of 0 tiers'),
    )
    @ddt.unpack
    def test_either_tiers_or_patterns_have_an_order(
        self, tiers, patterns, told
    ):
        error = self.assertRaises(
            ValueError,
            judgement.ExpectedOrder,
            patterns=patterns,
            by='iops',
            tiers=tiers,
        )
        self.assertIn(told, str(error))

    @ddt.data(
        # Twice as much, in each repeat nearly so.
        ('iops', [200, 203, 199], [100, 101, 100], 50, Outcome.HELD),
        ('iops', [200, 203, 199], [100, 101, 100], 150, Outcome.BROKEN),
        ('iops', [200, 203, 199], [100, 101, 100], 100, Outcome.CANNOT_TELL),
        # Better, but by less than is asked.
        ('iops', [110, 111, 109], [100, 101, 100], 50, Outcome.BROKEN),
        # The wrong way round is no less broken.
        ('iops', [100, 101, 100], [200, 203, 199], 50, Outcome.BROKEN),
        ('mean_ms', [50, 51, 50], [100, 101, 99], 50, Outcome.HELD),
        ('mean_ms', [50, 51, 50], [60, 61, 60], 50, Outcome.BROKEN),
    )
    @ddt.unpack
    def test_an_order_may_ask_by_how_much(
        self, by, first, second, percent, expected
    ):
        (found,) = self.order(first, second, by=by, at_least_percent=percent)
        self.assertEqual(expected, found.outcome, found.text)
        self.assertIn(f'before b by {by}, at least {percent} %: ', found.text)

    def test_a_factor_that_is_just_kept_is_seldom_claimed_either_way(self):
        generator = np.random.default_rng(23)
        claimed = 0
        for _run in range(200):
            common = generator.normal(0, 0.3, size=5)
            first, second = (
                (
                    100 * np.exp(common + generator.normal(0, 0.05, 5) + more)
                ).tolist()
                for more in (np.log(1.5), 0)
            )
            (found,) = self.order(first, second, at_least_percent=50)
            claimed += found.outcome is not Outcome.CANNOT_TELL
        # 10 are expected; three standard deviations more are 19.
        self.assertLessEqual(claimed, 19)

    @ddt.data(-1, float('nan'), float('inf'))
    def test_no_such_factor_is_refused(self, percent):
        self.assertRaises(
            ValueError,
            judgement.ExpectedOrder,
            patterns=('4k',),
            by='iops',
            tiers=('a', 'b'),
            at_least_percent=percent,
        )

    def test_patterns_of_one_tier_have_an_order_within_each_repeat(self):
        def slots(*rates):
            return [
                results.slot([1], bw_bytes=2**20 * each, clat_ms=[1] * 1000)
                for each in rates
            ]

        run = results.run(
            {
                'fast': {
                    'read-4m-qd16': slots(80, 95, 70),
                    'read-4m-qd1': slots(40, 48, 35),
                    'read-4k': slots(1, 1, 1),
                }
            }
        )
        deep, shallow, small = (each.pattern for each in run.tiers[0].patterns)
        for patterns, expected in (
            ((deep, shallow, small), [Outcome.HELD, Outcome.HELD]),
            ((shallow, deep), [Outcome.BROKEN]),
            ((deep, 'read-1m'), [Outcome.NOT_MEASURED]),
        ):
            found = judgement.judge(
                run,
                judgement.Criteria(
                    order=(
                        judgement.ExpectedOrder(
                            patterns=patterns, by='mib_per_s', tiers=('fast',)
                        ),
                    )
                ),
            )
            self.assertEqual(expected, [each.outcome for each in found])
        self.assertIn(
            'fast: read-4m-qd16 before read-1m by mib_per_s: read-1m: the run'
            ' had only',
            found[0].text,
        )

    @given(VALUES, VALUES)
    def test_two_tiers_are_never_both_before_each_other(self, one, other):
        found = [
            self.order(*pair)[0].outcome
            for pair in ((one, other), (other, one))
        ]
        self.assertNotEqual([Outcome.HELD] * 2, found)
        self.assertEqual(Outcome.HELD in found, Outcome.BROKEN in found)


class PlacementTest(testtools.TestCase):
    def placed(self, found, **wanted):
        run = results.run({'fast': {}}, volume_types=found)
        return [
            str(one)
            for one in judgement.judge(
                run, judgement.Criteria(placement=wanted)
            )
        ]

    def test_all_volumes_must_have_the_type(self):
        self.assertEqual(
            [
                'fast: volumes that fio works on have the volume type ssd,'
                ' expected ssd: held'
            ],
            self.placed({'fast': 'ssd'}, fast='ssd'),
        )
        self.assertEqual(
            [
                'fast: volumes that fio works on have the volume type hdd,'
                ' ssd, expected ssd: broken'
            ],
            self.placed({'fast': 'hdd, ssd'}, fast='ssd'),
        )

    def test_what_is_not_known_is_not_held(self):
        self.assertEqual(
            [
                'fast: volume type ssd: nobody asked: not measured',
                'slow: volume type hdd: the run had only fast: not measured',
            ],
            self.placed({}, fast='ssd', slow='hdd'),
        )


class LossTest(testtools.TestCase):
    GUESTS = (
        results.guest('g000', 'fast'),
        results.guest('g001', 'fast', 'lost', 'last reported START'),
        results.guest('g002', 'slow', 'fio failed', 'on 4k', 'on 1m'),
        results.guest('g003', 'slow', 'damaged result', 'on 4k'),
        results.guest('g004', 'slow', 'late', '4k started late'),
    )

    def lost(self, guests, **most):
        return [
            str(one)
            for one in judgement.judge(
                results.run({}, guests=guests), judgement.Criteria(losses=most)
            )
        ]

    def test_guests_are_counted_by_kind_and_named(self):
        self.assertEqual(
            [
                'lost guests: 1 (g001 of fast, lost: last reported'
                ' START), at most 0: broken',
                'failed guests: 2 (g002 of slow, fio failed: on 4k; '
                'on'
                ' 1m, g003 of slow, damaged result: on 4k), at most 2: held',
                'late guests: 1 (g004 of slow, late: 4k started '
                'late),'
                ' at most 0: broken',
            ],
            self.lost(self.GUESTS, lost=0, failed=2, late=0),
        )

    def test_nobody_lost(self):
        self.assertEqual(
            ['lost guests: 0, at most 0: held'],
            self.lost(self.GUESTS[:1], lost=0),
        )

    def test_of_many_some_are_named(self):
        (found,) = self.lost(
            [
                results.guest(f'g{number}', 'fast', 'lost', 'x')
                for number in range(9)
            ],
            lost=8,
        )
        self.assertIn('g4 of fast, lost: x, and 4 more), at most 8', found)

    def test_every_verdict_that_is_not_complete_is_a_loss_of_one_kind(self):
        self.assertEqual(
            sorted(
                each.value
                for each in verdict.GuestVerdict
                if each is not verdict.GuestVerdict.COMPLETE
            ),
            sorted(
                each for kinds in judgement.LOSSES.values() for each in kinds
            ),
        )
