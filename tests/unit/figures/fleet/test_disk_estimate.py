# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import disk_estimate

PAPER = {'disks': 54, 'iops_per_disk': 160, 'replicas': 3}


def estimate(disks, **pattern):
    return disk_estimate.estimate_iops(
        disk_estimate.Disks(**disks),
        fio_pattern.Pattern(**{'name': 'x', 'bs': '4k', **pattern}),
    )


@ddt.ddt
class DiskEstimateTest(testtools.TestCase):
    @ddt.data(
        ({'rw': 'randwrite'}, 2880),
        ({'rw': 'randread'}, 8640),
        ({'rw': 'randrw', 'rwmixread_percent': 10}, 8640 / 2.8),
        ({'rw': 'randrw'}, 4320),
        ({'rw': 'randrw', 'rwmixread_percent': 0}, 2880),
    )
    @ddt.unpack
    def test_the_papers_disks(self, pattern, expected):
        """54 disks in 3 replicas: the paper says 2,880 writes."""
        self.assertAlmostEqual(expected, estimate(PAPER, **pattern))

    @ddt.data('read', 'write', 'rw', 'readwrite')
    def test_sequential_patterns_have_no_estimate(self, rw):
        self.assertIsNone(estimate(PAPER, rw=rw))

    def test_what_is_written_beside_the_data_costs_writes_only(self):
        disks = {
            'disks': 3,
            'iops_per_disk': 160,
            'replicas': 3,
            'disk_writes_per_write': 1.25,
        }
        self.assertAlmostEqual(128, estimate(disks, rw='randwrite'))
        self.assertAlmostEqual(480, estimate(disks, rw='randread'))

    def test_all_wrong_numbers_are_named_at_once(self):
        error = self.assertRaises(
            ValueError,
            disk_estimate.Disks,
            disks=0,
            iops_per_disk=0,
            replicas=0,
            disk_writes_per_write=0.5,
        )
        for name in (
            'disks 0',
            'iops_per_disk 0',
            'replicas 0',
            'disk_writes_per_write 0.5',
        ):
            self.assertIn(name, str(error))
