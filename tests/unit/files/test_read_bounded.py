# SPDX-License-Identifier: Apache-2.0


"""Files, pipes and what else may stand where a file is named."""

import os
import pathlib
import socket
import threading
import time

import fixtures
import testtools

from cinder_tiers.files import read_bounded

MAX_BYTES = 300_000


class ReadBoundedTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'file'
        )

    def read(self, path):
        return read_bounded.read(path, max_bytes=MAX_BYTES)

    def refused(self, path):
        return self.assertRaises(OSError, self.read, path).strerror

    def written_by(self, write):
        """Path of a pipe, such as that of `<(...)`, that a thread writes."""
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)

        def run():
            with open(write_end, 'wb', buffering=0) as stream:
                write(stream)

        writer = threading.Thread(target=run)
        writer.start()
        self.addCleanup(writer.join)
        return f'/dev/fd/{read_end}'

    def test_a_file_is_read_up_to_the_limit(self):
        pathlib.Path(self.path).write_bytes(b'x' * (MAX_BYTES + 5))
        self.assertEqual(b'x' * MAX_BYTES, self.read(self.path))

    def test_an_empty_file_is_empty(self):
        pathlib.Path(self.path).touch()
        self.assertEqual(b'', self.read(self.path))

    def test_a_pipe_is_read_to_its_end(self):
        def write(stream):
            for part in (b'a', b'b' * 100_000, b'c'):
                time.sleep(0.1)
                stream.write(part)

        self.assertEqual(
            b'a' + b'b' * 100_000 + b'c', self.read(self.written_by(write))
        )

    def test_a_pipe_without_end_is_read_up_to_the_limit(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)

        def write():
            with open(write_end, 'wb', buffering=0) as stream:
                stream.write(b'x' * MAX_BYTES)
                read.wait()

        read = threading.Event()
        writer = threading.Thread(target=write)
        writer.start()
        self.addCleanup(writer.join)
        self.addCleanup(read.set)
        self.assertEqual(b'x' * MAX_BYTES, self.read(f'/dev/fd/{read_end}'))

    def test_a_named_pipe_with_a_writer_is_read(self):
        os.mkfifo(self.path)
        # opened for both, as no reader is there yet
        with open(os.open(self.path, os.O_RDWR), 'wb', buffering=0) as stream:
            stream.write(b'text')
            threading.Timer(0.2, stream.close).start()
            self.assertEqual(b'text', self.read(self.path))

    def test_devices_sockets_and_folders_are_told(self):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path)
            self.assertEqual('a socket, not a file', self.refused(self.path))
        self.assertEqual(
            'a character device, not a file', self.refused('/dev/zero')
        )
        self.assertEqual('Is a directory', self.refused('/'))
