# SPDX-License-Identifier: Apache-2.0

"""The driver in a cinder-volume that is killed, on a real Ceph.

A few moments; tests/long has more. Run as test_real_ceph.
"""

import testtools

from tests.contract import real_ceph
from tests.contract import real_driver


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KilledServiceTestCase(real_driver.KilledServiceCase):
    before_answer, after_answer = 1, 1
    objects = 4

    def test_a_killed_service_leaves_each_volume_in_one_place(self):
        self.kill_at_moments()
