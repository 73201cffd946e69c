# SPDX-License-Identifier: Apache-2.0

"""Limits that the hypervisor or the driver can keep."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from tests.unit.domain import catalogs as given
from tests.unit.domain.validation import test_catalog


@ddt.ddt
class QosSpecTestCase(testtools.TestCase):
    @ddt.data(
        (catalogs.Qos(front_end={'a': '1'}, back_end={'a': '1'}), []),
        (
            catalogs.Qos(front_end={'a': '1'}, back_end={'a': '2'}),
            ["tier 'a' has different values in front_end and back_end"],
        ),
        (
            catalogs.Qos(
                front_end={'total_iops_sec': '1', 'read_bytes_sec': '1'}
            ),
            [],
        ),
        (
            catalogs.Qos(
                front_end={
                    'total_iops_sec': '1',
                    'read_iops_sec': '1',
                    'write_iops_sec': '1',
                }
            ),
            ['total_iops_sec together with read_iops_sec and write_iops_sec'],
        ),
        (
            catalogs.Qos(back_end={'IOPS': '1', 'iops': '1'}),
            ["the limit 'iops', but 'IOPS' exists"],
        ),
        (
            catalogs.Qos(back_end={'Consumer': 'x'}),
            ["the limit 'Consumer', but 'consumer' is a key of Cinder"],
        ),
    )
    @ddt.unpack
    def test_limits_can_be_kept(self, qos, expected):
        self.assertEqual(
            expected,
            test_catalog.found(given.tier('a', fallback=True, qos=qos)),
        )
