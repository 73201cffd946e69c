# SPDX-License-Identifier: Apache-2.0

"""What must be true of the pools before a backend serves volumes."""

import ddt
import testtools

from cinder_tiers.driver import startup
from tests.unit.driver import test_pools


@ddt.ddt
class StartupTestCase(testtools.TestCase):
    @ddt.data(
        ([test_pools.found('a')], "no pool 'b'"),
        (
            [test_pools.found('a'), test_pools.found('b', type=3)],
            'erasure coded',
        ),
        (
            [
                test_pools.found('a'),
                test_pools.found('b', application_metadata={'rgw': {}}),
            ],
            'its application is rgw, expected rbd',
        ),
    )
    @ddt.unpack
    def test_a_pool_that_cannot_keep_volumes_is_named(self, there, expected):
        (problem,) = startup.unusable(test_pools.POOLS, there)
        self.assertIn('tier-b:b', problem)
        self.assertIn(expected, problem)

    def test_a_full_pool_can_be_used(self):
        there = [
            test_pools.found('a'),
            test_pools.found('b', flags_names='hashpspool,full_quota'),
        ]
        self.assertEqual([], startup.unusable(test_pools.POOLS, there))
        self.assertEqual(['b'], startup.full({'a', 'b'}, there))
