# SPDX-License-Identifier: Apache-2.0

"""What a load curve says: saturation, knee, most load within a limit."""

import dataclasses
import math

import ddt
import numpy
from scipy import optimize
import testtools

from benchmarks import protocols
from cinder_tiers.loop.headroom import curve as load_curve
from cinder_tiers.loop.headroom import load
import tests
from tests.unit.loop.headroom import test_curve


def _waits(arrivals, services):
    """Times in a queue with one server, first come, first served.

    Lindley's recursion W' = max(0, W + S - T), as running sums.
    """
    steps = services[..., :-1] - numpy.diff(arrivals, axis=-1)
    total = numpy.concatenate(
        [
            numpy.zeros((*steps.shape[:-1], 1)),
            numpy.cumsum(steps, axis=-1),
        ],
        axis=-1,
    )
    return total - numpy.minimum.accumulate(total, axis=-1) + services


class RisingTestCase(testtools.TestCase):
    def test_as_scipy_has_it(self):
        random = numpy.random.default_rng(7)
        for length in (1, 2, 3, 10, 40):
            for slope in (-1, 0, 0.1, 1):
                values = slope * numpy.arange(length) + random.normal(
                    size=length
                )
                numpy.testing.assert_allclose(
                    load.rising(values.tolist()),
                    optimize.isotonic_regression(values).x,
                    rtol=1e-9,
                )


