# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
class RealCoordinationTestCase(lock_contract.LockContract,
                               testtools.TestCase):

    url = URL
    lease_s = 20.0

    def setUp(self):
        super().setUp()
        self.cloud = f'contract-{uuid.uuid4().hex}'
