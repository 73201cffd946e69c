# SPDX-License-Identifier: Apache-2.0

"""Limits of RBD images, on a real Ceph cluster. Run as test_real_ceph."""

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import ceph_access
from cinder_tiers.observe.cinder import volumes
from tests.contract import real_ceph
from tests.contract import test_real_watch

VOLUME = 'volume-contract'
SIZE = 2**22
LIMIT, BURST = 'rbd_qos_iops_limit', 'rbd_qos_iops_burst'


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealLimitsTestCase(test_real_watch.WatchedPoolsCase):
    def setUp(self):
        super().setUp()
        self.repairer = self.session_of(
            ceph_access.repairer(self.catalog, self.catalog.clusters['ceph']),
            'repairer',
        )

    def make_image(self, rbd_pool):
        ioctx = self.session._handle.open_ioctx(rbd_pool.pool)
        self.addCleanup(ioctx.close)
        self.rbd.RBD().create(
            ioctx, VOLUME, SIZE, data_pool=rbd_pool.data_pool
        )
        self.addCleanup(self.rbd.RBD().remove, ioctx, VOLUME)
        return ioctx

    def test_who_repairs_sets_limits_and_reads_no_data(self):
        for tier in self.catalog.tiers:
            pool = tier.rbd.pool
            ioctx = self.make_image(tier.rbd)
            with self.rbd.Image(ioctx, VOLUME) as client:
                client.write(b'of a tenant', 0)
                client.metadata_set('conf_rbd_cache', 'false')
                self.repairer.set_image_options(
                    pool, VOLUME, {LIMIT: '40', BURST: '80'}
                )
                # Whoever has the image open gets on with it.
                client.write(b'of a tenant', 0)
                self.assertEqual(
                    {LIMIT: '40', BURST: '80', 'rbd_cache': 'false'},
                    self.repairer.image_options(pool, VOLUME),
                )
                self.assertEqual(
                    {'contract': {LIMIT: '40', BURST: '80'}},
                    volumes._read_limits(self.repairer, pool),
                )
                self.repairer.set_image_options(
                    pool, VOLUME, {LIMIT: '20', BURST: None}
                )
                self.assertEqual(
                    {
                        one['name']: one['value']
                        for one in client.config_list()
                        if one['name'] in (LIMIT, BURST)
                    },
                    {LIMIT: '20', BURST: '0'},
                )
            # What is not set may be removed.
            self.repairer.set_image_options(pool, VOLUME, {BURST: None})
            with self.repairer._handle.open_ioctx(pool) as as_repairer:
                image = self.rbd.Image(as_repairer, VOLUME, read_only=True)
                self.addCleanup(image.close)
                self.assertRaises(self.rbd.PermissionError, image.read, 0, 11)
                self.assertRaises(
                    self.rbd.PermissionError,
                    self.rbd.RBD().create,
                    as_repairer,
                    'volume-other',
                    SIZE,
                )
            self.assertIsNone(self.repairer.image_options(pool, 'volume-gone'))
            for name, value, said in (
                ('volume-gone', '1', 'has no image volume-gone'),
                (VOLUME, '1e3', "refused rbd_qos_iops_limit '1e3'"),
            ):
                error = self.assertRaises(
                    errors.ActionFailed,
                    self.repairer.set_image_options,
                    *(pool, name, {LIMIT: value}),
                )
                self.assertIn(said, str(error))
