# SPDX-License-Identifier: Apache-2.0

"""A cache tier that exists, as the `cache` part of a tier."""

import ddt

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain.export import test_catalog
from tests.unit.domain.export import test_osds


@ddt.ddt
class CacheTiersTestCase(test_osds.ExportStorageCase):
    def test_a_cache_is_said(self):
        tier, remarks = self.tier(self.cached())
        self.assertEqual([], remarks)
        self.assertEqual(
            catalogs.Cache(
                mode='writeback',
                settings={
                    'hit_set_count': 8,
                    'target_max_bytes': 9,
                    'cache_target_full_ratio': 0.8,
                },
                rbd=catalogs.RbdPool(
                    cluster='ceph',
                    pool='cache',
                    device_class='hdd',
                    failure_domain='osd',
                    protection=catalogs.Replicated(
                        size=2, min_size=1, unprotected_writes=True
                    ),
                ),
            ),
            tier.rbd.cache,
        )
        tier, _ = self.tier(self.cached(mode='readonly'))
        self.assertTrue(tier.rbd.cache.stale_reads)

    @ddt.data(
        (
            {'mode': 'proxy'},
            (
                'pool volumes has the cache cache in mode proxy, and a tiers '
                'file can declare only writeback and readonly'
            ),
        ),
        ({'overlay': False}, 'which clients do not use'),
        (
            {'cache_pool': 'cache, images'},
            ('has the cache cache, images, and a tiers file can declare one'),
        ),
        ({'settings': {'target_max_bytes': '0'}}, 'no target_max_bytes'),
        ({'settings': {'target_max_bytes': str(2**63)}}, 'at most 9223'),
        (
            {'settings': {'hit_set_type': 'none'}},
            'hit_set_type of the cache is none, and one of bloom, ',
        ),
        (
            {'cache': test_catalog.pool(name='cache', crush_rule='tree')},
            'rule tree chooses 2 times: 3 host, then 2 osd, and',
        ),
        (
            {'cache': test_catalog.pool(name='cache', kind='erasure')},
            'not replicated',
        ),
        (
            {'name': 'images', 'cache_pool': 'volumes'},
            'pool volumes is a cache of pool images',
        ),
    )
    @ddt.unpack
    def test_a_cache_that_cannot_be_said_leaves_the_backend(
        self, changes, reason
    ):
        tier, remarks = self.tier(self.cached(**changes))
        self.assertEqual(('rbd-1', None), (tier.backend_name, tier.rbd))
        self.assertIn(reason, remarks[0])

    def cached(self, cache=None, **changes):
        settings = {
            'hit_set_type': 'bloom',
            'hit_set_count': '8',
            'hit_set_period': '1200',
            'target_max_bytes': '9',
            'target_max_objects': '0',
            'cache_target_full_ratio': '0.8',
            **changes.pop('settings', {}),
        }
        found = ceph_state.CacheTier(
            **{
                'name': 'volumes',
                'cache_pool': 'cache',
                'overlay': True,
                'mode': 'writeback',
                **changes,
            },
            settings=settings,
        )
        return test_catalog.cloud(
            test_osds.GOLD,
            pools=[
                test_catalog.POOL,
                cache
                or test_catalog.pool(
                    name='cache', crush_rule='by-hand', size=2, min_size=1
                ),
            ],
            cache_tiers={found.name: found},
        )
