# SPDX-License-Identifier: Apache-2.0

"""Pools and cephx users of others, and what removed tiers have left."""

import dataclasses
import shlex

import ddt
import testtools

from cinder_tiers.domain.audit import left_over
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

USER = 'cephx user client.cinder (ceph)'


def with_ceph(actual, **changes):
    """A cloud with another cluster."""
    return dataclasses.replace(
        actual,
        ceph={'ceph': dataclasses.replace(actual.ceph['ceph'], **changes)},
    )


def refused(catalog, actual):
    """{object: refusal} of a plan."""
    plan = plans.make(catalog=catalog, actual=actual)
    return {str(one.key): one.refusal for one in plan.refused}


@ddt.ddt
class PoolOfOthersTestCase(testtools.TestCase):
    @ddt.data(
        {'applications': frozenset({'rbd'})},
        {'applications': frozenset()},
        {'applications': frozenset(), 'options': {'noscrub': 'true'}},
    )
    def test_only_the_marker_says_that_it_is_managed(self, changes):
        # As Rook makes it: a rule of its name, and nothing in it yet.
        tier = given.tier('a')
        catalog = given.of(tier)
        actual = test_plan.applied(catalog)
        (pool,) = tier_pools.pools_of(tier.rbd).pools
        theirs = dataclasses.replace(pool, managed=False, **changes)
        actual = with_ceph(
            actual,
            pools={'tier-a': theirs},
            usage=usages.ClusterUsage(
                pools={},
                osds={},
                nearfull_ratio=0.85,
                backfillfull_ratio=0.9,
                full_ratio=0.95,
            ),
        )
        ((name, refusal),) = refused(catalog, actual).items()
        self.assertEqual('pool tier-a (ceph)', name)
        self.assertIn('ownership marker', refusal.reason)
        self.assertTrue(refusal.yields_to_consent)

    def test_data_pools_and_caches_are_asked_for_as_well(self):
        rbd = given.rbd(
            pool='tier-a',
            protection=catalogs.ErasureCoded(k=2, m=1),
            cache=given.cache('tier-a-cache'),
        )
        catalog = given.of(given.tier('a', rbd=rbd))
        actual = test_plan.applied(catalog, managed=False)
        self.assertEqual(
            {
                'pool tier-a (ceph)',
                'pool tier-a-data (ceph)',
                'pool tier-a-cache (ceph)',
            },
            set(refused(catalog, actual)),
        )

    def test_a_pool_that_somebody_made_since_was_not_allowed(self):
        catalog = given.of(given.tier('a'))
        plan = plans.make(catalog=catalog, actual=given.nothing())
        (action,) = (
            one
            for one in plan.actions
            if one.key.name == 'tier-a'
            and isinstance(one.after, ceph_state.Pool)
        )
        theirs = dataclasses.replace(action.after, managed=False)
        self.assertNotEqual((), consent.changed_since_plan(action, theirs))
        self.assertEqual((), consent.changed_since_plan(action, action.after))


