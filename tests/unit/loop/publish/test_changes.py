# SPDX-License-Identifier: Apache-2.0

"""What of a tier is not as it was when it was measured."""

import dataclasses

import testtools

from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.publish import changes
from tests.unit.domain import catalogs as given
from tests.unit.loop.publish import test_choice

MEASURED = run_result.TypeAsMeasured(
    extra_specs={}, qos_consumer=None, qos_specs={}, encryption={}
)


class ChangesTestCase(testtools.TestCase):
    def test_a_long_value_that_differs_at_its_end(self):
        tier = given.tier('database')
        now = cinder_state.CinderState(
            volume_types={
                tier.type_name: cinder_state.VolumeType(
                    name=tier.type_name, extra_specs={'x': 200 * 'a' + 'c'}
                )
            }
        )
        for value, found in (
            (200 * 'a' + 'c', []),
            (
                200 * 'a' + 'b',
                ['extra spec x changed behind its first 100 characters'],
            ),
        ):
            measured = dataclasses.replace(MEASURED, extra_specs={'x': value})
            self.assertEqual(found, list(changes.of_type(measured, tier, now)))

    def test_options_of_the_pool_that_has_only_data(self):
        """Which `plan` does not read, and a run does."""
        state = test_choice.state(0, 1)
        (name,) = state.pools
        pool = dataclasses.replace(
            test_choice.POOL, rbd_options={'rbd_qos_iops_limit': '5'}
        )
        for pools, found in (
            (('head', name), []),
            (
                (name, 'data'),
                [f'pool {name}: option rbd_qos_iops_limit was 5 and is none'],
            ),
        ):
            self.assertEqual(
                found, list(changes.of_pools({name: pool}, pools, state))
            )
