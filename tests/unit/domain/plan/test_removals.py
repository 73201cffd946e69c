# SPDX-License-Identifier: Apache-2.0

"""What a plan takes away, after all that it makes."""

import dataclasses

import ddt

from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan


@ddt.ddt
class RemovalsTestCase(test_plan.PlanCase):
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
