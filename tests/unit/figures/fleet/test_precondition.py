# SPDX-License-Identifier: Apache-2.0

"""Rounds of writing before a measurement: whether they were enough."""

import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import precondition
from cinder_tiers.figures.protocol import frames
from tests.unit.guest import console_text


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
