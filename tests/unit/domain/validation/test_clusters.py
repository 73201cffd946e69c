# SPDX-License-Identifier: Apache-2.0

"""Whether the clusters can hold what a catalog asks of them."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.validation import clusters as cluster_rules
from tests.unit.domain import catalogs as given
from tests.unit.domain.resources import test_cache_tier


@ddt.ddt
class ClusterRulesTestCase(testtools.TestCase):
    def check(self, catalog, **changes):
        return cluster_rules.check(
            catalog, {'ceph': given.empty_cluster(**changes)}
        )

    def test_a_cluster_with_room_has_no_problem(self):
        self.assertEqual(
            (),
            self.check(given.of(*given.three_tiers(), images_pool='images')),
        )

    def test_an_unknown_device_class_shows_those_that_exist(self):
        (problem,) = self.check(
            given.of(given.tier(rbd=given.rbd(device_class='sdd')))
        )
        self.assertIn("device class 'sdd'", problem.found)
        self.assertEqual(
            'one that exists: hdd (3 OSDs), ssd (3 OSDs)', problem.expected
        )

    @ddt.data(
        catalogs.Replicated(size=3, min_size=2),
        catalogs.ErasureCoded(k=2, m=1),
    )
    def test_too_few_failure_domains_are_counted_per_class(self, protection):
        osds = (
            *given.osds(hosts=('a', 'b')),
            *given.osds(hosts=('c',), classes=('hdd',)),
        )
        (problem,) = self.check(
            given.of(
                given.tier(rbd=given.rbd(protection=protection)),
                given.tier(
                    'b',
                    rbd=given.rbd(device_class='hdd', protection=protection),
                ),
            ),
            osds=osds,
        )
        self.assertIn(
            "2 failure domains of type 'host' with ssd", problem.found
        )
        self.assertIn('at least 3', problem.expected)

    def test_osds_that_hold_nothing_are_no_place_for_a_new_pool(self):
        first, second, *others = (
            one for one in given.osds() if one.device_class == 'ssd'
        )
        osds = (
            dataclasses.replace(first, no_data='has weight 0'),
            dataclasses.replace(second, no_data='is out'),
            *others,
        )
        catalog = given.of(given.tier(rbd=given.rbd()))
        (problem,) = self.check(catalog, osds=osds)
        self.assertIn("1 failure domains of type 'host' that", problem.found)
        self.assertIn('osd.0 has weight 0, osd.2 is out', problem.found)
        pools = tier_pools.pools_of(catalog.tiers[0].rbd)
        applied = {
            'osds': osds,
            'pools': {one.name: one for one in pools.pools},
            'crush_rules': {one.name: one for one in pools.crush_rules},
        }
        # An OSD that is out for an hour is no reason to refuse all plans.
        self.assertEqual((), self.check(catalog, **applied))
        (pool,) = pools.pools
        applied['pools'] = {pool.name: dataclasses.replace(pool, size=2)}
        self.assertEqual(1, len(self.check(catalog, **applied)))

    def test_osds_outside_the_root_do_not_count(self):
        for osd in (osds := given.osds()):
            del osd.location['root']
        self.assertEqual(
            3, len(self.check(given.of(*given.three_tiers()), osds=osds))
        )

    def two(self, **fsids):
        """A catalog with a tier in each cluster, and the problems of it."""
        catalog = dataclasses.replace(
            given.of(
                *(
                    given.tier(name, rbd=given.rbd(cluster=name, pool='p'))
                    for name in fsids
                )
            ),
            clusters={name: catalogs.Cluster(name=name) for name in fsids},
            source=catalogs.CatalogSource(
                file='t.yaml',
                lines={
                    ('clusters', name): number
                    for number, name in enumerate(fsids, start=3)
                },
            ),
        )
        return cluster_rules.check(
            catalog,
            {
                name: given.empty_cluster(fsid=fsid)
                for name, fsid in fsids.items()
            },
        )

    def test_a_ceph_cluster_has_one_name(self):
        (problem,) = self.two(north='aa', far='bb', south='aa', west='aa')
        self.assertEqual('t.yaml:6', problem.where)
        self.assertEqual(
            "clusters 'north' (t.yaml:3), 'south' (t.yaml:5) and 'west' "
            '(t.yaml:6) are one Ceph cluster, with the fsid aa',
            problem.found,
        )

    def test_clusters_that_are_two(self):
        self.assertEqual((), self.two(north='aa', south='bb'))
        # What does not say its fsid is not taken for one cluster.
        self.assertEqual((), self.two(north=None, south=None))

    def test_an_unknown_images_pool_is_named(self):
        (problem,) = self.check(given.of(given.tier(), images_pool='image'))
        self.assertIn("did you mean 'images'?", problem.remedy)


class ClusterTestCase(testtools.TestCase):
    def test_a_release_without_cache_tiers_is_told_before_anything(self):
        (problem,) = cluster_rules.check(
            test_cache_tier.CATALOG,
            test_cache_tier.actual(has_cache_tiering=False).ceph,
        )
        self.assertIn('"osd tier add"', problem.found)
        self.assertIn('faster device_class', problem.remedy)

    def test_who_declares_no_cache_does_not_care(self):
        self.assertEqual(
            (),
            cluster_rules.check(
                given.of(test_cache_tier.PLAIN),
                test_cache_tier.actual(has_cache_tiering=False).ceph,
            ),
        )
