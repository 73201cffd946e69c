# SPDX-License-Identifier: Apache-2.0
"""Guests with a network: reached from here, measured by SSH, cut off.

They need a lab whose guests have a network (``devstack/lab.sh up --network``).
"""

from concurrent import futures
import json
import pathlib
import subprocess
import threading

from rally_scenarios.bench.result import result as result_file
from tests.functional import fleet_faults
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
    'timeouts_seconds': {'ready': 900, 'silence': 120},
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
                            'keypair': {},
                            'allow_ssh': {},
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
    def setUp(self):
        super().setUp()
        if self.admin.network.find_network('cinder-tiers-lab') is None:
            self.fail(
                'guests of the lab have no network; run devstack/lab.sh up '
                '--network'
            )

    def measure(self, expect=0, **arguments):
        """Run a fleet; return (its result, what Rally printed)."""
        results = self.folder / 'results'
        file = self.folder / 'network.json'
        file.write_text(
            json.dumps(task(result_folder=str(results), **arguments))
        )
        output = self.start(expect=expect, task=str(file))
        (written,) = results.glob('*.json')
        return result_file.read(written.read_text()), output

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
        self.assertRegex(' '.join(lost.reasons), r'SSH to root@198\.(18|19)\.')
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
            drives.add(server.has_config_drive)
            drives.add('sr0' in self.block_devices(guest))

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
        self.assertFalse(any(drives), drives)
        self.assertEqual(
            ['complete'] * 2,
            [guest.verdict for guest in result.guests],
            output,
        )

    def block_devices(self, guest):
        return guest.run('virsh', 'domblklist', guest.server)

    def test_lab_and_guests_reach_each_other_and_nobody_else(self):
        """The link is a neighbourhood: nothing is routed from it."""
        root = pathlib.Path(self.environment['CINDER_TIERS_LAB'])
        subnet = self.admin.network.find_subnet('cinder-tiers-lab')
        self.assertIsNone(subnet.gateway_ip)
        interfaces = json.loads(
            subprocess.run(
                ['ip', '-json', 'address'],
                check=True,
                capture_output=True,
            ).stdout
        )
        own = [
            address['local']
            for interface in interfaces
            for address in interface['addr_info']
            if interface['ifname'].startswith('cthost')
        ]
        self.assertEqual(1, sum(each in subnet.cidr for each in own) or 1)
        self.assertTrue((root / 'network').exists())
