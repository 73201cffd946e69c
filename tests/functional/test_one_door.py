# SPDX-License-Identifier: Apache-2.0
"""Either door works alone, and a volume that follows its image stays there.

With the API door closed volumes keep the type image-tier: it is then the
scheduler door that must tell their tier from their image, for as long as they
live.
"""

from tests.functional import lab
from tests.functional import volumes

DATABASE = 'cinder-tiers-guest-database'
UNTAGGED = 'cinder-tiers-guest'
FOLLOWS = 'image-tier'


class SchedulerDoorAloneTest(volumes.VolumesTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lab.change_cinder_for_class(cls, volumes.API_DOOR_CLOSED, 'cinder-api')

    def test_it_places_volumes_that_follow_their_image(self):
        for image, pool in (
            (DATABASE, 'tier-database'),
            (UNTAGGED, 'tier-general'),
        ):
            volume = self.make_volume(imageRef=self.image_of_lab(image))
            self.assertEqual(
                ('available', FOLLOWS, pool), self.place_of(volume.id)
            )
        self.assertEqual(
            ('available', FOLLOWS, 'tier-general'),
            self.place_of(self.make_volume().id),
        )

    def test_a_volume_that_follows_its_image_is_worked_on_in_its_place(self):
        volume = self.make_volume(imageRef=self.image_of_lab(DATABASE))
        self.assert_worked_on(volume, FOLLOWS, 'tier-database')

    def test_a_migration_away_from_the_tier_of_the_image_is_refused(self):
        volume = self.make_volume(imageRef=self.image_of_lab(DATABASE))
        refused = self.migrate(volume.id, 'tier-general')
        self.assertEqual(
            'error', getattr(refused, 'os-vol-mig-status-attr:migstat')
        )
        self.assertEqual(
            ('available', FOLLOWS, 'tier-database'), self.place_of(volume.id)
        )

    def test_a_retype_takes_the_volume_off_its_image(self):
        volume = self.make_volume(imageRef=self.image_of_lab(DATABASE))
        self.retype(volume.id, 'database')
        self.assertEqual(
            ('available', 'database', 'tier-database'),
            self.place_of(volume.id),
        )

    def test_an_error_of_ours_leaves_nothing_in_between(self):
        broken = self.make_broken_tier()
        image = self.make_image('database')
        other = self.make_type('follows', {'tiers:follow_image': '<is> True'})
        lab.wait_until_tiers_are_known()
        volume = self.make_volume(imageRef=image)
        self.assertEqual('tier-database', self.place_of(volume.id)[2])
        # from now on TierFilter raises for this volume
        self.member.image.add_tag(image, broken)
        lab.wait_until_tags_are_known()
        self.migrate(volume.id, 'tier-general')
        self.assertEqual(
            ('available', FOLLOWS, 'tier-general'), self.place_of(volume.id)
        )
        self.retype(volume.id, other)
        self.assert_worked_on(volume, other, 'tier-general')
        self.assertEqual('available', self.make_volume(imageRef=image).status)


class ApiDoorAloneTest(volumes.VolumesTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lab.change_cinder_for_class(
            cls, volumes.SCHEDULER_DOOR_CLOSED, 'cinder-scheduler'
        )

    def test_it_places_volumes_by_the_type_of_their_tier(self):
        for image, tier in ((DATABASE, 'database'), (UNTAGGED, 'general')):
            volume = self.make_volume(imageRef=self.image_of_lab(image))
            self.assertEqual(
                ('available', tier, f'tier-{tier}'), self.place_of(volume.id)
            )
        self.assertEqual(
            ('available', 'general', 'tier-general'),
            self.place_of(self.make_volume().id),
        )
