# SPDX-License-Identifier: Apache-2.0

"""Types that an apply has made and not opened, and those that look like it."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as given


QUOTAS = catalogs.Quotas(volumes=3)


def half_made(name='new', **fields):
    """A volume type as an apply leaves it that is cut off."""
    return dataclasses.replace(
        volume_type_kind.volume_type_of(given.other_tier(name)),
        **{
            'is_public': False,
            'description': cinder_state.HALF_MADE,
            **fields,
        },
    )


def plan(*tiers, types, quotas=()):
    actual = given.nothing(volume_types=types)
    return plans.make(
        catalog=given.of(*tiers, follow_image_types=()),
        actual=dataclasses.replace(
            actual,
            cinder=dataclasses.replace(
                actual.cinder, quotas={one.name: one for one in quotas}
            ),
        ),
    )


@ddt.ddt
class HalfMadeTestCase(testtools.TestCase):
    def test_it_is_ours_closed_to_all_and_says_so(self):
        self.assertTrue(half_made().is_half_made)

    @ddt.data(
        {'is_public': True},
        {'projects': frozenset({'us'})},
        {'extra_specs': {'volume_backend_name': 'x'}},
        {'description': 'Fast'},
    )
    def test_what_looks_like_it_is_not(self, fields):
        self.assertFalse(half_made(**fields).is_half_made)

    @ddt.data({'is_public': True}, {'projects': frozenset({'us'})})
    def test_opened_by_hand_it_does_not_go_on_saying_so(self, fields):
        tier = given.other_tier('new', access=catalogs.PUBLIC)
        (action,) = plan(tier, types=[half_made(**fields)]).actions
        self.assertEqual(
            ('', True), (action.after.description, action.after.is_public)
        )

    @ddt.data(
        {'projects': frozenset({'us'})},
        {'extra_specs': {'volume_backend_name': 'x'}},
    )
    def test_what_somebody_closed_is_not_opened_unasked(self, fields):
        (refused,) = plan(
            given.other_tier('new'), types=[half_made(**fields)]
        ).refused
        self.assertIn(
            'it would open a private volume type', refused.refusal.reason
        )

    def test_a_tier_keeps_its_tag_until_the_next_one_is_open(self):
        old = given.other_tier('old', tags=('database',), priority=1)
        new = given.other_tier(
            'new', tags=('database',), priority=1, quotas=QUOTAS
        )
        found = plan(
            dataclasses.replace(old, tags=('general',)),
            new,
            types=[volume_type_kind.volume_type_of(old), half_made()],
            # Cinder keeps those of a type that was deleted.
            quotas=[
                cinder_state.TypeQuota(name='new', volumes=3, snapshots=7)
            ],
        )
        self.assertEqual(
            ['volume type new', 'default quota new', 'volume type old'],
            [str(one.key) for one in found.actions],
        )
        self.assertIsNotNone(found.actions[0].meanwhile)
        self.assertEqual(
            actions.Key(kind=actions.Kind.VOLUME_TYPE, name='new'),
            found.actions[1].completes,
        )
