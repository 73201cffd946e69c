# SPDX-License-Identifier: Apache-2.0
"""Tests of lab.host.loop_devices, on a listing of losetup(8) 2.38.1."""

import dataclasses
import os
import pathlib

import fixtures
import testtools

from lab.host import loop_devices

LISTING = """
{
   "loopdevices": [
      {
         "name": "/dev/loop1",
         "back-file": "/srv/lab/ceph/disks/osd.0.block",
         "maj:min": "  7:1  ",
         "dio": true,
         "back-ino": 11,
         "back-maj:min": "     254:0  "
      },{
         "name": "/dev/loop8",
         "back-file": "/srv/lab/ceph/disks/osd.3.block (deleted)",
         "maj:min": "  7:8  ",
         "dio": false,
         "back-ino": 18,
         "back-maj:min": "     254:0  "
      },{
         "name": "/dev/loop2",
         "back-file": "/srv/lab/ceph/disks-of-another/osd.0.block",
         "maj:min": "  7:2  ",
         "dio": true,
         "back-ino": 12,
         "back-maj:min": "     254:0  "
      },{
         "name": "/dev/loop3",
         "back-file": "/var/lib/snapd/snaps/core.snap",
         "maj:min": "  7:3  ",
         "dio": false,
         "back-ino": 13,
         "back-maj:min": "     254:0  "
      }
   ]
}
"""
FOLDER = pathlib.Path('/srv/lab/ceph/disks')


class ParseTest(testtools.TestCase):
    def test_only_devices_on_files_below_the_folder_are_returned(self):
        self.assertEqual(
            [
                loop_devices.LoopDevice(
                    path=pathlib.Path('/dev/loop1'),
                    number='7:1',
                    backing_file=FOLDER / 'osd.0.block',
                    direct_io=True,
                    removed=False,
                    inode=11,
                    file_system='254:0',
                ),
                loop_devices.LoopDevice(
                    path=pathlib.Path('/dev/loop8'),
                    number='7:8',
                    backing_file=FOLDER / 'osd.3.block',
                    direct_io=False,
                    removed=True,
                    inode=18,
                    file_system='254:0',
                ),
            ],
            loop_devices.parse_listing(LISTING, FOLDER),
        )

    def test_no_loop_device_at_all_is_an_empty_answer(self):
        self.assertEqual([], loop_devices.parse_listing('', FOLDER))


class IsSeenTest(testtools.TestCase):
    def test_a_lab_of_another_mount_namespace_has_other_files_of_that_name(
        self,
    ):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'disk'
        path.touch()
        status = path.stat()
        own = loop_devices.LoopDevice(
            path=pathlib.Path('/dev/loop1'),
            number='7:1',
            backing_file=path,
            direct_io=True,
            removed=False,
            inode=status.st_ino,
            file_system=(
                f'{os.major(status.st_dev)}:{os.minor(status.st_dev)}'
            ),
        )
        self.assertTrue(own.is_seen())
        for other in ({'inode': status.st_ino + 1}, {'file_system': '0:0'}):
            self.assertFalse(dataclasses.replace(own, **other).is_seen())
        path.unlink()
        self.assertFalse(own.is_seen())
        self.assertTrue(dataclasses.replace(own, removed=True).is_seen())


class MakeSparseTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.file = (
            pathlib.Path(self.useFixture(fixtures.TempDir()).path)
            / 'disks'
            / 'disk'
        )

    def test_a_new_file_has_its_size_and_takes_no_space(self):
        loop_devices.make_sparse(self.file, 2**34)
        found = self.file.stat()
        self.assertEqual((2**34, 0), (found.st_size, found.st_blocks))

    def test_a_file_with_data_is_left_as_it_is(self):
        self.file.parent.mkdir()
        self.file.write_bytes(b'data')
        loop_devices.make_sparse(self.file, 2**34)
        self.assertEqual(b'data', self.file.read_bytes())
