# SPDX-License-Identifier: Apache-2.0

"""What an operator, a request or a cluster says of pools."""

import ddt
import testtools

from cinder_tiers.driver import capacity
from cinder_tiers.driver import pools
from cinder_tiers.driver import startup

POOLS = pools.parse(['tier-a:a', 'tier-b:b'])


def found(name, **values):
    """A pool as Ceph lists it."""
    return {
        'pool_name': name,
        'type': 1,
        'application_metadata': {'rbd': {}},
        'flags_names': 'hashpspool',
        **values,
    }


@ddt.ddt
class PoolsTestCase(testtools.TestCase):
    @ddt.data(
        '', 'tier-a', ':a', 'tier-a:', 'a:b:c', 'a/b:c', 'a#b:c', 'a:b c'
    )
    def test_an_entry_that_is_none_is_quoted(self, entry):
        error = self.assertRaises(pools.Invalid, pools.parse, [entry])
        self.assertIn(repr(entry), str(error))

    @ddt.data(
        (['a:x', 'a:y'], 'a:x and a:y name one pool of Cinder'),
        (['a:x', 'b:x'], 'a:x and b:x name one RADOS pool'),
    )
    @ddt.unpack
    def test_two_entries_of_one_pool_are_named(self, entries, expected):
        error = self.assertRaises(pools.Invalid, pools.parse, entries)
        self.assertIn(expected, str(error))

    @ddt.data(None, '', 'node@ceph', 'node@ceph#', 'node@ceph#other')
    def test_a_host_without_a_known_pool_is_refused(self, host):
        error = self.assertRaises(
            pools.Invalid, pools.pool_of, host, ['tier-a', 'tier-b']
        )
        self.assertIn('tier-a, tier-b', str(error))

    @ddt.data(
        ([found('a')], "no pool 'b'"),
        ([found('a'), found('b', type=3)], 'erasure coded'),
        (
            [found('a'), found('b', application_metadata={'rgw': {}})],
            'its application is rgw, expected rbd',
        ),
    )
    @ddt.unpack
    def test_a_pool_that_cannot_keep_volumes_is_named(self, there, expected):
        (problem,) = startup.unusable(POOLS, there)
        self.assertIn('tier-b:b', problem)
        self.assertIn(expected, problem)

    def test_a_full_pool_can_be_used(self):
        there = [found('a'), found('b', flags_names='hashpspool,full_quota')]
        self.assertEqual([], startup.unusable(POOLS, there))
        self.assertEqual(['b'], startup.full(POOLS, there))

    @ddt.data(
        # total, quota, used, room left; free and total are then, in GiB
        ({'quota_bytes': 0}, False, (40.0, 100.0)),
        ({'quota_bytes': 0}, True, (40.0, 50.0)),
        ({'quota_bytes': 30 * 2**30}, False, (20.0, 30.0)),
        ({'quota_bytes': 5 * 2**30}, False, (0, 5.0)),
    )
    @ddt.unpack
    def test_a_quota_is_the_size_of_a_pool(self, quota, is_dynamic, expected):
        df = {
            'stats': {'total_bytes': 100 * 2**30},
            'pools': [
                {
                    'name': 'a',
                    'stats': {
                        'stored': 10 * 2**30,
                        'max_avail': 40 * 2**30,
                        **quota,
                    },
                }
            ],
        }
        self.assertEqual(
            {'a': expected}, capacity.capacities(df, is_dynamic=is_dynamic)
        )
