# SPDX-License-Identifier: Apache-2.0

import uuid

import testtools

from cinder_tiers.doors.images import breaker


class CircuitBreakerTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.breaker = breaker.CircuitBreaker(lambda: self.now)

    def admits(self, project='us'):
        return self.breaker.admits(project, failures=3, retry_s=10)

    def fail(self, *projects):
        for project in projects:
            self.breaker.failed(project)

    def admitted(self, seconds, *projects):
        """Who is admitted in so many seconds, and when."""
        found = []
        for _ in range(seconds):
            self.now += 1
            found += [
                (self.now, project)
                for project in projects
                if self.admits(project)
            ]
        return found


class OfOneProjectTestCase(CircuitBreakerTestCase):
    def test_closed_it_admits_all(self):
        self.assertEqual([True] * 5, [self.admits() for _ in range(5)])

    def test_it_opens_at_the_last_of_so_many_failures(self):
        admitted = []
        for _ in range(4):
            admitted.append(self.admits())
            self.fail('us')
        self.assertEqual([True, True, True, False], admitted)

    def test_a_success_in_between_keeps_it_closed(self):
        for _ in range(5):
            self.fail('us', 'us')
            self.breaker.succeeded('us')
        self.assertTrue(self.admits())

    def test_open_it_admits_one_in_each_interval(self):
        self.fail(*['us'] * 3)
        self.assertEqual(
            [(1010, 'us'), (1020, 'us'), (1030, 'us')], self.admitted(30, 'us')
        )

    def test_an_interval_begins_at_the_last_failure(self):
        self.fail(*['us'] * 3)
        self.now += 10
        self.assertTrue(self.admits())
        self.now += 5
        self.fail('us')
        self.now += 9
        self.assertFalse(self.admits())
        self.now += 1
        self.assertTrue(self.admits())

    def test_the_first_success_closes_it(self):
        self.fail(*['us'] * 3)
        self.now += 10
        self.assertTrue(self.admits())
        self.breaker.succeeded('us')
        self.assertEqual([True] * 5, [self.admits() for _ in range(5)])

    def test_closed_again_it_opens_only_after_as_many_failures(self):
        self.fail(*['us'] * 3)
        self.breaker.succeeded('us')
        self.fail('us', 'us')
        self.assertTrue(self.admits())
        self.fail('us')
        self.assertFalse(self.admits())

    def test_the_options_may_change_meanwhile(self):
        self.fail(*['us'] * 3)
        self.assertTrue(self.breaker.admits('us', failures=4, retry_s=10))
        self.assertFalse(self.breaker.admits('us', failures=3, retry_s=10))
        self.now += 1
        self.assertTrue(self.breaker.admits('us', failures=3, retry_s=1))


class OfManyProjectsTestCase(CircuitBreakerTestCase):
    def test_it_stops_nobody_else(self):
        self.fail(*['them', 'others'] * 100)
        self.assertFalse(self.admits('them'))
        self.assertTrue(self.admits('us'))

    def test_each_has_attempts_of_its_own(self):
        self.fail(*['a', 'b'] * 3)
        self.assertEqual(
            [(1010, 'a'), (1010, 'b'), (1020, 'a'), (1020, 'b')],
            self.admitted(20, 'a', 'b'),
        )

    def test_the_success_of_another_does_not_let_it_go_on(self):
        self.fail(*['us'] * 3)
        self.breaker.succeeded('them')
        self.assertFalse(self.admits('us'))

    def test_it_forgets_the_oldest_of_too_many_projects(self):
        self.fail(*['us'] * 3)
        for number in range(10000):
            self.fail(f'p{number}')
        self.assertTrue(self.admits())

    def test_it_says_when_it_stops_several(self):
        self.admits()
        self.fail(*['us'] * 3, *['them'] * 2)
        self.assertFalse(self.breaker.stops_several)
        self.fail('them')
        self.assertTrue(self.breaker.stops_several)

    def test_it_says_so_while_calls_fail(self):
        """Metrics ask in a thread of their own."""
        fail = self.fail

        class Threshold(int):
            def __le__(self, failures):
                fail(str(uuid.uuid4()))
                return super().__le__(failures)

        self.breaker.admits('us', failures=Threshold(3), retry_s=10)
        self.fail(*['us', 'them'] * 3)
        self.assertTrue(self.breaker.stops_several)

    def test_not_once_anybody_succeeded(self):
        """Some may never ask again."""
        self.admits()
        self.fail(*['us', 'them'] * 3)
        self.now += 1
        self.breaker.succeeded('others')
        self.assertFalse(self.breaker.stops_several)
        self.now += 1
        self.fail('us', 'them')
        self.assertTrue(self.breaker.stops_several)
