# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair --shelve` with guests, also killed at many moments.

Cinder's volumes are of the driver for several tiers meanwhile.
"""

import re
import time

from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import repair
from tests.functional import commands
from tests.functional import lab
from tests.functional import repairs

#: Of each disk it tells what the boot before wrote, and writes something else.
_SCRIPT = """#!/bin/sh
for device in "$(cat /etc/cinder-tiers/scratch-device)" /dev/vdb; do
    echo "@found $(head -c 64 $device | tr -d '\\0')@"
    content=$(head -c 32 /dev/urandom | md5sum | cut -c 1-32)
    echo "$content" | dd of=$device bs=512 conv=sync,fsync 2> /dev/null
    echo "@wrote $content@"
done
sync
echo @ended
"""
_BOOT_S = 600
#: Seconds after the command says that it shelves a server.
KILLS_S = (0.0, 2.0, 4.0, 7.0, 10.0, 14.0, 20.0, 30.0)
_KILLED = -9
TIERS = ('database', 'general')


class ShelvedServersTest(repairs.RepairCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lab.use_tiered_driver_for_class(cls)

    def setUp(self):
        super().setUp()
        self.path.write_text(
            (lab.REPOSITORY / 'etc/cinder-tiers/tiers.yaml').read_text()
        )

    def boot_of_databases(self, script='#!/bin/sh\n'):
        """A server with two volumes of databases: its id, and theirs."""
        made = [
            self.make_volume(volume_type=TIERS[0], **options).id
            for options in (
                {'imageRef': self.image_of_lab('cinder-tiers-guest')},
                {},
            )
        ]
        server = self.boot(made, script)
        self.member.compute.wait_for_server(server, wait=_BOOT_S)
        return server.id, made

    def said(self, server):
        """(what a guest found, what it wrote) on each of its disks."""
        console = self.root / 'instances' / server / 'console.log'
        self.wait_while(
            lambda: (
                not (
                    console.exists()
                    and '@ended' in console.read_text(errors='replace')
                )
            ),
            _BOOT_S,
        )
        text = console.read_text(errors='replace')
        return tuple(
            re.findall(f'@{word} (.*)@', text) for word in ('found', 'wrote')
        )

    def advise(self, volumes, before, after):
        """Path of a recommendation to move volumes to another tier."""
        path = self.path.with_name(f'{before}-{after}')
        if not path.exists():
            order_file.write(
                str(path),
                order.Orders(
                    origin=order.Origin.RECOMMENDATION,
                    steps=tuple(
                        order.Order(
                            volume=one,
                            kind=repair.RepairKind.RECOMMENDATION,
                            tier=before,
                            to_tier=after,
                            reason='it does little',
                        )
                        for one in volumes
                    ),
                ),
            )
        return str(path)

    def repaired(self, *options):
        return {
            row['Volume']: row['Outcome']
            for row in self.tier(
                'repair', *options, '--shelve', '--yes', expect=0
            )
        }

    def assert_at_rest(self, server, volumes, tier, status):
        """Each is what it was, in the pool of a tier, and nowhere else."""
        found = self.admin.compute.get_server(server)
        self.assertEqual(
            (status, None, False),
            (found.status, found.task_state, found.is_locked),
        )
        for one in volumes:
            self.assertEqual(
                ('in-use', tier, f'tier-{tier}'), self.place_of(one)
            )
            self.assertEqual(
                ['attached'],
                [
                    made.status
                    for made in self.cinder.attachments.list(
                        search_opts={'volume_id': one, 'all_tenants': True}
                    )
                ],
            )

    def test_a_guest_boots_from_another_tier_with_its_data(self):
        server, volumes = self.boot_of_databases(_SCRIPT)
        snapshot = self.make_snapshot_of_attached(volumes[0])
        _, wrote = self.said(server)
        self.assertEqual(2, len(wrote))
        record = str(self.path.with_name('record'))
        advice = self.advise(volumes, *TIERS)
        refused = self.tier('repair', advice, expect=5)
        self.assertEqual({'refused'}, {row['Outcome'] for row in refused})
        self.assertIn('--shelve', refused[0]['Reason'])
        self.assertEqual(
            dict.fromkeys(volumes, 'done'),
            self.repaired(advice, '--record', record),
        )
        found, now = self.said(server)
        self.assertEqual(wrote, found)
        self.assert_at_rest(server, volumes, TIERS[1], 'ACTIVE')
        self.assertEqual(
            dict.fromkeys(volumes, 'done'), self.repaired('--undo', record)
        )
        self.assertEqual(now, self.said(server)[0])
        self.assert_at_rest(server, volumes, TIERS[0], 'ACTIVE')
        self.assertEqual(
            'available', self.cinder.volume_snapshots.get(snapshot).status
        )

    def make_snapshot_of_attached(self, volume):
        made = self.cinder_of_member.volume_snapshots.create(
            volume, force=True
        )
        self.addCleanup(self.remove, self.cinder.volume_snapshots, made.id)
        self.wait_while(
            lambda: (
                self.cinder.volume_snapshots.get(made.id).status == 'creating'
            )
        )
        return made.id

    def test_the_next_repair_finishes_what_a_kill_left(self):
        server, volumes = self.boot_of_databases()
        self.admin.compute.stop_server(server)
        self.wait_while(lambda: self.status_of(server) != 'SHUTOFF', _BOOT_S)
        sums = [self.sum_of(TIERS[0], one) for one in volumes]
        before, after = TIERS
        for seconds in KILLS_S:
            advice = self.advise(volumes, before, after)
            self.repair_until_killed(advice, seconds)
            self.repaired(advice)
            self.assert_at_rest(server, volumes, after, 'SHUTOFF')
            self.assertEqual(
                sums, [self.sum_of(after, one) for one in volumes]
            )
            before, after = after, before

    def status_of(self, server):
        return self.admin.compute.get_server(server).status

    def repair_until_killed(self, advice, seconds):
        """Kill it so many seconds after it said that it shelves a server."""
        with commands.started(
            (
                *('openstack', 'tier', 'repair', '--catalog', str(self.path)),
                *(advice, '--shelve', '--yes'),
            ),
            environment=self.environment,
        ) as command:
            line = command.stderr.readline()
            while line and 'is shelved for' not in line:
                line = command.stderr.readline()
            time.sleep(seconds)
            command.kill()
        self.assertIn(command.returncode, (0, _KILLED), line)
        self.assertIn('is shelved for 2 volumes', line)
