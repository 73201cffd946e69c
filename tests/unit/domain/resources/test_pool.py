# SPDX-License-Identifier: Apache-2.0

"""Pools and cephx users of others, and what removed tiers have left."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan

USER = 'cephx user client.cinder (ceph)'


def with_ceph(actual, **changes):
    """A cloud with another cluster."""
    return dataclasses.replace(
        actual,
        ceph={'ceph': dataclasses.replace(actual.ceph['ceph'], **changes)},
    )


def refused(catalog, actual):
    """{object: refusal} of a plan."""
    plan = plans.make(catalog=catalog, actual=actual)
    return {str(one.key): one.refusal for one in plan.refused}


@ddt.ddt
class PoolOfOthersTestCase(testtools.TestCase):
    @ddt.data(
        {'applications': frozenset({'rbd'})},
        {'applications': frozenset()},
        {'applications': frozenset(), 'options': {'noscrub': 'true'}},
    )
    def test_only_the_marker_says_that_it_is_managed(self, changes):
        # As Rook makes it: a rule of its name, and nothing in it yet.
        tier = given.tier('a')
        catalog = given.of(tier)
        actual = test_plan.applied(catalog)
        (pool,) = tier_pools.pools_of(tier.rbd).pools
        theirs = dataclasses.replace(pool, managed=False, **changes)
        actual = with_ceph(
            actual,
            pools={'tier-a': theirs},
            usage=usages.ClusterUsage(
                pools={},
                osds={},
                nearfull_ratio=0.85,
                backfillfull_ratio=0.9,
                full_ratio=0.95,
            ),
        )
        ((name, refusal),) = refused(catalog, actual).items()
        self.assertEqual('pool tier-a (ceph)', name)
        self.assertIn('ownership marker', refusal.reason)
        self.assertTrue(refusal.yields_to_consent)

    def test_data_pools_and_caches_are_asked_for_as_well(self):
        rbd = given.rbd(
            pool='tier-a',
            protection=catalogs.ErasureCoded(k=2, m=1),
            cache=given.cache('tier-a-cache'),
        )
        catalog = given.of(given.tier('a', rbd=rbd))
        actual = test_plan.applied(catalog, managed=False)
        self.assertEqual(
            {
                'pool tier-a (ceph)',
                'pool tier-a-data (ceph)',
                'pool tier-a-cache (ceph)',
            },
            set(refused(catalog, actual)),
        )

    def test_a_pool_that_somebody_made_since_was_not_allowed(self):
        catalog = given.of(given.tier('a'))
        plan = plans.make(catalog=catalog, actual=given.nothing())
        (action,) = (
            one
            for one in plan.actions
            if one.key.name == 'tier-a'
            and isinstance(one.after, ceph_state.Pool)
        )
        theirs = dataclasses.replace(action.after, managed=False)
        self.assertNotEqual((), consent.changed_since_plan(action, theirs))
        self.assertEqual((), consent.changed_since_plan(action, action.after))
