# SPDX-License-Identifier: Apache-2.0

"""A card in the description of a volume type, and back."""

import dataclasses
import random

import ddt
import testtools

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from tests.unit.domain.card import test_card


CARD = cards.Card(
    purpose='For databases.',
    promise={'oltp': {'iops_min': 500, 'p99_ms_max': 20.5}},
    measured=dataclasses.replace(
        test_card.MEASURED, figures=test_card.FIGURES[:2]
    ),
)


class ContinuedTestCase(testtools.TestCase):
    def test_words_behind_a_sentence_of_a_card(self):
        for text in (
            descriptions.write(CARD),
            'Promise: none.',
            'Measured by hand.',
            'X. Promise: a iops at least 5. Promise: a iops at least 6.',
            '',
        ):
            self.assertFalse(descriptions.is_continued(text), text)
            for more in (' Ask Ann.', '\nAsk Ann.', ' Promise: a iops.'):
                is_card = text.startswith(('For', 'X.'))
                self.assertIs(
                    is_card, descriptions.is_continued(text + more), text
                )
                self.assertIs(
                    is_card,
                    descriptions.is_continued(
                        f'{text}{more} Not measured since 2026-11-29T14:05Z.'
                    ),
                )


QUANTITIES = ('iops', 'p99_ms', 'write_p99.9_ms', 'mib_per_s', 'sync_mean_ms')


WORDS = (
    *('For', 'Promise:', 'Measured', '.', 'oltp', '; ', ',', '[', ' ', 'Ω'),
    *('。', '!', ')', '\n', 'Promise: a iops at least 5', '.', 'x'),
)


def drawn(draw):
    """Any card whose sentences all have room."""
    figures = {}
    for _each in range(draw.randint(1, 2)):
        low, mean, high = sorted(
            cards.rounded(draw.random() * 10 ** draw.randint(-6, 12))
            for _each in range(3)
        )
        one = cards.Figure(
            pattern=draw.choice(['a', 'x-1.5', '0']),
            quantity=draw.choice(QUANTITIES),
            mean=mean,
            low=low,
            high=high,
            runs=draw.randint(2, 99),
        )
        figures.setdefault((one.pattern, one.quantity), one)
    measured = draw.random() < 0.6
    return cards.Card(
        purpose=''.join(draw.choices(WORDS, k=draw.randint(0, 6))),
        promise=draw.choice(
            [
                {},
                {'p': {'iops_min': draw.randint(1, 10**6)}},
                {'p': {'p99.9_ms_max': cards.rounded(1 / 3), 'iops_min': 2}},
                {'p': {'iops_99_percent_of_time_min': 1.5}},
            ]
        ),
        measured=cards.Measured(
            ended_at=test_card.TIME,
            ceph_release=draw.choice([None, 19]),
            fingerprint=draw.choice(['a1b2c3', 'a1b2c3-d4e5f6-071829']),
            figures=tuple(figures.values()),
        )
        if measured
        else None,
        not_measured_since=test_card.TIME
        if not measured and draw.random() < 0.5
        else None,
    )


def ended(words):
    """What words become before a sentence."""
    return words.rstrip(), f'{words.rstrip()}.'


