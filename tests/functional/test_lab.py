# SPDX-License-Identifier: Apache-2.0
"""The lab itself: what it refuses, what it survives, what it leaves."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

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
        self.assertIn('this is fedora 44, expected debian 12', done.stderr)

    def test_commands_without_a_lab_say_how_to_start_one(self):
        for command in ('status', 'down', 'logs', 'openrc'):
            _, errors = self.lab_sh(
                command, expect=1, CINDER_TIERS_LAB=str(self.new_root())
            )
            self.assertIn('no lab is there', errors)

    def test_a_log_that_is_not_there_is_said_with_those_that_are(self):
        _, errors = self.lab_sh('logs', 'nova-computer', expect=1)
        self.assertIn('nova-compute,', errors)


class SurvivalTest(lab.LabTestCase):
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

    def test_up_again_changes_nothing(self):
        before = self.pids()
        self.lab_sh('up')
        self.assertEqual(before, self.pids())

    def pids(self):
        return {name: row['pid'] for name, row in self.services().items()}

    def test_a_users_file_for_cinder_restarts_cinder_and_nothing_else(self):
        file = self.root / 'etc' / 'cinder.d' / 'functional-test.conf'
        before = self.pids()
        self.addCleanup(self.lab_sh, 'up')
        self.addCleanup(file.unlink)
        text = '[DEFAULT]\ndefault_volume_type = archive\n'
        file.write_text(text)
        self.lab_sh('up')
        after = self.pids()
        self.assertEqual(
            {'cinder-api', 'cinder-scheduler', 'cinder-volume'},
            {name for name, pid in after.items() if pid != before[name]},
        )
        self.assertEqual(text, file.read_text())
        (default,) = self.ask(
            'openstack', 'volume', 'type', 'list', '--default'
        )
        self.assertEqual('archive', default['Name'])

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

    def test_each_service_comes_back_after_kill_9(self):
        """Three at a time: what comes back is each, at a third of the time."""
        names = sorted(self.services())
        rounds = -(-len(names) // 3)
        for first in range(rounds):
            before = self.services()
            killed = names[first::rounds]
            for name in killed:
                lab.kill(before[name]['pid'], signal.SIGKILL)
            self.lab_sh('up')
            after = self.services()
            for name in killed:
                self.assertEqual('RUNNING', after[name]['state'], name)
                self.assertNotIn(
                    after[name]['pid'], (0, before[name]['pid']), name
                )
        self.assert_works()

    def test_the_loss_of_every_process_at_once_is_mended(self):
        before = self.services()
        born = {
            name: lab.started_at(row['pid']) for name, row in before.items()
        }
        daemon = int((self.root / 'run' / 'supervisord.pid').read_text())
        # supervisord first, so that it cannot restart what it sees die
        for pid in (daemon, *(row['pid'] for row in before.values())):
            lab.kill(pid, signal.SIGKILL)
        self.lab_sh('up')
        after = self.assert_works()
        for name, row in before.items():
            self.assertNotEqual(row['pid'], after[name]['pid'])
            self.assertNotEqual(born[name], lab.started_at(row['pid']), name)

    def test_status_tells_the_line_that_matters(self):
        conf = self.root / 'etc' / 'cinder.conf'
        text = conf.read_text()
        self.addCleanup(self.lab_sh, 'up')
        self.addCleanup(conf.write_text, text)
        conf.write_text(text.replace('TierFilter', 'NoSuchFilter'))
        os.kill(self.services()['cinder-scheduler']['pid'], signal.SIGKILL)
        deadline = time.monotonic() + 240
        row = {}
        while (
            row.get('state') not in ('FATAL', 'BACKOFF')
            and time.monotonic() < deadline
        ):
            time.sleep(1)
            row = self.services()['cinder-scheduler']
        self.assertIn(row['state'], ('FATAL', 'BACKOFF'))
        self.assertIn('NoSuchFilter', row['log_line'])


class MemoryTest(lab.LabTestCase):
    def test_the_lab_without_guests_stays_far_below_its_limit(self):
        output, _ = self.lab_sh('status')
        total_gib = float(output.splitlines()[-1].split()[0])
        # 8 GiB are allowed with four guests of about 0.25 GiB each.
        self.assertLess(total_gib, 7.0)
