# SPDX-License-Identifier: Apache-2.0

"""The cephx users of `backend-config --for`, on a real Ceph cluster.

Run as test_real_ceph. Whoever reads finds what an administrator finds, and
can change nothing; whoever applies carries out a plan, and nothing else.
"""

import dataclasses
import errno
import json
import pathlib
import shlex
import subprocess
import tempfile
import time

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.plan import ceph_access
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph import cluster as ceph
from cinder_tiers.observe.ceph.osd import osd_metadata
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import for_export as inventory
from tests.contract import real_ceph
from tests.contract import test_real_commands
from tests.contract import world_contract
from tests.unit.cli import shell

IMAGE = 'contract-image'
#: Arguments of commands that are refused whatever the arguments are.
LIKELY = {
    'entity': 'client.nobody',
    'caps': ['mon', 'allow r'],
    'pool': 'nothing',
    'pool_type': 'replicated',
    'tierpool': 'nothing',
    'overlaypool': 'nothing',
    'mode': 'writeback',
    'var': 'size',
    'val': '3',
    'field': 'max_bytes',
    'app': 'rbd',
    'key': 'nothing',
    'value': '1',
    'name': 'nothing',
    'profile': 'nothing',
    'root': 'default',
    'type': 'host',
    'who': 'osd/class:nothing',
    'id': 0,
    'weight': 1.0,
}


