# SPDX-License-Identifier: Apache-2.0

"""Ways around the tiers that were found, as an ordinary tenant goes them."""

import json
import sqlite3
import threading
import uuid

from cinder import objects
from cinder.volume import volume_types
import ddt
import sqlalchemy

from tests.unit.api import api_fixture
from tests.worlds import cinder_database

#: The only one of the key manager; also an id that is nothing else's.
KEY = '00000000-0000-0000-0000-000000000000'
VERSIONS = (None, '3.0', '3.45', '3.46', '3.71')


class BypassCase(api_fixture.ApiTestCase):
    """A cloud whose default type follows the image."""

    def setUp(self):
        super().setUp()
        self.api.conf.config(default_volume_type='image-tier')
        self.image = self.glance.add_image('database')

    def add_snapshot(self, volume_type='plain'):
        volume = self.api.add_volume(self.types[volume_type])
        snapshot = objects.Snapshot(
            context=self.cinder.admin,
            volume_id=volume.id,
            volume_size=1,
            status='available',
            user_id='user',
            project_id=api_fixture.PROJECT,
            volume_type_id=self.types[volume_type],
        )
        snapshot.create()
        return snapshot.id

    def assert_never_following(self, **request):
        """Refused, or a volume with a type of its own; the answer."""
        answer = self.api.create(**request)
        if answer.status == 202:
            self.assertNotEqual(
                self.follow,
                self.api.row(answer.volume_id).volume_type_id,
                request,
            )
        return answer

    def fail_queries(self, table, times=1):
        """The next queries of a table fail."""
        failing = [table] * times

        @sqlalchemy.event.listens_for(
            self.cinder.engine, 'before_cursor_execute'
        )
        def executes(connection, cursor, statement, *others):
            if failing and f'FROM {failing[0]}' in statement:
                failing.pop()
                raise sqlite3.OperationalError('disk I/O error')

        return failing

    def devices(self, snapshot, **device):
        return json.dumps(
            [
                {
                    'source_type': 'snapshot',
                    'boot_index': 0,
                    'snapshot_id': snapshot,
                    **device,
                }
            ]
        )


