# SPDX-License-Identifier: Apache-2.0

"""What QoS specs let volumes do."""

import dataclasses

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
        (
            {'total_iops_sec_max': '900', 'total_bytes_sec': '9000000'},
            None,
            9,
            None,
        ),
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

    @ddt.data(
        # What Cinder makes of them; the plain limit is replaced.
        ({'total_iops_sec_per_gb': '3', 'total_iops_sec': '500'}, 300),
        ({'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '250'}, 250),
        ({'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '900'}, 300),
        (
            {
                'total_iops_sec_per_gb': '1',
                'total_iops_sec_per_gb_min': '400',
                'total_iops_sec_max': '250',
            },
            250,
        ),
    )
    @ddt.unpack
    def test_a_limit_by_size_is_that_of_cinder(self, specs, expected):
        self.assertEqual(expected, sold.iops_limit(specs, None, size_gib=100))
        # Of a volume whose size is not known.
        self.assertIsNone(sold.iops_limit(specs, None))

    def test_a_limit_by_size_that_may_not_be_set_is_none(self):
        by_size = {'total_iops_sec_per_gb': '3'}
        for specs, expected in (
            (by_size, None),
            (by_size | {'total_iops_sec': '500'}, 500),
        ):
            self.assertEqual(
                expected,
                sold.iops_limit(specs, None, size_gib=100, has_by_size=False),
            )

    def test_a_type_sells_the_sum_of_its_volumes(self):
        found = sold_type({'total_iops_sec_per_gb': '2'}, 10, 20)
        self.assertEqual(60, found.iops('read'))
        self.assertIsNone(sold_type({}, 10).iops('read'))
        self.assertEqual(0, sold_type({}).iops('read'))

    def test_each_server_of_a_volume_has_its_limit(self):
        found = dataclasses.replace(
            sold_type({'total_iops_sec': '100'}),
            volumes=(
                sold.SoldVolume(size_gib=1),
                sold.SoldVolume(size_gib=1, clients=3),
            ),
        )
        self.assertEqual(400, found.iops(None))


def sold_type(specs, *sizes_gib):
    return sold.SoldType(
        name='x',
        limits=sold.Limits(specs=specs),
        volumes=tuple(sold.SoldVolume(size_gib=each) for each in sizes_gib),
    )
