# SPDX-License-Identifier: Apache-2.0
"""Tests of lab.ceph.topology."""

import configparser
import dataclasses
import pathlib
import uuid

import testtools

from lab.ceph import filestore
from lab.ceph import topology

LAYOUT = topology.CephLayout(
    folder=pathlib.Path('/srv/lab/ceph'),
    osds=topology.six_osds(),
    fsid=uuid.UUID('5acd070b-0183-4fc8-82ea-a5f98ebcb483'),
    ports=topology.Ports(
        monitor_v2=4300, monitor_v1=7789, first=17800, last=17999
    ),
)


def parsed(layout):
    conf = configparser.ConfigParser(interpolation=None)
    conf.read_string(topology.conf_text(layout))
    return conf


class SixOsdsTest(testtools.TestCase):
    def test_each_of_three_hosts_has_one_osd_of_each_class(self):
        self.assertEqual(
            {
                (host, device_class)
                for host in ('host-a', 'host-b', 'host-c')
                for device_class in ('hdd', 'ssd')
            },
            {(osd.host, osd.device_class) for osd in LAYOUT.osds},
        )
        self.assertEqual([0, 1, 2, 3, 4, 5], [osd.id for osd in LAYOUT.osds])

    def test_only_hdd_osds_are_slow_and_they_have_a_disk_for_the_log(self):
        for osd in LAYOUT.osds:
            rotating = osd.device_class == 'hdd'
            self.assertEqual(rotating, osd.speed is not None, osd.name)
            self.assertEqual(rotating, osd.db_gib is not None, osd.name)


class ConfTextTest(testtools.TestCase):
    def test_it_holds_no_option_that_a_tier_may_tune(self):
        """ceph.conf beats the monitors' database, so this list is short."""
        allowed = {
            'global': {
                'fsid',
                'mon_host',
                'public_addr',
                'cluster_addr',
                'ms_bind_port_min',
                'ms_bind_port_max',
                'run_dir',
                'crash_dir',
                'keyring',
            },
            'mon': {
                'log_file',
                'mon_data',
                'keyring',
                'mon_cluster_log_file',
                'paxos_propose_interval',
                'paxos_min_wait',
                'mon_data_avail_warn',
                'mgr_initial_modules',
            },
            'mgr': {'log_file', 'mgr_data', 'mgr_module_path', 'keyring'},
            'osd': {
                'log_file',
                'osd_class_dir',
                'osd_data',
                'keyring',
                'bdev_aio_max_queue_depth',
            },
            **{osd.name: {'crush_location'} for osd in LAYOUT.osds},
        }
        conf = parsed(LAYOUT)
        self.assertEqual(
            allowed, {name: set(conf[name]) for name in conf.sections()}
        )

    def test_every_path_lies_in_the_folder_of_the_cluster(self):
        conf = parsed(LAYOUT)
        paths = [
            value
            for name in conf.sections()
            for option, value in conf[name].items()
            # Of Debian's package; its own default is a relative path.
            if value.startswith('/') and option != 'osd_class_dir'
        ]
        self.assertNotEqual([], paths)
        self.assertEqual(
            [],
            [path for path in paths if not path.startswith('/srv/lab/ceph/')],
        )

    def test_ports_are_those_that_were_chosen_and_on_loopback(self):
        conf = parsed(LAYOUT)['global']
        self.assertEqual(
            '[v2:127.0.0.1:4300/0,v1:127.0.0.1:7789/0]', conf['mon_host']
        )
        self.assertEqual(
            ('17800', '17999'),
            (conf['ms_bind_port_min'], conf['ms_bind_port_max']),
        )
        self.assertEqual(
            ('127.0.0.1', '127.0.0.1'),
            (conf['public_addr'], conf['cluster_addr']),
        )

    def test_an_osd_stands_in_its_own_host(self):
        self.assertEqual(
            'root=default host=host-b',
            parsed(LAYOUT)['osd.4']['crush_location'],
        )


class FileStoreTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.layout = dataclasses.replace(
            LAYOUT,
            osds=tuple(
                topology.Osd(
                    id=number,
                    host='host-a',
                    device_class='ssd',
                    data_gib=10,
                    object_store=store,
                )
                for number, store in enumerate(('bluestore', 'filestore'))
            ),
        )

    def test_only_its_osd_has_options_of_it_in_the_conf(self):
        conf = parsed(self.layout)
        self.assertEqual({'crush_location'}, set(conf['osd.0']))
        self.assertEqual(
            {
                'crush_location',
                'osd_objectstore',
                'osd_data',
                'osd_journal',
                'osd_journal_size',
            },
            set(conf['osd.1']),
        )

    def test_store_and_journal_are_on_the_disk_that_is_mounted(self):
        osd = self.layout.osds[1]
        conf = parsed(self.layout)['osd.1']
        argv = filestore.with_mount(
            self.layout.file_store_disk(osd),
            self.layout.file_store(osd),
            ('ceph-osd', '-i', '1'),
        )
        self.assertEqual(
            (
                '/srv/lab/ceph/osd.1/xfs',
                conf['osd_data'],
                'ceph-osd',
                '-i',
                '1',
            ),
            argv[-5:],
        )
        self.assertTrue(conf['osd_journal'].startswith(f'{conf["osd_data"]}/'))

    def test_it_has_one_disk(self):
        self.assertEqual(
            [{'block': 10}, {'xfs': 10}],
            [osd.disk_sizes_gib for osd in self.layout.osds],
        )


class CephLayoutTest(testtools.TestCase):
    def test_osds_have_identities_of_their_own_that_last(self):
        again = topology.CephLayout(
            folder=LAYOUT.folder,
            osds=LAYOUT.osds,
            fsid=LAYOUT.fsid,
            ports=LAYOUT.ports,
        )
        found = [LAYOUT.osd_uuid(osd) for osd in LAYOUT.osds]
        self.assertEqual(found, [again.osd_uuid(osd) for osd in again.osds])
        self.assertEqual(6, len(set(found)))

    def test_a_daemon_runs_in_the_foreground_with_the_labs_conf(self):
        self.assertEqual(
            (
                '/usr/bin/ceph-osd',
                '-f',
                '-i',
                '4',
                '-c',
                '/srv/lab/ceph/ceph.conf',
            ),
            LAYOUT.argv('osd.4'),
        )