class CephUsersCase(real_ceph.RealCephCase):
    """The users of a catalog, and sessions of theirs."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        cluster = self.catalog.clusters['ceph']
        self.reader = self.session_of(
            ceph_access.reader(self.catalog, cluster), 'reader'
        )
        self.writer = self.session_of(
            ceph_access.writer(self.catalog, cluster), 'writer'
        )

    def session_of(self, user, name):
        """A session of a user that is made, under a name of its own."""
        entity = f'client.{self.mark}-{name}'
        (made,) = self.session.command(
            'auth get-or-create',
            entity=entity,
            caps=[text for pair in user.caps.items() for text in pair],
        )
        self.addCleanup(self.session.command, 'auth rm', entity=entity)
        keyring = self.folder / name
        keyring.write_text(f'[{entity}]\nkey = {made["key"]}\n')
        conf = self.folder / f'{name}.conf'
        conf.write_text(
            pathlib.Path(real_ceph.CONF).read_text()
            + f'\n[{entity}]\nkeyring = {keyring}\n'
        )
        return self.enterContext(
            ceph_session.session(
                dataclasses.replace(
                    self.catalog.clusters['ceph'],
                    conf=str(conf),
                    user=f'{self.mark}-{name}',
                )
            )
        )

    def state_of(self, session):
        return dataclasses.replace(
            ceph.observe(session, self.catalog),
            usage=ceph_usage.attempt(session),
        )

    def assert_refused(self, session, prefix, **arguments):
        refused = self.assertRaises(
            ceph_session.CephRefused, session.command, prefix, **arguments
        )
        self.assertEqual(errno.EACCES, refused.errno, prefix)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealWriterTestCase(world_contract.WorldContract, CephUsersCase):
    """The contract of a world, kept by the user who applies."""

    def setUp(self):
        super().setUp()
        self.executors = registry.executors(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': self.writer},
            read_usage=ceph_usage.attempt,
        )
        self.executors[actions.Kind.VOLUME_TYPE] = self.cinder

    def read(self, key):
        if key.cluster is None:
            return self.cinder.read(key)
        return ceph.read(self.writer, key)

    def observe(self):
        return actual_state.ActualState(
            cinder=self.cinder.observe().cinder,
            ceph={'ceph': self.state_of(self.writer)},
        )


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealReaderTestCase(CephUsersCase):
    def applied(self):
        """Carries out the plan, as an administrator."""
        results = apply.apply(
            plan=self.make_plan(),
            executors=self.executors,
            read=self.read,
            report=lambda result: None,
            settle_s=self.settle_s,
        )
        self.assertEqual(
            {actions.Outcome.DONE}, {one.outcome for one in results}
        )

    def make_plan(self):
        return plans.make(catalog=self.catalog, actual=self.observe())

    def both(self, read):
        """What an administrator and the one who reads find.

        OSDs report to the manager some seconds late.
        """
        deadline = time.monotonic() + self.settle_s
        while True:
            expected, found = map(read, (self.session, self.reader))
            if expected == found or time.monotonic() > deadline:
                return expected, found
            time.sleep(0.5)

    def test_what_is_found_is_what_an_administrator_finds(self):
        for step in (lambda: None, self.applied):
            step()
            expected, found = self.both(
                lambda session: ceph.observe(session, self.catalog)
            )
            self.assertEqual(expected, found)
            self.assertIsInstance(
                ceph_usage.attempt(self.reader), usages.ClusterUsage
            )
        self.assertEqual(
            *map(osd_metadata.observe, (self.session, self.reader))
        )
        self.assertNotEqual({}, found.class_options[self.device_class].values)

    def test_an_export_is_the_one_of_an_administrator(self):
        self.applied()
        fsid = self.session.command('mon dump')['fsid']
        locations = [
            rbd_location.Location(fsid=fsid, user=self.mark, pool=pool)
            for pool in (tier.rbd.pool for tier in self.catalog.tiers)
        ]
        expected, found = self.both(
            lambda session: dataclasses.replace(
                inventory.read_cluster(session, locations), cluster=None
            )
        )
        self.assertEqual(expected, found)

    def test_who_reads_writes_nothing(self):
        self.applied()
        for command in ceph_access.WRITES:
            # Refused before the arguments are looked at.
            self.assert_refused(self.reader, command.prefix, **LIKELY)
        self.assert_refused(self.reader, 'auth get', entity='client.admin')
        self.assertRaises(
            errors.Unreachable,
            self.reader.set_rbd_option,
            self.replicated,
            'rbd_cache',
            'true',
        )
        self.assertEqual((), self.make_plan().actions)

    def test_no_volume_is_seen_for_rbd_options(self):
        self.applied()
        rados, rbd = map(ceph_session.import_binding, ('rados', 'rbd'))
        with self.session._handle.open_ioctx(self.replicated) as ioctx:
            rbd.RBD().create(ioctx, IMAGE, 2**22)
            with rbd.Image(ioctx, IMAGE) as image:
                image.write(b'secret', 0)
        plain = dataclasses.replace(
            self.catalog.clusters['ceph'], host_osd_options={}
        )
        whole = dataclasses.replace(
            self.catalog,
            tiers=self.catalog.tiers[:1],
            clusters={'ceph': plain},
        )
        writer = self.session_of(ceph_access.writer(whole, plain), 'plain')
        for session in (self.reader, writer):
            with session._handle.open_ioctx(self.replicated) as ioctx:
                self.assertRaises(
                    (rbd.PermissionError, rados.PermissionError),
                    rbd.Image,
                    ioctx,
                    IMAGE,
                    read_only=True,
                )
                self.assertRaises(rbd.PermissionError, rbd.RBD().list, ioctx)

    def test_who_applies_does_nothing_else(self):
        self.applied()
        for prefix, arguments in (
            (
                'osd pool delete',
                {
                    'pool': self.replicated,
                    'pool2': self.replicated,
                    'yes_i_really_really_mean_it': True,
                },
            ),
            ('auth caps', {'entity': 'client.admin', 'caps': ['mon', '']}),
            (
                'auth get-or-create',
                {'entity': 'client.new', 'caps': ['mon', 'allow *']},
            ),
            (
                'config set',
                {
                    'who': 'mon',
                    'name': 'mon_allow_pool_delete',
                    'value': 'true',
                },
            ),
            ('osd crush rule rm', {'name': self.replicated}),
        ):
            self.assert_refused(self.writer, prefix, **arguments)

    def test_permissions_are_those_that_ceph_tells(self):
        told = {
            ' '.join(part for part in one['sig'] if isinstance(part, str)): (
                one['perm']
            )
            for one in self.session.command(
                'get_command_descriptions'
            ).values()
        }
        for command in (*ceph_access.READS, *ceph_access.WRITES):
            if command.daemon != ceph_access.OSD and command.permission:
                self.assertEqual(
                    command.permission,
                    told[command.prefix],
                    command.prefix,
                )


HYBRID = """
  hybrid:
    tags: [hybrid]
    priority: 5
    rbd:
      cluster: ceph
      pool: {pool}
      device_class: hdd
      primary_device_class: ssd
      pg_num: 8
      replicated: {{size: 3, min_size: 2}}
