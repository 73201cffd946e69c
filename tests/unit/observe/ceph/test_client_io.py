# SPDX-License-Identifier: Apache-2.0

"""What clients do on pools, as `osd pool stats` tells it."""

import types

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.observe.ceph import client_io

#: The shape of PGMap::dump_pool_stats_and_io_rate (src/mon/PGMap.cc).
STATS = [
    {
        'pool_name': 'tier-database',
        'pool_id': 2,
        'recovery': {},
        'recovery_rate': {},
        'client_io_rate': {
            'read_bytes_sec': 4096,
            'write_bytes_sec': 819200,
            'read_op_per_sec': 1,
            'write_op_per_sec': 200,
        },
    },
    {
        'pool_name': 'tier-archive',
        'pool_id': 3,
        'recovery': {},
        'recovery_rate': {},
        'client_io_rate': {'read_bytes_sec': 9, 'read_op_per_sec': 5},
    },
    {
        'pool_name': 'idle',
        'pool_id': 4,
        'recovery': {},
        'recovery_rate': {},
        'client_io_rate': {},
    },
]


class Monitors:
    """Answers one command with what it has."""

    cluster = types.SimpleNamespace(name='ceph')

    def command(self, prefix, **arguments):
        return {'osd pool stats': STATS}[prefix]


class ClientIoTest(testtools.TestCase):
    def test_rates_of_pools_are_added_by_direction(self):
        found = client_io.observe(
            Monitors(), ['tier-database', 'tier-archive']
        )
        self.assertEqual(
            (6, 200, 206),
            tuple(found.iops(each) for each in ('read', 'write', None)),
        )

    def test_a_pool_without_io_does_none(self):
        self.assertEqual(0, client_io.observe(Monitors(), ['idle']).iops(None))

    def test_a_pool_that_is_not_there_is_no_idle_one(self):
        error = self.assertRaises(
            errors.TiersError,
            client_io.observe,
            Monitors(),
            ['idle', 'tier-general'],
        )
        self.assertIn('no statistics of tier-general', str(error))
