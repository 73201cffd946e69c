# SPDX-License-Identifier: Apache-2.0

"""Which existing volumes come to the backend of a private tier.

Each request goes through Cinder's own API to a real cinder-scheduler.
"""

from cinder import exception
import ddt

from cinder_tiers.doors import door
from tests.unit.scheduler import test_request
from tests.worlds import cinder_fixture

PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT


class GuardTestCase(test_request.OperationsTestCase):
    """Tier premium, for one project only, has most room."""

    def setUp(self):
        super().setUp()
        self.plain_type = self.cinder.add_type(
            'plain', volume_backend_name='plain'
        )
        self.other = self.cinder.user(OTHER_PROJECT)

    def add_other(self, *tags, backend=None, **request):
        """A volume of the project without access to the private tier."""
        volume = self.add_volume(*tags, project=OTHER_PROJECT, **request)
        if backend:
            volume.host = backend
            volume.save()
        return volume

    def assert_retyped(self, backend, volume, name, **request):
        """It gets the type, and is on a backend afterwards."""
        moved = self.cloud.retype(volume, name, **request)
        self.assertEqual(
            ('available', backend, name),
            (moved.status, moved.host, moved.volume_type.name),
        )

    def assert_not_retyped(self, volume, name, user):
        """Neither Cinder's API nor its scheduler lets it get the type.

        Cinder looks the type up with the rights of an administrator; that it
        finds no quota of it for a member is what its API refuses (29.0.0).
        """
        before = (volume.host, volume.volume_type_id)
        self.assertRaises(
            exception.VolumeTypeNotFound,
            self.cloud.retype,
            volume,
            name,
            user=user,
        )
        moved = self.cloud.schedule_retype(volume, name, user)
        self.assertEqual(
            ('available', *before),
            (moved.status, moved.host, moved.volume_type_id),
        )


class MigrateTestCase(GuardTestCase):
    """An administrator who moves a volume lends it no rights."""

    def assert_guarded(self, volume):
        self.assert_cannot_move(volume, self.premium)
        self.assert_can_move(volume, self.general)

    def test_without_a_fallback_tier(self):
        self.cinder.delete_type(self.general_type)
        self.assert_guarded(self.add_other(backend=self.plain))

    def test_when_the_image_is_gone(self):
        volume = self.add_other('database')
        del self.glance.images[self.image_id]
        door.forget()
        self.assert_guarded(volume)

    def test_when_our_own_code_fails(self):
        self.add_odd_tier()
        self.assert_guarded(self.add_other('odd'))

    def test_a_volume_of_a_project_with_access(self):
        self.cinder.delete_type(self.general_type)
        volume = self.add_volume()
        volume.host = self.plain
        volume.save()
        self.assert_can_move(volume, self.premium)


@ddt.ddt
class RetypeTestCase(GuardTestCase):
    def test_a_member_without_access_does_not_get_a_private_tier(self):
        volume = self.add_other(volume_type=self.plain_type)
        for ident in ('premium', self.premium_type):
            self.assert_not_retyped(volume, ident, self.other)

    def test_a_member_with_access_does(self):
        volume = self.add_volume(volume_type=self.plain_type)
        self.assert_retyped(
            self.premium, volume, 'premium', user=self.cinder.user()
        )

    def test_an_administrator_may_give_it(self):
        volume = self.add_other(volume_type=self.plain_type)
        self.assert_retyped(self.premium, volume, 'premium')

    def test_a_private_type_of_no_tier_is_left_to_cinder(self):
        self.cinder.add_type(
            'mine', [PROJECT], volume_backend_name='tier-general'
        )
        volume = self.add_other(volume_type=self.plain_type)
        moved = self.cloud.schedule_retype(volume, 'mine', self.other)
        self.assertEqual(
            (self.general, 'mine'), (moved.host, moved.volume_type.name)
        )

    @ddt.data('fallback', 'pass')
    def test_while_the_tiers_were_never_read(self, choice):
        self.configure(on_error=choice)
        volume = self.add_other(volume_type=self.plain_type)
        door.forget()
        self.execute('ALTER TABLE encryption RENAME TO away')
        self.assert_not_retyped(volume, 'premium', self.other)
        self.assert_retyped(self.database, volume, 'database', user=self.other)
        self.assert_retyped(self.premium, volume, 'premium')

    def test_to_a_private_type_that_follows_the_image(self):
        """What follows is decided, whoever may use the type."""
        self.cinder.add_type(
            'follow-too', [OTHER_PROJECT], tiers_follow_image='<is> True'
        )
        volume = self.add_other(
            'database', backend=self.premium, volume_type=self.plain_type
        )
        self.assert_retyped(
            self.database, volume, 'follow-too', user=self.other
        )

    def test_to_a_private_type_that_names_no_backend(self):
        self.cinder.add_type('any', [OTHER_PROJECT])
        volume = self.add_other(
            backend=self.premium, volume_type=self.plain_type
        )
        self.assert_retyped(self.plain, volume, 'any', user=self.other)

    def test_to_a_type_that_names_no_backend(self):
        self.cinder.add_type('any')
        volume = self.add_other(
            backend=self.premium, volume_type=self.plain_type
        )
        self.assert_retyped(self.plain, volume, 'any')
        # An administrator may leave it there, and its owner may not.
        volume = self.add_volume(volume_type=self.premium_type)
        self.assert_retyped(self.plain, volume, 'any', user=self.cinder.user())
        volume = self.add_volume(volume_type=self.premium_type)
        self.assert_retyped(self.premium, volume, 'any')

    def test_without_a_fallback_tier(self):
        self.cinder.delete_type(self.general_type)
        volume = self.add_other(
            backend=self.premium, volume_type=self.plain_type
        )
        self.assert_retyped(self.plain, volume, 'image-tier')
