# SPDX-License-Identifier: Apache-2.0

"""What removed tiers have left in a cluster."""

import dataclasses
import shlex

import ddt
import testtools

from cinder_tiers.domain.audit import left_over
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan
from tests.unit.domain.resources import test_pool


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
        self.assertEqual(
            {test_pool.USER, 'crush rule tier-b (ceph)'}, set(found)
        )
        words = shlex.split(found[test_pool.USER].remedy.partition(': ')[2])
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
