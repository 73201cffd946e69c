# SPDX-License-Identifier: Apache-2.0

"""Changes over time, in series of which the truth is known."""

import dataclasses

import testtools

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import trend
from tests.unit.figures import results
from tests.unit.loop.compare import test_comparison

#: Of each, like the one before.
WANDERING = (100, 102, 104, 105, 107, 108, 107, 109, 111, 112, 110, 109, 108)
MANY_MS = (1,) * 1990 + (5,) * 10


def runs(*iops, **facts):
    """A run a day with these IOPS, two repeats each."""
    found = []
    for day, each in enumerate(iops, 1):
        run = results.run(
            {
                'general': {
                    'x': [
                        results.slot([each * share], clat_ms=MANY_MS)
                        for share in (0.99, 1.01)
                    ]
                }
            }
        )
        found.append(
            dataclasses.replace(
                run,
                run=f'{day:016x}',
                ended_at=f'2026-11-{day:02d}T00:00:00+00:00',
                environment={
                    **run.environment,
                    **{
                        name: run_result.Fact(value=values[day - 1])
                        for name, values in facts.items()
                    },
                },
            )
        )
    return found


class DirectionsTestCase(testtools.TestCase):
    def test_a_pattern_that_only_reads_has_no_series_of_writes(self):
        found = trend.over_time(
            runs(*[100] * 4), ['iops', 'write_iops', 'read_iops']
        )
        # These results do not tell directions.
        self.assertEqual(
            [('iops', 4), ('read_iops', 0)],
            [(each.quantity, each.runs) for each in found],
        )
        self.assertRaises(
            comparison.ComparisonError,
            trend.over_time,
            runs(100, 100),
            ['write_iops'],
        )

    def test_writes_of_a_mix_change_while_its_reads_do_not(self):
        found = trend.over_time(
            [
                dataclasses.replace(
                    test_comparison.mix((100, 101), (level, level + 1)),
                    run=f'{day:016x}',
                    ended_at=f'2026-11-{day:02d}T00:00:00+00:00',
                )
                for day, level in enumerate((200,) * 5 + (100,) * 5, 1)
            ],
            ['read_iops', 'write_iops'],
        )
        self.assertEqual(
            {'read_iops': 'no change', 'write_iops': 'worse'},
            {each.quantity: each.finding.value for each in found},
        )


class NeverMeasuredTestCase(testtools.TestCase):
    def test_a_pattern_that_no_run_has_measured_has_no_series(self):
        def with_empty(run):
            (tier,) = run.tiers
            (pattern,) = tier.patterns
            empty = dataclasses.replace(
                pattern, pattern='empty', slots=(), complete_repeats=0
            )
            return dataclasses.replace(
                run,
                tiers=(dataclasses.replace(tier, patterns=(empty, pattern)),),
            )

        plain = runs(*[100] * 4)
        self.assertEqual(
            trend.over_time(plain),
            trend.over_time(list(map(with_empty, plain))),
        )


def lost(run):
    """The same run, with a guest that is in no figure."""
    (tier,) = run.tiers
    (pattern,) = tier.patterns
    slots = tuple(
        dataclasses.replace(slot, merged=None) for slot in pattern.slots
    )
    pattern = dataclasses.replace(pattern, slots=slots)
    tier = dataclasses.replace(tier, patterns=(pattern,))
    return dataclasses.replace(run, tiers=(tier,))


class LostRunsTestCase(testtools.TestCase):
    def of(self, *iops):
        """The single series of runs, of which those of None are lost."""
        (found,) = trend.over_time(
            [
                run if each else lost(run)
                for run, each in zip(
                    runs(*[each or 1 for each in iops]), iops, strict=True
                )
            ],
            ['iops'],
        )
        return found

    def test_what_the_newest_run_does_not_tell_is_no_lack_of_change(self):
        found = self.of(*[100] * 9, None, None)
        self.assertEqual(trend.TrendFinding.CANNOT_TELL, found.finding)
        self.assertTrue(found.is_newest_left_out)
        self.assertEqual(9, found.runs)
        self.assertEqual(
            [
                trend.LeftOut(
                    run=f'{day:016x}',
                    ended_at=f'2026-11-{day:02d}T00:00:00+00:00',
                    reason='no repeat in which all guests are complete',
                )
                for day in (10, 11)
            ],
            list(found.left_out),
        )

    def test_a_lost_run_before_the_newest_is_named(self):
        found = self.of(*[100] * 4, None, *[100] * 5)
        self.assertEqual(trend.TrendFinding.NO_CHANGE, found.finding)
        self.assertFalse(found.is_newest_left_out)
        self.assertEqual([f'{5:016x}'], [each.run for each in found.left_out])

    def test_a_change_before_a_lost_run_is_found_and_the_run_named(self):
        found = self.of(*[100] * 6, *[200] * 6, None)
        self.assertEqual(trend.TrendFinding.BETTER, found.finding)
        self.assertTrue(found.is_newest_left_out)


def changes(*iops, **facts):
    return trend.over_time(runs(*iops, **facts), ['iops'])


