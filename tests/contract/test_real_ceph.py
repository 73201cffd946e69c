# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The contract of a world, kept by a real Ceph cluster.

Run it with CINDER_TIERS_TEST_CEPH_CONF naming the ceph.conf of a cluster for
tests, of which client.admin's keyring is readable:

    stestr --test-path ./tests/contract run --serial

It makes pools, rules, a profile and a cephx user under names of its own and
removes them at the end, for which it lets the monitors delete pools.
"""

import os
import uuid

import testtools

from cinder_tiers.domain import actions
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import state
from cinder_tiers.execute import registry
from cinder_tiers.observe import ceph
from cinder_tiers.observe import ceph_session
from tests.contract import in_memory
from tests.contract import world_contract

CONF = os.environ.get('CINDER_TIERS_TEST_CEPH_CONF')


def delete_pools(session, names):
    """Delete pools; leave the cluster's own guard as it was."""
    guard = {'who': 'mon', 'name': 'mon_allow_pool_delete'}
    allowed = session.command('config get', who='mon',
                              key='mon_allow_pool_delete') in (True, 'true')
    if not allowed:
        session.command('config set', **guard, value='true')
    for name in names:
        session.command('osd pool delete', pool=name, pool2=name,
                        yes_i_really_really_mean_it=True)
    if not allowed:
        session.command('config rm', **guard)


class NoConnection:
    """Stands where a cloud would be; no action of these tests reaches it."""

    block_storage = None


@testtools.skipUnless(CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealCephWorldTestCase(world_contract.WorldContract,
                            testtools.TestCase):
    """Volume types are kept in memory, all else in Ceph."""

    def setUp(self):
        super().setUp()
        self.mark = f'contract-{uuid.uuid4().hex[:8]}'
        cluster = catalogs.Cluster(name='ceph', conf=CONF,
                                   cinder_user=self.mark)
        self.session = self.enterContext(ceph_session.session(cluster))
        self.addCleanup(self.remove)
        classes = [name for name, count in sorted(self.classes().items())
                   if count > 2]
        whole = self.tier('whole', classes[0],
                          catalogs.Replicated(size=2, min_size=1))
        coded = self.tier('coded', classes[-1],
                          catalogs.ErasureCoded(k=2, m=1))
        self.catalog = catalogs.Catalog(clusters={'ceph': cluster},
                                        tiers=(whole, coded))
        self.cinder = in_memory.World(osds=())
        self.executors = registry.executors(
            connection=NoConnection(), clusters={'ceph': self.session})
        self.executors[actions.Kind.VOLUME_TYPE] = self.cinder

    def classes(self):
        osds = ceph.parse_osds(self.session.command('osd tree'))
        return state.CephState(
            crush_rules={}, erasure_code_profiles={}, pools={}, users={},
            osds=osds).device_classes

    def tier(self, name, device_class, protection):
        return catalogs.Tier(
            name=f'{self.mark}-{name}', rbd=catalogs.RbdPool(
                cluster='ceph', pool=f'{self.mark}-{name}', pg_num=8,
                device_class=device_class, failure_domain='osd',
                protection=protection))

    def read(self, key):
        if key.kind is actions.Kind.VOLUME_TYPE:
            return self.cinder.read(key)
        return ceph.read(self.session, key)

    def observe(self):
        return state.ActualState(
            cinder=self.cinder.observe().cinder,
            ceph={'ceph': ceph.observe(self.session, self.catalog)})

    def remove(self):
        command = self.session.command
        names = [pool for tier in self.catalog.tiers
                 for pool in tier.rbd.pools]
        delete_pools(self.session, names)
        for name in names:
            command('osd crush rule rm', name=name)
            command('osd erasure-code-profile rm', name=name)
        command('auth rm', entity=f'client.{self.mark}')

    def test_a_data_pool_that_was_unset_is_set_again(self):
        self.carry_out(self.make_plan())
        head = f'{self.mark}-coded'
        self.session.set_rbd_option(head, 'rbd_default_data_pool', None)
        action, = self.make_plan().actions
        self.assertEqual(head, action.key.name)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual(f'{head}-data', self.session.rbd_option(
            head, 'rbd_default_data_pool'))

    def test_grants_of_others_stay(self):
        self.carry_out(self.make_plan())
        entity = f'client.{self.mark}'
        self.session.command('auth caps', entity=entity, caps=[
            'mon', 'allow r', 'mds', 'allow r'])
        self.assert_all_done(self.carry_out(self.make_plan()))
        caps = ceph.cephx_user(self.session, entity).caps
        self.assertEqual(('allow r', 'allow r, profile rbd'),
                         (caps['mds'], caps['mon']))
