# SPDX-License-Identifier: Apache-2.0

"""What becomes of the restore of a backup that names no volume."""

import threading

from cinder.db import api as db_api
from cinder import objects
from cinder import policy
import ddt
from oslo_policy import policy as oslo_policy
import sqlalchemy

from tests.unit.api import api_fixture

PROJECT = api_fixture.PROJECT
OTHER_PROJECT = api_fixture.OTHER_PROJECT
KEY = 'c0ffee00-0000-4000-8000-000000000000'


class BackupCase(api_fixture.ApiTestCase):
    """A test with a cinder-backup that is up."""

    def setUp(self):
        super().setUp()
        objects.Service(
            context=self.cinder.admin,
            host='node',
            topic='cinder-backup',
            binary='cinder-backup',
            availability_zone='nova',
            report_count=1,
            disabled=False,
        ).create()
        self.source = self.api.add_volume(self.types['database'])

    def add_backup(self, **values):
        backup = objects.Backup(
            context=self.cinder.admin,
            **{
                'volume_id': self.source.id,
                'user_id': 'user',
                'size': 1,
                'project_id': PROJECT,
                'status': 'available',
                'service': 'any',
                'host': 'node',
                'availability_zone': 'nova',
                **values,
            },
        )
        backup.create()
        return backup

    def restore(self, backup, **request):
        restore = request.pop('restore', {})
        return self.api.post(
            f'backups/{backup.id}/restore', {'restore': restore}, **request
        )

    def volumes(self):
        """Ids of all volumes but the source."""
        return {
            volume.id
            for volume in objects.VolumeList.get_all(self.cinder.admin)
        } - {self.source.id}

    def assert_refused(self, status, backup, **request):
        """Nothing was made of it; the text."""
        before = self.volumes()
        answer = self.restore(backup, **request)
        self.assertEqual(status, answer.status, answer.body)
        self.assertEqual(before, self.volumes())
        self.assertEqual(
            backup.status,
            objects.Backup.get_by_id(self.cinder.admin, backup.id).status,
        )
        (fault,) = answer.json.values()
        return fault['message']


@ddt.ddt
class RestoresTestCase(BackupCase):
    def assert_restored(self, name, backup, **request):
        """It is under way, to a new volume with this type; its row."""
        before = self.volumes()
        answer = self.restore(backup, **request)
        self.assertEqual(202, answer.status, answer.body)
        (volume_id,) = self.volumes() - before
        self.assertEqual(
            (backup.id, volume_id),
            tuple(
                answer.json['restore'][key]
                for key in ('backup_id', 'volume_id')
            ),
        )
        row = self.api.row(volume_id)
        self.assertEqual(
            (name, 'restoring-backup'),
            (self.names[row.volume_type_id], row.status),
        )
        row_of_backup = objects.Backup.get_by_id(self.cinder.admin, backup.id)
        self.assertEqual(
            ('restoring', volume_id),
            (row_of_backup.status, row_of_backup.restore_volume_id),
        )
        return row

    @ddt.data({}, {'volume_id': None}, {'name': None})
    def test_the_new_volume_is_one_of_the_fallback_tier(self, restore):
        self.api.take_messages(status='available')
        backup = self.add_backup(size=3)
        row = self.assert_restored('general', backup, restore=restore)
        # As Cinder alone would have it.
        self.assertEqual(
            (
                3,
                f'restore_backup_{backup.id}',
                'auto-created_from_restore_from_backup',
                PROJECT,
            ),
            (
                row.size,
                row.display_name,
                row.display_description,
                row.project_id,
            ),
        )

    def test_it_may_have_a_name(self):
        self.api.take_messages(status='available')
        for name in ('mine', ''):
            row = self.assert_restored(
                'general', self.add_backup(), restore={'name': name}
            )
            self.assertEqual(name, row.display_name)

    @ddt.data('3.0', '3.71')
    def test_each_version(self, version):
        self.api.take_messages(status='available')
        self.assert_restored('general', self.add_backup(), version=version)

    def test_a_project_whose_id_cinder_takes_in_no_path(self):
        self.api.take_messages(status='available')
        backup = self.add_backup(project_id='Proj_1')
        answer = self.api.request(
            f'/v3/backups/{backup.id}/restore',
            project='Proj_1',
            content_type='application/json',
            body=b'{"restore": {}}',
        )
        self.assertEqual(202, answer.status, answer.body)
        row = self.api.row(answer.json['restore']['volume_id'])
        self.assertEqual('general', self.names[row.volume_type_id])
        self.assertEqual('Proj_1', row.project_id)

    def test_the_default_type_of_the_project(self):
        self.api.take_messages(status='available')
        self.cinder.set_project_default(self.types['plain'])
        self.assert_restored('plain', self.add_backup())
        self.cinder.set_project_default(self.follow)
        self.assert_restored('general', self.add_backup())

    def test_without_a_fallback_cinder_decides(self):
        self.api.take_messages(status='available')
        self.cinder.delete_type(self.types['general'])
        self.assert_restored('plain', self.add_backup())

    def test_to_a_volume_that_exists(self):
        volume = self.api.add_volume(self.types['plain'])
        answer = self.restore(
            self.add_backup(), restore={'volume_id': volume.id}
        )
        self.assertEqual(202, answer.status, answer.body)
        row = self.api.row(volume.id)
        self.assertEqual(
            ('plain', 'restoring-backup'),
            (self.names[row.volume_type_id], row.status),
        )
        self.assertEqual({volume.id}, self.volumes())

    def test_the_data_of_an_encrypted_volume(self):
        """cinder-backup restores it to a volume of the same type only."""
        self.api.take_messages(status='available')
        text = self.assert_refused(400, self.add_backup(encryption_key_id=KEY))
        self.assertIn('encrypted volume type', text)
        self.cinder.add_encryption(self.add_type('luks'))
        self.api.conf.config(default_volume_type='luks')
        row = self.assert_restored(
            'luks', self.add_backup(encryption_key_id=KEY)
        )
        self.assertIsNotNone(row.encryption_key_id)


