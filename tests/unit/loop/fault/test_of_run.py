# SPDX-License-Identifier: Apache-2.0

"""How the patterns of a run responded to faults."""

import dataclasses

import ddt
import testtools

from cinder_tiers.loop.fault import of_run
from tests.unit.loop.fault import test_response


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
                    began=test_response.EPOCH + began,
                    ended=test_response.EPOCH + ended,
                )
            ],
        )
        return found

    VALUES = test_response.levels((60, 100), (30, 0), (60, 100))

    def test_the_pattern_that_ran_then(self):
        found = self.answer(test_response.run_of(self.VALUES))
        self.assertEqual('x', found.run.name)
        self.assertEqual(30, found.iops.longest_stall_s)
        self.assertTrue(1 <= found.iops.recovered.after_s <= 10)

    @ddt.data((0.0, 60), (2500.0, 57), (None, 59))
    @ddt.unpack
    def test_clocks_that_may_be_off(self, error_ms, before_s):
        found = self.answer(
            test_response.run_of(self.VALUES, error_ms=error_ms)
        )
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
        found = self.answer(test_response.run_of(**run), **fault)
        self.assertIsNone(found.iops)
        self.assertIn(reason, found.reason)

    def test_a_series_with_a_gap_is_refused(self):
        run = test_response.run_of(self.VALUES)
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


class DirectionsTestCase(testtools.TestCase):
    """A mix of reads and writes."""

    READS = test_response.levels((60, 40), (30, 20), (60, 40))
    WRITES = test_response.levels((60, 60), (30, 0), (60, 60))

    def answers(self, **fields):
        return list(
            of_run.answers(
                test_response.run_of(
                    test_response.levels((60, 100), (30, 20), (60, 100)),
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
                        began=test_response.EPOCH + 60,
                        ended=test_response.EPOCH + 90,
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
                *test_response.windows((30, 2, 400), direction='read'),
                *test_response.windows(
                    (12, 10, 400), (6, 90, 400), (12, 20, 400)
                ),
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
