# SPDX-License-Identifier: Apache-2.0

"""What load curves show: known curves, and queues whose truth is known."""

import dataclasses
import math

import testtools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.headroom import curve as load_curve
from cinder_tiers.loop.headroom import load
from tests.unit.figures import results

P99 = expectations.find_quantity('p99_ms')
MEAN = expectations.find_quantity('mean_ms')


def curve(steps, *, quantity=P99):
    """Of {asked: ([done], [latencies])}, a value for each repeat."""
    return load_curve.Curve(
        tier='t',
        name='w',
        quantity=quantity,
        repeats=len(next(iter(steps.values()))[0]),
        steps=tuple(
            load_curve.Step(
                pattern=f'w.r{asked}',
                asked_iops=asked,
                volume_iops=asked,
                iops=tuple(iops),
                latencies_ms=tuple(latencies),
            )
            for asked, (iops, latencies) in steps.items()
        ),
    )


def of_queue(capacity, asked, *, factors=(0.99, 1, 1.01)):
    """The curve of M/M/1, in ms, with its factor in each repeat."""
    done = {each: min(each, 0.999 * capacity) for each in asked}
    return curve(
        {
            each: (
                [done[each] * (1 if each < capacity else f) for f in factors],
                [
                    1000 * math.log(100) / (capacity - done[each]) * f
                    for f in factors
                ],
            )
            for each in asked
        }
    )


def paced(name, asked, slots):
    """A pattern of a result that asked for a load."""
    found = results.run({'t': {f'{name}.r{asked}': slots}})
    (pattern,) = found.tiers[0].patterns
    return dataclasses.replace(
        pattern,
        asked=run_result.AskedLoad(curve=name, iops=asked, volume_iops=asked),
    )


def run(*patterns):
    found = results.run({'t': {}})
    return dataclasses.replace(
        found,
        tiers=(dataclasses.replace(found.tiers[0], patterns=patterns),),
    )


def curves(found):
    return [
        load_curve.of_run(found, tier, name, P99)
        for tier, name in load_curve.names(found)
    ]


class CurvesOfResultsTest(testtools.TestCase):
    def slot(self, iops, without=0):
        return results.slot([iops], clat_ms=[1] * 1000, without=without)

    def test_steps_are_in_order_of_load_and_unpaced_ones_left_out(self):
        plain = results.run({'t': {'w': [self.slot(9)]}})
        found = run(
            paced('w', 20, [self.slot(20), self.slot(19)]),
            *plain.tiers[0].patterns,
            paced('r', 5, [self.slot(5)]),
            paced('w', 10, [self.slot(10), self.slot(10)]),
        )
        write, read = curves(found)
        self.assertEqual(
            ('w', 'r', 2, 1),
            (write.name, read.name, write.repeats, read.repeats),
        )
        self.assertEqual(
            [(10, (10, 10)), (20, (20, 19))],
            [(step.asked_iops, step.iops) for step in write.steps],
        )
        self.assertEqual([], curves(plain))

    def test_a_repeat_that_a_step_lacks_is_in_no_step(self):
        (found,) = curves(
            run(
                paced('w', 10, [self.slot(10), self.slot(11)]),
                paced('w', 20, [self.slot(20, without=1), self.slot(21)]),
            )
        )
        self.assertEqual([(11,), (21,)], [step.iops for step in found.steps])

    def test_without_a_common_repeat_there_is_no_curve(self):
        found = run(
            paced('w', 10, [self.slot(10), self.slot(11, without=1)]),
            paced('w', 20, [self.slot(20, without=1), self.slot(21)]),
        )
        error = self.assertRaises(
            load_curve.CurveError, load_curve.of_run, found, 't', 'w', P99
        )
        self.assertIn('all guests of all 2 steps', str(error))

    def test_a_curve_is_read_whatever_the_others_lost(self):
        found = run(
            paced('lost', 10, [self.slot(10, without=1)]),
            paced('w', 10, [self.slot(10)]),
        )
        self.assertEqual([('t', 'lost'), ('t', 'w')], load_curve.names(found))
        self.assertEqual('w', load_curve.of_run(found, 't', 'w', P99).name)
        for tier, name in (('t', 'x'), ('other', 'w')):
            self.assertIsNone(load_curve.of_run(found, tier, name, P99))

    def test_a_percentile_of_too_few_ios_is_none(self):
        (found,) = curves(
            run(paced('w', 10, [results.slot([10], clat_ms=[1] * 99)]))
        )
        self.assertEqual((), found.steps[0].latencies_ms)
        self.assertIn('expected at least 1000 I/Os', found.steps[0].reason)
        self.assertIn('expected at least 1000', load.within(found, 5).reason)

    def test_runs_of_the_same_steps_are_repeats_of_one_curve(self):
        parts = [of_queue(100, [20, 40]) for _run in range(2)]
        found = load_curve.joined(parts)
        self.assertEqual((6, 6), (found.repeats, len(found.steps[0].iops)))
        self.assertEqual(parts[0], load_curve.joined(parts[:1]))
        error = self.assertRaises(
            load_curve.CurveError,
            load_curve.joined,
            [parts[0], of_queue(100, [20, 50])],
        )
        self.assertIn('different steps', str(error))
