# SPDX-License-Identifier: Apache-2.0

"""Threads that read guests, and how often they ask."""

import threading
import time

import testtools

from rally_scenarios.guest import orders
from rally_scenarios.plugins.transport import readers
from tests.unit.rally.transport import test_collector


class PaceTest(testtools.TestCase):
    def test_so_many_a_second_and_no_debt_is_kept(self):
        now, turns = [100.0], []

        def sleep(seconds):
            now[0] += seconds

        pace = readers.RequestPace(4, clock=lambda: now[0], sleep=sleep)
        for pause in (0, 0, 0, 10, 0):
            now[0] += pause
            pace.wait()
            turns.append(now[0] - 100)
        self.assertEqual([0, 0.25, 0.5, 10.5, 10.75], turns)


class ReadersTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.names = [orders.guest_name(number) for number in range(12)]
        self.now = 1000.0
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)

    def made(self, **options):
        made = readers.Readers(
            self.names, slow_seconds=2, clock=lambda: self.now, **options
        )
        self.addCleanup(made.close)
        return made

    def hang(self):
        self.go_on.wait(test_collector.SECONDS)
        return 'late'

    def all_finished(self, made, count):
        found = []
        deadline = time.monotonic() + test_collector.SECONDS
        while len(found) < count:
            self.assertLess(time.monotonic(), deadline)
            found += made.finished(0.5)
        return [(name, future.result()) for name, future in found]

    def test_a_guest_is_read_by_one_thread_and_not_more_than_asked_for(self):
        made = self.made(readers=2)
        self.assertTrue(made.start('g000', self.hang))
        self.assertFalse(made.start('g000', self.hang))
        self.assertTrue(made.start('g001', self.hang))
        self.assertFalse(made.start('g002', self.hang))
        self.go_on.set()
        self.assertEqual(
            {('g000', 'late'), ('g001', 'late')},
            set(self.all_finished(made, 2)),
        )
        self.assertTrue(made.start('g002', str))

    def hang_all(self, made, names):
        """Each becomes slow before the next one is started."""
        for name in names:
            self.assertTrue(made.start(name, self.hang))
            self.now += 3

    def test_those_that_hang_leave_their_places_to_others(self):
        """Eight of them with one reader."""
        made = self.made(readers=1)
        self.hang_all(made, self.names[:8])
        self.assertTrue(made.start('g008', str))
        self.assertEqual([('g008', '')], self.all_finished(made, 1))

    def test_not_before_they_are_slow(self):
        made = self.made(readers=1)
        made.start('g000', self.hang)
        self.now += 2
        self.assertFalse(made.start('g001', str))
        self.now += 0.1
        self.assertTrue(made.start('g001', str))

    def test_there_is_an_end_to_those_who_are_waited_for(self):
        made = self.made(readers=1)
        self.hang_all(made, self.names[:9])
        self.assertFalse(made.start('g009', str))

    def test_who_was_slow_is_not_tried_again_while_many_are(self):
        made = self.made(readers=1)
        self.hang_all(made, ('g000',))
        self.go_on.set()
        self.all_finished(made, 1)
        self.go_on.clear()
        self.hang_all(made, ('g001', 'g002'))
        self.assertFalse(made.start('g000', str))
        self.assertTrue(made.start('g003', str))
        self.go_on.set()
        self.all_finished(made, 3)
        self.assertTrue(made.start('g000', str))
        # It is quick again: the one place of those is taken.
        self.all_finished(made, 1)
        self.go_on.clear()
        made.start('g000', self.hang)
        self.assertFalse(made.start('g004', str))

    def test_what_is_done_comes_in_the_order_of_guests(self):
        made = self.made(readers=12)
        most, deadline = 0, time.monotonic() + test_collector.SECONDS
        # All may be done at once, or one after another.
        while most < 2:
            self.assertLess(time.monotonic(), deadline)
            self.go_on.clear()
            for name in reversed(self.names):
                self.assertTrue(made.start(name, self.hang))
            self.go_on.set()
            time.sleep(0.1)
            left = len(self.names)
            while left:
                names = [
                    name
                    for name, _future in made.finished(test_collector.SECONDS)
                ]
                self.assertEqual(sorted(names), names)
                left -= len(names)
                most = max(most, len(names))

    def test_closing_waits_for_nobody(self):
        made = self.made(readers=1)
        made.start('g000', self.hang)
        began = time.monotonic()
        made.close()
        self.assertLess(time.monotonic() - began, test_collector.SECONDS / 2)
