# SPDX-License-Identifier: Apache-2.0


"""A file of each process: what is written, what is removed, what is not."""

import os
import pathlib
import stat
import subprocess
import sys
import time

import ddt
import fixtures
import testtools

from cinder_tiers.doors import process_file

OWN = f'name-{os.getpid()}.prom'


@ddt.ddt
class ProcessFileTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.top = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.directory = self.top / 'metrics'
        self.directory.mkdir()
        self.file = process_file.ProcessFile(str(self.directory), 'name')

    def names(self):
        return sorted(path.name for path in self.directory.iterdir())

    def ended(self):
        """The id of a process that has ended."""
        process = subprocess.Popen([sys.executable, '-c', ''])
        process.wait(60)
        return process.pid

    def running(self):
        """The id of another process."""
        process = subprocess.Popen(
            [sys.executable, '-c', 'import sys; sys.stdin.read()'],
            stdin=subprocess.PIPE,
        )
        self.addCleanup(process.communicate)
        return process.pid

    def test_what_is_written_is_there_and_nothing_else(self):
        self.assertFalse(self.file.is_there())
        for data in (b'one', b'two'):
            self.file.replace(data)
            self.assertTrue(self.file.is_there())
            self.assertEqual([OWN], self.names())
            self.assertEqual(data, (self.directory / OWN).read_bytes())

    def test_another_user_can_read_it_whatever_the_umask(self):
        self.addCleanup(os.umask, os.umask(0o077))
        self.file.replace(b'any')
        self.assertEqual(
            0o644, stat.S_IMODE((self.directory / OWN).stat().st_mode)
        )

    def test_a_reader_never_sees_half_of_it(self):
        self.file.replace(b'one')
        with open(self.directory / OWN, 'rb') as reader:
            self.file.replace(b'two')
            self.assertEqual(b'one', reader.read())

    @ddt.data(OWN, f'{OWN}.tmp')
    def test_a_link_of_that_name_is_replaced_not_followed(self, name):
        target = self.top / 'target'
        target.write_bytes(b'of another')
        (self.directory / name).symlink_to(target)
        self.assertFalse(self.file.is_there())
        self.file.replace(b'any')
        self.assertEqual(b'of another', target.read_bytes())
        self.assertEqual([OWN], self.names())
        self.assertFalse((self.directory / OWN).is_symlink())

    def test_a_missing_directory_is_an_error_and_is_not_made(self):
        self.directory.rmdir()
        self.assertRaises(OSError, self.file.replace, b'any')
        self.assertRaises(OSError, self.file.remove_those_of_ended)
        self.assertFalse(self.directory.exists())

    def test_what_cannot_be_put_in_place_leaves_nothing(self):
        (self.directory / OWN).mkdir()
        self.assertRaises(OSError, self.file.replace, b'any')
        self.assertEqual([OWN], self.names())

    def test_files_of_ended_processes_are_removed(self):
        ended = self.ended()
        for name in (f'name-{ended}.prom', f'name-{ended}.prom.tmp'):
            (self.directory / name).touch()
        self.file.replace(b'any')
        self.file.remove_those_of_ended()
        self.assertEqual([OWN], self.names())

    def test_files_of_running_processes_stay(self):
        # That of process 1, which is another user's unless we are root, too.
        names = [f'name-{pid}.prom' for pid in (1, self.running())]
        for name in names:
            (self.directory / name).touch()
        self.file.remove_those_of_ended()
        self.assertEqual(sorted(names), self.names())

    def test_a_file_older_than_the_process_of_that_id_is_removed(self):
        # After the machine was booted, another program has the id.
        before = time.time() - 3600
        for pid in (self.running(), os.getpid()):
            path = self.directory / f'name-{pid}.prom'
            path.touch()
            os.utime(path, (before, before))
        self.file.remove_those_of_ended()
        self.assertEqual([], self.names())

    def test_no_other_file_is_removed(self):
        ended = self.ended()
        names = [
            name.format(ended)
            for name in (
                'other-{}.prom',
                'name2-{}.prom',
                'name-{}.txt',
                'name-{}.promo',
                'xname-{}.prom',
                'name-0{}.prom',
                'name-{}-1.prom',
                'name-.prom',
                'name--{}.prom',
                'name-0.prom',
                'name-{}.prom.tmp.tmp',
                'name-{}xprom',
                'name-{}.prom\n',
                'name-99999999999.prom',
                'name-\u0663.prom',
            )
        ]
        for name in names:
            (self.directory / name).touch()
        target = self.top / 'target'
        target.touch()
        (self.directory / f'name-{ended}.prom').symlink_to(target)
        (self.directory / f'name-{ended}.prom.tmp').mkdir()
        self.file.remove_those_of_ended()
        self.assertEqual(
            sorted([*names, f'name-{ended}.prom', f'name-{ended}.prom.tmp']),
            self.names(),
        )
        self.assertTrue(target.exists())

    def test_a_name_is_no_pattern(self):
        path = self.directory / f'nxme-{self.ended()}.prom'
        path.touch()
        process_file.ProcessFile(
            str(self.directory), 'n.me'
        ).remove_those_of_ended()
        self.assertTrue(path.exists())
