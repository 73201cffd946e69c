# SPDX-License-Identifier: Apache-2.0

"""A type that an apply has not opened yet, with a real cinder-scheduler."""

from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.doors.volume_types import applied
from tests.unit.scheduler import scheduler_case
from tests.worlds import cinder_fixture

KEY = 'c0ffee00-0000-4000-8000-000000000000'


class HalfMadeTestCase(scheduler_case.SchedulerTestCase):
    """It would take tag database, and be alone on the plain backend."""

    def add_half_made(self, name='new', projects=(), **specs):
        return self.cinder.add_type(
            name,
            projects=list(projects),
            description=cinder_state.HALF_MADE,
            **{
                'tiers_name': name,
                'volume_backend_name': 'plain',
                'tiers_tags': 'database',
                'tiers_priority': '90',
                'tiers_fallback': '<is> True',
                **specs,
            },
        )

    def test_it_takes_no_tag_and_closes_no_backend(self):
        self.apply_tiers()
        self.add_half_made()
        self.assert_lands_on(
            self.database,
            volume_type=self.follow,
            image_id=self.glance.add_image('database'),
        )
        self.assert_lands_on(self.general, volume_type=self.follow)
        # What is of no tier goes where it went before.
        self.assert_lands_on(
            self.plain, volume_type=self.cinder.add_type('unbound')
        )

    def test_the_tier_of_its_name_works_on(self):
        self.apply_tiers()
        self.cinder.delete_type(self.database_type)
        self.cinder.add_type(
            'renamed',
            tiers_name='database',
            tiers_tags='database',
            tiers_priority='20',
        )
        self.add_half_made('database')
        self.assert_lands_on(
            self.database,
            volume_type=self.follow,
            image_id=self.glance.add_image('database'),
        )

    def test_before_the_first_tier_cinder_places_all(self):
        """With no tier applied nothing is refused for want of one."""
        self.add_half_made()
        self.assert_lands_on(
            self.plain,
            volume_type=self.follow,
            image_id=self.glance.add_image(cinder_encryption_key_id=KEY),
        )
        state = applied.read_applied(self.cinder.user())
        self.assertEqual(((), ()), (state.tiers, state.marked))
        (sentence,) = state.unfinished
        self.assertIn("volume type 'new' is closed until", sentence)

    def test_its_description_alone_opens_no_private_backend(self):
        """An administrator may copy it to the type of a tier that works."""
        self.apply_tiers()
        self.add_half_made(
            'premium',
            projects=[cinder_fixture.PROJECT],
            tiers_tags='premium',
            tiers_fallback=None,
        )
        unbound = self.cinder.add_type('unbound')
        volume = self.cinder.create_volume(
            volume_type=unbound, project=cinder_fixture.OTHER_PROJECT
        )
        self.assertNotEqual(self.plain, volume.host)
        self.assert_lands_on(
            self.plain,
            volume_type=self.follow,
            image_id=self.glance.add_image('premium'),
        )
