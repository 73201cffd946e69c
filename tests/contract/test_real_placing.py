# SPDX-License-Identifier: Apache-2.0

"""What the cluster in memory of the property tests does as Ceph does it."""

import uuid

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from tests.contract import placing_contract
from tests.contract import real_ceph


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealPlacingTestCase(
    placing_contract.PlacingContract, testtools.TestCase
):
    def setUp(self):
        super().setUp()
        self.mark = f'contract-{uuid.uuid4().hex[:8]}'
        self.session = self.enterContext(
            ceph_session.session(
                catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
            )
        )
        self.addCleanup(self.remove)

    def remove(self):
        if self.mark in self.session.command('osd pool ls'):
            real_ceph.delete_pools(self.session, [self.mark])
        self.session.command('osd crush rule rm', name=self.mark)
        self.session.command('auth del', entity=f'client.{self.mark}')