@ddt.ddt
class UserOfOthersTestCase(testtools.TestCase):
    def refused(self, held, *tiers, name='cinder', managed=True):
        """What a plan refuses of a user with these capabilities."""
        user = ceph_state.CephxUser(name=f'client.{name}', caps=held)
        actual = test_plan.applied(given.of(given.tier('a')))
        self.actual = with_ceph(
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
        return refused(catalog, self.actual)

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
        self.assertEqual(USER, name)
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


@ddt.ddt
class LeftOverTestCase(testtools.TestCase):
    def left(self, held=None, **changes):
        """{object: what was said of it}."""
        catalog = given.of(given.tier('a'), images_pool='images')
        actual = test_plan.applied(given.of(given.tier('a'), given.tier('b')))
        ceph = actual.ceph['ceph']
        if held is not None:
            user = ceph_state.CephxUser(name='client.cinder', caps=held)
            changes['users'] = {user.name: user}
        return {
            one.object_name: one
            for one in left_over.find(
                catalog,
                catalog.clusters['ceph'],
                dataclasses.replace(ceph, **changes),
            )
        }

    def without_b(self):
        actual = test_plan.applied(given.of(given.tier('a')))
        return dict(actual.ceph['ceph'].pools)

    def test_a_managed_pool(self):
        (one,) = self.left().values()
        self.assertEqual('pool tier-b (ceph)', one.object_name)
        self.assertIn(
            'ceph osd pool delete tier-b tier-b --yes-i-really', one.remedy
        )

    def test_grants_and_rules_of_a_pool_that_is_gone(self):
        found = self.left(pools=self.without_b())
        self.assertEqual({USER, 'crush rule tier-b (ceph)'}, set(found))
        words = shlex.split(found[USER].remedy.partition(': ')[2])
        self.assertEqual(['ceph', 'auth', 'caps', 'client.cinder'], words[:4])
        caps = dict(zip(words[4::2], words[5::2], strict=True))
        self.assertEqual(
            {
                'mon': 'profile rbd',
                'osd': 'profile rbd pool=tier-a',
                'mgr': 'profile rbd pool=tier-a',
            },
            caps,
        )
        self.assertIn(
            'ceph osd crush rule rm tier-b',
            found['crush rule tier-b (ceph)'].remedy,
        )

    def test_every_form_of_a_grant(self):
        held = {
            'mon': 'profile rbd',
            'osd': 'allow rwx pool=gone, profile rbd pool="a b" namespace=n,'
            ' profile rbd-read-only pool=images, allow r pool=tier-a, '
            'profile rbd pool=vms; allow rw object_prefix x',
        }
        pools = {
            **self.without_b(),
            'vms': test_plan.applied(given.of(given.tier('vms')))
            .ceph['ceph']
            .pools['tier-vms'],
        }
        pools['vms'] = dataclasses.replace(
            pools['vms'], name='vms', managed=False
        )
        (one,) = self.left(held, pools=pools).values()
        self.assertIn('a b, gone', one.reason)
        self.assertIn(
            "osd 'profile rbd-read-only pool=images, allow r pool=tier-a, "
            "profile rbd pool=vms, allow rw object_prefix x'",
            one.remedy,
        )

    def test_nothing_is_left(self):
        held = {
            'mon': 'profile rbd',
            'osd': 'profile rbd pool=tier-a',
            'mgr': 'profile rbd',
        }
        self.assertEqual({}, self.left(held, pools=self.without_b()))

    def draft(self, name, **changes):
        (pool,) = tier_pools.pools_of(given.tier('a').rbd).pools
        return dataclasses.replace(pool, name=name, managed=False, **changes)

    def test_a_pool_that_the_next_apply_finishes_or_refuses(self):
        draft = self.draft('tier-a.tiers-new')
        found = self.left({}, pools={draft.name: draft})
        remedy = found[f'pool {draft.name} (ceph)'].remedy
        self.assertIn('openstack tier plan', remedy)
        self.assertNotIn('delete', remedy)

    @ddt.data((None, True), (0, True), (3, False))
    @ddt.unpack
    def test_a_pool_that_an_interrupted_apply_left(self, objects, may_go):
        """The tiers file no longer has the tier, so no apply finishes it."""
        draft = self.draft('tier-gone.tiers-new')
        usage = (
            usages.Unknown(reason='no manager')
            if objects is None
            else usages.ClusterUsage(
                osds={},
                nearfull_ratio=0.85,
                backfillfull_ratio=0.9,
                full_ratio=0.95,
                pools={
                    draft.name: usages.PoolUsage(
                        stored_bytes=0,
                        objects=objects,
                        used_bytes=0,
                        max_avail_bytes=0,
                    )
                },
            )
        )
        found = self.left({}, pools={draft.name: draft}, usage=usage)
        one = found[f'pool {draft.name} (ceph)']
        self.assertIn('rados -p tier-gone.tiers-new ls', one.remedy)
        self.assertEqual(may_go, 'osd pool delete' in one.remedy)
        self.assertEqual(not may_go, 'objects: 3' in one.reason)

    def test_a_pool_of_others_with_such_a_name(self):
        draft = self.draft('cephfs.tiers-new', applications={'cephfs'})
        self.assertEqual({}, self.left({}, pools={draft.name: draft}))
