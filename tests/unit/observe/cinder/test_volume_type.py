# SPDX-License-Identifier: Apache-2.0

"""What projects have of volume types, with Cinder's real API."""

import json

import keystoneauth1.session
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.observe.cinder import volume_type
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

ALPHA, BETA = 'a' * 32, 'b' * 32


class EditingSession(keystoneauth1.session.Session):
    """A session that leaves fields out of answers, as a policy does."""

    hidden = ()

    def request(self, url, method, **arguments):
        answer = super().request(url, method, **arguments)
        if '/detail' in url:
            self.asked.append(url.partition('?')[0].split('/')[-2])
            for rows in (found := answer.json()).values():
                for row in rows:
                    for name in self.hidden:
                        row.pop(name, None)
            answer._content = json.dumps(found).encode()
        return answer


class UseTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        connection = test_cinder_world.log_in(cls.api)
        cls.addClassCleanup(connection.close)
        for name in ('one', 'two'):
            made = connection.block_storage.create_type(name=name)
            for project, size in ((ALPHA, 1), (ALPHA, 2), (BETA, 4)):
                volume = cls.api.add_volume(
                    host='node@any',
                    volume_type_id=made.id,
                    project_id=project,
                    size=size,
                )
            cls.api.add_snapshot(
                volume_id=volume, project_id=BETA, volume_size=4
            )

    def use(self, *hidden, snapshots_of=()):
        connection = test_cinder_world.log_in(self.api, EditingSession)
        self.addCleanup(connection.close)
        connection.session.hidden = hidden
        self.asked = connection.session.asked = []
        types = volume_type.read_volume_types(
            connection, named=('one', 'two'), access_of=lambda one: False
        )
        return volume_type.use_by_project(
            connection,
            [types['one'], types['two']],
            snapshots_of=snapshots_of,
        )

    def test_snapshots_are_read_only_where_they_count(self):
        found = self.use(snapshots_of=('two',))
        self.assertEqual(['volumes', 'volumes', 'snapshots'], self.asked)
        for one in found.values():
            self.assertEqual({ALPHA: 2, BETA: 1}, one.volumes)
        self.assertEqual({ALPHA: 3, BETA: 4}, found['one'].gib)
        self.assertEqual({ALPHA: 3, BETA: 8}, found['two'].gib)
        self.assertEqual({BETA: 1}, found['two'].snapshots)
        self.use()
        self.assertEqual(['volumes', 'volumes'], self.asked)

    def test_what_a_policy_hides_is_not_taken_for_nothing(self):
        for field, policy in (
            ('os-vol-tenant-attr:tenant_id', 'volume_tenant_attribute'),
            (
                'os-extended-snapshot-attributes:project_id',
                'extended_snapshot_attributes',
            ),
        ):
            error = self.assertRaises(
                errors.NotVisible, self.use, field, snapshots_of=('one',)
            )
            self.assertIn(f'volume_extension:{policy}', str(error))
