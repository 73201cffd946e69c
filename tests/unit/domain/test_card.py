# SPDX-License-Identifier: Apache-2.0

"""Cards: one text for each, and no other text that passes for one."""

import dataclasses
import json
import pathlib
import random

import ddt
import testtools

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.card import fingerprint
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import warnings
from tests.unit.domain import catalogs as given

TIME = '2026-11-29T14:05Z'
FIGURES = (
    cards.Figure(
        pattern='oltp',
        quantity='iops',
        mean=5012,
        low=4890,
        high=5138,
        runs=3,
    ),
    cards.Figure(
        pattern='oltp',
        quantity='p99_ms',
        mean=12.1,
        low=11.25,
        high=13,
        runs=3,
    ),
    cards.Figure(
        pattern='seq-read-1m',
        quantity='mib_per_s',
        mean=812.3,
        low=800,
        high=820,
        runs=4,
    ),
)
MEASURED = cards.Measured(
    ended_at=TIME,
    ceph_release=20,
    fingerprint='a1b2c3-d4e5f6-071829',
    figures=FIGURES,
)
TEXT = (
    'For databases. Promise: oltp iops at least 500, p99_ms at most 20.5. '
    'Measured 2026-11-29T14:05Z on Ceph 20: oltp (3 runs) iops 5012 '
    '[4890, 5138], p99_ms 12.1 [11.25, 13]. Card a1b2c3-d4e5f6-071829.'
)
CARD = cards.Card(
    purpose='For databases.',
    promise={'oltp': {'iops_min': 500, 'p99_ms_max': 20.5}},
    measured=dataclasses.replace(MEASURED, figures=FIGURES[:2]),
)
QUANTITIES = ('iops', 'p99_ms', 'write_p99.9_ms', 'mib_per_s', 'sync_mean_ms')
WORDS = ('For', 'Promise:', 'Measured', '.', 'oltp', '; ', ',', '[', ' ', 'Ω')


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
            ended_at=TIME,
            ceph_release=draw.choice([None, 19]),
            fingerprint=draw.choice(['a1b2c3', 'a1b2c3-d4e5f6-071829']),
            figures=tuple(figures.values()),
        )
        if measured
        else None,
        not_measured_since=TIME
        if not measured and draw.random() < 0.5
        else None,
    )


