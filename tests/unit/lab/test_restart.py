# SPDX-License-Identifier: Apache-2.0
"""Restarts: each service by the stage that starts it."""

import pathlib
import shutil
import tempfile

import testtools

from lab import layout
from lab.openstack import services
from lab.processes import supervisord
from lab import restart
from lab import up

OTHERS = (
    'ceph-mon.a',
    'ceph-osd.0',
    'mariadb',
    'rabbitmq',
    'epmd',
    'libvirtd',
)


class RestartTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.lab = layout.load_or_create(pathlib.Path(folder.name) / 'lab', {})

    def test_every_service_has_a_stage_that_starts_it(self):
        self.lab.choose_network(True)  # without it, some services are none
        known = {stage.name for stage in up.all_stages(self.lab)}
        for name in (
            *OTHERS,
            *restart.WORKERS,
            *(f'{service}-api' for service in services.APPLICATIONS),
        ):
            self.assertNotEqual((), restart.find_stages(name))
            self.assertEqual(set(), set(restart.find_stages(name)) - known)

    def test_an_unknown_name_stops_nothing_and_names_those_that_are(self):
        keeper = supervisord.Supervisor(
            self.lab, executable=shutil.which('supervisord')
        )
        self.addCleanup(keeper.stop_daemon)
        keeper.start_daemon()
        keeper.ensure(
            [
                supervisord.Program(name=name, argv=('sleep', '600'))
                for name in ('cinder-api', 'mariadb')
            ]
        )
        before = keeper.states()
        problem = self.assertRaises(
            restart.UnknownServiceError,
            restart.restart,
            self.lab,
            ['mariadb', 'cinder-apy'],
        )
        self.assertEqual(
            'no service is called cinder-apy; there are: cinder-api, mariadb',
            str(problem),
        )
        self.assertEqual(
            [state.pid for state in before],
            [state.pid for state in keeper.states()],
        )

    def test_a_lab_that_is_down_says_how_to_start_it(self):
        problem = self.assertRaises(
            supervisord.SupervisorError,
            restart.restart,
            self.lab,
            ['cinder-api'],
        )
        self.assertIn('devstack/lab.sh up', str(problem))
