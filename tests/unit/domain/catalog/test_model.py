# SPDX-License-Identifier: Apache-2.0

import copy
import dataclasses
import pickle

import testtools

from cinder_tiers.domain.catalog import model as catalogs
from tests.unit.domain import catalogs as given


class CephTierTestCase(testtools.TestCase):
    """However a tier with a pool is made, it is a `CephTier`."""

    def test_with_a_pool_or_without(self):
        tier = catalogs.Tier(name='a', rbd=given.rbd())
        self.assertIs(catalogs.CephTier, type(tier))
        self.assertEqual(catalogs.CephTier(name='a', rbd=given.rbd()), tier)
        self.assertIs(catalogs.Tier, type(catalogs.Tier(name='a')))

    def test_a_tier_that_gets_its_pool_later(self):
        plain = catalogs.Tier(name='a', backend_name='b')
        tier = dataclasses.replace(plain, rbd=given.rbd())
        self.assertEqual(
            catalogs.CephTier(name='a', backend_name='b', rbd=given.rbd()),
            tier,
        )

    def test_a_copy(self):
        tier = given.tier(priority=3)
        self.assertEqual(tier, copy.deepcopy(tier))
        self.assertEqual(tier, pickle.loads(pickle.dumps(tier)))
        self.assertEqual(4, dataclasses.replace(tier, priority=4).priority)

    def test_the_backend_stays_without_the_pool(self):
        tier = given.tier('a')
        self.assertEqual(
            catalogs.Tier(name='a', backend_name='tier-a'),
            tier.without_pool(),
        )
        served = given.tier('a', backend_name='b', priority=1)
        self.assertEqual(
            catalogs.Tier(name='a', backend_name='b', priority=1),
            served.without_pool(),
        )

    def test_those_of_a_cluster(self):
        here, there = (
            given.tier('a'),
            given.tier('b', rbd=given.rbd(cluster='far')),
        )
        left = given.tier('c', take_over=False)
        catalog = given.of(here, there, left, given.other_tier('d'))
        self.assertEqual((here, there, left), catalog.ceph_tiers)
        self.assertEqual((here,), catalog.tiers_of('ceph'))
