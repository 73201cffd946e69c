# SPDX-License-Identifier: Apache-2.0

"""Each method of Cinder's driver that needs a pool is sent to one."""

import inspect
import re

from cinder.volume.drivers import rbd as cinder_rbd
import testtools

from cinder_tiers.driver import pool
from cinder_tiers.driver import rbd

#: What a method does that needs a pool.
NEEDS_POOL = re.compile('RBDVolumeProxy|RADOSClient|rbd_pool|_setup_volume')
#: What Cinder's driver has not.
OWN = {
    *('_check_limits', '_check_new', '_of_size', '_on', '_purge'),
    '_purge_trash',
    *(
        '_is_moving',
        '_reads_states',
        '_remove',
        '_remove_qos',
        '_set_qos',
        '_set_up',
    ),
}
#: Replication is refused at start; that of one pool starts with its driver.
NOT_WITH_POOLS = {'failover', 'failover_completed', 'failover_host'}


class RoutesTestCase(testtools.TestCase):
    def test_each_method_that_needs_a_pool_is_sent_to_one(self):
        found = {
            name
            for name, method in inspect.getmembers(
                cinder_rbd.RBDDriver, inspect.isfunction
            )
            if not name.startswith('_')
            and NEEDS_POOL.search(inspect.getsource(inspect.unwrap(method)))
        }
        self.assertLess(15, len(found))
        self.assertEqual(
            set(), found - vars(rbd.TieredRBDDriver).keys() - NOT_WITH_POOLS
        )

    def test_the_drivers_of_pools_have_the_methods_of_cinder(self):
        for name in vars(pool.PoolDriver):
            if inspect.isfunction(vars(pool.PoolDriver)[name]):
                is_own = name in OWN
                self.assertNotEqual(
                    is_own, hasattr(cinder_rbd.RBDDriver, name), name
                )