@ddt.ddt
class RefusalsTestCase(BackupCase):
    def setUp(self):
        super().setUp()
        # What should have been refused must not be waited for.
        self.casts = self.api.take_messages(status='available')

    @ddt.data('creating', 'restoring', 'error', 'deleting')
    def test_a_backup_that_is_not_available(self, status):
        backup = self.add_backup(status=status)
        text = self.assert_refused(400, backup)
        theirs = self.restore(backup, has_door=False)
        self.assertEqual(
            (400, text), (theirs.status, theirs.json['badRequest']['message'])
        )

    def test_without_the_right_to_restore(self):
        backup = self.add_backup()
        text = self.assert_refused(403, backup, roles='reader')
        theirs = self.restore(backup, roles='reader', has_door=False)
        self.assertEqual(
            (403, text), (theirs.status, theirs.json['forbidden']['message'])
        )

    def test_a_backup_of_others_or_none(self):
        backup = self.add_backup(project_id=OTHER_PROJECT)
        text = self.assert_refused(404, backup)
        theirs = self.restore(backup, has_door=False)
        self.assertEqual(text, theirs.json['itemNotFound']['message'])

    def test_more_than_the_quota_of_the_tier(self):
        db_api.quota_create(self.cinder.admin, PROJECT, 'volumes_general', 0)
        text = self.assert_refused(413, self.add_backup())
        self.assertIn('volumes_general', text)

    def test_a_fallback_that_serves_others(self):
        self.cinder.delete_type(self.types['general'])
        self.add_type(
            'closed',
            [OTHER_PROJECT],
            tiers_name='closed',
            tiers_fallback='<is> True',
        )
        self.assertIn(
            'Name a volume type', self.assert_refused(403, self.add_backup())
        )

    @ddt.data('error', 'error_managing')
    def test_the_volume_cannot_be_made(self, status):
        self.casts.status = status
        backup = self.add_backup()
        answer = self.restore(backup)
        self.assertEqual(400, answer.status, answer.body)
        (volume_id,) = self.volumes()
        self.assertEqual(status, self.api.row(volume_id).status)
        self.assertEqual(
            'available',
            objects.Backup.get_by_id(self.cinder.admin, backup.id).status,
        )
        if status == 'error':
            self.assertIn(volume_id, answer.json['badRequest']['message'])

    def test_the_volume_is_deleted_at_once(self):
        """By a tenant who wants another one, without a tier."""
        self.casts.status = 'deleted'
        backup = self.add_backup()
        answer = self.restore(backup)
        self.assertEqual(404, answer.status, answer.body)
        self.assertEqual(set(), self.volumes())

    @ddt.data(None, [], 'x', {'volume_id': 7}, {'unknown': 1})
    def test_what_is_no_restore_is_cinders(self, restore):
        backup = self.add_backup()
        ours, theirs = (
            self.restore(backup, restore=restore, has_door=has_door)
            for has_door in (True, False)
        )
        self.assertEqual(theirs.status, ours.status)
        self.assertEqual(set(), self.volumes())


