# SPDX-License-Identifier: Apache-2.0

"""Whether a tier meets what is expected of it, over a day."""

import random

import testtools

from cinder_tiers.loop.watch import expectation
from cinder_tiers.loop.watch import judgement
from tests.unit.loop.watch import test_series


class ExpectationTestCase(testtools.TestCase):
    EXPECT = {'randwrite-4k': {'p99_ms_max': 10, 'iops_min': 500}}

    def test_a_tier_that_meets_it(self):
        _, verdict = test_series.watched(
            map(test_series.window, range(30)), self.EXPECT
        )
        self.assertEqual(judgement.TierState.SOUND, verdict.state)
        (found,) = verdict.findings
        self.assertEqual('randwrite-4k.p99_ms_max', found.name)
        self.assertEqual('0 of 300 took longer; limit 10 ms', found.text)

    def test_a_tier_that_breaks_it_and_since_when(self):
        windows = [*map(test_series.window, range(30))]
        windows += [
            test_series.window(30, write_ms=11.0),
            test_series.window(31, write_ms=11.0),
        ]
        kept, verdict = test_series.watched(windows, self.EXPECT)
        self.assertEqual(judgement.TierState.BROKEN, verdict.state)
        self.assertEqual(windows[30].began_at, verdict.since)
        self.assertEqual(
            ('randwrite-4k.p99_ms_max: 20 of 300 took longer; limit 10 ms',),
            verdict.reasons,
        )
        # It stays since then, as long as it is broken.
        for number in range(32, 80):
            kept, verdict = judgement.added(
                kept, test_series.window(number, write_ms=11.0), self.EXPECT
            )
        self.assertEqual(judgement.TierState.BROKEN, verdict.state)
        self.assertEqual(windows[30].began_at, verdict.since)

    def test_one_slow_write_in_a_hundred_is_within_p99(self):
        windows = [
            test_series.window(
                n, write_ms=(5.0,) * 9 + (11.0 if n % 10 == 0 else 5.0,)
            )
            for n in range(40)
        ]
        _, verdict = test_series.watched(windows, self.EXPECT)
        self.assertEqual(judgement.TierState.SOUND, verdict.state)

    def test_a_tier_that_just_meets_it_is_seldom_called_broken(self):
        draw = random.Random(1)
        windows = [
            test_series.window(
                n,
                write_ms=tuple(
                    11.0 if draw.random() < 0.01 else 5.0 for _ in range(10)
                ),
            )
            for n in range(1000)
        ]
        broken = sum(
            expectation.judge(self.EXPECT, windows[:seen][-30:])[0].outcome
            is expectation.LimitOutcome.BROKEN
            for seen in range(30, len(windows) + 1)
        )
        self.assertLessEqual(broken, 0.01 * len(windows))

    def test_too_few_ios_tell_nothing(self):
        _, verdict = test_series.watched(
            map(test_series.window, range(20)), self.EXPECT
        )
        self.assertEqual(judgement.TierState.UNKNOWN, verdict.state)
        self.assertIn('expected at least 300 I/Os', verdict.reasons[0])

    def test_a_probe_pattern_takes_the_place_of_those_of_fleets(self):
        self.assertEqual(
            {'probe.p99_ms_max': 5.0},
            expectation.limits({**self.EXPECT, 'probe': {'p99_ms_max': 5}}),
        )
        self.assertEqual(
            {
                'probe.read_p99_ms_max': 5.0,
                'randwrite-4k.p99_ms_max': 10.0,
            },
            expectation.limits(
                {**self.EXPECT, 'probe': {'read_p99_ms_max': 5}}
            ),
        )

    def test_a_mean_above_its_limit(self):
        expect = {'probe': {'write_mean_ms_max': 4.9}}
        _, verdict = test_series.watched(
            map(test_series.window, range(30)), expect
        )
        self.assertEqual(judgement.TierState.BROKEN, verdict.state)
        _, verdict = test_series.watched(
            map(test_series.window, range(30)),
            {'probe': {'write_mean_ms_max': 5.1}},
        )
        self.assertEqual(judgement.TierState.SOUND, verdict.state)

    def test_a_write_that_hangs_is_slow_and_said_to_hang(self):
        windows = [*map(test_series.window, range(30))]
        windows.append(
            test_series.window(
                30, write_ms=(), read_ms=(), pending='write', pending_s=19
            )
        )
        _, verdict = test_series.watched(
            windows, {'probe': {'lat_longest_ms_max': 1000}}
        )
        self.assertEqual(judgement.TierState.HANGS, verdict.state)
        self.assertEqual(windows[-1].began_at + 1, verdict.since)
        self.assertEqual(
            'a write has no completion for 19 s', verdict.reasons[0]
        )
        self.assertIn('the longest took 1.9e+04 ms', verdict.reasons[1])

    def test_an_io_that_hangs_for_several_windows_is_one_io(self):
        expect = {'probe': {'write_p99_ms_max': 1000}}
        windows = [*map(test_series.window, range(30))]

        def hanging(number, seconds):
            return test_series.window(
                number, write_ms=(), pending='write', pending_s=seconds
            )

        windows += [hanging(30, 19), hanging(31, 39), hanging(32, 59)]
        for end, (slow, ios) in (
            ([], (1, 301)),
            # It completes,
            (
                [
                    test_series.window(
                        33, write_ms=(59500.0, *test_series.near(5.0))
                    )
                ],
                (1, 301),
            ),
            # fails,
            ([test_series.window(33, failed=1)], (1, 301)),
            # or is never heard of, as the watch was started again.
            (
                [test_series.window(33), hanging(34, 12), hanging(35, 32)],
                (2, 302),
            ),
        ):
            kept, verdict = test_series.watched([*windows, *end], expect)
            (found,) = verdict.findings
            self.assertIs(expectation.LimitOutcome.MET, found.outcome)
            self.assertEqual(
                f'{slow} of {ios} took longer; limit 1000 ms', found.text
            )
        # Broken since the first of its windows.
        _, verdict = test_series.watched(
            [
                *windows,
                test_series.window(
                    33, write_ms=(59500.0, *test_series.near(5.0))
                ),
            ],
            {'probe': {'write_lat_longest_ms_max': 1000}},
        )
        (found,) = verdict.findings
        self.assertEqual(windows[30].began_at, found.since)