@ddt.ddt
class ImagePropertiesTestCase(BypassCase):
    @ddt.data({}, {'boot_index': False}, {'boot_index': 0.0})
    def test_an_image_that_stands_for_a_snapshot(self, device):
        """D1: what a tenant writes into its image fixes no place."""
        image = self.glance.add_image(
            'database',
            block_device_mapping=self.devices(self.add_snapshot(), **device),
        )
        for version in VERSIONS:
            self.assert_type(
                'plain' if version in ('3.46', '3.71') else 'database',
                imageRef=image,
                version=version,
            )

    def test_nor_does_it_when_access_is_refused(self):
        self.api.configure(on_no_access='refuse', on_error='fail')
        self.add_type(
            'premium',
            [],
            tiers_name='premium',
            tiers_tags='premium',
            tiers_priority='90',
        )
        image = self.glance.add_image(
            'premium', block_device_mapping=self.devices(self.add_snapshot())
        )
        for version in (None, '3.45'):
            self.assertEqual(
                403, self.api.create(imageRef=image, version=version).status
            )

    def test_a_property_that_is_gone_when_cinder_looks(self):
        """N4: what the door read is written into the request."""
        snapshot = self.add_snapshot()
        for version in VERSIONS:
            for name, value, types in (
                ('cinder_img_volume_type', 'plain', ['plain']),
                (
                    'block_device_mapping',
                    self.devices(snapshot),
                    ['plain', 'database'],
                ),
            ):
                image = self.glance.add_image('database', **{name: value})
                self.assert_never_following(imageRef=image, version=version)
                del self.glance.images[image][name]
                answer = self.assert_never_following(
                    imageRef=image, version=version
                )
                row = self.api.row(answer.volume_id)
                self.assertIn(self.names[row.volume_type_id], types)
                self.assertIsNone(row.snapshot_id)

    @ddt.data('\ud800', 'x\x00', '-' * 60000 + KEY, '', 5, [KEY], None)
    def test_a_snapshot_id_that_is_none(self, ident):
        """A1: no database takes the first, which made the door fail."""
        for version in VERSIONS:
            image = self.glance.add_image(
                'database', block_device_mapping=self.devices(ident)
            )
            for _ in range(2):
                self.assert_never_following(imageRef=image, version=version)
                self.glance.images[image].pop('block_device_mapping', None)
        self.assertNotIn('ERROR The API middleware', self.log.output)

    @ddt.data({}, {'volume_type': 'image-tier'})
    def test_a_type_that_no_database_takes(self, named):
        self.cinder.add_encryption(self.add_type('luks'))
        for version in VERSIONS:
            image = self.glance.add_image(
                'database', cinder_img_volume_type='\ud800'
            )
            for _ in range(2):
                self.assert_never_following(
                    imageRef=image, version=version, **named
                )
                self.glance.images[image].pop('cinder_img_volume_type', None)

    def test_a_404_that_the_tenant_provokes(self):
        """N5: no try goes on without what was decided."""
        image = self.glance.add_image(
            'database', block_device_mapping=self.devices(KEY)
        )

        def repair():
            del self.glance.images[image]['block_device_mapping']

        for version in VERSIONS:
            self.assertEqual(
                404,
                self.assert_never_following(
                    imageRef=image, version=version
                ).status,
            )
        api_fixture.MEANWHILE.append(repair)
        self.assert_type('database', imageRef=image, version='3.45')

    @ddt.data('IMAGE-TIER', 'image-tier ', 'ID')
    def test_a_type_that_the_image_spells_in_another_way(self, spelt):
        cinder_database.fold_names(self.cinder.engine)
        if spelt == 'ID':
            spelt = self.follow.upper()
        self.assert_never_following(
            imageRef=self.glance.add_image(
                'database', cinder_img_volume_type=spelt
            )
        )


