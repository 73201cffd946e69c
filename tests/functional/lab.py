# SPDX-License-Identifier: Apache-2.0
"""The running lab, as its user has it: openrc sourced, commands run.

The tests ask Ceph and the machine for the state of the world, not Cinder
alone. They need ``devstack/lab.sh up``; without it they fail, and say so.
"""

import collections
import functools
import json
import os
import pathlib
import re
import subprocess
import time
import uuid

from openstack.config import loader
from openstack import connection
import testtools

from tests.functional import commands

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LAB_SH = str(REPOSITORY / 'devstack' / 'lab.sh')
ADMIN = 'cinder-tiers-lab'
MEMBER = 'cinder-tiers-lab-member'
#: A member of another project.
OTHER = 'cinder-tiers-lab-other'
#: Seconds after which both doors know of a change: the longest of the times
#: for which they remember, by default, and a bit.
TIERS_ARE_KNOWN_SECONDS = 6
TAGS_ARE_KNOWN_SECONDS = 11
POOLS = ('tier-database', 'tier-general', 'tier-archive')


def user_environment():
    """The environment of a user who has sourced the lab's openrc."""
    done = subprocess.run(
        ['bash', '-c', f'. <("{LAB_SH}" openrc) && env -0'],
        capture_output=True,
        text=True,
    )
    if done.returncode or 'OS_CLOUD=' not in done.stdout:
        raise AssertionError(
            'the lab is not up; run devstack/lab.sh up. '
            f'It said: {done.stderr.strip()}'
        )
    return dict(
        entry.split('=', 1)
        for entry in done.stdout.split('\0')
        if '=' in entry
    )


def connect(environment, cloud):
    """A connection of openstacksdk to the lab.

    :param environment: of a user of the lab.
    :param cloud: name in the lab's clouds.yaml.
    """
    return connection.Connection(
        config=loader.OpenStackConfig(
            config_files=[environment['OS_CLIENT_CONFIG_FILE']],
            load_envvars=False,
        ).get_one(cloud)
    )


def holders(environment):
    """{id of a volume: the pools that hold its RBD image}, asked of Ceph.

    There are two for a moment, when Cinder has copied a volume to another.
    """
    found = collections.defaultdict(list)
    for pool in POOLS:
        for image in subprocess.run(
            ['rbd', 'ls', pool],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        ).stdout.split():
            found[image.removeprefix('volume-')].append(pool)
    return found


def remove_what_cinder_left(environment, volumes=()):
    """Remove sources of clones that are deleted, as are their clones.

    Cinder 29 keeps such a source as volume-ID.deleted, and when its last clone
    is deleted by the fast path of the RBD driver, forgets it. If clones are
    deleted at the same time, it may take an image that is there for one that
    "no longer exists in backend" (seen on a busy machine), and leave it.

    :param volumes: ids of volumes that Cinder has deleted
    """
    left = {f'volume-{ident}' for ident in volumes}

    def rbd(*words):
        return subprocess.run(
            ('rbd', *words),
            check=True,
            text=True,
            capture_output=True,
            env=environment,
        ).stdout

    for pool in POOLS:
        for image in rbd('ls', pool).split():
            spec = f'{pool}/{image}'
            if (image.endswith('.deleted') or image in left) and not rbd(
                'children', '--all', spec
            ).split():
                for snapshot in json.loads(
                    rbd('snap', 'ls', spec, '--format', 'json')
                ):
                    rbd('snap', 'unprotect', f'{spec}@{snapshot["name"]}')
                rbd('snap', 'purge', '--no-progress', spec)
                rbd('rm', '--no-progress', spec)


def wait_until_tiers_are_known():
    """Wait until the doors see volume types as they are now."""
    time.sleep(TIERS_ARE_KNOWN_SECONDS)


def wait_until_tags_are_known():
    """Wait until the doors see the tags of images as they are now."""
    time.sleep(TAGS_ARE_KNOWN_SECONDS)


