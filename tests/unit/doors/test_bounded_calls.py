# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import subprocess
import sys
import threading
import time

import testtools

from cinder_tiers.doors import bounded_calls

# cinder-scheduler runs under eventlet by default: the same, in a process of
# its own, since a process cannot be unpatched.
GREEN = '''
import eventlet
eventlet.monkey_patch()
import time
from cinder_tiers.doors import bounded_calls
calls = bounded_calls.BoundedCalls()
ticks = []
def tick():
    while True:
        ticks.append(1)
        time.sleep(0.01)
eventlet.spawn(tick)
print(calls.start(lambda: 'result', max_calls=1).result(5))
try:
    calls.start(lambda: time.sleep(5), max_calls=1).result(0.3)
except TimeoutError:
    print('timeout')
print(calls.under_way)
print('others ran' if len(ticks) > 5 else 'others were blocked')
'''


class BoundedCallsTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.calls = bounded_calls.BoundedCalls()
        self.released = threading.Event()
        self.addCleanup(self.released.set)

    def hang(self):
        self.released.wait(60)

    def test_the_result_comes_back(self):
        self.assertEqual(5, self.calls.start(lambda: 5,
                                             max_calls=1).result(5))
        self.assertEqual(0, self.calls.under_way)

    def test_an_error_comes_back(self):
        future = self.calls.start(lambda: 1 // 0, max_calls=1)
        self.assertRaises(ZeroDivisionError, future.result, 5)
        self.assertEqual(0, self.calls.under_way)

    def test_also_what_is_no_exception_comes_back(self):
        """Whoever waits must not wait for ever."""
        future = self.calls.start(sys.exit, max_calls=1)
        self.assertIsInstance(future.exception(5), SystemExit)
        self.assertEqual(0, self.calls.under_way)

    def test_who_starts_a_call_does_not_wait_for_it(self):
        started = time.monotonic()
        self.calls.start(self.hang, max_calls=1)
        self.assertThat(time.monotonic() - started,
                        testtools.matchers.LessThan(5))
        self.assertEqual(1, self.calls.under_way)

    def test_an_abandoned_call_keeps_its_place_until_it_returns(self):
        hung = self.calls.start(self.hang, max_calls=1)
        error = self.assertRaises(
            bounded_calls.TooManyCalls, self.calls.start, lambda: 5,
            max_calls=1)
        self.assertIn('at most 1', str(error))
        self.released.set()
        hung.result(10)
        self.assertEqual(5, self.calls.start(lambda: 5,
                                             max_calls=1).result(5))

    def test_who_is_refused_takes_no_place(self):
        self.calls.start(self.hang, max_calls=1)
        for _ in range(3):
            self.assertRaises(bounded_calls.TooManyCalls, self.calls.start,
                              self.hang, max_calls=1)
        self.assertEqual(1, self.calls.under_way)

    def test_of_many_at_once_no_more_run_than_are_allowed(self):
        refused = []

        def start():
            try:
                self.calls.start(self.hang, max_calls=16)
            except bounded_calls.TooManyCalls as error:
                refused.append(error)

        threads = [threading.Thread(target=start) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual((16, 48), (self.calls.under_way, len(refused)))

    def test_under_eventlet_nobody_else_is_blocked(self):
        done = subprocess.run([sys.executable, '-W', 'ignore', '-c', GREEN],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(['result', 'timeout', '1', 'others ran'],
                         done.stdout.splitlines(), done.stderr)
