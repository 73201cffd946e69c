# SPDX-License-Identifier: Apache-2.0

"""Series of which it is known how they respond to a fault."""

import dataclasses

import ddt
from hypothesis import given
from hypothesis import strategies
import numpy as np
import testtools

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.fault import latencies
from cinder_tiers.loop.fault import of_run
from cinder_tiers.loop.fault import response
from tests.unit.figures import results
from tests.unit.loop.sweep import test_effects

# When the series begins: as clocks say it, not 0.
EPOCH = 1_764_000_000.0
EPOCH_MS = round(1000 * EPOCH)
RULE = response.ResponseRule()


def noisy(generator, levels, deviation, correlation=0.0):
    """AR(1) noise around levels, in parts of them."""
    noise = generator.normal(size=len(levels))
    found = np.empty(len(levels))
    found[0] = noise[0]
    for at in range(1, len(levels)):
        found[at] = (
            correlation * found[at - 1]
            + (1 - correlation**2) ** 0.5 * noise[at]
        )
    return np.maximum(0, np.asarray(levels) * (1 + deviation * found))


def levels(*parts):
    """Seconds of (length, level)."""
    return [level for length, level in parts for _ in range(length)]


def series(values, **named):
    return response.LoadSeries(
        begins_at=EPOCH,
        values=tuple(None if each is None else float(each) for each in values),
        **named,
    )


def span(began, ended, **named):
    return response.Span(
        began_at=EPOCH + began, ended_at=EPOCH + ended, **named
    )


def responds(values, began, ended, **named):
    return response.respond(series(values, **named), span(began, ended))


def run_of(values, *, begins_ms=EPOCH_MS, error_ms=0.0, **fields):
    """A run of one pattern with these seconds.

    :param fields: more of its slot
    """
    found = test_effects.run(100)
    (tier,) = found.tiers
    (pattern,) = tier.patterns
    slot = dataclasses.replace(
        pattern.slots[0],
        series=tuple(
            (begins_ms + 1000 * second, float(value))
            for second, value in enumerate(values)
        ),
        **fields,
    )
    return dataclasses.replace(
        found,
        guests=(
            dataclasses.replace(
                results.guest('g', tier.tier), clock_error_ms=error_ms
            ),
        ),
        tiers=(
            dataclasses.replace(
                tier,
                patterns=(dataclasses.replace(pattern, slots=(slot,)),),
            ),
        ),
    )


