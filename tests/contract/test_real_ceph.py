# SPDX-License-Identifier: Apache-2.0

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

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.observe.ceph import cephx_user as observed_user
from cinder_tiers.observe.ceph import crush as observed_crush
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import usage as ceph_usage
from tests.contract import consent_contract
from tests.contract import real_ceph
from tests.contract import world_contract

#: What fills a pool: objects as RBD makes them.
OBJECTS, OBJECT_BYTES = 12, 2**22
#: Sizes of `df` are reported some seconds late.
STATISTICS_S = 120
#: osd_max_backfills where nobody set it.
BACKFILLS = 1
#: Longer than an OSD takes to hear that an option was removed.
MOST_SECONDS = 60
#: Of a write that OSDs never use: waiting longer shows nothing more.
NEVER_SETTLES_S = 2.0


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealCephWorldTestCase(
    world_contract.WorldContract,
    consent_contract.PoolConsentContract,
    real_ceph.RealCephCase,
):
    def allow_single_copies(self, allowed):
        """Sets whether monitors allow pools of one copy, until the end."""
        name = 'mon_allow_pool_size_one'
        before = [
            one['value']
            for one in self.session.command('config dump')
            if (one['section'], one['name']) == ('mon', name)
        ]
        if before:
            self.addCleanup(
                self.session.command,
                'config set',
                who='mon',
                name=name,
                value=before[0],
            )
        else:
            self.addCleanup(
                self.session.command, 'config rm', who='mon', name=name
            )
        self.session.command(
            'config set', who='mon', name=name, value=str(allowed).lower()
        )

    def test_a_single_copy_is_for_the_monitors_to_allow_as_well(self):
        self.carry_out(self.make_plan())
        pool = self.set_tier(
            protection=catalogs.Replicated(
                size=1, min_size=1, single_copy=True
            )
        )
        name = f'pool {pool} (ceph)'
        self.allow_single_copies(False)
        (result,) = self.carry_out(self.granted(name))
        self.assertIn('mon_allow_pool_size_one true', result.reason)
        self.assertNotIn('capabilities', result.reason)
        self.assertEqual(2, self.pool_of(pool).size)
        self.allow_single_copies(True)
        self.assert_done_with(name)
        self.assertEqual(1, self.pool_of(pool).size)

    def test_a_tier_stays_while_its_successor_cannot_be_made(self):
        protection = catalogs.Replicated(size=2)
        old, new = (
            dataclasses.replace(
                self.tier(name, self.device_class, protection), fallback=True
            )
            for name in ('whole', 'coded')
        )
        self.catalog = dataclasses.replace(self.catalog, tiers=(old,))
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.catalog = dataclasses.replace(self.catalog, tiers=(new,))
        self.addCleanup(real_ceph.delete_pools, self.session, [old.rbd.pool])
        name = f'volume type {old.name}'
        limit = {'who': 'mon', 'name': 'mon_max_pool_pg_num'}
        self.addCleanup(self.session.command, 'config rm', **limit)
        self.session.command('config set', **limit, value='1')
        outcomes = {
            str(one.action.key): one.outcome
            for one in self.carry_out(self.granted(name))
        }
        self.assertEqual(
            (actions.Outcome.FAILED, actions.Outcome.SKIPPED),
            (outcomes[f'pool {new.rbd.pool} (ceph)'], outcomes[name]),
        )
        self.assertIn('tiers:fallback', self.cinder_type(old.name).extra_specs)
        self.session.command('config rm', **limit)
        self.assert_all_done(self.carry_out(self.granted(name)))
        self.assertIsNone(self.cinder_type(old.name))
        self.assertIn('tiers:fallback', self.cinder_type(new.name).extra_specs)

    def cinder_type(self, name):
        return self.read(actions.Key(kind=actions.Kind.VOLUME_TYPE, name=name))

    def test_a_data_pool_that_was_unset_is_set_again(self):
        self.carry_out(self.make_plan())
        head = f'{self.mark}-coded'
        self.session.set_rbd_option(head, 'rbd_default_data_pool', None)
        (action,) = self.make_plan().actions
        self.assertEqual(head, action.key.name)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual(
            f'{head}-data',
            self.session.rbd_options(head)['rbd_default_data_pool'],
        )

    def test_each_setting_that_others_change_is_set_again(self):
        self.carry_out(self.make_plan())
        pool = f'{self.mark}-whole'
        for name, value in real_ceph.OPTIONS.items():
            other = pool_options.UNSET
            if name in pool_options.BOOLEANS:
                other = pool_options.normal(name, not value)
            elif name in pool_options.QUOTAS:
                other = pool_options.NO_QUOTA
            prefix, arguments = pool_options.command_of(pool, name, other)
            self.session.command(prefix, **arguments)
        (action,) = self.make_plan().actions
        self.assertEqual(
            {f'options.{name}' for name in real_ceph.OPTIONS},
            {
                one.field
                for one in difference.differences(action.before, action.after)
            },
        )
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)

    def test_settings_that_nobody_declared_stay(self):
        self.carry_out(self.make_plan())
        pool = f'{self.mark}-whole'
        self.session.command(
            'osd pool set', pool=pool, var='scrub_priority', val='4'
        )
        self.session.set_rbd_option(pool, 'rbd_readahead_max_bytes', '4096')
        self.assertEqual((), self.make_plan().actions)
        self.assertEqual(
            '4096', self.session.rbd_options(pool)['rbd_readahead_max_bytes']
        )

    def test_an_osd_that_uses_another_value_is_named_with_the_reason(self):
        self.carry_out(self.make_plan())
        osd_id = self.session.command(
            'osd crush class ls-osd', class_=self.device_class
        )[0]
        self.session.command(
            'config set',
            who=f'osd.{osd_id}',
            name='osd_recovery_priority',
            value='2',
        )
        self.addCleanup(
            self.session.command,
            'config rm',
            who=f'osd.{osd_id}',
            name='osd_recovery_priority',
        )
        plan = self.wait_for_plan()
        self.assertIn(
            'osd_recovery_priority is already set to this, but a more '
            'specific section takes precedence',
            plan.actions[0].why,
        )
        self.settle_s = NEVER_SETTLES_S
        (result,) = self.carry_out(plan)
        self.assertEqual(actions.Outcome.FAILED, result.outcome)
        self.assertIn(f'2 (osd.{osd_id})', result.reason)
        self.assertIn(
            'a more specific section takes precedence', result.reason
        )

    def test_an_affinity_that_others_change_is_set_again(self):
        self.carry_out(self.make_plan())
        key = actions.Key(
            kind=actions.Kind.PRIMARY_AFFINITY,
            cluster='ceph',
            name=self.device_class,
        )
        # What Ceph keeps of 0.7, as a multiple of 1/65536.
        self.assertEqual('0.7', self.read(key).value)
        self.assertEqual(
            [45875] * len(self.osd_ids()),
            [
                osd.primary_affinity * 65536
                for osd in observed_osds.read_osds(self.session)
                if osd.device_class == self.device_class
            ],
        )
        first, *others = self.osd_ids()
        self.session.command('osd primary-affinity', id=first, weight=0.0)
        (action,) = self.make_plan().actions
        self.assertEqual(
            {first: '0', **dict.fromkeys(others, '0.7')}, action.before.by_osd
        )
        (finding,) = [
            one
            for one in audit.audit(
                catalog=self.catalog,
                observed=audit.Observed(
                    cinder=self.observe().cinder,
                    projects={},
                    ceph=self.observe().ceph,
                ),
            )
            if one.state not in (audit.State.COMPLIANT, audit.State.WARNING)
        ]
        self.assertEqual(
            ('primary affinity', {'value': '0.7'}),
            (finding.aspect, finding.expected),
        )
        self.assertIn(f'0 (osd.{first})', finding.current['value'])
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)

    def test_options_of_a_host_are_in_effect_on_its_osds_only(self):
        self.carry_out(self.make_plan())
        for osd in self.osds().osds:
            scrubs = self.session.tell(
                osd.osd_id, 'config get', var='osd_max_scrubs'
            )
            self.assertEqual(
                osd.location['host'] == self.host,
                scrubs == {'osd_max_scrubs': '2'},
            )

    def declare_osd_options(self, options):
        """Has the tier of the device class want more of its OSDs."""
        whole, coded = self.catalog.tiers
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=(
                whole,
                dataclasses.replace(
                    coded,
                    rbd=dataclasses.replace(
                        coded.rbd,
                        osd_options={**real_ceph.OSD_OPTIONS, **options},
                    ),
                ),
            ),
        )
        for name in options:
            self.addCleanup(
                self.session.command,
                'config rm',
                who=f'osd/class:{self.device_class}',
                name=name,
            )

    def forget_backfills(self):
        """Remove the limit, and wait until OSDs allow what is left of it.

        While they may be told other limits: an OSD with mClock keeps the one
        that it has if osd_mclock_override_recovery_settings is removed first,
        and plans of later tests would show it.
        """
        name = 'osd_max_backfills'
        self.session.command(
            'config rm', who=f'osd/class:{self.device_class}', name=name
        )
        until = time.monotonic() + MOST_SECONDS
        for osd_id in self.osd_ids():
            while (
                'mon'
                in (
                    told := self.session.tell(osd_id, 'config diff')['diff']
                ).get(name, {})
                or self.backfills_allowed(osd_id) != BACKFILLS
            ):
                self.assertLess(time.monotonic(), until, told.get(name))
                time.sleep(0.2)

    def test_what_limits_recovery_is_in_effect_or_refused(self):
        """By what the OSDs do, not by what their configuration says."""
        self.carry_out(self.make_plan())
        osd_ids = self.session.command(
            'osd crush class ls-osd', class_=self.device_class
        )
        queue = self.session.tell(
            osd_ids[0], 'config get', var='osd_op_queue'
        )['osd_op_queue']
        # OSDs may keep what an earlier test had them use.
        wanted = 2 + max(map(self.backfills_allowed, osd_ids))
        sleep = {'osd_recovery_sleep': 0.1}
        limit = {'osd_max_backfills': wanted}
        if queue == 'wpq':
            self.declare_osd_options({**sleep, **limit})
        else:
            for options, remedy in (
                (sleep, 'osd_op_queue to wpq'),
                (limit, 'osd_mclock_override_recovery_settings: true'),
            ):
                self.declare_osd_options(options)
                (action,) = self.make_plan().refused
                self.assertIn(remedy, action.refusal.remedy)
            self.declare_osd_options(
                {**limit, 'osd_mclock_override_recovery_settings': True}
            )
        # The first of all that is cleaned up.
        self.addCleanup(self.forget_backfills)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)
        self.assertEqual({wanted}, set(map(self.backfills_allowed, osd_ids)))

    def backfills_allowed(self, osd_id):
        """How many an OSD starts, and takes part in."""
        told = self.session.tell(osd_id, 'dump_recovery_reservations')
        one, other = (
            told[side]['max_allowed']
            for side in ('local_reservations', 'remote_reservations')
        )
        self.assertEqual(one, other)
        return one

    def test_a_host_wins_over_a_device_class(self):
        osd = next(
            osd
            for osd in self.osds().osds
            if osd.location['host'] == self.host
        )
        before = {
            'who': f'osd/class:{osd.device_class}',
            'name': 'osd_max_scrubs',
        }
        self.session.command('config set', value='4', **before)
        self.addCleanup(self.session.command, 'config rm', **before)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual(
            '2',
            self.session.tell(osd.osd_id, 'config get', var='osd_max_scrubs')[
                'osd_max_scrubs'
            ],
        )

    def test_what_counts_from_the_start_of_an_osd(self):
        self.carry_out(self.make_plan())
        osd_ids = self.session.command(
            'osd crush class ls-osd', class_=self.device_class
        )
        now = self.session.tell(osd_ids[0], 'config get', var='osd_op_queue')[
            'osd_op_queue'
        ]
        (wanted,) = {'wpq', 'mclock_scheduler'} - {now}
        whole, coded = self.catalog.tiers
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=(
                whole,
                dataclasses.replace(
                    coded,
                    rbd=dataclasses.replace(
                        coded.rbd,
                        osd_options={
                            **real_ceph.OSD_OPTIONS,
                            'osd_op_queue': wanted,
                        },
                    ),
                ),
            ),
        )
        self.addCleanup(
            self.session.command,
            'config rm',
            who=f'osd/class:{self.device_class}',
            name='osd_op_queue',
        )
        self.settle_s = NEVER_SETTLES_S
        (result,) = self.carry_out(self.make_plan())
        self.assertEqual(actions.Outcome.FAILED, result.outcome)
        self.assertIn('Ceph ignores class and host masks', result.reason)
        (found,) = self.audited()
        self.assertIs(audit.State.NON_COMPLIANT, found.state)
        for osd_id in osd_ids:
            who = {'who': f'osd.{osd_id}', 'name': 'osd_op_queue'}
            self.addCleanup(self.session.command, 'config rm', **who)
            self.session.command('config set', value=wanted, **who)
        (found,) = self.audited()
        self.assertEqual(
            (
                coded.name,
                audit.State.OUT_OF_DATE,
                {'values.osd_op_queue': now},
                {'values.osd_op_queue': wanted},
            ),
            (found.tier, found.state, found.current, found.expected),
        )
        self.assertIn('restart osd.', found.reason)

    def test_what_is_shown_at_once_and_used_from_the_start_is_told(self):
        self.carry_out(self.make_plan())
        self.declare_osd_options({'bluestore_cache_size': '32M'})
        self.settle_s = NEVER_SETTLES_S
        # Less than is known to be safe.
        (result,) = self.carry_out(
            self.granted(f'osd options {self.device_class} (ceph)')
        )
        self.assertEqual(actions.Outcome.FAILED, result.outcome)
        self.assertIn('Ceph ignores class and host masks', result.reason)

    def audited(self):
        """The findings that are not compliant, without warnings."""
        actual = self.observe()
        found = audit.audit(
            catalog=self.catalog,
            observed=audit.Observed(
                cinder=actual.cinder, projects={}, ceph=actual.ceph
            ),
        )
        return [
            one
            for one in found
            if one.state not in (audit.State.COMPLIANT, audit.State.WARNING)
        ]

    def test_what_was_applied_is_exported(self):
        self.assert_all_done(self.carry_out(self.make_plan()))
        exported = real_ceph.exported(self.session, self.cinder, self.catalog)
        self.assertEqual((), exported.leftover)
        for wanted in self.catalog.tiers:
            tier = exported.catalog.tier(wanted.name)
            # What Ceph chose is said as well.
            chosen = {
                name: getattr(tier.rbd.protection, name)
                for name in ('plugin', 'technique', 'stripe_unit_bytes')
                if isinstance(wanted.rbd.protection, catalogs.ErasureCoded)
            }
            self.assertNotIn(None, chosen.values())
            self.assertEqual(
                (
                    wanted.rbd.pools,
                    dataclasses.replace(wanted.rbd.protection, **chosen),
                    wanted.rbd.pg_num,
                    wanted.rbd.device_class,
                    wanted.rbd.failure_domain,
                ),
                (
                    tier.rbd.pools,
                    tier.rbd.protection,
                    tier.rbd.pg_num,
                    tier.rbd.device_class,
                    tier.rbd.failure_domain,
                ),
            )
        coded = exported.catalog.tier(f'{self.mark}-coded').rbd
        self.assertLessEqual(
            real_ceph.OSD_OPTIONS.keys(), coded.osd_options.keys()
        )
        self.assertEqual(0.7, coded.primary_affinity)
        of_host = exported.catalog.clusters['ceph'].host_osd_options
        self.assertLessEqual(
            real_ceph.HOST_OPTIONS.keys(), of_host[self.host].keys()
        )

    def test_a_tier_without_a_device_class_is_on_all_osds(self):
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=(
                self.tier(
                    'any',
                    None,
                    catalogs.Replicated(
                        size=2, min_size=1, unprotected_writes=True
                    ),
                ),
            ),
        )
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)
        rule = observed_crush.read_rules(self.session)[f'{self.mark}-any']
        self.assertEqual(
            (None, 'osd'), (rule.device_class, rule.failure_domain)
        )

    def test_an_option_that_the_release_lacks_is_told_before_anything(self):
        tier = self.tier(
            'odd',
            self.device_class,
            catalogs.Replicated(size=2, min_size=1, unprotected_writes=True),
            osd_options={'osd_op_threads': 2},
        )
        self.catalog = dataclasses.replace(self.catalog, tiers=(tier,))
        error = self.assertRaises(errors.ProblemsFound, self.make_plan)
        self.assertIn('osd_op_num_shards', str(error))

    def fill(self, pool):
        """Writes objects into a pool; returns the bytes."""
        rados = ceph_session.import_binding('rados')
        with (
            rados.Rados(rados_id='admin', conffile=real_ceph.CONF) as handle,
            handle.open_ioctx(pool) as ioctx,
        ):
            for number in range(OBJECTS):
                ioctx.write_full(f'object-{number}', os.urandom(OBJECT_BYTES))
        return OBJECTS * OBJECT_BYTES

    def wait_for_used(self, pool, expected_bytes):
        """Until `df` shows that much within 5 %, or for a time.

        :returns: what it shows then, of all copies.
        """
        end = time.monotonic() + STATISTICS_S
        while True:
            known = ceph_usage.observe(self.session)
            used = known.pools[pool].used_bytes if (pool in known.pools) else 0
            if (
                abs(used - expected_bytes) <= 0.05 * expected_bytes
                or time.monotonic() > end
            ):
                return used
            time.sleep(1)

    def test_a_quota_that_would_stop_all_writes_is_refused(self):
        self.set_tier(device_class=self.device_class)
        self.carry_out(self.make_plan())
        name = f'{self.mark}-whole'
        # Enough for the object that the new pool has, too little once filled.
        quota = known_safe.LEAST_ROOM_OBJECTS + OBJECTS // 2
        self.set_tier(options={'quota_max_objects': quota})
        seen_before = self.make_plan()
        self.assertEqual((), seen_before.refused)
        self.wait_for_used(name, 2 * self.fill(name))
        # Of a plan that was made before the pool was filled, too.
        (result,) = self.carry_out(seen_before)
        self.assertIn('Ceph stops all writes', result.reason)
        self.set_tier(options={'quota_max_objects': OBJECTS - 1})
        (action,) = self.make_plan().refused
        self.assertIn('Ceph would stop all writes', action.refusal.reason)
        self.assert_done_with(f'pool {name} (ceph)')

    def test_a_grant_that_was_revoked_since_does_not_come_back(self):
        self.carry_out(self.make_plan())
        name = f'client.{self.mark}'
        caps = {
            **observed_user.read(self.session, name).caps,
            'mon': 'allow r',
        }

        def hold(**more):
            held = {**caps, **more}.items()
            self.session.command(
                'auth caps',
                entity=name,
                caps=[word for pair in held for word in pair],
            )

        hold(mds='allow r')
        plan = self.make_plan()
        hold()
        (failed,) = self.carry_out(plan)
        self.assertIn('mds allow r of cephx user', failed.reason)
        self.assertNotIn('mds', self.read(failed.action.key).caps)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertNotIn('mds', self.read(failed.action.key).caps)

    def test_a_pool_of_another_service_is_taken_with_consent_only(self):
        self.carry_out(self.make_plan())
        name = f'{self.mark}-whole'
        self.session.command(
            'osd pool application rm',
            pool=name,
            app='rbd',
            key=ceph_state.OWNERSHIP_KEY,
        )
        (action,) = self.make_plan().refused
        self.assertIn('ownership marker', action.refusal.reason)
        self.assert_done_with(f'pool {name} (ceph)')
        self.assertTrue(self.pool_of(name).managed)

    def test_more_placement_groups_than_osds_may_have_are_refused(self):
        """By the plan, for what Ceph itself refuses."""
        limit = {'who': 'mon', 'name': 'mon_max_pg_per_osd'}
        self.session.command('config set', **limit, value='2')
        self.addCleanup(self.session.command, 'config rm', **limit)
        plan = self.make_plan()
        for action in plan.refused:
            self.assertIn('mon_max_pg_per_osd', action.refusal.reason)
        names = [str(action.key) for action in plan.refused]
        self.assertIn(f'pool {self.mark}-whole (ceph)', names)
        failed = [
            result.reason
            for result in self.carry_out(consent.grant(plan, names))
            if result.outcome is actions.Outcome.FAILED
        ]
        self.assertIn('exceeds', failed[0])

    def test_what_nobody_may_declare_is_observed(self):
        self.carry_out(self.make_plan())
        name = f'{self.mark}-whole'
        self.set_pool(name, 'recovery_priority', '-3')
        self.assertEqual('-3', self.pool_of(name).options['recovery_priority'])

    def test_a_copy_more_and_less_take_what_was_estimated(self):
        # Within 5 % of the estimate: omap and padding of few objects. Not on
        # the disks that a lab slows down: they take minutes to recover.
        self.set_tier(device_class=self.device_class)
        self.carry_out(self.make_plan())
        name = f'{self.mark}-whole'
        stored = self.fill(name)
        used = self.wait_for_used(name, 2 * stored)
        for size in (3, 2):
            actual = self.observe().ceph['ceph']
            actual = dataclasses.replace(
                actual, usage=ceph_usage.observe(self.session)
            )
            before = actual.pools[name]
            effect, _ = effects.of_pool(
                before,
                dataclasses.replace(before, size=size),
                ceph=actual,
                earlier={},
            )
            self.assertEqual(max(effect.bytes_added, 0), effect.bytes_to_move)
            self.session.command(
                'osd pool set', pool=name, var='size', val=str(size)
            )
            shown = self.wait_for_used(name, used + effect.bytes_added)
            self.assertAlmostEqual(
                used + effect.bytes_added, shown, delta=0.05 * shown
            )
            used = shown

    def test_the_ratios_and_each_osd_are_known(self):
        known = ceph_usage.observe(self.session)
        self.assertTrue(
            0
            < known.nearfull_ratio
            < known.backfillfull_ratio
            < known.full_ratio
            < 1
        )
        osds = observed_osds.read_osds(self.session)
        self.assertEqual({osd.osd_id for osd in osds}, set(known.osds))
        for osd in known.osds.values():
            self.assertTrue(0 <= osd.used_bytes <= osd.total_bytes)

    def test_a_class_that_was_told_another_value_needs_no_reason(self):
        self.carry_out(self.make_plan())
        self.session.command(
            'config set',
            who=f'osd/class:{self.device_class}',
            name='osd_recovery_priority',
            value='2',
        )
        self.assertNotIn('already', self.wait_for_plan().actions[0].why)

    def wait_for_plan(self):
        """A plan that has something to do, which OSDs hear of soon."""
        for _ in range(300):
            plan = self.make_plan()
            if plan.actions:
                return plan
            time.sleep(0.2)
        raise AssertionError('no OSD differs after 60 s')

    def test_grants_of_others_stay(self):
        self.carry_out(self.make_plan())
        entity = f'client.{self.mark}'
        self.session.command(
            'auth caps',
            entity=entity,
            caps=['mon', 'allow r', 'mds', 'allow r'],
        )
        self.assert_done_with(f'cephx user {entity} (ceph)')
        caps = observed_user.read(self.session, entity).caps
        self.assertEqual(
            ('allow r', 'allow r, profile rbd'), (caps['mds'], caps['mon'])
        )
