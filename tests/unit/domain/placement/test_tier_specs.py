# SPDX-License-Identifier: Apache-2.0

"""Tiers as volume types say them."""

import ddt
import testtools

from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import tier_specs


@ddt.ddt
class ExtraSpecsTestCase(testtools.TestCase):
    def test_a_tier_is_read_from_its_volume_type(self):
        self.assertEqual(
            decision.AppliedTier(
                name='database',
                tags=frozenset({'database', 'db'}),
                priority=20,
                fallback=True,
                overflow='general',
                projects=frozenset({'us'}),
            ),
            tier_specs.read_tier(
                {
                    'volume_backend_name': '<or> tier-database <or> tier-x',
                    'tiers:name': 'database',
                    'tiers:tags': 'Database, db',
                    'tiers:priority': '20',
                    'tiers:fallback': '<is> True',
                    'tiers:overflow': 'general',
                },
                projects=frozenset({'us'}),
            ),
        )

    def test_what_is_not_said_has_a_default(self):
        self.assertEqual(
            decision.AppliedTier(name='general'),
            tier_specs.read_tier({'tiers:name': 'general'}, projects=None),
        )

    def test_an_empty_overflow_is_none(self):
        tier = tier_specs.read_tier(
            {'tiers:name': 'general', 'tiers:overflow': ''}, projects=None
        )
        self.assertIsNone(tier.overflow)

    def test_a_type_without_our_mark_is_no_tier(self):
        self.assertIsNone(
            tier_specs.read_tier(
                {'volume_backend_name': 'lvm', 'tiers:tags': 'database'},
                projects=None,
            )
        )

    def test_a_priority_that_is_no_number_is_named(self):
        error = self.assertRaises(
            ValueError,
            tier_specs.read_tier,
            {'tiers:name': 'database', 'tiers:priority': 'high'},
            projects=None,
        )
        for part in (
            "'database'",
            'tiers:priority',
            "'high'",
            'an integer',
            'openstack tier apply',
        ):
            self.assertIn(part, str(error))

    @ddt.data(
        ('<is> True', True),
        ('<is> true', True),
        ('True', True),
        ('<is> 1', True),
        ('<is> False', False),
        ('<is>', False),
        ('', False),
        (None, False),
        ('<is> not True', False),
    )
    @ddt.unpack
    def test_a_type_follows_the_image_when_it_says_so(self, value, follows):
        self.assertIs(
            follows, tier_specs.follows_image({'tiers:follow_image': value})
        )

    def test_a_type_that_says_nothing_does_not_follow_the_image(self):
        self.assertFalse(tier_specs.follows_image({}))

    @ddt.data(
        ({}, False, set()),
        ({}, True, {decision.Feature.ENCRYPTION}),
        ({'multiattach': '<is> True'}, False, {decision.Feature.MULTIATTACH}),
        ({'multiattach': '<is> true'}, False, set()),
        ({'multiattach': 'True'}, False, set()),
        (
            {'replication_enabled': '<is> true'},
            False,
            {decision.Feature.REPLICATION},
        ),
        ({'replication_enabled': 'True'}, False, set()),
        ({'replication_enabled': '<is> True x'}, False, set()),
        ({'replication_enabled': '<is> False'}, False, set()),
        ({'replication_enabled': None, 'multiattach': None}, False, set()),
        (
            {'multiattach': '<is> True', 'replication_enabled': '<is> 1'},
            True,
            set(decision.Feature),
        ),
    )
    @ddt.unpack
    def test_a_type_gives_what_cinder_takes_it_to_give(
        self, specs, encrypted, offers
    ):
        self.assertEqual(
            offers, tier_specs.features(specs, is_encrypted=encrypted)
        )
        self.assertEqual(
            offers,
            tier_specs.read_tier(
                {'tiers:name': 'general', **specs},
                projects=None,
                is_encrypted=encrypted,
            ).offers,
        )

    @ddt.data(
        ('az1', {'az1'}),
        ('az1,az2', {'az1', 'az2'}),
        (' az1 , az 2,', {'az1', 'az 2'}),
        ('', set()),
        (',', set()),
        (None, set()),
        (' ', {''}),
    )
    @ddt.unpack
    def test_a_type_may_be_restricted_to_zones(self, value, zones):
        specs = {'tiers:name': 'general', 'RESKEY:availability_zones': value}
        self.assertEqual(zones, tier_specs.zones(specs))
        self.assertEqual(
            zones, tier_specs.read_tier(specs, projects=None).type_zones
        )

    def test_a_type_that_names_no_zone_is_for_all(self):
        self.assertIsNone(tier_specs.zones({}))


def reading(name, **specs):
    specs = {'volume_backend_name': 'ssd', **specs}
    return tier_specs.read_type(
        {key.replace('__', ':'): value for key, value in specs.items()},
        type_id=f'id of {name}',
        name=name,
        projects=None,
    )


