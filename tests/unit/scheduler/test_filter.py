# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Where volumes land when a real cinder-scheduler runs TierFilter.

Every test looks at the volume afterwards: at its host, which is
host@backend#pool, and at its status. Which rule applies is the business of
tests/cases/placement.
"""

import threading
import time

from cinder import exception
from cinder import objects
import ddt
import fixtures
import testtools

from cinder_tiers.scheduler import filter as tier_filter
from tests.unit.scheduler import scheduler_fixture

PROJECT = scheduler_fixture.PROJECT
OTHER_PROJECT = scheduler_fixture.OTHER_PROJECT


class SchedulerTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s'))
        self.cinder = self.useFixture(scheduler_fixture.Scheduler())
        self.glance = self.cinder.glance
        # The plain backend has the most room: without us it takes all.
        self.plain = self.cinder.add_backend('plain', free_capacity_gb=99,
                                             total_capacity_gb=1000)
        self.database = self.cinder.add_backend('tier-database',
                                                free_capacity_gb=50)
        self.general = self.cinder.add_backend('tier-general',
                                               free_capacity_gb=50)
        self.follow = self.cinder.add_type('image-tier',
                                           tiers_follow_image='<is> True')

    def apply_tiers(self):
        self.database_type = self.cinder.add_type(
            'database', volume_backend_name='tier-database',
            tiers_name='database', tiers_tags='database',
            tiers_priority='20')
        self.general_type = self.cinder.add_type(
            'general', volume_backend_name='tier-general',
            tiers_name='general', tiers_fallback='<is> True')

    def configure(self, **options):
        self.cinder.conf.config(group='cinder_tiers', **options)

    def assert_lands_on(self, backend, **request):
        volume = self.cinder.create_volume(**request)
        self.assertEqual(('creating', backend), (volume.status, volume.host))

    def assert_refused(self, **request):
        volume = self.cinder.create_volume(**request)
        self.assertEqual(('error', None), (volume.status, volume.host))

    def lines(self, text):
        """Lines of the log that hold a text."""
        return [line for line in self.log.output.splitlines() if text in line]


@ddt.ddt
class CreateTestCase(SchedulerTestCase):

    def setUp(self):
        super().setUp()
        self.apply_tiers()

    def test_a_tagged_image_lands_on_the_tier_of_its_tag(self):
        image = self.glance.add_image('database')
        self.assert_lands_on(self.database, volume_type=self.follow,
                             image_id=image)

    def test_an_untagged_image_lands_on_the_fall_back_tier(self):
        image = self.glance.add_image()
        self.assert_lands_on(self.general, volume_type=self.follow,
                             image_id=image)

    def test_a_blank_volume_lands_on_the_fall_back_tier(self):
        self.assert_lands_on(self.general, volume_type=self.follow)

    def test_without_a_type_the_default_type_counts(self):
        self.cinder.conf.config(default_volume_type='image-tier')
        self.assert_lands_on(self.general)
        self.assert_lands_on(self.database,
                             image_id=self.glance.add_image('database'))

    def test_a_request_that_names_no_type_at_all_follows_the_image(self):
        # Whether a create carries its operation depends on how it came in.
        for nothing, operation in ((None, None), ({}, 'create_volume')):
            create = tier_filter.read_create({
                'context': self.cinder.user(), 'resource_type': nothing,
                'request_spec': {'volume_id': 'v', 'operation': operation,
                                 'volume_properties': {}}})
            self.assertTrue(create.follows_image)

    def test_an_explicit_type_is_left_alone(self):
        explicit = self.cinder.add_type('plain', volume_backend_name='plain')
        image = self.glance.add_image('database')
        self.assert_lands_on(self.plain, volume_type=explicit, image_id=image)
        self.assertEqual([], self.glance.requests)

    def test_a_type_without_a_backend_is_left_alone(self):
        """Cinder's own default type, say: only a marked type follows."""
        explicit = self.cinder.add_type('any')
        self.assert_lands_on(self.plain, volume_type=explicit,
                             image_id=self.glance.add_image('database'))

    def test_the_type_of_a_tier_can_be_asked_for(self):
        self.assert_lands_on(self.database, volume_type=self.database_type,
                             image_id=self.glance.add_image())

    def test_tags_of_an_image_of_another_project_do_not_count(self):
        image = self.glance.add_image('database', owner=OTHER_PROJECT,
                                      visibility='shared')
        self.assert_lands_on(self.general, volume_type=self.follow,
                             image_id=image)

    def test_a_private_tier_serves_only_projects_with_access(self):
        premium = self.cinder.add_backend('tier-premium')
        self.cinder.add_type(
            'premium', projects=[PROJECT], tiers_name='premium',
            volume_backend_name='tier-premium', tiers_tags='premium',
            tiers_priority='30')
        image = self.glance.add_image('premium', visibility='public')
        self.assert_lands_on(premium, volume_type=self.follow,
                             image_id=image)
        self.assert_lands_on(self.general, volume_type=self.follow,
                             image_id=image, project=OTHER_PROJECT)

    def test_a_tier_can_have_several_backends(self):
        """Which those are is Cinder's own matching of extra specs."""
        more = self.cinder.add_backend('tier-database-2')
        self.cinder.add_type(
            'wide', tiers_name='wide', tiers_tags='wide', tiers_priority='5',
            volume_backend_name='<or> tier-database <or> tier-database-2')
        self.assert_lands_on(more, volume_type=self.follow,
                             image_id=self.glance.add_image('wide'))

    def test_a_full_tier_takes_no_volume_and_no_other_tier_does(self):
        self.cinder.add_backend('tier-full', free_capacity_gb=0)
        self.cinder.add_type('full', tiers_name='full', tiers_tags='full',
                             volume_backend_name='tier-full')
        self.assert_refused(volume_type=self.follow,
                            image_id=self.glance.add_image('full'))

    def test_a_tier_that_cannot_be_read_does_not_disturb_the_others(self):
        self.cinder.add_type('broken', tiers_name='broken',
                             tiers_tags='database', tiers_priority='high',
                             volume_backend_name='plain')
        self.assert_lands_on(self.database, volume_type=self.follow,
                             image_id=self.glance.add_image('database'))
        self.assertThat(self.lines("WARNING Tier left out: volume type of "
                                   "tier 'broken'"),
                        testtools.matchers.HasLength(1))

    def test_a_request_costs_one_call_with_the_token_of_the_user(self):
        image = self.glance.add_image('database')
        self.cinder.create_volume(volume_type=self.follow, image_id=image)
        self.assertEqual([(f'/v2/images/{image}', 'token-of-user')],
                         self.glance.requests)

    def test_a_decision_is_one_line_in_the_log(self):
        volume = self.cinder.create_volume(
            volume_type=self.follow,
            image_id=self.glance.add_image('database', 'evil\r\nERROR'))
        line, = self.lines('Placement of volume')
        self.assertRegex(
            line, f'^INFO Placement of volume {volume.id} of project '
            rf'{PROJECT} \(request req-[0-9a-f-]+\): tier database: a tag of '
            r'the image asks for the tier \(tier=database, found=database\)\.'
            r' Kept 1 of 3 backends\.$')
        self.assertEqual([], self.lines('evil'))

    @ddt.data('snapshot_id', 'source_volid')
    def test_clones_and_snapshots_go_where_their_source_is(self, source):
        volume = self.cinder.create_volume(volume_type=self.follow)
        self.assert_lands_on(
            self.database, volume_type=self.follow,
            resource_backend=self.database, **{source: volume.id})

    def test_a_member_of_a_group_goes_where_its_group_is(self):
        self.assert_lands_on(
            self.plain, volume_type=self.follow, resource_backend='node@plain',
            image_id=self.glance.add_image('database'))

    def test_a_restored_backup_lands_on_the_fall_back_tier(self):
        volume = self.cinder.create_volume()
        self.assert_lands_on(self.general, volume_type=self.follow,
                             backup_id=volume.id)


