# SPDX-License-Identifier: Apache-2.0

"""The image by which a tier is watched, on a cluster in memory."""

import testtools

from cinder_tiers.clients import probe_image
from tests.contract import probe_contract
from tests.worlds import ceph_bindings


class ProbeImageTestCase(probe_contract.ProbeContract, testtools.TestCase):
    pool = 'tier-database'
    data_pool = 'tier-database-data'

    def setUp(self):
        super().setUp()
        self.cluster = ceph_bindings.Cluster([self.pool, self.data_pool])
        self.rbd = self.cluster.rbd
        self.session = ceph_bindings.Session(self.cluster)

    def ioctx(self):
        return self.cluster.rados.Rados().open_ioctx(self.pool)

    def test_its_data_are_in_the_data_pool(self):
        with self.opened():
            pass
        (image,) = self.cluster.images.values()
        self.assertEqual(self.data_pool, image.options['data_pool'])
        self.assertEqual(1, image.options['features'])

    def test_an_io_that_is_not_complete_has_an_age(self):
        self.cluster.serves.clear()
        with self.opened() as image:
            operation = image.write(0, bytes(probe_image.BLOCK_BYTES))
            self.assertFalse(operation.wait(0.05))
            self.assertLess(0.05, operation.took_s)
            self.cluster.serves.set()
            self.assertTrue(operation.wait(probe_contract.SOON_S))