@ddt.ddt
class KnownTestCase(testtools.TestCase):
    @ddt.data(0, 7, 60, 200)
    def test_the_load_has_recovered_when_it_is_as_before(self, late_s):
        found = responds(
            levels((60, 100), (50 + late_s, 40), (240 - late_s, 100)), 60, 110
        )
        self.assertLessEqual(found.recovered.after_s, late_s)
        self.assertGreaterEqual(
            found.recovered.after_s, late_s - RULE.window_s
        )
        self.assertEqual('', found.recovered.reason)

    def test_since_the_beginning_is_later_by_the_length_of_the_fault(self):
        known = series(levels((60, 100), (80, 0), (100, 100)))
        of_fault = span(60, 110)
        found = response.respond(known, of_fault)
        self.assertEqual(
            found.recovered.after_s + 50,
            found.recovered_since_beginning_s(of_fault),
        )

    def test_a_load_gets_along_with_a_fault_that_goes_on(self):
        found = responds(levels((60, 100), (20, 10), (200, 100)), 60, 180)
        self.assertTrue(10 <= found.gets_along.after_s <= 20)
        self.assertEqual(0, found.recovered.after_s)

    def test_a_fault_that_does_nothing(self):
        found = responds(levels((300, 100)), 60, 180)
        self.assertEqual(
            (0, 0, 0.0),
            (
                found.gets_along.after_s,
                found.recovered.after_s,
                found.longest_stall_s,
            ),
        )

    def test_what_breaks_down_again_has_not_recovered_before(self):
        found = responds(
            levels((60, 100), (30, 0), (60, 100), (30, 20), (60, 100)), 60, 90
        )
        self.assertTrue(80 <= found.recovered.after_s <= 90)

    def test_each_part_has_its_seconds_only(self):
        found = responds(
            levels((60, 100), (30, 10), (60, 90)), began=60.5, ended=88.5
        )
        self.assertEqual(
            [(60, 100, 100, 100), (29, 10, 10, 10), (61, 10, 90, 90)],
            [
                (part.seconds, part.least, part.median, part.most)
                for part in (found.before, found.during, found.after)
            ],
        )

    def test_seconds_that_may_be_the_faults_are_its_own(self):
        found = response.respond(
            series(levels((200, 100))), span(100, 120, clock_error_s=2.5)
        )
        self.assertEqual(
            (97, 26, 77),
            (found.before.seconds, found.during.seconds, found.after.seconds),
        )

    @ddt.data(2, 5, 40)
    def test_the_longest_stall(self, length):
        found = responds(
            levels((60, 100), (3, 0), (20, 60), (length, 0), (200, 100)),
            60,
            120,
        )
        self.assertAlmostEqual(
            max(3, length), found.longest_stall_s, delta=0.8
        )

    def test_a_stall_that_never_ends(self):
        found = responds(levels((60, 100), (90, 0)), 60, 100)
        self.assertEqual(90, found.longest_stall_s)
        self.assertEqual('not within these 50 s', found.recovered.reason)

    def test_less_latency_is_better(self):
        found = responds(
            levels((60, 5), (50, 900), (100, 5)), 60, 90, is_more_better=False
        )
        self.assertTrue(10 <= found.recovered.after_s <= 20)
        self.assertIsNone(found.longest_stall_s)
        worse = responds(
            levels((60, 5), (30, 1), (100, 1)), 60, 90, is_more_better=False
        )
        self.assertEqual(0, worse.recovered.after_s)

    def test_a_latency_of_a_second_without_completion_is_none(self):
        found = responds(
            levels((60, 5), (50, None), (100, 5)),
            60,
            90,
            is_more_better=False,
        )
        self.assertEqual(20, found.recovered.after_s)
        self.assertIsNone(found.during.mean)
        self.assertEqual(30, found.during.seconds)

    def test_a_wider_bound_is_met_sooner(self):
        known = series(levels((60, 100), (30, 0), (60, 85), (60, 100)))
        times = [
            response.respond(
                known,
                span(60, 90),
                response.ResponseRule(bound_percent=percent),
            ).recovered.after_s
            for percent in (10, 20)
        ]
        self.assertEqual([True, True], [52 < times[0] <= 60, times[1] <= 0])


