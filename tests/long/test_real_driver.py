# SPDX-License-Identifier: Apache-2.0

"""The contract of the driver, kept on a real Ceph by a user with least rights.

The environment variable CINDER_TIERS_TEST_CEPH_CONF names its ceph.conf.
"""

import collections
import contextlib
import hashlib
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

from cinder import exception
from oslo_log import log as logging
import testtools

from tests.contract import driver_case
from tests.contract import driver_contract
from tests.contract import real_ceph
from tests.contract import real_driver
from tests.long import rbd_bench

# They would choose eventlet before driver_case chooses threads.
from cinder.volume import volume_utils  # isort: skip
from os_brick.initiator import linuxrbd  # isort: skip

try:
    import rados
    import rbd
except ImportError:
    rados = rbd = None


LOG = logging.getLogger(__name__)


def encoded(text):
    """As Ceph encodes a string."""
    return struct.pack('<I', len(text)) + text.encode()


PREPARE = """
import sys, types
import rados, rbd
from cinder_tiers.driver import moving
conf, user, ident, name, fast, slow = sys.argv[1:]
cluster = rados.Rados(conffile=conf, rados_id=user)
cluster.connect()
driver = types.SimpleNamespace(rados=rados, rbd=rbd, RBDProxy=rbd.RBD)
images = moving.ClusterImages(driver, cluster)
print(cluster.get_addrs(), flush=True)
move = moving.Move(volume_id=ident, image=name, source=slow, target=fast)
images.mark(move)
images.prepare(move)
print('prepared', flush=True)
images.add_task(moving.Task.EXECUTE, move)
"""
COMMIT = """
import sys
import rados, rbd
conf, user, pool, name = sys.argv[1:]
cluster = rados.Rados(conffile=conf, rados_id=user)
cluster.connect()
ioctx = cluster.open_ioctx(pool)
print(cluster.get_addrs(), flush=True)
rbd.RBD().migration_commit(ioctx, name)
print('committed', flush=True)
"""
#: A retype is to be answered within that, and to need as many bytes as before.
MOST_RETYPE_S, MOST_MORE_USED = 5, 0.05
#: Bytes of an object of an image, and how many over the whole image are full.
OBJECT, SPREAD = 2**22, 8
#: A limit in a second that the disks of the lab reach, and the time after
#: which a client keeps to another one.
PER_GIB, RATE_AFTER_S = 50, 10
#: Longer than Ceph takes to see that a pool is over its quota, or is not.
MOST_FULL_S = 60
#: State in a migration header, for which the bindings of Ceph 16 have no name.
ABORTING = 5
#: Of each step, from before its begin until after its end.
MOMENTS, LAST_IN_IT = 22, 17
#: So many objects of 4 MiB each are copied, and removed by a commit.
OBJECTS = 24
#: So many that others wait meanwhile.
MANY_OBJECTS = 200


def _turn(moment):
    """(tier where a volume is, tier where it goes), by turns."""
    return ('slow', 'fast') if moment % 2 == 0 else ('fast', 'slow')


def _numbers(extents):
    """Return the numbers of the objects in which extents are."""
    return sorted(
        {
            number
            for offset, length in extents
            for number in range(
                offset // OBJECT, (offset + length - 1) // OBJECT + 1
            )
        }
    )