@ddt.ddt
class BodiesTestCase(BypassCase):
    @ddt.data(None, '3.0', '3.12', '3.46', '3.52')
    def test_what_cinder_takes_for_nothing(self, version):
        """D4: its schemas let it pass, and its code does not read it."""
        for key, value in (
            *(
                ('source_replica', value)
                for value in (KEY, '', 'x', 0, False, [], {})
            ),
            *(('backup_id', value) for value in ('', 0, False, [], {})),
        ):
            answer = self.assert_never_following(
                imageRef=self.image, version=version, **{key: value}
            )
            if version != '3.52' or key != 'backup_id':
                self.assertEqual(202, answer.status, (key, value))

    @ddt.data('IMAGE-TIER', 'Image-Tier', 'image-tier ', 'image-tier  ')
    def test_a_type_in_another_spelling(self, spelt):
        """D4: the collation of MariaDB takes them for the same name."""
        cinder_database.fold_names(self.cinder.engine)
        self.assert_type('database', imageRef=self.image, volume_type=spelt)
        self.assert_type('general', volume_type=spelt)

    def test_an_id_in_upper_case(self):
        cinder_database.fold_names(self.cinder.engine)
        self.assert_type(
            'database', imageRef=self.image, volume_type=self.follow.upper()
        )

    def test_an_image_without_a_name(self):
        """N8: Cinder's schemas have no least length."""
        self.glance.add_image('database', name='')
        for key in ('imageRef', 'image_id'):
            for named in ({}, {'volume_type': 'image-tier'}):
                self.assert_type('database', **{key: ''}, **named)

    @ddt.data('GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'FOO')
    def test_another_method_in_the_query(self, method):
        """N1: Routes takes the method from there."""
        body = json.dumps(
            {'volume': {'size': 1, 'imageRef': self.image}}
        ).encode()
        for query in (
            '_method=POST',
            '_method=post',
            'a=1;_method=POST',
            '_method=GET&_method=POST',
            '_method=%50OST',
        ):
            answer = self.api.request(
                f'/v3/volumes?{query}',
                method=method,
                body=body,
                content_type='application/json',
            )
            if answer.status != 202:
                self.assertEqual(
                    self.api.request(
                        f'/v3/volumes?{query}',
                        method=method,
                        body=body,
                        content_type='application/json',
                        has_door=False,
                    ).status,
                    answer.status,
                )
                continue
            row = self.api.row(answer.volume_id)
            self.assertEqual('database', self.names[row.volume_type_id])

    @ddt.data('_method=%ff', 'x=%ff&a=_method', '_method', '_method=')
    def test_a_query_that_is_no_text(self, query):
        """N10: Routes keeps the method of the request line."""
        answer = self.api.request(
            f'/v3/volumes?{query}',
            content_type='application/json',
            body=json.dumps(
                {'volume': {'size': 1, 'imageRef': self.image}}
            ).encode(),
        )
        self.assertEqual(202, answer.status, answer.body)
        row = self.api.row(answer.volume_id)
        self.assertEqual('database', self.names[row.volume_type_id])
        self.assertNotIn('ERROR', self.logged())

    def test_a_type_with_multi_attach_that_follows_the_image(self):
        """The volume keeps the promise, or there is none."""
        self.add_type(
            'image-multi',
            tiers_follow_image='<is> True',
            multiattach='<is> True',
        )
        answer = self.assert_never_following(
            imageRef=self.image, volume_type='image-multi', roles='admin'
        )
        if answer.status == 202:
            row = self.api.row(answer.volume_id)
            self.assertTrue(
                row.multiattach
                or self.names[row.volume_type_id] == 'image-multi',
                row.volume_type_id,
            )
        self.add_type(
            'shared',
            tiers_name='shared',
            tiers_tags='shared',
            tiers_priority='5',
            multiattach='<is> True',
        )
        row = self.assert_type(
            'shared',
            roles='admin',
            volume_type='image-multi',
            imageRef=self.glance.add_image('database', 'shared'),
        )
        self.assertTrue(row.multiattach)


@ddt.ddt
class KeysTestCase(BypassCase):
    """D5: data that is encrypted never ends without its key."""

    def setUp(self):
        super().setUp()
        self.cinder.add_encryption(self.add_type('luks'))

    def test_an_image_that_brings_a_key(self):
        image = self.glance.add_image('database', cinder_encryption_key_id=KEY)
        for named in ({}, {'volume_type': 'image-tier'}):
            answer = self.api.create(imageRef=image, **named)
            self.assertEqual(400, answer.status, answer.body)
        self.cinder.add_encryption(
            self.add_type(
                'vault',
                tiers_name='vault',
                tiers_tags='database',
                tiers_priority='5',
            )
        )
        row = self.assert_type('vault', imageRef=image)
        self.assertIsNotNone(row.encryption_key_id)

    def test_with_an_encrypted_default_type_it_is_cinders(self):
        self.api.conf.config(default_volume_type='luks')
        row = self.assert_type(
            'luks',
            imageRef=self.glance.add_image(
                'database', cinder_encryption_key_id=KEY
            ),
        )
        self.assertIsNotNone(row.encryption_key_id)

    def test_an_image_that_names_an_encrypted_type(self):
        image = self.glance.add_image(
            'database', cinder_img_volume_type='luks'
        )
        self.assertIsNotNone(
            self.assert_type('luks', imageRef=image).encryption_key_id
        )
        self.forget()
        self.api.configure(glance_failures=1, glance_retry_seconds=1000)
        self.api.create(imageRef=self.glance.answer(500))
        self.assertIsNotNone(
            self.assert_type('luks', imageRef=image).encryption_key_id
        )


@ddt.ddt
class FailuresTestCase(BypassCase):
    """A1: what the door does not expect lets nothing pass."""

    def fail_and_create(self, snapshots_type='general', times=2, **request):
        image = self.glance.add_image(
            'database',
            block_device_mapping=self.devices(
                self.add_snapshot(snapshots_type)
            ),
        )
        failing = self.fail_queries('snapshots', times)
        answer = self.assert_never_following(
            imageRef=image, version='3.46', **request
        )
        self.assertEqual([], failing)
        return answer

    @ddt.data({}, {'volume_type': 'image-tier'})
    def test_a_create_goes_by_on_error(self, named):
        answer = self.fail_and_create(**named)
        row = self.api.row(answer.volume_id)
        self.assertEqual('general', self.names[row.volume_type_id])
        self.assertIn('ERROR tiers.decision', self.logged())
        self.api.configure(on_error='fail')
        self.assertEqual(503, self.fail_and_create(**named).status)

    def test_a_create_is_looked_at_again(self):
        answer = self.fail_and_create('database', times=1)
        row = self.api.row(answer.volume_id)
        self.assertEqual('database', self.names[row.volume_type_id])

    def test_a_create_of_a_backup_keeps_to_its_zone(self):
        self.add_type(
            'a-az1',
            tiers_name='a-az1',
            tiers_fallback='<is> True',
            tiers_priority='5',
            **{'RESKEY:availability_zones': 'az1'},
        )
        backup = objects.Backup(
            context=self.cinder.admin,
            user_id='user',
            project_id=api_fixture.PROJECT,
            volume_id=KEY,
            size=1,
            status='available',
            host='host',
            service='cinder.backup.drivers.nfs.NFSBackupDriver',
        )
        backup.create()
        self.fail_queries('backups')
        answer = self.api.create(
            backup_id=backup.id, version='3.47', availability_zone='nova'
        )
        self.assertEqual(202, answer.status, answer.body)
        row = self.api.row(answer.volume_id)
        self.assertEqual('general', self.names[row.volume_type_id])

    def test_a_create_that_may_pass(self):
        self.api.configure(on_error='pass')
        row = self.api.row(self.fail_and_create('plain').volume_id)
        self.assertEqual('plain', self.names[row.volume_type_id])

    def test_no_key_is_dropped(self):
        self.cinder.add_encryption(self.add_type('luks'))
        self.assertEqual(503, self.fail_and_create().status)

    @ddt.data('image-tier', 'premium')
    def test_a_retype(self, name):
        self.add_type(
            'premium', [], tiers_name='premium', tiers_tags='premium'
        )
        volume = self.api.add_volume(self.types['database'])
        self.fail_queries('volumes')
        answer = self.api.post(
            f'volumes/{volume.id}/action',
            {'os-retype': {'new_type': name, 'migration_policy': 'never'}},
        )
        self.assertEqual(503, answer.status, answer.body)
        self.assertIn('the request is refused', self.log.output)
        self.assertEqual('available', self.api.row(volume.id).status)

    def test_a_transfer(self):
        volume = self.api.add_volume(self.types['general'])
        transfer = self.api.post(
            'volume-transfers', {'transfer': {'volume_id': volume.id}}
        ).json['transfer']
        self.fail_queries('transfers')
        answer = self.api.post(
            f'volume-transfers/{transfer["id"]}/accept',
            {'accept': {'auth_key': transfer['auth_key']}},
            project=api_fixture.OTHER_PROJECT,
        )
        self.assertEqual(503, answer.status, answer.body)
        self.assertEqual(
            api_fixture.PROJECT, self.api.row(volume.id).project_id
        )


class ImageNamesTestCase(BypassCase):
    """D8: what any tenant can ask for."""

    def test_an_image_that_is_named_like_an_id(self):
        for name in ('d41d8cd98f00b204e9800998ecf8427e', KEY, KEY.upper()):
            self.glance.add_image('database', name=name)
            self.assert_type('database', imageRef=name)
            self.glance.forget()
            self.forget()

    def test_an_image_by_many_references(self):
        """A3: each cost a call to Glance, and memory for an hour."""
        image = self.glance.add_image(
            'database', cinder_img_volume_type='a' * 65000
        )
        for number in range(20):
            self.assertEqual(
                400, self.api.create(imageRef=f'{number}/{image}').status
            )
        self.assertEqual(1, len(self.glance.requests))

    def test_names_that_make_glance_fail(self):
        """A5: after them an image's id was not asked for."""
        self.api.configure(glance_failures=3, glance_retry_seconds=1000)
        self.glance.listing = 500
        for number in range(3):
            self.api.create(imageRef=f'name {number}')
        self.glance.listing = None
        # Names are not asked for yet, and pass no volume without a tier.
        self.glance.add_image('database', name='mine')
        self.assert_type('general', imageRef='mine')
        self.assert_type('database', imageRef=self.image)

    def test_ids_of_no_image_while_names_take_long(self):
        """E2: after them nobody's image was asked for by its id."""
        self.api.configure(
            glance_failures=3, glance_retry_seconds=1000, glance_timeout=1.5
        )
        projects = (api_fixture.PROJECT, api_fixture.OTHER_PROJECT)
        for project in (*projects, projects[0]):
            self.glance.listing = hanging = threading.Event()

            def answer(hanging=hanging):
                self.glance.listing = None
                hanging.set()

            api_fixture.MEANWHILE.append(answer)
            self.assertEqual(
                400,
                self.api.create(
                    imageRef=str(uuid.uuid4()), project=project
                ).status,
            )
        self.api.configure(glance_timeout=60.0)
        for project in (*projects, uuid.uuid4().hex):
            self.assert_type(
                'database',
                imageRef=self.glance.add_image('database', owner=project),
                project=project,
            )

    def assert_none_follows_a_late_name(self, expected):
        """Volumes of an image whose name Glance finds after the API gave up.

        Cinder has no deadline, and finds it.
        """
        self.api.configure(glance_timeout=0.3)
        for name in ('mine', str(uuid.uuid4())):
            self.glance.add_image(
                'database', name=name, cinder_img_volume_type='image-tier'
            )
            for _ in range(3):
                self.glance.listing = hanging = threading.Event()

                def answer(hanging=hanging):
                    self.glance.listing = None
                    hanging.set()

                api_fixture.MEANWHILE.append(answer)
                self.assert_type(expected, imageRef=name)
                api_fixture.MEANWHILE.clear()
                answer()

    def test_a_name_that_is_found_too_late(self):
        self.assert_none_follows_a_late_name('general')

    def test_nor_in_a_project_with_a_default_type(self):
        self.cinder.set_project_default(self.types['plain'])
        self.assert_none_follows_a_late_name('plain')

    def test_an_image_that_names_a_type_after_it_was_read(self):
        """In a project with a default type, before Cinder reads it."""
        self.cinder.set_project_default(self.types['plain'])
        image = self.glance.add_image('database')
        self.assert_type('plain', imageRef=image)
        self.glance.images[image]['cinder_img_volume_type'] = 'image-tier'
        # By what is remembered of the image, and then by what it is.
        self.assert_type('plain', imageRef=image)
        self.forget()
        self.assert_type('database', imageRef=image)

    def test_access_to_a_following_type_that_is_younger_than_memory(self):
        ident = self.add_type(
            'image-private',
            [api_fixture.OTHER_PROJECT],
            tiers_follow_image='<is> True',
        )
        self.api.configure(applied_cache_seconds=60)
        self.forget()
        self.assert_type('database', imageRef=self.image)
        volume_types.add_volume_type_access(
            self.cinder.admin, ident, api_fixture.PROJECT
        )
        self.assert_type(
            'database', imageRef=self.image, volume_type='image-private'
        )

    def test_unknown_images_are_no_errors(self):
        for _ in range(5):
            self.assertEqual(
                400,
                self.assert_as_cinder_alone(imageRef=str(uuid.uuid4())).status,
            )
        self.assertNotIn('ERROR tiers.decision', self.logged())

    def test_an_image_that_appears_after_a_404(self):
        ident = str(uuid.uuid4())
        self.assertEqual(400, self.api.create(imageRef=ident).status)
        image = self.glance.images[self.image]
        self.glance.images[ident] = {**image, 'id': ident}
        self.assert_type('database', imageRef=ident)
