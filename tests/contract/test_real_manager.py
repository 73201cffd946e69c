# SPDX-License-Identifier: Apache-2.0

"""A manager of a real Ceph that answers late. Run as test_real_ceph."""

import signal
import time

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from tests.contract import real_ceph
from tests.contract import real_driver


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealManagerTestCase(testtools.TestCase):
    def test_its_late_answer_does_not_end_the_process(self):
        cluster = catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
        self.addCleanup(real_driver.signal_manager, signal.SIGCONT)
        with ceph_session.session(cluster) as session:
            tasks = session.ask_manager('rbd task list')
            real_driver.signal_manager(signal.SIGSTOP)
            for _ in range(2):
                self.assertRaises(
                    errors.Unreachable, session.ask_manager, 'rbd task list'
                )
            # Later than any timeout of librados that may be set.
            time.sleep(2)
            real_driver.signal_manager(signal.SIGCONT)
            session._manager._waiting.join()
            self.assertEqual(tasks, session.ask_manager('rbd task list'))