@ddt.ddt
class UnknownTestCase(testtools.TestCase):
    @ddt.data(
        ((29, 100), (30, 0), (60, 100), '29 s before the fault'),
        ((60, 0), (30, 0), (60, 100), 'nothing was completed before'),
        ((60, 100), (30, 0), (20, 100), 'too short to tell: 20 s'),
        ((60, 100), (30, 0), (60, 50), 'not within these 60 s'),
    )
    @ddt.unpack
    def test_why_recovery_is_not_known(self, before, during, after, reason):
        found = responds(
            levels(before, during, after), before[0], before[0] + during[0]
        )
        self.assertIsNone(found.recovered.after_s)
        self.assertIn(reason, found.recovered.reason)

    def test_as_before_only_in_the_end(self):
        found = responds(levels((60, 100), (90, 0), (15, 100)), 60, 90)
        self.assertIsNone(found.recovered.after_s)
        self.assertIn('too late to tell', found.recovered.reason)

    def test_a_stall_before_the_fault(self):
        found = responds(
            levels((30, 100), (5, 0), (30, 100), (30, 0), (90, 100)), 65, 95
        )
        self.assertIn('a stall of 5 s before', found.recovered.reason)

    @ddt.data(
        (500, 510, 'ends before the fault begins'),
        (100, 510, 'ends before the fault does'),
        (-50, -40, '0 s before the fault'),
    )
    @ddt.unpack
    def test_a_fault_outside_of_the_series(self, began, ended, reason):
        found = responds(levels((200, 100)), began, ended)
        self.assertIn(reason, found.recovered.reason)
        self.assertIn(reason, found.gets_along.reason)

    def test_a_latency_that_was_none_before(self):
        found = responds(
            levels((50, 5), (1, None), (100, 5)), 60, 90, is_more_better=False
        )
        self.assertIn('nothing was completed', found.recovered.reason)

    @ddt.data((None,), (-1.0,), (float('nan'),), (float('inf'),))
    def test_values_that_are_not_possible_are_refused(self, values):
        self.assertRaises(
            ValueError, response.LoadSeries, begins_at=0.0, values=values
        )

    def test_a_span_ends_after_it_begins(self):
        self.assertRaises(ValueError, span, 10, 9)
        self.assertRaises(ValueError, span, 10, 11, clock_error_s=-1)

    @ddt.data({'window_s': 0}, {'bound_percent': -1}, {'bound_percent': 100})
    def test_a_rule_is_possible(self, numbers):
        self.assertRaises(ValueError, response.ResponseRule, **numbers)

    @given(
        strategies.lists(strategies.floats(0, 1e9), max_size=90),
        strategies.floats(-20, 120),
        strategies.floats(0, 120),
        strategies.booleans(),
    )
    def test_there_is_a_time_or_a_reason(self, values, began, length, more):
        found = responds(values, began, began + length, is_more_better=more)
        for moment in (found.recovered, found.gets_along):
            self.assertEqual(moment.after_s is None, bool(moment.reason))
        self.assertEqual(
            len(values),
            sum(
                part.seconds
                for part in (found.before, found.during, found.after)
            ),
        )


class SeveralTestCase(testtools.TestCase):
    """Faults one after the other, and at the same time."""

    def test_each_is_compared_with_what_was_before_all(self):
        found = response.respond_to_each(
            series(
                levels(
                    *((60, 100), (40, 20), (100, 60), (50, 0)),
                    *((30, 60), (120, 100)),
                )
            ),
            [span(60, 100), span(200, 240)],
        )
        self.assertEqual([100, 100], [each.before.median for each in found])
        # At 60 % until the next one began, it had not recovered.
        self.assertTrue(found[0].recovered.is_not_yet)
        self.assertEqual(100, found[0].after.seconds)
        self.assertTrue(30 <= found[1].recovered.after_s <= 40)
        self.assertEqual(0, found[0].longest_stall_s)
        self.assertAlmostEqual(50, found[1].longest_stall_s, delta=1)

    def test_the_order_of_spans_does_not_matter(self):
        known = series(levels((60, 100), (30, 0), (60, 100), (200, 90)))
        spans = [span(60, 80), span(160, 170)]
        self.assertEqual(
            response.respond_to_each(known, spans),
            response.respond_to_each(known, spans[::-1])[::-1],
        )

    def test_faults_at_the_same_time_cannot_be_told_apart(self):
        found = response.respond_to_each(
            series(levels((60, 100), (60, 50), (100, 100))),
            [span(60, 100), span(80, 120)],
        )
        for each in found:
            self.assertIn('at the same time', each.recovered.reason)
            self.assertFalse(each.recovered.is_not_yet)

    def test_one_alone_is_as_if_nobody_had_asked_for_several(self):
        known = series(levels((60, 100), (30, 0), (60, 100)))
        self.assertEqual(
            (response.respond(known, span(60, 80)),),
            response.respond_to_each(known, [span(60, 80)]),
        )
        self.assertEqual((), response.respond_to_each(known, []))


