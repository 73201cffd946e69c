# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair` puts volumes right that exist."""

import json
import pathlib
import re
import signal
import subprocess
import time

import fixtures
import yaml

from tests.functional import volumes

POOL = 'tier-database'
QOS_SPEC = 'qos spec tier-database'
#: Of writes one after another; the disks of the lab do more.
LIMIT, RAISED = 100, 200


class RepairTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.original = self.environment['CINDER_TIERS_CATALOG']
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'x')
        self.addCleanup(
            self.run_command,
            *('openstack', 'tier', 'apply', '--yes'),
            *('--catalog', self.original, '--allow', QOS_SPEC),
        )

    def apply_limit(self, iops):
        """Apply a limit, and a burst, to the tier of databases."""
        content = yaml.safe_load(pathlib.Path(self.original).read_text())
        content['tiers']['database']['qos'] = {
            'back_end': {
                'total_iops_sec': iops,
                'total_iops_sec_max': 2 * iops,
            }
        }
        self.path.write_text(yaml.safe_dump(content, sort_keys=False))
        self.run_command(
            *('openstack', 'tier', 'apply', '--yes'),
            *('--catalog', str(self.path)),
        )

    def tier(self, command, *options, expect):
        """Rows of a command with the tiers file."""
        return self.ask(
            *('openstack', 'tier', command, '--catalog', str(self.path)),
            *options,
            expect=expect,
        )

    def limits_of(self, volume):
        found, _ = self.run_command(
            *('rbd', 'config', 'image', 'list', '--format', 'json'),
            f'{POOL}/volume-{volume}',
        )
        return {
            one['name'].removeprefix('rbd_qos_'): one['value']
            for one in json.loads(found)
            if one['source'] == 'image' and 'qos' in one['name']
        }

    def out_of_date(self, *, expect):
        """Ids of volumes that the audit names for their limits."""
        return {
            row['Object'].removeprefix('volume ')
            for row in self.tier(
                *('audit', '--volumes', '--limits', '--tier', 'database'),
                expect=expect,
            )
            if row['Aspect'] == 'limits'
            and row['Object'].startswith('volume ')
        }

    def test_limits_follow_their_type_after_a_kill_too(self):
        self.apply_limit(LIMIT)
        made = [self.make_volume(volume_type='database').id for _ in range(6)]
        # Cinder gives a volume the burst of operations as one of bytes.
        self.assertEqual(
            {'iops_limit': str(LIMIT), 'bps_burst': str(2 * LIMIT)},
            self.limits_of(made[0]),
        )
        self.apply_limit(RAISED)
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
                {'iops_limit': str(RAISED), 'iops_burst': str(2 * RAISED)},
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

    def test_a_client_feels_a_changed_limit_at_once(self):
        self.apply_limit(LIMIT)
        volume = self.make_volume(volume_type='database').id
        self.tier('repair', '--yes', expect=0)
        with subprocess.Popen(
            (
                *('rbd', 'bench', '--io-type', 'write', '--io-size', '4096'),
                *('--io-threads', '8', '--io-total', '1G'),
                f'{POOL}/volume-{volume}',
            ),
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        ) as bench:
            self.addCleanup(bench.kill)
            before = self.rate(bench, 8)
            self.apply_limit(LIMIT // 2)
            (row,) = self.tier('repair', '--yes', expect=0)
            self.assertEqual('done', row['Outcome'])
            after = self.rate(bench, 12)
            bench.kill()
        # Of the tick of librbd's token buckets, and of the seconds of bench.
        self.assertLess(after, 0.75 * before)

    def rate(self, bench, seconds):
        """Operations in a second, of the last ones that bench prints."""
        counts = []
        deadline = time.monotonic() + seconds
        for line in bench.stdout:
            found = re.match(r'\s*(\d+)\s+(\d+)', line)
            if found:
                counts.append(tuple(map(int, found.groups())))
            if time.monotonic() > deadline:
                break
        (begin, first), (end, last) = counts[-5], counts[-1]
        return (last - first) / (end - begin)

    def test_a_volume_is_where_its_image_says_and_one_with_snapshots_stays(
        self,
    ):
        self.apply_limit(LIMIT)
        tag = 'database'
        image = self.make_image(tag)
        stays, moves = (
            self.make_volume(volume_type='image-tier', imageRef=image).id
            for _ in range(2)
        )
        self.make_snapshot(stays)
        self.member.image.update_image(image, tags=[])
        self.assertEqual(
            [],
            [
                row
                for row in self.tier('repair', expect=4)
                if row['Kind'] != 'limits'
            ],
        )
        rows = {
            row['Volume']: row
            for row in self.tier(
                'repair', '--kind', 'image', '--yes', expect=5
            )
        }
        self.assertEqual('done', rows[moves]['Outcome'])
        self.assertEqual('refused', rows[stays]['Outcome'])
        self.assertIn('snapshots', rows[stays]['Reason'])
        self.assertEqual(
            ('available', 'general', 'tier-general'), self.place_of(moves)
        )
        self.assertEqual(
            ('available', 'database', 'tier-database'), self.place_of(stays)
        )
