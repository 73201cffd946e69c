# SPDX-License-Identifier: Apache-2.0

"""The capabilities of a cephx user, and never its key."""

from cinder_tiers.observe.ceph import cephx_user as observed_user
from tests.unit.observe.ceph import test_cluster


class CephxUserTestCase(test_cluster.ObserveCase):
    def test_the_key_of_a_user_is_not_taken_in(self):
        user = self.state.users['client.cinder']
        self.assertEqual({'mon', 'osd', 'mgr', 'mds'}, user.caps.keys())
        self.assertNotIn('left out', repr(user))

    def test_a_user_that_does_not_exist_is_none(self):
        self.assertIsNone(observed_user.read(self.session, 'client.nobody'))
