# SPDX-License-Identifier: Apache-2.0

import pathlib
import shutil
import tempfile

import testtools

from lab import layout as lab_layout
from lab.processes import supervisord as supervisor
from lab import restart
from lab import second_ceph
from lab import up


class SecondCephTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.layout = lab_layout.load_or_create(
            pathlib.Path(folder.name) / 'lab',
            {'CINDER_TIERS_LAB_PORT_OFFSET': '1000'},
        )

    def stages(self):
        return {stage.name: stage for stage in up.all_stages(self.layout)}

    def test_a_lab_has_none_unless_it_was_wanted(self):
        self.assertNotIn(second_ceph.STAGE, self.stages())

    def test_a_lab_that_has_one_starts_it_before_the_tiers(self):
        self.layout.second_ceph.mkdir()
        stages = self.stages()
        self.assertIn(second_ceph.STAGE, stages['tiers'].needs)
        self.assertNotIn('tiers', stages[second_ceph.STAGE].needs)

    def test_its_daemons_have_names_of_their_own_and_its_stage(self):
        names = second_ceph.cluster(
            self.layout, supervisor.Supervisor(self.layout)
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
            self.assertEqual((second_ceph.STAGE,), restart.stages_of(name))
        self.assertEqual(('ceph',), restart.stages_of('ceph-mon.a'))

    def test_its_ports_are_those_of_nobody_else(self):
        ports = [
            *self.layout.second_ceph_ports().values(),
            *map(self.layout.port, lab_layout.PORTS),
        ]
        self.assertEqual(len(ports), len(set(ports)))
        self.assertEqual(4310, self.layout.port('ceph-second-mon-v2'))
        first, last = self.layout.second_ceph_daemon_ports()
        self.assertGreater(first, self.layout.ceph_daemon_ports()[1])
        self.assertEqual([], [port for port in ports if first <= port <= last])

    def test_libvirt_keeps_its_key_under_a_lasting_uuid_of_its_own(self):
        again = lab_layout.load(self.layout.root)
        self.assertEqual(
            self.layout.second_secret_uuid, again.second_secret_uuid
        )
        self.assertNotEqual(again.secret_uuid, again.second_secret_uuid)

    def test_a_lab_that_is_down_says_how_to_start_it(self):
        for act in (second_ceph.up, second_ceph.destroy):
            problem = self.assertRaises(
                second_ceph.SecondCephError, act, self.layout
            )
            self.assertIn('devstack/lab.sh up', str(problem))
        self.assertFalse(self.layout.has_second_ceph)

    def test_it_is_not_removed_while_cinder_has_backends_in_it(self):
        keeper = supervisor.Supervisor(
            self.layout, supervisord=shutil.which('supervisord')
        )
        self.addCleanup(keeper.stop_daemon)
        keeper.start_daemon()
        self.layout.second_ceph.mkdir()
        (self.layout.etc / 'cinder.conf').write_text('[DEFAULT]\n')
        self.layout.cinder_backends.write_text('')
        mine = self.layout.cinder_overrides / 'mine.conf'
        mine.write_text(
            f'[tier-x]\nrbd_ceph_conf = {self.layout.second_ceph}/ceph.conf\n'
        )
        problem = self.assertRaises(
            second_ceph.SecondCephError, second_ceph.destroy, self.layout
        )
        self.assertIn(str(mine), str(problem))
        self.assertTrue(self.layout.has_second_ceph)
