# SPDX-License-Identifier: Apache-2.0

import pathlib
import shutil
import tempfile

import testtools

from lab.ceph import clusters
from lab import layout
from lab.processes import supervisord
from lab import restart
from lab import second_ceph
from lab import up


class SecondCephTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.lab = layout.load_or_create(
            pathlib.Path(folder.name) / 'lab',
            {'CINDER_TIERS_LAB_PORT_OFFSET': '1000'},
        )

    def stages(self):
        return {stage.name: stage for stage in up.all_stages(self.lab)}

    def test_a_lab_has_none_unless_it_was_wanted(self):
        self.assertNotIn(second_ceph.STAGE, self.stages())

    def test_a_lab_that_has_one_starts_it_before_the_tiers(self):
        self.lab.second_ceph.mkdir()
        stages = self.stages()
        self.assertIn(second_ceph.STAGE, stages['tiers'].needs)
        self.assertNotIn('tiers', stages[second_ceph.STAGE].needs)

    def test_its_daemons_have_names_of_their_own_and_its_stage(self):
        names = clusters.second(
            self.lab, supervisord.Supervisor(self.lab)
        ).programs()
        self.assertEqual(
            [
                'ceph-second-mon.a',
                'ceph-second-mgr.x',
                'ceph-second-osd.0',
                'ceph-second-osd.1',
            ],
            names,
        )
        for name in names:
            self.assertEqual((second_ceph.STAGE,), restart.find_stages(name))
        self.assertEqual(('ceph',), restart.find_stages('ceph-mon.a'))

    def test_filestore_is_where_ceph_still_makes_it(self):
        for codename, store in (
            ('bookworm', 'filestore'),
            ('trixie', 'bluestore'),
            ('forky', 'bluestore'),
        ):
            self.assertEqual(
                ['bluestore', store],
                [one.object_store for one in clusters.second_osds(codename)],
            )

    def test_its_ports_are_those_of_nobody_else(self):
        ports = [
            *self.lab.second_ceph_ports().values(),
            *map(self.lab.port, layout.PORTS),
        ]
        self.assertEqual(len(ports), len(set(ports)))
        self.assertEqual(4310, self.lab.port('ceph-second-mon-v2'))
        first, last = self.lab.second_ceph_daemon_ports()
        self.assertGreater(first, self.lab.ceph_daemon_ports()[1])
        self.assertEqual([], [port for port in ports if first <= port <= last])

    def test_libvirt_keeps_its_key_under_a_lasting_uuid_of_its_own(self):
        again = layout.load(self.lab.root)
        self.assertEqual(self.lab.second_secret_uuid, again.second_secret_uuid)
        self.assertNotEqual(again.secret_uuid, again.second_secret_uuid)

    def test_a_lab_that_is_down_says_how_to_start_it(self):
        for act in (second_ceph.up, second_ceph.destroy):
            problem = self.assertRaises(
                supervisord.SupervisorError, act, self.lab
            )
            self.assertIn('devstack/lab.sh up', str(problem))
        self.assertFalse(self.lab.has_second_ceph)

    def test_it_is_not_removed_while_cinder_has_backends_in_it(self):
        keeper = supervisord.Supervisor(
            self.lab, executable=shutil.which('supervisord')
        )
        self.addCleanup(keeper.stop_daemon)
        keeper.start_daemon()
        self.lab.second_ceph.mkdir()
        (self.lab.etc / 'cinder.conf').write_text('[DEFAULT]\n')
        self.lab.cinder_backends.write_text('')
        mine = self.lab.cinder_overrides / 'mine.conf'
        mine.write_text(
            f'[tier-x]\nrbd_ceph_conf = {self.lab.second_ceph}/ceph.conf\n'
        )
        problem = self.assertRaises(
            second_ceph.SecondCephError, second_ceph.destroy, self.lab
        )
        self.assertIn(str(mine), str(problem))
        self.assertTrue(self.lab.has_second_ceph)
