# SPDX-License-Identifier: Apache-2.0

"""What is on the disk of a file that is written, and when."""

import os
import pathlib
import tempfile
from unittest import mock

import testtools

from cinder_tiers.files import write_atomic


class WriteAtomicTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.path = os.path.join(self.folder, 'a')
        #: What was told to be on the disk, and whether the name was there.
        self.synced = []
        fsync = os.fsync

        def note(handle):
            path = os.readlink(f'/proc/self/fd/{handle}')
            size = 0 if os.path.isdir(path) else os.path.getsize(path)
            self.synced.append((path == self.folder, size, self.content()))
            fsync(handle)

        patch = mock.patch.object(os, 'fsync', note)
        patch.start()
        self.addCleanup(patch.stop)

    def content(self):
        path = pathlib.Path(self.path)
        return path.read_text() if path.exists() else None

    def test_a_name_is_given_to_what_is_on_the_disk(self):
        write_atomic.write(self.path, 'one', replace=False)
        write_atomic.write(self.path, 'other', replace=True)
        self.assertEqual([(False, 3, None), (False, 5, 'one')], self.synced)
        self.assertEqual('other', self.content())

    def test_a_new_folder_has_its_name_on_the_disk(self):
        folder = os.path.join(self.folder, 'b', 'c')
        write_atomic.make_folder(folder)
        self.assertEqual(0o700, os.stat(folder).st_mode & 0o777)
        # One name is in the folder of the test, and one in the new one.
        self.assertEqual([False, True], [one[0] for one in self.synced])
        self.synced.clear()
        write_atomic.make_folder(folder)
        self.assertEqual([], self.synced)

    def test_a_durable_one_has_its_name_on_the_disk(self):
        for replace, before in ((False, None), (True, 'one')):
            self.synced.clear()
            write_atomic.write(
                self.path, 'one', replace=replace, is_durable=True
            )
            self.assertEqual(
                [(False, 3, before), (True, 0, 'one')], self.synced
            )
