# SPDX-License-Identifier: Apache-2.0

import errno

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.observe import for_export as inventory
from tests.unit.observe.ceph import test_cluster

FSID = '01234567-89ab-cdef-0123-456789abcdef'
TOLD = [
    {
        'section': 'osd',
        'mask': 'class:hdd',
        'name': 'osd_max_backfills',
        'value': '3',
    },
    {
        'section': 'osd',
        'mask': 'class:hdd',
        'name': 'osd_is_gone',
        'value': '1',
    },
    {
        'section': 'osd',
        'mask': 'class:nvme',
        'name': 'osd_max_backfills',
        'value': '4',
    },
    {
        'section': 'osd',
        'mask': 'host:hostA',
        'name': 'osd_max_backfills',
        'value': '5',
    },
    {
        'section': 'osd',
        'mask': 'host:gone',
        'name': 'osd_max_backfills',
        'value': '5',
    },
    {
        'section': 'mon',
        'mask': '',
        'name': 'mon_allow_pool_delete',
        'value': 'true',
    },
]


class Recording(test_cluster.Recording):
    """The recorded cluster, with answers on its options."""

    cluster = catalogs.Cluster(name='ceph')

    def command(self, prefix, **arguments):
        match prefix, arguments:
            case 'mon dump', _:
                return {'fsid': FSID.upper()}
            case 'config dump', _:
                return TOLD
            case ('osd crush class ls-osd', _) | (
                'osd ls-tree',
                {'name': 'hostA'},
            ):
                return [1]
            case 'config help', {'key': 'osd_is_gone'}:
                raise ceph_session.CephRefused('no', errno=errno.ENOENT)
            case 'config help', {'key': name}:
                return {
                    'name': name,
                    'type': 'uint',
                    'default': 1,
                    'can_update_at_runtime': True,
                }
        return super().command(prefix, **arguments)

    def tell(self, osd_id, prefix):
        return {'diff': {'osd_max_backfills': {'mon': 3, 'final': 3}}}


def location(pool, fsid=FSID, user='cinder'):
    return rbd_location.Location(fsid=fsid, user=user, pool=pool)


class ReadClusterTestCase(testtools.TestCase):
    def read(self, *locations):
        return inventory.read_cluster(Recording(), locations)

    def test_all_that_pools_are_made_of_is_read(self):
        known = self.read(location('tier-archive'), location('tier-database'))
        self.assertEqual(FSID, known.fsid)
        self.assertIn('tier-archive-data', known.ceph.erasure_code_profiles)
        self.assertEqual(
            'tier-archive-data',
            known.ceph.pools['tier-archive'].rbd_default_data_pool,
        )
        self.assertIn('tier-database', known.ceph.crush_rules)
        self.assertEqual(['client.cinder'], list(known.ceph.users))

    def test_options_of_the_classes_in_question_are_read_as_in_effect(self):
        known = self.read(location('tier-archive'))
        self.assertEqual(
            {'hdd': {'osd_max_backfills': '3', 'osd_is_gone': '1'}},
            known.configured,
        )
        self.assertEqual(
            {'osd_max_backfills': '3'}, known.ceph.class_options['hdd'].values
        )
        self.assertEqual(
            ['osd_max_backfills'], list(known.ceph.option_schemas)
        )

    def test_options_of_hosts_are_read_where_there_is_such_a_host(self):
        known = self.read(location('tier-archive'))
        self.assertEqual({'hostA', 'gone'}, known.configured_hosts.keys())
        self.assertEqual(['hostA'], list(known.ceph.host_options))
        self.assertEqual(
            {'osd_max_backfills': '3'}, known.ceph.host_options['hostA'].values
        )

    def test_whether_cephadm_tunes_memory_is_read_where_it_matters(self):
        memory = ('osd', 'host:hostA', 'osd_memory_target', '7000000000')
        tuned = (
            ('mgr', '', 'mgr/orchestrator/orchestrator', 'cephadm'),
            ('osd', '', 'osd_memory_target_autotune', 'true'),
        )

        def tunes(*entries):
            class Tuned(Recording):
                def command(self, prefix, **arguments):
                    if prefix != 'config dump':
                        return super().command(prefix, **arguments)
                    keys = ('section', 'mask', 'name', 'value')
                    return [
                        dict(zip(keys, entry, strict=True))
                        for entry in entries
                    ]

            known = inventory.read_cluster(Tuned(), [])
            return known.ceph.cephadm_tunes_memory

        self.assertTrue(tunes(memory, *tuned))
        self.assertFalse(tunes(memory))
        self.assertFalse(tunes(*tuned))

    def test_a_host_of_which_all_osds_are_down_does_not_stop_the_rest(self):
        class Down(Recording):
            def command(self, prefix, **arguments):
                if prefix == 'config get':
                    return {'osd_max_backfills': {'value': '5'}}
                answer = super().command(prefix, **arguments)
                if prefix == 'osd tree':
                    for node in answer['nodes']:
                        node['status'] = 'down'
                return answer

            def tell(self, osd_id, prefix):
                raise ceph_session.CephRefused('down', errno=errno.ENXIO)

        known = inventory.read_cluster(Down(), [])
        self.assertEqual(
            {'osd_max_backfills': '5'}, known.ceph.host_options['hostA'].values
        )

    def test_options_are_not_lost_when_monitors_or_osds_do_not_answer(self):
        class Silent(Recording):
            def command(self, prefix, **arguments):
                if prefix == self.silent:
                    raise errors.Unreachable('did not answer')
                return super().command(prefix, **arguments)

            def tell(self, osd_id, prefix):
                if self.silent is None:
                    raise ceph_session.CephRefused('', errno=errno.ETIMEDOUT)
                return super().tell(osd_id, prefix)

        for silent in ('osd ls-tree', None):
            session = Silent()
            session.silent = silent
            self.assertRaises(
                errors.Unreachable, inventory.read_cluster, session, []
            )

    def test_places_elsewhere_are_not_looked_for(self):
        known = self.read(
            location('gone', user='nobody'),
            location('tier-archive', fsid='f' + FSID[1:], user='stranger'),
        )
        self.assertEqual(({}, {}), (known.configured, known.ceph.users))
        self.assertIsNone(
            known.ceph.pools['tier-archive'].rbd_default_data_pool
        )
