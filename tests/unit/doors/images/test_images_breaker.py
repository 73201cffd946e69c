# SPDX-License-Identifier: Apache-2.0

"""When Glance is left alone, and for whom."""

import uuid

import ddt

from cinder_tiers.doors.images import glance
from tests.unit.doors.images import images_case
from tests.unit.doors.images.images_case import IDENT
from tests.unit.doors.images.images_case import refused

DOWN = glance.ImageUnreadable('down')


class OneProjectTestCase(images_case.ImagesTestCase):
    def fail(self, error):
        """Glance fails with this for every image from now on."""
        self.glance.answers['us'] = error

    def open(self):
        self.fail(DOWN)
        for calls in (1, 2, 3):
            self.assert_fails(calls)

    def test_after_three_failures_glance_is_left_alone(self):
        self.open()
        for _ in range(5):
            error = self.assert_fails(3, str(uuid.uuid4()))
            self.assertIn('the next attempt follows after 10 s', str(error))

    def test_what_is_remembered_serves_meanwhile(self):
        other = str(uuid.uuid4())
        self.read(other)
        self.glance.calls.clear()
        self.open()
        self.assert_reads(3, other)

    def test_after_a_while_one_call_shows_whether_it_is_back(self):
        self.open()
        self.now += 10
        self.assert_fails(4)
        self.assert_fails(4)
        self.now += 10
        self.glance.answers.clear()
        self.assert_reads(5)
        self.assert_reads(6, str(uuid.uuid4()))

    def test_only_one_of_many_shows_it(self):
        self.open()
        self.now += 10
        go = self.hold()
        land = self.board(1)
        images_case.settle(lambda: len(self.glance.calls) == 4)
        for _ in range(8):
            self.assert_fails(4, str(uuid.uuid4()))
        go()
        land()
        self.assertEqual(4, len(self.glance.calls))

    def test_a_refusal_is_no_failure(self):
        for is_lasting in (True, False):
            self.fail(refused(is_lasting))
            for _ in range(5):
                self.assert_fails(
                    len(self.glance.calls) + 1, str(uuid.uuid4())
                )

    def test_a_refusal_shows_that_glance_is_back(self):
        self.open()
        self.now += 10
        self.fail(refused())
        self.assert_fails(4)
        self.assert_fails(5, str(uuid.uuid4()))

    def test_what_was_not_sent_does_not_show_it(self):
        """A name that is not text costs nothing, and would hide an outage."""
        self.fail(
            glance.ImageRefused('no text', is_lasting=False, is_answer=False)
        )
        for _ in range(5):
            self.assert_fails(len(self.glance.calls) + 1, 'odd')
        self.fail(DOWN)
        self.assert_fails(6)
        self.assert_fails(7)
        self.fail(
            glance.ImageRefused('no text', is_lasting=False, is_answer=False)
        )
        self.assert_fails(8, 'odd')
        self.fail(DOWN)
        self.assert_fails(9)
        self.assert_fails(9)

    def test_an_error_of_ours_is_no_failure_of_glance(self):
        """Or one user's image could take the tags of all others away."""
        self.fail(RecursionError())
        for _ in range(5):
            self.assertRaises(RecursionError, self.read, str(uuid.uuid4()))
        self.glance.answers.clear()
        self.assert_reads(6)