class NoTiersTestCase(SchedulerTestCase):

    def test_before_the_first_apply_cinder_alone_decides(self):
        image = self.glance.add_image('database')
        self.assert_lands_on(self.plain, volume_type=self.follow,
                             image_id=image)
        self.assert_lands_on(self.plain)
        self.assertEqual([], self.glance.requests)


@ddt.ddt
class OtherOperationsTestCase(SchedulerTestCase):
    """What works on a volume that exists: not ours yet."""

    def setUp(self):
        super().setUp()
        self.apply_tiers()
        self.volume = self.cinder.create_volume(
            volume_type=self.follow,
            image_id=self.glance.add_image('database'))
        self.volume.update({'status': 'available'})
        self.volume.save()
        self.glance.stop()
        self.configure(on_error='fail')

    def spec(self, operation, **more):
        return {'operation': operation, 'volume_id': self.volume.id,
                'volume_type': objects.VolumeType.get_by_name_or_id(
                    self.cinder.admin, self.follow),
                'volume_properties': self.volume, **more}

    @ddt.data('extend_volume', 'migrate_volume', 'manage_existing',
              'create_snapshot', 'manage_existing_snapshot', 'create_group')
    def test_every_backend_passes(self, operation):
        for backend in (self.plain, self.database, self.general):
            state = self.cinder.manager.driver.backend_passes_filters(
                self.cinder.user(), backend, self.spec(operation), {})
            self.assertEqual(backend, state.backend_id)

    def test_a_retype_goes_where_its_new_type_says(self):
        state = self.cinder.manager.driver.find_retype_backend(
            self.cinder.user(), self.spec(
                'retype_volume',
                volume_type=objects.VolumeType.get_by_name_or_id(
                    self.cinder.admin, self.general_type)), {},
            migration_policy='on-demand')
        self.assertEqual(self.general, state.backend_id)

    def test_a_backend_that_cannot_take_it_is_still_refused(self):
        spec = self.spec('migrate_volume',
                         volume_type=objects.VolumeType.get_by_name_or_id(
                             self.cinder.admin, self.database_type))
        self.assertRaises(
            exception.NoValidBackend,
            self.cinder.manager.driver.backend_passes_filters,
            self.cinder.user(), self.plain, spec, {})


