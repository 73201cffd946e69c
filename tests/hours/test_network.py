# SPDX-License-Identifier: Apache-2.0
"""Guests with a network: reached from here, measured by SSH, cut off.

A lab whose guests have none gets one for these tests.
"""

from concurrent import futures
import functools
import json
import pathlib
import subprocess
import threading

from cinder_tiers.figures.result import result as result_file
from tests.functional import fleet_faults
from tests.functional import lab
from tests.functional import test_measurement

#: Twelve guests of two tiers, whose results come by SSH.
FLEET = {
    'fleets': [
        {'tier': 'database', 'image': 'cinder-tiers-guest-database'},
        {'tier': 'general', 'image': 'cinder-tiers-guest'},
    ],
    'patterns': [
        {'name': 'randwrite-4k', 'rw': 'randwrite', 'bs': '4k'},
        {'name': 'write-64k', 'rw': 'write', 'bs': '64k'},
    ],
    # The cut is at a place of the schedule.
    'turn_order': 'listed',
    'flavor': {'name': 'cinder-tiers-guest'},
    'guests_per_tier': 6,
    'region_mib': 8,
    'ramp_seconds': 1,
    'runtime_seconds': 3,
    'gap_seconds': 8,
    'late_after_ms': test_measurement.LATE_AFTER_MS,
    'transport': {'kind': 'ssh', 'user': 'root'},
    # Emulated on a busy machine, twelve take some minutes to boot.
    'timeouts_seconds': {'boot': 900, 'ready': 900},
}
#: By default, a project may have fewer volumes and servers.
UNLIMITED = {
    'cinder': {'volumes': -1, 'gigabytes': -1},
    'nova': {'instances': -1, 'cores': -1, 'ram': -1},
}
#: Who is cut off, and what it has said by then: in the middle of its runs.
CUT_OFF = 'g002'
AT = ('END', 0)


def task(**arguments):
    """A task of a fleet whose guests are in the network of the lab."""
    return {
        'version': 2,
        'title': 'network',
        'subtasks': [
            {
                'title': 'network',
                'workloads': [
                    {
                        'scenario': {
                            'CinderTiers.fleet_fio': {**FLEET, **arguments}
                        },
                        'runner': {'serial': {'times': 1}},
                        'contexts': {
                            'users': {'tenants': 1, 'users_per_tenant': 1},
                            'quotas': UNLIMITED,
                            'keypair': {},
                            'allow_ssh': None,
                            'existing_network': {},
                            'cinder_tiers_start_signal': {},
                        },
                        'sla': {
                            'cinder_tiers': {
                                'losses': {'lost': 0, 'late': 0, 'failed': 0}
                            }
                        },
                    }
                ],
            }
        ],
    }


class NetworkTest(test_measurement.MeasurementCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        environment = lab.user_environment()
        choice = pathlib.Path(environment['CINDER_TIERS_LAB']) / 'network'
        if choice.exists() and choice.read_text() == 'on\n':
            return
        lab_sh = functools.partial(
            subprocess.run, check=True, capture_output=True, env=environment
        )
        cls.addClassCleanup(lab_sh, [lab.LAB_SH, 'up', '--no-network'])
        lab_sh([lab.LAB_SH, 'up', '--network'])

    def setUp(self):
        super().setUp()
        self.network = self.admin.network.find_network(
            'cinder-tiers-lab', ignore_missing=False
        )

    def measure(self, expect=0, **arguments):
        """Run a fleet; return (its result, what Rally printed)."""
        results = self.folder / 'results'
        file = self.folder / 'network.json'
        file.write_text(
            json.dumps(task(result_folder=str(results), **arguments))
        )
        output = self.start(expect=expect, task=str(file))
        written = list(results.glob('*.json'))
        self.assertEqual(1, len(written), output)
        return result_file.read(written[0].read_text()), output

    def test_a_guest_that_is_cut_off_has_its_verdict_and_the_others_stay(self):
        cut = threading.Event()

        def cut_off(guest):
            """As an operator would, who disables the port of a server."""
            (port,) = self.admin.network.ports(device_id=guest.server)
            self.admin.network.update_port(port, is_admin_state_up=False)
            cut.set()

        fleet = fleet_faults.Fleet(self.environment, {CUT_OFF: (*AT, cut_off)})
        over = threading.Event()
        with futures.ThreadPoolExecutor(1) as pool:
            watching = pool.submit(fleet.watch, over)
            try:
                result, output = self.measure(expect=2)
            finally:
                over.set()
        self.assertEqual({}, watching.result(), 'the cut that never came')
        self.assertTrue(cut.is_set())
        self.assertEqual(12, len(result.guests))
        verdicts = {guest.guest: guest.verdict for guest in result.guests}
        self.assertNotEqual('complete', verdicts.pop(CUT_OFF), output)
        self.assertEqual({'complete'}, set(verdicts.values()), output)
        (lost,) = (guest for guest in result.guests if guest.guest == CUT_OFF)
        # The way that failed is named, and to whom.
        self.assertRegex(output, r'SSH to root@198\.(18|19)\.')
        self.assertIn(lost.reasons[0], output)
        database, general = result.tiers
        # Its first result had come home before the cut, if it was asked for.
        self.assertIn(database.patterns[0].slots[0].merged.guests, (5, 6))
        self.assertEqual(5, database.patterns[1].slots[0].merged.guests)
        for pattern in general.patterns:
            self.assertEqual(6, pattern.slots[0].merged.guests)

    def test_orders_come_from_the_metadata_service(self):
        watched = threading.Event()
        drives = set()

        def look(guest):
            server = self.admin.compute.get_server(guest.server)
            drives.add(bool(server.has_config_drive))
            # that of a config drive is a file beside the console's
            instance = self.root / 'instances' / guest.server
            drives.add((instance / 'disk.config').exists())

        fleet = fleet_faults.Fleet(
            self.environment, {'g000': ('READY', None, look)}
        )
        with futures.ThreadPoolExecutor(1) as pool:
            watching = pool.submit(fleet.watch, watched)
            try:
                result, output = self.measure(
                    guests_per_tier=1,
                    transport={
                        'kind': 'ssh',
                        'user': 'root',
                        'orders': 'metadata',
                    },
                )
            finally:
                watched.set()
        self.assertEqual({}, watching.result())
        self.assertEqual({False}, drives)
        self.assertEqual(
            ['complete'] * 2,
            [guest.verdict for guest in result.guests],
            output,
        )

    def traces(self):
        """What of the network the machine shows, if it is all there."""
        offset = json.loads((self.root / 'lab.json').read_text())[
            'port_offset'
        ]
        links = json.loads(self.run_command('ip', '-json', 'link')[0])
        namespaces = self.run_command('ip', 'netns')[0].split()
        return sorted(
            name
            for name in [link['ifname'] for link in links] + namespaces
            if name
            in (
                f'cthost{offset}',
                f'ctguest{offset}',
                f'qdhcp-{self.network.id}',
            )
        )

    def test_nothing_is_left_of_it_while_the_lab_is_down(self):
        there = self.traces()
        self.assertEqual(3, len(there), there)
        self.addCleanup(self.lab_sh, 'up')
        self.lab_sh('down')
        self.assertEqual([], self.traces())
        self.lab_sh('up')
        self.assertEqual(there, self.traces())
        self.assertEqual(
            self.network.id,
            self.admin.network.find_network('cinder-tiers-lab').id,
        )
