# SPDX-License-Identifier: Apache-2.0

import threading

import testtools

from cinder_tiers.doors.images import places
from tests.unit.doors.images import images_case


class PlacesTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.places = places.Places()
        self.got = []

    def take(self, project, number, timeout_s=0.0):
        return self.places.take(project, number=number, timeout_s=timeout_s)

    def wait(self, *projects, number):
        """Let threads wait for a place, one after the other."""
        threads = []
        for project in projects:
            entered = threading.Event()
            threads.append(
                threading.Thread(
                    target=self._take_and_note,
                    args=(project, number, entered),
                    daemon=True,
                )
            )
            threads[-1].start()
            entered.wait(60)
            images_case.settle(
                lambda: images_case.waits_or_is_done(threads[-1])
            )
        return threads

    def _take_and_note(self, project, number, entered):
        entered.set()
        if self.take(project, number, 60):
            self.got.append(project)

    def test_there_are_so_many(self):
        taken = [self.take(f'p{number}', 3) for number in range(5)]
        self.assertEqual([True] * 3 + [False] * 2, taken)
        self.places.give_back('p0')
        self.assertTrue(self.take('p4', 3))
        self.assertEqual(3, self.places.taken)

    def test_a_project_has_half_of_them_and_one_at_least(self):
        """What it lets hang leaves the other half to the others."""
        for number, half in ((1, 1), (2, 1), (3, 1), (4, 2), (16, 8)):
            self.places = places.Places()
            for _ in range(20):
                self.take('us', number)
            self.assertEqual(half, self.places.taken_by('us'))

    def test_who_waits_in_vain_takes_none(self):
        self.take('us', 1)
        self.assertFalse(self.take('them', 1, 0.05))
        self.places.give_back('us')
        self.assertEqual(0, self.places.taken)

    def test_who_is_killed_while_waiting_takes_none(self):
        """Under eventlet, a request can be killed wherever it waits."""
        self.take('before', 1)
        (killed,) = self.wait('us', number=1)
        images_case.kill(killed)
        self.places.give_back('before')
        killed.join(60)
        self.assertEqual(([], 0), (self.got, self.places.taken))

    def test_the_next_goes_to_who_has_the_fewest(self):
        for project in ('many', 'many', 'one', 'other'):
            self.take(project, 4)
        threads = self.wait('many', 'one', 'none', 'one', number=4)
        for freed, got in (
            ('other', 'none'),
            ('none', 'one'),
            # It has as many as it may.
            ('many', 'many'),
            ('one', 'one'),
        ):
            self.places.give_back(freed)
            images_case.settle(lambda got=got: self.got[-1:] == [got])
        for thread in threads:
            thread.join(60)
        self.assertEqual(4, self.places.taken)

    def test_among_equals_to_who_waits_longest(self):
        self.take('before', 1)
        self.wait('a', 'b', 'c', number=1)
        last = 'before'
        for project in 'abc':
            self.places.give_back(last)
            images_case.settle(
                lambda project=project: self.got[-1:] == [project]
            )
            last = project

    def test_of_many_at_once_no_more_have_one_than_allowed(self):
        lock, now, most = threading.Lock(), [0], [0]

        def work(project):
            for _ in range(50):
                self.assertTrue(self.take(project, 6, 60))
                with lock:
                    now[0] += 1
                    most[0] = max(most[0], now[0])
                with lock:
                    now[0] -= 1
                self.places.give_back(project)

        threads = [
            threading.Thread(target=work, args=(f'p{number % 5}',))
            for number in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertThat(most[0], testtools.matchers.LessThan(7))
        self.assertEqual(0, self.places.taken)