"""


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class UsersOfCommandsTestCase(test_real_commands.CommandsTestCase):
    """The commands, as users that `ceph` makes from what is printed."""

    # Is run as an administrator by its own module.
    test_plan_apply_plan_drift_plan = None

    def setUp(self):
        super().setUp()
        self.hybrid = f'{self.mark}-hybrid'
        # Its CRUSH rule takes a command that no other tier needs.
        with open(self.path, 'a') as file:
            file.write(HYBRID.format(pool=self.hybrid))

    def remove(self):
        super().remove()
        real_ceph.delete_pools(self.session, [self.hybrid])
        self.session.command('osd crush rule rm', name=self.hybrid)

    def as_user(self, target):
        """From now on the commands act as the user of `--for`."""
        printed = self.run_tier('backend-config', '--for', target)
        self.assertEqual((0, ''), (printed.status, printed.stderr))
        (line,) = [
            line
            for line in printed.stdout.splitlines()
            if not line.startswith('#')
        ]
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        *command, _, keyring = shlex.split(line)
        self.assertTrue(keyring.endswith(f'client.tiers-{target[5:]}.keyring'))
        # Not of its own name, which the cluster may have already.
        user = f'{self.mark}-{target[5:]}'
        command[command.index(f'client.tiers-{target[5:]}')] = f'client.{user}'
        subprocess.run(
            [*command, '-o', folder / 'keyring'], check=True, timeout=60
        )
        self.addCleanup(
            self.session.command, 'auth rm', entity=f'client.{user}'
        )
        conf = folder / 'ceph.conf'
        conf.write_text(
            pathlib.Path(real_ceph.CONF).read_text()
            + f'\n[client.{user}]\nkeyring = {folder / "keyring"}\n'
        )
        path = folder / 'tiers.yaml'
        path.write_text(
            pathlib.Path(self.path)
            .read_text('utf-8')
            .replace('user: admin ', f'user: {user} ')
            .replace(f'conf: {real_ceph.CONF}', f'conf: {conf}')
        )
        return str(path)

    def run_as(self, path, command, *arguments):
        return shell.openstack(
            *self.api.shell_arguments,
            'tier',
            command,
            '--catalog',
            path,
            *arguments,
        )

    def test_one_who_reads_and_one_who_applies_do_it_all(self):
        reader, writer = map(self.as_user, ('ceph-reader', 'ceph-writer'))
        plan = self.run_as(reader, 'plan', '-f', 'json')
        self.assertEqual(4, plan.status, plan.stderr)
        self.assertEqual(
            json.loads(self.run_tier('plan', '-f', 'json').stdout),
            json.loads(plan.stdout),
        )
        refused = self.run_as(reader, 'apply', '--yes')
        self.assertEqual(1, refused.status)
        self.assertIn('--for ceph-writer', refused.stderr)

        done = self.run_as(writer, 'apply', '--yes')
        self.assertEqual(0, done.status, done.stderr)
        for command in ('plan', 'audit'):
            ran = self.run_as(reader, command, '-f', 'json')
            self.assertEqual(0, ran.status, ran.stdout + ran.stderr)

        self.session.command(
            'osd pool set',
            pool=f'{self.mark}-database',
            var='pg_autoscale_mode',
            val='warn',
        )
        for command in ('plan', 'audit'):
            self.assertEqual(4, self.run_as(reader, command).status)