@ddt.ddt
class OfRunTestCase(testtools.TestCase):
    """Series of a run of guests, and the faults of the same time."""

    def answer(self, run, *, began=60, ended=80):
        (found,) = of_run.answers(
            run,
            [
                of_run.Made(
                    name='out',
                    target='osd.1',
                    began=EPOCH + began,
                    ended=EPOCH + ended,
                )
            ],
        )
        return found

    VALUES = levels((60, 100), (30, 0), (60, 100))

    def test_the_pattern_that_ran_then(self):
        found = self.answer(run_of(self.VALUES))
        self.assertEqual('x', found.run.name)
        self.assertEqual(30, found.iops.longest_stall_s)
        self.assertTrue(1 <= found.iops.recovered.after_s <= 10)

    @ddt.data((0.0, 60), (2500.0, 57), (None, 59))
    @ddt.unpack
    def test_clocks_that_may_be_off(self, error_ms, before_s):
        found = self.answer(run_of(self.VALUES, error_ms=error_ms))
        self.assertEqual(before_s, found.iops.before.seconds)

    @ddt.data(
        ({'values': ()}, {}, 'no guests sent values'),
        ({'values': VALUES, 'begins_ms': 5000}, {}, 'started by a volume'),
        (
            {'values': VALUES},
            {'began': 900, 'ended': 901},
            'no pattern was measured when it began',
        ),
    )
    @ddt.unpack
    def test_why_nothing_can_be_said(self, run, fault, reason):
        found = self.answer(run_of(**run), **fault)
        self.assertIsNone(found.iops)
        self.assertIn(reason, found.reason)

    def test_a_series_with_a_gap_is_refused(self):
        run = run_of(self.VALUES)
        (tier,) = run.tiers
        slot = tier.patterns[0].slots[0]
        bad = dataclasses.replace(
            slot, series=slot.series[:50] + slot.series[51:]
        )
        run = dataclasses.replace(
            run,
            tiers=(
                dataclasses.replace(
                    tier,
                    patterns=(
                        dataclasses.replace(tier.patterns[0], slots=(bad,)),
                    ),
                ),
            ),
        )
        error = self.assertRaises(ValueError, self.answer, run)
        self.assertIn('second 50', str(error))


def windows(*of_each, seconds=5, direction='write', begins_ms=EPOCH_MS):
    """Windows one after the other, of (how many, ms of each I/O, I/Os)."""
    found = []
    for how_many, each_ms, ios in of_each:
        for _ in range(how_many):
            begin_ms = begins_ms + 1000 * seconds * len(found)
            found.append(
                run_result.LatencyWindow(
                    direction=direction,
                    begin_ms=begin_ms,
                    end_ms=begin_ms + 1000 * seconds,
                    bins=((round(1e6 * each_ms), ios),),
                )
            )
    return tuple(found)


class LatenciesTestCase(testtools.TestCase):
    """A percentile around faults, by windows of five seconds."""

    def around(self, found, *spans):
        return latencies.around_each(found, [span(*each) for each in spans])

    def percentiles(self, found):
        return tuple(
            part.percentile_ms
            for part in (found.before, found.during, found.after)
        )

    def test_each_part_has_its_windows(self):
        known = windows((12, 10, 200), (4, 500, 200), (12, 20, 200))
        (found,) = self.around(known, (60, 80))
        self.assertIsNone(found.during.percentile_ms)
        self.assertEqual((10, None, 20), self.percentiles(found))
        self.assertEqual(
            (2400, 800, 2400),
            (found.before.ios, found.during.ios, found.after.ios),
        )
        self.assertEqual(
            ('p99 during: 800 I/Os, expected at least 1000',),
            found.reasons(),
        )

    def test_a_window_that_touches_the_fault_is_of_the_fault(self):
        known = windows((12, 10, 400), (4, 500, 400), (12, 20, 400))
        (found,) = self.around(known, (58, 81))
        self.assertEqual((10, 500, 20), self.percentiles(found))
        self.assertEqual(
            (11 * 400, 6 * 400, 11 * 400),
            (found.before.ios, found.during.ios, found.after.ios),
        )

    def test_clocks_that_may_be_off_widen_the_fault(self):
        known = windows((40, 10, 400))
        (found,) = latencies.around_each(
            known, [span(60, 80, clock_error_s=6)]
        )
        self.assertEqual(
            (10 * 400, 8 * 400, 22 * 400),
            (found.before.ios, found.during.ios, found.after.ios),
        )

    def test_after_ends_where_the_next_fault_begins(self):
        known = windows(
            *((12, 10, 300), (4, 500, 300), (8, 20, 300)),
            *((4, 700, 300), (8, 30, 300)),
        )
        second, first = self.around(known, (120, 140), (60, 80))
        self.assertEqual((10, 500, 20), self.percentiles(first))
        self.assertEqual((10, 700, 30), self.percentiles(second))

    def test_no_windows_are_no_percentiles(self):
        (found,) = self.around((), (0, 1))
        self.assertEqual((None,) * 3, self.percentiles(found))
        self.assertEqual(3, len(found.reasons()))
        self.assertEqual((), self.around(windows((1, 1, 1))))


