# SPDX-License-Identifier: Apache-2.0
"""What the lab survives, and how it says what it does not."""

import os
import signal
import time

from tests.functional import lab
from tests.functional import test_lab


class SurvivalTest(test_lab.WorkingLabTestCase):
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
