# SPDX-License-Identifier: Apache-2.0

"""Whose volumes reach the backend of a private tier, which has most room.

With a real cinder-scheduler, where no tier is chosen: whatever is the cause,
a project without access does not land there.
"""

import json

from cinder import objects
import ddt

from tests.unit.scheduler import cloud_fixture
from tests.unit.scheduler import scheduler_case
from tests.worlds import cinder_fixture

PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT
KEY = 'c0ffee00-0000-4000-8000-000000000000'
BOOTS_FROM_SNAPSHOT = json.dumps(
    [{'source_type': 'snapshot', 'boot_index': 0, 'snapshot_id': KEY}]
)


class GuardTestCase(scheduler_case.SchedulerTestCase):
    """Tier premium is for one project only."""

    def setUp(self):
        super().setUp()
        self.apply_tiers()
        self.add_premium(PROJECT)

    def assert_guarded(self, backend=None, **request):
        """Who has access lands on the private tier, who has not elsewhere.

        :param backend: where the latter lands, on plain unless given
        """
        request.setdefault('volume_type', self.follow)
        self.assert_lands_on(self.premium, **request)
        self.assert_lands_on(
            backend or self.plain, project=OTHER_PROJECT, **request
        )


@ddt.ddt
class CauseTestCase(GuardTestCase):
    """Why no tier is chosen."""

    @ddt.data(
        {},
        {'on_no_access': 'refuse', 'on_error': 'fail'},
        {'trust_tags_of': 'all', 'on_error': 'pass'},
    )
    def test_a_property_of_the_image_opens_nothing(self, options):
        """It once made the place count as fixed, and it is a tenant's."""
        self.configure(**options)
        image = self.glance.add_image(
            owner=OTHER_PROJECT, block_device_mapping=BOOTS_FROM_SNAPSHOT
        )
        self.assert_lands_on(
            self.general,
            volume_type=self.follow,
            image_id=image,
            project=OTHER_PROJECT,
        )

    @ddt.data((), ('other',), ('premium',), None)
    def test_there_is_no_fallback_tier(self, tags):
        self.cinder.delete_type(self.general_type)
        self.assert_guarded(
            image_id=None
            if tags is None
            else (self.glance.add_image(*tags, visibility='public'))
        )

    def test_there_is_no_tier_but_private_ones(self):
        self.cinder.delete_type(self.general_type)
        self.cinder.delete_type(self.database_type)
        self.assert_guarded()
        self.assert_guarded(backup_id=KEY)

    def test_the_fallback_tier_cannot_be_read(self):
        self.cinder.delete_type(self.general_type)
        self.cinder.add_type(
            'general',
            volume_backend_name='tier-general',
            tiers_name='general',
            tiers_fallback='<is> True',
            tiers_priority='1O',
        )
        self.assert_guarded()

    def test_no_type_of_a_tier_can_be_read(self):
        for ident in (
            self.general_type,
            self.database_type,
            self.premium_type,
        ):
            self.cinder.delete_type(ident)
        self.cinder.add_type(
            'premium',
            projects=[PROJECT],
            volume_backend_name='tier-premium',
            tiers_name='premium',
            tiers_priority='high',
        )
        self.assert_guarded()

    def test_on_error_is_pass(self):
        self.configure(on_error='pass')
        self.assert_guarded(image_id=self.glance.answer(500))

    @ddt.data('fallback', 'pass')
    def test_our_own_code_fails(self, choice):
        self.configure(on_error=choice)
        self.add_odd_tier()
        self.assert_guarded(
            image_id=self.glance.add_image('odd', visibility='public')
        )
        self.assertEqual(2, len(self.lines('ERROR TierFilter failed')))

    @ddt.data('fallback', 'pass', 'fail')
    def test_the_tiers_were_never_read(self, choice):
        """Just after a restart, say; then all backends are closed."""
        self.configure(on_error=choice)
        self.execute('ALTER TABLE encryption RENAME TO away')
        for project in (PROJECT, OTHER_PROJECT):
            self.assert_refused(volume_type=self.follow, project=project)
        self.execute('ALTER TABLE away RENAME TO encryption')
        self.assert_lands_on(self.general, volume_type=self.follow)


