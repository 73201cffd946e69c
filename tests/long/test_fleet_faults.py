# SPDX-License-Identifier: Apache-2.0
"""A fleet of guests of which all but one meet a fault."""

from concurrent import futures
import json
import threading

from cinder_tiers.figures.result import result as result_file
from tests.functional import fleet_faults
from tests.functional import test_measurement

#: Six guests; the second tier's image sends its volumes to another one.
FAULTS = {
    'version': 2,
    'title': 'faults',
    'subtasks': [
        {
            'title': 'faults',
            'workloads': [
                {
                    'scenario': {
                        'CinderTiers.fleet_fio': {
                            'fleets': [
                                {
                                    'tier': 'database',
                                    'expected_volume_type': 'database',
                                    'image': 'cinder-tiers-guest-database',
                                },
                                {
                                    'tier': 'general',
                                    'expected_volume_type': 'general',
                                    'image': 'cinder-tiers-guest-archive',
                                },
                            ],
                            'patterns': [
                                {
                                    'name': 'randwrite-4k',
                                    'rw': 'randwrite',
                                    'bs': '4k',
                                },
                                {
                                    'name': 'write-64k',
                                    'rw': 'write',
                                    'bs': '64k',
                                },
                            ],
                            # Faults are at places of the schedule.
                            'turn_order': 'listed',
                            'flavor': {'name': 'cinder-tiers-guest'},
                            'guests_per_tier': 3,
                            'region_mib': 8,
                            'ramp_seconds': 1,
                            'runtime_seconds': 3,
                            'gap_seconds': 8,
                            'late_after_ms': test_measurement.LATE_AFTER_MS,
                        }
                    },
                    'runner': {'serial': {'times': 1}},
                    'contexts': {
                        'users': {'tenants': 1, 'users_per_tenant': 1},
                        'cinder_tiers_start_signal': {},
                    },
                    'sla': {
                        'cinder_tiers': {
                            'losses': {'lost': 0, 'late': 0, 'failed': 0},
                            'placement': {
                                'database': 'database',
                                'general': 'general',
                            },
                        }
                    },
                }
            ],
        }
    ],
}


class FleetFaultsTest(test_measurement.MeasurementCase):
    def test_each_fault_has_its_verdict_and_spares_the_other_guests(self):
        """All at once: a boot of a fleet is what takes the time."""
        task = self.folder / 'faults.yaml'
        arguments = FAULTS['subtasks'][0]['workloads'][0]['scenario'][
            'CinderTiers.fleet_fio'
        ]
        arguments['result_folder'] = str(self.folder)
        task.write_text(json.dumps(FAULTS))
        fleet = fleet_faults.Fleet(
            self.environment,
            {
                'g001': ('START', 0, fleet_faults.Guest.kill),
                # before its second pattern, and thus during no other one
                'g002': ('END', 0, fleet_faults.Guest.fence),
                'g003': ('GO', None, lambda guest: guest.stand_still(18)),
            },
            mute=['g004'],
        )
        over = threading.Event()
        with futures.ThreadPoolExecutor(1) as pool:
            watching = pool.submit(fleet.watch, over)
            try:
                output = self.start(expect=2, task=str(task))
            finally:
                over.set()
        self.assertEqual({}, watching.result(), 'faults that never came')
        (written,) = self.folder.glob('*.json')
        result = result_file.read(written.read_text())
        self.assertEqual(
            {
                'g000': 'complete',
                'g001': 'lost',
                'g002': 'fio failed',
                'g003': 'wrong clock',
                'g004': 'damaged result',
                'g005': 'wrong tier',
            },
            {guest.guest: guest.verdict for guest in result.guests},
            output,
        )
        for guest in result.guests[1:]:
            self.assertIn(guest.reasons[0], output)
        first, second = result.tiers[0].patterns
        self.assertEqual(
            (2, 1),
            (first.slots[0].merged.guests, second.slots[0].merged.guests),
        )
        report, _ = self.run_command('rally', 'task', 'report', '--json')
        self.assertIn(
            'general: volumes that fio works on have the volume type'
            ' archive, expected general',
            report,
        )
