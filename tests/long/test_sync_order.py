# SPDX-License-Identifier: Apache-2.0

"""Tiers are ordered by their syncs as the throttles of their disks order them.

A sync returns when all replicas have what was written before it. Writes are as
large as OSDs do not take into their journal on flash, so each costs each disk
of a tier on hard disks one I/O: disks that do fewer I/Os in a second make each
sync as much longer. Flash has no throttle.
"""

import json
import pathlib

from tests.functional import disk_iops
from tests.functional import start_watch
from tests.functional import test_measurement

#: I/Os in a second of each hard disk: those of the lab, and an eighth.
USUAL_IOPS = disk_iops.topology.HDD_SPEED.iops
SLOW_IOPS = USUAL_IOPS // 8
GUESTS = 2
REPEATS = 2
#: Beside it the noise of a busy machine is small; the throttle makes it 8.
LEAST_RATIO = 2
PATTERN = {
    'name': 'sync-128k',
    'rw': 'write',
    'bs': '128k',
    'ioengine': 'sync',
    'iodepth': 1,
    'direct': False,
    'fdatasync': 1,
}


def task(tiers, folder):
    """A task that writes and syncs on these tiers."""
    return {
        'version': 2,
        'title': 'Writes, each made durable',
        'subtasks': [
            {
                'title': 'fdatasync after each write',
                'scenario': {
                    'CinderTiers.fleet_fio': {
                        'fleets': [
                            {'tier': tier, 'image': 'cinder-tiers-guest'}
                            for tier in tiers
                        ],
                        'flavor': {'name': 'cinder-tiers-guest'},
                        'guests_per_tier': GUESTS,
                        'patterns': [PATTERN],
                        'region_mib': 16,
                        'ramp_seconds': 4,
                        'runtime_seconds': 30,
                        'repeats': REPEATS,
                        'result_folder': str(folder),
                    }
                },
                'contexts': {
                    'users': {'tenants': 1, 'users_per_tenant': 1},
                    'cinder_tiers_start_signal': {
                        'extra_specs': {'volume_backend_name': 'tier-database'}
                    },
                },
                'sla': {'failure_rate': {'max': 0}},
            }
        ],
    }


class SyncOrderTest(test_measurement.MeasurementCase):
    def sync_p99_ms(self, name, tiers, iops):
        """{tier: p99 of the syncs of each repeat}, of disks of such speed."""
        disks = self.useFixture(disk_iops.DiskIops(self.root))
        results = self.folder / name
        file = self.folder / f'{name}.json'
        file.write_text(json.dumps(task(tiers, results)))

        def on_start(start):
            # Guests are to boot as fast as ever.
            if start.slot == 0:
                disks.set(iops)

        with start_watch.StartWatch(self.root / 'instances', on_start):
            self.start(task=str(file))
        disks.set(USUAL_IOPS)
        (result,) = map(
            json.loads, map(pathlib.Path.read_text, results.glob('*.json'))
        )
        found = {}
        for tier in result['tiers']:
            (pattern,) = tier['patterns']
            self.assertEqual(REPEATS, len(pattern['slots']))
            for slot in pattern['slots']:
                self.assertEqual(GUESTS, slot['merged']['guests'])
            found[tier['tier']] = [
                slot['merged']['syncs']['lat']['percentiles_ns']['99'] / 1e6
                for slot in pattern['slots']
            ]
        return found

    def test_syncs_are_as_long_as_the_throttle_makes_them(self):
        usual = self.sync_p99_ms('usual', ['database', 'general'], USUAL_IOPS)
        slow = self.sync_p99_ms('slow', ['general'], SLOW_IOPS)
        # Of all disks of a placement group, each does one I/O for each write.
        self.assertGreater(min(slow['general']), 1000 / SLOW_IOPS)
        self.assertGreater(
            min(usual['general']), LEAST_RATIO * max(usual['database'])
        )
        self.assertGreater(
            min(slow['general']), LEAST_RATIO * max(usual['general'])
        )
