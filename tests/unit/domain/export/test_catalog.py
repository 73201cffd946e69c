# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
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


class ExportCase(testtools.TestCase):
    def tier(self, known, name='gold'):
        """A tier and what is said of it; the plan must be empty."""
        exported = export.export(known)
        self.assertEqual((), exported.leftover)
        return exported.catalog.tier(name), [
            one.text for one in exported.remarks if one.tier == name
        ]


@ddt.ddt
class ExportTestCase(ExportCase):
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
