# SPDX-License-Identifier: Apache-2.0

"""Volumes made from what exists already, whose place is Cinder's to tell."""

import json

from cinder import objects
from cinder.volume import group_types
import ddt

from tests.unit.api import api_fixture


@ddt.ddt
class SourcesTestCase(api_fixture.ApiTestCase):
    def setUp(self):
        super().setUp()
        self.image = self.glance.add_image('database')
        self.ssd = self.add_type('ssd')
        self.volume = objects.Volume(
            context=self.cinder.admin,
            size=1,
            status='available',
            user_id='user',
            project_id=api_fixture.PROJECT,
            availability_zone='nova',
            volume_type_id=self.ssd,
            host='node@ssd#ssd',
        )
        self.volume.create()

    def add_snapshot(self):
        snapshot = objects.Snapshot(
            context=self.cinder.admin,
            volume_id=self.volume.id,
            volume_size=1,
            status='available',
            user_id='user',
            project_id=api_fixture.PROJECT,
            volume_type_id=self.ssd,
        )
        snapshot.create()
        return snapshot.id

    def add_group(self, *types):
        group_type = group_types.create(self.cinder.admin, 'any', {})
        group = objects.Group(
            context=self.cinder.admin,
            user_id='user',
            status='available',
            project_id=api_fixture.PROJECT,
            availability_zone='nova',
            volume_type_ids=list(types),
            group_type_id=group_type['id'],
            host='node@ssd#ssd',
        )
        group.create()
        return group.id

    def test_a_clone_keeps_the_type_of_its_source(self):
        self.assert_type('ssd', source_volid=self.volume.id)

    def test_so_does_a_volume_from_a_snapshot(self):
        self.assert_type('ssd', snapshot_id=self.add_snapshot())

    @ddt.data('3.0', '3.71')
    def test_so_they_do_with_a_type_that_follows_the_image(self, version):
        """With that type they would lie there without its QoS and quota."""
        for follow in ('image-tier', self.follow):
            self.assert_type(
                'ssd',
                source_volid=self.volume.id,
                volume_type=follow,
                version=version,
            )
            row = self.assert_type(
                'ssd',
                snapshot_id=self.add_snapshot(),
                volume_type=follow,
                version=version,
            )
            self.assertIsNotNone(row.snapshot_id)

    def test_a_copy_of_a_volume_of_a_group_in_that_group(self):
        """Cinder wants a type there."""
        group = self.add_group(self.ssd)
        for key, ident in (
            ('source_volid', self.volume.id),
            ('snapshot_id', self.add_snapshot()),
        ):
            row = self.assert_type(
                'ssd',
                version='3.13',
                group_id=group,
                volume_type='image-tier',
                **{key: ident},
            )
            self.assertEqual(group, row.group_id)

    @ddt.data('source_volid', 'snapshot_id', 'group_id', 'consistencygroup_id')
    def test_what_does_not_exist_is_refused_by_cinder(self, key):
        for value in (self.image, '', 'x', 7):
            for follow in ({}, {'volume_type': 'image-tier'}):
                answer = self.assert_as_cinder_alone(
                    version='3.13',
                    imageRef=self.image,
                    **{key: value},
                    **follow,
                )
                self.assertIn(answer.status, (400, 404))

    @ddt.data('x', '', 7, None)
    def test_what_cinder_does_not_read_means_nothing(self, value):
        """It would be refused from 3.53 on."""
        for key in ('source_replica', 'cgsnapshot_id'):
            self.assert_type(
                'database', version='3.52', imageRef=self.image, **{key: value}
            )

    def test_in_a_group_cinder_wants_a_type(self):
        group = self.add_group(self.ssd)
        self.assert_type(
            'ssd', version='3.13', group_id=group, volume_type='ssd'
        )
        for follow in (None, 'image-tier'):
            answer = self.assert_as_cinder_alone(
                version='3.13', group_id=group, volume_type=follow
            )
            self.assertEqual(400, answer.status)

    def test_a_volume_from_a_backup_falls_back(self):
        backup = objects.Backup(
            context=self.cinder.admin,
            volume_id=self.volume.id,
            user_id='user',
            project_id=api_fixture.PROJECT,
            size=1,
            status='available',
            service='any',
        )
        backup.create()
        row = self.assert_type('general', version='3.47', backup_id=backup.id)
        self.assertEqual('creating', row.status)

    def add_server_image(self, snapshot, **properties):
        """What Nova makes of a server with a volume, as Glance tells it."""
        return self.glance.add_image(
            'database',
            block_device_mapping=json.dumps(
                [
                    {
                        'source_type': 'snapshot',
                        'boot_index': 0,
                        'snapshot_id': snapshot,
                    }
                ]
            ),
            **properties,
        )

    @ddt.data({}, {'volume_type': None}, {'volume_type': 'image-tier'})
    def test_the_image_of_a_server_with_a_volume_is_its_snapshot(self, named):
        snapshot = self.add_snapshot()
        image = self.add_server_image(snapshot)
        for version in ('3.46', '3.71'):
            row = self.assert_type(
                'ssd', imageRef=image, version=version, **named
            )
            self.assertEqual(snapshot, row.snapshot_id)

    @ddt.data(None, '3.0', '3.45')
    def test_to_an_older_client_it_is_an_image(self, version):
        image = self.add_server_image(self.add_snapshot())
        for named in ({}, {'volume_type': 'image-tier'}):
            row = self.assert_type(
                'database', imageRef=image, version=version, **named
            )
            self.assertIsNone(row.snapshot_id)

    def test_a_snapshot_that_is_not_there(self):
        for snapshot in ('c0ffee00-0000-4000-8000-000000000000', None):
            image = self.add_server_image(snapshot)
            for version in ('3.45', '3.46'):
                answer = self.assert_as_cinder_alone(
                    imageRef=image, version=version
                )
                self.assertEqual(404, answer.status)

    def test_what_is_no_id_of_a_snapshot(self):
        """The text, which may be anything, is not repeated."""
        image = self.add_server_image('x')
        for version in ('3.45', '3.46'):
            for has_door in (False, True):
                answer = self.api.create(
                    imageRef=image, version=version, has_door=has_door
                )
                self.assertEqual(404, answer.status, answer.body)
