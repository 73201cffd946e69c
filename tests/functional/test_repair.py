# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair` puts volumes right that exist."""

import json
import os
import re
import subprocess

from tests.functional import commands
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

    def test_a_person_answers_at_a_terminal(self):
        self.apply_limit(repairs.LIMIT)
        volume = self.make_volume(volume_type='database').id
        self.apply_limit(repairs.RAISED)
        for answer, status, limit in (
            ('n', 1, repairs.LIMIT),
            ('y', 0, repairs.RAISED),
        ):
            shown, ended = self.answer(answer)
            self.assertEqual(status, ended, shown)
            self.assertIn(
                'Repair 1 volume, moving at most 0 GiB? [y/N]', shown
            )
            self.assertIn(f'volume {volume} of tier database', shown)
            self.assertEqual(
                str(limit), self.limits_of(volume)['iops_limit'], shown
            )
        self.assertEqual(set(), self.out_of_date(expect=0))

    def answer(self, text):
        """What a terminal shows of a repair, with an answer; its status."""
        terminal, theirs = os.openpty()
        self.addCleanup(os.close, terminal)
        with subprocess.Popen(
            ('openstack', 'tier', 'repair', '--catalog', str(self.path)),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=self.environment,
        ) as running:
            os.close(theirs)
            shown = b''
            while b'[y/N]' not in shown:
                shown += os.read(terminal, 1000)
            os.write(terminal, f'{text}\n'.encode())
            while True:
                try:
                    found = os.read(terminal, 1000)
                except OSError:  # the other end is closed
                    break
                shown += found
        return ' '.join(shown.decode().split()), running.returncode

    def test_what_was_looked_at_is_done_and_taken_back(self):
        self.apply_limit(repairs.LIMIT)
        stays, changed = (
            self.make_volume(volume_type='database').id for _ in range(2)
        )
        before = self.limits_of(stays)
        self.apply_limit(repairs.RAISED)
        plan, record = (str(self.path.with_name(one)) for one in 'pr')
        self.tier('repair', '--out', plan, expect=4)
        new = self.make_volume(volume_type='database').id
        self.run_command(
            *('rbd', 'config', 'image', 'set'),
            *(f'{repairs.POOL}/volume-{changed}', 'rbd_qos_iops_limit', '7'),
        )
        rows = {
            row['Volume']: row
            for row in self.tier('repair', plan, '--record', record, expect=5)
        }
        self.assertEqual({stays, changed}, set(rows))
        self.assertEqual('done', rows[stays]['Outcome'])
        self.assertEqual('refused', rows[changed]['Outcome'])
        self.assertIn('since the plan was made', rows[changed]['Reason'])
        self.assertEqual('7', self.limits_of(changed)['iops_limit'])
        self.assertEqual(
            str(repairs.RAISED), self.limits_of(stays)['iops_limit']
        )
        # Cinder gave it the new limits, with the burst of another one.
        self.assertIn(new, self.out_of_date(expect=4))
        (row,) = self.tier('repair', '--undo', record, '--yes', expect=0)
        self.assertEqual((stays, 'done'), (row['Volume'], row['Outcome']))
        self.assertEqual(before, self.limits_of(stays))
        (row,) = self.tier('repair', '--undo', record, '--yes', expect=5)
        self.assertIn('since the repair, ', row['Reason'])

    def test_a_clone_is_flattened_by_the_manager(self):
        self.apply_limit(repairs.LIMIT)
        image = self.make_image('database')
        clone, other = (
            self.make_volume(volume_type='image-tier', imageRef=image).id
            for _ in range(2)
        )
        self.assertIsNotNone(self.parent_of(clone))
        (row,) = self.tier(
            *('repair', '--kind', 'residency', '--volume', clone, '--yes'),
            expect=0,
        )
        self.assertEqual(('residency', 'done'), (row['Kind'], row['Outcome']))
        self.assertIsNone(self.parent_of(clone))
        self.assertIsNotNone(self.parent_of(other))
        self.assertNotIn(
            clone,
            {row['Volume'] for row in self.repairs_of_residency()},
        )
        self.assertIn(
            other,
            {row['Volume'] for row in self.repairs_of_residency()},
        )

    def repairs_of_residency(self):
        return self.tier('repair', '--kind', 'residency', expect=4)

    def parent_of(self, volume):
        """The image that a volume of databases is a clone of; None: none."""
        found, _ = self.run_command(
            *('rbd', 'info', '--format', 'json'),
            f'{repairs.POOL}/volume-{volume}',
        )
        return json.loads(found).get('parent')

    def begin_and_kill(self):
        """Kill a repair after its first volume; ids of those it reported."""
        with commands.started(
            (
                *('openstack', 'tier', 'repair', '--yes'),
                *('--concurrency', '1', '--catalog', str(self.path)),
            ),
            environment=self.environment,
        ) as running:
            done = [running.stderr.readline()]
            running.kill()
            done += running.stderr.readlines()
        return re.findall('volume ([0-9a-f-]{36}).*: done', ''.join(done))
