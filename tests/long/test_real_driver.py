# SPDX-License-Identifier: Apache-2.0

"""The contract of the driver, kept on a real Ceph by a user with least rights.

The environment variable CINDER_TIERS_TEST_CEPH_CONF names its ceph.conf.
"""

import collections
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

from cinder import exception
import fixtures
from oslo_log import log as logging
import testtools

from tests.contract import driver_case
from tests.contract import driver_contract
from tests.contract import real_ceph
from tests.long import rbd_bench

try:
    import rados
    import rbd
except ImportError:
    rados = rbd = None


class RealCluster(fixtures.Fixture):
    """Two pools of its own, and a user that may do what the driver needs."""

    def _setUp(self):
        self.rados_pools = driver_case.new_pool_names()
        self._admin = rados.Rados(conffile=real_ceph.CONF, rados_id='admin')
        self._admin.connect()
        self.addCleanup(self._admin.shutdown)
        guard = {'who': 'mon', 'name': 'mon_allow_pool_delete'}
        self.addCleanup(self.command, 'config rm', **guard)
        self.command('config set', **guard, value='true')
        for name in self.rados_pools.values():
            self.make_pool(name)
        self.user = name
        self.addCleanup(self.command, 'auth rm', entity=f'client.{self.user}')
        self.command('auth get-or-create', entity=f'client.{self.user}')
        self.allow()
        answer = self.command('auth get', entity=f'client.{self.user}')
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        keyring = folder / 'keyring'
        keyring.write_text(f'[client.{self.user}]\nkey = {answer[0]["key"]}\n')
        conf = folder / 'ceph.conf'
        conf.write_text(
            pathlib.Path(real_ceph.CONF).read_text()
            + f'\n[client.{self.user}]\nkeyring = {keyring}\n'
        )
        self.conf = str(conf)

    def allow(self, *, manager=True):
        """Give the user what "openstack tier apply" gives it."""
        grants = ', '.join(
            f'profile rbd pool={one}' for one in self.rados_pools.values()
        )
        caps = ['mon', 'profile rbd', 'osd', grants]
        self.command(
            'auth caps',
            entity=f'client.{self.user}',
            caps=[*caps, 'mgr', grants] if manager else caps,
        )

    def make_pool(self, name):
        self.command('osd pool create', pool=name, pg_num=8, size=2)
        self.addCleanup(
            self.command,
            'osd pool delete',
            pool=name,
            pool2=name,
            yes_i_really_really_mean_it=True,
        )
        self.command('osd pool application enable', pool=name, app='rbd')
        with self._admin.open_ioctx(name) as ioctx:
            rbd.RBD().pool_init(ioctx, True)

    def command(self, prefix, **arguments):
        code, answer, text = self._admin.mon_command(
            json.dumps({'prefix': prefix, 'format': 'json', **arguments}), b''
        )
        if code:
            raise OSError(code, f'{prefix}: {text}')
        return json.loads(answer or 'null')

    def connect(self):
        client = rados.Rados(conffile=self.conf, rados_id=self.user)
        client.connect()
        return client


LOG = logging.getLogger(__name__)

