# SPDX-License-Identifier: Apache-2.0

"""Cache tiers in a real Ceph cluster: the contract of a world, and drift.

Run like `test_real_ceph`, with CINDER_TIERS_TEST_CEPH_CONF naming the
ceph.conf of a cluster for tests.
"""

import contextlib
import dataclasses
import re
import shlex
import subprocess
import time
import uuid

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.execute.ceph import cache_tier as execution
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph import cache_tier as ceph_cache
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import usage as ceph_usage
from tests.contract import real_ceph
from tests.contract import world_contract
from tests.worlds import in_memory

#: One of each kind, with values that Ceph shows in another form.
SETTINGS = {
    'target_max_bytes': 10**8,
    'target_max_objects': 1000,
    'cache_target_dirty_ratio': 0.3,
    'cache_target_dirty_high_ratio': 0.35,
    'cache_target_full_ratio': 0.70,
    'cache_min_flush_age': 5,
    'cache_min_evict_age': 6,
    'hit_set_count': 3,
    'hit_set_period': 600,
    'min_read_recency_for_promote': 1,
    'min_write_recency_for_promote': 0,
}

#: What the manager's module rbd_support looks for in each pool: a cache may
#: note that there is none.
OF_MANAGER = {
    'rbd_mirror_snapshot_schedule',
    'rbd_task',
    'rbd_trash_purge_schedule',
}
#: Statistics of pools come some seconds late.
MOST_SECONDS = 60


class CutOff(BaseException):
    """Stands for SIGKILL."""


class CutOffAt:
    """A session of a process that dies at one of its writes.

    :param writes: the commands that it sends, in order.
    :param number: of the one at which it dies, from 0.
    :param is_before: whether Ceph never gets that one.
    """

    def __init__(self, session, writes, number, *, is_before):
        self._session = session
        self._left = list(writes)
        self._at = len(writes) - number
        self._is_before = is_before

    def __getattr__(self, method):
        """What asks the session."""
        return getattr(self._session, method)

    def command(self, prefix, **arguments):
        """Send a command, and die."""
        is_next = self._left[:1] == [prefix]
        dies = is_next and len(self._left) == self._at
        if dies and self._is_before:
            raise CutOff(prefix)
        answer = self._session.command(prefix, **arguments)
        if dies:
            raise CutOff(prefix)
        if is_next:
            del self._left[0]
        return answer


class WritesAtTheLastMoment:
    """A session beside which a client writes before the overlay goes."""

    def __init__(self, session, write):
        self._session = session
        self._write = write

    def __getattr__(self, method):
        """What asks the session."""
        return getattr(self._session, method)

    def command(self, prefix, **arguments):
        """Send a command, after the client."""
        if prefix == 'osd tier remove-overlay':
            self._write()
        return self._session.command(prefix, **arguments)


