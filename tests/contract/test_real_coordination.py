# SPDX-License-Identifier: Apache-2.0

"""The lock of `tier apply` from a real service of coordination.

Run it with CINDER_TIERS_TEST_COORDINATION_URL naming one, such as the database
server of the lab:

    stestr --test-path ./tests/contract run --serial test_real_coordination

It leaves nothing behind. A lease must not last longer than 10 seconds: give
the URL `?timeout=10`.
"""

import os
import uuid

import testtools

from tests.contract import lock_contract

URL = os.environ.get('CINDER_TIERS_TEST_COORDINATION_URL')


@testtools.skipUnless(URL, 'CINDER_TIERS_TEST_COORDINATION_URL is not set')
class RealCoordinationTestCase(lock_contract.LockContract, testtools.TestCase):
    url = URL
    lease_s = 20.0

    def setUp(self):
        super().setUp()
        self.cloud = f'contract-{uuid.uuid4().hex}'
