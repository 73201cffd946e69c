# SPDX-License-Identifier: Apache-2.0


"""Where new volumes land when a real cinder-scheduler runs TierFilter.

Every test looks at the volume afterwards: at its host, which is
host@backend#pool, and at its status. Which rule applies is the business of
tests/cases/placement.
"""

from cinder.db import api as db_api
from cinder import objects
from cinder.volume import volume_types
import ddt
import sqlalchemy

from tests.unit.scheduler import scheduler_case
from tests.worlds import cinder_fixture

PROJECT = cinder_fixture.PROJECT
OTHER_PROJECT = cinder_fixture.OTHER_PROJECT


class CreateTestCase(scheduler_case.SchedulerTestCase):
    def setUp(self):
        super().setUp()
        self.apply_tiers()

    def test_a_tagged_image_lands_on_the_tier_of_its_tag(self):
        image = self.glance.add_image('database')
        self.assert_lands_on(
            self.database, volume_type=self.follow, image_id=image
        )

    def test_an_untagged_image_lands_on_the_fall_back_tier(self):
        image = self.glance.add_image()
        self.assert_lands_on(
            self.general, volume_type=self.follow, image_id=image
        )

    def test_a_blank_volume_lands_on_the_fall_back_tier(self):
        self.assert_lands_on(self.general, volume_type=self.follow)

    def test_a_blank_volume_lands_where_its_metadata_say(self):
        metadata = {'tier': ' Database', 'other': 'general'}
        self.assert_lands_on(
            self.general, volume_type=self.follow, metadata=metadata
        )
        self.configure(metadata_key='tier')
        self.assert_lands_on(
            self.database, volume_type=self.follow, metadata=metadata
        )
        image = self.glance.add_image()
        for counts, backend in ((False, self.general), (True, self.database)):
            self.configure(metadata_with_image=counts)
            self.assert_lands_on(
                backend,
                volume_type=self.follow,
                metadata=metadata,
                image_id=image,
            )

    def test_metadata_enter_no_private_tier(self):
        self.add_premium(PROJECT)
        self.configure(metadata_key='tier')
        for project, backend in (
            (PROJECT, self.premium),
            (OTHER_PROJECT, self.general),
        ):
            self.assert_lands_on(
                backend,
                volume_type=self.follow,
                project=project,
                metadata={'tier': 'premium'},
            )

    def test_a_request_may_say_that_it_is_a_create(self):
        """Whether it does depends on how it came in."""
        self.assert_lands_on(
            self.database,
            volume_type=self.follow,
            image_id=self.glance.add_image('database'),
            operation='create_volume',
        )

    def test_of_several_tags_the_highest_priority_counts(self):
        middle = self.cinder.add_backend('tier-middle')
        self.cinder.add_type(
            'middle',
            volume_backend_name='tier-middle',
            tiers_name='middle',
            tiers_tags='web,middle',
            tiers_priority='10',
        )
        self.assert_lands_on(
            self.database,
            volume_type=self.follow,
            image_id=self.glance.add_image('any', 'web', 'database'),
        )
        self.assert_lands_on(
            middle,
            volume_type=self.follow,
            image_id=self.glance.add_image('any', 'MIDDLE'),
        )

    def test_a_tier_can_have_several_backends(self):
        """Which those are is Cinder's own matching of extra specs."""
        more = self.cinder.add_backend('tier-database-2')
        self.cinder.add_type(
            'wide',
            tiers_name='wide',
            tiers_tags='wide',
            tiers_priority='5',
            volume_backend_name='<or> tier-database <or> tier-database-2',
        )
        self.assert_lands_on(
            more,
            volume_type=self.follow,
            image_id=self.glance.add_image('wide'),
        )

    def test_a_full_tier_takes_no_volume_and_no_other_tier_does(self):
        self.cinder.add_backend('tier-full', free_capacity_gb=0)
        self.cinder.add_type(
            'full',
            tiers_name='full',
            tiers_tags='full',
            volume_backend_name='tier-full',
        )
        self.assert_refused(
            volume_type=self.follow, image_id=self.glance.add_image('full')
        )

    def test_a_tier_that_cannot_be_read_does_not_disturb_the_others(self):
        self.cinder.add_type(
            'broken',
            tiers_name='broken',
            tiers_tags='database',
            tiers_priority='high',
            volume_backend_name='plain',
        )
        self.cinder.add_type(
            'database-again',
            tiers_name='database',
            tiers_tags='database',
            tiers_priority='99',
            volume_backend_name='plain',
        )
        for _ in range(2):
            self.assert_lands_on(
                self.database,
                volume_type=self.follow,
                image_id=self.glance.add_image('database'),
            )
        broken, again = self.lines('WARNING Tier ignored:')
        self.assertIn("volume type of tier 'broken'", broken)
        self.assertIn("volume type 'database-again'", again)

    def test_a_request_costs_one_call_with_the_token_of_the_user(self):
        image = self.glance.add_image('database')
        for _ in range(3):
            self.create_from(image)
        self.assertEqual(
            [(f'/v2/images/{image}', 'token-of-user')], self.glance.requests
        )

    def test_before_the_first_apply_cinder_alone_decides(self):
        for type_id in (self.database_type, self.general_type):
            volume_types.destroy(self.cinder.admin, type_id)
        image = self.glance.add_image('database')
        self.assert_lands_on(
            self.plain, volume_type=self.follow, image_id=image
        )
        self.assert_lands_on(self.plain)
        self.assertEqual([], self.glance.requests)
        self.assertEqual([], self.records())

    def test_a_restored_backup_lands_on_the_fall_back_tier(self):
        volume = self.cinder.create_volume()
        self.assert_lands_on(
            self.general, volume_type=self.follow, backup_id=volume.id
        )


