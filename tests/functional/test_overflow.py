# SPDX-License-Identifier: Apache-2.0
"""A tier without room overflows to the one that it names, and only then."""

from tests.functional import lab
from tests.functional import volumes

#: As if the pool were full for Cinder: nothing of it is for volumes, and none
#: may be thinner than it says.
FULL = """[tier-database]
max_over_subscription_ratio = 1.0
reserved_percentage = 100
"""


class RoomTest(volumes.VolumesTestCase):
    def test_a_tier_with_room_keeps_its_volumes_and_one_without_does_not(self):
        # One of the first two is not what CapacityWeigher alone would choose.
        tiers = [
            (
                pool,
                self.make_tier(
                    own, f'<or> tier-{own} <or> tier-{other}', overflow=other
                ),
            )
            for own, other, pool in (
                ('archive', 'database', 'tier-archive'),
                ('database', 'archive', 'tier-database'),
                ('nowhere', 'archive', 'tier-archive'),
            )
        ]
        lab.wait_until_tiers_are_known()
        for pool, tier in tiers:
            volume = self.make_volume(imageRef=self.make_image(tier))
            self.assertEqual(
                ('available', tier, pool), self.place_of(volume.id)
            )


class FullBackendTest(volumes.VolumesTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lab.change_cinder_for_class(cls, FULL, 'cinder-volume')

    def test_a_tier_on_a_full_backend_overflows_or_refuses(self):
        tier = self.make_tier(
            'full', '<or> tier-database <or> tier-archive', overflow='archive'
        )
        lab.wait_until_tiers_are_known()
        volume = self.make_volume(imageRef=self.make_image(tier))
        self.assertEqual(
            ('available', tier, 'tier-archive'), self.place_of(volume.id)
        )
        # the tier of the same backend that names no other
        volume = self.make_volume(imageRef=self.make_image('database'))
        self.assertEqual(('error', 'database', None), self.place_of(volume.id))
