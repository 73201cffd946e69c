# SPDX-License-Identifier: Apache-2.0

"""Tiers are ordered by their syncs as the throttles of their disks order them.

A sync returns when all replicas have what was written before it. Writes are as
large as OSDs do not take into their journal on flash, so each costs each disk
of a tier on hard disks one I/O: disks that do fewer I/Os in a second make each
sync as much longer. Flash has no throttle, but shares the disk of the machine
with all: the lab's usual throttle, 160, does not show beside it at p99.
"""

import json

from tests.functional import disk_iops
from tests.functional import start_watch
from tests.functional import test_measurement

#: I/Os in a second of each hard disk: an eighth of the lab's, and a quarter of
#: that.
SLOW_IOPS = disk_iops.topology.HDD_SPEED.iops // 8
SLOWER_IOPS = SLOW_IOPS // 4
#: Of syncs of disks that are four times slower, and of flash and these.
LEAST_RATIO = 2
#: {tier: image whose tags ask for it}
IMAGES = {
    'database': 'cinder-tiers-guest-database',
    'general': 'cinder-tiers-guest',
}
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
                            {'tier': tier, 'image': IMAGES[tier]}
                            for tier in tiers
                        ],
                        'flavor': {'name': 'cinder-tiers-guest'},
                        'guests_per_tier': 1,
                        'patterns': [PATTERN],
                        'region_mib': 16,
                        'ramp_seconds': 4,
                        'runtime_seconds': 15,
                        'gap_seconds': 8,
                        'late_after_ms': test_measurement.LATE_AFTER_MS,
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
    def sync_p99_ms(self, iops, *tiers):
        """{tier: p99 of its syncs}, where hard disks have such speed."""
        results = self.folder / str(iops)
        file = self.folder / f'{iops}.json'
        file.write_text(json.dumps(task(tiers, results)))
        with disk_iops.DiskIops(self.root) as disks:

            def on_start(start):
                # Guests are to boot as fast as ever.
                if start.slot == 0:
                    disks.set(iops)

            with start_watch.StartWatch(self.root / 'instances', on_start):
                self.start(task=str(file))
        (written,) = results.glob('*.json')
        found = {}
        for tier in json.loads(written.read_text())['tiers']:
            (pattern,) = tier['patterns']
            (slot,) = pattern['slots']
            self.assertEqual(1, slot['merged']['guests'])
            percentiles_ns = slot['merged']['syncs']['lat']['percentiles_ns']
            found[tier['tier']] = percentiles_ns['99'] / 1e6
        return found

    def test_syncs_are_as_long_as_the_throttle_makes_them(self):
        slow = self.sync_p99_ms(SLOW_IOPS, 'database', 'general')
        slower = self.sync_p99_ms(SLOWER_IOPS, 'general')
        said = f'{slow} at {SLOW_IOPS} IOPS, {slower} at {SLOWER_IOPS}'
        # Of all disks of a placement group, each does one I/O for each write.
        self.assertGreater(slow['general'], 1000 / SLOW_IOPS, said)
        self.assertGreater(slower['general'], 1000 / SLOWER_IOPS, said)
        self.assertGreater(slow['general'], slow['database'], said)
        for longer, shorter in (
            (slower['general'], slow['general']),
            (slower['general'], slow['database']),
        ):
            self.assertGreater(longer, LEAST_RATIO * shorter, said)