@ddt.ddt
class BackendTestCase(GuardTestCase):
    """Which backends count as those of private tiers."""

    def setUp(self):
        super().setUp()
        self.cinder.delete_type(self.general_type)
        self.big = self.cinder.add_backend(
            'tier-big', free_capacity_gb=500, total_capacity_gb=1000
        )

    def add_big(self, projects=None):
        """Tier premium overflows into tier big."""
        self.cinder.delete_type(self.premium_type)
        self.cinder.add_type(
            'premium',
            projects=[PROJECT],
            tiers_name='premium',
            volume_backend_name='<or> tier-premium <or> tier-big',
            tiers_tags='premium',
            tiers_overflow='big',
        )
        self.cinder.add_type(
            'big',
            projects=projects,
            tiers_name='big',
            volume_backend_name='tier-big',
        )

    def test_not_those_of_a_public_tier_into_which_it_overflows(self):
        self.add_big()
        self.assert_guarded(self.big)

    def test_those_of_a_private_tier_into_which_it_overflows(self):
        self.add_big(projects=[PROJECT])
        self.assert_guarded()

    def test_not_those_of_a_private_tier_that_the_project_may_use(self):
        self.add_big(projects=[OTHER_PROJECT])
        self.assert_guarded(self.big)

    @ddt.data('premium - retired 1', 'premium - new')
    def test_those_of_a_type_that_is_no_tier_any_more_or_not_yet(self, name):
        self.cinder.delete_type(self.premium_type)
        for found, projects, backend in (
            ('premium', None, 'tier-big'),
            (name, [PROJECT], 'tier-premium'),
        ):
            self.cinder.add_type(
                found,
                projects,
                tiers_name='premium',
                volume_backend_name=backend,
            )
        self.assert_guarded(self.big)
        self.assertEqual([], self.lines('WARNING Tier ignored'))

    @ddt.data({'tiers_priority': 'high'}, {'tiers_name': 'database'})
    def test_those_of_a_type_that_cannot_be_read(self, specs):
        self.cinder.delete_type(self.premium_type)
        self.cinder.add_type(
            'premium',
            projects=[PROJECT],
            **{
                'volume_backend_name': 'tier-premium',
                'tiers_name': 'premium',
                **specs,
            },
        )
        self.assert_guarded(self.big)
        self.assertEqual(1, len(self.lines('WARNING Tier ignored')))

    def test_not_all_of_them_by_a_type_that_names_none(self):
        self.cinder.add_type('any', projects=[], tiers_name='any')
        self.assert_lands_on(
            self.big, volume_type=self.follow, project=OTHER_PROJECT
        )

    def test_not_those_of_a_private_type_of_no_tier(self):
        self.cinder.add_type(
            'mine', projects=[PROJECT], volume_backend_name='tier-big'
        )
        self.assert_lands_on(
            self.big, volume_type=self.follow, project=OTHER_PROJECT
        )


@ddt.ddt
class SlipTestCase(GuardTestCase):
    """A public type with the mark of a tier that names no backend."""

    @ddt.data(
        {},
        {'tiers_priority': 'high'},
        {'tiers_volume_backend_name': 'tier-premium'},
        {'multiattach': '<is> True'},
        {'free_capacity_gb': '>= 800'},
        {'volume_backend_name': '<in> prem'},
        {'volume_backend_name': ''},
    )
    def test_it_opens_nothing_and_is_named(self, specs):
        half = self.cinder.add_type(
            'half',
            **{
                'volume_backend_name': None,
                'tiers_name': 'half',
                'tiers_tags': 'half',
                'tiers_priority': '95',
                **specs,
            },
        )
        image = self.glance.add_image('half', visibility='public')
        for project in (PROJECT, OTHER_PROJECT):
            self.assert_lands_on(
                self.general,
                volume_type=self.follow,
                image_id=image,
                project=project,
            )
            for volume_type in (half, self.cinder.add_type(f'any-{project}')):
                volume = self.cinder.create_volume(
                    volume_type=volume_type, project=project
                )
                self.assertIn(volume.host, (None, self.plain))
        self.assert_lands_on(self.premium, volume_type=self.premium_type)
        (line,) = self.lines('WARNING Tier ignored')
        self.assertIn("volume type 'half'", line)

    def add_swift(self, **specs):
        """Two backends with a disk of their own; a private tier has one."""
        self.swift, self.rest = (
            self.cinder.add_backend(
                name, disk='nvme', free_capacity_gb=room, total_capacity_gb=999
            )
            for name, room in (('tier-swift', 950), ('rest', 60))
        )
        return self.cinder.add_type(
            'swift',
            projects=[PROJECT],
            **{'tiers_name': 'swift', 'tiers_priority': '40', **specs},
        )

    def test_nor_does_a_tier_by_what_its_backends_can_do(self):
        """It has what is left beside the private tiers."""
        self.add_swift()
        by_disk = self.cinder.add_type(
            'disk',
            volume_backend_name=None,
            tiers_name='disk',
            tiers_tags='disk',
            disk='nvme',
        )
        image = self.glance.add_image('disk', visibility='public')
        for request in (
            {'volume_type': self.follow, 'image_id': image},
            {'volume_type': by_disk},
        ):
            self.assert_lands_on(self.rest, project=OTHER_PROJECT, **request)
        self.assert_lands_on(self.rest, volume_type=by_disk)
        self.assertEqual([], self.lines('Tier ignored'))

    def test_a_private_tier_by_what_its_backends_can_do(self):
        swift = self.add_swift(volume_backend_name=None, disk='nvme')
        self.assert_lands_on(self.swift, volume_type=swift)
        for project in (PROJECT, OTHER_PROJECT):
            self.assert_lands_on(
                self.plain,
                volume_type=self.cinder.add_type(f'any-{project}'),
                project=project,
            )


