# SPDX-License-Identifier: Apache-2.0

"""The memory of hosts, as OSDs report it, and what OSDs aim at."""

import errno

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.plan import owners
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph.osd import osd_memory

#: Of `config help` of Ceph 16.2.15.
SCHEMA = {
    'name': owners.MEMORY,
    'type': 'size',
    'level': 'basic',
    'default': '4294967296',
    'daemon_default': '',
    'can_update_at_runtime': True,
}


class Cluster:
    """A session: osd.1 is down, osd.3 never ran, osd.4 is elsewhere."""

    def command(self, prefix, **arguments):
        if prefix == 'osd metadata':
            return [
                {'id': 0, 'hostname': 'a', 'mem_total_kb': '32767000'},
                {'id': 1, 'hostname': 'a', 'mem_total_kb': '32767000'},
                {'id': 2, 'hostname': 'b'},
                {'id': 3},
                {'id': 4, 'hostname': 'c', 'mem_total_kb': '1'},
            ]
        if prefix == 'config help':
            return SCHEMA
        if (prefix, arguments['who']) == ('config get', 'osd.1'):
            return 8 * 2**30
        raise ceph_session.CephRefused('no', errno=errno.ENOENT)

    def tell(self, osd_id, prefix):
        if osd_id in (1, 3):
            raise ceph_session.CephRefused('down', errno=errno.ENXIO)
        return {
            'diff': {owners.MEMORY: {'default': '1', 'final': '6442450944'}}
            if osd_id == 0
            else {}
        }


class ObserveTestCase(testtools.TestCase):
    def test_osds_and_all_others_on_their_hosts(self):
        there = 32767000 * 1024
        self.assertEqual(
            {
                0: ceph_state.OsdMemory(
                    host='a', host_bytes=there, target_bytes=6 * 2**30
                ),
                # What the monitors have for it counts when it is up again.
                1: ceph_state.OsdMemory(
                    host='a', host_bytes=there, target_bytes=8 * 2**30
                ),
                2: ceph_state.OsdMemory(host='b', target_bytes=4 * 2**30),
                3: ceph_state.OsdMemory(),
            },
            osd_memory.observe(Cluster(), {0, 2, 3, 9}),
        )
