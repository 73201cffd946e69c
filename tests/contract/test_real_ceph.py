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

import dataclasses
import os
import time
import uuid

import testtools

from cinder_tiers.domain import actions
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import pool_options
from cinder_tiers.domain import state
from cinder_tiers.execute import registry
from cinder_tiers.observe import ceph
from cinder_tiers.observe import ceph_session
from tests.contract import in_memory
from tests.contract import world_contract

#: One of each kind, with values that Ceph shows in another form.
OPTIONS = {
    'compression_mode': 'aggressive', 'compression_algorithm': 'zstd',
    'compression_required_ratio': 0.70, 'compression_min_blob_size': 8192,
    'csum_type': 'xxhash64', 'scrub_min_interval': 86400.5,
    'recovery_priority': 5, 'nodeep-scrub': False, 'noscrub': True,
    'quota_max_bytes': 10 ** 12, 'quota_max_objects': 10 ** 6}
#: Values in another form than the OSDs show them.
OSD_OPTIONS = {'bluestore_prefer_deferred_size_hdd': '48K',
               'osd_recovery_sleep': 0.10, 'osd_max_backfills': 3}
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

    settle_s = 10.0

    def setUp(self):
        super().setUp()
        self.mark = f'contract-{uuid.uuid4().hex[:8]}'
        cluster = catalogs.Cluster(name='ceph', conf=CONF,
                                   cinder_user=self.mark)
        self.session = self.enterContext(ceph_session.session(cluster))
        self.addCleanup(self.remove)
        classes = [name for name, count in sorted(self.classes().items())
                   if count > 2]
        self.device_class = classes[-1]
        whole = self.tier(
            'whole', classes[0], catalogs.Replicated(size=2, min_size=1),
            options=OPTIONS, rbd_options={
                'rbd_cache': False, 'rbd_qos_iops_limit': 500})
        coded = self.tier(
            'coded', classes[-1], catalogs.ErasureCoded(k=2, m=1),
            options={**OPTIONS, 'fast_read': True},
            osd_options=OSD_OPTIONS)
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

    def tier(self, name, device_class, protection, **settings):
        return catalogs.Tier(
            name=f'{self.mark}-{name}', rbd=catalogs.RbdPool(
                cluster='ceph', pool=f'{self.mark}-{name}', pg_num=8,
                device_class=device_class, failure_domain='osd',
                protection=protection, **settings))

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
        for name in OSD_OPTIONS:
            command('config rm', who=f'osd/class:{self.device_class}',
                    name=name)
        command('auth rm', entity=f'client.{self.mark}')

    def test_a_data_pool_that_was_unset_is_set_again(self):
        self.carry_out(self.make_plan())
        head = f'{self.mark}-coded'
        self.session.set_rbd_option(head, 'rbd_default_data_pool', None)
        action, = self.make_plan().actions
        self.assertEqual(head, action.key.name)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual(f'{head}-data', self.session.rbd_options(head)[
            'rbd_default_data_pool'])

    def test_each_setting_that_others_change_is_set_again(self):
        self.carry_out(self.make_plan())
        pool = f'{self.mark}-whole'
        for name, value in OPTIONS.items():
            other = pool_options.UNSET
            if name in pool_options.BOOLEANS:
                other = pool_options.normal(name, not value)
            elif name in pool_options.QUOTAS:
                other = pool_options.NO_QUOTA
            prefix, arguments = pool_options.command_of(pool, name, other)
            self.session.command(prefix, **arguments)
        action, = self.make_plan().actions
        self.assertEqual({f'options.{name}' for name in OPTIONS}, {
            one.field for one in actions.differences(action.before,
                                                     action.after)})
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)

    def test_settings_that_nobody_declared_stay(self):
        self.carry_out(self.make_plan())
        pool = f'{self.mark}-whole'
        self.session.command('osd pool set', pool=pool, var='scrub_priority',
                             val='4')
        self.session.set_rbd_option(pool, 'rbd_readahead_max_bytes', '4096')
        self.assertEqual((), self.make_plan().actions)
        self.assertEqual('4096', self.session.rbd_options(pool)[
            'rbd_readahead_max_bytes'])

    def test_an_osd_that_uses_another_value_is_named_with_the_reason(self):
        self.carry_out(self.make_plan())
        osd_id = self.session.command('osd crush class ls-osd',
                                      class_=self.device_class)[0]
        self.session.command('config set', who=f'osd.{osd_id}',
                             name='osd_max_backfills', value='2')
        self.addCleanup(self.session.command, 'config rm',
                        who=f'osd.{osd_id}', name='osd_max_backfills')
        result, = self.carry_out(self.wait_for_plan())
        self.assertEqual(actions.Outcome.FAILED, result.outcome)
        self.assertIn(f'2 (osd.{osd_id})', result.reason)
        self.assertIn('a more special section wins', result.reason)

    def test_an_option_that_the_release_lacks_is_told_before_anything(self):
        tier = self.tier('odd', self.device_class,
                         catalogs.Replicated(size=2, min_size=1),
                         osd_options={'osd_op_threads': 2})
        self.catalog = dataclasses.replace(self.catalog, tiers=(tier,))
        error = self.assertRaises(errors.ProblemsFound, self.make_plan)
        self.assertIn('osd_op_num_shards', str(error))

    def wait_for_plan(self):
        """A plan that has something to do, which OSDs hear of soon."""
        for _ in range(50):
            plan = self.make_plan()
            if plan.actions:
                return plan
            time.sleep(0.2)
        raise AssertionError('no OSD differs after 10 s')

    def test_grants_of_others_stay(self):
        self.carry_out(self.make_plan())
        entity = f'client.{self.mark}'
        self.session.command('auth caps', entity=entity, caps=[
            'mon', 'allow r', 'mds', 'allow r'])
        self.assert_all_done(self.carry_out(self.make_plan()))
        caps = ceph.cephx_user(self.session, entity).caps
        self.assertEqual(('allow r', 'allow r, profile rbd'),
                         (caps['mds'], caps['mon']))
