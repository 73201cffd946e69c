# SPDX-License-Identifier: Apache-2.0

"""Some requests at the same time: what was made is known in any case."""

import threading
import time

import testtools

from cinder_tiers.figures.fleet import duration
from rally_scenarios.plugins import at_once


class AtOnceTest(testtools.TestCase):
    def test_ids_are_in_the_order_of_the_makers(self):
        made, heard = ['before'], []

        def maker(number):
            def make():
                time.sleep(0.01 * (number % 3))
                return f'id-{number}'

            return make

        wanted = [f'id-{number}' for number in range(25)]
        self.assertEqual(
            wanted,
            at_once.make_all(
                [maker(number) for number in range(25)],
                made,
                hear_done=heard.append,
            ),
        )
        self.assertEqual(['before', *wanted], made)
        self.assertEqual(list(range(25)), heard)

    def test_after_a_failure_none_is_begun_and_those_under_way_are_known(self):
        failed = threading.Event()
        made, begun = [], []

        def refused():
            begun.append('refused')
            failed.set()
            raise ValueError('no more')

        def slow():
            begun.append('slow')
            failed.wait(10)
            time.sleep(0.1)
            return 'slow'

        self.assertRaises(
            ValueError,
            at_once.make_all,
            [refused, *[slow] * 100],
            made,
        )
        self.assertEqual(begun.count('slow'), len(made))
        # At most another one in place of the one that failed.
        self.assertLessEqual(len(made), duration.BOOTS_AT_ONCE)

    def test_nothing_to_ask_is_no_error(self):
        self.assertEqual([], at_once.make_all([], []))