class ReadsBesideTheSetup:
    """A session beside which a client looks for an image in the cache.

    :param cache: name of the pool.
    """

    def __init__(self, session, cache):
        self._session = session
        self._cache = cache

    def __getattr__(self, method):
        """What asks the session."""
        return getattr(self._session, method)

    def command(self, prefix, **arguments):
        """Send a command, after the client."""
        if prefix in ('osd pool set', 'osd tier cache-mode'):
            with contextlib.suppress(errors.Unreachable):
                self._session.image(self._cache, 'absent')
        return self._session.command(prefix, **arguments)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealCacheTierWorldTestCase(
    world_contract.WorldContract, real_ceph.CephAndCinderInMemory
):
    settle_s = 30.0

    def setUp(self):
        super().setUp()
        self.mark = f'cache-{uuid.uuid4().hex[:8]}'
        self.cluster = catalogs.Cluster(
            name='ceph', conf=real_ceph.CONF, cinder_user=self.mark
        )
        self.session = self.enterContext(ceph_session.session(self.cluster))
        osds = observed_osds.read_osds(self.session)
        classes = [osd.device_class for osd in osds]
        self.device_class = max(
            name for name in set(classes) if classes.count(name) > 2
        )
        self.plain = self.pool('plain')
        self.coded = dataclasses.replace(
            self.pool('coded'), protection=catalogs.ErasureCoded(k=2, m=1)
        )
        self.cache = catalogs.Cache(
            rbd=self.pool('cache'), mode='writeback', settings=SETTINGS
        )
        self.declare(
            self.plain, dataclasses.replace(self.coded, cache=self.cache)
        )
        self.cinder = in_memory.World(osds=())
        self.executors = registry.executors(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': self.session},
            read_usage=ceph_usage.attempt,
        )
        self.executors[actions.Kind.VOLUME_TYPE] = self.cinder
        self.addCleanup(self.remove)

    def pool(self, name):
        return catalogs.RbdPool(
            cluster='ceph',
            pool=f'{self.mark}-{name}',
            pg_num=8,
            device_class=self.device_class,
            failure_domain='osd',
            protection=catalogs.Replicated(
                size=2, min_size=1, unprotected_writes=True
            ),
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
        for base, found in ceph_cache.of_all_pools(self.session).items():
            if base.startswith(self.mark):
                command('osd tier remove-overlay', pool=base)
                command(
                    'osd tier remove', pool=base, tierpool=found.cache_pool
                )
        names = [
            f'{self.mark}-{name}'
            for name in ('plain', 'coded', 'coded-data', 'cache')
        ]
        real_ceph.delete_pools(self.session, names)
        for name in names:
            command('osd crush rule rm', name=name)
            command('osd erasure-code-profile rm', name=name)
        command('auth rm', entity=f'client.{self.mark}')

    def test_what_was_applied_is_exported(self):
        self.assert_all_done(self.carry_out(self.make_plan()))
        exported = real_ceph.exported(self.session, self.cinder, self.catalog)
        self.assertEqual((), exported.leftover)
        cache = exported.catalog.tier(self.coded.pool).rbd.cache
        self.assertEqual(
            (self.cache.rbd, self.cache.mode), (cache.rbd, cache.mode)
        )
        self.assertLessEqual(
            {(name, value) for name, value in SETTINGS.items() if value},
            cache.settings.items(),
        )

    @contextlib.contextmanager
    def client_of(self, pool):
        """I/O on a pool as the user of Cinder, with the key of now."""
        rados = ceph_session.import_binding('rados')
        (found,) = self.session.command(
            'auth get', entity=f'client.{self.mark}'
        )
        client = rados.Rados(
            name=f'client.{self.mark}',
            conffile=real_ceph.CONF,
            conf={'key': found['key'], 'rados_osd_op_timeout': '20'},
        )
        with client, client.open_ioctx(pool) as ioctx:
            yield ioctx

    def pool_id(self, name):
        return next(
            one['pool_id']
            for one in self.session.command('osd pool ls', detail='detail')
            if one['pool_name'] == name
        )

    def wait_until_known(self, pool, number):
        """Waits until the monitors know how many objects a pool holds.

        :param number: of objects that the manager did not look for
        """
        for _ in range(600):
            names = set(self.session.objects(pool))
            found = {
                one['name']: one['stats']['objects']
                for one in self.session.command('df')['pools']
            }
            # A pool that was just made has no statistics.
            if len(names - OF_MANAGER) == number and (
                found.get(pool) == len(names)
            ):
                return
            time.sleep(0.2)
        self.fail(f'{pool}: {number} expected, {names} there, known: {found}')

    def remove_overlay(self):
        """Has clients go around the cache, while it holds nothing.

        The manager may have looked into it before.
        """
        base, cache = self.coded.data_pool, self.cache.rbd.pool
        for _ in range(20):
            if any(self.session.objects(cache)):
                self.session.flush_and_evict(cache, lambda _tried: None)
            self.session.command('osd tier remove-overlay', pool=base)
            if not any(self.session.objects(cache)):
                return
            self.session.command(
                'osd tier set-overlay', pool=base, overlaypool=cache
            )
        self.fail(f'{cache} holds {set(self.session.objects(cache))}')

    def is_locked_out(self, ioctx):
        """Whether I/O fails as soon as the client knows of the overlay."""
        error = ceph_session.import_binding('rados').PermissionError
        for _ in range(300):
            try:
                ioctx.write_full('one', b'2')
            except error:
                return True
            time.sleep(0.2)
        return False

    def only_action(self, plan=None):
        (action,) = (plan or self.make_plan()).actions
        self.assertIs(actions.Kind.CACHE_TIER, action.key.kind)
        return action

    def plan_without_refusals(self):
        """A plan once nothing is refused.

        Of objects that are gone the monitors may still hear, some seconds
        after they knew that there was none yet.
        """
        until = time.monotonic() + MOST_SECONDS
        while (plan := self.make_plan()).refused:
            self.assertLess(time.monotonic(), until, plan.refused)
            time.sleep(0.2)
        return plan

    def changed_fields(self):
        action = self.only_action(self.plan_without_refusals())
        return {
            one.field: one.before
            for one in difference.differences(action.before, action.after)
        }

    def assert_put_right(self):
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual((), self.make_plan().actions)

    def assert_put_right_in_the_end(self):
        """The same once nothing is refused."""
        self.assert_all_done(self.carry_out(self.plan_without_refusals()))
        self.assertEqual((), self.make_plan().actions)

    def run_by_hand(self, remedy):
        """Runs the commands that a refusal names."""
        for command in re.findall(r'"([^"]+)"', remedy):
            program, *arguments = shlex.split(command)
            if arguments[:3] == ['osd', 'pool', 'delete']:
                real_ceph.delete_pools(self.session, arguments[3:4])
                continue
            subprocess.run(
                [program, '-c', real_ceph.CONF, *arguments],
                check=True,
                capture_output=True,
                timeout=60,
            )

    def test_what_clients_write_is_in_the_cache(self):
        self.carry_out(self.make_plan())
        rbd = ceph_session.import_binding('rbd')
        with self.client_of(self.coded.pool) as ioctx:
            rbd.RBD().create(ioctx, 'image', 2**23)
            with rbd.Image(ioctx, 'image') as image:
                image.write(b'x' * 2**22, 0)
                image_id = image.id()
        with self.client_of(self.cache.rbd.pool) as ioctx:
            found = {one.key for one in ioctx.list_objects()}
        # And what librbd looks at before it uses a pool for data.
        self.assertEqual(
            {
                f'rbd_data.{self.pool_id(self.coded.pool)}.'
                f'{image_id}.{0:016x}',
                'rbd_info',
            },
            found,
        )
        self.assertEqual((), self.make_plan().actions)

    def test_each_setting_that_others_change_is_set_again(self):
        self.carry_out(self.make_plan())
        pool = self.cache.rbd.pool
        for name in SETTINGS:
            self.session.command('osd pool set', pool=pool, var=name, val='1')
        self.session.command(
            'osd pool set', pool=pool, var='hit_set_type', val='explicit_hash'
        )
        self.assertEqual(
            {
                'settings.hit_set_type': 'explicit_hash',
                **{
                    f'settings.{name}': '1'
                    for name, value in SETTINGS.items()
                    if value != 1
                },
            },
            self.changed_fields(),
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
            ('cache tier', '1', '0.7'),
            (
                finding.aspect,
                finding.current['settings.cache_target_full_ratio'],
                finding.expected['settings.cache_target_full_ratio'],
            ),
        )
        self.assert_put_right()

    def test_a_mode_and_an_overlay_that_others_change_are_set_again(self):
        self.carry_out(self.make_plan())
        self.session.command(
            'osd tier cache-mode', pool=self.cache.rbd.pool, mode='proxy'
        )
        self.assertEqual({'mode': 'proxy'}, self.changed_fields())
        self.assert_put_right()
        self.remove_overlay()
        self.assertEqual({'overlay': False}, self.changed_fields())
        self.assert_put_right()

    def test_a_cache_that_clients_went_around_is_refused(self):
        self.carry_out(self.make_plan())
        with self.client_of(self.coded.data_pool) as ioctx:
            ioctx.write_full('one', b'1')
        self.session.command(
            'osd tier remove-overlay', pool=self.coded.data_pool
        )
        self.wait_until_known(self.cache.rbd.pool, 1)
        refusal = self.only_action().refusal
        self.assertIn('clients do not use the cache', refusal.reason)
        self.run_by_hand(refusal.remedy)
        self.assert_put_right()

    def test_a_setup_that_was_cut_off_is_finished(self):
        for done in range(4):
            self.carry_out(self.make_plan())
            base, cache = self.coded.data_pool, self.cache.rbd.pool
            self.remove_overlay()
            self.wait_until_known(cache, 0)
            for prefix, arguments in (
                ('osd tier remove', {'pool': base, 'tierpool': cache}),
                ('osd tier add', {'pool': base, 'tierpool': cache}),
                ('osd tier cache-mode', {'pool': cache, 'mode': 'writeback'}),
                (
                    'osd pool set',
                    {'pool': cache, 'var': 'hit_set_count', 'val': '3'},
                ),
            )[: 1 + done]:
                self.session.command(prefix, **arguments)
            self.assertNotEqual((), self.make_plan().actions)
            self.assert_put_right_in_the_end()

    def test_what_is_looked_for_meanwhile_leaves_nothing_in_the_cache(self):
        self.executors[actions.Kind.CACHE_TIER] = execution.CacheTiers(
            {'ceph': ReadsBesideTheSetup(self.session, self.cache.rbd.pool)},
            ceph_usage.attempt,
        )
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual(
            set(), {*self.session.objects(self.cache.rbd.pool)} - OF_MANAGER
        )

    def test_a_cache_that_is_no_longer_declared_is_removed(self):
        self.carry_out(self.make_plan())
        with self.client_of(self.coded.data_pool) as ioctx:
            for name in ('one', 'two', 'gone'):
                ioctx.write_full(name, b'only in the cache')
            ioctx.remove_object('gone')
            ioctx.set_namespace('of another')
            ioctx.write_full('three', b'only in the cache')
        self.declare(self.plain, self.coded)
        action = self.only_action()
        self.assertEqual('delete', action.verb)
        self.assert_fails('to accept it, add', self.make_plan())
        self.assert_removed()

    def test_a_cache_with_snapshots_is_removed(self):
        self.carry_out(self.make_plan())
        with self.client_of(self.coded.data_pool) as ioctx:
            ioctx.write_full('one', b'before')
            snapshot = ioctx.create_self_managed_snap()
            ioctx.set_self_managed_snap_write([snapshot])
            ioctx.write_full('one', b'only in the cache')
        self.declare(self.plain, self.coded)
        self.assert_removed(names=('one',))

    def test_a_cache_for_reads_is_removed(self):
        self.declare(
            self.plain,
            dataclasses.replace(
                self.coded,
                cache=dataclasses.replace(
                    self.cache, mode='readonly', stale_reads=True
                ),
            ),
        )
        self.carry_out(self.make_plan())
        with self.client_of(self.coded.data_pool) as ioctx:
            ioctx.write_full('one', b'only in the cache')
            ioctx.read('one')
        self.declare(self.plain, self.coded)
        self.assert_all_done(self.carry_out(self.allowed_plan()))
        self.assertEqual((), self.make_plan().actions)

    def test_objects_that_are_gone_keep_no_pool_from_becoming_a_cache(self):
        self.declare(self.coded, self.cache.rbd)
        self.assert_all_done(self.carry_out(self.make_plan()))
        with self.client_of(self.cache.rbd.pool) as ioctx:
            ioctx.write_full('one', b'1')
            self.wait_until_known(self.cache.rbd.pool, 1)
            wanted = ceph_state.CacheTier(
                name=self.coded.data_pool,
                cache_pool=self.cache.rbd.pool,
                mode='writeback',
                overlay=True,
                settings={'hit_set_type': 'bloom'},
            )
            key = actions.Key(
                kind=actions.Kind.CACHE_TIER, name=wanted.name, cluster='ceph'
            )
            caches = execution.CacheTiers(
                {'ceph': self.session}, ceph_usage.attempt
            )
            error = self.assertRaises(
                errors.ActionFailed,
                caches.write,
                wanted,
                key=key,
                current=None,
            )
            self.assertIn('holds 1 objects, such as one', str(error))
            ioctx.remove_object('one')
        # The monitors do not know it yet.
        caches.write(wanted, key=key, current=None)
        found = ceph_cache.of_all_pools(self.session)[wanted.name]
        self.assertEqual(
            (self.cache.rbd.pool, True), (found.cache_pool, found.overlay)
        )

    def test_a_removal_that_was_cut_off_is_finished(self):
        writes = (
            'osd tier cache-mode',
            'osd tier remove-overlay',
            'osd tier cache-mode',
            'osd tier remove',
        )
        for done in range(len(writes)):
            for is_before in (True, False):
                self.declare(
                    self.plain,
                    dataclasses.replace(self.coded, cache=self.cache),
                )
                self.assert_put_right_in_the_end()
                with self.client_of(self.coded.data_pool) as ioctx:
                    ioctx.write_full('one', b'only in the cache')
                # Or the 0 that is waited for below may be that of before.
                self.wait_until_known(self.cache.rbd.pool, 1)
                self.declare(self.plain, self.coded)
                dying = CutOffAt(
                    self.session, writes, done, is_before=is_before
                )
                self.executors[actions.Kind.CACHE_TIER] = execution.CacheTiers(
                    {'ceph': dying}, ceph_usage.attempt
                )
                self.assertRaises(CutOff, self.carry_out, self.allowed_plan())
                self.executors[actions.Kind.CACHE_TIER] = execution.CacheTiers(
                    {'ceph': self.session}, ceph_usage.attempt
                )
                # It is emptied between the first of the writes and the second.
                self.wait_until_known(self.cache.rbd.pool, 0 if done else 1)
                if done == len(writes) - 1 and not is_before:
                    self.assertEqual((), self.make_plan().actions)
                else:
                    self.assert_removed(names=('one',))

    def test_a_cache_with_open_images_stays_until_they_are_closed(self):
        rbd = ceph_session.import_binding('rbd')
        self.declare(
            self.coded, dataclasses.replace(self.plain, cache=self.cache)
        )
        self.assert_put_right()
        with self.client_of(self.plain.pool) as ioctx:
            rbd.RBD().create(ioctx, 'image', 2**23)
        self.declare(self.coded, self.plain)
        self.executors[actions.Kind.CACHE_TIER] = execution.CacheTiers(
            {'ceph': self.session}, ceph_usage.attempt, wait_s=3
        )
        with (
            self.client_of(self.plain.pool) as ioctx,
            rbd.Image(ioctx, 'image') as image,
        ):
            image.write(b'first', 0)
            self.assert_fails('rbd_header.', self.allowed_plan())
            found = ceph_cache.of_all_pools(self.session)[self.plain.pool]
            self.assertEqual(('proxy', True), (found.mode, found.overlay))
            # Its clients go on.
            image.write(b'second', 2**22)
            self.assertEqual(b'first', image.read(0, 5))
        self.assert_all_done(self.carry_out(self.allowed_plan()))
        self.assertEqual((), self.make_plan().actions)
        with (
            self.client_of(self.plain.pool) as ioctx,
            rbd.Image(ioctx, 'image') as image,
        ):
            self.assertEqual(b'first', image.read(0, 5))
            self.assertEqual(b'second', image.read(2**22, 6))

    def test_a_client_that_is_quicker_gets_its_cache_back(self):
        self.carry_out(self.make_plan())
        self.declare(self.plain, self.coded)
        late = WritesAtTheLastMoment(self.session, self.late_write)
        self.executors[actions.Kind.CACHE_TIER] = execution.CacheTiers(
            {'ceph': late}, ceph_usage.attempt
        )
        self.assert_fails('after it was found empty', self.allowed_plan())
        found = ceph_cache.of_all_pools(self.session)[self.coded.data_pool]
        self.assertEqual(('proxy', True), (found.mode, found.overlay))
        self.executors[actions.Kind.CACHE_TIER] = execution.CacheTiers(
            {'ceph': self.session}, ceph_usage.attempt
        )
        self.assert_removed(names=('late',))

    def late_write(self):
        with self.client_of(self.coded.data_pool) as ioctx:
            # What is locked is brought into the cache, in any mode.
            ioctx.lock_exclusive('late', 'lock', 'cookie')
            ioctx.write_full('late', b'only in the cache')

    def allowed_plan(self):
        plan = self.make_plan()
        return consent.grant(plan, [f'{plan.refused[0].key}:delete'])

    def assert_fails(self, message, plan):
        try:
            told = ' '.join(one.reason for one in self.carry_out(plan))
        except errors.Refused as error:
            told = str(error)
        self.assertIn(message, told)

    def assert_removed(self, names=('one', 'two')):
        """Nothing is left of the cache but its pool, and nothing is lost."""
        self.assert_all_done(self.carry_out(self.allowed_plan()))
        self.assertEqual((), self.make_plan().actions)
        self.assertNotIn(
            self.coded.data_pool, ceph_cache.of_all_pools(self.session)
        )
        self.assertEqual(
            set(), {*self.session.objects(self.cache.rbd.pool)} - OF_MANAGER
        )
        with self.client_of(self.coded.data_pool) as ioctx:
            for name in names:
                self.assertEqual(b'only in the cache', ioctx.read(name))

    def test_another_mode_is_reached_by_hand(self):
        self.carry_out(self.make_plan())
        for mode in ('readonly', 'writeback'):
            self.declare(
                self.plain,
                dataclasses.replace(
                    self.coded,
                    cache=dataclasses.replace(
                        self.cache, mode=mode, stale_reads=mode == 'readonly'
                    ),
                ),
            )
            self.run_by_hand(self.only_action().refusal.remedy)
            self.assert_put_right()
            found = ceph_cache.of_all_pools(self.session)[self.coded.data_pool]
            self.assertEqual((mode, True), (found.mode, found.overlay))

    def test_running_clients_are_not_locked_out(self):
        self.declare(self.coded)
        self.carry_out(self.make_plan())
        with self.client_of(self.coded.pool) as ioctx:
            ceph_session.import_binding('rbd').RBD().create(
                ioctx, 'image', 2**20
            )
        cached = dataclasses.replace(self.coded, cache=self.cache)
        self.declare(cached)
        for _ in range(600):
            refused = self.make_plan().refused
            if refused:
                break
            time.sleep(0.2)
        (command,) = re.findall(r"'(ceph .*)' now", refused[0].refusal.remedy)
        with self.client_of(self.coded.data_pool) as ioctx:
            ioctx.write_full('one', b'1')
            self.run_by_hand(f'"{command}"')
            self.assertEqual((), self.make_plan().refused)
            self.assert_put_right()
            # What the refusal is about, and what waiting is for.
            self.assertTrue(self.is_locked_out(ioctx))
        with self.client_of(self.coded.data_pool) as ioctx:
            ioctx.write_full('one', b'2')

    def test_a_pool_with_objects_becomes_no_cache(self):
        self.declare(self.coded, self.cache.rbd)
        self.carry_out(self.make_plan())
        with self.client_of(self.cache.rbd.pool) as ioctx:
            ioctx.write_full('one', b'1')
        self.declare(dataclasses.replace(self.coded, cache=self.cache))
        self.wait_until_known(self.cache.rbd.pool, 1)
        reasons = [one.refusal.reason for one in self.make_plan().refused]
        self.assertIn(
            (
                f'pool {self.cache.rbd.pool} holds 1 objects, which would be '
                f'served as objects of pool {self.coded.data_pool}'
            ),
            reasons,
        )
