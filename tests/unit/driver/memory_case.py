# SPDX-License-Identifier: Apache-2.0

"""A cinder-volume on a cluster in memory."""

import fixtures

from tests.contract import driver_case
from tests.worlds import ceph_bindings

MONITORS = '{"mons": [{"addr": "127.0.0.1:6789/0"}]}'


class MemoryCase(driver_case.DriverCase):
    """`cluster` is the cluster."""

    def setUp(self):
        self.rados_pools = driver_case.new_pool_names()
        self.cluster = ceph_bindings.Cluster(self.rados_pools.values())
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
