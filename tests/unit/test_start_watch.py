# SPDX-License-Identifier: Apache-2.0

"""When a guest of a functional test is seen to begin its load."""

import pathlib
import queue
import tempfile

import testtools

from tests.functional import start_watch

_WAIT_SECONDS = 60


class StartWatchTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.told = queue.SimpleQueue()

    def begin(self, guest, slot):
        """A guest's console, from its first line to a start."""
        console = self.folder / guest / 'console.log'
        console.parent.mkdir()
        line = f'@ctiers 0123456789abcdef 1f {guest} state\n@start {slot}\n'
        console.write_text(line)

    def seen(self):
        """(guest, slot) of the next start."""
        start = self.told.get(timeout=_WAIT_SECONDS)
        return start.guest, start.slot

    def test_a_start_is_seen_once_though_nova_renames_the_folder(self):
        with start_watch.StartWatch(self.folder, self.told.put) as watch:
            self.begin('g001', 3)
            self.assertEqual(('g001', 3), self.seen())
            (self.folder / 'g001').rename(self.folder / 'g001_del')
            # Seen only after the folder was listed again.
            self.begin('g002', 4)
            self.assertEqual(('g002', 4), self.seen())
        self.assertEqual(2, len(watch.starts))
        self.assertEqual({'g001'}, watch.of_slot(3).keys())
