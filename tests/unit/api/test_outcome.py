# SPDX-License-Identifier: Apache-2.0

"""What follows from the type of a tier, by Cinder's own rules."""

import sqlite3

from cinder.db import api as db_api
from cinder import objects
from cinder.volume import qos_specs
from cinder.volume import volume_types
import ddt
import sqlalchemy

from tests.unit.api import api_fixture

PROJECT = api_fixture.PROJECT
OTHER_PROJECT = api_fixture.OTHER_PROJECT
FALLBACK = {'tiers_fallback': '<is> True'}


class AnswersTestCase(api_fixture.ApiTestCase):
    """A test that looks at what the API refused, and how."""

    def count_volumes(self):
        return len(objects.VolumeList.get_all(self.cinder.admin))

    def assert_refused(self, status, name, **request):
        """Refused as Cinder refuses, and there is no volume; the text."""
        volumes = self.count_volumes()
        answer = self.api.create(**request)
        self.assertEqual(status, answer.status, answer.body)
        self.assertEqual(volumes, self.count_volumes())
        ((found, fault),) = answer.json.items()
        self.assertEqual((name, status), (found, fault['code']))
        cinders = self.api.create(
            volume_type='nothing',
            **{
                key: value
                for key, value in request.items()
                if key in ('version', 'project')
            },
        )
        self.assertEqual(404, cinders.status)
        self.assertEqual(list(cinders.json['itemNotFound']), list(fault))
        self.assertEqual(sorted(cinders.headers), sorted(answer.headers))
        for header in ('Content-Type', 'OpenStack-API-Version', 'Vary'):
            self.assertEqual(
                cinders.headers.get(header), answer.headers.get(header)
            )
        self.assertEqual(
            str(len(answer.body)), answer.headers['Content-Length']
        )
        request_id = answer.headers['x-openstack-request-id']
        self.assertEqual(request_id, answer.headers['x-compute-request-id'])
        self.assertIn(f'"request_id": "{request_id}"', self.logged())
        return fault['message']


@ddt.ddt
class AccessTestCase(AnswersTestCase):
    def setUp(self):
        super().setUp()
        self.add_type(
            'premium',
            [PROJECT],
            tiers_name='premium',
            tiers_tags='premium',
            tiers_priority='90',
        )
        self.image = self.glance.add_image(
            'premium', 'database', visibility='public'
        )

    def test_a_private_tier_serves_projects_with_access(self):
        self.assert_type('premium', imageRef=self.image)
        self.assert_type(
            'database', imageRef=self.image, project=OTHER_PROJECT
        )
        self.assert_type(
            'premium',
            imageRef=self.image,
            project=OTHER_PROJECT,
            roles='admin',
        )

    @ddt.data(None, '3.0', '3.71')
    def test_without_access_the_operator_may_refuse(self, version):
        self.api.configure(on_no_access='refuse')
        text = self.assert_refused(
            403,
            'forbidden',
            imageRef=self.image,
            project=OTHER_PROJECT,
            version=version,
        )
        self.assertNotIn('premium', text)
        self.assert_type('premium', imageRef=self.image)
        self.assert_type('general', project=OTHER_PROJECT)

    def test_a_client_of_no_version_of_ours_is_told_so_by_cinder(self):
        self.api.configure(on_no_access='refuse')
        for version in ('3.999', '4.0', 'latest', 'x', '3.1 3.2'):
            answer = self.api.create(
                imageRef=self.image, version=version, project=OTHER_PROJECT
            )
            theirs = self.api.create(
                imageRef=self.image,
                version=version,
                project=OTHER_PROJECT,
                has_door=False,
            )
            self.assertEqual(
                403 if version == 'latest' else theirs.status, answer.status
            )

    def test_a_fall_back_that_serves_others(self):
        self.cinder.delete_type(self.types['general'])
        self.add_type('closed', [PROJECT], tiers_name='closed', **FALLBACK)
        self.assert_type('closed')
        text = self.assert_refused(403, 'forbidden', project=OTHER_PROJECT)
        self.assertIn('Name a volume type', text)
        self.assert_type('plain', project=OTHER_PROJECT, volume_type='plain')

    @ddt.data(0, 1000)
    def test_access_that_was_taken_away_just_now(self, applied_cache_s):
        """Cinder alone would say 404 to the type that we would give it."""
        self.api.configure(applied_cache_seconds=applied_cache_s)
        self.assert_type('premium', imageRef=self.image)
        volume_types.remove_volume_type_access(
            self.cinder.admin, self.types['premium'], PROJECT
        )
        self.assert_type('database', imageRef=self.image)

    @ddt.data(0, 1000)
    def test_a_tier_that_was_deleted_just_now(self, applied_cache_s):
        self.api.configure(applied_cache_seconds=applied_cache_s)
        for name in ('premium', 'database', 'general'):
            # Cinder deletes no type that is in use.
            self.assert_type(name, imageRef=self.image).destroy()
            self.cinder.delete_type(self.types[name])
        self.assert_type('plain', imageRef=self.image)

    def test_a_tier_that_is_deleted_after_the_door(self):
        """Cinder answers 404 to the type, and the request is decided anew."""
        self.api.configure(applied_cache_seconds=1000)
        api_fixture.MEANWHILE.append(
            lambda: self.cinder.delete_type(self.types['premium'])
        )
        self.assert_type('database', imageRef=self.image)
        self.assertEqual([], api_fixture.MEANWHILE)

    def test_a_tier_that_is_closed_after_the_door(self):
        api_fixture.MEANWHILE.append(
            lambda: volume_types.remove_volume_type_access(
                self.cinder.admin, self.types['premium'], PROJECT
            )
        )
        self.assert_type('database', imageRef=self.image)

    def test_what_else_is_not_found_is_cinders_answer(self):
        answer = self.assert_as_cinder_alone(
            version='3.47', backup_id='c0ffee00-0000-4000-8000-000000000000'
        )
        self.assertEqual(404, answer.status)


