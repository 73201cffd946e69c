# SPDX-License-Identifier: Apache-2.0

"""Patterns of I/O: what of them can be, and what they ask fio for."""

import shutil
import subprocess
import tempfile

import ddt
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from tests.unit.figures.fleet import test_schedule


@ddt.ddt
class ProfileTest(testtools.TestCase):
    @ddt.data(
        {'name': 'Rand Write'},
        {'name': ''},
        {'name': 'a;b'},
        {'rw': 'trim'},
        {'rw': 'randwrite\n--filename=/dev/vda'},
        {'bs': '0'},
        {'bs': '4kk'},
        {'bs': '4k --x'},
        {'bs': ''},
        {'iodepth': 0},
        {'iodepth': 2000},
        {'bs': None},
        {'numjobs': 0},
        {'bssplit': '4k/100'},
        {'bs': None, 'bssplit': '4k/50:8k/51'},
        {'bs': None, 'bsrange': '8k-4k'},
        {'ioengine': 'external:x'},
        {'bs': None, 'bssplit': '4k/100 --x'},
        {'rwmixread_percent': 50},
        {'rate_iops': 0},
        {'startdelay_seconds': -1},
        {'rw': 'randread', 'end_fsync': True},
        {'size_mib': 0},
    )
    def test_a_senseless_pattern_is_refused(self, wrong):
        right = {
            'name': 'randwrite-4k',
            'rw': 'randwrite',
            'bs': '4k',
            'iodepth': 16,
        }
        fio_pattern.Pattern(**right)
        error = self.assertRaises(
            ValueError, fio_pattern.Pattern, **{**right, **wrong}
        )
        self.assertIn(next(iter(wrong)), str(error))

    def test_all_wrong_fields_are_named_at_once(self):
        error = self.assertRaises(
            ValueError,
            fio_pattern.Pattern,
            name='X',
            rw='y',
            bs='z',
            iodepth=0,
        )
        for field in ('name', 'rw', 'bs', 'iodepth'):
            self.assertIn(field + ' ', str(error))

    @ddt.data(
        {'region_mib': 0},
        {'ramp_seconds': -1},
        {'runtime_seconds': 0},
        {'ioengine': 'libaio --x'},
    )
    def test_a_senseless_profile_is_refused(self, wrong):
        right = {'region_mib': 8, 'ramp_seconds': 0, 'runtime_seconds': 1}
        self.assertRaises(
            ValueError, fio_pattern.Profile, **{**right, **wrong}
        )

    @ddt.data(('4k', 4096), ('1m', 1048576), ('512', 512), ('8K', 8192))
    @ddt.unpack
    def test_block_sizes_are_powers_of_1024(self, bs, expected):
        self.assertEqual(
            expected,
            fio_pattern.Pattern(
                name='x', rw='read', bs=bs, iodepth=1
            ).bs_bytes,
        )

    def test_a_block_larger_than_the_region_is_refused(self):
        self.assertRaises(
            ValueError,
            fio_pattern.measure_argv,
            fio_pattern.Pattern(name='x', rw='read', bs='16m', iodepth=1),
            test_schedule.PROFILE,
        )

    @ddt.data(
        ('bssplit', '4k/60:64k/40', 65536), ('bsrange', '4k-1m', 1048576)
    )
    @ddt.unpack
    def test_the_largest_block_counts(self, option, value, expected):
        found = fio_pattern.Pattern(
            name='x', rw='read', iodepth=2, numjobs=3, **{option: value}
        )
        self.assertEqual(
            (expected, 6 * expected), (found.bs_bytes, found.in_flight_bytes)
        )

    def test_the_jobs_of_a_pattern_share_the_region_in_whole_blocks(self):
        words = fio_pattern.measure_argv(
            fio_pattern.Pattern(name='x', rw='write', bs='1m', numjobs=3),
            test_schedule.PROFILE,
        )
        self.assertIn(f'--size={2 * 1024**2}', words)
        self.assertIn(f'--offset_increment={2 * 1024**2}', words)
        self.assertRaises(
            ValueError,
            fio_pattern.measure_argv,
            fio_pattern.Pattern(name='x', rw='write', bs='1m', numjobs=9),
            test_schedule.PROFILE,
        )

    @ddt.data(
        None,
        test_schedule.SMALL,
        test_schedule.LARGE,
        fio_pattern.Pattern(
            name='x',
            rw='randrw',
            bssplit='4k/60:64k/40',
            numjobs=2,
            rwmixread_percent=10,
            ioengine='psync',
            rate_iops=10,
            rate_kib=100,
            size_mib=4,
            startdelay_seconds=1,
            end_fsync=True,
        ),
    )
    def test_fio_itself_accepts_the_arguments(self, pattern):
        """fio checks its options with --parse-only."""
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        argv = (
            fio_pattern.fill_argv(test_schedule.PROFILE)
            if pattern is None
            else fio_pattern.measure_argv(pattern, test_schedule.PROFILE)
        )
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ['fio', '--parse-only', f'--filename={folder}/f', *argv],
                capture_output=True,
                text=True,
            )
        self.assertEqual((0, ''), (done.returncode, done.stderr))
