# SPDX-License-Identifier: Apache-2.0

"""Result files with figures that no storage has: refused, or computed with."""

import json

import ddt
import testtools

from cinder_tiers.domain import record
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import trend
from tests.unit.figures import results
from tests.unit.figures.stats import figures_of_runs
from tests.unit.loop.report import runs

QUESTION = comparison.Question(
    quantities=('iops', 'mib_per_s', 'lat_mean_ms', 'read_lat_longest_ms')
)
SLOT = 'tiers[0].patterns[0].slots[0]'


def plain(run='a' * 16):
    """A result of two tiers with three repeats each, as it is in a file."""
    clat_ms = [1 + number / 100 for number in range(20)]
    slots = [
        results.slot(
            [iops],
            clat_ms=clat_ms,
            directions={'read': results.direction(iops, clat_ms, alone=True)},
        )
        for iops in (100, 110, 105)
    ]
    value = json.loads(
        run_result.write(
            results.run({tier: {'x': slots} for tier in ('slow', 'fast')})
        )
    )
    return {**value, 'run': run}


def read(value):
    return run_result.read(json.dumps(value))


@ddt.ddt
class ImpossibleFiguresTest(testtools.TestCase):
    @ddt.data(
        (('merged', 'iops'), 1e308),
        (('merged', 'iops'), 10**60),
        (('merged', 'bw_bytes'), -1),
        (('merged', 'directions', 'read', 'total_ios'), 10**60),
        (('merged', 'directions', 'read', 'iops'), -1),
        (('merged', 'directions', 'read', 'lat_moments', 'max_ns'), 10**60),
        (('merged', 'directions', 'read', 'lat_moments', 'mean_ns'), -0.5),
        (('guests', 0, 'iops'), 10**60),
        (('guests', 0, 'p99_ns'), -1),
        (('repeat',), 10**60),
    )
    @ddt.unpack
    def test_a_file_is_refused_by_the_name_of_the_figure(self, place, figure):
        value = plain()
        found = value['tiers'][0]['patterns'][0]['slots'][0]
        for name in place[:-1]:
            found = found[name]
        found[place[-1]] = figure
        error = self.assertRaises(record.RecordError, read, value)
        self.assertIn(SLOT, str(error))
        self.assertIn(f'{place[-1]} {str(figure)[:20]}: expected', str(error))

    def test_a_number_that_no_mean_is_of_is_refused_by_its_place(self):
        value = plain()
        slot = value['tiers'][0]['patterns'][0]['slots'][0]
        slot['merged']['clat']['bins'][0][0] = 10**400
        error = self.assertRaises(record.RecordError, read, value)
        self.assertIn(f'{SLOT}.merged.clat.bins[0][0]: found', str(error))

    def test_directions_that_a_repeat_lacks_are_refused(self):
        run = runs.run(
            tiers=('slow',), patterns=1, repeats=2, guests=1, seconds=3
        )
        value = json.loads(run_result.write(run))
        pattern = value['tiers'][0]['patterns'][0]
        self.assertEqual(['read'], list(pattern['directions']))
        pattern['slots'][0]['merged']['directions'] = None
        error = self.assertRaises(record.RecordError, read, value)
        self.assertIn(
            'directions read: expected those of each complete repeat; repeat 1'
            ' has none',
            str(error),
        )

    @ddt.data(
        (('tiers',), 'tier slow'),
        (('profile', 'patterns'), 'pattern of the profile x'),
        (('tiers', 0, 'patterns'), 'tier slow: pattern x'),
        (
            ('tiers', 0, 'patterns', 0, 'slots'),
            'tier slow: pattern x: repeat 1',
        ),
        (
            ('tiers', 0, 'patterns', 0, 'slots', 0, 'guests'),
            'tier slow: pattern x: repeat 1: guest g000',
        ),
    )
    @ddt.unpack
    def test_what_stands_twice_is_refused_and_never_counts_twice(
        self, place, told
    ):
        value = plain()
        found = value
        for name in place:
            found = found[name]
        found.append(found[0])
        error = self.assertRaises(record.RecordError, read, value)
        self.assertEqual(f'{told} stands 2 times: expected once', str(error))

    def test_what_is_possible_is_compared_however_odd(self):
        for iops in (0, 5e-324, 10**18):
            value = plain()
            merged = value['tiers'][0]['patterns'][0]['slots'][0]['merged']
            merged['iops'] = iops
            merged['directions']['read']['total_ios'] = 0
            found = read(value)
            claims = comparison.tiers_of_run(found, QUESTION).claims
            self.assertEqual(
                {comparison.DifferenceFinding.CANNOT_TELL},
                {claim.finding for claim in claims},
            )
            # A total latency of no I/O is none, not a division by 0.
            self.assertIn(
                'no I/O was done',
                {c.quantity: c.reason for c in claims}['lat_mean_ms'],
            )
            trend.over_time(
                [found, read(plain(run='b' * 16))], QUESTION.quantities
            )

    def test_the_noise_of_any_figures_is_a_number(self):
        found = figures_of_runs.difference(
            [5e-324, 1e18], [5e-324, 1e18], resolution=0.01
        )
        self.assertGreater(found.variation_percent, 1e100)
