# SPDX-License-Identifier: Apache-2.0

import subprocess
import sys
import threading
import time

import fixtures
import testtools

from cinder_tiers.doors.images import bounded_calls

# cinder-scheduler runs under eventlet by default: the same, in a process of
# its own, since a process cannot be unpatched.
GREEN = """
import eventlet
eventlet.monkey_patch()
import time
from cinder_tiers.doors.images import bounded_calls
calls = bounded_calls.BoundedCalls()
ticks = []
def tick():
    while True:
        ticks.append(1)
        time.sleep(0.01)
eventlet.spawn(tick)
def start(function):
    future = calls.admit(function, project='p', max_calls=1)
    calls.launch(future)
    return future
print(start(lambda: 'result').result(60))
hung = start(lambda: time.sleep(6))
try:
    hung.result(0.3)
except TimeoutError:
    print('timeout')
queued = start(lambda: 'queued')
print(calls.under_way, calls.waiting)
print(queued.result(60))
print('others ran' if len(ticks) > 5 else 'others were blocked')
"""


class BoundedCallsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.calls = bounded_calls.BoundedCalls()
        self.released = threading.Event()
        self.addCleanup(self.released.set)

    def hang(self):
        self.released.wait(60)

    def start(self, function, project='us', max_calls=1, **kind):
        future = self.calls.admit(
            function, project=project, max_calls=max_calls, **kind
        )
        self.calls.launch(future)
        return future

    def assert_counts(self, under_way, waiting):
        self.assertEqual(
            (under_way, waiting), (self.calls.under_way, self.calls.waiting)
        )

    def test_the_result_comes_back(self):
        self.assertEqual(5, self.start(lambda: 5).result(60))
        self.assert_counts(0, 0)

    def test_an_error_comes_back(self):
        future = self.start(lambda: 1 // 0)
        self.assertRaises(ZeroDivisionError, future.result, 60)
        self.assert_counts(0, 0)

    def test_also_what_is_no_exception_comes_back(self):
        """Whoever waits must not wait for ever."""
        future = self.start(sys.exit)
        self.assertIsInstance(future.exception(60), SystemExit)
        self.assert_counts(0, 0)

    def test_who_starts_a_call_does_not_wait_for_it(self):
        started = time.monotonic()
        futures = [self.start(self.hang) for _ in range(2)]
        self.assertThat(
            time.monotonic() - started, testtools.matchers.LessThan(30)
        )
        self.assert_counts(1, 1)
        self.assertEqual(
            [True, False], [future.running() for future in futures]
        )

    def test_an_abandoned_call_keeps_its_place_until_it_returns(self):
        self.start(self.hang)
        further = self.start(lambda: 5)
        self.assertRaises(TimeoutError, further.result, 0.2)
        self.released.set()
        self.assertEqual(5, further.result(10))
        self.assert_counts(0, 0)

    def test_a_call_that_fails_makes_room_for_the_next(self):
        def fail():
            self.hang()
            raise ZeroDivisionError

        futures = [self.start(fail) for _ in range(3)]
        self.released.set()
        for future in futures:
            self.assertIsInstance(future.exception(10), ZeroDivisionError)
        self.assert_counts(0, 0)

    def test_a_call_that_is_cancelled_in_the_queue_is_not_made(self):
        made = []
        self.start(self.hang)
        first, second, third = (
            self.start(lambda number=number: made.append(number))
            for number in range(3)
        )
        self.calls.cancel(second, project='us')
        self.assertTrue(second.cancelled())
        self.assert_counts(1, 2)
        self.released.set()
        third.result(10)
        self.assertEqual([0, 2], made)

    def test_a_call_that_has_begun_is_not_cancelled(self):
        begun = self.start(self.hang)
        self.calls.cancel(begun, project='us')
        self.assert_counts(1, 0)
        self.released.set()
        self.assertIsNone(begun.result(10))

    def test_the_queue_forgets_what_is_cancelled(self):
        """While Glance hangs, requests come and go without end."""
        hung = self.start(self.hang)
        for number in range(100):
            project = f'p{number % 7}'
            self.calls.cancel(self.start(self.hang, project), project=project)
        self.assert_counts(1, 0)
        self.released.set()
        self.assertIsNone(hung.result(10))

    def test_the_queue_serves_one_project_after_the_other(self):
        served = []
        self.start(self.hang, 'before')
        futures = [
            self.start(lambda project=project: served.append(project), project)
            for project in 'aaaabbc'
        ]
        self.released.set()
        for future in futures:
            future.result(10)
        self.assertEqual(list('abcabaa'), served)

    def test_one_project_has_half_of_the_calls(self):
        """What it lets hang leaves the other half to the others."""
        for _ in range(40):
            self.start(self.hang, 'slow', max_calls=16)
        self.assert_counts(8, 32)
        self.assertEqual(5, self.start(lambda: 5, max_calls=16).result(10))
        for _ in range(40):
            self.start(self.hang, max_calls=16)
        self.assert_counts(16, 64)

    def test_one_project_has_one_call_at_least(self):
        for max_calls in (1, 2, 3):
            calls = bounded_calls.BoundedCalls()
            for _ in range(4):
                calls.launch(
                    calls.admit(self.hang, project='us', max_calls=max_calls)
                )
            self.assertEqual(1, calls.under_way)

    def test_a_call_that_is_admitted_begins_when_it_is_launched(self):
        made = []
        first = self.calls.admit(
            lambda: made.append(1), project='us', max_calls=1
        )
        further = self.start(lambda: made.append(2))
        self.assertEqual([], made)
        self.assert_counts(1, 1)
        for _ in range(2):  # whoever shares a call may launch it, too
            self.calls.launch(first)
        further.result(5)
        self.assertEqual([1, 2], made)
        self.assert_counts(0, 0)

    def test_one_call_that_ends_lets_all_begin_that_it_held_up(self):
        """One by its project, and one by being a search."""
        ended = threading.Event()

        def start(project, function=self.hang, **kind):
            return self.start(function, project, max_calls=16, **kind)

        first = start('us', lambda: ended.wait(60), is_name_search=True)
        for _ in range(3):
            start('us', is_name_search=True)
        for _ in range(4):
            start('us')
            start('them', is_name_search=True)
        ours = start('us')
        search = start('others', lambda: 5, is_name_search=True)
        self.assert_counts(12, 2)
        ended.set()
        self.assertTrue(first.result(10))
        self.assertEqual(5, search.result(10))
        self.assertTrue(ours.running())
        self.assert_counts(12, 0)

    def test_who_waits_begins_when_another_cannot(self):
        first = self.calls.admit(lambda: 5, project='us', max_calls=1)
        waiting = self.start(lambda: 6, project='them')
        start, started = threading.Thread.start, []

        def fail_once(thread):
            started.append(thread)
            if len(started) == 1:
                raise RuntimeError("can't start new thread")
            start(thread)

        self.useFixture(
            fixtures.MonkeyPatch('threading.Thread.start', fail_once)
        )
        self.assertRaises(RuntimeError, self.calls.launch, first)
        self.assertIsInstance(first.exception(10), RuntimeError)
        self.assertEqual(6, waiting.result(10))
        self.assert_counts(0, 0)

    def test_all_of_many_at_once_are_made_no_more_than_allowed_at_a_time(self):
        lock, now, most, futures = threading.Lock(), [0], [0], []
        # The first wait until there are as many as may be.
        full = threading.Event()

        def work():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
                if now[0] == 6:
                    full.set()
            full.wait(60)
            with lock:
                now[0] -= 1
            return 1

        def start(number):
            for turn in range(20):
                future = self.start(work, f'p{(number + turn) % 5}', 6)
                with lock:
                    futures.append(future)

        threads = [
            threading.Thread(target=start, args=(number,))
            for number in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(320, sum(future.result(30) for future in futures))
        self.assertEqual(6, most[0])
        self.assert_counts(0, 0)

    def test_under_eventlet_no_other_is_blocked(self):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', GREEN],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(
            ['result', 'timeout', '1 1', 'queued', 'others ran'],
            done.stdout.splitlines(),
            done.stderr,
        )
