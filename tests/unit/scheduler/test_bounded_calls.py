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

from cinder_tiers.scheduler import bounded_calls

# cinder-scheduler runs under eventlet by default: the same, in a process of
# its own, since a process cannot be unpatched.
GREEN = '''
import eventlet
eventlet.monkey_patch()
import time
from cinder_tiers.scheduler import bounded_calls
calls = bounded_calls.BoundedCalls()
ticks = []
def tick():
    while True:
        ticks.append(1)
        time.sleep(0.01)
eventlet.spawn(tick)
print(calls.run(lambda: 'result', timeout_s=5, max_calls=1))
try:
    calls.run(lambda: time.sleep(5), timeout_s=0.3, max_calls=1)
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
        self.assertEqual(5, self.calls.run(lambda: 5, timeout_s=5,
                                           max_calls=1))
        self.assertEqual(0, self.calls.under_way)

    def test_an_error_comes_back(self):
        self.assertRaises(ZeroDivisionError, self.calls.run, lambda: 1 // 0,
                          timeout_s=5, max_calls=1)
        self.assertEqual(0, self.calls.under_way)

    def test_a_call_is_waited_for_no_longer_than_allowed(self):
        started = time.monotonic()
        self.assertRaises(TimeoutError, self.calls.run, self.hang,
                          timeout_s=0.1, max_calls=1)
        self.assertThat(time.monotonic() - started,
                        testtools.matchers.LessThan(5))
        self.assertEqual(1, self.calls.under_way)

    def test_an_abandoned_call_keeps_its_place_until_it_returns(self):
        self.assertRaises(TimeoutError, self.calls.run, self.hang,
                          timeout_s=0.1, max_calls=1)
        error = self.assertRaises(
            bounded_calls.TooManyCalls, self.calls.run, lambda: 5,
            timeout_s=5, max_calls=1)
        self.assertIn('at most 1', str(error))
        self.released.set()
        deadline = time.monotonic() + 10
        while self.calls.under_way and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(5, self.calls.run(lambda: 5, timeout_s=5,
                                           max_calls=1))

    def test_under_eventlet_nobody_else_is_blocked(self):
        done = subprocess.run([sys.executable, '-W', 'ignore', '-c', GREEN],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(['result', 'timeout', '1', 'others ran'],
                         done.stdout.splitlines(), done.stderr)
