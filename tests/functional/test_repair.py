# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair` puts volumes right that exist."""

import re
import signal
import subprocess

from tests.functional import repairs


class RepairTest(repairs.RepairCase):
    def test_limits_follow_their_type_after_a_kill_too(self):
        self.apply_limit(repairs.LIMIT)
        made = [self.make_volume(volume_type='database').id for _ in range(6)]
        # Cinder gives a volume the burst of operations as one of bytes.
        self.assertEqual(
            {
                'iops_limit': str(repairs.LIMIT),
                'bps_burst': str(2 * repairs.LIMIT),
            },
            self.limits_of(made[0]),
        )
        self.apply_limit(repairs.RAISED)
        self.assertEqual(set(made), self.out_of_date(expect=4))
        # Nobody is there to ask.
        planned = self.tier('repair', expect=4)
        self.assertEqual(
            {(one, 'limits', 'planned') for one in made},
            {(row['Volume'], row['Kind'], row['Outcome']) for row in planned},
        )
        self.assertEqual(set(made), self.out_of_date(expect=4))
        done = self.begin_and_kill()
        left = self.out_of_date(expect=4)
        self.assertTrue(left < set(made), left)
        self.assertLessEqual(set(made) - left, set(made))
        self.assertLessEqual(len(done), len(made) - len(left))
        self.assertEqual(
            left,
            {
                row['Volume']
                for row in self.tier('repair', '--yes', expect=0)
                if row['Outcome'] == 'done'
            },
        )
        self.assertEqual(set(), self.out_of_date(expect=0))
        for one in made:
            self.assertEqual(
                {
                    'iops_limit': str(repairs.RAISED),
                    'iops_burst': str(2 * repairs.RAISED),
                },
                self.limits_of(one),
            )
        self.assertEqual([], self.tier('repair', expect=0))

    def begin_and_kill(self):
        """Kill a repair after its first volume; ids of those it reported."""
        with subprocess.Popen(
            (
                *('openstack', 'tier', 'repair', '--yes'),
                *('--concurrency', '1', '--catalog', str(self.path)),
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        ) as running:
            done = [running.stderr.readline()]
            running.send_signal(signal.SIGKILL)
            done += running.stderr.readlines()
        return re.findall('volume ([0-9a-f-]{36}).*: done', ''.join(done))
