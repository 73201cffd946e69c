# SPDX-License-Identifier: Apache-2.0

"""What a plan takes away, after all that it makes."""

import dataclasses

import ddt

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import qos_spec as qos_spec_kind
from cinder_tiers.domain.state import action as actions
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan


@ddt.ddt
class RemovalsTestCase(test_plan.PlanCase):
    def test_deletions_come_last_and_types_go_after_their_limits(self):
        qos = catalogs.Qos(front_end={'x': '1'})
        old = [given.tier(name, qos=qos) for name in ('old', 'older')]
        actual = test_plan.applied(given.of(*old))
        made = self.make(
            given.of(given.tier(qos=qos)),
            dataclasses.replace(
                actual,
                cinder=dataclasses.replace(
                    actual.cinder,
                    qos_specs={
                        one.name: one
                        for one in map(qos_spec_kind.qos_spec_of, old)
                    },
                ),
            ),
        )
        self.assertEqual(
            [
                (actions.Kind.QOS_SPEC, 'tier-old'),
                (actions.Kind.QOS_SPEC, 'tier-older'),
                (actions.Kind.VOLUME_TYPE, 'old'),
                (actions.Kind.VOLUME_TYPE, 'older'),
            ],
            [
                (one.key.kind, one.key.name)
                for one in made.actions[-4:]
                if one.verb == 'delete'
            ],
        )
        self.assertEqual(4, len(made.refused))

    def test_a_type_of_ours_that_is_not_declared_is_not_deleted(self):
        catalog = given.of(given.tier())
        actual = test_plan.applied(
            given.of(
                given.tier(),
                given.tier('gone'),
                follow_image_types=('image-tier', 'old'),
            )
        )
        self.assertEqual(
            {'gone', 'old'},
            {
                one.key.name
                for one in self.make(catalog, actual).refused
                if one.verb == 'delete'
            },
        )

    def test_no_consent_takes_our_mark_or_a_type_that_volumes_have(self):
        tier, gone = given.tier(), given.tier('gone')
        actual = test_plan.applied(given.of(tier, gone))
        types = actual.cinder.volume_types
        given_up = dataclasses.replace(gone, take_over=False)
        for tiers in ((tier,), (tier, given_up)):
            for volumes in (1, 0, None):
                types['gone'] = dataclasses.replace(
                    types['gone'], volumes=volumes
                )
                (refused,) = self.make(given.of(*tiers), actual).refused
                self.assertEqual(
                    not volumes, refused.refusal.yields_to_consent
                )