@ddt.ddt
class DescriptionTestCase(testtools.TestCase):
    def test_the_text(self):
        self.assertEqual(TEXT, descriptions.write(CARD))
        self.assertEqual(CARD, descriptions.read(TEXT))

    def test_what_is_written_is_read(self):
        draw = random.Random(42)
        with_all = 0
        for _each in range(3000):
            card = drawn(draw)
            text = descriptions.write(card)
            self.assertLessEqual(len(text), descriptions.MOST_CHARS)
            found = descriptions.read(text)
            self.assertEqual(text, descriptions.write(found))
            if descriptions.read(card.purpose).purpose != card.purpose:
                continue
            if len(text) + 60 < descriptions.MOST_CHARS:
                with_all += 1
                self.assertEqual(card, found)
        self.assertGreater(with_all, 1000)

    def test_whole_clauses_are_left_out_the_least_important_first(self):
        for chars in range(descriptions.MOST_CHARS + 1):
            card = dataclasses.replace(
                CARD, purpose='x' * chars, measured=MEASURED
            )
            text = descriptions.write(card)
            found = descriptions.read(text)
            self.assertEqual('x' * chars, found.purpose)
            figures = found.measured.figures if found.measured else ()
            self.assertEqual(FIGURES[: len(figures)], figures)
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
            card = dataclasses.replace(
                CARD, purpose='x' * chars, measured=MEASURED
            )
            text = descriptions.write(card)
            again = dataclasses.replace(
                card, measured=descriptions.read(text).measured
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
        f'xNot measured since {TIME}.',
        f'Not measured since {TIME}.\n',
        TEXT + ' ',
        TEXT.replace(' iops', '  iops'),
        TEXT.replace('5012', '5e3'),
        TEXT.replace('5012', '05012'),
        TEXT.replace('5012', '5012.0'),
        TEXT.replace('5012', '50123'),
        TEXT.replace('5012', '٥٠١٢'),
        TEXT.replace('5012', 'NaN'),
        TEXT.replace('5012', '9012'),
        TEXT.replace('[4890', '[5138'),
        TEXT.replace('(3 runs)', '(1 runs)'),
        TEXT.replace('(3 runs)', '(03 runs)'),
        TEXT.replace('p99_ms 12', 'p999999_ms 12'),
        TEXT.replace('p99_ms 12', 'fairness 12'),
        TEXT.replace('p99_ms 12.1 [11.25', 'iops 12.1 [11.25'),
        TEXT.replace('14:05Z', '24:61Z'),
        TEXT.replace('a1b2c3-', ''),
        TEXT.replace('a1b2c3', 'A1B2C3'),
        TEXT.replace('Measured 2', 'Measured\n2'),
        'Promise: oltp iops at least 0.',
        'Promise: oltp iops at least 5, iops at least 6.',
        'Promise: oltp iops at least 5; oltp iops at least 5.',
        'Promise: oltp iops at least 5, iops at most 4.',
        'Promise: OLTP iops at least 5.',
        'Promise: oltp loops at least 5.',
        'Promise: oltp fairness at most 1.',
        f'{"x" * 300} Not measured since {TIME}.',
        '\x1b[2J<b>Measured</b>',
        'Measured ' * 28,
        'Promise: ' + 'a a at least 1; ' * 15,
    )
    def test_what_only_looks_like_a_card_is_a_purpose(self, text):
        found = descriptions.read(text)
        self.assertIsNone(found.measured)
        self.assertIsNone(found.not_measured_since)
        self.assertEqual(cards.Card(purpose=text), found)

    def test_a_line_break_stays_the_last_character(self):
        card = cards.Card(purpose='x\n')
        self.assertEqual('x\n', descriptions.write(card))
        card = dataclasses.replace(card, not_measured_since=TIME)
        self.assertEqual(
            f'x Not measured since {TIME}.', descriptions.write(card)
        )

    @ddt.data(
        ('Fast. ', 'Fast.'),
        (f'Fast. {TEXT} ', 'Fast. For databases.'),
        (f'Not measured since {TIME}. ', ''),
    )
    @ddt.unpack
    def test_cards_before_the_last_are_no_words(self, before, words):
        for card in (
            'Promise: x iops at least 5.',
            f'Not measured since {TIME}.',
        ):
            for end in ('', '\n'):
                self.assertEqual(
                    words, descriptions.purpose(f'{before}{card}{end}')
                )

    def test_words_that_are_no_card_stay(self):
        for text in ('', 'Fast', 'Fast\n', 'Fast ', f'{TEXT} Ask Bob.'):
            self.assertEqual(text, descriptions.purpose(text))


class FingerprintTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.tier = given.tier('database', tags=('database',), priority=20)
        self.state = given.empty_cluster()
        self.measured = self.of(self.tier, self.state)

    def of(self, tier, state, **changes):
        return cards.Measured(
            **{
                'ended_at': TIME,
                'ceph_release': state and state.release,
                'fingerprint': fingerprint.of_tier(
                    given.of(tier), tier, state
                ),
                'figures': FIGURES,
                **changes,
            }
        )

    def changes(self, tier=None, state=None, measured=None):
        tier = tier or self.tier
        return fingerprint.changes(
            measured or self.measured,
            given.of(tier),
            tier,
            state or self.state,
        )

    def test_no_figure_depends_on_words(self):
        for changed in (
            {},
            {'description': 'For databases'},
            {'tags': ('db',), 'priority': 3},
            {'access': ('a',)},
            {'expect': {'oltp': {'iops_min': 5}}},
        ):
            self.assertEqual(
                (), self.changes(dataclasses.replace(self.tier, **changed))
            )

    def test_what_changes_is_named(self):
        for changed, said in (
            ({'extra_specs': {'multiattach': '<is> True'}}, 'extra specs'),
            ({'rbd': given.rbd(pg_num=64)}, 'pool, CRUSH rule'),
            ({'rbd': given.rbd(osd_options={'a': 1})}, 'pool, CRUSH rule'),
        ):
            (found,) = self.changes(dataclasses.replace(self.tier, **changed))
            self.assertIn(said, found)

    def with_osds(self, *osds):
        return dataclasses.replace(self.state, osds=osds)

    def test_other_osds_and_another_release(self):
        osd = ceph_state.Osd(
            osd_id=999,
            device_class='ssd',
            location={'root': 'default', 'host': 'new'},
        )
        rule = ceph_state.CrushRule(
            name='r',
            kind='replicated',
            root='default',
            device_class='ssd',
            failure_domain='host',
        )
        state = dataclasses.replace(
            self.state,
            crush_rules={'r': rule},
            pools={
                'tier-database': ceph_state.Pool(
                    name='tier-database',
                    kind='replicated',
                    size=3,
                    min_size=2,
                    pg_num=32,
                    pg_autoscale_mode='off',
                    crush_rule='r',
                )
            },
            osds=(osd,),
            release=20,
        )
        measured = self.of(self.tier, state)
        self.assertEqual((), self.changes(state=state, measured=measured))
        out = dataclasses.replace(osd, no_data='it is out')
        hdd = dataclasses.replace(osd, osd_id=7, device_class='hdd')
        self.assertEqual(
            (),
            self.changes(
                state=dataclasses.replace(state, osds=(hdd, out)),
                measured=measured,
            ),
        )
        more = dataclasses.replace(osd, osd_id=8)
        self.assertEqual(
            (
                'other OSDs serve the pools of the tier',
                'Ceph has release 21, and had 20',
            ),
            self.changes(
                state=dataclasses.replace(state, osds=(osd, more), release=21),
                measured=measured,
            ),
        )

    def test_a_cluster_that_is_not_known_says_nothing(self):
        self.assertEqual(
            (),
            fingerprint.changes(
                self.measured, given.of(self.tier), self.tier, None
            ),
        )

    def test_a_tier_that_has_no_pool_any_more(self):
        (found,) = fingerprint.changes(
            self.measured,
            given.of(self.tier.without_pool()),
            self.tier.without_pool(),
            None,
        )
        self.assertIn('no pool of its own any more', found)


class SchemaTestCase(testtools.TestCase):
    def test_the_published_schema_is_that_of_the_code(self):
        """To renew it, write what this compares."""
        published = (
            pathlib.Path(__file__)
            .parents[3]
            .joinpath('etc', 'cinder-tiers', 'card.schema.json')
        )
        self.assertEqual(
            json.dumps(cards.schema(), indent=2) + '\n',
            published.read_text('utf-8'),
        )


class RulesTestCase(testtools.TestCase):
    def test_nobody_writes_a_card_by_hand(self):
        catalog = given.of(given.other_tier(description=TEXT, fallback=True))
        (found,) = catalog_rules.check(catalog)
        self.assertEqual(rules.CARD, found.rule)

    def test_too_little_room_is_warned_of(self):
        promise = {'rand-read-4k': {'iops_min': 500}}
        not_shown = 'a part of the promise is not shown'
        for description, expect, said in (
            ('x' * 100, {}, None),
            ('x' * 140, {}, 'leaves 114 of 255 characters'),
            ('x' * 100, promise, 'leave 113 of'),
            # As of a block of YAML.
            ('x' * 100 + '\n', promise, 'leave 113 of'),
            ('x' * 250, promise, not_shown),
        ):
            catalog = given.of(
                given.other_tier(
                    description=description, expect=expect, fallback=True
                )
            )
            found = [
                one.found
                for one in warnings.check(catalog)
                if one.rule == rules.CARD_ROOM
            ]
            self.assertEqual(said is not None, bool(found), found)
            if said:
                self.assertIn(said, found[0])
                self.assertEqual(said == not_shown, not_shown in found[0])
