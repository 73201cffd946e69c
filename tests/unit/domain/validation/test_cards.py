# SPDX-License-Identifier: Apache-2.0

"""Rules on the description of a tier that has a card."""

import testtools

from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import warnings
from tests.unit.domain.card import test_card
from tests.unit.domain import catalogs as given


class RulesTestCase(testtools.TestCase):
    def test_nobody_writes_a_card_by_hand(self):
        # Nor what is one with a full stop, or without a line break.
        for text in (
            test_card.TEXT,
            f'{test_card.TEXT}\n',
            'X. Promise: a iops at least 5',
        ):
            catalog = given.of(
                given.other_tier(description=text, fallback=True)
            )
            (found,) = catalog_rules.check(catalog)
            self.assertEqual(rules.CARD, found.rule)

    def test_too_little_room_is_warned_of(self):
        promise = {'rand-read-4k': {'iops_min': 500}}
        not_shown = 'a part of the promise is not shown'
        for description, expect, said in (
            ('x' * 100, {}, None),
            ('x' * 140, {}, 'leaves 113 of 255 characters'),
            ('x' * 100, promise, 'leave 112 of'),
            # As of a block of YAML.
            ('x' * 100 + '\n', promise, 'leave 112 of'),
            ('x' * 99 + '.', promise, 'leave 113 of'),
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