def _length(extents):
    return sum(length for _, length in extents)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealDriverTestCase(
    real_driver.RealDriverCase, driver_contract.DriverContract
):
    def set_quota(self, pool, objects):
        """Limit a pool, 0: no more, and wait until it is full, or is not."""
        self.cluster.command(
            'osd pool set-quota',
            pool=pool,
            field='max_objects',
            val=str(objects),
        )
        deadline = time.monotonic() + MOST_FULL_S
        while bool(objects) != any(
            'full' in found['flags_names'].split(',')
            for found in self.cluster.command('osd pool ls', detail='detail')
            if found['pool_name'] == pool
        ):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.5)

    def test_a_full_pool_takes_no_image_and_loses_none(self):
        service = self.serve()
        driver, pool = service.driver, self.rados_pools['slow']
        removed, moved = (
            self.make(service, 'slow', b'content') for _ in range(2)
        )
        before = self.sum_of('slow', moved.name)
        self.set_quota(pool, 1)
        self.addCleanup(self.set_quota, pool, 0)
        driver.get_volume_stats(refresh=True)
        self.assertRaises(
            exception.VolumeBackendAPIException,
            driver.create_volume,
            self.add('slow'),
        )
        left = {removed.name, moved.name}
        try:
            driver.delete_volume(removed)
        except exception.VolumeBackendAPIException:
            # librbd of Ceph 16 must make the trash, as nothing was removed
            # before; that of 18 has it.
            pass
        else:
            left.remove(removed.name)
        self.assertEqual(left, set(self.names_in('slow')))
        self.set_quota(pool, 0)
        driver.delete_volume(self.make(service, 'slow'))
        self.set_quota(pool, 1)
        driver.get_volume_stats(refresh=True)
        driver.delete_volume(removed)
        driver.create_snapshot(self.snapshot_of(moved))
        # Ceph's manager would wait, with all tasks of the cluster.
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, moved, 'fast', 'never'),
        )
        self.assertEqual(before, self.sum_of('slow', moved.name))
        self.assertEqual([moved.name], self.names_in('slow'))

    def cut_commit_off(self, volume, left):
        """As a manager that ends between two steps of a commit.

        It takes the migration off the new image first. It removes the entry
        of the trash last, which is here put back.
        """
        status = self.wait_until_executed(volume)
        with self.ioctx('fast') as fast, self.ioctx('slow') as slow:
            if left in ('header', 'snapshot'):
                header = f'rbd_header.{status["dest_image_id"]}'
                fast.execute(header, 'rbd', 'migration_remove', b'')
                if left == 'snapshot':
                    self.begin_to_remove_snapshot(
                        slow, status['source_image_id']
                    )
                return
            key = f'id_{status["source_image_id"]}'
            with rados.ReadOpCtx() as asked:
                found, _ = slow.get_omap_vals_by_keys(asked, (key,))
                slow.operate_read_op(asked, 'rbd_trash')
                entry = dict(found)[key]
            self.rbd.RBD().migration_commit(fast, volume.name)
            with rados.WriteOpCtx() as change:
                slow.set_omap(change, (key,), (entry,))
                slow.operate_write_op(change, 'rbd_trash')

    def begin_to_remove_snapshot(self, ioctx, ident):
        """As librbd does: into the trash of the image, with another name."""
        with contextlib.closing(
            rbd.Image(ioctx, image_id=ident, read_only=True)
        ) as image:
            first = next(iter(image.list_snaps()))['id']
        for method, data in (
            ('set_protection_status', struct.pack('<QB', first, 0)),
            ('snapshot_trash_add', struct.pack('<Q', first)),
        ):
            ioctx.execute(f'rbd_header.{ident}', 'rbd', method, data)

    def leave_halfway(self, volume, left):
        with self.ioctx('slow') as slow, self.ioctx('fast') as fast:
            with self.image('slow', volume.name, read_only=True) as image:
                ident = image.id()
            self.rbd.RBD().migration_prepare(
                slow, volume.name, fast, volume.name
            )
            with rados.ReadOpCtx() as asked:
                found, _ = slow.get_omap_vals_by_keys(asked, (f'id_{ident}',))
                slow.operate_read_op(asked, 'rbd_trash')
                entry = dict(found)
            if left == 'abort':
                with self.image('fast', volume.name, read_only=True) as image:
                    of_new = image.id()
                for ioctx, one in ((slow, ident), (fast, of_new)):
                    ioctx.execute(
                        f'rbd_header.{one}',
                        'rbd',
                        'migration_set_state',
                        bytes([ABORTING]) + encoded(''),
                    )
                return
            _, spec = slow.execute(
                f'rbd_header.{ident}', 'rbd', 'migration_get', b''
            )
            self.rbd.RBD().migration_abort(slow, volume.name)
            if left == 'header':
                slow.execute(
                    f'rbd_header.{ident}', 'rbd', 'migration_set', spec
                )
                return
            with rados.WriteOpCtx() as change:
                slow.set_omap(change, tuple(entry), tuple(entry.values()))
                slow.operate_write_op(change, 'rbd_trash')
            if left == 'entry':
                slow.remove_object(f'rbd_id.{volume.name}')
                slow.execute(
                    'rbd_directory',
                    'rbd',
                    'dir_remove_image',
                    encoded(volume.name) + encoded(ident),
                )

    def test_whole_images_are_equal_at_each_size(self):
        """And answered in 5 s; what it took is logged."""
        service = self.serve()
        LOG.info('1 GiB: copied by Cinder in %.1f s', self.copy_by_cinder())
        for size in (1, 10, 100):
            volume, snapshots, _ = self.make_family(service, 'slow')
            service.driver.extend_volume(volume, size)
            volume.size = size
            volume.save()
            end = size * driver_case.GIB - 2**20
            self.write('slow', volume.name, b'at the end', end)
            for number in range(SPREAD):
                self.write(
                    *('slow', volume.name, os.urandom(OBJECT)),
                    number * size * driver_case.GIB // SPREAD,
                )
            names = (None, *(one.name for one in snapshots))
            extents = [self.extents('slow', volume, name) for name in names]
            before = [
                self.sums_at('slow', volume, name, _numbers(some))
                for name, some in zip(names, extents, strict=True)
            ]
            self.assertIn(end // OBJECT, before[0])
            with self.image('slow', volume.name, read_only=True) as image:
                ident = image.id()
            began = time.monotonic()
            self.retype(service, volume, 'fast')
            seconds = time.monotonic() - began
            LOG.info('%d GiB: retyped in %.2f s', size, seconds)
            self.assertLess(seconds, MOST_RETYPE_S)
            began = time.monotonic()
            self.settle(service, volume, 'fast')
            LOG.info('committed after %.1f s', time.monotonic() - began)
            for name, old, sums in zip(names, extents, before, strict=True):
                new = self.extents('fast', volume, name)
                self.assertEqual(
                    sums, self.sums_at('fast', volume, name, _numbers(new))
                )
                used, more = _length(old), _length(new) - _length(old)
                LOG.info('%s: %d bytes used, and %d more', name, used, more)
                self.assertLessEqual(abs(more), used * MOST_MORE_USED)
            self.assertEqual(0, self.images_in_trash('slow'))
            self.wait_until_gone('slow', ident, volume.name)

    def wait_until_gone(self, tier, *words):
        """Until no object of a pool has one of some words in its name.

        Ceph removes what snapshots had after they are gone.
        """
        over = threading.Event()
        with self.ioctx(tier) as ioctx:
            for _ in range(int(driver_case.MOST_S / driver_case.POLL_S)):
                left = [
                    one.key
                    for one in ioctx.list_objects()
                    if any(word in one.key for word in words)
                ]
                if not left:
                    return
                over.wait(driver_case.POLL_S)
        self.fail(f'{left} are left.')

    def extents(self, tier, volume, snapshot):
        """[(offset, length)] where an image or its snapshot has data.

        Of an image that migrates librbd does not know them.
        """
        found = []

        def add(offset, length, has_data):
            if has_data:
                found.append((offset, length))

        with self.image(
            tier, volume.name, snapshot=snapshot, read_only=True
        ) as image:
            image.diff_iterate(0, image.size(), None, add)
        return found

    def sums_at(self, tier, volume, snapshot, numbers):
        """{number: sha256} of those objects that are not all zeros."""
        found = {}
        with self.image(
            tier, volume.name, snapshot=snapshot, read_only=True
        ) as image:
            for number in numbers:
                content = image.read(number * OBJECT, OBJECT)
                if any(content):
                    found[number] = hashlib.sha256(content).hexdigest()
        return found

    def copy_by_cinder(self):
        """Seconds for a copy of 1 GiB between images without limits.

        As Cinder migrates a volume: all of it goes through the host, and what
        was sparse is not any more.
        """
        with contextlib.ExitStack() as stack:
            handles = []
            for tier in ('slow', 'fast'):
                ioctx = stack.enter_context(self.ioctx(tier))
                self.rbd.RBD().create(ioctx, 'copied', driver_case.GIB)
                stack.callback(self.rbd.RBD().remove, ioctx, 'copied')
                image = stack.enter_context(self.image(tier, 'copied'))
                handles.append(
                    linuxrbd.RBDVolumeIOWrapper(
                        linuxrbd.RBDImageMetadata(
                            image, self.rados_pools[tier], '', ''
                        )
                    )
                )
            began = time.monotonic()
            volume_utils.copy_volume(*handles, driver_case.GIB // 2**20, '1M')
            return time.monotonic() - began

    def run_for(self, seconds, script, *arguments, is_forgotten=True):
        """Run a script in a process, and kill it, unless it ends before.

        :param seconds: None to let it come to its second line, and to its end.
        :param is_forgotten: whether Ceph takes it for gone at once, and not
            only half a minute after its last sign of life.
        :returns: how long it was on the way to its second line, or `seconds`.
        """
        child = subprocess.Popen(
            [
                *(sys.executable, '-c', script),
                *(self.cluster.conf, self.cluster.user, *arguments),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        address = child.stdout.readline().strip()
        began = time.monotonic()
        if seconds is None:
            child.stdout.readline()
            ran = time.monotonic() - began
            child.wait()
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(seconds)
            ran = seconds
            child.kill()
        child.communicate()
        if is_forgotten:
            self.cluster.command(
                'osd blocklist', blocklistop='add', addr=address
            )
        return ran

    def serve_anew(self, service):
        """A cinder-volume after another one, which does nothing any more."""
        service.driver._going_on.stop()
        return self.serve()

    def states_in(self, log):
        return dict(
            collections.Counter(
                re.findall('Found the move of .* to [^,]*, (.*);', log.output)
            )
        )

    def test_an_open_client_feels_the_limit_of_a_larger_volume(self):
        self.types['fast'] = self.make_type(
            'by-size',
            '5',
            backend='tier-fast',
            total_iops_sec_per_gb=str(PER_GIB),
        )
        service = self.serve()
        volume = self.make(service, 'fast')
        rates = []
        with rbd_bench.writing(
            f'{self.rados_pools["fast"]}/{volume.name}',
            *('--conf', self.cluster.conf, '--id', self.cluster.user),
        ) as bench:
            for size_gib in (1, 2):
                if size_gib > volume.size:
                    service.driver.extend_volume(volume, size_gib)
                rates.append(rbd_bench.rate(bench, RATE_AFTER_S))
        LOG.info('writes in a second, at 1 and 2 GiB: %s', rates)
        for rate, size_gib in zip(rates, (1, 2), strict=True):
            self.assertAlmostEqual(1, rate / size_gib / PER_GIB, delta=0.2)

    def test_a_service_may_be_killed_at_any_moment(self):
        service = self.serve()
        volume, snapshots, clone = self.make_family(service, 'slow')
        names = self.names_in('slow')
        before = self.sums_of('slow', volume, snapshots)
        arguments = volume.id, volume.name, *self.rados_pools.values()
        log = self.capture_log()
        whole_s = None
        for moment in range(MOMENTS):
            ran = self.run_for(
                # The first is not killed, and says how long it takes.
                whole_s and whole_s * (moment - 1) / LAST_IN_IT,
                PREPARE,
                *arguments,
                is_forgotten=moment != MOMENTS // 2,
            )
            whole_s = whole_s or ran
            volume.update(
                {'status': 'retyping', 'previous_status': 'available'}
            )
            volume.save()
            service = self.serve_anew(service)
            self.assertTrue(service.driver.initialized)
            self.settle(service, volume, 'slow')
            volume.refresh()
            # Killed before its first step, it has told nobody.
            if volume.status == 'retyping':
                self.assertLess(moment, LAST_IN_IT // 3)
            self.assertEqual([], self.marks_in('slow'))
            self.assertEqual([], self.names_in('fast'))
            self.assertEqual(names, self.names_in('slow'))
            self.assertEqual(0, self.images_in_trash('slow'))
            self.assertEqual(before, self.sums_of('slow', volume, snapshots))
            with self.image('slow', volume.name, read_only=True) as image:
                self.assertFalse(
                    image.features() & self.rbd.RBD_FEATURE_MIGRATING
                )
            with self.image('slow', clone.name, read_only=True) as image:
                self.assertEqual(
                    self.rados_pools['slow'], image.parent_info()[0]
                )
        states = self.states_in(log)
        # Some of the moments were in the middle of `prepare`.
        self.assertIn('broken', states)
        LOG.info('killed %d times in %.2f s: %s', moment, whole_s, states)

    def test_a_commit_may_be_cut_off_at_any_moment(self):
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        self.write_objects('slow', volume, OBJECTS)
        before = self.sums_of('slow', volume, snapshots)
        log = self.capture_log()
        whole_s = None
        for moment in range(MOMENTS):
            source, target = _turn(moment)
            service.driver._going_on.stop()
            self.retype(service, volume, target)
            self.assertEqual(self.host_of(target), volume.host)
            self.wait_until_executed(volume, target)
            ran = self.run_for(
                whole_s and whole_s * (moment - 1) / LAST_IN_IT,
                COMMIT,
                self.rados_pools[target],
                volume.name,
            )
            whole_s = whole_s or ran
            service = self.serve_anew(service)
            self.settle(service, volume, target)
            self.assert_is_in(target, source, volume, snapshots, before)
        LOG.info(
            'cut off %d times in %.2f s: %s',
            *(moment, whole_s, self.states_in(log)),
        )

    def wait_for_manager(self, service):
        with service.driver._images(asks_manager=True) as images:
            for _ in range(driver_case.MOST_S):
                try:
                    images._ask_manager('rbd task list')
                except driver_case.moving.ManagerRefused:
                    time.sleep(1)
                else:
                    return
        self.fail('The manager does not come back.')

    def test_the_manager_may_be_killed_at_any_moment(self):
        """Before, in and after each step of a whole move, and again."""
        service = self.serve()
        volume, snapshots, _ = self.make_family(service, 'slow')
        self.write_objects('slow', volume, OBJECTS)
        sums = self.sums_of('slow', volume, snapshots)
        whole_s, moved = None, 0
        source, target = _turn(moved)
        for moment in range(MOMENTS):
            self.wait_for_manager(service)
            killer = threading.Timer(
                (whole_s or 0) * (moment - 1) / LAST_IN_IT,
                real_driver.signal_manager,
            )
            began = time.monotonic()
            if whole_s:
                killer.start()
            try:
                self.retype(service, volume, target, 'never')
            except exception.VolumeMigrationFailed:
                volume.refresh()
            self.settle(service, volume, target)
            whole_s = whole_s or time.monotonic() - began
            if killer.is_alive():
                killer.join()
            self.assertEqual('available', volume.status)
            if volume.host == self.host_of(target):
                moved += 1
                source, target = _turn(moved)
            self.assertEqual(self.host_of(source), volume.host)
            self.assert_is_in(source, target, volume, snapshots, sums)
        LOG.info('%d moves, %.1f s one without a kill', moved, whole_s)
        self.assertGreater(moved, MOMENTS // 2)

    def test_without_a_manager_no_request_waits_for_one(self):
        service = self.serve(rados_connect_timeout=5)
        volume = self.make(service, 'slow', driver_contract.CONTENT[0])
        before = self.sum_of('slow', volume.name)
        self.wait_for_manager(service)
        self.addCleanup(real_driver.signal_manager, signal.SIGCONT)
        real_driver.signal_manager(signal.SIGSTOP)
        for _ in range(driver_case.MOST_S):
            if not self.cluster.command('status')['mgrmap']['available']:
                break
            time.sleep(1)
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, volume, 'fast', 'never'),
        )
        self.assertIn('No manager of Ceph is active', log.output)
        service.driver.initialize_connection(volume, {})
        real_driver.signal_manager(signal.SIGCONT)
        self.wait_for_manager(service)
        volume.refresh()
        self.retype(service, volume, 'fast', 'never')
        self.settle(service, volume, 'fast')
        self.assertEqual(before, self.sum_of('fast', volume.name))
        self.assert_nothing_left('slow')

    def test_moves_are_taken_back_whose_tasks_wait_for_each_other(self):
        """After that the manager does tasks as before."""
        service = self.serve()
        service.driver._going_on.stop()
        volumes = [self.make(service, 'slow') for _ in range(3)]
        for volume, count in zip(volumes, (MANY_OBJECTS, 1, 1), strict=True):
            self.write_objects('slow', volume, count)
        before = [self.sum_of('slow', one.name) for one in volumes]
        with service.driver._images(asks_manager=True) as images:
            for volume in volumes:
                move = self.move_of(volume)
                images.mark(move)
                images.prepare(move)
                images.add_task(driver_case.moving.Task.EXECUTE, move)
            [task] = images._tasks_of(move)
            self.assertNotIn('in_progress', task)
            # It may begin now.
            with contextlib.suppress(driver_case.moving.NotYet):
                images.take_back(move, images.state(move))
        service = self.serve()
        self.settle(service, volumes[-1], 'slow')
        self.assert_nothing_left('fast')
        for volume in volumes:
            self.retype(service, volume, 'fast')
        self.settle(service, volumes[-1], 'fast')
        self.assertEqual(
            before, [self.sum_of('fast', one.name) for one in volumes]
        )
        self.assert_nothing_left('slow')

    def test_a_pool_of_others_that_does_not_answer_stops_no_start(self):
        name = f'{self.rados_pools["fast"]}-silent'
        self.cluster.command('osd crush add-bucket', name=name, type='root')
        self.addCleanup(self.cluster.command, 'osd crush rm', name=name)
        self.cluster.command(
            'osd crush rule create-replicated',
            name=name,
            root=name,
            type='host',
        )
        self.addCleanup(self.cluster.command, 'osd crush rule rm', name=name)
        self.cluster.command('osd pool create', pool=name, pg_num=1, rule=name)
        self.addCleanup(
            self.cluster.command,
            'osd pool delete',
            pool=name,
            pool2=name,
            yes_i_really_really_mean_it=True,
        )
        self.cluster.command(
            'osd pool application enable', pool=name, app='rbd'
        )
        self.cluster.allow(others=(name,))
        log = self.capture_log()
        self.assertTrue(self.serve().driver.initialized)
        self.assertIn(f'Pool {name}, which is not of this', log.output)

    def wait_until_executed(self, volume, tier='fast'):
        over = threading.Event()
        with self.ioctx(tier) as ioctx:
            for _ in range(int(driver_case.MOST_S / driver_case.POLL_S)):
                status = self.rbd.RBD().migration_status(ioctx, volume.name)
                if status['state'] == rbd.RBD_IMAGE_MIGRATION_STATE_EXECUTED:
                    return status
                over.wait(driver_case.POLL_S)
        return self.fail(f'{volume.name} is not copied.')

    def test_a_pool_that_goes_is_said_and_others_are_served(self):
        service = self.serve()
        volume = self.make(service, 'slow', driver_contract.CONTENT[0])
        before = self.sum_of('slow', volume.name)
        gone = self.rados_pools['fast']
        self.cluster.command(
            'osd pool delete',
            pool=gone,
            pool2=gone,
            yes_i_really_really_mean_it=True,
        )
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeBackendAPIException, self.make, service, 'fast'
        )
        self.assertIn(gone, log.output)
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, volume, 'fast', 'never'),
        )
        volume.refresh()
        self.assertEqual(self.host_of('slow'), volume.host)
        self.assertEqual(before, self.sum_of('slow', volume.name))
        self.assertEqual([], self.marks_in('slow'))
        service.driver.delete_volume(volume)
        self.assertEqual([], self.names_in('slow'))
        log = self.capture_log()
        self.assertFalse(self.serve().driver.initialized)
        self.assertIn(f'the cluster has no pool {gone!r}', log.output)

    def test_a_user_without_rights_in_a_pool_is_told(self):
        service = self.serve()
        volume = self.make(service, 'slow', driver_contract.CONTENT[0])
        before = self.sum_of('slow', volume.name)
        self.cluster.allow(tiers=('slow',))
        log = self.capture_log()
        error = self.assertRaises(
            exception.VolumeBackendAPIException, self.make, service, 'fast'
        )
        self.assertIn(
            f'profile rbd pool={self.rados_pools["fast"]}', str(error)
        )
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            *(service, volume, 'fast', 'never'),
        )
        volume.refresh()
        self.assertEqual(self.host_of('slow'), volume.host)
        self.assertEqual(before, self.sum_of('slow', volume.name))
        self.assertEqual([], self.marks_in('slow'))
        log = self.capture_log()
        service = self.serve()
        self.assertFalse(service.driver.initialized)
        self.assertIn(
            f'refuses user {self.cluster.user} in pool '
            f'{self.rados_pools["fast"]}: it needs osd',
            log.output,
        )

    def test_a_user_without_the_manager_does_not_move_and_is_told(self):
        service = self.serve()
        volume = self.make(service, 'slow', driver_contract.CONTENT[0])
        self.cluster.allow(manager=False)
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            volume,
            'fast',
            'never',
        )
        self.assertIn('the cephx user needs mgr', log.output)
        self.assertEqual([volume.name], self.names_in('slow'))
        self.assertEqual([], self.marks_in('slow'))
