# SPDX-License-Identifier: Apache-2.0
"""What is done with volumes that exist, with tiers and without.

Nothing of ours may get into its way, nor leave a volume in a status from
which only an administrator can free it.
"""

from tests.functional import lab
from tests.functional import volumes

DATABASE = 'cinder-tiers-guest-database'
ARCHIVE = 'cinder-tiers-guest-archive'


class OperationsTest(volumes.VolumesTestCase):
    def test_a_volume_of_a_tier(self):
        volume = self.make_volume(imageRef=self.image_of_lab(DATABASE))
        # by its type, as ever in Cinder
        self.migrate(volume.id, 'tier-general')
        self.assert_worked_on(volume, 'database', 'tier-database')

    def test_a_volume_of_a_tier_goes_to_another_with_its_type(self):
        volume = self.make_volume(imageRef=self.image_of_lab(ARCHIVE))
        self.retype(volume.id, 'database')
        self.assertEqual(
            ('available', 'database', 'tier-database'),
            self.place_of(volume.id),
        )

    def test_a_volume_without_a_tier(self):
        name = self.make_type('plain', {'volume_backend_name': 'tier-general'})
        volume = self.make_volume(volume_type=name)
        self.assert_worked_on(volume, name, 'tier-general')

    def test_a_volume_without_a_tier_goes_where_it_is_sent(self):
        volume = self.make_volume(volume_type=self.make_type('any', {}))
        _, _, pool = self.place_of(volume.id)
        for backend in sorted({'tier-general', 'tier-database'} - {pool}):
            self.migrate(volume.id, backend)
            self.assertEqual(
                ('available', volume.volume_type, backend),
                self.place_of(volume.id),
            )

    def test_a_volume_without_a_tier_joins_one(self):
        volume = self.make_volume(
            volume_type=self.make_type(
                'plain', {'volume_backend_name': 'tier-general'}
            )
        )
        self.retype(volume.id, 'database')
        self.assertEqual(
            ('available', 'database', 'tier-database'),
            self.place_of(volume.id),
        )

    def test_the_members_of_a_group_are_where_the_group_is(self):
        plain = self.make_type(
            'plain', {'volume_backend_name': 'tier-archive'}
        )
        types = {
            found.name: found.id for found in self.cinder.volume_types.list()
        }
        # What leaves the choice to the image chooses no tier for a group.
        for volume_type, given, pool in (
            (plain, plain, 'tier-archive'),
            ('database', 'database', 'tier-database'),
            ('image-tier', 'general', 'tier-general'),
        ):
            group = self.make_group(types[volume_type])
            for image in (None, self.image_of_lab(ARCHIVE)):
                volume = self.cinder_of_member.volumes.create(
                    1,
                    group_id=group,
                    volume_type=types[volume_type],
                    imageRef=image,
                )
                self.assertEqual(
                    ('available', given, pool), self.place_of(volume.id)
                )

    def test_a_tier_that_cannot_be_matched_leaves_nothing_in_between(self):
        broken = self.make_broken_tier()
        lab.wait_until_tiers_are_known()
        volume = self.make_volume(imageRef=self.make_image(broken))
        # As if its type had been asked for: Cinder cannot match that either.
        self.assertEqual(('error', broken, None), self.place_of(volume.id))