@ddt.ddt
class FaultsTestCase(SchedulerTestCase):

    # What Glance may answer instead of an image.
    ANSWERS = (401, 403, 404, 500, 503, '<html>', '', '[]', '"image"', {},
               {'owner': PROJECT, 'visibility': 'private', 'tags': 'database'},
               {'owner': PROJECT, 'visibility': 'private', 'tags': [1]},
               {'owner': PROJECT, 'visibility': 'any', 'tags': ['database']},
               {'owner': 5, 'visibility': 'public', 'tags': ['database']})

    def setUp(self):
        super().setUp()
        self.apply_tiers()

    @ddt.data(*ANSWERS)
    def test_without_an_image_the_fall_back_tier_takes_it(self, answer):
        self.assert_lands_on(self.general, volume_type=self.follow,
                             image_id=self.glance.answer(answer))
        line, = self.lines('No tier could be told')
        self.assertIn('on_error = fallback applies', line)
        self.assertNotIn('Traceback', self.log.output)

    def test_on_error_pass_leaves_it_to_cinder(self):
        self.configure(on_error='pass')
        self.assert_lands_on(self.plain, volume_type=self.follow,
                             image_id=self.glance.answer(500))

    def test_on_error_fail_creates_no_volume(self):
        self.configure(on_error='fail')
        self.assert_refused(volume_type=self.follow,
                            image_id=self.glance.answer(500))

    def test_a_request_that_needs_no_image_never_notices(self):
        self.configure(on_error='fail')
        self.glance.stop()
        self.assert_lands_on(self.general, volume_type=self.follow)
        self.assert_lands_on(self.database, volume_type=self.database_type,
                             image_id=self.glance.add_image())

    def test_glance_is_down(self):
        self.glance.stop()
        self.assert_lands_on(self.general, volume_type=self.follow,
                             image_id=self.glance.add_image('database'))

    def test_glance_hangs_and_no_create_waits_longer_than_allowed(self):
        self.configure(glance_timeout=0.3, glance_max_calls=2)
        released = threading.Event()
        self.addCleanup(released.set)
        image = self.glance.answer(released)
        waits = []
        for _ in range(3):
            started = time.monotonic()
            self.assert_lands_on(self.general, volume_type=self.follow,
                                 image_id=image)
            waits.append(time.monotonic() - started)
        self.assertThat(max(waits), testtools.matchers.LessThan(3))
        # The third did not even ask.
        self.assertEqual(2, len(self.glance.requests))
        self.assertEqual(2, len(self.lines('did not answer within 0.3 s')))
        self.assertEqual(1, len(self.lines('at most 2 are allowed')))
        released.set()
        self.wait_for_glance()

    def wait_for_glance(self):
        """Creates reach their tier again soon after Glance is back."""
        image = self.glance.add_image('database')
        for _ in range(50):
            volume = self.cinder.create_volume(volume_type=self.follow,
                                               image_id=image)
            if volume.host == self.database:
                return
            time.sleep(0.1)
        self.fail(f'still on {volume.host}')

    def test_extra_specs_that_cinder_cannot_match_leave_it_to_cinder(self):
        """`<or>` without a value is an IndexError in Cinder 29.0.0."""
        self.cinder.add_type('odd', tiers_name='odd', tiers_tags='odd',
                             volume_backend_name='<or>')
        self.assert_lands_on(self.plain, volume_type=self.follow,
                             image_id=self.glance.add_image('odd'))
        line, = self.lines('No tier could be told')
        self.assertIn('IndexError', line)
        self.assertIn('Traceback', self.log.output)

    def test_many_creates_at_once_land_where_they_should(self):
        images = {self.glance.add_image('database'): self.database,
                  self.glance.add_image(): self.general}
        wrong = []

        def create(image, backend):
            volume = self.cinder.create_volume(volume_type=self.follow,
                                               image_id=image)
            if volume.host != backend:
                wrong.append((volume.host, backend))

        threads = [threading.Thread(target=create, args=pair)
                   for pair in list(images.items()) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual([], wrong)
        self.assertEqual(8, len(self.lines('Placement of volume')))
