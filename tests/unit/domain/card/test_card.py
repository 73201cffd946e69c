# SPDX-License-Identifier: Apache-2.0

"""Cards: one text for each, and no other text that passes for one."""

import json
import pathlib

import testtools

from cinder_tiers.domain.card import card as cards

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


class SchemaTestCase(testtools.TestCase):
    def test_the_published_schema_is_that_of_the_code(self):
        """To renew it, write what this compares."""
        published = (
            pathlib.Path(__file__)
            .parents[4]
            .joinpath('etc', 'cinder-tiers', 'card.schema.json')
        )
        self.assertEqual(
            json.dumps(cards.schema(), indent=2) + '\n',
            published.read_text('utf-8'),
        )