@ddt.ddt
class OnErrorTestCase(AnswersTestCase):
    def setUp(self):
        super().setUp()
        self.image = self.glance.add_image('database')

    def break_glance(self):
        """The door may not ask any more; Cinder may."""
        self.api.configure(glance_failures=1, glance_retry_seconds=1000)
        self.api.create(imageRef=self.glance.answer(500))

    def break_table(self, name):
        """The doors cannot read a table any more; Cinder can.

        Each of its own queries asks when rows were created.
        """

        @sqlalchemy.event.listens_for(
            self.cinder.engine, 'before_cursor_execute'
        )
        def executes(connection, cursor, statement, *others):
            if f'FROM {name}' in statement and 'created_at' not in statement:
                raise sqlite3.OperationalError('disk I/O error')

    def test_glance_is_down_for_the_door(self):
        """An image that was not read may name a type of its own."""
        self.break_glance()
        self.assert_type('plain', imageRef=self.image)
        self.assert_type(
            'general', imageRef=self.image, volume_type='image-tier'
        )
        self.assert_type('general')
        self.assert_type('plain', imageRef=self.image, volume_type='plain')

    def test_it_may_pass(self):
        self.break_glance()
        self.api.configure(api_on_error='pass')
        self.assert_type('plain', imageRef=self.image)
        self.assert_type(
            'image-tier', imageRef=self.image, volume_type='image-tier'
        )
        self.assert_type('general')

    @ddt.data(None, '3.71')
    def test_it_may_fail(self, version):
        self.break_glance()
        self.api.configure(api_on_error='fail')
        self.assert_refused(
            503, 'serviceUnavailable', imageRef=self.image, version=version
        )
        self.assert_type('general')
        self.assert_type('plain', imageRef=self.image, volume_type='plain')

    def test_glance_is_down_for_all(self):
        self.assertEqual(
            self.assert_as_cinder_alone(
                imageRef=self.glance.answer(500)
            ).status,
            400,
        )

    def test_a_project_with_a_default_type_is_not_affected(self):
        self.break_glance()
        self.cinder.set_project_default(self.types['plain'])
        for on_error in ('fallback', 'pass', 'fail'):
            self.api.configure(on_error=on_error)
            self.assert_type('plain', imageRef=self.image)

    @ddt.data('fallback', 'pass', 'fail')
    def test_the_tiers_cannot_be_read(self, on_error):
        """They never could; another type goes on as it is, however."""
        self.api.configure(on_error=on_error)
        self.break_table('volume_types')
        self.assert_type('plain', volume_type='plain', imageRef=self.image)
        if on_error == 'fail':
            self.assert_refused(503, 'serviceUnavailable')
        else:
            self.assert_type('plain', imageRef=self.image)
            self.assert_type('plain')

    @ddt.data('fallback', 'pass', 'fail')
    def test_what_is_remembered_of_them_serves_on(self, on_error):
        self.api.configure(on_error=on_error)
        self.assert_type('database', imageRef=self.image)
        self.break_table('volume_types')
        self.assert_type('database', imageRef=self.image)
        self.assert_type('general', volume_type='image-tier')

    @ddt.data('fallback', 'pass', 'fail')
    def test_so_does_the_default_type_of_the_project(self, on_error):
        self.api.configure(on_error=on_error)
        self.cinder.set_project_default(self.types['plain'])
        self.assert_type('plain', imageRef=self.image)
        self.break_table('default_volume_types')
        self.assert_type('plain', imageRef=self.image)
        self.assert_type('plain')


class TypeTestCase(api_fixture.ApiTestCase):
    def test_the_quota_of_the_tier(self):
        image = self.glance.add_image('database')
        db_api.quota_create(self.cinder.admin, PROJECT, 'volumes_database', 1)
        self.assert_type('database', imageRef=image)
        answer = self.api.create(imageRef=image)
        self.assertEqual(
            (413, ['overLimit']), (answer.status, list(answer.json))
        )
        self.assertIn('volumes_database', answer.json['overLimit']['message'])
        self.assert_type('general')

    def test_the_qos_specs_of_the_tier(self):
        specs = qos_specs.create(
            self.cinder.admin,
            'limits',
            {'consumer': 'front-end', 'total_iops_sec': '500'},
        )
        qos_specs.associate_qos_with_type(
            self.cinder.admin, specs.id, self.types['database']
        )
        queue = self.api.take_messages()
        row = self.assert_type(
            'database',
            volume_type='image-tier',
            imageRef=self.glance.add_image('database'),
        )
        self.assertEqual(specs.id, row.volume_type.qos_specs_id)
        self.assertTrue(queue.arrived.wait(60))
        spec = queue.request_spec
        self.assertEqual(
            ({'total_iops_sec': '500'}, self.types['database'], 'database'),
            (
                spec.volume_properties.qos_specs,
                spec.volume_type.id,
                spec.volume_type.extra_specs['tiers:name'],
            ),
        )

    def test_the_encryption_of_the_tier(self):
        db_api.volume_type_encryption_create(
            self.cinder.admin,
            self.types['database'],
            {
                'provider': 'luks',
                'control_location': 'front-end',
                'cipher': 'aes-xts-plain64',
                'key_size': 256,
            },
        )
        row = self.assert_type(
            'database', imageRef=self.glance.add_image('database')
        )
        self.assertIsNotNone(row.encryption_key_id)
        row = self.assert_type('general')
        self.assertIsNone(row.encryption_key_id)
