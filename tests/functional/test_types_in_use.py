# SPDX-License-Identifier: Apache-2.0

"""A tier that has volumes is changed, and none of them is touched."""

import pathlib

import fixtures
import yaml

from tests.functional import lab
from tests.functional import volumes

NAME = 'functional-in-use'
OBJECT = f'volume type {NAME}'


class TypesInUseTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'tiers.yaml'
        )
        self.addCleanup(self.remove_types)
        self.declare(tags=['functional-one'])
        self.tier('apply')

    def remove_types(self):
        for one in self.cinder.volume_types.list(is_public=None):
            if one.name.startswith(NAME):
                self.cinder.volume_types.delete(one)

    def declare(self, **fields):
        """A catalog with one tier more than the lab's."""
        content = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        content['tiers'][NAME] = {
            'priority': 77,
            'backend': 'tier-general',
            **fields,
        }
        self.path.write_text(yaml.safe_dump(content, sort_keys=False))

    def tier(self, verb, *options, expect=0):
        return self.run_command(
            'openstack',
            'tier',
            verb,
            '--catalog',
            str(self.path),
            *options,
            expect=expect,
        )

    def find_type(self, name):
        return next(
            one
            for one in self.cinder.volume_types.list(is_public=None)
            if one.name == name
        )

    def test_new_volumes_get_the_new_type_and_old_ones_keep_theirs(self):
        image = self.make_image('functional-one')
        lab.wait_until_tiers_are_known()
        old = self.make_volume(imageRef=image)
        self.assertEqual(NAME, old.volume_type)
        old_type = self.find_type(NAME)
        project = self.member.current_project_id
        self.cinder.default_types.create(NAME, project)
        self.addCleanup(self.cinder.default_types.delete, project)
        self.declare(tags=['functional-one', 'functional-two'])
        _, errors = self.tier('apply', expect=5)
        self.assertIn('the volume type has volumes', errors)
        self.tier('apply', '--allow', OBJECT)
        self.tier('plan')

        self.assertEqual(
            f'{NAME} - retired {old_type.id[:8]}',
            self.cinder.volumes.get(old.id).volume_type,
        )
        self.assertEqual('tier-general', self.pool_of(old.id))
        (default,) = [
            one
            for one in self.cinder.default_types.list()
            if one.project_id == project
        ]
        self.assertEqual(self.find_type(NAME).id, default.volume_type_id)
        lab.wait_until_tiers_are_known()
        new = self.make_volume(imageRef=self.make_image('functional-two'))
        self.assertEqual(NAME, new.volume_type)

        found, _ = self.tier(
            'audit', '--volumes', '--tier', NAME, '-f', 'csv', expect=4
        )
        self.assertIn(old.id, found)
        self.assertNotIn(new.id, found)
        self.cinder.volumes.retype(old.id, NAME, 'never')
        self.wait_while(
            lambda: self.cinder.volumes.get(old.id).volume_type != NAME
        )
        self.assertEqual('tier-general', self.pool_of(old.id))
        self.tier('audit', '--volumes', '--tier', NAME)

    def test_a_name_that_had_volumes_serves_again(self):
        """Cinder keeps the quota usage of types that are deleted."""
        for tag in ('functional-two', 'functional-three'):
            volume = self.make_volume(volume_type=NAME)
            self.declare(tags=['functional-one', tag])
            self.tier('apply', '--allow', OBJECT)
            self.tier('plan')
            self.remove(self.cinder.volumes, volume.id)
            self.remove_types()
            self.declare(tags=['functional-one'])
            self.tier('apply')
