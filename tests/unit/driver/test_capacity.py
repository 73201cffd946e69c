# SPDX-License-Identifier: Apache-2.0

"""The size of a pool, as a backend reports it."""

import ddt
import testtools

from cinder_tiers.driver import capacity


@ddt.ddt
class CapacityTestCase(testtools.TestCase):
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