class DirectionsTestCase(testtools.TestCase):
    """A mix of reads and writes."""

    READS = levels((60, 40), (30, 20), (60, 40))
    WRITES = levels((60, 60), (30, 0), (60, 60))

    def answers(self, **fields):
        return list(
            of_run.answers(
                run_of(
                    levels((60, 100), (30, 20), (60, 100)),
                    series_of_directions={
                        'read': self.READS,
                        'write': self.WRITES,
                    },
                    **fields,
                ),
                [
                    of_run.Made(
                        name='out',
                        target='osd.1',
                        began=EPOCH + 60,
                        ended=EPOCH + 90,
                    )
                ],
            )
        )

    def test_each_direction_has_an_answer_of_its_own(self):
        together, *found = self.answers()
        self.assertEqual(
            (None, 100, 20),
            (
                together.direction,
                together.iops.before.mean,
                together.iops.during.mean,
            ),
        )
        self.assertEqual(
            [('read', 40, 20, 0), ('write', 60, 0, 30)],
            [
                (
                    each.direction,
                    each.iops.before.mean,
                    each.iops.during.mean,
                    each.iops.longest_stall_s,
                )
                for each in found
            ],
        )
        self.assertEqual([None] * 2, [each.p99 for each in found])

    def test_latencies_are_those_of_the_direction(self):
        found = self.answers(
            latency_windows=(
                *windows((30, 2, 400), direction='read'),
                *windows((12, 10, 400), (6, 90, 400), (12, 20, 400)),
            )
        )
        self.assertEqual(
            [(10, 90, 20), (2, 2, 2), (10, 90, 20)],
            [
                (
                    each.p99.before.percentile_ms,
                    each.p99.during.percentile_ms,
                    each.p99.after.percentile_ms,
                )
                for each in found
            ],
        )


@ddt.ddt
class SimulatedTestCase(testtools.TestCase):
    """The truth is known, and found in nearly all of many series."""

    @ddt.data((0.05, 0.0), (0.15, 0.0), (0.10, 0.5))
    @ddt.unpack
    def test_recovery_is_found_within_a_window(self, deviation, correlation):
        generator = np.random.default_rng(20261124)
        right = 0
        for _ in range(200):
            late_s = int(generator.integers(0, 120))
            depth = generator.uniform(0, 60)
            found = responds(
                noisy(
                    generator,
                    levels((120, 100), (60 + late_s, depth), (300, 100)),
                    deviation,
                    correlation,
                ),
                120,
                180,
            )
            right += found.recovered.after_s is not None and (
                -RULE.window_s <= found.recovered.after_s - late_s <= 2
            )
        self.assertGreaterEqual(right, 190)

    @ddt.data((0.05, 0.0), (0.15, 0.0))
    @ddt.unpack
    def test_what_stays_worse_is_never_said_to_have_recovered(
        self, deviation, correlation
    ):
        generator = np.random.default_rng(20261125)
        wrong = sum(
            responds(
                noisy(
                    generator,
                    levels((120, 100), (60, 30), (300, 65)),
                    deviation,
                    correlation,
                ),
                120,
                180,
            ).recovered.after_s
            is not None
            for _ in range(200)
        )
        self.assertEqual(0, wrong)
