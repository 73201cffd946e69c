# SPDX-License-Identifier: Apache-2.0

"""The command that repairs volumes, killed at many moments."""

import os
import time

import testtools

from tests.contract import real_ceph
from tests.contract import test_real_limits
from tests.functional import commands as forked
from tests.long import real_cloud

KILLS = 20
#: Longer than a move until it is answered: kills are before, in and after it.
LAST_KILL_S = 4.0
REPAIR = ('repair', '--concurrency', '1', '--yes')


class KilledLimitsTestCase(test_real_limits.KilledRepairTestCase):
    kills = range(test_real_limits.VOLUMES - 1, 0, -2)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KilledMovesTestCase(real_cloud.CloudCase):
    """Cinder goes on with the retype that a killed command has asked for."""

    def setUp(self):
        super().setUp()
        for _ in range(2 * KILLS + 10):
            self.plant(real_cloud.FOLLOWS, 'fast', snapshots=1)

    def repair_until_killed(self, seconds):
        """Kill it so many seconds after it has repaired a volume."""
        with forked.started(
            (
                *('openstack', *self.arguments, 'tier', REPAIR[0]),
                *('--catalog', str(self.path), *REPAIR[1:]),
            ),
            environment=dict(os.environ),
        ) as command:
            said = command.stderr.readline()
            time.sleep(seconds)
            command.kill()
        self.assertEqual(test_real_limits.KILLED, command.returncode, said)

    def at_rest(self):
        """The volumes, once Cinder does nothing with any."""
        while True:
            found = self.volumes()
            if not any(one.status == 'retyping' for one in found.values()):
                return found
            time.sleep(0.5)

    def rest_after_kill(self):
        """Ids of the volumes that are as they were planted."""
        rest = set()
        volumes = self.at_rest()
        images = self.find_all()
        for ident, volume in volumes.items():
            pool = 'slow'
            if volume.volume_type == real_cloud.FOLLOWS:
                rest.add(ident)
                pool = 'fast'
            self.assertEqual('available', volume.status)
            self.assertEqual(self.hosts[pool], volume.host)
            self.assertEqual([pool], images[ident][0])
        return rest

    def test_who_repairs_after_a_kill_does_exactly_the_rest(self):
        rest = set(self.planted)
        for kill in range(KILLS):
            self.repair_until_killed(LAST_KILL_S * kill / (KILLS - 1))
            left = self.rest_after_kill()
            self.assertLess(left, rest)
            self.assertEqual(left, self.wrong())
            rest = left
        self.assertTrue(rest)
        rows = self.tier(*REPAIR)
        self.assertEqual(
            {(ident, 'done') for ident in rest},
            {(row['Volume'], row['Outcome']) for row in rows},
        )
        self.settle()
        self.assertEqual(set(), self.rest_after_kill())
        self.assertEqual(set(), self.wrong())
        self.assertEqual([], self.tier(*REPAIR))
