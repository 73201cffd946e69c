# SPDX-License-Identifier: Apache-2.0

"""Where a real Ceph puts data, and how it cuts it: roots and erasure codes.

Run like `test_real_ceph`, with CINDER_TIERS_TEST_CEPH_CONF naming the
ceph.conf of a cluster for tests.
"""

import collections
import dataclasses
import errno
import uuid

import ddt
import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import erasure_code
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.execute.ceph import crush_map
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import usage as ceph_usage
from tests.contract import in_memory
from tests.contract import real_ceph
from tests.contract import world_contract

#: (plugin, technique, m, stripe unit) of each that can be declared.
CODES = tuple(
    (
        plugin,
        technique,
        2 if technique == 'reed_sol_r6_op' else 1,
        65536 if technique.startswith('cauchy_') else 16384,
    )
    for plugin, techniques in erasure_code.TECHNIQUES.items()
    for technique in techniques
)


@ddt.ddt
@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealPlacementTestCase(
    world_contract.WorldContract, real_ceph.CephAndCinderInMemory
):
    settle_s = 30.0

    def setUp(self):
        super().setUp()
        self.mark = f'placed-{uuid.uuid4().hex[:8]}'
        self.cluster = catalogs.Cluster(
            name='ceph', conf=real_ceph.CONF, cinder_user=self.mark
        )
        self.session = self.enterContext(ceph_session.session(self.cluster))
        osds = observed_osds.read_osds(self.session)
        hosts = [osd.location['host'] for osd in osds]
        classes = [osd.device_class for osd in osds]
        self.host = max(set(hosts), key=hosts.count)
        self.device_class = max(set(classes), key=classes.count)
        self.rooted = self.pool(
            'rooted', catalogs.Replicated(size=2), crush_root=self.host
        )
        self.coded = self.pool(
            'coded',
            catalogs.ErasureCoded(
                k=2,
                m=1,
                plugin='isa',
                technique='reed_sol_van',
                stripe_unit_bytes=16384,
            ),
            device_class=self.device_class,
            data_pool_name=f'{self.mark}-chunks',
        )
        self.declare(self.rooted, self.coded)
        self.cinder = in_memory.World(osds=())
        self.executors = registry.executors(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': self.session},
            read_usage=ceph_usage.attempt,
        )
        self.executors[actions.Kind.VOLUME_TYPE] = self.cinder
        self.addCleanup(self.remove)

    def pool(self, name, protection, **settings):
        return catalogs.RbdPool(
            cluster='ceph',
            pool=f'{self.mark}-{name}',
            pg_num=8,
            failure_domain='osd',
            protection=protection,
            **settings,
        )

    def declare(self, *pools):
        self.catalog = catalogs.Catalog(
            clusters={'ceph': self.cluster},
            tiers=tuple(
                catalogs.Tier(name=one.pool, rbd=one) for one in pools
            ),
        )

    def remove(self):
        command = self.session.command
        for listed, remove in (
            ('osd pool ls', None),
            ('osd crush rule ls', 'osd crush rule rm'),
            ('osd erasure-code-profile ls', 'osd erasure-code-profile rm'),
        ):
            names = [
                name for name in command(listed) if name.startswith(self.mark)
            ]
            if remove is None:
                real_ceph.delete_pools(self.session, names)
                continue
            for name in names:
                command(remove, name=name)
        command('auth rm', entity=f'client.{self.mark}')

    def dumped_pool(self, name):
        return next(
            one
            for one in self.session.command('osd dump')['pools']
            if one['pool_name'] == name
        )

    def groups_of(self, pool):
        """The OSDs of each placement group, the primary first."""
        number = self.dumped_pool(pool)['pool']
        return [
            self.session.command('pg map', pgid=f'{number}.{group}')['up']
            for group in range(8)
        ]

    def test_it_is_what_ceph_itself_shows(self):
        self.assert_all_done(self.carry_out(self.make_plan()))
        rule = self.session.command(
            'osd crush rule dump', name=self.rooted.pool
        )
        self.assertEqual(self.host, rule['steps'][0]['item_name'])
        data = self.coded.data_pool
        self.assertEqual(2 * 16384, self.dumped_pool(data)['stripe_width'])
        profile = self.session.command(
            'osd erasure-code-profile get', name=data
        )
        self.assertEqual(
            ('isa', 'reed_sol_van'), (profile['plugin'], profile['technique'])
        )
        self.assertEqual(
            data,
            self.session.rbd_options(self.coded.pool)['rbd_default_data_pool'],
        )

    def test_what_was_applied_is_exported(self):
        self.assert_all_done(self.carry_out(self.make_plan()))
        exported = real_ceph.exported(self.session, self.cinder, self.catalog)
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            (self.host, self.coded.data_pool),
            (
                exported.catalog.tier(self.rooted.pool).rbd.crush_root,
                exported.catalog.tier(self.coded.pool).rbd.data_pool,
            ),
        )
        self.assertEqual(
            dataclasses.replace(self.coded.protection, min_size=3),
            exported.catalog.tier(self.coded.pool).rbd.protection,
        )

    def test_another_root_is_for_the_operator_to_allow(self):
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.declare(
            dataclasses.replace(self.rooted, crush_root='default'), self.coded
        )
        (refused,) = self.make_plan().refused
        self.assertEqual(self.rooted.pool, refused.key.name)
        plan = consent.grant(self.make_plan(), (str(refused.key),))
        self.assert_all_done(self.carry_out(plan))
        self.assertEqual((), self.make_plan().actions)
        self.assertEqual(
            {self.host, 'default'},
            {
                rule['steps'][0]['item_name']
                for rule in self.session.command('osd crush rule dump')
                if rule['rule_name'].startswith(self.rooted.pool)
            },
        )

    @ddt.data(
        {'stripe_unit_bytes': 4096},
        {'plugin': 'jerasure'},
        {'technique': 'cauchy'},
        {'k': 3},
    )
    def test_how_chunks_are_made_stays(self, changes):
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.declare(
            self.rooted,
            dataclasses.replace(
                self.coded,
                # There are OSDs for one more chunk.
                device_class=None,
                protection=dataclasses.replace(
                    self.coded.protection, **changes
                ),
            ),
        )
        refused = {one.key.name: one for one in self.make_plan().refused}
        refusal = refused[self.coded.data_pool].refusal
        self.assertFalse(refusal.yields_to_consent)

    @ddt.data(*CODES)
    @ddt.unpack
    def test_each_code_that_can_be_declared(
        self, plugin, technique, m, unit_bytes
    ):
        self.coded = self.pool(
            'coded',
            catalogs.ErasureCoded(
                k=2,
                m=m,
                plugin=plugin,
                technique=technique,
                stripe_unit_bytes=unit_bytes,
            ),
        )
        self.assertEqual([], list(erasure_code.faults(self.coded.protection)))
        self.declare(self.coded)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)
        self.assertEqual(
            2 * unit_bytes,
            self.dumped_pool(self.coded.data_pool)['stripe_width'],
        )

    def test_ceph_takes_no_shorter_stripe_unit_either(self):
        """Else it would be refused for nothing."""
        code = {
            'k': 2,
            'm': 1,
            'plugin': 'jerasure',
            'technique': 'cauchy_good',
        }
        (fault,) = erasure_code.faults(
            catalogs.ErasureCoded(**code, stripe_unit_bytes=16384)
        )
        refused = self.assertRaises(
            ceph_session.CephRefused,
            self.session.command,
            'osd erasure-code-profile set',
            name=f'{self.mark}-short',
            profile=[
                *(f'{name}={value}' for name, value in code.items()),
                'stripe_unit=16384',
            ],
        )
        for text in (fault.expected, str(refused)):
            self.assertIn('65536', text)

    def test_the_first_copy_is_on_the_other_class(self):
        first = min(
            osd.device_class
            for osd in observed_osds.read_osds(self.session)
            if osd.device_class != self.device_class
        )
        mixed = self.pool(
            'mixed',
            catalogs.Replicated(size=3),
            device_class=self.device_class,
            primary_device_class=first,
        )
        # Copies may meet on a host, but not on an OSD.
        self.declare(mixed)
        before, _ = self.session.crush_map()
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)
        classes = {
            osd.osd_id: osd.device_class
            for osd in observed_osds.read_osds(self.session)
        }
        self.assertEqual(
            {(first, self.device_class, self.device_class)},
            {
                tuple(classes[osd_id] for osd_id in group)
                for group in self.groups_of(mixed.pool)
            },
        )
        exported = real_ceph.exported(self.session, self.cinder, self.catalog)
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            first, exported.catalog.tier(mixed.pool).rbd.primary_device_class
        )
        self.remove()
        self.assertEqual(before, self.session.crush_map()[0])

    def test_copies_share_failure_domains_as_declared(self):
        shared = dataclasses.replace(
            self.pool(
                'shared',
                catalogs.Replicated(
                    size=4,
                    replicas_per_failure_domain=2,
                    sub_failure_domain='osd',
                ),
            ),
            failure_domain='host',
        )
        self.declare(shared)
        before, _ = self.session.crush_map()
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)
        hosts = {
            osd.osd_id: osd.location['host']
            for osd in observed_osds.read_osds(self.session)
        }
        groups = self.groups_of(shared.pool)
        for group in groups:
            self.assertEqual(4, len(set(group)), groups)
            count = collections.Counter(hosts[osd_id] for osd_id in group)
            self.assertEqual([2, 2], [*count.values()], groups)
        exported = real_ceph.exported(self.session, self.cinder, self.catalog)
        self.assertEqual((), exported.leftover)
        rbd = exported.catalog.tier(shared.pool).rbd
        self.assertEqual(
            ('host', dataclasses.replace(shared.protection, min_size=2)),
            (rbd.failure_domain, rbd.protection),
        )
        self.remove()
        self.assertEqual(before, self.session.crush_map()[0])

    def test_copies_that_should_share_failure_domains_are_found(self):
        plain = dataclasses.replace(
            self.pool('shared', catalogs.Replicated(size=2)),
            failure_domain='host',
        )
        self.declare(plain)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.declare(
            dataclasses.replace(
                plain,
                protection=catalogs.Replicated(
                    size=4,
                    replicas_per_failure_domain=2,
                    sub_failure_domain='osd',
                ),
            )
        )
        (refused,) = self.make_plan().refused
        self.assertTrue(refused.refusal.yields_to_consent)
        plan = consent.grant(self.make_plan(), (str(refused.key),))
        self.assert_all_done(self.carry_out(plan))
        self.assertEqual((), self.make_plan().actions)
        rule = self.observe().ceph['ceph'].pools[plain.pool].crush_rule
        self.assertEqual(f'{plain.pool}-any-host-2xosd', rule)

    def test_a_map_that_others_changed_is_not_set(self):
        data, version = self.session.crush_map()
        # It must be a sound one: a broken one crashes the monitor.
        changed = crush_map.with_rule(
            data,
            f'{self.mark}-late',
            [
                crush_map.RulePart(
                    bucket='default', copies=0, failure_domain='host'
                )
            ],
        )
        refused = self.assertRaises(
            ceph_session.CephRefused,
            self.session.set_crush_map,
            changed,
            prior_version=version - 1,
        )
        self.assertEqual(errno.EPERM, refused.errno)
        self.assertEqual((data, version), self.session.crush_map())

    def shared(self):
        """Six chunks in three failure domains."""
        return dataclasses.replace(
            self.coded,
            failure_domain='host',
            device_class=None,
            protection=catalogs.ErasureCoded(
                k=4,
                m=2,
                num_failure_domains=3,
                osds_per_failure_domain=2,
            ),
        )

    def release(self):
        return self.session.command('mon dump')['min_mon_release']

    def test_chunks_share_failure_domains_only_where_ceph_can(self):
        release = self.release()
        # A new cluster serves clients that are older than such rules, too.
        reason = (
            f'of Ceph {release}'
            if release < crush.MSR_SINCE
            else 'require_min_compat_client is'
        )
        self.declare(self.shared())
        (refused,) = self.make_plan().refused
        self.assertIs(actions.Kind.CRUSH_RULE, refused.key.kind)
        self.assertIsInstance(refused.after, ceph_state.CrushRule)
        self.assertFalse(refused.refusal.yields_to_consent)
        self.assertIn(reason, refused.refusal.reason)

    def test_chunks_that_share_failure_domains_are_where_they_should(self):
        shared = self.shared()
        self.declare(shared)
        if self.release() < crush.MSR_SINCE:
            # Nor would Ceph itself have made it otherwise.
            refused = self.assertRaises(
                ceph_session.CephRefused,
                self.session.command,
                'osd set-require-min-compat-client',
                version='squid',
            )
            self.assertEqual(errno.EINVAL, refused.errno)
            return
        real_ceph.serve_clients_since(self, 'squid')
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)
        hosts = {
            osd.osd_id: osd.location['host']
            for osd in observed_osds.read_osds(self.session)
        }
        groups = self.groups_of(shared.data_pool)
        for group in groups:
            self.assertEqual(6, len(set(group)), groups)
            self.assertEqual(
                [2, 2, 2],
                sorted(
                    collections.Counter(
                        hosts[osd_id] for osd_id in group
                    ).values()
                ),
            )
        exported = real_ceph.exported(self.session, self.cinder, self.catalog)
        self.assertEqual((), exported.leftover)
        rbd = exported.catalog.tier(shared.pool).rbd
        self.assertEqual(
            (shared.failure_domain, 3, 2),
            (
                rbd.failure_domain,
                rbd.protection.num_failure_domains,
                rbd.protection.osds_per_failure_domain,
            ),
        )

    def test_a_rule_without_shared_failure_domains_is_found(self):
        if self.release() < crush.MSR_SINCE:
            # There it never comes to that.
            self.declare(self.shared())
            self.assertNotEqual((), self.make_plan().refused)
            return
        real_ceph.serve_clients_since(self, 'squid')
        shared = self.shared()
        self.declare(shared)
        self.assert_all_done(self.carry_out(self.make_plan()))
        other = f'{self.mark}-other'
        self.session.command(
            'osd erasure-code-profile set',
            name=other,
            profile=['k=4', 'm=2', 'crush-failure-domain=osd'],
        )
        self.session.command(
            'osd crush rule create-erasure', name=other, profile=other
        )
        self.session.command(
            'osd pool set', pool=shared.data_pool, var='crush_rule', val=other
        )
        (found,) = (
            one
            for one in self.findings()
            if one.state is audit.State.NON_COMPLIANT
        )
        self.assertEqual({'crush_rule': other}, found.current)
        (refused,) = self.make_plan().refused
        plan = consent.grant(self.make_plan(), (str(refused.key),))
        self.assert_all_done(self.carry_out(plan))
        self.assertEqual((), self.make_plan().actions)

    def findings(self):
        """What the audit finds."""
        found = self.observe()
        return audit.audit(
            catalog=self.catalog,
            observed=audit.Observed(
                cinder=found.cinder, projects={}, ceph=found.ceph
            ),
        )

    def test_fast_erasure_coding_where_ceph_has_it(self):
        fast = dataclasses.replace(
            self.coded, options={pool_options.EC_OPTIMIZATIONS: True}
        )
        key = f'pool {fast.data_pool} (ceph)'
        if self.release() < pool_options.SINCE[pool_options.EC_OPTIMIZATIONS]:
            self.declare(fast)
            (refused,) = self.make_plan().refused
            self.assertEqual(key, str(refused.key))
            self.assertFalse(refused.refusal.yields_to_consent)
            self.assertIn(
                pool_options.EC_OPTIMIZATIONS, refused.refusal.reason
            )
            return
        self.declare(self.coded)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.declare(fast)
        (refused,) = self.make_plan().refused
        self.assertEqual(key, str(refused.key))
        self.assert_all_done(
            self.carry_out(consent.grant(self.make_plan(), (key,)))
        )
        self.assertEqual((), self.make_plan().actions)
        self.assertIn(
            'ec_optimizations',
            self.dumped_pool(fast.data_pool)['flags_names'].split(','),
        )
        exported = real_ceph.exported(self.session, self.cinder, self.catalog)
        self.assertIs(
            True,
            exported.catalog.tier(fast.pool).rbd.options[
                pool_options.EC_OPTIMIZATIONS
            ],
        )
        # Nobody can take it back, Ceph neither.
        self.declare(
            dataclasses.replace(
                fast, options={pool_options.EC_OPTIMIZATIONS: False}
            )
        )
        (refused,) = self.make_plan().refused
        self.assertFalse(refused.refusal.yields_to_consent)
        self.assertRaises(
            ceph_session.CephRefused,
            self.session.command,
            'osd pool set',
            pool=fast.data_pool,
            var=pool_options.EC_OPTIMIZATIONS,
            val='false',
        )
