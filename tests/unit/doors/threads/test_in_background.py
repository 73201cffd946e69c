# SPDX-License-Identifier: Apache-2.0


import subprocess
import sys
import threading

import fixtures
import testtools

from cinder_tiers.doors.threads import in_background

# As cinder-scheduler by default: in a process of its own, since a process
# cannot be unpatched. Requests are green threads that never wait long.
GREEN = """
import eventlet
eventlet.monkey_patch()
from cinder_tiers.doors.threads import in_background
handled = []
background = in_background.InBackground('any', handled.append, queue_size=9)
def request(number):
    for part in range(3):
        print(background.leave((number, part)), end=' ')
        eventlet.sleep(0)
for green in [eventlet.spawn(request, number) for number in range(2)]:
    green.wait()
print(background.wait(60), sorted(handled) == [
    (number, part) for number in range(2) for part in range(3)])
"""


class InBackgroundTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.handled = []
        self.released = threading.Event()
        self.addCleanup(self.released.set)

    def start(self, handle=None, queue_size=100):
        return in_background.InBackground(
            'any', handle or self.handled.append, queue_size=queue_size
        )

    def handle_when_released(self, item):
        self.released.wait(60)
        self.handled.append(item)

    def test_all_is_handled_in_order(self):
        background = self.start()
        for item in range(50):
            self.assertTrue(background.leave(item))
        self.assertTrue(background.wait(60))
        self.assertEqual(list(range(50)), self.handled)

    def test_none_is_lost_of_many_threads(self):
        background = self.start(queue_size=1000)
        threads = [
            threading.Thread(target=background.leave, args=(item,))
            for item in range(64)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertTrue(background.wait(60))
        self.assertEqual(list(range(64)), sorted(self.handled))

    def test_who_leaves_something_does_not_wait_for_it(self):
        background = self.start(self.handle_when_released)
        self.assertTrue(background.leave('item'))
        self.assertFalse(background.wait(0.05))
        self.assertEqual([], self.handled)
        self.released.set()
        self.assertTrue(background.wait(60))
        self.assertEqual(['item'], self.handled)

    def test_what_finds_no_room_is_told(self):
        background = self.start(self.handle_when_released, queue_size=2)
        left = [background.leave(item) for item in range(10)]
        # One more may be under way already.
        self.assertIn(sum(left), (2, 3))
        self.released.set()
        self.assertTrue(background.wait(60))
        self.assertEqual(
            [item for item, found_room in enumerate(left) if found_room],
            self.handled,
        )

    def test_an_error_is_logged_and_ends_nothing(self):
        log = self.useFixture(fixtures.FakeLogger())

        def handle(item):
            self.handled.append(1 // item)

        background = self.start(handle)
        for item in (0, 1):
            background.leave(item)
        self.assertTrue(background.wait(60))
        self.assertEqual([1], self.handled)
        self.assertIn('ZeroDivisionError', log.output)

    def test_without_any_item_there_is_nothing_to_wait_for(self):
        self.assertTrue(self.start().wait(0))

    def test_under_eventlet_all_is_handled_too(self):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', GREEN],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(['True'] * 8, done.stdout.split(), done.stderr)
