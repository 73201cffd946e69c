# SPDX-License-Identifier: Apache-2.0

"""Rounds of writing before the first turn: when they are steady."""

import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import precondition
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.stats import rounds
from tests.unit.guest import console_text


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


class PreconditionTestCase(testtools.TestCase):
    def test_all_that_is_wrong_is_said(self):
        error = self.assertRaises(
            ValueError,
            precondition.Precondition,
            pattern=fio_pattern.Pattern(name='x', rw='randread', bs='4k'),
            round_seconds=0,
            most_rounds=4,
        )
        for word in (
            "rw 'randread': expected write or randwrite",
            'round_seconds 0: expected at least 1',
            'most_rounds 4: expected 5',
        ):
            self.assertIn(word, str(error))


class ToldTestCase(testtools.TestCase):
    def told(self, *words):
        console = frames.GuestConsole(run=console_text.RUN, guest='g000')
        for number, each in enumerate(words, 1):
            console.feed(console_text.event(number, each))
        return precondition.told(console)

    def test_a_guest_without_rounds_says_nothing(self):
        self.assertIsNone(self.told('READY', 'PRECONDITIONED steady=yes'))

    def test_the_host_judges_whatever_the_guest_says(self):
        found = self.told(
            *(f'ROUND round={n} kib={1000 * n}' for n in range(1, 7)),
            'PRECONDITIONED rounds=6 steady=yes',
        )
        self.assertEqual(
            (1000, 2000, 3000, 4000, 5000, 6000), found.rounds_kib
        )
        self.assertFalse(found.is_steady)

    def test_rounds_that_cannot_be_are_none(self):
        found = self.told(
            'ROUND round=1 kib=10',
            'ROUND round=1 kib=99',
            'ROUND round=0 kib=1',
            'ROUND round=101 kib=1',
            'ROUND round=2 kib=-1',
            'ROUND round=2',
            'ROUND round=x kib=1',
        )
        self.assertEqual((10,), found.rounds_kib)

    def test_a_round_that_was_lost_leaves_it_open(self):
        found = self.told(
            *(f'ROUND round={n} kib=1000' for n in (1, 2, 3, 4, 6, 7))
        )
        self.assertFalse(found.is_steady)
        self.assertEqual('6 rounds up to round 7 arrived', found.reason)