@ddt.ddt
class DescriptionTestCase(testtools.TestCase):
    def test_the_text(self):
        self.assertEqual(test_card.TEXT, descriptions.write(CARD))
        self.assertEqual(CARD, descriptions.read(test_card.TEXT))

    def test_what_is_written_is_read(self):
        draw = random.Random(42)
        with_all = 0
        for _each in range(3000):
            card = drawn(draw)
            text = descriptions.write(card)
            self.assertLessEqual(len(text), descriptions.MOST_CHARS)
            found = descriptions.read(text)
            self.assertEqual(text, descriptions.write(found))
            # Nor is a card made of it by the next apply.
            words = descriptions.purpose(card.purpose)
            self.assertEqual(
                descriptions.write(dataclasses.replace(card, purpose=words)),
                descriptions.write(
                    dataclasses.replace(
                        card, purpose=descriptions.purpose(text)
                    )
                ),
            )
            if words != card.purpose:
                continue
            if len(text) + 110 < descriptions.MOST_CHARS:
                with_all += 1
                self.assertIn(found.purpose, (words, *ended(words)))
                self.assertEqual(
                    dataclasses.replace(card, purpose=found.purpose), found
                )
        self.assertGreater(with_all, 1000)

    def test_whole_clauses_are_left_out_the_least_important_first(self):
        for chars in range(descriptions.MOST_CHARS + 1):
            card = dataclasses.replace(
                CARD, purpose='x' * chars, measured=test_card.MEASURED
            )
            text = descriptions.write(card)
            found = descriptions.read(text)
            self.assertIn(found.purpose, ('x' * chars, f'{"x" * chars}.'))
            figures = found.measured.figures if found.measured else ()
            self.assertEqual(test_card.FIGURES[: len(figures)], figures)
            limits = found.promise.get('oltp', {})
            self.assertEqual(
                list(CARD.promise['oltp'].items())[: len(limits)],
                list(limits.items()),
            )
            # What matters more is there before what matters less.
            if len(figures) > 1:
                self.assertEqual(2, len(limits))
        self.assertEqual(cards.Card(purpose='x' * 255), found)

    def test_an_apply_changes_nothing_of_what_it_wrote(self):
        for chars in range(descriptions.MOST_CHARS + 1):
            for end in ('x', '.', ' ', '\n'):
                card = dataclasses.replace(
                    CARD,
                    purpose=('x' * chars)[1:] + end,
                    measured=test_card.MEASURED,
                )
                text = descriptions.write(card)
                again = dataclasses.replace(
                    card, measured=descriptions.read(text).measured
                )
                self.assertEqual(text, descriptions.write(again))
                # Nor where the catalog has no description.
                again = dataclasses.replace(
                    again, purpose=descriptions.purpose(text)
                )
                self.assertEqual(text, descriptions.write(again))

    def test_a_number_that_is_too_long_is_no_clause(self):
        card = cards.Card(promise={'x': {'iops_min': 1e300, 'p99_ms_max': 2}})
        self.assertEqual(
            'Promise: x p99_ms at most 2.', descriptions.write(card)
        )

    @ddt.data(
        '',
        'Not measured since yesterday.',
        'Not measured since 2026-02-30T10:00Z.',
        'Not measured since 2026-11-29T14:05Z',
        'not measured since 2026-11-29T14:05Z.',
        f'xNot measured since {test_card.TIME}.',
        f'Not measured since {test_card.TIME}.\n',
        test_card.TEXT + ' ',
        test_card.TEXT.replace(' iops', '  iops'),
        test_card.TEXT.replace('5012', '5e3'),
        test_card.TEXT.replace('5012', '05012'),
        test_card.TEXT.replace('5012', '5012.0'),
        test_card.TEXT.replace('5012', '50123'),
        test_card.TEXT.replace('5012', '٥٠١٢'),
        test_card.TEXT.replace('5012', 'NaN'),
        test_card.TEXT.replace('5012', '9012'),
        test_card.TEXT.replace('[4890', '[5138'),
        test_card.TEXT.replace('(3 runs)', '(1 runs)'),
        test_card.TEXT.replace('(3 runs)', '(03 runs)'),
        test_card.TEXT.replace('p99_ms 12', 'p999999_ms 12'),
        test_card.TEXT.replace('p99_ms 12', 'fairness 12'),
        test_card.TEXT.replace('p99_ms 12.1 [11.25', 'iops 12.1 [11.25'),
        test_card.TEXT.replace('14:05Z', '24:61Z'),
        test_card.TEXT.replace('a1b2c3-', ''),
        test_card.TEXT.replace('a1b2c3', 'A1B2C3'),
        test_card.TEXT.replace('Measured 2', 'Measured\n2'),
        'Promise: oltp iops at least 0.',
        'Promise: oltp iops at least 5, iops at least 6.',
        'Promise: oltp iops at least 5; oltp iops at least 5.',
        'Promise: oltp iops at least 5, iops at most 4.',
        'Promise: OLTP iops at least 5.',
        'Promise: oltp loops at least 5.',
        'Promise: oltp fairness at most 1.',
        f'{"x" * 300} Not measured since {test_card.TIME}.',
        '\x1b[2J<b>Measured</b>',
        'Measured ' * 28,
        'Promise: ' + 'a a at least 1; ' * 15,
    )
    def test_what_only_looks_like_a_card_is_a_purpose(self, text):
        found = descriptions.read(text)
        self.assertIsNone(found.measured)
        self.assertIsNone(found.not_measured_since)
        self.assertEqual(cards.Card(purpose=text), found)

    @ddt.data(
        ('For databases', 'For databases. '),
        ('For databases \n', 'For databases. '),
        ('For databases. \n', 'For databases. '),
        ('For (small) databases (OLTP)', 'For (small) databases (OLTP). '),
        ('Ask Ann (before noon!)', 'Ask Ann (before noon!) '),
        ('„Schnell.“', '„Schnell.“ '),
        ('Fast…', 'Fast… '),
        ('50 %', '50 %. '),
        ('Your choice:', 'Your choice: '),
        ('Fast enough?', 'Fast enough? '),
        ('Fast!', 'Fast! '),
        ('適用於資料庫。', '適用於資料庫。 '),
        ('速い！', '速い！ '),
        ('…)', '…) '),
        (')', '). '),
        (' \n', ''),
        ('', ''),
    )
    @ddt.unpack
    def test_words_are_a_sentence_before_another(self, words, before):
        alone = cards.Card(purpose=words)
        self.assertEqual(words, descriptions.write(alone))
        for card in (
            dataclasses.replace(alone, promise={'x': {'iops_min': 5}}),
            dataclasses.replace(alone, not_measured_since=test_card.TIME),
            dataclasses.replace(CARD, purpose=words),
        ):
            text = descriptions.write(card)
            self.assertEqual(
                before
                + descriptions.write(dataclasses.replace(card, purpose='')),
                text,
            )
            self.assertEqual(
                dataclasses.replace(card, purpose=before.rstrip()),
                descriptions.read(text),
            )

    def test_words_that_somebody_edited_are_followed_by_the_same_card(self):
        sentences = descriptions.write(dataclasses.replace(CARD, purpose=''))
        for words in ('For databases', 'For databases. ', ' '):
            found = descriptions.read(f'{words} {sentences}')
            self.assertEqual(CARD.measured, found.measured)
            self.assertEqual(words.rstrip(), found.purpose)

    def test_words_to_which_a_stop_is_missing_are_no_card(self):
        text = 'X. Promise: a iops at least 5'
        self.assertEqual('X.', descriptions.purpose(text))
        self.assertEqual('X.', descriptions.purpose(f'{text}\n'))

    @ddt.data(
        ('Fast. ', 'Fast.'),
        (f'Fast. {test_card.TEXT} ', 'Fast. For databases.'),
        (f'Not measured since {test_card.TIME}. ', ''),
    )
    @ddt.unpack
    def test_cards_before_the_last_are_no_words(self, before, words):
        for card in (
            'Promise: x iops at least 5.',
            f'Not measured since {test_card.TIME}.',
        ):
            for end in ('', '\n'):
                self.assertEqual(
                    words, descriptions.purpose(f'{before}{card}{end}')
                )

    def test_words_that_are_no_card_stay(self):
        for text in (
            '',
            'Fast',
            'Fast\n',
            'Fast ',
            f'{test_card.TEXT} Ask Bob.',
        ):
            self.assertEqual(text, descriptions.purpose(text))
