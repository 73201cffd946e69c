# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import rules
from tests.unit.domain import catalogs as given
from tests.unit.domain import inventories

POOL = ceph_state.Pool(
    name='volumes',
    kind='replicated',
    size=3,
    min_size=2,
    pg_num=64,
    pg_autoscale_mode='warn',
    crush_rule='replicated_rule',
)
RULES = {
    'replicated_rule': ceph_state.CrushRule(
        name='replicated_rule',
        kind='replicated',
        root='default',
        device_class=None,
        failure_domain='host',
    ),
    'by-hand': ceph_state.CrushRule(
        name='by-hand',
        kind='replicated',
        root='default',
        device_class='hdd',
        failure_domain='osd',
    ),
    'coded': ceph_state.CrushRule(
        name='coded',
        kind='erasure',
        root='default',
        device_class='hdd',
        failure_domain='osd',
    ),
    'tree': ceph_state.CrushRule(
        name='tree',
        kind='replicated',
        root=None,
        device_class=None,
        failure_domain=None,
        other_form='chooses 2 times: 3 host, then 2 osd',
    ),
    'racks': ceph_state.CrushRule(
        name='racks',
        kind='replicated',
        root='room',
        device_class=None,
        failure_domain='host',
    ),
}
CAPS = {
    'mon': 'profile rbd',
    'mgr': 'profile rbd',
    'osd': 'profile rbd pool=volumes, profile rbd-read-only pool=images',
}


def volume_type(name='gold', backend='rbd-1', **changes):
    specs = {'volume_backend_name': backend} if backend else {}
    specs.update(changes.pop('specs', {}))
    return cinder_state.VolumeType(name=name, extra_specs=specs, **changes)


def cloud(
    *types,
    pools=(POOL,),
    backends=None,
    qos_specs=(),
    caps=CAPS,
    quotas=(),
    encryptions=(),
    projects=None,
    user='admin',
    **ceph,
):
    """An inventory of types on one cluster."""
    if backends is None:
        backends = (
            inventories.rbd_backend('rbd-1', 'volumes'),
            inventories.other_backend('lvm'),
        )
    empty = given.empty_cluster()
    return inventory.Inventory(
        cinder=cinder_state.CinderState(
            volume_types={one.name: one for one in types},
            qos_specs={one.name: one for one in qos_specs},
            quotas={one.name: one for one in quotas},
            encryptions={one.name: one for one in encryptions},
        ),
        backends=tuple(backends),
        projects=projects or {},
        clusters=(
            inventory.KnownCluster(
                fsid=inventories.FSID,
                cluster=catalogs.Cluster(name='ceph', user=user),
                configured=ceph.pop('configured', {}),
                configured_hosts=ceph.pop('configured_hosts', {}),
                ceph=dataclasses.replace(
                    empty,
                    crush_rules=dict(RULES),
                    pools={**empty.pools, **{one.name: one for one in pools}},
                    users={
                        'client.cinder': ceph_state.CephxUser(
                            name='client.cinder', caps=caps
                        )
                    },
                    **ceph,
                ),
            ),
        ),
    )


def pool(**changes):
    return dataclasses.replace(POOL, **changes)


