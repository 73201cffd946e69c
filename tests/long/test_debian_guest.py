# SPDX-License-Identifier: Apache-2.0
"""The guest's script under cloud-init, in a Debian, beside the lab's guest.

To build that Debian and to boot it, emulated, takes four minutes.
"""

import copy
import json
import pathlib

from tests.functional import test_measurement

#: The lab's guest leads: it is ready long before cloud-init is.
TASK = {
    'version': 2,
    'title': 'The same script in two kinds of guests',
    'subtasks': [
        {
            'title': "A Debian with cloud-init beside the lab's guest",
            'scenario': {
                'CinderTiers.fleet_fio': {
                    'fleets': [
                        {'tier': 'small', 'image': 'cinder-tiers-guest'},
                        {'tier': 'debian', 'image': 'cinder-tiers-debian'},
                    ],
                    'flavor': {'name': 'cinder-tiers-debian'},
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
                    'runtime_seconds': 3,
                    # Emulated on a busy machine, it may need some minutes.
                    'timeouts_seconds': {'ready': 480},
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


class DebianGuestTest(test_measurement.MeasurementCase):
    def setUp(self):
        super().setUp()
        self.lab_sh('debian-image')

    def test_cloud_init_runs_the_script_that_the_small_guest_runs(self):
        wanted = copy.deepcopy(TASK)
        scenario = wanted['subtasks'][0]['scenario']['CinderTiers.fleet_fio']
        results = self.folder / 'results'
        scenario['result_folder'] = str(results)
        task = self.folder / 'task.json'
        task.write_text(json.dumps(wanted))
        self.start(task=str(task))
        (result,) = map(
            json.loads, map(pathlib.Path.read_text, results.glob('*.json'))
        )
        guests = {guest['tier']: guest for guest in result['guests']}
        for guest in guests.values():
            self.assertEqual(
                ('complete', [], 0),
                (guest['verdict'], guest['reasons'], guest['damaged_lines']),
            )
            self.assertIsNotNone(guest['clock_offset_ms'])
        # No scratch device is named in a plain Debian.
        self.assertEqual(
            '/var/tmp/cinder-tiers.fio', guests['debian']['target']
        )
        self.assertRegex(guests['small']['target'], '^/dev/')
        for tier in result['tiers']:
            (slot,) = tier['patterns'][0]['slots']
            self.assertGreater(slot['merged']['iops'], 0)
            self.assertLessEqual(
                abs(
                    slot['guests'][0]['started_ms']
                    - slot['guests'][0]['planned_ms']
                ),
                500,
            )