PREPARE = """
import sys, types
import rados, rbd
from cinder_tiers.driver import moving
conf, user, ident, name, fast, slow = sys.argv[1:]
cluster = rados.Rados(conffile=conf, rados_id=user)
cluster.connect()
driver = types.SimpleNamespace(rados=rados, rbd=rbd, RBDProxy=rbd.RBD)
images = moving.Images(driver, cluster)
print('ready', flush=True)
move = moving.Move(volume_id=ident, image=name, source=slow, target=fast)
images.mark(move)
images.prepare(move)
images.add_task(moving.Task.EXECUTE, move)
"""
COMMIT = """
import sys
import rados, rbd
conf, user, pool, name = sys.argv[1:]
cluster = rados.Rados(conffile=conf, rados_id=user)
cluster.connect()
ioctx = cluster.open_ioctx(pool)
print('ready', flush=True)
rbd.RBD().migration_commit(ioctx, name)
"""
#: A volume is to be usable within that.
MOST_RETYPE_S = 5
#: A limit in a second that the disks of the lab reach, and the time after
#: which a client keeps to another one.
PER_GIB, RATE_AFTER_S = 50, 10
KILLS, KILL_STEP_S = 6, 0.06
CUTS, CUT_STEP_S, OBJECTS = 4, 0.15, 200


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealDriverTestCase(driver_contract.DriverContract):
    rados = rados
    rbd = rbd

    def setUp(self):
        self.cluster = RealCluster()
        self.cluster.setUp()
        self.addCleanup(self.cluster.cleanUp)
        self.rados_pools = self.cluster.rados_pools
        super().setUp()
        self.options = {
            'rbd_ceph_conf': self.cluster.conf,
            'rbd_user': self.cluster.user,
            'rbd_cluster_name': 'ceph',
        }

    def connect(self):
        return self.cluster.connect()

    def cut_commit_off(self, volume, left):
        """As a manager that ends between two steps of a commit.

        It takes the migration off the new image first. It removes the entry
        of the trash last, which is here put back.
        """
        status = self.wait_until_executed(volume)
        with self.ioctx('fast') as fast, self.ioctx('slow') as slow:
            if left == 'header':
                header = f'rbd_header.{status["dest_image_id"]}'
                fast.execute(header, 'rbd', 'migration_remove', b'')
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

    def test_whole_images_are_equal_at_each_size(self):
        """And usable in 5 s; what it took is logged."""
        service = self.serve()
        for size in (1, 10, 100):
            volume, snapshots, _ = self.make_family(service, 'slow')
            service.driver.extend_volume(volume, size)
            volume.size = size
            volume.save()
            end = size * driver_case.GIB - 2**20
            self.write('slow', volume.name, b'at the end', end)
            read = driver_case.GIB if size == 1 else driver_case.WRITTEN_BYTES
            before = [
                self.sum_of('slow', volume.name, name, read)
                for name in (None, *(one.name for one in snapshots))
            ]
            began = time.monotonic()
            self.retype(service, volume, 'fast')
            seconds = time.monotonic() - began
            LOG.info('%d GiB: retyped in %.2f s', size, seconds)
            self.assertLess(seconds, MOST_RETYPE_S)
            began = time.monotonic()
            self.settle(service, volume, 'fast')
            LOG.info('committed after %.1f s', time.monotonic() - began)
            self.assertEqual(
                before,
                [
                    self.sum_of('fast', volume.name, name, read)
                    for name in (None, *(one.name for one in snapshots))
                ],
            )
            with self.image('fast', volume.name, read_only=True) as image:
                self.assertEqual(b'at the end', image.read(end, 10))

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
        before = self.sums_of('slow', volume, snapshots)
        states = collections.Counter()
        log = self.capture_log()
        for moment in range(KILLS):
            self.wait_for_watchers(volume)
            child = subprocess.Popen(
                [
                    *(sys.executable, '-c', PREPARE),
                    *(self.cluster.conf, self.cluster.user),
                    *(volume.id, volume.name),
                    *self.rados_pools.values(),
                ],
                stdout=subprocess.PIPE,
            )
            child.stdout.readline()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(moment * KILL_STEP_S)
            child.kill()
            child.communicate()
            service = self.serve()
            self.assertTrue(service.driver.initialized)
            self.assertEqual([], self.marks_in('slow'))
            self.assertEqual([], self.names_in('fast'))
            self.assertEqual(0, self.images_in_trash('slow'))
            self.assertEqual(before, self.sums_of('slow', volume, snapshots))
            with self.image('slow', clone.name, read_only=True) as image:
                self.assertEqual(
                    self.rados_pools['slow'], image.parent_info()[0]
                )
            found = re.findall(
                f'Found the move of .*{volume.name} to [^,]*, (.*);',
                log.output,
            )
            states.update(found[sum(states.values()) :])
        # One of the moments was in the middle of it.
        self.assertGreater(len(states), 0)
        LOG.info('killed in states %s of %d', dict(states), KILLS)

    def test_a_commit_may_be_cut_off_at_any_moment(self):
        service = self.serve()
        log = self.capture_log()
        for moment in range(CUTS):
            volume, snapshots, _ = self.make_family(service, 'slow')
            for number in range(OBJECTS):
                self.write('slow', volume.name, b'data', number * 2**22)
            before = self.sums_of('slow', volume, snapshots)
            self.retype(service, volume, 'fast')
            self.wait_until_executed(volume)
            child = subprocess.Popen(
                [
                    *(sys.executable, '-c', COMMIT),
                    *(self.cluster.conf, self.cluster.user),
                    *(self.rados_pools['fast'], volume.name),
                ],
                stdout=subprocess.PIPE,
            )
            child.stdout.readline()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(moment * CUT_STEP_S)
            child.kill()
            child.communicate()
            service = self.serve()
            self.settle(service, volume, 'fast')
            self.assertEqual([], self.marks_in('slow'))
            self.assertEqual(0, self.images_in_trash('slow'))
            self.assertEqual(before, self.sums_of('fast', volume, snapshots))
        found = re.findall('Found the move of .* to [^,]*, (.*);', log.output)
        LOG.info('cut off in states %s', found)

    def wait_until_executed(self, volume):
        over = threading.Event()
        with self.ioctx('fast') as ioctx:
            for _ in range(int(driver_case.MOST_S / driver_case.POLL_S)):
                status = self.rbd.RBD().migration_status(ioctx, volume.name)
                if status['state'] == rbd.RBD_IMAGE_MIGRATION_STATE_EXECUTED:
                    return status
                over.wait(driver_case.POLL_S)
        return self.fail(f'{volume.name} is not copied.')

    def wait_for_watchers(self, volume):
        """Until Ceph takes a killed process for gone, after half a minute."""
        for _ in range(driver_case.MOST_S):
            with self.image('slow', volume.name, read_only=True) as image:
                if not list(image.watchers_list()):
                    return
            time.sleep(1)
        self.fail(f'{volume.name} has watchers.')

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
