# SPDX-License-Identifier: Apache-2.0

"""Capabilities of a cephx user."""

import ddt
import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import cephx_user as caps
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan
from tests.unit.domain.resources import test_pool

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


@ddt.ddt
class UserOfOthersTestCase(testtools.TestCase):
    def refused(self, held, *tiers, name='cinder', managed=True):
        """What a plan refuses of a user with these capabilities."""
        user = ceph_state.CephxUser(name=f'client.{name}', caps=held)
        actual = test_plan.applied(given.of(given.tier('a')))
        self.actual = test_pool.with_ceph(
            actual,
            users={user.name: user},
            pools={
                **given.empty_cluster().pools,
                **(actual.ceph['ceph'].pools if managed else {}),
            },
        )
        catalog = given.of(
            given.tier('a'), *tiers, cinder_user=name, images_pool='images'
        )
        return test_pool.refused(catalog, self.actual)

    @ddt.data(
        'admin',
        'bootstrap-rbd',
        'bootstrap-osd',
        'ceph-exporter.host',
        'crash',
        'crash.host',
        'csi-rbd-node',
        'csi-cephfs-provisioner',
        'healthchecker',
        'rbd-mirror.a',
        'rgw.store.a',
        'agent.host',
        'rook-ceph-internal',
        'rook-csi-rbd-node',
        'rook-rbd-user',
    )
    def test_users_of_ceph_are_never_changed(self, name):
        found = self.refused({'mon': 'allow profile crash'}, name=name)
        refusal = found[f'cephx user client.{name} (ceph)']
        self.assertIn('user of Ceph itself', refusal.reason)
        self.assertFalse(refusal.yields_to_consent)

    @ddt.data(
        'cinder',
        'volumes',
        'crashes',
        'rooks',
        'rook-cinder',
        'cinder-rgw',
        'nova',
    )
    def test_other_names_are_free(self, name):
        self.assertEqual({}, self.refused({}, name=name))

    def test_one_that_may_do_everything_needs_nothing(self):
        everything = dict.fromkeys(('mon', 'osd', 'mgr', 'mds'), 'allow *')
        self.assertEqual({}, self.refused(everything, name='admin'))

    @ddt.data(
        {'mon': 'allow r'},
        {'mon': 'profile rbd', 'osd': 'profile rbd pool=vms'},
        {'mon': 'profile rbd', 'osd': 'profile rbd pool=images'},
        {'mon': 'profile rbd', 'mds': 'allow rw'},
        {'osd': 'profile rbd pool=tier-a namespace=n'},
    )
    def test_other_capabilities_need_consent(self, held):
        ((name, refusal),) = self.refused(held, managed=False).items()
        self.assertEqual(test_pool.USER, name)
        self.assertTrue(refusal.yields_to_consent)

    @ddt.data(
        {},
        {'mon': 'profile rbd'},
        {'osd': 'profile  rbd pool=tier-a'},
        {'osd': 'profile rbd-read-only pool=images'},
    )
    def test_a_part_of_what_is_needed_needs_none(self, held):
        self.assertEqual({}, self.refused(held, managed=False))

    def test_who_was_allowed_once_is_not_asked_for_again(self):
        held = {
            'mon': 'allow r, profile rbd',
            'osd': 'allow rwx  pool=vms, profile rbd pool=tier-a, '
            'profile rbd-read-only pool=images',
            'mgr': 'profile rbd pool=tier-a',
        }
        self.assertEqual({}, self.refused(held, given.tier('b')))
        plan = plans.make(
            catalog=given.of(given.tier('a'), given.tier('b')),
            actual=self.actual,
        )
        (after,) = (
            one.after
            for one in plan.actions
            if isinstance(one.after, ceph_state.CephxUser)
        )
        # What was held stays to the letter.
        for daemon, text in held.items():
            self.assertTrue(after.caps[daemon].startswith(text))