class LabTestCase(testtools.TestCase):
    """Runs commands against the lab and removes what a test has made."""

    def setUp(self):
        super().setUp()
        self.environment = user_environment()

    @functools.cached_property
    def admin(self):
        """A connection of the administrator.

        Where the command itself is not what is tested: its start takes longer
        than most requests.
        """
        made = connect(self.environment, ADMIN)
        self.addCleanup(made.close)
        return made

    def run_command(
        self, *argv, cloud=None, expect=0, timeout_s=900, **variables
    ):
        """Run a command; return (standard output, standard error).

        :param expect: its exit status; None: any
        """
        environment = {**self.environment, **variables}
        if cloud:
            environment['OS_CLOUD'] = cloud
        done = commands.run(argv, environment=environment, timeout_s=timeout_s)
        if expect is not None and done.returncode != expect:
            self.fail(
                f'{" ".join(argv)} ended with {done.returncode}, '
                f'expected {expect}:\n{done.stdout}\n{done.stderr}'
            )
        return done.stdout, done.stderr

    def ask(self, *argv, **options):
        """Run a command that answers with JSON."""
        return json.loads(self.run_command(*argv, '-f', 'json', **options)[0])

    def pools_in_text(self):
        """All of all pools, but for what Ceph itself changes after a while.

        It trims snapshots for minutes, and a new pool is said to be creating
        until the monitors know its last placement group.
        """
        text, _ = self.run_command('ceph', 'osd', 'pool', 'ls', 'detail')
        return re.sub(
            r'last_change \d+|\n\s*removed_snaps_queue.*|,creating\b', '', text
        )

    def unique_name(self, what):
        return f'functional-{what}-{uuid.uuid4().hex[:8]}'

    def create_volume(self, *options, cloud=MEMBER):
        """Create a volume of 1 GiB; return its id when it is available."""
        storage = self.admin.block_storage
        volume = self.ask(
            'openstack',
            'volume',
            'create',
            '--size',
            '1',
            *options,
            self.unique_name('volume'),
            cloud=cloud,
        )
        self.addCleanup(self.delete_volume, volume['id'])
        deadline = time.monotonic() + 240
        status = 'creating'
        while status in ('creating', 'downloading'):
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.5)
            status = storage.get_volume(volume['id']).status
        self.assertEqual('available', status)
        return volume['id']

    def delete_volume(self, volume):
        self.admin.block_storage.delete_volume(volume, force=True)
        deadline = time.monotonic() + 180
        while self.pool_of(volume) and time.monotonic() < deadline:
            time.sleep(0.5)
        self.assertIsNone(self.pool_of(volume))

    def pool_of(self, volume):
        """The pool that holds a volume's RBD image, asked of Ceph."""
        holders = [
            pool
            for pool in POOLS
            if f'volume-{volume}'
            in self.run_command('rbd', 'ls', pool)[0].split()
        ]
        self.assertLess(len(holders), 2)
        return holders[0] if holders else None

    def lab_sh(self, *argv, expect=0, **variables):
        """Run devstack/lab.sh; return (standard output, standard error)."""
        return self.run_command(LAB_SH, *argv, expect=expect, **variables)

    def services(self):
        """{name: {state, pid, memory_mib, log_line}} of the lab."""
        done = subprocess.run(
            [LAB_SH, 'status', '-f', 'json'],
            capture_output=True,
            text=True,
            env=self.environment,
        )
        return {row.pop('name'): row for row in json.loads(done.stdout)}

    @property
    def root(self):
        return pathlib.Path(self.environment['CINDER_TIERS_LAB'])


def change_cinder_for_class(test_class, text, *services):
    """Give Cinder other settings while the tests of a class run.

    :param text: a file like cinder.conf; {venv} stands for the Python
        environment of Cinder.
    :param services: what is restarted, then and at the end.
    """
    environment = user_environment()
    root = pathlib.Path(environment['CINDER_TIERS_LAB'])
    file = root / 'etc' / 'cinder.d' / 'functional-test.conf'

    def restart():
        subprocess.run(
            [LAB_SH, 'restart', *services],
            check=True,
            capture_output=True,
            env=environment,
        )

    test_class.addClassCleanup(restart)
    test_class.addClassCleanup(file.unlink)
    file.write_text(text.format(venv=root / 'venv'))
    restart()


def use_tiered_driver_for_class(
    test_class, *services, catalog=None, settings=''
):
    """Have one backend for all tiers of a Ceph while tests of a class run.

    :param services: services that are restarted besides cinder-volume.
    :param catalog: path of another tiers file.
    :param settings: more of cinder.conf.
    """
    environment = user_environment()
    root = environment['CINDER_TIERS_LAB']

    def run(*argv):
        done = commands.run(argv, environment=environment, timeout_s=300)
        if done.returncode:
            raise AssertionError(f'{argv}: {done.stdout}\n{done.stderr}')
        return done.stdout

    def forget(backend):
        """Remove the service of a backend that Cinder no longer has."""
        run(
            f'{root}/venv/bin/cinder-manage',
            *('--config-file', f'{root}/etc/cinder.conf'),
            *('service', 'remove', 'cinder-volume', f'{ADMIN}@{backend}'),
        )

    sections = run(
        *('openstack', 'tier', 'backend-config', '--driver', 'tiered'),
        *(('--catalog', catalog) if catalog else ()),
    )
    (names,) = re.findall('^enabled_backends = (.*)$', sections, re.M)
    for name in names.split(','):
        test_class.addClassCleanup(forget, name)
    change_cinder_for_class(
        test_class, settings + sections, 'cinder-volume', *services
    )
    # Else the scheduler would choose them for a minute.
    for pool in POOLS:
        forget(pool)
    connection = connect(environment, ADMIN)
    test_class.addClassCleanup(connection.close)
    deadline = time.monotonic() + 180
    while any(
        f'{ADMIN}@{pool}#' in one.name
        for one in connection.block_storage.backend_pools()
        for pool in POOLS
    ):
        if time.monotonic() > deadline:
            raise AssertionError('the scheduler still knows old backends')
        time.sleep(0.5)


def started_at(pid):
    """When a process began, in ticks since the boot; None if it has ended.

    It tells a process from a later one that was given the same pid.
    """
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # proc(5): the state is field 3, the time is field 22.
    fields = stat.rpartition(')')[2].split()
    return None if fields[0] in 'ZX' else int(fields[19])


def kill(pid, number):
    """Send a signal to a process of the lab, if it is still there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
