# SPDX-License-Identifier: Apache-2.0

"""What QoS specs let volumes do."""

import ddt
import testtools

from cinder_tiers.domain.state import sold


@ddt.ddt
class SoldTest(testtools.TestCase):
    @ddt.data(
        ({'total_iops_sec': '500'}, 'read', None, 500),
        ({'total_iops_sec': '500'}, None, None, 500),
        ({'total_iops_sec': '500', 'read_iops_sec': '200'}, 'read', None, 200),
        ({'total_iops_sec': '500', 'read_iops_sec': '900'}, 'read', None, 500),
        ({'write_iops_sec': '200'}, 'read', None, None),
        ({'write_iops_sec': '200'}, None, None, None),
        ({'write_iops_sec': '20', 'read_iops_sec': '30'}, None, None, 50),
        ({'total_iops_sec_per_gb': '3'}, 'read', 100, 300),
        ({'total_iops_sec_per_gb': '3'}, 'read', None, None),
        (
            {
                'total_iops_sec_per_gb': '3',
                'total_iops_sec_per_gb_min': '500',
            },
            'write',
            100,
            500,
        ),
        # A burst and a bandwidth are no IOPS that are sold.
        ({'total_iops_sec_max': '900', 'total_bytes_sec': '9'}, None, 9, None),
        # QEMU and librbd: 0 is no limit. What is no number is none either.
        ({'total_iops_sec': '0'}, None, None, None),
        ({'total_iops_sec': '-5'}, None, None, None),
        ({'total_iops_sec': '5e9'}, None, None, None),
        ({'total_iops_sec': '٣'}, None, None, None),
        ({}, 'read', 9, None),
    )
    @ddt.unpack
    def test_the_limit_of_a_volume(self, specs, direction, size, expected):
        self.assertEqual(
            expected, sold.iops_limit(specs, direction, size_gib=size)
        )

    def test_a_type_sells_the_sum_of_its_volumes(self):
        specs = {'total_iops_sec_per_gb': '2'}
        found = sold.SoldType(name='x', specs=specs, sizes_gib=(10, 20))
        self.assertEqual(60, found.iops('read'))
        unlimited = sold.SoldType(name='x', specs={}, sizes_gib=(10,))
        self.assertIsNone(unlimited.iops('read'))
        empty = sold.SoldType(name='x', specs={}, sizes_gib=())
        self.assertEqual(0, empty.iops('read'))
