# SPDX-License-Identifier: Apache-2.0

"""Cache tiers as Ceph tells of them."""

import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import cache_tier as ceph_cache
from tests.unit.domain import catalogs as given

#: Of a pool that was just made, with 16.2.15.
NEW = {
    'tiers': [],
    'tier_of': -1,
    'read_tier': -1,
    'cache_mode': 'none',
    'cache_target_dirty_ratio_micro': 400000,
    'cache_target_dirty_high_ratio_micro': 600000,
    'cache_target_full_ratio_micro': 800000,
    'hit_set_params': {'type': 'none'},
    **dict.fromkeys(cache_tier.COUNTS, 0),
}
CACHED = given.of(given.tier(rbd=given.rbd(cache=given.cache())))


def pool(pool_id, name, **changes):
    return {**NEW, 'pool_id': pool_id, 'pool_name': name, **changes}


class Monitors:
    """Monitors that know some commands, and two pools."""

    cluster = catalogs.Cluster(name='ceph')

    def __init__(self, *commands):
        self.commands = commands

    def command(self, prefix, **arguments):
        return {
            'osd pool ls': [pool(1, 'a'), pool(2, 'b')],
            'df': {
                'pools': [
                    {'name': name, 'stats': {'objects': 3}} for name in 'ab'
                ]
            },
            'get_command_descriptions': {
                f'cmd{number:03}': {'sig': [*one.split(), {'name': 'pool'}]}
                for number, one in enumerate(self.commands)
            },
        }[prefix]


class ParseTestCase(testtools.TestCase):
    def test_a_pool_without_a_cache_has_none(self):
        self.assertEqual({}, cache_tier.of_pools([pool(1, 'a')]))

    def test_a_cache_is_told_with_its_settings(self):
        found = cache_tier.of_pools(
            [
                pool(1, 'base', tiers=[2], read_tier=2),
                pool(
                    2,
                    'cache',
                    tier_of=1,
                    cache_mode='writeback',
                    hit_set_params={'type': 'bloom', 'seed': 0},
                    cache_target_full_ratio_micro=700000,
                    target_max_bytes=10**12,
                ),
            ]
        )['base']
        self.assertEqual(
            ('cache', 'writeback', True),
            (found.cache_pool, found.mode, found.overlay),
        )
        self.assertEqual(cache_tier.KNOWN, found.settings.keys())
        self.assertEqual(
            ('bloom', '0.7', '1000000000000', '0'),
            (
                found.settings['hit_set_type'],
                found.settings['cache_target_full_ratio'],
                found.settings['target_max_bytes'],
                found.settings['cache_min_flush_age'],
            ),
        )

    def test_of_several_the_one_that_clients_use_is_told(self):
        found = cache_tier.of_pools(
            [
                pool(1, 'base', tiers=[3, 2], read_tier=3),
                pool(2, 'a', tier_of=1, cache_mode='readonly'),
                pool(3, 'b', tier_of=1, cache_mode='writeback'),
            ]
        )['base']
        self.assertEqual(
            ('a, b', ('a', 'b'), 'writeback', True),
            (found.cache_pool, found.cache_pools, found.mode, found.overlay),
        )

    def test_a_cache_that_clients_do_not_use(self):
        found = cache_tier.of_pools(
            [pool(1, 'base', tiers=[2]), pool(2, 'cache', tier_of=1)]
        )['base']
        self.assertEqual(('none', False), (found.mode, found.overlay))


NOTHING = ceph_state.CephState(
    crush_rules={}, erasure_code_profiles={}, pools={}, users={}, osds=()
)


class ObserveTestCase(testtools.TestCase):
    def test_without_a_declared_cache_no_more_is_asked(self):
        self.assertEqual(
            {'cache_tiers': {}},
            ceph_cache.observe(Monitors(), given.of(given.tier()), NOTHING),
        )

    def test_monitors_say_whether_they_know_cache_tiers(self):
        found = ceph_cache.observe(
            Monitors('osd tier', 'osd tier add'), CACHED, NOTHING
        )
        self.assertEqual(
            (True, {'a': 3, 'b': 3}),
            (found['has_cache_tiering'], found['objects_in']),
        )
        self.assertFalse(
            ceph_cache.observe(Monitors('osd pool create'), CACHED, NOTHING)[
                'has_cache_tiering'
            ]
        )
