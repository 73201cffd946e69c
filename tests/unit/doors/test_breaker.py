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

import testtools

from cinder_tiers.doors import breaker


class CircuitBreakerTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.breaker = breaker.CircuitBreaker(lambda: self.now)

    def admits(self):
        return self.breaker.admits(failures=3, retry_s=10)

    def open(self):
        for _ in range(3):
            self.breaker.failed()

    def test_closed_it_admits_all(self):
        self.assertEqual([True] * 5, [self.admits() for _ in range(5)])

    def test_it_opens_at_the_last_of_so_many_failures(self):
        admitted = []
        for _ in range(4):
            admitted.append(self.admits())
            self.breaker.failed()
        self.assertEqual([True, True, True, False], admitted)

    def test_a_success_in_between_keeps_it_closed(self):
        for _ in range(5):
            self.breaker.failed()
            self.breaker.failed()
            self.breaker.succeeded()
        self.assertTrue(self.admits())

    def test_open_it_admits_one_in_each_interval(self):
        self.open()
        admitted = []
        for _ in range(30):
            self.now += 1
            if self.admits():
                admitted.append(self.now)
        self.assertEqual([1010, 1020, 1030], admitted)

    def test_an_interval_begins_at_the_last_failure(self):
        self.open()
        self.now += 10
        self.assertTrue(self.admits())
        self.now += 5
        self.breaker.failed()
        self.now += 9
        self.assertFalse(self.admits())
        self.now += 1
        self.assertTrue(self.admits())

    def test_the_first_success_closes_it(self):
        self.open()
        self.now += 10
        self.assertTrue(self.admits())
        self.breaker.succeeded()
        self.assertEqual([True] * 5, [self.admits() for _ in range(5)])

    def test_closed_again_it_opens_only_after_as_many_failures(self):
        self.open()
        self.breaker.succeeded()
        self.breaker.failed()
        self.breaker.failed()
        self.assertTrue(self.admits())
        self.breaker.failed()
        self.assertFalse(self.admits())

    def test_the_options_may_change_meanwhile(self):
        self.open()
        self.assertTrue(self.breaker.admits(failures=4, retry_s=10))
        self.assertFalse(self.breaker.admits(failures=3, retry_s=10))
        self.now += 1
        self.assertTrue(self.breaker.admits(failures=3, retry_s=1))
