# SPDX-License-Identifier: Apache-2.0

"""The contract of the driver, kept on a cluster in memory."""

import contextlib
import errno
import json
import threading

import fixtures

# The first: it tells Cinder how to run.
from tests.unit.driver import memory_case

from cinder import context as cinder_context  # noqa: E402
from cinder import exception  # noqa: E402
from cinder import objects  # noqa: E402

from cinder_tiers.driver import rbd as tiered  # noqa: E402
from tests.contract import driver_case  # noqa: E402
from tests.contract import driver_contract  # noqa: E402
from tests.worlds import ceph_bindings  # noqa: E402


class Clock:
    """Stands for the module `time`; only those who sleep make it go on."""

    def __init__(self):
        self._now_s = 0

    def monotonic(self):
        return self._now_s

    def sleep(self, seconds):
        self._now_s += seconds


class DriverTestCase(memory_case.MemoryCase, driver_contract.DriverContract):
    def test_a_volume_does_not_move_to_or_from_a_full_pool(self):
        service = self.serve()
        volume = self.make(service, 'slow', b'content')
        log = self.capture_log()
        for pool in self.rados_pools.values():
            self.cluster.full.add(pool)
            self.assertRaises(
                exception.VolumeMigrationFailed,
                self.retype,
                service,
                volume,
                'fast',
                'never',
            )
            self.assertIn(f'Pool {pool} is full.', log.output)
            self.cluster.full.clear()
        self.assertEqual([volume.name], self.names_in('slow'))
        self.assertEqual([], self.marks_in('slow'))

    def test_a_full_pool_takes_no_new_volume(self):
        service = self.serve()
        driver = service.driver
        volume = self.make(service, 'slow', b'content')
        snapshot = self.snapshot(service, volume)
        before = self.sum_of('slow', volume.name)
        self.cluster.full.add(self.rados_pools['slow'])
        driver.get_volume_stats(refresh=True)
        for request in (
            lambda: driver.create_volume(self.add('slow')),
            lambda: driver.create_cloned_volume(self.add('slow'), volume),
            lambda: driver.create_volume_from_snapshot(
                self.add('slow'), snapshot
            ),
        ):
            error = self.assertRaises(
                exception.VolumeBackendAPIException, request
            )
            self.assertIn(
                f'{self.rados_pools["slow"]} of tier-slow is full', str(error)
            )
        # Other pools are served.
        copy = self.add('fast')
        driver.create_volume_from_snapshot(copy, snapshot)
        self.assertEqual(before, self.sum_of('fast', copy.name))
        self.cluster.full.clear()
        self.make(service, 'slow')

    def erasure_coded(self, tier):
        """Give the data of a tier another pool, whose name is returned."""
        name = f'{self.rados_pools[tier]}-data'
        self.cluster.pools[name] = {}
        self.cluster.pools[self.rados_pools[tier]][
            'conf_rbd_default_data_pool'
        ] = name
        return name

    def test_an_erasure_coded_tier_has_the_size_of_its_data_pool(self):
        self.cluster.quotas[self.erasure_coded('fast')] = 7 * 2**30
        service = self.serve(report_dynamic_total_capacity=False)
        self.assertEqual(
            {'tier-fast': 7, 'tier-slow': 100},
            {
                pool['pool_name']: pool['total_capacity_gb']
                for pool in service.driver.get_volume_stats(refresh=True)[
                    'pools'
                ]
            },
        )

    def test_an_erasure_coded_tier_is_full_when_its_data_pool_is(self):
        data_pool = self.erasure_coded('fast')
        service = self.serve()
        volume = self.make(service, 'slow', b'content')
        self.cluster.full.add(data_pool)
        service.driver.get_volume_stats(refresh=True)
        error = self.assertRaises(
            exception.VolumeBackendAPIException,
            service.driver.create_volume,
            self.add('fast'),
        )
        self.assertIn(f'{data_pool} of tier-fast is full', str(error))
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, volume, 'fast', 'never'),
        )
        self.assertIn(f'Pool {data_pool} is full.', log.output)
        self.assertEqual([], self.marks_in('slow'))

    def test_a_volume_that_moves_to_a_pool_taken_out_is_named(self):
        self.hurry()
        service = self.serve()
        volume = self.make(service, 'slow')
        self.retype(service, volume, 'fast')
        # Records that the move was answered.
        service.driver._moves.go_on()
        only_slow = {'slow': self.rados_pools['slow']}
        log = self.capture_log()
        service = self.serve(**driver_case.section(only_slow))
        error = self.assertRaises(
            exception.InvalidHost, service.driver.extend_volume, volume, 2
        )
        self.assertIn(
            f'in RADOS pool {self.rados_pools["fast"]}, which tiers_rbd_pools',
            str(error),
        )
        self.assertIn('does not name pool', log.output)

    def test_an_image_in_a_pool_that_was_replaced_is_not_taken_for_gone(self):
        self.hurry()
        service = self.serve()
        volume = self.make(service, 'slow')
        self.retype(service, volume, 'fast')
        service.driver._moves.go_on()
        self.cluster.pools['other'] = {}
        service = self.serve(
            **driver_case.section({**self.rados_pools, 'fast': 'other'})
        )
        error = self.assertRaises(
            exception.InvalidHost, service.driver.delete_volume, volume
        )
        self.assertIn(self.rados_pools['fast'], str(error))
        self.assertEqual([volume.name], self.names_in('fast'))

    def test_pools_of_others_do_not_stop_a_start(self):
        others = ('refuses', 'is-silent')
        self.cluster.pools |= {name: {} for name in others}
        list_of = ceph_bindings._RBD.pool_metadata_list

        def refuse(bindings, ioctx):
            if ioctx.name == 'refuses':
                raise self.rbd.PermissionError(errno.EPERM, ioctx.name)
            if ioctx.name == 'is-silent':
                self.assertIn('rados_osd_op_timeout', ioctx._rados._options)
                raise self.rbd.OSError(errno.ETIMEDOUT, ioctx.name)
            return list_of(bindings, ioctx)

        log = self.capture_log()
        with fixtures.MonkeyPatch(
            'tests.worlds.ceph_bindings._RBD.pool_metadata_list', refuse
        ):
            self.assertTrue(self.serve().driver.initialized)
        self.assertIn('Pool is-silent, which is not of this', log.output)
        self.assertNotIn('Pool refuses', log.output)

    def test_a_deletion_with_snapshots_waits_no_longer_than_any(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        self.cluster.refused.add('rbd task add migration execute')
        self.retype(service, volume, 'fast')
        for each in (volume, *snapshots):
            each.status = 'deleting'
            each.save()
        clock = Clock()
        with fixtures.MonkeyPatch(
            'cinder_tiers.driver.unfinished.time', clock
        ):
            service.delete_volume(self.context, volume, cascade=True)
            self.assertEqual(tiered.END_WITHIN_S, clock.monotonic())
            # Another request waits anew.
            self.assertRaises(
                exception.VolumeIsBusy,
                service.driver.delete_volume,
                objects.Volume.get_by_id(
                    cinder_context.get_admin_context(), volume.id
                ),
            )
            self.assertEqual(2 * tiered.END_WITHIN_S, clock.monotonic())
        for each in (volume, *snapshots):
            each.refresh()
            self.assertEqual('available', each.status)

    def states_of_pools(self, service):
        return {
            pool['pool_name']: pool['backend_state']
            for pool in service.driver.get_volume_stats(refresh=True)['pools']
        }

    def test_the_other_pools_are_served_when_one_is_gone(self):
        """Whichever it is, with the moves into them."""
        for gone, tier in (('fast', 'slow'), ('slow', 'fast')):
            with self.subTest(gone=gone):
                service = self.serve()
                del self.cluster.pools[self.rados_pools[gone]]
                self.assertEqual(
                    {f'tier-{gone}': 'down', f'tier-{tier}': 'up'},
                    self.states_of_pools(service),
                )
                volume = self.make(service, tier)
                self.types[tier] = self.make_type(f'{tier}-2', '80')
                self.retype(service, volume, tier, 'never')
                self.assertEqual(
                    {'rbd_qos_iops_limit': '80'},
                    self.limits_of(tier, volume.name),
                )
                self.cluster.pools[self.rados_pools[gone]] = {}

    def test_the_other_pools_are_reported_when_one_cannot_be_counted(self):
        service = self.serve(rbd_exclusive_cinder_pool=False)
        list_images = ceph_bindings._RBD.list

        def list_of_others(bindings, ioctx):
            if ioctx.name == self.rados_pools['fast']:
                raise self.rbd.PermissionError(errno.EPERM, ioctx.name)
            return list_images(bindings, ioctx)

        with fixtures.MonkeyPatch(
            'tests.worlds.ceph_bindings._RBD.list', list_of_others
        ):
            self.assertEqual(
                {'tier-fast': 'down', 'tier-slow': 'up'},
                self.states_of_pools(service),
            )

    def test_a_cluster_that_does_not_answer_leaves_no_client(self):
        service = self.serve(
            rados_connection_interval=0, rados_connection_retries=2
        )
        before = set(self.cluster.clients)
        self.cluster.refused.add('connect')
        log = self.capture_log()
        self.assertEqual(
            {'tier-fast': 'down', 'tier-slow': 'down'},
            self.states_of_pools(service),
        )
        # Each attempt takes minutes by default.
        self.assertEqual(2, log.output.count('Connecting to the cluster of'))
        self.assertIn('Cannot connect to the cluster of', log.output)
        self.assertEqual(before, self.cluster.clients)

    def test_a_purge_of_the_trash_goes_on_after_one_that_failed(self):
        """A looping call that raises is not run again."""
        service = self.serve()
        self.make(service, 'slow')
        driver = service.driver._drivers['tier-slow']
        with self.ioctx('slow') as ioctx:
            (name,) = self.names_in('slow')
            self.rbd.RBD().trash_move(ioctx, name, 0)
        self.cluster.refused.add('connect')
        log = self.capture_log()
        driver._trash_purge()
        self.assertIn(
            f'trash of pool {self.rados_pools["slow"]} is not', log.output
        )
        self.cluster.refused.clear()
        driver._trash_purge()
        self.assertEqual(0, self.images_in_trash('slow'))

    def test_a_start_without_the_bindings_of_ceph_names_them(self):
        log = self.capture_log()
        for name in ('rados', 'rbd'):
            self.useFixture(
                fixtures.MonkeyPatch(f'cinder.volume.drivers.rbd.{name}', None)
            )
        self.assertFalse(self.serve().driver.initialized)
        self.assertIn('rados and rbd python libraries', log.output)

    def test_a_start_can_be_tried_again(self):
        """As Cinder does if it fails after the driver was set up."""
        service = self.serve()
        service.driver.do_setup(self.context)
        service.driver.check_for_setup_error()

    def test_what_a_copy_left_is_not_taken_for_what_moves(self):
        """It has the name of the image, and another pool."""
        self.hurry()
        service = self.serve()
        volume = self.make(service, 'slow')
        self.retype(service, volume, 'fast')
        left = self.add('slow', _name_id=volume.id)
        self.assertEqual(volume.name, left.name)
        connection = service.driver.initialize_connection(left, {})
        self.assertEqual(
            f'{self.rados_pools["slow"]}/{volume.name}',
            connection['data']['name'],
        )
        service.driver.delete_volume(left)
        self.assertEqual([volume.name], self.names_in('fast'))

    def test_a_move_that_cannot_be_looked_at_leaves_no_mark(self):
        service = self.serve()
        volume = self.make(service, 'slow', b'content')
        self.cluster.refused.add('osd pool ls')
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, volume, 'fast', 'never'),
        )
        self.assertIn('refused "osd pool ls"', log.output)
        self.assertEqual([], self.marks_in('slow'))
        service.driver.delete_volume(volume)
        self.assert_nothing_left(*self.types)

    def test_a_manager_that_begins_anew_does_not_stop_a_move(self):
        service = self.serve()
        volume = self.make(service, 'slow', b'content')
        before = self.sum_of('slow', volume.name)
        self.cluster.refused.add('rbd task add migration execute')
        self.retype(service, volume, 'fast', 'never')
        self.assertEqual(self.host_of('fast'), volume.host)
        self.cluster.refused.clear()
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sum_of('fast', volume.name))
        self.assert_nothing_left('slow')

    def test_without_a_manager_no_request_waits_for_one(self):
        """Nor is a process with timeouts ended by a late answer."""
        service = self.serve(rados_connect_timeout=5)
        volume, other = (self.make(service, 'slow', b'content') for _ in '01')
        self.retype(service, volume, 'fast')
        self.cluster.has_manager = False
        log = self.capture_log()
        service.driver._moves.go_on()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, other, 'fast', 'never'),
        )
        self.assertIn('No manager of Ceph is active', log.output)
        self.assertEqual([other.name], self.names_in('slow'))
        service.driver.initialize_connection(other, {})
        self.cluster.has_manager = True
        self.settle(service, volume, 'fast')
        self.assertEqual([], self.marks_in('slow'))

    def test_a_move_that_cannot_be_taken_back_yet_is_tried_again(self):
        service = self.serve()
        volume = self.make(service, 'slow', b'content')
        before = self.sum_of('slow', volume.name)
        self.types['fast'] = self.make_type('broken', 'as many as it likes')
        log = self.capture_log()
        with fixtures.MonkeyPatch(
            'tests.worlds.ceph_bindings._RBD.migration_abort', self.fail
        ):
            self.assertRaises(
                exception.VolumeMigrationFailed,
                self.retype,
                service,
                volume,
                'fast',
                'never',
            )
        self.assertIn('It is tried again', log.output)
        # Where the policy lets Cinder copy it, it does so now.
        volume.update({'status': 'retyping', 'migration_status': 'migrating'})
        volume.save()
        self.settle(service, volume, 'slow')
        volume.refresh()
        self.assertEqual(
            ('retyping', 'migrating'), (volume.status, volume.migration_status)
        )
        self.assertEqual(before, self.sum_of('slow', volume.name))
        self.assert_nothing_left('fast')
        self.assertEqual([], self.marks_in('slow'))

    def test_a_task_that_waits_behind_another_is_not_cancelled(self):
        """ceph-mgr would do no task any more."""
        volume, _ = self.prepared(self.serve())

        def task(ident, name, **fields):
            refs = {'pool_name': self.rados_pools['fast'], 'image_name': name}
            return {'id': ident, 'refs': refs, **fields}

        own, other = task('1', volume.name), task('2', 'another')
        self.cluster.answers = {
            'rbd task list': [{**own, 'in_progress': True}, other]
        }
        log = self.capture_log()
        service = self.serve()
        # As `do_tasks` lets none wait, the cluster has no such command.
        self.assertIn('"rbd task cancel" (EINVAL)', log.output)
        volume.refresh()
        self.assertEqual('retyping', volume.status)
        self.cluster.answers = {
            'rbd task list': [{**other, 'in_progress': True}, own]
        }
        self.settle(service, volume, 'slow')
        volume.refresh()
        self.assertEqual('available', volume.status)
        self.assert_nothing_left('fast')

    @contextlib.contextmanager
    def held(self, method):
        """Have a call of librbd wait, once, for the end of the block.

        :returns: a function that waits until it was called.
        """
        called, over = threading.Event(), threading.Event()
        of_fake = getattr(ceph_bindings._RBD, method)

        def wait(*arguments, **options):
            if not called.is_set():
                called.set()
                over.wait(driver_case.MOST_S)
            return of_fake(*arguments, **options)

        with fixtures.MonkeyPatch(
            f'tests.worlds.ceph_bindings._RBD.{method}', wait
        ):
            try:
                yield lambda: self.assertTrue(called.wait(driver_case.MOST_S))
            finally:
                over.set()

    def in_thread(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments)
        self.addCleanup(thread.join)
        thread.start()

    def test_a_clone_is_not_read_while_a_move_of_its_parent_begins(self):
        self.hurry()
        service = self.serve()
        volume, _, clone = self.make_family(service, 'slow')
        with self.held('migration_prepare') as wait_until_called:
            self.in_thread(self.retype, service, volume, 'fast')
            wait_until_called()
            for each in (volume, clone):
                self.assertRaises(
                    exception.VolumeIsBusy,
                    service.driver.initialize_connection,
                    *(each, {}),
                )

    def test_a_parent_does_not_begin_to_move_while_its_clone_is_copied(self):
        self.useFixture(
            fixtures.MonkeyPatch('cinder_tiers.driver.rbd.ALONE_WITHIN_S', 0)
        )
        service = self.serve()
        volume, _, clone = self.make_family(service, 'slow')
        log = self.capture_log()
        with self.held('clone') as wait_until_called:
            self.in_thread(
                service.driver.create_cloned_volume, self.add('fast'), clone
            )
            wait_until_called()
            self.assertRaises(
                exception.VolumeMigrationFailed,
                self.retype,
                *(service, volume, 'fast', 'never'),
            )
        self.assertIn(f'A request reads its clone {clone.name}.', log.output)

    def cut_commit_off(self, volume, left):
        self.cluster.do_tasks()
        self.cluster.left_by_commit = left
        target = f'{self.rados_pools["fast"]}/{volume.name}'
        command = 'rbd task add migration commit'
        request = json.dumps({'prefix': command, 'image_spec': target})
        self.assertEqual(0, self.connect().mgr_command(request, b'')[0])
        self.cluster.do_tasks()

    def leave_halfway(self, volume, left):
        if left == 'abort':
            with self.ioctx('slow') as slow, self.ioctx('fast') as fast:
                self.rbd.RBD().migration_prepare(
                    slow, volume.name, fast, volume.name
                )
            new, _ = self.cluster.move_of(fast.name, volume.name)
            self.cluster.moves[new][1] = ceph_bindings.ABORTING
            return
        image = self.cluster.get(self.rados_pools['slow'], volume.name)
        image.in_trash = left != 'header'
        image.is_named = left != 'entry'
        if left == 'header':
            image.leaves_for = self.rados_pools['fast']
            image.features |= self.rbd.RBD_FEATURE_MIGRATING
