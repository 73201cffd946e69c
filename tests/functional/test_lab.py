# SPDX-License-Identifier: Apache-2.0
"""The lab itself: what it refuses, and what it restarts."""

import json
import os
import pathlib
import subprocess
import tempfile

import fixtures

from tests.functional import lab


class RefusalTest(lab.LabTestCase):
    def new_root(self):
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name) / 'lab'
        # If it is not refused, a whole lab is there.
        self.addCleanup(self.lab_sh, 'destroy', CINDER_TIERS_LAB=str(root))
        return root

    def test_ports_that_are_taken_are_all_named(self):
        root = self.new_root()
        offset = json.loads((self.root / 'lab.json').read_text())[
            'port_offset'
        ]
        _, errors = self.lab_sh(
            'up',
            expect=1,
            CINDER_TIERS_LAB=str(root),
            CINDER_TIERS_LAB_PORT_OFFSET=str(offset),
        )
        for service in ('keystone', 'cinder', 'ceph-mon-v2', 'rabbitmq'):
            self.assertIn(f'of {service} is taken', errors)
        self.assertIn('nothing was changed', errors)
        self.assertFalse(root.exists())

    def test_another_user_than_root_is_refused(self):
        done = subprocess.run(
            [
                'setpriv',
                '--reuid=65534',
                '--regid=65534',
                '--clear-groups',
                'bash',
                lab.LAB_SH,
                'up',
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn('user id is 65534, expected 0', done.stderr)

    def test_another_distribution_is_refused(self):
        release = self.new_root().parent / 'os-release'
        release.write_text('ID=fedora\nVERSION_ID="44"\n')
        done = subprocess.run(
            [
                'unshare',
                '--mount',
                '--propagation',
                'private',
                'sh',
                '-c',
                'mount --bind "$1" "$(readlink -f /etc/os-release)" && '
                'exec "$2" up',
                'sh',
                str(release),
                lab.LAB_SH,
            ],
            capture_output=True,
            text=True,
            env=self.environment,
        )
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(
            'this is fedora 44, expected debian bookworm', done.stderr
        )

    def test_commands_without_a_lab_say_how_to_start_one(self):
        for command in ('status', 'down', 'logs', 'openrc'):
            _, errors = self.lab_sh(
                command, expect=1, CINDER_TIERS_LAB=str(self.new_root())
            )
            self.assertIn('no lab is there', errors)

    def test_a_log_that_is_not_there_is_said_with_those_that_are(self):
        _, errors = self.lab_sh('logs', 'nova-computer', expect=1)
        self.assertIn('nova-compute,', errors)


class WorkingLabTestCase(lab.LabTestCase):
    """Knows when the lab works, and what of it was restarted."""

    def assert_works(self):
        services = self.services()
        self.assertEqual(
            {'RUNNING'}, {row['state'] for row in services.values()}, services
        )
        # Nova disables a host whose libvirtd was gone, and says no more.
        self.assertEqual(
            {('nova-compute', 'up', 'enabled')},
            {
                (row['Binary'], row['State'], row['Status'])
                for row in self.ask(
                    'openstack',
                    'compute',
                    'service',
                    'list',
                    '--service',
                    'nova-compute',
                )
            },
        )
        volume = self.create_volume('--image', 'cinder-tiers-guest-database')
        self.assertEqual('tier-database', self.pool_of(volume))
        return services

    def pids(self):
        return {name: row['pid'] for name, row in self.services().items()}


class RestartTest(WorkingLabTestCase):
    def test_up_again_changes_nothing(self):
        before = self.pids()
        self.lab_sh('up')
        self.assertEqual(before, self.pids())

    def test_each_process_is_found_when_its_supervisor_is_gone(self):
        # By its environment, which a program may write its title over.
        daemon = int((self.root / 'run' / 'supervisord.pid').read_text())
        mark = f'CINDER_TIERS_LAB_PROCESS={self.root}'.encode()
        unmarked, count = {}, 0
        for entry in pathlib.Path('/proc').iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                if os.getsid(int(entry.name)) != os.getsid(daemon):
                    continue
                environment = (entry / 'environ').read_bytes().split(b'\0')
                words = (entry / 'cmdline').read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            count += 1
            if mark not in environment:
                unmarked[entry.name] = words.replace(b'\0', b' ')
        self.assertEqual({}, unmarked)
        self.assertGreaterEqual(count, len(self.services()))

    def test_what_was_restarted_serves_the_next_request(self):
        names = ('cinder-scheduler', 'cinder-volume')
        before = self.pids()
        self.lab_sh('restart', *names)
        after = self.pids()
        self.assertEqual(
            set(names),
            {name for name, pid in after.items() if pid != before[name]},
        )
        self.assert_works()

    def test_a_restart_of_what_is_not_there_is_refused_with_what_is(self):
        before = self.pids()
        _, errors = self.lab_sh(
            'restart', 'cinder-api', 'cinder-backup', expect=1
        )
        self.assertIn('no service is called cinder-backup', errors)
        self.assertIn('cinder-volume', errors)
        self.assertEqual(before, self.pids())


class MemoryTest(lab.LabTestCase):
    def test_the_lab_without_guests_stays_far_below_its_limit(self):
        output, _ = self.lab_sh('status')
        total_gib = float(output.splitlines()[-1].split()[0])
        # 8 GiB are allowed with four guests of about 0.25 GiB each.
        self.assertLess(total_gib, 7.0)


class GuestImageTest(lab.LabTestCase):
    def image(self, name='cinder-tiers-guest-database'):
        """What a member sees of an image."""
        return self.ask('openstack', 'image', 'show', name, cloud=lab.MEMBER)

    def test_an_image_of_a_member_is_not_taken_for_the_kernel(self):
        """It may have the same name, and an administrator's list shows it."""
        before = self.image()['properties']
        kernel = self.image(before['kernel_id'])
        file = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'file'
        file.write_text('not a kernel')
        forged = []
        for hidden in ('--hidden', '--unhidden'):
            forged.append(
                self.ask(
                    'openstack',
                    'image',
                    'create',
                    '--file',
                    str(file),
                    '--disk-format',
                    kernel['disk_format'],
                    '--container-format',
                    kernel['container_format'],
                    kernel['name'],
                    cloud=lab.MEMBER,
                )['id']
            )
            self.addCleanup(
                self.run_command,
                'openstack',
                'image',
                'delete',
                forged[-1],
                cloud=lab.MEMBER,
            )
            self.run_command(
                'openstack',
                'image',
                'set',
                hidden,
                forged[-1],
                cloud=lab.MEMBER,
            )
        self.lab_sh('up')
        self.assertEqual(before, self.image()['properties'])
        # Nor was one deleted or hidden as one of the lab's own.
        for one in forged:
            self.assertEqual('active', self.image(one)['status'])

    def test_an_image_names_the_kernel_that_is_on_its_disk(self):
        """A member may start it, so that Nova needs no boot loader."""
        image = self.image()
        folder = self.useFixture(fixtures.TempDir()).path
        for name, key in (
            ('vmlinuz', 'kernel_id'),
            ('initramfs', 'ramdisk_id'),
        ):
            in_glance = pathlib.Path(folder) / key
            on_disk = pathlib.Path(folder) / name
            self.run_command(
                'openstack',
                'image',
                'save',
                '--file',
                str(in_glance),
                image['properties'][key],
                cloud=lab.MEMBER,
            )
            subprocess.run(
                [
                    '/sbin/debugfs',
                    '-R',
                    f'dump /{name} {on_disk}',
                    f'{self.root / "cache" / "guest.raw"}?offset=1048576',
                ],
                check=True,
            )
            self.assertEqual(on_disk.read_bytes(), in_glance.read_bytes())
            self.assertNotEqual(b'', on_disk.read_bytes())
