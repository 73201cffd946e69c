# SPDX-License-Identifier: Apache-2.0
"""Tiers on a second Ceph cluster, one of them on FileStore where there is one.

The second cluster has a pool of a name that the first has, too, and a device
class of the same name, so that nothing can be taken from the wrong one.
"""

import copy
import dataclasses
import json
import os
import pathlib
import signal
import tempfile
import time

import yaml

from tests.functional import commands
from tests.functional import lab
from tests.functional import volumes

#: Pools of the second cluster; "tier-database" is in the first as well.
FLASH_POOL = 'tier-database'
JOURNALED_POOL = 'tier-journaled'
TIERS = {
    'flash-second': {
        'tags': ['flash-second'],
        'priority': 91,
        'rbd': {
            'cluster': 'second',
            'pool': FLASH_POOL,
            'device_class': 'ssd',
            'failure_domain': 'host',
            'pg_num': 8,
            'replicated': {'size': 1, 'single_copy': True},
            'osd_options': {'osd_max_scrubs': 2},
        },
    },
    'journaled': {
        'tags': ['journaled'],
        'priority': 92,
        'rbd': {
            'cluster': 'second',
            'pool': JOURNALED_POOL,
            'device_class': 'journaled',
            'failure_domain': 'host',
            'pg_num': 8,
            'replicated': {'size': 1, 'single_copy': True},
        },
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Option:
    """An option of OSDs, with values."""

    name: str
    default: str
    #: What the tier has, and what somebody else sets.
    wanted: str
    theirs: str


#: What is tried with an object store; Ceph 18 and later make no FileStore.
OPTIONS = {
    'filestore': Option(
        name='filestore_queue_max_ops', default='50', wanted='40', theirs='30'
    ),
    'bluestore': Option(
        name='osd_recovery_priority', default='5', wanted='6', theirs='4'
    ),
}
LAST_WITH_FILESTORE = 17


def run(environment, *argv, expect=0):
    """The standard output of a command of the lab's user."""
    done = commands.run(argv, environment=environment, timeout_s=300)
    if done.returncode != expect:
        raise AssertionError(
            f'{" ".join(argv)} ended with {done.returncode}, expected '
            f'{expect}:\n{done.stdout}\n{done.stderr}'
        )
    return done.stdout


def start_second_cluster(environment, add_cleanup):
    """Have a second cluster until the cleanup.

    :param environment: of a user of the lab.
    :returns: {key: value} of the cluster for a catalog.
    """
    folder = pathlib.Path(environment['CINDER_TIERS_LAB']) / 'ceph-second'
    if folder.exists():  # with data that is not ours to remove
        raise AssertionError(
            f'{folder} is there, expected no second cluster; '
            'run devstack/lab.sh second-ceph destroy'
        )
    add_cleanup(run, environment, lab.LAB_SH, 'second-ceph', 'destroy')
    told = run(environment, lab.LAB_SH, 'second-ceph', 'up')
    entry = yaml.safe_load(told[told.index('clusters:') :])
    return entry['clusters']['second']


class SecondClusterTest(volumes.VolumesTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        environment = lab.user_environment()
        cls.cluster = start_second_cluster(environment, cls.addClassCleanup)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        content = yaml.safe_load(
            pathlib.Path(environment['CINDER_TIERS_CATALOG']).read_text()
        )
        asked = ('ceph', '-c', cls.cluster['conf'], '-f', 'json')
        cls.store = json.loads(
            run(environment, *asked, 'osd', 'metadata', '1')
        )['osd_objectstore']
        cls.release = json.loads(run(environment, *asked, 'mon', 'dump'))[
            'min_mon_release'
        ]
        cls.option = OPTIONS[cls.store]
        tiers = copy.deepcopy(TIERS)
        tiers['journaled']['rbd']['osd_options'] = {
            cls.option.name: int(cls.option.wanted)
        }
        content['clusters']['second'] = cls.cluster
        content['tiers'].update(tiers)
        catalog = pathlib.Path(folder.name) / 'tiers.yaml'
        catalog.write_text(yaml.safe_dump(content, sort_keys=False))
        cls.catalog = str(catalog)
        cls.planned = json.loads(
            run(
                environment,
                'openstack',
                'tier',
                'plan',
                '--catalog',
                cls.catalog,
                '-f',
                'json',
                expect=4,
            )
        )
        cls.addClassCleanup(
            run, environment, 'openstack', 'volume', 'type', 'delete', *TIERS
        )
        run(
            environment, 'openstack', 'tier', 'apply', '--catalog', cls.catalog
        )
        root = environment['CINDER_TIERS_LAB']
        for name in TIERS:
            # Cinder remembers backends that it no longer has.
            cls.addClassCleanup(
                run,
                environment,
                f'{root}/venv/bin/cinder-manage',
                '--config-file',
                f'{root}/etc/cinder.conf',
                'service',
                'remove',
                'cinder-volume',
                f'cinder-tiers-lab@tier-{name}',
            )
        cls.sections = run(
            environment,
            'openstack',
            'tier',
            'backend-config',
            '--catalog',
            cls.catalog,
        )
        lab.change_cinder_for_class(cls, cls.sections, 'cinder-volume')
        lab.wait_until_tiers_are_known()

    def setUp(self):
        super().setUp()
        self.second = ('-c', self.cluster['conf'])

    def ceph(self, *words):
        """Ask the second cluster for JSON."""
        return json.loads(
            self.run_command('ceph', *self.second, *words, '-f', 'json')[0]
        )

    def images_in_second(self, pool):
        return self.run_command('rbd', *self.second, 'ls', pool)[0].split()

    def in_use(self, osd, option, *cluster):
        """What a running OSD says of an option."""
        return json.loads(
            self.run_command(
                'ceph', *cluster, 'tell', osd, 'config', 'get', option
            )[0]
        )[option]

    def audited(self, expect=0):
        """{(tier, aspect): row} of tiers there, without warnings."""
        rows = self.ask(
            'openstack',
            'tier',
            'audit',
            '--catalog',
            self.catalog,
            expect=expect,
        )
        return {
            (row['Object'].removeprefix('tier '), row['Aspect']): row
            for row in rows
            if row['Object'].removeprefix('tier ') in TIERS
            and row['State'] != 'warning'
        }

    def assert_all_is_well(self):
        self.assertEqual(
            {(name, 'all'): 'compliant' for name in TIERS},
            {key: row['State'] for key, row in self.audited().items()},
        )
        self.assertEqual(
            [],
            self.ask('openstack', 'tier', 'plan', '--catalog', self.catalog),
        )

    def test_the_plan_was_for_the_second_cluster_and_is_done(self):
        objects = {(row['Action'], row['Object']) for row in self.planned}
        user = self.cluster['cinder_user']
        self.assertEqual(
            {
                ('create', f'crush rule {pool} (second)')
                for pool in (FLASH_POOL, JOURNALED_POOL)
            }
            | {
                ('create', f'pool {pool} (second)')
                for pool in (FLASH_POOL, JOURNALED_POOL)
            }
            | {
                ('update', f'osd options {name} (second)')
                for name in ('ssd', 'journaled')
            }
            | {('update', f'cephx user client.{user} (second)')}
            | {('create', f'volume type {name}') for name in TIERS},
            objects,
        )
        self.assert_all_is_well()
        self.assertEqual(
            {FLASH_POOL, JOURNALED_POOL},
            {
                pool['pool_name']
                for pool in self.ceph('osd', 'pool', 'ls', 'detail')
                if 'rbd' in pool['application_metadata']
            },
        )

    def test_a_class_of_one_cluster_is_not_that_of_the_other(self):
        self.assertEqual(
            '2', self.in_use('osd.0', 'osd_max_scrubs', *self.second)
        )
        # Ceph 16 and later ones have different defaults.
        self.assertNotEqual('2', self.in_use('osd.0', 'osd_max_scrubs'))

    def test_an_option_of_its_store_is_in_effect_and_watched(self):
        option = self.option
        self.addCleanup(self.tell_class, option.wanted)
        self.assertEqual(
            'filestore'
            if self.release <= LAST_WITH_FILESTORE
            else 'bluestore',
            self.store,
        )
        self.assertEqual(option.wanted, self.in_second('osd.1'))
        self.assertEqual(option.default, self.in_second('osd.0'))
        self.tell_class(option.theirs)
        self.wait_while(lambda: self.in_second('osd.1') != option.theirs, 30)
        found = self.audited(expect=4)
        row = found['journaled', 'osd options']
        self.assertEqual(
            (
                'non-compliant',
                {f'values.{option.name}': option.theirs},
                {f'values.{option.name}': option.wanted},
            ),
            (row['State'], row['Current'], row['Expected']),
        )
        self.assertEqual('compliant', found['flash-second', 'all']['State'])
        self.run_command(
            'openstack', 'tier', 'apply', '--catalog', self.catalog
        )
        self.assertEqual(option.wanted, self.in_second('osd.1'))
        self.assert_all_is_well()

    def in_second(self, osd):
        """The option as an OSD of the second cluster has it."""
        return str(self.in_use(osd, self.option.name, *self.second))

    def tell_class(self, value):
        self.run_command(
            'ceph',
            *self.second,
            'config',
            'set',
            'osd/class:journaled',
            self.option.name,
            value,
        )

    def test_a_guest_boots_from_a_volume_in_the_second_cluster(self):
        image = self.guest_image('journaled')
        volume = self.make_volume(imageRef=image)
        self.assertEqual(
            ('available', 'journaled'), (volume.status, volume.volume_type)
        )
        name = f'volume-{volume.id}'
        self.assertIn(name, self.images_in_second(JOURNALED_POOL))
        self.assertEqual([], lab.holders(self.environment)[volume.id])
        server = self.boot([volume.id])
        nova = self.member.compute
        nova.wait_for_server(server)
        self.wait_while(
            lambda: (
                'guest ready'
                not in nova.get_server_console_output(server)['output']
            ),
            60,
        )
        status = json.loads(
            self.run_command(
                'rbd',
                *self.second,
                'status',
                f'{JOURNALED_POOL}/{name}',
                '--format',
                'json',
            )[0]
        )
        self.assertEqual(1, len(status['watchers']))

    def guest_image(self, tag):
        """Make an image of a guest with a tag; return its id."""
        image = self.member.image.create_image(
            name=self.unique_name('image'),
            disk_format='raw',
            container_format='bare',
            tags=[tag],
            hw_disk_bus='virtio',
            filename=str(self.root / 'cache' / 'guest.raw'),
        )
        self.addCleanup(self.member.image.delete_image, image.id)
        return image.id

    def test_a_pool_of_the_same_name_in_the_first_cluster_stays_empty(self):
        volume = self.make_volume(imageRef=self.make_image('flash-second'))
        self.assertEqual(
            ('available', 'flash-second'), (volume.status, volume.volume_type)
        )
        self.assertIn(f'volume-{volume.id}', self.images_in_second(FLASH_POOL))
        self.assertEqual([], lab.holders(self.environment)[volume.id])

    def test_a_volume_moves_to_the_first_cluster_with_its_type(self):
        volume = self.make_volume(imageRef=self.make_image('journaled'))
        self.retype(volume.id, 'database')
        self.assertEqual(
            ('available', 'database', 'tier-database'),
            self.place_of(volume.id),
        )
        self.assertNotIn(
            f'volume-{volume.id}', self.images_in_second(JOURNALED_POOL)
        )

    def test_it_is_not_removed_under_cinder(self):
        _, errors = self.lab_sh('second-ceph', 'destroy', expect=1)
        self.assertIn('functional-test.conf: names backends', errors)
        self.assertEqual([0, 1], self.ceph('osd', 'ls'))


class SecondClusterOfTheLabTest(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.before = set(self.services())
        start_second_cluster(self.environment, self.addCleanup)

    def daemons(self):
        return {
            name: row
            for name, row in self.services().items()
            if name not in self.before
        }

    def of_second(self, *argv):
        """Lines of a command's answer that name the cluster's folder."""
        return [
            line
            for line in self.run_command(*argv)[0].splitlines()
            if str(self.root / 'ceph-second') in line
        ]

    def test_the_loss_of_its_daemons_at_once_is_mended(self):
        before = self.daemons()
        self.assertEqual(
            {
                f'ceph-second-{daemon}'
                for daemon in ('mon.a', 'mgr.x', 'osd.0', 'osd.1')
            },
            set(before),
        )
        supervisor = int((self.root / 'run' / 'supervisord.pid').read_text())
        os.kill(supervisor, signal.SIGSTOP)
        try:
            for row in before.values():
                lab.kill(row['pid'], signal.SIGKILL)
        finally:
            os.kill(supervisor, signal.SIGCONT)
        self.lab_sh('up')
        after = self.daemons()
        self.assertEqual(
            {'RUNNING'}, {row['state'] for row in after.values()}, after
        )
        for name, row in before.items():
            self.assertNotEqual(row['pid'], after[name]['pid'], name)
        self.run_command(
            'timeout',
            '30',
            'rados',
            '-c',
            str(self.root / 'ceph-second' / 'ceph.conf'),
            'lspools',
        )

    def test_nothing_of_it_is_left(self):
        self.assertEqual(2, len(self.of_second('losetup', '--list')))
        self.lab_sh('second-ceph', 'destroy')
        self.assertEqual(self.before, set(self.services()))
        deadline = time.monotonic() + 120
        while (
            self.of_second('losetup', '--list') and time.monotonic() < deadline
        ):
            time.sleep(0.1)
        self.assertEqual([], self.of_second('losetup', '--list'))
        self.assertEqual([], self.of_second('findmnt', '--list'))
        self.assertEqual([], list(self.root.glob('ceph-second*')))
        self.assertNotIn(
            'cinder-second', self.run_command('virsh', 'secret-list')[0]
        )
        self.assertEqual([], list(self.root.glob('ceph/*cinder-second*')))
        output, _ = self.lab_sh('second-ceph', 'destroy')
        self.assertIn('no second cluster is there', output)