class LateTestCase(images_case.ImagesTestCase):
    def test_timeouts_are_failures_and_late_answers_do_not_end_them(self):
        go = self.hold()
        refs = [str(uuid.uuid4()) for _ in range(3)]
        for calls, ref in enumerate(refs, 1):
            self.assert_fails(calls, ref, timeout_s=0.1)
        self.assert_fails(3)
        go()
        # What they bring is of use all the same.
        images_case.settle(lambda: all(map(self.images.remembered, refs)))
        self.assert_fails(3)
        self.now += 10
        self.assert_reads(4)
        self.assert_reads(5, str(uuid.uuid4()))

    def test_a_glance_that_always_needs_a_bit_longer_opens_it(self):
        """Not one call is given up, not one answer comes in time."""

        def take():
            self.now += 20.001

        self.glance.takes = take
        for calls in (1, 2, 3):
            self.assert_reads(calls, str(uuid.uuid4()))
        self.assert_fails(3, str(uuid.uuid4()), retry_s=100.0)

    def test_one_that_needs_a_bit_less_does_not(self):
        def take():
            self.now += 19.999

        self.glance.takes = take
        for calls in range(1, 9):
            self.assert_reads(calls, str(uuid.uuid4()))

    def test_a_late_failure_counts_once(self):
        self.glance.answers[IDENT] = DOWN
        go = self.hold()
        self.assert_fails(1, timeout_s=0.1)
        go()
        images_case.settle(lambda: not self.images.calls_under_way)
        self.assert_reads(2, str(uuid.uuid4()), failures=2)

    def test_a_hung_call_counts_once_for_all_who_waited(self):
        self.hold()
        self.board(16, timeout_s=2.0)()
        self.assertEqual(1, len(self.glance.calls))
        self.glance.go.set()
        self.hold()()
        self.assert_reads(2, str(uuid.uuid4()), failures=2)

    def test_the_time_in_the_queue_is_not_that_of_glance(self):
        """Many cold images at once are no reason to leave Glance alone."""
        go = self.hold()
        first = self.board(1, timeout_s=60.0, max_calls=1)
        self.wait_for_call()
        other = str(uuid.uuid4())
        second = self.board(1, ref=other, timeout_s=2.0, max_calls=1)
        further = self.hold()
        self.now += 1
        go()
        first()
        self.wait_for_call()
        (error,) = second()
        self.assertIn('did not answer within 2 s', str(error))
        further()
        images_case.settle(lambda: self.images.remembered(other))
        self.assert_reads(3, str(uuid.uuid4()), failures=1)

    def test_but_a_call_that_hangs_after_the_queue_has_failed(self):
        go = self.hold()
        first = self.board(1, timeout_s=60.0, max_calls=1)
        self.wait_for_call()
        second = self.board(
            1, ref=str(uuid.uuid4()), timeout_s=2.0, max_calls=1
        )
        self.hold()
        self.now += 1
        go()
        first()
        self.wait_for_call()
        second()
        self.now += 2
        error = self.assert_fails(2, str(uuid.uuid4()), failures=1)
        self.assertIn('the next attempt', str(error))


@ddt.ddt
class ManyProjectsTestCase(images_case.ImagesTestCase):
    def test_a_project_does_not_stop_another(self):
        self.glance.answers['them'] = DOWN
        for _ in range(9):
            self.read(str(uuid.uuid4()), 'them')
        self.assertEqual(3, len(self.glance.calls))
        self.assertFalse(self.images.breaker_is_open)
        self.assert_reads(4)

    def test_two_projects_are_told_and_stop_nobody(self):
        self.open_for_two()
        self.assert_reads(7, project='any')
        self.assertFalse(self.images.breaker_is_open)

    def test_each_goes_on_by_itself_once_glance_is_back(self):
        self.open_for_two()
        self.glance.answers.clear()
        self.assert_fails(6, project='us')
        self.now += 10
        for calls, project in enumerate(('us', 'them', 'us', 'them'), 7):
            self.assert_reads(calls, str(uuid.uuid4()), project)

    @ddt.data('debian', f'a/{IDENT}', f'urn:uuid:{IDENT}')
    def test_names_do_not_stop_others(self, name):
        """The text is the tenant's, and may make Glance fail."""
        self.glance.answers.update(us=DOWN, them=DOWN)
        for _ in range(3):
            for project in ('us', 'them'):
                self.read(name, project)
        self.assertFalse(self.images.breaker_is_open)
        self.assert_fails(6, name)
        self.glance.answers.clear()
        self.assert_reads(7, str(uuid.uuid4()))
        self.assert_reads(8, project='any')

    def test_nor_do_ids_that_no_image_has(self):
        """They are names next, by which Glance may be slow."""
        self.glance.is_refusing_ids = True
        self.glance.answers.update(us=DOWN, them=DOWN)
        for _ in range(3):
            for project in ('us', 'them'):
                self.read(str(uuid.uuid4()), project)
        self.assertFalse(self.images.breaker_is_open)
        self.glance.is_refusing_ids = False
        self.glance.answers.clear()
        self.assert_reads(7, str(uuid.uuid4()))
        self.assert_reads(8, project='any')

    def test_who_waits_in_vain_for_others_is_stopped_as_well(self):
        """All calls hang, and each create would wait for all its time."""
        self.hold()
        for number in range(2):
            self.board(
                1,
                ref=str(uuid.uuid4()),
                project=f'p{number}',
                timeout_s=60.0,
                max_calls=2,
            )
            self.wait_for_call()
        for text in ['no call to Glance was free'] * 3 + ['failed at least']:
            error = self.assert_fails(2, timeout_s=0.05, max_calls=2)
            self.assertIn(text, str(error))

    def test_also_who_lets_calls_hang_itself_if_all_hang(self):
        self.hold()
        for calls, project in enumerate(('us', 'a', 'b', 'c'), 1):
            self.assert_fails(
                calls, project=project, timeout_s=0.05, max_calls=4
            )
        for text in ['no call to Glance was free'] * 2 + ['failed at least']:
            error = self.assert_fails(4, timeout_s=0.05, max_calls=4)
            self.assertIn(text, str(error))