class NamedTypeTestCase(scheduler_case.SchedulerTestCase):
    """Who names a type that does not follow the image gets it."""

    def setUp(self):
        super().setUp()
        self.apply_tiers()
        self.image = self.glance.add_image('database')

    def test_an_explicit_type_is_left_alone(self):
        explicit = self.cinder.add_type('plain', volume_backend_name='plain')
        self.assert_lands_on(
            self.plain, volume_type=explicit, image_id=self.image
        )

    def test_a_type_without_a_backend_is_left_alone(self):
        """Cinder's own default type, say: only a marked type follows."""
        explicit = self.cinder.add_type('any')
        self.assert_lands_on(
            self.plain, volume_type=explicit, image_id=self.image
        )

    def test_the_type_of_a_tier_can_be_asked_for(self):
        self.assert_lands_on(
            self.database,
            volume_type=self.database_type,
            image_id=self.glance.add_image(),
        )

    def test_an_explicit_type_costs_nothing(self):
        statements = []
        sqlalchemy.event.listen(
            self.cinder.engine,
            'before_cursor_execute',
            lambda *arguments: statements.append(arguments[2]),
        )

        def ours():
            # Of all types, which Cinder has no reason to read here.
            return [text for text in statements if 'FROM encryption' in text]

        self.assert_lands_on(
            self.database, volume_type=self.database_type, image_id=self.image
        )
        self.assertEqual([], self.glance.requests)
        self.assertEqual([], ours())
        self.assertEqual([], self.records())
        # That this is how it would show:
        self.create_from(self.image)
        self.assertEqual(1, len(self.glance.requests))
        self.assertEqual(1, len(ours()))

    def test_cinders_default_type_counts_as_if_it_had_been_asked_for(self):
        self.cinder.conf.config(default_volume_type='image-tier')
        self.assert_lands_on(self.general)
        self.assert_lands_on(self.database, image_id=self.image)
        self.cinder.conf.config(default_volume_type='general')
        self.assert_lands_on(self.general, image_id=self.image)

    def test_the_default_type_of_the_project_was_resolved_before(self):
        self.cinder.conf.config(default_volume_type='image-tier')
        for default, backend in (
            (self.general_type, self.general),
            (self.follow, self.database),
        ):
            db_api.project_default_volume_type_set(
                self.cinder.admin, default, PROJECT
            )
            resolved = volume_types.get_default_volume_type(self.cinder.user())
            self.assertEqual(default, resolved['id'])
            self.assert_lands_on(
                backend, volume_type=resolved['id'], image_id=self.image
            )

    def test_a_volume_without_any_type_follows_the_image(self):
        for image, backend in (
            (self.image, self.database),
            (self.glance.add_image(), self.general),
            (
                self.glance.add_image(
                    'database', cinder_img_volume_type='general'
                ),
                self.plain,
            ),
            (
                self.glance.add_image(
                    'database', cinder_img_volume_type='image-tier'
                ),
                self.database,
            ),
            # Cinder refuses such a type where it counts.
            (
                self.glance.add_image(cinder_img_volume_type='\r\nno type'),
                self.plain,
            ),
        ):
            volume = self.cinder.add_volume()
            self.cinder.manager.create_volume(
                self.cinder.user(),
                volume,
                image_id=image,
                filter_properties={},
                request_spec=self.cinder.request_spec(
                    volume, volume_type=None, image_id=image
                ),
            )
            volume = objects.Volume.get_by_id(self.cinder.admin, volume.id)
            self.assertEqual(backend, volume.host)


