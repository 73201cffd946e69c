# SPDX-License-Identifier: Apache-2.0

"""What a catalog declares, in the terms of Cinder and Ceph."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from tests.unit.domain import catalogs as given


@ddt.ddt
class DesiredTestCase(testtools.TestCase):
    @ddt.data((4, 4), (None, None))
    @ddt.unpack
    def test_headers_get_a_quarter_but_not_of_few(self, data, head):
        wanted = tier_pools.pools_of(
            given.rbd(pg_num=data, protection=catalogs.ErasureCoded(k=2, m=1))
        )
        self.assertEqual([data, head], [one.pg_num for one in wanted.pools])

    def test_a_tier_on_other_storage_names_it(self):
        self.assertEqual(
            {
                'volume_backend_name': 'lvm',
                'tiers:name': 'a',
                'multiattach': '<is> True',
            },
            volume_type_kind.volume_type_of(
                given.other_tier(
                    'a',
                    backend_name='lvm',
                    extra_specs={'multiattach': '<is> True'},
                )
            ).extra_specs,
        )

    def test_a_tier_of_extra_specs_names_no_backend(self):
        self.assertEqual(
            {'vendor_name': 'x', 'tiers:name': 'a'},
            volume_type_kind.volume_type_of(
                given.other_tier(
                    'a', backend_name=None, extra_specs={'vendor_name': 'x'}
                )
            ).extra_specs,
        )

    def test_overflow_goes_one_step(self):
        b = given.tier('b', overflow='c')
        self.assertEqual(
            {
                'volume_backend_name': '<or> tier-a <or> tier-b',
                'tiers:name': 'a',
                'tiers:overflow': 'b',
            },
            volume_type_kind.volume_type_of(
                given.tier('a', overflow='b'), overflow=b
            ).extra_specs,
        )
