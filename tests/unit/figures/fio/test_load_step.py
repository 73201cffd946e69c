# SPDX-License-Identifier: Apache-2.0

"""Steps of a load curve: patterns with a rate and a name of their own."""

import dataclasses

import ddt
import testtools

from cinder_tiers.figures.fio import load_step
from cinder_tiers.figures.fio import pattern as fio_pattern

WRITE = fio_pattern.Pattern(name='w', rw='randwrite', bs='4k', iodepth=16)
READ = fio_pattern.Pattern(name='r', rw='randread', bs='4k')


@ddt.ddt
class LoadStepTest(testtools.TestCase):
    def test_each_pattern_gets_each_step(self):
        found = load_step.paced([WRITE, READ], [5, 20])
        self.assertEqual(
            [('w.r5', 5), ('w.r20', 20), ('r.r5', 5), ('r.r20', 20)],
            [(each.name, each.rate_iops) for each in found],
        )
        self.assertEqual(16, found[0].iodepth)
        self.assertEqual(
            ['w', 'w', 'r', 'r'],
            [load_step.curve_name(each) for each in found],
        )

    def test_the_guest_is_told_the_rate(self):
        (step,) = load_step.paced([WRITE], [5])
        profile = fio_pattern.Profile(
            region_mib=8, ramp_seconds=1, runtime_seconds=2
        )
        self.assertIn('--rate_iops=5', fio_pattern.measure_argv(step, profile))

    def test_processes_and_directions_are_each_asked_for_the_rate(self):
        self.assertIsNone(load_step.asked_iops(WRITE))
        mix = fio_pattern.Pattern(
            name='m', rw='randrw', bs='4k', numjobs=3, rate_iops=10
        )
        self.assertEqual(60, load_step.asked_iops(mix))

    @ddt.data([], [0], [5, 5], [5, 4])
    def test_steps_rise_from_1(self, steps):
        error = self.assertRaises(ValueError, load_step.paced, [WRITE], steps)
        self.assertIn(f'load_steps {steps}', str(error))

    @ddt.data(
        ({'rw': 'randrw'}, 'rw randrw reads and writes'),
        ({'numjobs': 2}, 'numjobs 2'),
        ({'rate_iops': 9}, 'it has rate_iops'),
        ({'rate_kib': 9}, 'it has rate_kib'),
        ({'bs': None, 'bssplit': '4k/100'}, 'it has bssplit'),
    )
    @ddt.unpack
    def test_what_cannot_be_paced_as_it_is_is_refused(self, change, found):
        wrong = dataclasses.replace(WRITE, **change)
        error = self.assertRaises(
            ValueError, load_step.paced, [READ, wrong], [5]
        )
        self.assertIn("load_steps with pattern 'w'", str(error))
        self.assertIn(found, str(error))
        self.assertNotIn("'r'", str(error))