class ProjectTestCase(scheduler_case.SchedulerTestCase):
    """Whose images count, and who may use a tier."""

    def setUp(self):
        super().setUp()
        self.apply_tiers()

    def test_trust_tags_of(self):
        """The rule is in tests/cases/placement; here, that it is asked."""
        for trust, owner, visibility, backend in (
            ('own', PROJECT, 'private', self.database),
            ('own', OTHER_PROJECT, 'public', self.general),
            ('own_and_public', OTHER_PROJECT, 'public', self.database),
            ('own_and_public', OTHER_PROJECT, 'shared', self.general),
            ('all', OTHER_PROJECT, 'shared', self.database),
        ):
            self.configure(trust_tags_of=trust)
            image = self.glance.add_image(
                'database', owner=owner, visibility=visibility
            )
            self.assertEqual(
                backend, self.create_from(image).host, (trust, visibility)
            )

    def test_a_private_tier_serves_only_projects_with_access(self):
        self.add_premium(PROJECT)
        image = self.glance.add_image('premium', visibility='public')
        self.assert_lands_on(
            self.premium, volume_type=self.follow, image_id=image
        )
        self.assert_lands_on(
            self.general,
            volume_type=self.follow,
            image_id=image,
            project=OTHER_PROJECT,
        )

    def test_an_administrator_may_use_every_tier(self):
        self.add_premium()
        image = self.glance.add_image('premium', visibility='public')
        self.assert_lands_on(
            self.premium,
            volume_type=self.follow,
            image_id=image,
            user=self.cinder.user(role='admin'),
        )

    def test_on_no_access_refuse(self):
        self.configure(on_no_access='refuse')
        self.add_premium(PROJECT)
        image = self.glance.add_image('premium', visibility='public')
        self.assert_lands_on(
            self.premium, volume_type=self.follow, image_id=image
        )
        self.assert_refused(
            volume_type=self.follow, image_id=image, project=OTHER_PROJECT
        )

    def test_a_revoked_access_counts_at_once(self):
        self.configure(applied_cache_seconds=600)
        self.add_premium(PROJECT)
        image = self.glance.add_image('premium', 'database')
        self.assert_lands_on(
            self.premium, volume_type=self.follow, image_id=image
        )
        volume_types.remove_volume_type_access(
            self.cinder.admin, self.premium_type, PROJECT
        )
        self.assert_lands_on(
            self.database, volume_type=self.follow, image_id=image
        )

    def test_a_project_that_may_not_use_the_fall_back_is_refused(self):
        volume_types.destroy(self.cinder.admin, self.general_type)
        self.cinder.add_type(
            'general',
            projects=[PROJECT],
            tiers_name='general',
            volume_backend_name='tier-general',
            tiers_fallback='<is> True',
        )
        self.assert_lands_on(self.general, volume_type=self.follow)
        self.assert_refused(volume_type=self.follow, project=OTHER_PROJECT)


