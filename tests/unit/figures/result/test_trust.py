# SPDX-License-Identifier: Apache-2.0


import dataclasses
import math

import ddt
import testtools

from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.figures.stats import steadiness
from tests.unit.figures import results

CPU = guest_system.CpuUse(busy_percent=5, steal_percent=0.1)
STEADY = steadiness.judge(
    tuple((1000 * at, 100.0 + at % 3) for at in range(60))
)
HEALTHY = ceph_result.CephReading(
    release=('20.2.4',),
    health='HEALTH_OK',
    checks={},
    osds_down=(),
    osds_out=(),
    osd_boots={},
    pg_states={'active+clean': 8},
    client_options={},
    pools={},
)
KNOWN = run_result.Fact(value='known')


def slot(*, iops=100.0, ios=1000, cpu=CPU, steady=STEADY):
    found = results.slot([iops], clat_ms=range(1, ios + 1))
    return dataclasses.replace(
        found,
        guests=tuple(
            dataclasses.replace(guest, cpu=cpu) for guest in found.guests
        ),
        steadiness=steady,
    )


def run(*slots, **changes):
    """A run of which all is known, and good, but for what is changed."""
    found = results.run(
        {'general': {'x': list(slots) or [slot(), slot(), slot()]}},
        volume_types={'general': 'general'},
    )
    watch = ceph_result.CephWatch(before=HEALTHY, after=HEALTHY, unread=())
    return dataclasses.replace(
        found,
        tiers=(
            dataclasses.replace(
                found.tiers[0],
                backends=changes.get('backends', KNOWN),
                volume_types=changes.get('volume_types', KNOWN),
            ),
        ),
        ceph=changes.get('ceph', watch),
    )


def kinds(found):
    return [each.about for each in trust.caveats(found)]


@ddt.ddt
class CaveatsTest(testtools.TestCase):
    def test_there_are_none_only_if_all_is_known(self):
        self.assertEqual([], kinds(run()))

    @ddt.data(
        ('one repeat', [slot()], {}),
        ('too few I/Os', [slot(), slot(ios=999)], {}),
        (
            'steadiness not known',
            [slot(), slot(steady=steadiness.unknown('too short'))],
            {},
        ),
        ('host load not known', [slot(), slot(cpu=None)], {}),
        (
            'host load not known',
            [
                slot(),
                slot(cpu=dataclasses.replace(CPU, steal_percent=None)),
            ],
            {},
        ),
        ('placement not known', [], {'backends': results.UNKNOWN}),
        ('placement not known', [], {'backends': None}),
        ('placement not known', [], {'volume_types': results.UNKNOWN}),
        ('storage load not known', [], {'ceph': None}),
    )
    @ddt.unpack
    def test_what_is_not_known_is_a_caveat(self, about, slots, changes):
        self.assertEqual([about], kinds(run(*slots, **changes)))

    def test_files_that_were_not_asked_are_asked_now(self):
        wide = run(slot(iops=100.0), slot(iops=200.0))
        wide = dataclasses.replace(
            wide,
            tiers=(
                dataclasses.replace(
                    wide.tiers[0],
                    patterns=(
                        dataclasses.replace(
                            wide.tiers[0].patterns[0],
                            iops=trust.estimate(
                                wide.tiers[0].patterns[0].slots, 'iops'
                            ),
                        ),
                    ),
                ),
            ),
        )
        self.assertEqual(['spread'], kinds(wide))
        self.assertEqual([], kinds(dataclasses.replace(wide, doubts=())))

    def test_kinds_are_those_of_the_pattern_and_of_the_whole_run(self):
        found = [
            run_result.Caveat(about=about, text=text)
            for about, text in (
                ('stall', 'general x: long'),
                ('spread', 'general y: wide'),
                ('start skew', 'general: late'),
                ('one repeat', 'each pattern'),
            )
        ]
        self.assertEqual(
            ('stall', 'start skew', 'one repeat'),
            trust.kinds(found, _with_two_patterns(), 'general', 'x'),
        )

    @ddt.data(
        ('one repeat', [slot()]),
        (
            'no complete repeat',
            [dataclasses.replace(slot(), merged=None, guests=())],
        ),
        ('too few I/Os', [slot(), slot(ios=999)]),
        (
            'steadiness not known',
            [slot(), slot(steady=steadiness.unknown('too short'))],
        ),
        ('host load not known', [slot(), slot(cpu=None)]),
    )
    @ddt.unpack
    def test_what_is_not_known_of_one_tier_doubts_no_other(self, about, slots):
        known = run()
        bad = results.run({'other': {'x': slots}}).tiers[0]
        found = dataclasses.replace(
            known,
            tiers=(
                *known.tiers,
                dataclasses.replace(
                    bad, backends=KNOWN, volume_types=results.UNKNOWN
                ),
            ),
        )
        all_of_it = trust.caveats(found)
        self.assertEqual((), trust.kinds(all_of_it, found, 'general', 'x'))
        self.assertEqual(
            (about, 'placement not known'),
            trust.kinds(all_of_it, found, 'other', 'x'),
        )


def _with_two_patterns():
    return results.run({'general': {'x': [slot()], 'y': [slot()]}})


class PercentilesTest(testtools.TestCase):
    def test_one_of_too_few_ios_is_none(self):
        few, enough = slot(ios=999), slot(ios=1000)
        self.assertIsNone(trust.percentile_ns(few.merged.clat, 99))
        self.assertIsNone(trust.percentile_ns(enough.merged.clat, 99.9))
        self.assertEqual(
            990, round(trust.percentile_ns(enough.merged.clat, 99) / 1e6)
        )
        # That all repeats together have enough does not help.
        self.assertIsNone(trust.estimate([few, few], 'p99_ms'))
        self.assertIsNone(trust.estimate([enough, few], 'p99_ms'))
        self.assertEqual(
            990, round(trust.estimate([enough, enough], 'p99_ms').mean)
        )

    def test_dashes_have_one_reason_and_the_runtime_that_they_need(self):
        self.assertEqual(
            '"-" is a percentile with fewer than 10 I/Os of a repeat above it:'
            ' p99 is not known of 1 of 1 patterns of tiers (general x: 62 I/Os'
            ' of a repeat; needs runtime >= 97 s for p99); p99.9 is not known'
            ' of 1 of 1 patterns of tiers (general x: 62 I/Os of a repeat;'
            ' needs runtime >= 968 s for p99.9).',
            trust.why_dashes(run(slot(ios=62), slot())),
        )
        # 30 I/Os were in flight at its end.
        self.assertIn(
            'needs runtime >= 188 s for p99);',
            trust.why_dashes(run(slot(ios=62, iops=5.33), slot())),
        )
        self.assertEqual(
            '', trust.why_dashes(run(slot(ios=10000), slot(ios=10000)))
        )


class EstimateTest(testtools.TestCase):
    def test_it_is_the_mean_that_comparisons_have(self):
        found = trust.estimate([slot(iops=100.0), slot(iops=400.0)], 'iops')
        self.assertAlmostEqual(200, found.mean)
        self.assertAlmostEqual(200 * 200, found.low * found.high)
        self.assertTrue(0 < found.low < 100)

    def test_a_repeat_of_nothing_makes_it_nothing(self):
        found = trust.estimate([slot(iops=0.0), slot(iops=400.0)], 'iops')
        self.assertEqual((0, None, None), (found.mean, found.low, found.high))

    def test_repeats_that_differ_beyond_all_bounds_have_an_interval(self):
        found = trust.estimate([slot(iops=1e-300), slot(iops=1e18)], 'iops')
        self.assertEqual((0, math.inf), (found.low, found.high))
