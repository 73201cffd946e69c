# SPDX-License-Identifier: Apache-2.0
"""The watch on guests' starts, with files that grow as consoles do."""

import pathlib
import time

import fixtures
import testtools

from tests.functional import start_watch
from tests.unit.guest import console_text


class StartWatchTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, guest, text):
        folder = self.folder / f'instance-of-{guest}'
        folder.mkdir(exist_ok=True)
        with (folder / 'console.log').open('a') as console:
            console.write(text)

    def boot(self, *guests):
        for guest in guests:
            self.write(guest, console_text.event(1, 'BOOT', guest=guest))

    def wait_for(self, count, watch):
        deadline = time.monotonic() + 20
        while len(watch.starts) < count:
            self.assertLess(time.monotonic(), deadline, watch.starts)
            time.sleep(0.01)

    def test_starts_are_seen_with_the_time_between_two_looks(self):
        self.boot('g000', 'g001')
        with start_watch.StartWatch(self.folder) as watch:
            time.sleep(0.1)
            before = time.monotonic()
            self.write('g000', '@start 3\r\n')
            between = time.monotonic()
            time.sleep(0.3)
            self.write('g001', '[  1.0] kernel: @sta')
            self.write('g001', 'rt 3\r\n')
            self.wait_for(2, watch)
        first, second = (watch.of_slot(3)[name] for name in ('g000', 'g001'))
        self.assertTrue(
            first.since_seconds <= between and before <= first.seconds, first
        )
        skew, more = start_watch.skew_seconds([first, second])
        self.assertGreaterEqual(skew + more, 0.3)
        self.assertEqual({}, watch.of_slot(0))

    def test_a_console_that_appears_began_since_the_last_list(self):
        with start_watch.StartWatch(self.folder) as watch:
            time.sleep(0.1)
            before = time.monotonic()
            self.boot('g007')
            self.write('g007', '@start 0\n')
            self.wait_for(1, watch)
        (start,) = watch.starts
        self.assertEqual('g007', start.guest)
        self.assertTrue(start.since_seconds <= before <= start.seconds)
