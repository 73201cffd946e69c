# SPDX-License-Identifier: Apache-2.0

"""Disks that must not be overwritten; real ones are in the functional tests.

The kernel's files are imitated here in a folder, since a unit test makes no
devices; the device itself is one of this machine, and is only looked at.
"""

import os
import pathlib

import ddt
import fixtures
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.layers import host_file
from rally_scenarios.plugins.layers import process
from rally_scenarios.plugins.layers import raw_disk


def disk(device, **of_disk):
    return host_file.RawDisk(device_class='hdd', device=str(device), **of_disk)


@ddt.ddt
class RawDeviceTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    @ddt.data(
        ({'partitions': ('sdx1',)}, 'has partitions: sdx1'),
        ({'holders': ('dm-0',)}, 'is part of dm-0'),
        ({'mounted_at': ('/srv',)}, 'is mounted at /srv'),
        ({'is_swap': True}, 'is used as swap'),
        ({'signatures': ('gpt', 'LVM2_member')}, 'gpt, LVM2_member'),
    )
    @ddt.unpack
    def test_each_use_of_a_disk_speaks_against_it(self, found, told):
        (reason,) = raw_disk.reasons_against_writing(
            raw_disk.DeviceFacts(size_bytes=1, **found)
        )
        self.assertIn(told, reason)

    def test_an_empty_disk_may_be_written(self):
        self.assertEqual(
            [],
            raw_disk.reasons_against_writing(
                raw_disk.DeviceFacts(size_bytes=1)
            ),
        )

    def test_a_file_is_no_disk(self):
        file = self.folder / 'disk.img'
        file.write_bytes(b'\0' * 4096)
        for check in (
            lambda: raw_disk.check_readable(disk(file), 1),
            lambda: raw_disk.observe(str(file)),
        ):
            self.assertIn(
                'is not a block device',
                str(self.assertRaises(process.LayerError, check)),
            )

    def test_a_disk_that_is_not_there_is_told(self):
        error = self.assertRaises(
            process.LayerError,
            raw_disk.check_readable,
            disk(self.folder / 'sdx'),
            1,
        )
        self.assertIn('No such file', str(error))

    def test_nothing_is_claimed_that_was_not_named_for_it(self):
        def claim():
            with raw_disk.claimed(disk('/dev/sdx')):
                self.fail('claimed')

        error = self.assertRaises(process.LayerError, claim)
        self.assertIn('may_be_overwritten', str(error))

    def test_what_the_kernel_says_of_a_device(self):
        devices = [
            path
            for path in pathlib.Path('/dev').glob('*')
            if path.is_block_device() and os.access(path, os.R_OK)
        ]
        if not devices:
            self.skipTest('no block device may be read here')
        number = os.stat(devices[0]).st_rdev
        number = f'{os.major(number)}:{os.minor(number)}'
        sysfs, mounts, swaps = (
            self.folder / name for name in ('sys', 'mountinfo', 'swaps')
        )
        kernel = self.folder / 'devices' / 'sdx'
        (kernel / 'sdx1').mkdir(parents=True)
        (kernel / 'sdx1' / 'partition').write_text('1\n')
        (kernel / 'holders' / 'dm-3').mkdir(parents=True)
        (kernel / 'size').write_text('2048\n')
        sysfs.mkdir()
        (sysfs / number).symlink_to(kernel)
        mounts.write_text(
            f'36 35 {number} / /srv/a rw - ext4 /dev/sdx rw\n'
            '37 35 0:5 / /proc rw - proc proc rw\n'
        )
        swaps.write_text(
            'Filename Type Size Used Priority\n/dev/sdx partition 1 0 -2\n'
        )
        found = raw_disk.observe(str(devices[0]), sysfs, mounts, swaps)
        self.assertEqual(
            (1024**2, ('sdx1',), ('dm-3',), ('/srv/a',), True),
            (
                found.size_bytes,
                found.partitions,
                found.holders,
                found.mounted_at,
                found.is_swap,
            ),
        )