class WhoTestCase(GuardTestCase):
    def test_an_administrator_may_use_every_backend(self):
        self.cinder.delete_type(self.general_type)
        for volume_type in (self.follow, self.cinder.add_type('any')):
            self.assert_lands_on(
                self.premium,
                volume_type=volume_type,
                project=OTHER_PROJECT,
                user=self.cinder.user(OTHER_PROJECT, role='admin'),
            )

    def test_the_project_of_the_volume_counts(self):
        self.cinder.delete_type(self.general_type)
        self.assert_lands_on(
            self.plain,
            volume_type=self.follow,
            project=OTHER_PROJECT,
            user=self.cinder.user(),
        )


@ddt.ddt
class UnboundTypeTestCase(GuardTestCase):
    """A type that names no backend, as Cinder's own `__DEFAULT__`."""

    def setUp(self):
        super().setUp()
        self.any_type = self.cinder.add_type('any')

    def assert_closed(self, **request):
        """Neither who has access lands on the private tier, nor who not.

        Of a volume there the former could make the latter a present.
        """
        for project in (PROJECT, OTHER_PROJECT):
            self.assert_lands_on(
                self.plain,
                volume_type=self.any_type,
                project=project,
                **request,
            )

    def test_a_create(self):
        self.assert_closed()
        self.assert_closed(image_id=self.glance.add_image('premium'))
        self.assertEqual([], self.records())

    def test_a_snapshot_that_fixes_no_place(self):
        self.assert_closed(snapshot_id=KEY)

    def test_a_type_that_asks_for_a_capability(self):
        self.any_type = self.cinder.add_type(
            'roomy', total_capacity_gb='>= 1000'
        )
        self.assert_closed()

    def test_not_a_backend_that_a_public_tier_shares(self):
        self.cinder.add_type(
            'shared', tiers_name='shared', volume_backend_name='tier-premium'
        )
        for project in (PROJECT, OTHER_PROJECT):
            self.assert_lands_on(
                self.premium, volume_type=self.any_type, project=project
            )

    def test_nor_the_tiers_own_type(self):
        self.assert_lands_on(self.premium, volume_type=self.premium_type)

    def test_no_other_backend_is_left(self):
        self.any_type = self.cinder.add_type(
            'fastest', free_capacity_gb='>= 800'
        )
        for project in (PROJECT, OTHER_PROJECT):
            self.assert_refused(volume_type=self.any_type, project=project)

    def sources(self, volume_type):
        """Parts of the request spec of a copy of a volume of a type."""
        volume = self.cinder.add_volume(volume_type=volume_type)
        snapshot = objects.Snapshot(
            context=self.cinder.admin,
            volume_id=volume.id,
            volume_type_id=volume_type,
            project_id=PROJECT,
            volume_size=1,
        )
        snapshot.create()
        return {'source_volid': volume.id}, {'snapshot_id': snapshot.id}

    def test_a_copy_lies_where_its_source_is(self):
        for source in (*self.sources(self.any_type), {'group_id': KEY}):
            self.assert_lands_on(
                self.premium,
                volume_type=self.any_type,
                project=OTHER_PROJECT,
                resource_backend=self.premium,
                **source,
            )

    def test_but_not_with_another_type_than_that(self):
        """Cinder takes one where a single cinder-volume is disabled."""
        gone = ({'source_volid': KEY}, {'snapshot_id': KEY})
        for source in (*self.sources(self.premium_type), *gone):
            for project in (PROJECT, OTHER_PROJECT):
                self.assert_closed_copy(project, source)

    def assert_closed_copy(self, project, source):
        volume = self.cinder.create_volume(
            volume_type=self.any_type,
            project=project,
            resource_backend=self.premium,
            **source,
        )
        self.assertNotEqual(self.premium, volume.host)

    def test_a_type_that_names_a_backend_is_the_operators_word(self):
        named = self.cinder.add_type(
            'named', volume_backend_name='tier-premium'
        )
        self.assert_lands_on(
            self.premium, volume_type=named, project=OTHER_PROJECT
        )

    def test_a_group(self):
        cloud = self.useFixture(cloud_fixture.Cloud(self.cinder))
        for project, volume_type, backend in (
            (PROJECT, self.any_type, self.plain),
            (OTHER_PROJECT, self.any_type, self.plain),
            # The type of the group itself names no backend, either.
            (PROJECT, self.premium_type, self.premium),
        ):
            group = cloud.create_group(
                volume_type, user=self.cinder.user(project)
            )
            self.assertEqual(
                ('available', backend), (group.status, group.host)
            )

    @ddt.data('group_id', 'consistencygroup_id')
    def test_a_volume_of_a_group_on_a_backend_with_a_private_pool(self, key):
        self.cinder.add_backend(
            'multi',
            pools=[
                {
                    'pool_name': name,
                    'total_capacity_gb': total,
                    'free_capacity_gb': total,
                    'reserved_percentage': 0,
                }
                for name, total in (('fast', 5000), ('slow', 2000))
            ],
        )
        self.cinder.add_type(
            'gold',
            projects=[PROJECT],
            tiers_name='gold',
            pool_name='fast',
            volume_backend_name=None,
        )
        for volume_type, project, pool in (
            (self.any_type, PROJECT, 'slow'),
            (self.any_type, OTHER_PROJECT, 'slow'),
            (self.follow, PROJECT, 'fast'),
            (self.follow, OTHER_PROJECT, 'slow'),
        ):
            self.assert_lands_on(
                f'node@multi#{pool}',
                volume_type=volume_type,
                project=project,
                resource_backend='node@multi',
                **{key: KEY},
            )

    def test_the_tiers_were_never_read(self):
        self.execute('ALTER TABLE encryption RENAME TO away')
        self.assert_refused(volume_type=self.any_type)


