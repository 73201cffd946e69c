# SPDX-License-Identifier: Apache-2.0

"""What OSDs and cache tiers are, in an export."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_export

BACKFILLS = ceph_state.OptionSchema(name='osd_max_backfills', kind='uint')
GOLD = test_export.volume_type()
ON_HDD = test_export.pool(crush_rule='by-hand')


@ddt.ddt
class ExportStorageTestCase(testtools.TestCase):
    def tier(self, known, name='gold'):
        """A tier and what is said of it; the plan must be empty."""
        exported = export.export(known)
        self.assertEqual((), exported.leftover)
        return exported.catalog.tier(name), [
            one.text for one in exported.remarks if one.tier == name
        ]

    def test_options_of_osds_are_of_all_tiers_on_them(self):
        told = {'hdd': {'osd_max_backfills': '3', 'osd_odd': 'x'}}
        known = test_export.cloud(
            GOLD,
            pools=[ON_HDD],
            configured=told,
            option_schemas={'osd_max_backfills': BACKFILLS},
            class_options={
                'hdd': ceph_state.OsdOptions(
                    name='hdd', values={'osd_max_backfills': '3'}
                )
            },
        )
        tier, remarks = self.tier(known)
        self.assertEqual({'osd_max_backfills': 3}, tier.rbd.osd_options)
        self.assertIn('osd_odd=x', remarks[0])
        known.clusters[0].ceph.class_options['hdd'] = ceph_state.OsdOptions(
            name='hdd', values={'osd_max_backfills': '3 (osd.1), 1 (osd.3)'}
        )
        tier, remarks = self.tier(known)
        self.assertEqual({}, tier.rbd.osd_options)
        self.assertIn('not all of them use it', remarks[0])

    def test_an_affinity_of_all_osds_of_a_class_is_said(self):
        def osds(*values):
            return tuple(
                dataclasses.replace(osd, primary_affinity=value)
                if osd.device_class == 'hdd'
                else osd
                for osd, value in zip(given.osds(), values, strict=True)
            )

        for values, expected, said in (
            ((1,) * 6, None, ''),
            ((0.69999,) * 6, 0.7, ''),
            ((0,) * 6, 0, ''),
            ((0,) * 5 + (0.5,), None, '0 (osd.1, osd.3), 0.5 (osd.5)'),
        ):
            tier, remarks = self.tier(
                test_export.cloud(GOLD, pools=[ON_HDD], osds=osds(*values))
            )
            self.assertEqual(expected, tier.rbd.primary_affinity)
            self.assertIn(said, ''.join(remarks))

    def test_options_of_hosts_are_of_the_cluster(self):
        known = test_export.cloud(
            GOLD,
            option_schemas={'osd_max_backfills': BACKFILLS},
            configured_hosts={
                host: {'osd_max_backfills': '3'} for host in 'abz'
            },
            host_options={
                'a': ceph_state.OsdOptions(
                    name='a', values={'osd_max_backfills': '3'}
                ),
                'b': ceph_state.OsdOptions(name='b', values={}),
            },
        )
        exported = export.export(known)
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            {'a': {'osd_max_backfills': 3}},
            exported.catalog.clusters['ceph'].host_osd_options,
        )
        said = ' '.join(one.text for one in exported.remarks)
        self.assertIn(
            (
                'cluster ceph: the option osd_max_backfills=3 of OSDs on '
                'host b is left out: not all of them use it; the value in '
                'effect is not known'
            ),
            said,
        )
        self.assertIn(
            (
                "cluster ceph: the monitors' options for the mask host:z are "
                'left out: no OSD is on a CRUSH host of that name: '
                'osd_max_backfills=3'
            ),
            said,
        )

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
        return test_export.cloud(
            GOLD,
            pools=[
                test_export.POOL,
                cache
                or test_export.pool(
                    name='cache', crush_rule='by-hand', size=2, min_size=1
                ),
            ],
            cache_tiers={found.name: found},
        )

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
            {'cache': test_export.pool(name='cache', crush_rule='tree')},
            'rule tree chooses 2 times: 3 host, then 2 osd, and',
        ),
        (
            {'cache': test_export.pool(name='cache', kind='erasure')},
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
