# SPDX-License-Identifier: Apache-2.0

"""A stall of disks while guests measure is named in their result."""

import json
import pathlib
import threading
import time

from tests.functional import disk_iops
from tests.functional import start_watch
from tests.functional import test_measurement

#: So long the disks do one I/O in a second, so long after the start.
STALL_S = 5
AFTER_S = 12
TASK = {
    'version': 2,
    'title': 'Disks that stop for some seconds',
    'subtasks': [
        {
            'title': 'Random writes to hard disks',
            'scenario': {
                'CinderTiers.fleet_fio': {
                    'fleets': [
                        {'tier': 'general', 'image': 'cinder-tiers-guest'},
                    ],
                    'flavor': {'name': 'cinder-tiers-guest'},
                    'guests_per_tier': 2,
                    'patterns': [
                        {
                            # OSDs take smaller ones into their journal on
                            # flash while the disks stop.
                            'name': 'randwrite-128k',
                            'rw': 'randwrite',
                            'bs': '128k',
                            'iodepth': 4,
                        }
                    ],
                    'region_mib': 16,
                    'ramp_seconds': 4,
                    'runtime_seconds': 36,
                    'repeats': 2,
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


class StallTest(test_measurement.MeasurementCase):
    def test_disks_that_stop_are_named_with_how_long(self):
        disks = self.useFixture(disk_iops.DiskIops(self.root))
        stalls = []

        def stall():
            time.sleep(AFTER_S)
            disks.set(1)
            time.sleep(STALL_S)
            disks.set(disk_iops.topology.HDD_SPEED.iops)

        def on_start(start):
            if start.slot == 0 and not stalls:
                stalls.append(threading.Thread(target=stall))
                stalls[0].start()

        wanted = json.loads(json.dumps(TASK))
        scenario = wanted['subtasks'][0]['scenario']['CinderTiers.fleet_fio']
        results = self.folder / 'results'
        scenario['result_folder'] = str(results)
        task = self.folder / 'task.json'
        task.write_text(json.dumps(wanted))
        with start_watch.StartWatch(self.root / 'instances', on_start):
            self.start(task=str(task))
        stalls[0].join()
        (result,) = map(
            json.loads, map(pathlib.Path.read_text, results.glob('*.json'))
        )
        ((stalled, quiet),) = (
            pattern['slots']
            for tier in result['tiers']
            for pattern in tier['patterns']
        )
        # Requests that the disks had already begun end after it.
        found_s = stalled['steadiness']['longest_stall_s']
        self.assertGreaterEqual(found_s, STALL_S - 2)
        self.assertLessEqual(found_s, STALL_S + 4)
        self.assertLess(quiet['steadiness']['longest_stall_s'], 2)
        self.assertIn(
            'stall', [caveat['about'] for caveat in result['doubts']]
        )
