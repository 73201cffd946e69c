# SPDX-License-Identifier: Apache-2.0

"""Pools that exist as the `rbd` part of a tier, and those that cannot be."""

import dataclasses

import ddt

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain.export import test_catalog
from tests.unit.domain import inventories


@ddt.ddt
class PoolsTestCase(test_catalog.ExportCase):
    def test_a_rule_below_another_root_is_said(self):
        osds = tuple(
            dataclasses.replace(osd, location={**osd.location, 'room': 'room'})
            for osd in given.osds()
        )
        tier, remarks = self.tier(
            test_catalog.cloud(
                test_catalog.volume_type(),
                pools=[test_catalog.pool(crush_rule='racks')],
                osds=osds,
            )
        )
        self.assertEqual(([], 'room'), (remarks, tier.rbd.crush_root))

    def test_a_class_for_the_first_copy_is_said(self):
        rule = dataclasses.replace(
            test_catalog.RULES['by-hand'], primary_device_class='ssd'
        )
        known = test_catalog.cloud(
            test_catalog.volume_type(),
            pools=[test_catalog.pool(crush_rule='by-hand')],
        )
        (cluster,) = known.clusters
        known = dataclasses.replace(
            known,
            clusters=(
                dataclasses.replace(
                    cluster,
                    ceph=dataclasses.replace(
                        cluster.ceph,
                        crush_rules={**test_catalog.RULES, 'by-hand': rule},
                    ),
                ),
            ),
        )
        tier, remarks = self.tier(known)
        self.assertEqual(
            ([], 'ssd', 'hdd'),
            (remarks, tier.rbd.primary_device_class, tier.rbd.device_class),
        )

    @ddt.data((4, 2), (4, 3), (6, 4))
    @ddt.unpack
    def test_copies_that_share_failure_domains_are_said(self, size, min_size):
        tier, remarks = self.tier(self.of_two_levels(size, min_size=min_size))
        self.assertEqual([], remarks)
        self.assertEqual(
            ('zone', size, min_size, 2, 'host'),
            (
                tier.rbd.failure_domain,
                tier.rbd.protection.size,
                tier.rbd.protection.min_size,
                tier.rbd.protection.replicas_per_failure_domain,
                tier.rbd.protection.sub_failure_domain,
            ),
        )

    @ddt.data((3, 2), (2, 2), (4, 3))
    @ddt.unpack
    def test_other_numbers_of_copies_leave_the_backend(self, size, each):
        tier, remarks = self.tier(self.of_two_levels(size, each))
        self.assertEqual(('rbd-1', None), (tier.backend_name, tier.rbd))
        self.assertIn(
            f'CRUSH rule by-hand places {each} copies in each zone, and pool '
            f'volumes has {size}: a size that is two or more times as large',
            remarks[0],
        )

    def test_a_single_copy_is_said_in_words(self):
        tier, _ = self.tier(
            test_catalog.cloud(
                test_catalog.volume_type(),
                pools=[test_catalog.pool(size=1, min_size=1)],
            )
        )
        self.assertTrue(tier.rbd.protection.single_copy)

    def test_erasure_coded_data_is_said(self):
        tier, remarks = self.tier(self.coded())
        self.assertEqual([], remarks)
        self.assertEqual(
            (
                catalogs.ErasureCoded(
                    k=2, m=1, min_size=2, unprotected_writes=True
                ),
                64,
                'hdd',
                'osd',
            ),
            (
                tier.rbd.protection,
                tier.rbd.pg_num,
                tier.rbd.device_class,
                tier.rbd.failure_domain,
            ),
        )

    @ddt.data(
        ('isa', 'cauchy', 8192, ('isa', 'cauchy', 4096)),
        (
            'jerasure',
            'reed_sol_van',
            32768,
            ('jerasure', 'reed_sol_van', 16384),
        ),
        # Neither can be declared, nor a unit that Ceph took by force.
        ('clay', 'reed_sol_van', 10000, (None, None, None)),
        ('jerasure', 'liberation', 8191, (None, None, None)),
    )
    @ddt.unpack
    def test_how_chunks_are_made_is_said(
        self, plugin, technique, width_bytes, expected
    ):
        known = self.coded(stripe_width_bytes=width_bytes)
        (cluster,) = known.clusters
        profiles = cluster.ceph.erasure_code_profiles
        profiles['ec21'] = dataclasses.replace(
            profiles['ec21'], plugin=plugin, technique=technique
        )
        tier, remarks = self.tier(known)
        found = tier.rbd.protection
        self.assertEqual([], remarks)
        self.assertEqual(
            expected, (found.plugin, found.technique, found.stripe_unit_bytes)
        )

    def test_chunks_that_share_failure_domains_are_said(self):
        known = self.coded(size=4)
        (cluster,) = known.clusters
        profiles = cluster.ceph.erasure_code_profiles
        profiles['ec21'] = dataclasses.replace(profiles['ec21'], m=2)
        (inner,) = known.clusters
        rule = dataclasses.replace(
            test_catalog.RULES['coded'],
            failure_domain='host',
            num_failure_domains=2,
            osds_per_failure_domain=2,
        )
        known = dataclasses.replace(
            known,
            clusters=(
                dataclasses.replace(
                    inner,
                    ceph=dataclasses.replace(
                        inner.ceph,
                        crush_rules={
                            **test_catalog.RULES,
                            'coded': rule,
                            'by-hand': dataclasses.replace(
                                test_catalog.RULES['by-hand'],
                                failure_domain='host',
                            ),
                        },
                        osds=given.osds(classes=('hdd', 'hdd')),
                    ),
                ),
            ),
        )
        tier, remarks = self.tier(known)
        self.assertEqual([], remarks)
        self.assertEqual(
            (2, 2),
            (
                tier.rbd.protection.num_failure_domains,
                tier.rbd.protection.osds_per_failure_domain,
            ),
        )

    def test_a_rule_that_no_file_can_ask_for_leaves_the_backend(self):
        known = self.coded()
        (cluster,) = known.clusters
        cluster.ceph.crush_rules['coded'] = dataclasses.replace(
            test_catalog.RULES['coded'],
            num_failure_domains=3,
            osds_per_failure_domain=1,
        )
        tier, remarks = self.tier(known)
        self.assertEqual(('rbd-1', None), (tier.backend_name, tier.rbd))
        self.assertIn(
            'CRUSH rule coded takes 1 OSDs in each of 3 failure domains, and '
            'at least 2 can be declared',
            remarks[0],
        )

    def test_a_data_pool_of_any_name_is_said(self):
        usual, _ = self.tier(self.coded())
        tier, remarks = self.tier(self.coded(name='ec21'))
        self.assertEqual([], remarks)
        self.assertEqual(
            (None, 'ec21'), (usual.rbd.data_pool_name, tier.rbd.data_pool_name)
        )

    def test_placement_groups_that_do_not_fit_are_left_alone(self):
        tier, remarks = self.tier(self.coded(pg_num=256))
        self.assertIsNone(tier.rbd.pg_num)
        self.assertIn('pg_num 256', remarks[0])

    @ddt.data(
        ({'pools': []}, 'has no pool volumes'),
        (
            {'pools': [test_catalog.pool(crush_rule='tree')]},
            'rule tree chooses 2 times: 3 host, then 2 osd, and',
        ),
        (
            {'pools': [test_catalog.pool(crush_rule='racks')]},
            "no OSD under CRUSH root 'room'",
        ),
        ({'pools': [test_catalog.pool(size=4)]}, '3 failure domains'),
        ({'pools': [test_catalog.pool(size=11)]}, '11 copies'),
        ({'pools': [test_catalog.pool(kind='erasure')]}, 'has no data pool'),
        ({'pools': [test_catalog.pool(size=1)]}, 'min_size 2 with size 1'),
        (
            {
                'pools': [
                    test_catalog.pool(applications=frozenset({'rbd', 'rgw'}))
                ]
            },
            'used by rgw',
        ),
        (
            {'pools': [test_catalog.pool(applications=frozenset())]},
            'applications',
        ),
        (
            {'pools': [test_catalog.pool(rbd_default_data_pool='ec')]},
            'has no pool ec',
        ),
        (
            {'backends': [inventories.rbd_backend('rbd-1', 'a/b')]},
            'has no pool a/b',
        ),
        (
            {
                'backends': [inventories.rbd_backend('rbd-1', 'a/b')],
                'pools': [test_catalog.pool(name='a/b')],
            },
            'characters other than',
        ),
        ({'backends': []}, 'no backend with the name rbd-1 reports'),
        (
            {
                'backends': [
                    inventories.rbd_backend('rbd-1', 'volumes'),
                    inventories.rbd_backend('rbd-1', 'images', host='b'),
                ]
            },
            'several backends are called rbd-1',
        ),
        (
            {
                'backends': [
                    inventories.rbd_backend(
                        'rbd-1', 'volumes', fsid='f' + inventories.FSID[1:]
                    )
                ]
            },
            'not named with --cluster',
        ),
        (
            {
                'backends': [
                    inventories.rbd_backend('rbd-1', 'volumes', user='other'),
                    inventories.rbd_backend('b', 'images'),
                    inventories.rbd_backend('c', 'images'),
                ]
            },
            'client.other',
        ),
    )
    @ddt.unpack
    def test_what_cannot_be_said_of_a_pool_leaves_its_backend(
        self, changes, reason
    ):
        tier, remarks = self.tier(
            test_catalog.cloud(test_catalog.volume_type(), **changes)
        )
        self.assertEqual(('rbd-1', None), (tier.backend_name, tier.rbd))
        self.assertIn(reason, remarks[0])

    def of_two_levels(self, size, each=2, **changes):
        """A pool with copies that share zones, of two hosts each."""
        osds = tuple(
            dataclasses.replace(
                osd,
                location={
                    **osd.location,
                    'zone': 'xyz'['abcdef'.index(osd.location['host']) // 2],
                },
            )
            for osd in given.osds(hosts='abcdef')
        )
        rule = dataclasses.replace(
            test_catalog.RULES['by-hand'],
            failure_domain='zone',
            replicas_per_failure_domain=each,
            sub_failure_domain='host',
        )
        known = test_catalog.cloud(
            test_catalog.volume_type(),
            pools=[
                test_catalog.pool(crush_rule='by-hand', size=size, **changes)
            ],
            osds=osds,
        )
        (cluster,) = known.clusters
        cluster.ceph.crush_rules['by-hand'] = rule
        return known

    def coded(self, **changes):
        return test_catalog.cloud(
            test_catalog.volume_type(),
            pools=[
                test_catalog.pool(
                    crush_rule='by-hand',
                    pg_autoscale_mode='off',
                    pg_num=16,
                    rbd_default_data_pool=changes.get('name', 'volumes-data'),
                ),
                ceph_state.Pool(
                    **{
                        'name': 'volumes-data',
                        'kind': 'erasure',
                        'size': 3,
                        'min_size': 2,
                        'pg_num': 64,
                        'pg_autoscale_mode': 'off',
                        'crush_rule': 'coded',
                        'erasure_code_profile': 'ec21',
                        'ec_overwrites': True,
                        **changes,
                    }
                ),
            ],
            erasure_code_profiles={
                'ec21': ceph_state.ErasureCodeProfile(
                    name='ec21',
                    k=2,
                    m=1,
                    root='default',
                    device_class=None,
                    failure_domain='host',
                )
            },
        )
