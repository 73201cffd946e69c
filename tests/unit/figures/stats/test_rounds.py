# SPDX-License-Identifier: Apache-2.0

"""Rounds of writing before the first turn: when they are steady."""

import testtools

from cinder_tiers.figures.stats import rounds


class JudgeTestCase(testtools.TestCase):
    def test_only_the_last_five_count(self):
        for values, steady in (
            ([100] * 4, False),
            ([100] * 5, True),
            ([900, 500, 300, 100, 101, 99, 100, 100], True),
            ([100, 100, 100, 100, 100, 300], False),
            ([0] * 5, False),
        ):
            self.assertEqual(steady, rounds.judge(values).is_steady, values)

    def test_each_limit_is_that_of_the_specification(self):
        for values, steady in (
            # Excursion of 20 % and of 21 %, no slope.
            ([100, 90, 110, 90, 110], True),
            ([100, 89.5, 110.5, 89.5, 110.5], False),
            # From end to end 10 % and 11 %.
            ([95, 97.5, 100, 102.5, 105], True),
            ([94.5, 97.25, 100, 102.75, 105.5], False),
            ([105.5, 102.75, 100, 97.25, 94.5], False),
        ):
            found = rounds.judge(values)
            self.assertEqual(steady, found.is_steady, found.reason)
        self.assertIn('slope -11.0 % (limit 10 %)', found.reason)
