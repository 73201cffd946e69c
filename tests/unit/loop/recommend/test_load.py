# SPDX-License-Identifier: Apache-2.0

"""How alike two loads are."""

import ddt
import testtools

from cinder_tiers.loop.recommend import load as loads
from tests.unit.loop.recommend import test_recommendation


@ddt.ddt
class LikenessTestCase(testtools.TestCase):
    """A load is compared with what was measured."""

    @ddt.data(
        ({}, True),
        ({'bs': '8k'}, True),
        ({'bs': '9k'}, False),
        ({'bs': '1k'}, False),
        ({'iodepth': 16}, True),
        ({'iodepth': 32}, False),
        ({'numjobs': 2}, True),
        ({'ioengine': 'psync', 'iodepth': 1}, False),
        ({'rw': 'write'}, False),
        ({'rw': 'randread'}, False),
        ({'rate_iops': 100}, False),
        ({'rw': 'randrw', 'rwmixread_percent': 10}, True),
        ({'rw': 'randrw', 'rwmixread_percent': 30}, False),
    )
    @ddt.unpack
    def test_a_job_is_like_a_pattern(self, changed, is_like):
        likeness = loads.compare(
            test_recommendation.load(**changed), test_recommendation.load()
        )
        self.assertEqual(is_like, not likeness.unlike, likeness)
        self.assertEqual(not changed, likeness.distance == 0)

    def test_mean_block_of_a_split_is_weighted(self):
        split = test_recommendation.load(bs=None, bssplit='4k/75:12k/25')
        self.assertEqual({'write': 6144.0}, split.block_bytes)

    def test_what_counters_do_not_tell_fits_both(self):
        for each in ('rand-write', 'seq-write'):
            self.assertEqual(
                (),
                loads.compare(
                    test_recommendation.seen(), test_recommendation.load(each)
                ).unlike,
            )
        self.assertNotEqual(
            (),
            loads.compare(
                test_recommendation.seen(in_flight=1.0),
                test_recommendation.load(),
            ).unlike,
        )
        self.assertEqual(
            (),
            loads.compare(
                test_recommendation.seen(in_flight=None),
                test_recommendation.load(),
            ).unlike,
        )