@ddt.ddt
class UndoneTestCase(BackupCase):
    """What the door made is taken back when Cinder then refuses."""

    def setUp(self):
        super().setUp()
        self.casts = self.api.take_messages(status='available')
        self.backup = self.add_backup()

    def meanwhile(self, happen):
        """Something happens once the volume is there.

        With the second request that reaches Cinder: the first one is for the
        volume.
        """

        def happen_to_it():
            (volume_id,) = self.volumes()
            happen(self.api.row(volume_id))

        api_fixture.MEANWHILE.append(
            lambda: api_fixture.MEANWHILE.append(happen_to_it)
        )

    def occupy(self, volume=None):
        """Another restore of the backup begins."""
        self.backup.update({'status': 'restoring'})
        self.backup.save()

    def assert_undone(self, status):
        """Refused, and the volume is going; the answer."""
        answer = self.restore(self.backup)
        self.assertEqual(status, answer.status, answer.body)
        (volume_id,) = self.volumes()
        self.assertEqual('deleting', self.api.row(volume_id).status)
        self.assertIn(f'INFO Volume {volume_id}', self.log.output)
        self.assertNotIn('WARNING Volume', self.log.output)
        return answer

    def assert_left(self, status):
        """Refused, and the volume stays, which is said; its row."""
        answer = self.restore(self.backup)
        self.assertEqual(status, answer.status, answer.body)
        (volume_id,) = self.volumes()
        (line,) = [
            line
            for line in self.log.output.splitlines()
            if line.startswith('WARNING Volume')
        ]
        self.assertIn(volume_id, line)
        self.assertIn(self.backup.id, line)
        return self.api.row(volume_id)

    @ddt.data('restoring', 'error', 'deleting')
    def test_the_backup_is_no_longer_available(self, status):
        def happen(volume):
            self.backup.update({'status': status})
            self.backup.save()

        self.meanwhile(happen)
        answer = self.assert_undone(400)
        self.assertIn(
            'status must be available', answer.json['badRequest']['message']
        )

    def test_the_backup_is_gone(self):
        self.meanwhile(lambda volume: self.backup.destroy())
        self.assert_undone(404)

    def test_no_cinder_backup_is_up(self):
        for service in objects.ServiceList.get_all(self.cinder.admin):
            if service.binary == 'cinder-backup':
                service.destroy()
        self.assert_undone(404)

    def test_the_right_to_restore_is_all_that_it_takes(self):
        """Who may restore may not delete, for an operator."""
        policy.init()
        policy.set_rules(
            oslo_policy.Rules.from_dict({'volume:delete': 'role:admin'}),
            overwrite=False,
        )
        self.addCleanup(policy.reset)
        self.meanwhile(self.occupy)
        self.assert_undone(400)

    def test_cinder_ends_with_an_exception(self):
        def fail(volume):
            raise KeyError('any')

        self.meanwhile(fail)
        self.assert_undone(500)

    def test_the_database_fails_while_the_volume_is_waited_for(self):
        failing = threading.Event()
        create = self.casts.create_volume
        waiting = threading.get_ident()

        def create_volume(*arguments, **others):
            failing.set()
            create(*arguments, **others)

        self.casts.create_volume = create_volume

        def execute(connection, cursor, statement, *others):
            if (
                failing.is_set()
                and threading.get_ident() == waiting
                and 'FROM volumes' in statement
            ):
                failing.clear()
                raise sqlalchemy.exc.OperationalError('any', {}, None)

        arguments = (self.cinder.engine, 'before_cursor_execute', execute)
        sqlalchemy.event.listen(*arguments)
        self.addCleanup(lambda: sqlalchemy.event.remove(*arguments))
        self.assert_undone(503)

    def test_it_is_gone_already(self):
        def happen(volume):
            self.occupy()
            volume.destroy()

        self.meanwhile(happen)
        answer = self.restore(self.backup)
        self.assertIn(answer.status, (400, 404))
        self.assertEqual(set(), self.volumes())
        self.assertNotIn('WARNING Volume', self.log.output)

    @ddt.data(
        {'status': 'in-use', 'attach_status': 'attached'},
        {'status': 'available', 'attach_status': 'attached'},
        {'status': 'attaching'},
        {'status': 'restoring-backup'},
        {'status': 'awaiting-transfer'},
    )
    def test_what_is_in_use_stays(self, values):
        def happen(volume):
            self.occupy()
            volume.update(values)
            volume.save()

        self.meanwhile(happen)
        self.assertEqual(values['status'], self.assert_left(400).status)

    def test_what_has_a_snapshot_stays(self):
        def happen(volume):
            self.occupy()
            objects.Snapshot(
                context=self.cinder.admin,
                volume_id=volume.id,
                status='available',
                volume_size=1,
                user_id='user',
                project_id=PROJECT,
            ).create()

        self.meanwhile(happen)
        self.assertEqual('available', self.assert_left(400).status)

    def test_what_cinder_accepts_stays(self):
        answer = self.restore(self.backup)
        self.assertEqual(202, answer.status, answer.body)
        row = self.api.row(answer.json['restore']['volume_id'])
        self.assertEqual('restoring-backup', row.status)
        self.assertEqual({row.id}, self.volumes())
