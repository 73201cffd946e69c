# SPDX-License-Identifier: Apache-2.0

"""What the tests of Tempest expect of a cloud, from its volume types."""

import doctest

import testtools

from cinder_tiers.tempest import expected

UNSET = dict.fromkeys(('tag', 'tier_type', 'fallback_type', 'following_type'))


def volume_type(name, *, is_public=True, **specs):
    """One of `GET types?is_public=None`, as Cinder 29 answers an admin."""
    return {
        'id': f'id-of-{name}',
        'name': name,
        'is_public': is_public,
        'description': None,
        'extra_specs': {
            key.replace('__', ':'): value for key, value in specs.items()
        },
        'qos_specs_id': None,
        'os-volume-type-access:is_public': is_public,
    }


DATABASE = volume_type(
    'database',
    tiers__name='database',
    tiers__tags='database,oltp',
    tiers__priority='20',
    volume_backend_name='<or> tier-database <or> tier-general',
)
GENERAL = volume_type(
    'general',
    tiers__name='general',
    tiers__fallback='<is> True',
    volume_backend_name='tier-general',
)
FOLLOWING = volume_type('image-tier', tiers__follow_image='<is> True')
OTHERS = (
    volume_type('__DEFAULT__'),
    volume_type(
        'a-secret',
        is_public=False,
        tiers__name='a-secret',
        tiers__tags='secret',
        volume_backend_name='tier-secret',
    ),
)
CLOUD = (*OTHERS, DATABASE, FOLLOWING, GENERAL)


def load_tests(_loader, standard_tests, _pattern):
    standard_tests.addTests(doctest.DocTestSuite(expected))
    return standard_tests


class TiersTestCase(testtools.TestCase):
    def test_the_applied_tiers_are_found(self):
        self.assertEqual(
            expected.Tiers(
                tag='database',
                tier_type='database',
                fallback_type='general',
                following_type='image-tier',
            ),
            expected.find_tiers(CLOUD, UNSET),
        )

    def test_what_tempest_conf_says_wins(self):
        given = {
            **UNSET,
            'tag': 'oltp',
            'tier_type': 'other',
            'fallback_type': 'slow',
        }
        self.assertEqual(
            expected.Tiers(
                tag='oltp',
                tier_type='other',
                fallback_type='slow',
                following_type='image-tier',
            ),
            expected.find_tiers(CLOUD, given),
        )

    def test_without_admin_all_must_be_given(self):
        error = self.assertRaises(
            expected.NotTestable,
            expected.find_tiers,
            (),
            {**UNSET, 'fallback_type': 'slow'},
        )
        self.assertIn('following_type, tag, tier_type', str(error))
        self.assertIn('[cinder_tiers] in tempest.conf', str(error))

    def test_a_cloud_without_tiers_cannot_be_tested(self):
        error = self.assertRaises(
            expected.NotTestable, expected.find_tiers, OTHERS, UNSET
        )
        self.assertIn('tag', str(error))

    def test_a_tag_without_its_type_is_told(self):
        error = self.assertRaises(
            expected.NotTestable,
            expected.find_tiers,
            CLOUD,
            {**UNSET, 'tag': 'oltp'},
        )
        self.assertIn('set both', str(error))


class PoolsTestCase(testtools.TestCase):
    POOLS = (
        {
            'name': 'ds@tier-database#tier-database',
            'capabilities': {'volume_backend_name': 'tier-database'},
        },
        {
            'name': 'ds@tier-general#tier-general',
            'capabilities': {'volume_backend_name': 'tier-general'},
        },
        {'name': 'ds@gone#gone', 'capabilities': None},
    )

    def pools_of(self, name):
        return sorted(
            expected.pools_of(self.POOLS, expected.backend_names(CLOUD, name))
        )

    def test_a_tier_with_overflow_has_the_pools_of_both(self):
        self.assertEqual(
            ['ds@tier-database#tier-database', 'ds@tier-general#tier-general'],
            self.pools_of('database'),
        )

    def test_a_tier_has_its_own(self):
        self.assertEqual(
            ['ds@tier-general#tier-general'], self.pools_of('general')
        )

    def test_a_type_without_a_backend_has_none(self):
        for name in ('image-tier', 'of nobody'):
            self.assertEqual([], self.pools_of(name))
