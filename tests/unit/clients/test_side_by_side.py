# SPDX-License-Identifier: Apache-2.0

"""Requests side by side: how many, in which order, and after an error."""

import threading
import time

import testtools

from cinder_tiers.clients import side_by_side


class SideBySideTestCase(testtools.TestCase):
    def test_so_many_are_under_way_and_no_more(self):
        lock, now, most = threading.Lock(), [0], [0]
        # Nobody gets on until there are so many.
        gate = threading.Barrier(4, timeout=60)

        def ask(item):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            gate.wait()
            with lock:
                now[0] -= 1
            return -item

        self.assertEqual(
            [-item for item in range(12)],
            side_by_side.each(ask, range(12), at_once=4),
        )
        self.assertEqual(4, most[0])

    def test_after_an_error_no_more_are_begun(self):
        asked = []

        def ask(item):
            asked.append(item)
            if item == 0:
                raise ValueError(item)
            time.sleep(0.01)

        self.assertRaises(
            ValueError, side_by_side.each, ask, range(1000), at_once=2
        )
        self.assertLess(len(asked), 1000)

    def test_nothing_is_asked_of_nobody(self):
        self.assertEqual([], side_by_side.each(abs, (), at_once=1))
