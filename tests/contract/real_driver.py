# SPDX-License-Identifier: Apache-2.0

"""A real Ceph for the driver, and cinder-volume in processes to be killed.

The environment variable CINDER_TIERS_TEST_CEPH_CONF names its ceph.conf.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import fixtures

from tests.contract import driver_case
from tests.contract import driver_contract
from tests.contract import real_ceph

try:
    import rados
    import rbd
except ImportError:
    rados = rbd = None

#: Of the types of the two tiers.
LIMITS = {'fast': '400', 'slow': '40'}
#: Longer than a start of cinder-volume, or a move, takes.
MOST_S = 300


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

    def allow(self, *, manager=True, tiers=('fast', 'slow'), others=()):
        """Give the user what "openstack tier apply" gives it.

        :param manager: whether also the right to give it tasks.
        :param tiers: in whose pools.
        :param others: names of more pools in which it gets them.
        """
        pools = [*(self.rados_pools[tier] for tier in tiers), *others]
        grants = ', '.join(f'profile rbd pool={pool}' for pool in pools)
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


def signal_manager(signum=signal.SIGKILL):
    """Send a signal to the manager of the lab, which starts one that ended."""
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            program, *arguments = (process / 'cmdline').read_text().split('\0')
            if program.endswith('/ceph-mgr') and real_ceph.CONF in arguments:
                os.kill(int(process.name), signum)


class VolumeService:
    """A cinder-volume in a process of its own; killed, it is there anew.

    :param conf: path of the cinder.conf.
    """

    def __init__(self, conf):
        self._process = subprocess.Popen(
            (sys.executable, '-m', 'tests.contract.volume_process', conf),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._changed = threading.Condition()
        #: [(when, what it said)] since it was killed.
        self._said = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._hear(line.strip())
        self._hear('gone')

    def _hear(self, text):
        with self._changed:
            self._said.append((time.monotonic(), text))
            self._changed.notify_all()

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + '\n')
        self._process.stdin.flush()

    def wait_for(self, word):
        """When it said a word last, and what behind it.

        :raises AssertionError: it ended, or did not say it.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    {word, 'gone'}
                    & {text.partition(' ')[0] for _, text in self._said}
                ),
                MOST_S,
            )
            for when, text in reversed(self._said):
                if text.partition(' ')[0] == word:
                    return when, text.partition(' ')[2]
        raise AssertionError(f'no {word}: {self._said}')

    def kill(self):
        """End it at once.

        :returns: addresses under which Ceph still knows it.
        """
        _, pid = self.wait_for('pid')
        os.kill(int(pid), signal.SIGKILL)
        self.wait_for('gone')
        with self._changed:
            said = [text.partition(' ') for _, text in self._said]
            last = said.index(('gone', '', ''))
            self._said = self._said[last + 1 :]
        found = []
        for word, _, address in said[:last]:
            if word == 'connected':
                found.append(address)
            elif word == 'disconnected':
                found.remove(address)
        return found

    def end(self):
        self._process.stdin.close()
        try:
            self._process.wait(MOST_S)
        finally:
            self._process.kill()
            self._reader.join()
            self._process.stdout.close()

    def states(self):
        """Of the moves that it found when it started."""
        return re.findall(
            'Found the move of .* to [^,]*, (.*);',
            '\n'.join(text for _, text in self._said),
        )


class RealDriverCase(driver_contract.Families):
    """The driver on a real Ceph, as a user with least rights."""

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

    def write_objects(self, tier, volume, count):
        """Have data in so many objects of 4 MiB, which a move copies."""
        with self.image(tier, volume.name) as image:
            for number in range(count):
                image.write(b'data', number * 2**22)

    def assert_is_in(self, tier, other, volume, snapshots, sums):
        """A volume is in one place, and nothing of its moves is left."""
        self.assertIn(volume.name, self.names_in(tier))
        self.assertNotIn(volume.name, self.names_in(other))
        for one in (tier, other):
            self.assertEqual(0, self.images_in_trash(one), one)
            self.assertEqual([], self.marks_in(one), one)
        self.assertEqual(sums, self.sums_of(tier, volume, snapshots))
        with self.image(tier, volume.name, read_only=True) as image:
            self.assertFalse(image.features() & self.rbd.RBD_FEATURE_MIGRATING)


class KilledServiceCase(RealDriverCase):
    """cinder-volume is killed at moments of retypes, there and back."""

    #: So many before it answers, and after that until the move has ended.
    before_answer, after_answer = 0, 0
    objects = 24

    def start(self, service):
        """Have the process do what cinder-volume does when it starts."""
        service.wait_for('pid')
        service.ask(
            state_path=str(self.cinder.folder),
            options={
                **driver_case.section(self.rados_pools),
                **self.options,
            },
        )
        service.wait_for('serving')

    def kill_at_moments(self):
        """Kill it at each, let the next one start, and look at the world.

        :returns: states of the moves that were found.
        """
        service = VolumeService(str(self.cinder.folder / 'cinder.conf'))
        self.addCleanup(service.end)
        volume, snapshots, _ = self.make_family(self.serve(), 'slow')
        self.write_objects('slow', volume, self.objects)
        sums = self.sums_of('slow', volume, snapshots)
        self.start(service)
        asked = self.ask_for_retype(service, volume, 'fast')
        answered, ended = (
            service.wait_for(word)[0] - asked for word in ('answered', 'ended')
        )
        service.kill()
        self.start(service)
        tiers = ['fast', 'slow']
        states = []
        for moment in (
            *moments_in(0, answered, self.before_answer),
            *moments_in(answered, ended, self.after_answer),
        ):
            asked = self.ask_for_retype(service, volume, tiers[1])
            time.sleep(max(asked + moment - time.monotonic(), 0))
            for address in service.kill():
                # To Ceph it would be there for half a minute.
                self.cluster.command(
                    'osd blocklist', blocklistop='add', addr=address
                )
            self.start(service)
            states += service.states() or ['none']
            volume.refresh()
            if volume.status == 'retyping':
                # It had told Ceph nothing yet, and Cinder does not either.
                self.assertEqual('none', states[-1])
                volume.status = 'available'
                volume.save()
            self.assertEqual('available', volume.status)
            if volume.host == self.host_of(tiers[1]):
                tiers.reverse()
            self.assertEqual(self.host_of(tiers[0]), volume.host)
            self.assert_is_in(*tiers, volume, snapshots, sums)
            self.assertEqual(
                {'rbd_qos_iops_limit': LIMITS[tiers[0]]},
                self.limits_of(tiers[0], volume.name),
            )
        return states

    def ask_for_retype(self, service, volume, tier):
        """When the process began to do it."""
        volume.refresh()
        volume.update({'status': 'retyping', 'previous_status': 'available'})
        volume.save()
        service.ask(
            volume=volume.id,
            type=self.types[tier].id,
            host=self.host_of(tier),
        )
        return service.wait_for('asked')[0]


def moments_in(begin, end, count):
    """So many between the begin and the end."""
    return [
        begin + (end - begin) * (number + 0.5) / count
        for number in range(count)
    ]
