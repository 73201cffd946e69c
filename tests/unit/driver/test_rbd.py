# SPDX-License-Identifier: Apache-2.0

"""The contract of the driver, kept on a cluster in memory."""

import json

from cinder import exception
import fixtures

from tests.contract import cluster_in_memory
from tests.contract import driver_case
from tests.contract import driver_contract

MONITORS = '{"mons": [{"addr": "127.0.0.1:6789/0"}]}'


class DriverTestCase(driver_contract.DriverContract):
    def setUp(self):
        self.rados_pools = driver_case.new_pool_names()
        self.cluster = cluster_in_memory.Cluster(self.rados_pools.values())
        self.rados, self.rbd = self.cluster.rados, self.cluster.rbd
        super().setUp()
        # The commands "ceph mon dump" and "rbd status" of Cinder's driver.
        self.useFixture(
            fixtures.MonkeyPatch(
                'oslo_concurrency.processutils.execute', self.execute
            )
        )

    def execute(self, *command, **_options):
        if command[:3] == ('ceph', 'mon', 'dump'):
            return MONITORS, ''
        self.assertEqual(('rbd', 'status'), command[:2])
        return '{"watchers": []}', ''

    def connect(self):
        return self.rados.Rados()

    def test_a_volume_does_not_move_to_a_full_pool(self):
        service = self.serve()
        volume = self.make(service, 'slow', b'content')
        self.cluster.full.add(self.rados_pools['fast'])
        log = self.capture_log()
        self.assertRaises(
            exception.VolumeMigrationFailed,
            self.retype,
            service,
            volume,
            'fast',
            'never',
        )
        self.assertIn(f'{self.rados_pools["fast"]} is full.', log.output)
        self.assertEqual([volume.name], self.names_in('slow'))

    def cut_commit_off(self, volume, left):
        self.cluster.do_tasks()
        self.cluster.left_by_commit = left
        target = f'{self.rados_pools["fast"]}/{volume.name}'
        command = 'rbd task add migration commit'
        request = json.dumps({'prefix': command, 'image_spec': target})
        self.assertEqual(0, self.connect().mgr_command(request, b'')[0])
        self.cluster.do_tasks()

    def leave_halfway(self, volume, left):
        if left == 'abort':
            with self.ioctx('slow') as slow, self.ioctx('fast') as fast:
                self.rbd.RBD().migration_prepare(
                    slow, volume.name, fast, volume.name
                )
            new, _ = self.cluster.move_of(fast.name, volume.name)
            self.cluster.moves[new][1] = cluster_in_memory.ABORTING
            return
        image = self.cluster.get(self.rados_pools['slow'], volume.name)
        image.in_trash = left != 'header'
        image.is_named = left != 'entry'
        if left == 'header':
            image.leaves_for = self.rados_pools['fast']
            image.features |= self.rbd.RBD_FEATURE_MIGRATING