@ddt.ddt
class FixedPlaceTestCase(scheduler_case.SchedulerTestCase):
    """Where there is nothing to choose."""

    def setUp(self):
        super().setUp()
        self.apply_tiers()

    @ddt.data('snapshot_id', 'source_volid')
    def test_clones_and_snapshots_go_where_their_source_is(self, source):
        volume = self.cinder.create_volume(volume_type=self.follow)
        self.assert_lands_on(
            self.database,
            volume_type=self.follow,
            resource_backend=self.database,
            **{source: volume.id},
        )

    @ddt.data('database', 'general')
    def test_a_snapshot_that_fixes_no_place_stands_for_its_image(self, tier):
        """Cinder's snapshot_same_host = False."""
        source = self.cinder.create_volume(volume_type=self.follow)
        snapshot = objects.Snapshot(
            context=self.cinder.admin,
            volume_id=source.id,
            volume_size=1,
            project_id=source.project_id,
            user_id='user',
            status='available',
        )
        snapshot.create()
        if tier == 'database':
            db_api.volume_glance_metadata_create(
                self.cinder.admin,
                source.id,
                'image_id',
                self.glance.add_image('database'),
            )
            db_api.volume_glance_metadata_copy_to_snapshot(
                self.cinder.admin, snapshot.id, source.id
            )
        self.assert_lands_on(
            getattr(self, tier),
            volume_type=self.follow,
            snapshot_id=snapshot.id,
        )

    @ddt.data('group_id', 'consistencygroup_id')
    def test_a_member_of_a_group_goes_where_its_group_is(self, key):
        self.assert_lands_on(
            self.plain,
            volume_type=self.follow,
            resource_backend='node@plain',
            image_id=self.glance.add_image('database'),
            **{key: 'c0ffee00-0000-4000-8000-000000000000'},
        )
        self.assertEqual([], self.glance.requests)

    @ddt.data(('database', 'database'), (None, 'general'))
    @ddt.unpack
    def test_an_image_that_names_a_snapshot_goes_to_its_tier(self, tag, tier):
        """Nova's image of a server that booted from a volume.

        Where Cinder takes the snapshot instead (from 3.46 on), no image
        reaches the scheduler. The property is any tenant's to write.
        """
        image = self.glance.add_image(
            *[tag] if tag else (),
            block_device_mapping='[{"source_type": "snapshot", '
            '"boot_index": 0, "snapshot_id": "s"}]',
        )
        self.assert_lands_on(
            getattr(self, tier), volume_type=self.follow, image_id=image
        )


class RescheduleTestCase(scheduler_case.SchedulerTestCase):
    """What cinder-volume could not create comes back to the scheduler."""

    filters = [*cinder_fixture.FILTERS, 'IgnoreAttemptedHostsFilter']

    def setUp(self):
        super().setUp()
        self.apply_tiers()
        self.other = self.cinder.add_backend(
            'tier-database-2', free_capacity_gb=40
        )
        self.cinder.add_type(
            'wide',
            tiers_name='wide',
            tiers_tags='wide',
            tiers_priority='5',
            volume_backend_name='<or> tier-database <or> tier-database-2',
        )

    def test_each_backend_of_the_tier_is_tried_and_no_other(self):
        image = self.glance.add_image('wide')
        volume = self.cinder.add_volume(volume_type=self.follow)
        # Cinder casts both back to the scheduler as they are.
        properties, spec = {}, self.cinder.request_spec(volume, image_id=image)
        for expected in (
            ('creating', self.database),
            ('creating', self.other),
            ('error', None),
        ):
            # As OnFailureRescheduleTask of cinder-volume does it.
            volume.update({'host': None})
            volume.save()
            self.cinder.manager.create_volume(
                self.cinder.user(),
                volume,
                request_spec=spec,
                filter_properties=properties,
            )
            volume = objects.Volume.get_by_id(self.cinder.admin, volume.id)
            self.assertEqual(expected, (volume.status, volume.host))
