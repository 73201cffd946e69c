# SPDX-License-Identifier: Apache-2.0

"""The driver in a cinder-volume that is killed at many moments."""

import collections

from oslo_log import log as logging
import testtools

from tests.contract import real_ceph
from tests.contract import real_driver

LOG = logging.getLogger(__name__)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KilledServiceTestCase(real_driver.KilledServiceCase):
    before_answer, after_answer = 12, 12

    def test_a_killed_service_leaves_each_volume_in_one_place(self):
        states = collections.Counter(self.kill_at_moments())
        LOG.info('It found: %s', states)
        # Moments before, in and after the steps of a move.
        self.assertLessEqual({'prepared', 'executed'}, states.keys())
        self.assertTrue({'none', 'over'} & states.keys(), states)
