# SPDX-License-Identifier: Apache-2.0

"""Tiers for a list, from volume types."""

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import tier_list as listed_tiers
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import backends


def volume_type(name, projects=None, **specs):
    return facts.KnownType(
        type_id=f'id of {name}',
        name=name,
        projects=projects,
        extra_specs={
            key.replace('__', ':'): value
            for key, value in {'volume_backend_name': 'ssd', **specs}.items()
        },
    )


def listed(*types, hidden=()):
    return listed_tiers.applied(
        facts.VisibleCloud(
            project='us',
            is_admin=True,
            types=types,
            default_type=None,
            backends=None,
            hidden=hidden,
        )
    )


@ddt.ddt
class ListedTiersTestCase(testtools.TestCase):
    def test_the_first_that_is_asked_comes_first_and_the_fall_back_last(self):
        found = listed(
            volume_type(
                'a',
                tiers__name='a',
                tiers__fallback='<is> True',
                tiers__tags='x',
                tiers__priority='99',
            ),
            volume_type('b', tiers__name='b', tiers__priority='1'),
            volume_type('c', tiers__name='c', tiers__priority='2'),
            volume_type('d', tiers__name='d', tiers__priority='2'),
            volume_type('not ours', volume_backend_name='b'),
            volume_type('follows', tiers__follow_image='<is> True'),
        )
        self.assertEqual(['c', 'd', 'b', 'a'], [one.name for one in found])

    def test_access(self):
        public, private = listed(
            volume_type('a', tiers__name='a'),
            volume_type('b', tiers__name='b', projects=frozenset({'p'})),
        )
        self.assertEqual(
            (True, frozenset()), (public.is_public, public.projects)
        )
        self.assertEqual(
            (False, frozenset({'p'})), (private.is_public, private.projects)
        )

    @ddt.data(
        (None, ()),
        ('ssd', ('ssd',)),
        ('a b', ('a b',)),
        ('<or> ssd <or> hdd', ('ssd', 'hdd')),
        ('', ()),
    )
    @ddt.unpack
    def test_names_of_backends(self, value, names):
        (one,) = listed(
            volume_type('a', tiers__name='a', volume_backend_name=value)
        )
        self.assertEqual(names, one.backend_names)

    def test_pools_are_matched_as_cinder_does(self):
        (one,) = listed(
            volume_type(
                'a', tiers__name='a', volume_backend_name='<or> ssd <or> hdd'
            )
        )
        pools = [
            backends.Backend(
                name=name, capabilities={'volume_backend_name': name}
            )
            for name in ('hdd', 'tape', 'ssd')
        ]
        self.assertEqual(
            ['hdd', 'ssd'], [pool.name for pool in one.find_pools(pools)]
        )

    def test_a_type_that_was_retired_is_no_tier(self):
        new, waiting = listed(
            volume_type('a', tiers__name='a', tiers__tags='new'),
            volume_type('a - new', tiers__name='a', tiers__tags='next'),
            volume_type('a - retired 1', tiers__name='a', tiers__tags='old'),
            volume_type('b - new', tiers__name='b', tiers__tags='next'),
        )
        self.assertEqual(
            [('a', ('new',)), ('b', ('next',))],
            [(one.name, one.tags) for one in (new, waiting)],
        )

    def test_what_cannot_be_read_stays_in_the_list(self):
        (one,) = listed(
            volume_type(
                'a', tiers__name='a', tiers__tags='t', tiers__priority='high'
            )
        )
        self.assertEqual((None, ('t',)), (one.priority, one.tags))
        self.assertIn("'high'", one.problem)

    def test_a_list_that_would_be_a_lie_is_refused(self):
        error = self.assertRaises(
            errors.Unreachable, listed, hidden=(facts.EXTRA_SPECS,)
        )
        self.assertIn(facts.EXTRA_SPECS.policy, str(error))

    def test_nothing_to_find(self):
        error = self.assertRaises(
            errors.TiersError, listed_tiers.find, (), 'a'
        )
        self.assertIn('tier a does not exist; there are no tiers', str(error))
