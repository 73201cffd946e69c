# SPDX-License-Identifier: Apache-2.0

"""Rules on what a tier asks of Cinder: storage, overflow and backends."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import rules
from tests.unit.domain import catalogs as given
from tests.unit.domain.validation import test_catalog


@ddt.ddt
class TiersTestCase(testtools.TestCase):
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
            test_catalog.found(given.tier('a', fallback=True, overflow='a')),
        )

    def test_overflow_in_a_chain_is_sound(self):
        self.assertEqual(
            [],
            test_catalog.found(
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
            test_catalog.found(
                *(
                    given.tier(name, fallback=name == 'a', overflow=target)
                    for name, target in zip('abc', targets, strict=True)
                )
            ),
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
        self.assertEqual(
            [], test_catalog.found(given.other_tier(fallback=True, **changes))
        )

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
            [expected],
            test_catalog.found(given.other_tier(fallback=True, **changes)),
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
            test_catalog.found(
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
            test_catalog.found(*tiers, without_fallback=True),
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
        self.assertEqual([], test_catalog.found(*tiers, without_fallback=True))
