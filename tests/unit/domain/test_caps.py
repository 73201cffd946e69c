# SPDX-License-Identifier: Apache-2.0

"""Capabilities of a cephx user."""

import ddt
import testtools

from cinder_tiers.domain.resources import cephx_user as caps

WANTED = {
    'mon': ('profile rbd',),
    'osd': ('profile rbd pool=a', 'profile rbd-read-only pool=images'),
}


@ddt.ddt
class UnionTestCase(testtools.TestCase):
    def test_a_new_user_gets_what_is_wanted(self):
        self.assertEqual(
            {
                'mon': 'profile rbd',
                'osd': 'profile rbd pool=a, profile rbd-read-only pool=images',
            },
            caps.union({}, WANTED),
        )

    def test_what_was_held_is_kept(self):
        held = {'mds': 'allow rw path=/x', 'osd': 'allow rx pool=foo'}
        union = caps.union(held, WANTED)
        self.assertEqual('allow rw path=/x', union['mds'])
        self.assertTrue(union['osd'].startswith('allow rx pool=foo, '))

    @ddt.data(
        'profile rbd-read-only pool=images,profile rbd pool=a',
        'profile  rbd pool=a;profile rbd pool=images',
        'profile rbd',
        'allow *',
    )
    def test_order_spacing_and_stronger_grants_are_no_difference(self, osd):
        held = {'mon': 'profile rbd', 'osd': osd}
        self.assertEqual(held, caps.union(held, WANTED))

    @ddt.data(
        'profile rbd-read-only pool=a',
        'profile rbd pool=ab',
        'allow rwx pool=a',
        'profile rbd pool=a namespace=n',
    )
    def test_weaker_and_other_grants_do_not_count(self, osd):
        union = caps.union({'osd': osd}, {'osd': ('profile rbd pool=a',)})
        self.assertEqual(f'{osd}, profile rbd pool=a', union['osd'])

    def test_a_union_of_a_union_is_itself(self):
        once = caps.union({'mon': 'allow r', 'osd': 'allow x'}, WANTED)
        self.assertEqual(once, caps.union(once, WANTED))

    def test_a_comma_in_quotes_ends_no_grant(self):
        self.assertEqual(
            ('allow command "a, b"', 'allow r'),
            caps.parse('allow command "a, b", allow r'),
        )
