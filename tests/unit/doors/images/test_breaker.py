# SPDX-License-Identifier: Apache-2.0

import testtools

from cinder_tiers.doors.images import breaker


class CircuitBreakerTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.breaker = breaker.CircuitBreaker(lambda: self.now)

    def admits(self, project='us', **how):
        return self.breaker.admits(project, failures=3, retry_s=10, **how)

    def fail(self, *projects, **how):
        for project in projects:
            self.breaker.failed(project, **how)

    def admitted(self, seconds, *projects, **how):
        """Who is admitted in so many seconds, and when."""
        found = []
        for _ in range(seconds):
            self.now += 1
            found += [
                (self.now, project)
                for project in projects
                if self.admits(project, **how)
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

    def test_the_success_of_another_does_not_close_it(self):
        self.fail(*['us'] * 3)
        self.breaker.succeeded('them')
        self.assertFalse(self.admits())

    def test_it_forgets_the_oldest_of_too_many_projects(self):
        self.fail(*['us'] * 3)
        for number in range(10000):
            self.fail(f'p{number}', is_private=True)
        self.assertTrue(self.admits())


class OfAllTestCase(CircuitBreakerTestCase):
    def is_open(self):
        self.admits('any')
        return self.breaker.is_open

    def test_a_project_opens_it_for_itself_only(self):
        self.fail(*['them'] * 100)
        self.assertFalse(self.admits('them'))
        self.assertTrue(self.admits('us'))
        self.assertFalse(self.is_open())

    def test_two_projects_open_it_for_all(self):
        self.assertFalse(self.is_open())
        self.fail('them', 'us')
        self.assertFalse(self.is_open())
        self.fail('them')
        self.assertTrue(self.is_open())
        self.assertFalse(self.admits('others'))

    def test_a_success_of_any_in_between_keeps_it_closed(self):
        for _ in range(5):
            self.fail('them', 'us')
            self.breaker.succeeded('others')
        self.assertFalse(self.is_open())

    def test_a_success_of_any_closes_it_for_all(self):
        """What failed for all was not a project's own fault."""
        self.fail('them', 'us', 'them', 'us', 'them', 'us')
        self.assertFalse(self.admits('us') or self.admits('them'))
        self.breaker.succeeded('others')
        self.assertTrue(self.admits('us') and self.admits('them'))
        self.assertFalse(self.is_open())

    def test_open_it_admits_one_of_all_in_each_interval(self):
        self.fail('them', 'us', 'them')
        self.assertEqual(
            [(1010, 'a'), (1020, 'a')], self.admitted(20, 'a', 'b')
        )

    def test_private_failures_do_not_open_it(self):
        self.fail(*['them', 'us', 'others'] * 2, is_private=True)
        self.assertFalse(self.is_open())
        self.fail('them', 'us', 'others', is_private=True)
        for project in ('us', 'them'):
            self.assertFalse(self.admits(project, is_private=True))
            # Nor do they stop what its tenants did not choose.
            self.assertTrue(self.admits(project))
        self.assertTrue(self.admits('any', is_private=True))

    def test_nor_do_other_failures_stop_a_private_call(self):
        self.fail(*['us'] * 3)
        self.assertFalse(self.admits('us'))
        self.assertTrue(self.admits('us', is_private=True))

    def test_a_success_ends_both(self):
        self.fail(*['us'] * 3)
        self.fail(*['us'] * 3, is_private=True)
        self.breaker.succeeded('us')
        self.assertTrue(self.admits('us'))
        self.assertTrue(self.admits('us', is_private=True))

    def test_private_calls_take_no_attempt_away(self):
        self.fail('them', 'us', 'them')
        self.now += 9
        self.assertEqual(
            [(1010, 'a'), (1020, 'a')], self.admitted(15, 'a', is_private=True)
        )
        self.assertTrue(self.admits('b'))