class EncryptionTestCase(GuardTestCase):
    """A volume of an image that brings a key has one, or is refused."""

    def volume(self, image_id, **properties):
        return self.cinder.create_volume(
            volume_type=self.follow,
            image_id=image_id,
            volume_properties=objects.VolumeProperties(
                size=1,
                project_id=PROJECT,
                user_id='user',
                availability_zone='nova',
                volume_type_id=self.follow,
                **properties,
            ),
        )

    def assert_needs_key(self, image_id):
        volume = self.volume(image_id)
        self.assertEqual(('error', None), (volume.status, volume.host))
        self.assertIn(
            'key_needed',
            {reason['rule'] for reason in self.records()[-1]['reasons']},
        )
        volume = self.volume(image_id, encryption_key_id=KEY)
        self.assertEqual(
            ('creating', self.database), (volume.status, volume.host)
        )

    def test_an_image_that_brings_a_key(self):
        self.assert_needs_key(
            self.glance.add_image('database', cinder_encryption_key_id=KEY)
        )

    def test_an_image_that_names_an_encrypted_type(self):
        self.cinder.add_encryption(self.cinder.add_type('luks'))
        self.assert_needs_key(
            self.glance.add_image('database', cinder_img_volume_type='luks')
        )

    def test_an_image_without_a_key(self):
        volume = self.volume(self.glance.add_image('database'))
        self.assertEqual(
            ('creating', self.database), (volume.status, volume.host)
        )