class TrustTestCase(testtools.TestCase):
    def test_a_step_within_a_bucket_is_no_change(self):
        def run(day, clat_ms, tier='general'):
            return dataclasses.replace(
                results.run(
                    {tier: {'x': [results.slot([100], clat_ms=clat_ms)] * 2}}
                ),
                run=f'{day:016x}',
                ended_at=f'2026-11-{day:02d}T00:00:00+00:00',
            )

        # From the end of a bucket to the beginning of the next.
        series = [
            run(day, (1.056768 if day < 7 else 1.073152,) * 2000)
            for day in range(1, 13)
        ]
        (found,) = trend.over_time(series, ['p99_ms'])
        self.assertEqual(trend.TrendFinding.NO_CHANGE, found.finding)
        # Nor do runs wander that are in one of two buckets.
        series = [
            run(day, ({'a': 1.056768, 'b': 1.073152}[bucket],) * 2000)
            for day, bucket in enumerate('aaaaaabaabbbbbbabb', 1)
        ]
        (found,) = trend.over_time(series, ['p99_ms'])
        self.assertEqual(
            (trend.TrendFinding.NO_CHANGE, False),
            (found.finding, found.wanders),
        )
        series = [
            run(day, (1.0 if day < 7 else 1.1,) * 2000) for day in range(1, 13)
        ]
        (found,) = trend.over_time(series, ['p99_ms'])
        self.assertEqual(trend.TrendFinding.WORSE, found.finding)
        # The largest of twenty I/Os is no p99.
        series = [
            run(day, (1.0,) * 19 + (5.0 if day < 7 else 9.0,))
            for day in range(1, 13)
        ]
        (found,) = trend.over_time(series, ['p99_ms'])
        self.assertEqual(trend.TrendFinding.TOO_FEW_RUNS, found.finding)
        self.assertIn('20 I/Os, of which 0 are', found.left_out[0].reason)

    def test_runs_that_do_not_have_a_tier_any_more_are_named(self):
        series = runs(*[100, 101, 99] * 4)
        series[-2:] = [
            dataclasses.replace(
                run, tiers=(dataclasses.replace(run.tiers[0], tier='new'),)
            )
            for run in series[-2:]
        ]
        found = {each.tier: each for each in trend.over_time(series, ['iops'])}
        self.assertEqual(
            [
                trend.LeftOut(
                    run=run.run,
                    ended_at=run.ended_at,
                    reason='it ran on new only',
                )
                for run in series[-2:]
            ],
            list(found['general'].left_out),
        )
        self.assertEqual((), found['new'].left_out)