@ddt.ddt
class LoadTest(testtools.TestCase):
    @ddt.data(
        ([100, 100, 100], 'done'),
        ([99, 98.9, 99.1], 'done'),
        ([80, 81, 80], 'saturated'),
        ([100, 80, 100], 'cannot tell'),
        ([80], 'cannot tell'),
    )
    @ddt.unpack
    def test_saturated_is_what_lies_outside_the_interval(self, done, found):
        (step,) = test_curve.curve({100: (done, done)}).steps
        self.assertEqual(found, step.saturation().value)

    def test_the_most_is_that_of_the_step_that_did_most(self):
        found = test_curve.of_queue(100, [50, 90, 120, 150])
        self.assertEqual(120, found.first_saturated().asked_iops)
        self.assertAlmostEqual(99.9, load.most(found).iops.mean)
        point = load.operating_point(found)
        self.assertAlmostEqual(69.93, point.iops.mean)
        self.assertAlmostEqual(0.7 * load.most(found).iops.low, point.iops.low)

    def test_without_saturation_there_is_no_most(self):
        found = test_curve.of_queue(100, [50, 90])
        self.assertIsNone(load.most(found).iops)
        self.assertEqual(90, load.most(found).at_least_iops)
        self.assertIn('up to 90 IOPS', load.operating_point(found).reason)

    def test_a_limit_is_kept_up_to_where_the_queue_keeps_it(self):
        """M/M/1 of 100 IOPS: 4.605 / (100 - x) is 100 ms at 53.95."""
        for steps in ([20, 80, 120], [50, 60], [20, 40, 60, 80, 120]):
            found = load.within(
                test_curve.of_queue(100, steps, factors=(1, 1)), 100
            )
            self.assertAlmostEqual(
                100 - 10 * math.log(100), found.iops.mean, 6
            )
        found = load.within(test_curve.of_queue(100, [20, 80, 120]), 100)
        self.assertLess(found.iops.low, 53.95)
        self.assertGreater(found.iops.high, 53.95)

    def test_a_tier_that_does_not_do_a_step_is_not_within(self):
        """Few I/Os in flight keep the latency of what it does low."""
        found = load.within(
            test_curve.curve(
                {50: ([50] * 2, [5] * 2), 100: ([70] * 2, [9] * 2)}
            ),
            20,
        )
        self.assertEqual(70, found.iops.mean)

    def test_what_the_steps_do_not_show_is_not_guessed(self):
        fast = test_curve.of_queue(1000, [50, 90])
        found = load.within(fast, 100)
        self.assertIsNone(found.iops)
        self.assertEqual(90, found.at_least_iops)
        self.assertIn('add steps of more load', found.reason)
        found = load.within(test_curve.of_queue(100, [80, 90]), 100)
        self.assertEqual(
            (None, None, 80, 3),
            (
                found.iops,
                found.at_least_iops,
                found.at_most_iops,
                found.repeats,
            ),
        )
        self.assertIn('add steps of less load', found.reason)
        mixed = test_curve.curve(
            {50: ([50] * 2, [9, 11]), 60: ([60] * 2, [12, 12])}
        )
        found = load.within(mixed, 10)
        self.assertEqual((None, None), (found.iops, found.at_most_iops))
        self.assertIn('in some repeats more than', found.reason)
        mixed = test_curve.curve(
            {50: ([50] * 2, [9, 11]), 60: ([60] * 2, [9, 12])}
        )
        found = load.within(mixed, 10)
        self.assertEqual((None, None), (found.iops, found.at_least_iops))
        self.assertIn('in some repeats', found.reason)

    def test_pauses_are_not_taken_for_load(self):
        """Of a tier that stops for a while at any load."""
        found = load.within(
            test_curve.curve(
                {
                    20: ([20] * 2, [480, 500]),
                    60: ([60] * 2, [500, 490]),
                    100: ([100] * 2, [505, 510]),
                    140: ([120] * 2, [900, 950]),
                }
            ),
            50,
        )
        self.assertIn(
            'it hardly depends on the load (490 ms at 20 IOPS, 507.5 ms at'
            ' 100): look for what pauses I/Os',
            found.reason,
        )
        self.assertNotIn('less load:', found.reason)
        # Of a queue, less load would help; and of one step, nothing is known.
        for found in (
            load.within(test_curve.of_queue(100, [40, 90]), 10),
            load.within(test_curve.of_queue(100, [120]), 10),
        ):
            self.assertIn('add steps of less load', found.reason)

    def test_a_limit_that_breaks_with_less_load_contradicts(self):
        steps = {
            20: ([20, 20], [80, 81]),
            60: ([60, 60], [10, 11]),
            100: ([100, 100], [20, 21]),
            140: ([140, 140], [90, 91]),
        }
        found = load.within(test_curve.curve(steps), 50)
        self.assertTrue(found.has_interval)
        self.assertIn('in all repeats at 20 IOPS', found.contradiction)
        # In one of the repeats, it may be by chance.
        steps[20] = ([20, 20], [80, 9])
        self.assertEqual(
            '', load.within(test_curve.curve(steps), 50).contradiction
        )

    def test_steps_that_lack_a_latency_are_not_asked_for_again(self):
        steps = {
            asked: ([asked, asked], [each, each])
            for asked, each in ((20, 10), (60, 20), (100, 30))
        }
        found = test_curve.curve(steps)
        for lacking, limit, words in (
            (0, 5, 'of less load is not known, at 20 IOPS: too few'),
            (2, 50, 'of more load is not known, at 100 IOPS: too few'),
        ):
            steps = list(found.steps)
            steps[lacking] = dataclasses.replace(
                steps[lacking], latencies_ms=(), reason='too few'
            )
            without = dataclasses.replace(found, steps=tuple(steps))
            self.assertIn(words, load.within(without, limit).reason)

    def test_one_repeat_has_no_interval(self):
        found = load.within(
            test_curve.of_queue(100, [20, 80], factors=(1,)), 100
        )
        self.assertFalse(found.has_interval)
        self.assertIn('expected at least 3', found.reason)
        for most_ms, bound in ((1000, (80, None)), (10, (None, 20))):
            found = load.within(
                test_curve.of_queue(100, [20, 80], factors=(1,)), most_ms
            )
            self.assertEqual(
                (bound, 1),
                ((found.at_least_iops, found.at_most_iops), found.repeats),
            )
            self.assertIn('steps of', found.reason)
            self.assertIn('expected at least 3', found.reason)

    def test_a_last_step_that_kept_the_limit_by_luck_promises_nothing(self):
        for latencies_ms, at_least_iops in (
            ([20, 21, 20], 80),
            ([20, 45, 30], None),
        ):
            found = load.within(
                test_curve.curve(
                    {40: ([40] * 3, [5] * 3), 80: ([80] * 3, latencies_ms)}
                ),
                50,
            )
            self.assertEqual(at_least_iops, found.at_least_iops)
            self.assertEqual(
                at_least_iops is None,
                'but one repeat more may differ: add repeats' in found.reason,
            )

    def test_a_step_below_one_that_is_done_is_not_saturated(self):
        steps = {
            8: ([7.7, 7.71], [5] * 2),
            32: ([32] * 2, [6] * 2),
            128: ([128] * 2, [9] * 2),
        }
        found = test_curve.curve(steps)
        self.assertIsNone(found.first_saturated())
        self.assertEqual(128, load.within(found, 50).at_least_iops)
        found = test_curve.curve(
            {
                **steps,
                160: ([140, 141], [12] * 2),
                # Of too much noise to tell.
                200: ([150, 200], [20] * 2),
                240: ([150, 151], [20] * 2),
            }
        )
        self.assertEqual(160, found.first_saturated().asked_iops)
        self.assertEqual(140.5, load.within(found, 50).iops.mean)

    def test_what_is_promised_is_kept_by_the_next_run(self):
        draw = numpy.random.default_rng(7)
        for noise in ('5 %', 'AR(1)', 'heavy tails'):
            promised, failed = protocols.promises(draw, noise, 3, 60)
            self.assertGreater(promised, 80, noise)
            # Three standard deviations more than 5 % of them.
            self.assertLessEqual(failed, 13, noise)

    def test_each_run_is_one_observation(self):
        parts = [
            test_curve.of_queue(capacity, [20, 80, 120], factors=(1, 1, 1))
            for capacity in (95, 100, 105)
        ]
        found = load.within(load_curve.joined(parts), 100)
        self.assertEqual(3, found.iops.values)
        # Each breaks at its capacity less 46.05.
        self.assertAlmostEqual(53.95, found.iops.mean, 1)
        # Student's t of 3 is 4.30, for one more.
        self.assertAlmostEqual(
            53.95 - 4.303 * 5 * math.sqrt(1 + 1 / 3), found.iops.low, 0
        )

    def test_the_knee_is_where_kneedle_finds_it(self):
        """Of 1 / (1 - x), scaled, from 0 to 0.9: by hand at 0.7.

        x / 0.9 - (1 / (1 - x) - 1) / 9 is 0.518 at 0.7, 0.500 at 0.6 and
        0.444 at 0.8.
        """
        x = [each / 10 for each in range(10)]
        y = [1 / (1 - each) for each in x]
        self.assertEqual(7, load.kneedle(x, y))
        self.assertIsNone(load.kneedle(x, x))
        self.assertIsNone(load.kneedle(x, [1] * 10))
        self.assertIsNone(load.kneedle([1] * 10, y))

    def test_a_knee_is_known_to_a_step(self):
        found = load.knee(
            test_curve.of_queue(100, [10, 30, 50, 70, 90, 95, 99, 120])
        )
        self.assertEqual(95, found.iops.mean)
        self.assertEqual((90, 99), (found.iops.low, found.iops.high))

    def test_few_steps_or_a_straight_line_have_no_knee(self):
        self.assertIn(
            'expected at least 5',
            load.knee(test_curve.of_queue(100, [1, 90])).reason,
        )
        line = test_curve.curve(
            {each: ([each] * 2, [each] * 2) for each in range(10, 70, 10)}
        )
        self.assertIn('has no knee', load.knee(line).reason)


