# SPDX-License-Identifier: Apache-2.0

"""Where a volume lies, by the options of its backend."""

import dataclasses

import testtools

from cinder_tiers.domain.placement import rbd_location
from tests.unit.domain import inventories


class LocationTestCase(testtools.TestCase):
    def test_only_the_rbd_driver_is_read(self):
        self.assertIsNone(
            rbd_location.location_of(inventories.other_backend('lvm'))
        )
        odd = dataclasses.replace(
            inventories.rbd_backend('a', 'b'),
            capabilities={'storage_protocol': 'ceph', 'location_info': 7},
        )
        self.assertIsNone(rbd_location.location_of(odd))

    def test_a_colon_in_the_path_is_no_end(self):
        found = rbd_location.location_of(
            dataclasses.replace(
                inventories.rbd_backend('a', 'b'),
                capabilities={
                    'storage_protocol': 'ceph',
                    'location_info': 'ceph:/a:b.conf:'
                    f'{inventories.FSID.upper()}:c:volumes',
                },
            )
        )
        self.assertEqual(
            rbd_location.Location(
                fsid=inventories.FSID, user='c', pool='volumes'
            ),
            found,
        )