@ddt.ddt
class ExportTestCase(testtools.TestCase):
    def tier(self, known, name='gold'):
        """A tier and what is said of it; the plan must be empty."""
        exported = export.export(known)
        self.assertEqual((), exported.leftover)
        return exported.catalog.tier(name), [
            one.text for one in exported.remarks if one.tier == name
        ]

    def test_a_type_of_a_pool_is_that_pool(self):
        tier, remarks = self.tier(cloud(volume_type()))
        self.assertEqual([], remarks)
        self.assertEqual(
            catalogs.Tier(
                name='gold',
                take_over=False,
                backend_name='rbd-1',
                rbd=catalogs.RbdPool(
                    cluster='ceph',
                    pool='volumes',
                    protection=catalogs.Replicated(size=3, min_size=2),
                ),
            ),
            tier,
        )

    def test_a_pool_without_the_marker_is_declared_as_well(self):
        managed, _ = self.tier(cloud(volume_type()))
        tier, remarks = self.tier(
            cloud(volume_type(), pools=[pool(managed=False)])
        )
        self.assertEqual((managed, []), (tier, remarks))

    def test_taking_it_over_would_only_mark_the_type(self):
        exported = export.export(cloud(volume_type()))
        known = cloud(volume_type(specs={'tiers:name': 'gold'}))
        tier = export.export(known).catalog.tier('gold')
        self.assertEqual(
            dataclasses.replace(exported.catalog.tier('gold'), take_over=True),
            tier,
        )

    def test_the_cluster_has_its_user_and_pool_of_images(self):
        cluster = export.export(cloud(volume_type())).catalog.clusters['ceph']
        self.assertEqual(
            ('cinder', 'images'), (cluster.cinder_user, cluster.images_pool)
        )

    def test_a_pool_without_images_is_a_remark(self):
        exported = export.export(cloud(volume_type(), caps={}))
        self.assertIsNone(exported.catalog.clusters['ceph'].images_pool)
        self.assertIn('images_pool is not known', str(exported.remarks))

    def test_what_is_set_is_said(self):
        tier, remarks = self.tier(
            cloud(
                volume_type(),
                pools=[
                    pool(
                        crush_rule='by-hand',
                        size=2,
                        min_size=2,
                        pg_autoscale_mode='off',
                        options={
                            'compression_mode': 'force',
                            'quota_max_bytes': '5',
                            'noscrub': 'true',
                            'nodelete': 'false',
                            'recovery_priority': 'unset',
                            'target_size_ratio': '0.1',
                        },
                        rbd_options={'rbd_cache': 'false'},
                    )
                ],
            )
        )
        self.assertEqual(
            catalogs.RbdPool(
                cluster='ceph',
                pool='volumes',
                device_class='hdd',
                failure_domain='osd',
                pg_num=64,
                protection=catalogs.Replicated(size=2, min_size=2),
                options={
                    'compression_mode': 'force',
                    'quota_max_bytes': 5,
                    'noscrub': True,
                },
                rbd_options={'rbd_cache': False},
            ),
            tier.rbd,
        )
        self.assertIn('target_size_ratio=0.1', ' '.join(remarks))

    def test_limits_that_librbd_passes_over_are_left_out(self):
        tier, remarks = self.tier(
            cloud(
                volume_type(),
                pools=[
                    pool(
                        rbd_options={
                            'rbd_cache': 'false',
                            'rbd_qos_bps_limit': '1048576',
                            'rbd_qos_iops_limit': '10k',
                            # Without the limit, these have no effect either.
                            'rbd_qos_iops_burst': '500',
                            'rbd_qos_iops_burst_seconds': '5',
                        }
                    )
                ],
            )
        )
        self.assertEqual(
            {'rbd_cache': False, 'rbd_qos_bps_limit': 1048576},
            tier.rbd.rbd_options,
        )
        self.assertEqual(
            ['rbd_qos_iops_limit=10k', 'rbd_qos_iops_burst=500']
            + ['rbd_qos_iops_burst_seconds=5'],
            [one.split()[3] for one in remarks if 'RBD option' in one],
        )

    def test_a_rule_below_another_root_is_said(self):
        osds = tuple(
            dataclasses.replace(osd, location={**osd.location, 'room': 'room'})
            for osd in given.osds()
        )
        tier, remarks = self.tier(
            cloud(volume_type(), pools=[pool(crush_rule='racks')], osds=osds)
        )
        self.assertEqual(([], 'room'), (remarks, tier.rbd.crush_root))

    def test_a_class_for_the_first_copy_is_said(self):
        rule = dataclasses.replace(
            RULES['by-hand'], primary_device_class='ssd'
        )
        known = cloud(volume_type(), pools=[pool(crush_rule='by-hand')])
        (cluster,) = known.clusters
        known = dataclasses.replace(
            known,
            clusters=(
                dataclasses.replace(
                    cluster,
                    ceph=dataclasses.replace(
                        cluster.ceph, crush_rules={**RULES, 'by-hand': rule}
                    ),
                ),
            ),
        )
        tier, remarks = self.tier(known)
        self.assertEqual(
            ([], 'ssd', 'hdd'),
            (remarks, tier.rbd.primary_device_class, tier.rbd.device_class),
        )

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
            RULES['by-hand'],
            failure_domain='zone',
            replicas_per_failure_domain=each,
            sub_failure_domain='host',
        )
        known = cloud(
            volume_type(),
            pools=[pool(crush_rule='by-hand', size=size, **changes)],
            osds=osds,
        )
        (cluster,) = known.clusters
        cluster.ceph.crush_rules['by-hand'] = rule
        return known

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
            cloud(volume_type(), pools=[pool(size=1, min_size=1)])
        )
        self.assertTrue(tier.rbd.protection.single_copy)

    def coded(self, **changes):
        return cloud(
            volume_type(),
            pools=[
                pool(
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
            RULES['coded'],
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
                            **RULES,
                            'coded': rule,
                            'by-hand': dataclasses.replace(
                                RULES['by-hand'], failure_domain='host'
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
            RULES['coded'], num_failure_domains=3, osds_per_failure_domain=1
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
            {'pools': [pool(crush_rule='tree')]},
            'rule tree chooses 2 times: 3 host, then 2 osd, and',
        ),
        (
            {'pools': [pool(crush_rule='racks')]},
            "no OSD under CRUSH root 'room'",
        ),
        ({'pools': [pool(size=4)]}, '3 failure domains'),
        ({'pools': [pool(size=11)]}, '11 copies'),
        ({'pools': [pool(kind='erasure')]}, 'has no data pool'),
        ({'pools': [pool(size=1)]}, 'min_size 2 with size 1'),
        (
            {'pools': [pool(applications=frozenset({'rbd', 'rgw'}))]},
            'used by rgw',
        ),
        ({'pools': [pool(applications=frozenset())]}, 'applications'),
        ({'pools': [pool(rbd_default_data_pool='ec')]}, 'has no pool ec'),
        (
            {'backends': [inventories.rbd_backend('rbd-1', 'a/b')]},
            'has no pool a/b',
        ),
        (
            {
                'backends': [inventories.rbd_backend('rbd-1', 'a/b')],
                'pools': [pool(name='a/b')],
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
        tier, remarks = self.tier(cloud(volume_type(), **changes))
        self.assertEqual(('rbd-1', None), (tier.backend_name, tier.rbd))
        self.assertIn(reason, remarks[0])

    def test_a_cluster_that_was_not_reached_is_named(self):
        known = dataclasses.replace(
            cloud(volume_type()),
            clusters=(),
            unreached={'ceph': 'no monitors'},
        )
        tier, remarks = self.tier(known)
        self.assertIsNone(tier.rbd)
        self.assertIn('ceph: no monitors', remarks[0])

    def test_a_tier_of_ours_without_rbd_stays_so(self):
        # It was applied with backend: only, and its user has other grants.
        ours = volume_type(specs={'tiers:name': 'gold'})
        tier, remarks = self.tier(cloud(ours, caps={'osd': 'allow rwx'}))
        self.assertEqual(
            (True, 'rbd-1', None),
            (tier.take_over, tier.backend_name, tier.rbd),
        )
        self.assertIn('lacks capabilities', remarks[0])

    def test_a_pool_of_several_types_is_that_of_one(self):
        exported = export.export(
            cloud(
                volume_type('a'),
                volume_type('b'),
                volume_type('z', specs={'tiers:name': 'z'}),
            )
        )
        self.assertEqual(
            [('z', True), ('a', False), ('b', False)],
            [
                (tier.name, tier.rbd is not None)
                for tier in exported.catalog.tiers
            ],
        )
        self.assertIn(
            'pool volumes belongs to tier z', exported.remarks[0].text
        )

    def test_types_that_are_retired_or_wait_are_no_tiers(self):
        exported = export.export(
            cloud(
                volume_type('gold', specs={'tiers:name': 'gold'}),
                volume_type('gold - retired 1'),
                volume_type('gold - retired 2', specs={'tiers:name': 'gold'}),
                volume_type(
                    'any - retired 1',
                    specs={'tiers:follow_image': '<is> True'},
                ),
                volume_type('silver - new', 'lvm'),
            )
        )
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            (['gold'], ()),
            (
                [tier.name for tier in exported.catalog.tiers],
                exported.catalog.follow_image_types,
            ),
        )
        self.assertEqual(
            4, str(exported.remarks).count('is not in the tiers file: ')
        )
        self.assertIn(
            'it is retired: type gold replaced it', str(exported.remarks)
        )

    def test_keys_that_differ_in_case_are_left_out(self):
        exported = export.export(
            cloud(
                volume_type(
                    'gold',
                    'lvm',
                    specs={
                        'tiers:name': 'gold',
                        'Thin': 'a',
                        'thin': 'b',
                        'else': 'c',
                    },
                ),
            )
        )
        self.assertEqual((), exported.leftover)
        (tier,) = exported.catalog.tiers
        self.assertEqual({'else': 'c'}, tier.extra_specs)
        self.assertIn('the extra spec Thin=a is left', str(exported.remarks))
        self.assertIn('the extra spec thin=b is left', str(exported.remarks))

    def test_another_spelling_of_the_backend_is_told(self):
        exported = export.export(
            cloud(
                volume_type(
                    'gold',
                    'lvm',
                    specs={'tiers:name': 'gold', 'Volume_Backend_Name': 'a'},
                ),
            )
        )
        self.assertEqual(1, len(exported.leftover), exported.leftover)
        self.assertIn(
            'Volume_Backend_Name=a is left out: to some databases it is '
            'volume_backend_name',
            str(exported.remarks),
        )

    def test_a_type_that_could_not_be_retired_is_left_out(self):
        names = [letter * chars for letter, chars in (('a', 236), ('b', 237))]
        exported = export.export(
            cloud(
                volume_type('gold', 'lvm'),
                *(
                    volume_type(
                        name, None, specs={'tiers:follow_image': '<is> True'}
                    )
                    for name in names
                ),
            )
        )
        self.assertEqual(tuple(names[:1]), exported.catalog.follow_image_types)
        self.assertIn('has at most 236 printable', str(exported.remarks))

    def test_what_an_apply_left_half_done_is_told(self):
        exported = export.export(
            cloud(
                *(
                    volume_type(name, specs={'tiers:name': 'gold'})
                    for name in ('gold', 'gold - new')
                )
            )
        )
        self.assertEqual(
            ('refused: delete volume type gold - new',), exported.leftover
        )

    def test_types_on_other_storage(self):
        exported = export.export(
            cloud(
                volume_type('lvm', 'lvm', specs={'multiattach': '<is> True'}),
                volume_type('any', None, specs={'vendor_name': 'x'}),
                volume_type('none', None, specs={'hp3par:x': 'y'}),
                volume_type('both', '<or> a <or> b'),
                volume_type('a/b', 'lvm'),
                volume_type('ANY', 'lvm'),
                volume_type('__DEFAULT__', None),
            )
        )
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            [
                ('ANY', 'lvm', {}),
                ('a-b', 'lvm', {}),
                ('lvm', 'lvm', {'multiattach': '<is> True'}),
            ],
            [
                (tier.name, tier.backend_name, tier.extra_specs)
                for tier in exported.catalog.tiers
            ],
        )
        told = {one.text.split()[2]: one.text for one in exported.remarks}
        self.assertEqual({'__DEFAULT__', 'any', 'both', 'none'}, told.keys())
        self.assertIn('its name differs from ANY only in case', told['any'])
        self.assertIn('names no backend', told['none'])
        self.assertIn('<or> a <or> b', told['both'])

    def test_limits_quotas_and_access(self):
        spec = cinder_state.QosSpec(
            name='tier-gold',
            consumer='both',
            specs={'total_iops_sec': '5'},
            volume_types=frozenset({'gold'}),
        )
        known = cloud(
            volume_type(
                is_public=False,
                projects=frozenset({'1', '2'}),
                description='Fast',
            ),
            qos_specs=[spec],
            projects={'1': 'one', '2': None},
            quotas=[cinder_state.TypeQuota(name='gold', volumes=7)],
        )
        tier, remarks = self.tier(known)
        limits = {'total_iops_sec': '5'}
        self.assertEqual(
            (
                'Fast',
                ('1', '2'),
                catalogs.Quotas(volumes=7),
                catalogs.Qos(front_end=limits, back_end=limits),
            ),
            (tier.description, tier.access, tier.quotas, tier.qos),
        )
        self.assertEqual(
            [
                (
                    'project 2 has access, but Keystone does not have such a '
                    'project'
                )
            ],
            remarks,
        )

    def test_a_card_is_a_promise_and_no_description(self):
        known = cloud(
            volume_type(
                specs={'tiers:name': 'gold'},
                description='Fast Promise: oltp iops at least 500. Not '
                'measured since 2026-11-29T14:05Z.',
            )
        )
        tier, remarks = self.tier(known)
        self.assertEqual(
            ('Fast', {'oltp': {'iops_min': 500}}, []),
            (tier.description, tier.expect, remarks),
        )

    def test_of_two_cards_the_first_is_no_description_either(self):
        known = cloud(
            volume_type(
                specs={'tiers:name': 'gold'},
                description='Fast Promise: oltp iops at least 9. '
                'Promise: oltp iops at least 500.',
            )
        )
        catalog = export.export(known).catalog
        tier = catalog.tier('gold')
        self.assertEqual(
            ('Fast', {'oltp': {'iops_min': 500}}),
            (tier.description, tier.expect),
        )
        # With it, nobody could use the file.
        self.assertEqual(
            [],
            [
                one
                for one in catalog_rules.check(catalog)
                if one.rule == rules.CARD
            ],
        )

    def test_default_types_of_projects_that_exist(self):
        known = cloud(volume_type(), projects={'1': 'one', '2': None})
        known = dataclasses.replace(
            known,
            cinder=dataclasses.replace(
                known.cinder,
                project_defaults={
                    'gold': cinder_state.ProjectDefaults(
                        name='gold', default_for=frozenset('12')
                    )
                },
            ),
        )
        tier, (remark,) = self.tier(known)
        self.assertEqual(('1',), tier.default_for)
        self.assertIn('project 2, whose default type it is', remark)

    def test_an_encryption_is_taken_over(self):
        found = cinder_state.TypeEncryption(
            name='gold',
            provider='luks',
            cipher='aes-xts-plain64',
            key_size_bits=None,
            control_location='back-end',
        )
        tier, remarks = self.tier(cloud(volume_type(), encryptions=[found]))
        self.assertEqual(
            catalogs.Encryption(
                provider='luks',
                cipher='aes-xts-plain64',
                control_location='back-end',
            ),
            tier.encryption,
        )
        self.assertEqual([], remarks)

    @ddt.data(
        {'provider': 'a b'},
        {'cipher': 'x' * 256},
        {'key_size_bits': 0},
        {'key_size_bits': 2**31},
    )
    def test_an_encryption_that_no_catalog_holds_is_a_remark(self, wrong):
        found = cinder_state.TypeEncryption(
            name='gold',
            control_location='front-end',
            **{
                'provider': 'luks',
                'cipher': None,
                'key_size_bits': None,
                **wrong,
            },
        )
        tier, remarks = self.tier(cloud(volume_type(), encryptions=[found]))
        self.assertIsNone(tier.encryption)
        self.assertIn('its encryption is left out', remarks[0])

    def test_limits_keep_the_name_of_their_qos_spec(self):
        spec = cinder_state.QosSpec(
            name='gold',
            consumer='back-end',
            specs={'total_iops_sec': '5'},
            volume_types=frozenset({'gold'}),
        )
        tier, remarks = self.tier(cloud(volume_type(), qos_specs=[spec]))
        self.assertEqual(
            catalogs.Qos(name='gold', back_end={'total_iops_sec': '5'}),
            tier.qos,
        )
        self.assertEqual([], remarks)

    def test_limits_of_several_types_are_a_remark(self):
        spec = cinder_state.QosSpec(
            name='gold',
            consumer='back-end',
            specs={'total_iops_sec': '5'},
            volume_types=frozenset({'gold', 'other'}),
        )
        tier, remarks = self.tier(cloud(volume_type(), qos_specs=[spec]))
        self.assertIsNone(tier.qos)
        self.assertIn('QoS spec gold (back-end: total_iops_sec=5)', remarks[0])

    def test_a_type_of_any_name_is_a_tier(self):
        exported = export.export(
            cloud(
                volume_type('Super Fast (EU)', 'lvm'),
                volume_type('Super-Fast-EU', 'lvm'),
                volume_type('größe', 'lvm'),
            )
        )
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            {
                ('Super-Fast-EU-2', 'Super Fast (EU)'),
                ('Super-Fast-EU', 'Super-Fast-EU'),
                ('gr-e', 'größe'),
            },
            {(one.name, one.type_name) for one in exported.catalog.tiers},
        )

    def test_quotas_of_a_name_that_quotas_cannot_have_are_a_remark(self):
        name = 'fast (EU)'
        exported = export.export(
            cloud(
                volume_type(name, 'lvm'),
                quotas=[cinder_state.TypeQuota(name=name, volumes=3)],
            )
        )
        (tier,), (remark,) = exported.catalog.tiers, exported.remarks
        self.assertIsNone(tier.quotas)
        self.assertIn('default quotas', remark.text)

    def test_tiers_of_ours_come_back(self):
        exported = export.export(
            cloud(
                volume_type(
                    'gold',
                    '<or> rbd-1 <or> lvm',
                    specs={
                        'tiers:name': 'gold',
                        'tiers:tags': 'db,gold',
                        'tiers:priority': '7',
                        'tiers:overflow': 'general',
                    },
                ),
                volume_type(
                    'general',
                    'lvm',
                    specs={
                        'tiers:name': 'general',
                        'tiers:fallback': '<is> True',
                    },
                ),
                volume_type(
                    'by-image', None, specs={'tiers:follow_image': '<is> True'}
                ),
            )
        )
        self.assertEqual((), exported.leftover)
        catalog = exported.catalog
        gold, general = catalog.tiers
        self.assertEqual(
            (('db', 'gold'), 7, 'general', 'rbd-1', 'volumes'),
            (
                gold.tags,
                gold.priority,
                gold.overflow,
                gold.backend_name,
                gold.rbd.pool,
            ),
        )
        self.assertTrue(general.fallback)
        self.assertEqual(
            (('by-image',), False),
            (catalog.follow_image_types, catalog.without_fallback),
        )

    def test_tiers_that_no_catalog_can_have_are_told(self):
        def ours(name, **specs):
            return volume_type(
                name,
                'lvm',
                specs={
                    'tiers:name': name,
                    **{f'tiers:{key}': value for key, value in specs.items()},
                },
            )

        exported = export.export(
            cloud(
                ours('a', tags='db', priority='3', fallback='<is> True'),
                ours('b', tags='db,web', priority='3', fallback='<is> True'),
                ours('c', overflow='gone'),
            )
        )
        self.assertEqual(
            {'a', 'b', 'c'}, {tier.name for tier in exported.catalog.tiers}
        )
        self.assertEqual(
            ['update volume type b', 'update volume type c'],
            sorted(text.partition(':')[0] for text in exported.leftover),
        )
        said = ' '.join(one.text for one in exported.remarks)
        for part in (
            'the tag db',
            'its priority is 3',
            "a second fallback besides 'a'",
            "unknown tier 'gone'",
        ):
            self.assertIn(part, said)

    def test_a_fallback_of_each_zone_comes_back(self):
        def fallback(name, zones):
            return volume_type(
                name,
                'lvm',
                specs={
                    'tiers:name': name,
                    'tiers:fallback': '<is> True',
                    'RESKEY:availability_zones': zones,
                },
            )

        exported = export.export(
            cloud(
                fallback('north', 'n1,n2'),
                fallback('south', 's'),
                fallback('west', 'w,s'),
            )
        )
        self.assertEqual(
            {'north': True, 'south': True, 'west': False},
            {tier.name: tier.fallback for tier in exported.catalog.tiers},
        )
        self.assertEqual(
            [
                "fallback is left out: tiers 'south' and 'west' are both the "
                'fallback in availability zone s'
            ],
            [one.text for one in exported.remarks if 'fallback' in one.text],
        )
        self.assertEqual(1, len(exported.leftover))

    def test_tiers_without_a_fall_back_are_sound(self):
        exported = export.export(
            cloud(volume_type(specs={'tiers:name': 'gold'}))
        )
        self.assertTrue(exported.catalog.without_fallback)
        self.assertEqual((), exported.leftover)


class LocationTestCase(testtools.TestCase):
    def test_only_the_rbd_driver_is_read(self):
        self.assertIsNone(
            rbd_location.location_of(inventories.other_backend('lvm'))
        )
        odd = dataclasses.replace(
            inventories.rbd_backend('a', 'b'),
            capabilities={'storage_protocol': 'ceph', 'location_info': 7},
        )
        self.assertIsNone(rbd_location.location_of(odd))

    def test_a_colon_in_the_path_is_no_end(self):
        found = rbd_location.location_of(
            dataclasses.replace(
                inventories.rbd_backend('a', 'b'),
                capabilities={
                    'storage_protocol': 'ceph',
                    'location_info': 'ceph:/a:b.conf:'
                    f'{inventories.FSID.upper()}:c:volumes',
                },
            )
        )
        self.assertEqual(
            rbd_location.Location(
                fsid=inventories.FSID, user='c', pool='volumes'
            ),
            found,
        )