class ReadTiersTestCase(testtools.TestCase):
    def test_of_two_types_the_one_that_sorts_first_is_the_tier(self):
        found = tier_specs.read_tiers(
            [
                reading('b', tiers__name='gold'),
                reading('a', tiers__name='gold', tiers__priority='3'),
                reading('plain'),
            ]
        )
        self.assertEqual(['a'], [one.name for one in found.types.values()])
        self.assertEqual([3], [one.priority for one in found.tiers])
        (problem,) = found.problems
        self.assertIn(
            "volume type 'b' has the extra spec tiers:name='gold', and so has "
            "'a'",
            problem,
        )

    def test_a_copy_does_not_take_the_tier(self):
        for name, mark in (
            ('aaa', 'gold'),
            ('GOLD', 'gold'),
            ('GOLD ', 'gold'),
            ('Aaa', 'GOLD'),
            ('zzz', 'gold '),
        ):
            found = tier_specs.read_tiers(
                [
                    reading(name, tiers__name=mark, tiers__priority='95'),
                    reading('gold', tiers__name='gold'),
                ]
            )
            self.assertEqual(
                {'gold': 'gold'},
                {tier: one.name for tier, one in found.types.items()},
            )
            (problem,) = found.problems
            self.assertIn(
                f'volume type {name!r} has the extra spec '
                f"tiers:name={mark!r}, and so has 'gold', which is the tier; "
                f'remove the extra spec from {name!r}',
                problem,
            )

    def test_nor_does_it_of_a_type_that_cannot_be_read(self):
        for wrong in (
            {'tiers__priority': 'high'},
            {'volume_backend_name': ''},
        ):
            found = tier_specs.read_tiers(
                [
                    reading('aaa', tiers__name='gold'),
                    reading('gold', tiers__name='gold', **wrong),
                ]
            )
            self.assertEqual({}, found.types)
            self.assertEqual(2, len(found.left_out))

    def test_but_what_takes_its_place_does(self):
        """An apply that was interrupted mended the tier."""
        found = tier_specs.read_tiers(
            [
                reading('gold', tiers__name='gold', tiers__priority='high'),
                reading('gold - new', tiers__name='gold'),
            ]
        )
        self.assertEqual('gold - new', found.types['gold'].name)
        self.assertEqual(['gold'], [one.name for one in found.left_out])

    def test_a_type_that_names_no_backend_is_left_out(self):
        found = tier_specs.read_tiers(
            [reading('gold', tiers__name='gold', volume_backend_name='')]
        )
        self.assertEqual({}, found.types)
        self.assertIn(
            "volume type 'gold' of tier 'gold' names no backend: its extra "
            "specs are 'tiers:name'='gold', 'volume_backend_name'='', "
            'expected volume_backend_name with the name of a backend; run ',
            *found.problems,
        )

    def test_one_that_cannot_be_read_leaves_the_tier_to_another(self):
        found = tier_specs.read_tiers(
            [
                reading('a', tiers__name='gold', tiers__priority='high'),
                reading('b', tiers__name='gold'),
            ]
        )
        self.assertEqual(['b'], [one.name for one in found.types.values()])
        self.assertIn("tiers:priority is 'high'", *found.problems)

    def test_a_retired_type_is_no_tier_and_no_problem(self):
        found = tier_specs.read_tiers(
            [
                reading('gold - retired 7c1f0a9e', tiers__name='gold'),
                reading('gold - retired 1', tiers__name='gold'),
                reading('gold', tiers__name='gold'),
                reading('gold - new', tiers__name='gold'),
            ]
        )
        self.assertEqual(
            (['gold'], ()),
            ([one.name for one in found.types.values()], found.left_out),
        )


@ddt.ddt
class FirstNamedTestCase(testtools.TestCase):
    @ddt.data(
        (('r', 'i', 'p'), (decision.TypeSource.REQUEST, 'r'), 'r'),
        ((None, 'i', 'p'), (decision.TypeSource.IMAGE, 'i'), 'ri'),
        ((None, '', 'p'), (decision.TypeSource.PROJECT, 'p'), 'rip'),
        ((None, None, None), None, 'rip'),
    )
    @ddt.unpack
    def test_the_strongest_who_names_one(self, names, expected, asked):
        seen = []

        def ask(letter, name):
            seen.append(letter)
            return name

        self.assertEqual(
            expected,
            tier_specs.first_named(
                {
                    source: lambda letter=letter, name=name: ask(letter, name)
                    for source, letter, name in zip(
                        decision.TypeSource, 'rip', names, strict=True
                    )
                }
            ),
        )
        self.assertEqual(asked, ''.join(seen))
