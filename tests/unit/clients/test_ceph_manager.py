# SPDX-License-Identifier: Apache-2.0

"""Commands end in time if the manager answers late, or never."""

import threading

import testtools

from cinder_tiers.clients import ceph_manager

ANSWER = (0, b'{}', '')


class LateManager:
    """A connection to a manager that answers when it is let.

    What it is asked more than once at a time it would refuse.
    """

    def __init__(self):
        self.may_answer = threading.Event()
        self.is_open = True
        self.asked = []

    def mgr_command(self, request, _data):
        self.asked.append(request)
        self.may_answer.wait()
        if request == 'fail':
            raise OSError(request)
        return ANSWER

    def shutdown(self):
        self.is_open = False


class ManagerTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.late = LateManager()
        self.addCleanup(self.late.may_answer.set)
        self.manager = ceph_manager.Manager(lambda: self.late)

    def ask(self, request='a', timeout_s=60):
        return self.manager.ask(request, timeout_s=timeout_s)

    def test_an_answer_and_an_error_are_passed_on(self):
        self.late.may_answer.set()
        self.assertEqual(ANSWER, self.ask())
        self.assertRaises(OSError, self.ask, 'fail')
        self.assertEqual(ANSWER, self.ask())

    def test_nothing_more_is_asked_until_the_late_answer_is_there(self):
        self.assertIsNone(self.ask(timeout_s=0.01))
        self.assertIsNone(self.ask())
        self.assertEqual(['a'], self.late.asked)
        self.late.may_answer.set()
        self.manager._waiting.join()
        self.assertEqual(ANSWER, self.ask('b'))
        self.assertEqual(['a', 'b'], self.late.asked)

    def test_a_connection_that_is_in_use_stays_open(self):
        self.assertIsNone(self.ask(timeout_s=0.01))
        self.manager.close()
        self.assertTrue(self.late.is_open)
        self.late.may_answer.set()
        self.manager.close()
        self.assertFalse(self.late.is_open)

    def test_without_a_question_there_is_no_connection(self):
        self.manager.close()
        self.assertTrue(self.late.is_open)