class TrendTestCase(testtools.TestCase):
    def test_a_drop_is_worse_and_what_else_changed_is_named(self):
        releases = ['18.2.4'] * 6 + ['18.2.7'] * 6
        (level,) = changes(
            *(100, 101, 99, 100, 102, 98),
            *(80, 81, 79, 80, 82, 78),
            ceph=releases,
        )
        self.assertEqual(trend.TrendFinding.WORSE, level.finding)
        self.assertEqual(f'{7:016x}', level.run)
        self.assertEqual('2026-11-07T00:00:00+00:00', level.ended_at)
        self.assertAlmostEqual(-20, level.difference_percent, delta=0.5)
        self.assertAlmostEqual(100, level.before, delta=0.5)
        self.assertAlmostEqual(80, level.after, delta=0.5)
        self.assertEqual(
            ('ceph: 18.2.4 in the first, 18.2.7 in the second',),
            level.changed,
        )

    def test_each_level_is_between_two_changes(self):
        found = changes(
            *[100, 101, 99, 100] * 2,
            *[50, 51, 49, 50] * 2,
            *[200, 202, 199, 200] * 2,
        )
        self.assertEqual(
            [trend.TrendFinding.WORSE, trend.TrendFinding.BETTER],
            [level.finding for level in found],
        )
        self.assertAlmostEqual(50, found[0].after, delta=0.5)
        self.assertAlmostEqual(50, found[1].before, delta=0.5)

    def test_no_change_and_too_few(self):
        (level,) = changes(*[100, 103, 97, 101] * 3)
        self.assertEqual(
            (trend.TrendFinding.NO_CHANGE, 12), (level.finding, level.runs)
        )
        (level,) = changes(100, 50, 10)
        self.assertEqual(
            (trend.TrendFinding.TOO_FEW_RUNS, 3), (level.finding, level.runs)
        )

    def test_runs_that_wander_tell_nothing(self):
        (level,) = changes(*WANDERING)
        self.assertEqual(
            (trend.TrendFinding.CANNOT_TELL, True),
            (level.finding, level.wanders),
        )
        (level,) = changes(*WANDERING, *[each / 4 for each in WANDERING])
        self.assertEqual(
            (trend.TrendFinding.WORSE, False), (level.finding, level.wanders)
        )

    def test_runs_that_are_too_few_for_the_largest_change(self):
        for iops, series, needed in (
            ((132, 133, 13, 13), 1, 9),
            ([130, 131, 132, 133, 13, 13.1, 13.2, 13.3], 1, 9),
            ([100, 101, 99, 100, 102] * 2 + [10, 11, 9, 10, 10] * 2, 1, None),
            ([100, 101, 99, 100, 102] + [10, 11, 9, 10], 1, None),
            ([100, 101, 99, 100, 102] + [10, 11, 9, 10], 2, 10),
        ):
            first, *_others = trend.over_time(
                runs(*iops), ['iops', 'p99_ms'][:series]
            )
            self.assertEqual(needed, first.runs_needed)
            self.assertEqual(
                trend.TrendFinding.TOO_FEW_RUNS
                if needed
                else trend.TrendFinding.WORSE,
                first.finding,
            )

    def test_a_drop_is_found_among_hundreds_of_series(self):
        quantities = ['iops', *(f'p{each}_ms' for each in range(1, 99))]
        # More need ten of 2,000 I/Os above them.
        quantities += [
            f'p99.{each}_ms' for each in (*range(1, 6), *range(10, 40))
        ]
        found = trend.over_time(
            runs(*[100, 101, 99, 100, 102] * 2, *[10, 11, 9, 10, 10] * 2),
            quantities,
        )
        self.assertGreater(len(found), 100)
        self.assertEqual(
            [('iops', trend.TrendFinding.WORSE)],
            [
                (each.quantity, each.finding)
                for each in found
                if each.finding is not trend.TrendFinding.NO_CHANGE
            ],
        )

    def test_the_order_of_the_files_does_not_matter(self):
        ordered = runs(*[100, 101, 99, 100] * 2, *[80, 81, 79, 80] * 2)
        self.assertEqual(
            trend.over_time(ordered, ['iops']),
            trend.over_time(ordered[::-1], ['iops']),
        )

    def test_the_order_is_that_of_times_and_not_of_their_texts(self):
        ordered = runs(*[100, 101, 99, 100] * 2, *[80, 81, 79, 80] * 2)
        expected = trend.over_time(ordered, ['iops'])
        # As a text, that of the tenth run is before that of the ninth.
        ordered[8] = dataclasses.replace(
            ordered[8], ended_at='2026-11-09T09:00:00+09:00'
        )
        ordered[9] = dataclasses.replace(
            ordered[9], ended_at='2026-11-08T15:00:01-09:00'
        )
        ordered[10] = dataclasses.replace(
            ordered[10], ended_at='2026-11-11T00:00:00'
        )
        self.assertEqual(expected, trend.over_time(ordered, ['iops']))
        for text in ('yesterday', '', '0001-01-01T00:00:00+09:00'):
            ordered[3] = dataclasses.replace(ordered[3], ended_at=text)
            error = self.assertRaises(
                comparison.ComparisonError, trend.over_time, ordered, ['iops']
            )
            self.assertIn(f'ended at {text!r}', str(error))
            self.assertIn(ordered[3].run, str(error))

    def test_more_latency_is_worse(self):
        slow = [
            dataclasses.replace(
                run,
                tiers=results.run(
                    {
                        'general': {
                            'x': [
                                results.slot(
                                    [100], clat_ms=(9 + day % 2 / 10,) * 2000
                                )
                            ]
                        }
                    }
                ).tiers,
            )
            for day, run in enumerate(runs(*[1] * 16)[8:])
        ]
        found = trend.over_time([*runs(*[100] * 8), *slow], ['mean_ms'])
        self.assertEqual(
            [trend.TrendFinding.WORSE], [level.finding for level in found]
        )

    def test_a_pattern_that_is_not_the_same_any_more_is_named(self):
        all_runs = runs(*[100] * 8, *[50] * 8)
        for place, run in enumerate(all_runs[8:], 8):
            (pattern,) = run.profile.patterns
            profile = dataclasses.replace(
                run.profile,
                patterns=(dataclasses.replace(pattern, iodepth=16),),
            )
            all_runs[place] = dataclasses.replace(run, profile=profile)
        (level,) = trend.over_time(all_runs, ['iops'])
        self.assertEqual(trend.TrendFinding.WORSE, level.finding)
        self.assertEqual(
            (
                f'the pattern is not the same: iodepth 1 in run {8:016x}, 16'
                f' in run {9:016x}',
            ),
            level.changed,
        )

    def test_a_run_without_a_figure_is_left_out(self):
        all_runs = runs(*[100, 101, 99, 100] * 3)
        lost = results.run(
            {'general': {'x': [results.slot([1.0], without=1)]}}
        )
        all_runs[5] = dataclasses.replace(all_runs[5], tiers=lost.tiers)
        (level,) = trend.over_time(all_runs, ['iops'])
        self.assertEqual(11, level.runs)

    def test_what_cannot_be_asked(self):
        one = runs(1)
        for given, quantities, said in (
            (one, ['iops'], '1 run: expected at least 2'),
            (runs(1, 2), ['speed'], "'speed'"),
        ):
            error = self.assertRaises(
                comparison.ComparisonError, trend.over_time, given, quantities
            )
            self.assertIn(said, str(error))
