# SPDX-License-Identifier: Apache-2.0

"""Rules between the parts of a catalog, and between it and a cluster."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import clusters as cluster_rules
from cinder_tiers.domain.validation import rules
from tests.unit.domain import catalogs as given


def found(*tiers, **changes):
    return [
        problem.found
        for problem in catalog_rules.check(given.of(*tiers, **changes))
    ]


@ddt.ddt
class CatalogRulesTestCase(testtools.TestCase):
    def test_a_sound_catalog_has_no_problem(self):
        self.assertEqual([], found(*given.three_tiers(), images_pool='images'))

    def test_one_tier_must_be_the_fall_back(self):
        self.assertEqual(['no tier has fallback: true'], found(given.tier()))

    def test_a_fall_back_is_needed_by_tiers_that_are_ours(self):
        theirs = given.tier('theirs', take_over=False)
        self.assertEqual([], found())
        self.assertEqual([], found(theirs))
        self.assertEqual(
            ['no tier has fallback: true'], found(theirs, given.tier())
        )
        self.assertEqual(
            [], found(given.tier(), dataclasses.replace(theirs, fallback=True))
        )
        self.assertEqual([], found(given.tier(), without_fallback=True))
        self.assertEqual(
            ["fallback: none, but tier 'database' has fallback: true"],
            found(given.tier(fallback=True), without_fallback=True),
        )

    def test_two_fall_backs_are_one_too_many(self):
        self.assertEqual(
            [
                (
                    "tier 'b' is a second fallback besides 'a', and neither "
                    'is restricted to availability zones'
                )
            ],
            found(
                given.tier('a', fallback=True), given.tier('b', fallback=True)
            ),
        )

    def fallbacks(self, **zones):
        """Problems of fallback tiers restricted to zones."""
        return found(
            *(
                given.other_tier(
                    name,
                    fallback=True,
                    extra_specs={}
                    if text is None
                    else {'RESKEY:availability_zones': text},
                )
                for name, text in zones.items()
            )
        )

    @ddt.data(
        {'a': 'north', 'b': 'south'},
        {'a': 'north, west', 'b': 'south,east'},
        # It serves the zones that the others do not.
        {'a': 'north', 'b': None},
        {'a': None, 'b': 'north'},
        {'a': 'north', 'b': None, 'c': 'south'},
        {'a': 'north'},
    )
    def test_each_zone_may_have_a_fallback(self, zones):
        self.assertEqual([], self.fallbacks(**zones))

    @ddt.data(
        (
            {'a': 'north,south', 'b': 'west, south ', 'c': 'west'},
            [
                "tiers 'a' and 'b' are both the fallback in availability zone "
                'south'
            ],
        ),
        (
            {'a': None, 'b': 'north', 'c': None},
            [
                (
                    "tier 'c' is a second fallback besides 'a', and neither "
                    'is restricted to availability zones'
                )
            ],
        ),
        (
            {'a': ' ,'},
            [
                (
                    "fallback tier 'a' is restricted to availability zones, "
                    'but names none (RESKEY:availability_zones is empty)'
                )
            ],
        ),
    )
    @ddt.unpack
    def test_a_zone_has_one_fallback(self, zones, expected):
        self.assertEqual(expected, self.fallbacks(**zones))

    @ddt.data(('db', 'DB '), ('cafe\u0301', 'CAF\xc9'))
    @ddt.unpack
    def test_a_tag_asks_for_one_tier(self, one, other):
        self.assertEqual(
            [f"tag {other!r} of tier 'b' already selects tier 'a'"],
            found(
                given.tier('a', tags=(one,), fallback=True),
                given.tier('b', tags=(other,), priority=1),
            ),
        )

    def test_a_tier_names_a_tag_once(self):
        self.assertEqual(
            ["tag 'DB' repeats 'db' of the same tier"],
            found(given.tier('a', tags=('db', 'DB'), fallback=True)),
        )

    @ddt.data('a,b', '', ' ', 'a\nb')
    def test_a_tag_must_survive_the_extra_spec(self, tag):
        self.assertEqual(
            [f'tag {tag!r}'],
            found(given.tier('a', tags=(tag,), fallback=True)),
        )

    def test_tags_of_a_tier_must_fit_an_extra_spec(self):
        tags = tuple(f'{number:063}' for number in range(4))
        self.assertEqual(
            [], found(given.tier('a', tags=tags, fallback=True))
        )  # 4 * 63 + 3 = 255
        self.assertEqual(
            ['tags of 257 characters in all'],
            found(given.tier('a', tags=(*tags, 'x'), fallback=True)),
        )

    def test_priorities_of_tagged_tiers_differ(self):
        self.assertEqual(
            ["tiers 'a' and 'b' both have priority 5"],
            found(
                given.tier('a', tags=('a',), priority=5, fallback=True),
                given.tier('b', tags=('b',), priority=5),
                given.tier('c', priority=5),
            ),
        )

    def test_overflow_names_another_tier(self):
        (problem,) = catalog_rules.check(
            given.of(
                given.tier('general', fallback=True, overflow='genral'),
                given.tier('archive'),
            )
        )
        self.assertEqual("unknown tier 'genral'", problem.found)
        self.assertIn('archive', problem.expected)
        self.assertIn("did you mean 'general'?", problem.remedy)

    def test_a_tier_does_not_overflow_to_itself(self):
        self.assertEqual(
            ["tier 'a' overflows to itself"],
            found(given.tier('a', fallback=True, overflow='a')),
        )

    def test_overflow_in_a_chain_is_sound(self):
        self.assertEqual(
            [],
            found(
                given.tier('a', fallback=True, overflow='b'),
                given.tier('b', overflow='c'),
                given.tier('c'),
            ),
        )

    @ddt.data(
        ('bcb', 'overflow loop: b -> c -> b'),
        ('bca', 'overflow loop: a -> b -> c -> a'),
    )
    @ddt.unpack
    def test_overflow_in_a_circle_is_told_once(self, targets, expected):
        self.assertEqual(
            [expected],
            found(
                *(
                    given.tier(name, fallback=name == 'a', overflow=target)
                    for name, target in zip('abc', targets, strict=True)
                )
            ),
        )

    @ddt.data(
        (catalogs.Qos(front_end={'a': '1'}, back_end={'a': '1'}), []),
        (
            catalogs.Qos(front_end={'a': '1'}, back_end={'a': '2'}),
            ["tier 'a' has different values in front_end and back_end"],
        ),
        (
            catalogs.Qos(
                front_end={'total_iops_sec': '1', 'read_bytes_sec': '1'}
            ),
            [],
        ),
        (
            catalogs.Qos(
                front_end={
                    'total_iops_sec': '1',
                    'read_iops_sec': '1',
                    'write_iops_sec': '1',
                }
            ),
            ['total_iops_sec together with read_iops_sec and write_iops_sec'],
        ),
        (
            catalogs.Qos(back_end={'IOPS': '1', 'iops': '1'}),
            ["the limit 'iops', but 'IOPS' exists"],
        ),
        (
            catalogs.Qos(back_end={'Consumer': 'x'}),
            ["the limit 'Consumer', but 'consumer' is a key of Cinder"],
        ),
    )
    @ddt.unpack
    def test_limits_can_be_kept(self, qos, expected):
        self.assertEqual(
            expected, found(given.tier('a', fallback=True, qos=qos))
        )

    @ddt.data(
        {'backend_name': 'lvm'},
        {'backend_name': None, 'extra_specs': {'vendor_name': 'x'}},
        {
            'backend_name': None,
            'extra_specs': {'capabilities:replication': '<is> True'},
        },
        {'rbd': given.rbd()},
        {'extra_specs': {'multiattach': '<is> True', 'hp3par:x': 'y'}},
    )
    def test_a_tier_needs_no_rbd(self, changes):
        self.assertEqual([], found(given.other_tier(fallback=True, **changes)))

    @ddt.data(
        ({'backend_name': None}, "tier 'other' names no storage"),
        (
            {'backend_name': None, 'extra_specs': {'hp3par:x': 'y'}},
            "tier 'other' names no storage",
        ),
        *(
            (
                {'backend_name': None, 'extra_specs': specs},
                "tier 'other' names no storage",
            )
            for specs in (
                {'multiattach': '<is> True'},
                {'free_capacity_gb': '>= 100'},
                {'volume_backend': 'ssd'},
                {'storage_tier': ''},
            )
        ),
        ({'extra_specs': {'Tiers:name': 'x'}}, "extra spec 'Tiers:name'"),
        (
            {'extra_specs': {'volume_backend_name': 'x'}},
            "extra spec 'volume_backend_name'",
        ),
        (
            {'extra_specs': {'capabilities:volume_backend_name': 'x'}},
            "extra spec 'capabilities:volume_backend_name'",
        ),
        (
            {'extra_specs': {'Thin': 'x', 'thin': 'x'}},
            "extra spec 'thin', but 'Thin' exists",
        ),
    )
    @ddt.unpack
    def test_a_tier_names_storage_once(self, changes, expected):
        self.assertEqual(
            [expected], found(given.other_tier(fallback=True, **changes))
        )

    def test_overflow_needs_the_backends_of_both(self):
        specs = given.other_tier(
            'specs', backend_name=None, extra_specs={'vendor_name': 'x'}
        )
        self.assertEqual(
            [
                "overflow from 'a' to 'specs', of which 'specs' has neither "
                'rbd '
                'nor backend',
                "overflow from 'b' to 'c', which has the same backend "
                "'tier-c'",
            ],
            found(
                given.tier('a', fallback=True, overflow='specs'),
                specs,
                given.other_tier('b', backend_name='tier-c', overflow='c'),
                given.tier('c'),
            ),
        )

    @ddt.data(
        ({'backend_name': 'fast'}, {'backend_name': 'fast'}),
        # The name that the other has without one.
        ({}, {'backend_name': 'tier-a'}),
        (
            {
                'backend_name': 'fast',
                'extra_specs': {'RESKEY:availability_zones': 'north'},
            },
            {'backend_name': 'fast'},
        ),
        (
            {'backend_name': 'fast', 'take_over': False},
            {
                'backend_name': 'fast',
                # Nothing keeps the other one off its backends.
                'extra_specs': {
                    'disk': '<in> ssd',
                    'RESKEY:availability_zones': 'north',
                },
            },
        ),
        (
            {
                'backend_name': 'fast',
                'extra_specs': {
                    'RESKEY:availability_zones': 'north,west',
                    'disk': 'ssd',
                    'hp3par:persona': '1',
                },
            },
            {
                'backend_name': 'fast',
                'extra_specs': {
                    'RESKEY:availability_zones': 'south, west',
                    'capabilities:disk': 'ssd',
                    'hp3par:persona': '2',
                },
            },
        ),
    )
    @ddt.unpack
    def test_a_backend_leads_to_one_pool(self, one, other):
        tiers = given.tier('a', **one), given.tier('b', **other)
        name = tiers[1].backend
        self.assertEqual(
            [
                f"backend {name!r} of tier 'b', with pool 'tier-b' of cluster "
                "'ceph', is also the backend of tier 'a', with pool 'tier-a' "
                "of cluster 'ceph'"
            ],
            found(*tiers, without_fallback=True),
        )

    def test_pools_of_one_name_in_two_clusters_are_two(self):
        catalog = given.of(
            given.tier('a', backend_name='fast'),
            given.tier(
                'b',
                backend_name='fast',
                rbd=given.rbd(cluster='far', pool='tier-a'),
            ),
            without_fallback=True,
        )
        (problem,) = catalog_rules.check(
            dataclasses.replace(
                catalog,
                clusters={
                    **catalog.clusters,
                    'far': catalogs.Cluster(name='far'),
                },
            )
        )
        self.assertEqual(rules.SHARED_BACKEND, problem.rule)

    @ddt.data(
        # Types of one pool, as the guide on the take-over has them.
        (
            given.tier('a', backend_name='fast'),
            given.other_tier('b', backend_name='fast'),
            given.other_tier('c', backend_name='fast'),
        ),
        (given.tier('a'), given.other_tier('b', backend_name='tier-a')),
        # Volumes of neither type can lie in the pool of the other.
        tuple(
            given.tier(
                zone,
                backend_name='rbd',
                extra_specs={'RESKEY:availability_zones': zone},
            )
            for zone in ('north', 'south')
        ),
        tuple(
            given.tier(disk, backend_name='rbd', extra_specs={'disk': disk})
            for disk in ('ssd', 'hdd')
        ),
    )
    def test_a_backend_may_be_shared_where_the_pool_is_clear(self, tiers):
        self.assertEqual([], found(*tiers, without_fallback=True))

    def test_names_of_volume_types_are_compared_without_case(self):
        self.assertEqual(
            [
                "tier 'A', but tier 'a' exists",
                "tier 'Image-Tier', but follow_image_types has 'image-tier'",
            ],
            found(
                given.tier('a', fallback=True),
                given.tier('A', rbd=given.rbd(pool='other')),
                given.tier('Image-Tier'),
            ),
        )

    @ddt.data(
        ((), []),
        (('ft', 'any'), []),
        (
            ('ft', 'FT', 'Ft'),
            [
                "follow_image_types has 'FT', but 'ft' exists",
                "follow_image_types has 'Ft', but 'ft' exists",
            ],
        ),
        # To MySQL and MariaDB, accents are no difference either.
        (
            ('café', 'cafe'),
            ["follow_image_types has 'cafe', but 'café' exists"],
        ),
        (('a - new',), ["follow_image_types has 'a - new'"]),
        (('x - retired 1',), ["follow_image_types has 'x - retired 1'"]),
        (
            ('x - retired 7c1f0a9e',),
            ["follow_image_types has 'x - retired 7c1f0a9e'"],
        ),
        (('x' * 236,), []),
        (
            ('x' * 237,),
            [
                'follow_image_types has a name of 237 characters, '
                f'{"x" * 237!r}'
            ],
        ),
        # Nobody gives these to a type.
        (('x - old', 'x - retired', ' - new', 'renewed - new one'), []),
    )
    @ddt.unpack
    def test_types_that_follow_the_image_are_different_ones(
        self, names, expected
    ):
        self.assertEqual(
            expected,
            found(given.tier('a', fallback=True), follow_image_types=names),
        )

    def test_an_unknown_cluster_suggests_the_near_one(self):
        (problem,) = catalog_rules.check(
            given.of(
                given.tier('a', fallback=True, rbd=given.rbd(cluster='cpeh'))
            )
        )
        self.assertEqual("unknown cluster 'cpeh'", problem.found)
        self.assertIn("did you mean 'ceph'?", problem.remedy)

    def test_a_pool_belongs_to_one_tier(self):
        coded = given.rbd(pool='x', protection=catalogs.ErasureCoded(k=2, m=1))
        self.assertEqual(
            [
                "pool 'x-data' of tier 'b' is also the pool of tier 'a'",
                "pool 'images' of tier 'c' is also the images_pool of the "
                'cluster',
            ],
            found(
                given.tier('a', fallback=True, rbd=coded),
                given.tier('b', rbd=given.rbd(pool='x-data')),
                given.tier('c', rbd=given.rbd(pool='images')),
                images_pool='images',
            ),
        )

    @ddt.data(
        (
            {
                'protection': catalogs.Replicated(
                    size=1, min_size=1, single_copy=True
                )
            },
        ),
        (
            {
                'protection': catalogs.ErasureCoded(
                    k=4, m=2, min_size=4, unprotected_writes=True
                )
            },
        ),
        ({'protection': catalogs.ErasureCoded(k=4, m=2, min_size=6)},),
    )
    @ddt.unpack
    def test_numbers_that_make_sense_together(self, changes):
        self.assertEqual(
            [],
            found(given.tier('a', fallback=True, rbd=given.rbd(**changes))),
        )

    @ddt.data(
        (
            {'protection': catalogs.Replicated(size=2, min_size=3)},
            'min_size 3 with size 2',
        ),
        (
            {'protection': catalogs.ErasureCoded(k=4, m=2, min_size=3)},
            'min_size 3 with k=4 and m=2',
        ),
        (
            {'protection': catalogs.Replicated(size=2, min_size=1)},
            'min_size 1 with size 2 and without unprotected_writes: true',
        ),
        (
            {'protection': catalogs.ErasureCoded(k=4, m=2, min_size=4)},
            'min_size 4 with k=4 and m=2 and without unprotected_writes: true',
        ),
        (
            {
                'protection': catalogs.Replicated(
                    size=3, min_size=2, unprotected_writes=True
                )
            },
            'min_size 2 with size 3 and with unprotected_writes: true',
        ),
        (
            {
                'protection': catalogs.Replicated(
                    size=3, unprotected_writes=True
                )
            },
            'no min_size with size 3 and with unprotected_writes: true',
        ),
        ({'protection': catalogs.ErasureCoded(k=2, m=3)}, 'm=3 with k=2'),
        ({'pg_num': 48}, 'pg_num 48'),
    )
    @ddt.unpack
    def test_numbers_must_make_sense_together(self, changes, expected):
        self.assertEqual(
            [expected],
            found(given.tier('a', fallback=True, rbd=given.rbd(**changes))),
        )

    def test_all_problems_come_at_once(self):
        # No fall-back, a tag twice, an odd pg_num, a pool twice.
        self.assertEqual(
            4,
            len(
                found(
                    given.tier('a', tags=('x', 'X')),
                    given.tier('b', rbd=given.rbd(pool='tier-a', pg_num=3)),
                )
            ),
        )


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
