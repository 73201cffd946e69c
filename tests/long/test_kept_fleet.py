# SPDX-License-Identifier: Apache-2.0

"""Two runs on the same real guests, as a member of a project."""

import json
import time

from tests.functional import test_measurement
from tests.long import rally_member

MINUTES = 30


class KeptFleetTest(rally_member.MemberCase):
    def setUp(self):
        super().setUp()
        storage = self.admin.block_storage
        made = storage.create_type(
            name=self.unique_name('shared'),
            extra_specs={
                'multiattach': '<is> True',
                'volume_backend_name': 'tier-database',
            },
        )
        self.type_name = made.name
        self.addCleanup(storage.delete_type, made.id)
        self.results = self.folder / 'results'

    def measure(self, **keep):
        """Run ``quick`` with one guest a tier; return the seconds it took."""
        task = self.folder / 'kept.json'
        task.write_text(json.dumps(self.task(keep)))
        began = time.monotonic()
        self.start_as_member(str(task), {}, timeout_s=60 * MINUTES)
        return time.monotonic() - began

    def task(self, keep):
        return {
            'version': 2,
            'title': 'Guests that are kept',
            'subtasks': [
                {
                    'title': 'Random writes',
                    'scenario': {
                        'CinderTiers.fleet_fio': {
                            'fleets': [
                                {
                                    'tier': 'general',
                                    'image': 'cinder-tiers-guest',
                                },
                                {
                                    'tier': 'database',
                                    'image': 'cinder-tiers-guest-database',
                                },
                            ],
                            'flavor': {'name': 'cinder-tiers-guest'},
                            'guests_per_tier': 1,
                            'patterns': [
                                {
                                    'name': 'randwrite-4k',
                                    'rw': 'randwrite',
                                    'bs': '4k',
                                    'iodepth': 4,
                                }
                            ],
                            'region_mib': 8,
                            'ramp_seconds': 1,
                            'runtime_seconds': 6,
                            'gap_seconds': 8,
                            'late_after_ms': test_measurement.LATE_AFTER_MS,
                            'start_volume_type': self.type_name,
                            'result_folder': str(self.results),
                            'keep': {'name': 'test', **keep},
                        }
                    },
                    'contexts': {'users': {}},
                    'sla': {'failure_rate': {'max': 0}},
                }
            ],
        }

    def servers(self):
        return {
            one.id for one in self.admin.compute.servers(all_projects=True)
        }

    def boots(self, servers):
        """What Nova did to servers that has them boot, in order of name."""
        return sorted(
            action.action
            for server in servers
            for action in self.admin.compute.server_actions(server)
            if action.action in ('create', 'reboot', 'rebuild', 'start')
        )

    def test_the_second_run_needs_no_boot(self):
        before = self.leftovers()
        first_s = self.measure()
        kept = self.servers() - set(before[0])
        self.assertEqual(2, len(kept))
        second_s = self.measure()
        self.assertEqual(kept, self.servers() - set(before[0]))
        self.assertEqual(['create', 'create'], self.boots(kept))
        third_s = self.measure(last=True)
        self.assertEqual(before, self.leftovers(), 'not all was deleted')
        found = sorted(
            (
                json.loads(path.read_text())
                for path in self.results.glob('*.json')
            ),
            key=lambda result: result['run_of_fleet'],
        )
        self.assertEqual(
            [1, 2, 3], [result['run_of_fleet'] for result in found]
        )
        for result in found:
            self.assertEqual(
                {'complete'}, {guest['verdict'] for guest in result['guests']}
            )
            for tier in result['tiers']:
                (slot,) = tier['patterns'][0]['slots']
                self.assertTrue(slot['bw_series'])
                self.assertTrue(any(slot['latency']['p99_ns']))
        print(
            f'first run {first_s:.0f} s, second {second_s:.0f} s, third, with'
            f' deletion, {third_s:.0f} s'
        )
