# SPDX-License-Identifier: Apache-2.0

"""The image by which a tier is watched, on a cluster in memory."""

import contextlib

import testtools

from cinder_tiers.clients import probe_image
from tests.contract import probe_contract
from tests.contract import rbd_in_memory


class ProbeImageTestCase(probe_contract.ProbeContract, testtools.TestCase):
    pool = 'tier-database'
    data_pool = 'tier-database-data'

    def setUp(self):
        super().setUp()
        self.rbd = rbd_in_memory.Rbd()
        self.session = rbd_in_memory.Session(self.rbd)

    @contextlib.contextmanager
    def ioctx(self):
        yield rbd_in_memory.Ioctx(self.pool)

    def test_its_data_are_in_the_data_pool(self):
        with self.opened():
            pass
        (image,) = self.rbd.images.values()
        self.assertEqual(self.data_pool, image['options']['data_pool'])
        self.assertEqual(1, image['options']['features'])

    def test_an_io_that_is_not_complete_has_an_age(self):
        self.rbd.serves.clear()
        with self.opened() as image:
            operation = image.write(0, bytes(probe_image.BLOCK_BYTES))
            self.assertFalse(operation.wait(0.05))
            self.assertLess(0.05, operation.took_s)
            self.rbd.serves.set()
            self.assertTrue(operation.wait(probe_contract.SOON_S))