class KnownQueueTest(testtools.TestCase):
    """Predictions against queues of which the truth is known.

    Guests of 5 IOPS each, 120 s a repeat, three repeats; the latencies of a
    repeat have a common factor of noise beside the luck of their I/Os. The
    last step is the first that is well beyond what the queue can do.
    """

    CAPACITY = 160
    GUEST_IOPS = 5
    SECONDS = 120
    RUNS = tests.draws(200)
    STEPS = tuple(range(20, 240, 20))

    def measured(self, dice, times_of):
        steps = {}
        for asked in self.STEPS:
            done, p99 = [], []
            for _repeat in range(3):
                arrivals = numpy.cumsum(
                    dice.exponential(1 / asked, asked * self.SECONDS)
                )
                times = times_of(dice, arrivals)
                inside = arrivals + times <= self.SECONDS
                # Arrivals are drawn: a few more than were asked for.
                done.append(min(inside.sum() / self.SECONDS, asked))
                p99.append(
                    1000
                    * numpy.percentile(times[inside], 99)
                    * dice.normal(1, 0.03)
                )
            steps[asked] = (done, p99)
            if asked > 1.2 * self.CAPACITY:
                break
        return test_curve.curve(steps)

    def check(self, times_of, most_ms, truth):
        dice = numpy.random.default_rng(20261123)
        right, covered = 0, 0
        for _run in range(self.RUNS):
            found = load.within(self.measured(dice, times_of), most_ms).iops
            guests = math.floor(found.mean / self.GUEST_IOPS)
            right += abs(guests - truth // self.GUEST_IOPS) <= 1
            covered += found.low <= truth <= found.high
        self.assertGreaterEqual(right / self.RUNS, 0.95)
        # 95 % of intervals, less three standard deviations of the runs.
        least = 0.95 - 3 * math.sqrt(0.95 * 0.05 / self.RUNS)
        self.assertGreaterEqual(covered / self.RUNS, least)

    def test_one_server_of_random_times(self):
        """M/M/1, whose p99 is -ln(0.01) / (capacity - load)."""
        self.check(
            lambda dice, arrivals: _waits(
                arrivals, dice.exponential(1 / self.CAPACITY, arrivals.size)
            ),
            100,
            self.CAPACITY - 10 * math.log(100),
        )

    def test_three_disks_of_fixed_times(self):
        """M/D/3: each third I/O is for the same disk, as all take as long."""

        def times_of(_dice, arrivals):
            times = numpy.empty(arrivals.size)
            for disk in range(3):
                mine = arrivals[disk::3]
                times[disk::3] = _waits(
                    mine, numpy.full(mine.size, 3 / self.CAPACITY)
                )
            return times

        dice = numpy.random.default_rng(1)

        def p99_ms(iops):
            arrivals = numpy.cumsum(
                dice.exponential(1 / iops, tests.draws(10**6))
            )
            return 1000 * numpy.percentile(times_of(dice, arrivals), 99)

        # Of so many I/Os each that the crossing is known to a small part of
        # a guest.
        loads = numpy.arange(100, 159, 2)
        truth = float(
            numpy.interp(60, [p99_ms(iops) for iops in loads], loads)
        )
        self.check(times_of, 60, truth)
