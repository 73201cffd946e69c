# SPDX-License-Identifier: Apache-2.0
"""Who may still use a type that a tier had before, with a real Cinder."""

import json
import os
import pathlib
import tempfile

import openstack.exceptions
import testtools

from tests.unit.cli import shell
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

TIERS = """version: 1
tiers:
  database:
    tags: {tags}
    backend: ssd
    access: {access}
  general:
    fallback: true
    backend: lvm
"""
NAME = 'volume type database'
ALPHA, BETA = 'a' * 32, 'b' * 32


class RetiredTypesCase(testtools.TestCase):
    """Commands of an administrator, and a Cinder with two backends."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_project(ALPHA, 'alpha')
        cls.api.add_project(BETA, 'beta')
        cls.api.add_backend('lvm')
        cls.host = cls.api.add_backend('ssd')
        cls.empty = cls.api.keep()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.api.return_to, self.empty)
        self.connection = test_cinder_world.log_in(self.api)
        self.addCleanup(self.connection.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'tiers.yaml')
        self.saved = os.path.join(folder.name, 'plan.json')

    def write(self, text):
        """The tiers file."""
        pathlib.Path(self.path).write_text(text, 'utf-8')

    def run_tier(self, status, command, *arguments):
        """What a command of an administrator prints; it ends as expected."""
        ran = shell.openstack(
            *self.api.arguments_of('admin'), 'tier', command, *arguments
        )
        self.assertEqual(status, ran.status, ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)
        return ran.stdout

    def run_on_tiers(self, status, command, *arguments):
        return self.run_tier(
            status, command, '--catalog', self.path, *arguments
        )

    def types(self):
        return {
            one.name: one
            for one in self.connection.block_storage.types(is_public='None')
        }


class RetiredTypesTestCase(RetiredTypesCase):
    def declare(self, access, *tags):
        self.write(TIERS.format(access=access, tags=list(tags)))

    def retire(self, before, after):
        """A tier that is in use gets another tag, and maybe other access.

        :returns: what its type is called then.
        """
        self.declare(before, 'old')
        self.run_on_tiers(0, 'apply')
        old = self.types()['database'].id
        self.api.add_volume(host=self.host, volume_type_id=old)
        self.declare(after, 'new')
        self.run_on_tiers(0, 'apply', '--allow', NAME)
        self.run_on_tiers(0, 'plan')
        return next(
            name for name, one in self.types().items() if one.id == old
        )

    def test_what_is_retired_is_named_with_those_who_have_it(self):
        self.declare('[alpha, beta]', 'old')
        self.run_on_tiers(0, 'apply')
        old = self.types()['database'].id
        for project in (ALPHA, ALPHA, BETA):
            self.api.add_volume(
                host=self.host, volume_type_id=old, project_id=project
            )
        self.declare('[alpha]', 'new')
        retired = f'database - retired {old[:8]}'
        text = ' '.join(self.run_on_tiers(5, 'plan').split())
        for part in (
            f'retired as {retired}',
            '3 volumes have volume type database: 2 of project alpha, 1 of '
            f'project beta ({BETA})',
            f'away from projects: beta ({BETA})',
        ):
            self.assertIn(part, text)
        (row,) = json.loads(self.run_on_tiers(5, 'plan', '-f', 'json'))
        self.assertEqual({ALPHA: 'alpha', BETA: 'beta'}, row['Projects'])
        self.assertEqual(
            {ALPHA, BETA}, set(row['Before']['projects']), 'ids stay ids'
        )
        (row,) = json.loads(
            self.run_on_tiers(0, 'apply', '--allow', NAME, '-f', 'json')
        )
        self.assertIn(f'"{retired}"', row['Notes'])
        self.assertEqual(old, self.types()[retired].id)

    def can_create(self, project, volume_type):
        """Whether a member of a project gets a volume of a type."""
        member = test_cinder_world.log_in(
            self.api, username='member', project=project
        )
        self.addCleanup(member.close)
        try:
            member.block_storage.create_volume(size=1, volume_type=volume_type)
        except openstack.exceptions.NotFoundException:
            return False
        return True

    def assert_only_alpha_has(self, retired):
        for name in ('database', retired):
            self.assertEqual(
                (True, False),
                tuple(self.can_create(one, name) for one in (ALPHA, BETA)),
                name,
            )
        self.run_on_tiers(0, 'plan')
        self.run_on_tiers(0, 'audit')
        self.run_tier(0, 'export')
        explained = json.loads(
            self.run_tier(
                4,
                'explain',
                '--blank',
                '--project',
                'beta',
                '--type',
                retired,
                '-f',
                'json',
            )
        )
        self.assertEqual('not placed', explained['outcome'])

    def test_a_type_is_closed_when_it_is_retired(self):
        retired = self.retire('public', '[alpha]')
        self.assertTrue(retired.startswith('database - retired '), retired)
        self.assert_only_alpha_has(retired)

    def test_a_project_that_is_no_longer_declared_loses_it(self):
        retired = self.retire('[alpha, beta]', '[alpha, beta]')
        self.assertTrue(self.can_create(BETA, retired))
        self.declare('[alpha]', 'new')
        # Each type by its own name, and the whole plan or nothing.
        self.run_on_tiers(5, 'apply', '--allow', NAME)
        self.assertTrue(self.can_create(BETA, 'database'))
        consents = ('--allow', NAME, '--allow', f'volume type {retired}')
        rows = json.loads(
            self.run_on_tiers(4, 'plan', *consents, '-f', 'json')
        )
        self.assertEqual(
            [('update', NAME), ('update', f'volume type {retired}')],
            [(row['Action'], row['Object']) for row in rows],
        )
        findings = json.loads(self.run_on_tiers(4, 'audit', '-f', 'json'))
        self.assertEqual(
            ['tier database'] * 2,
            [
                row['Object']
                for row in findings
                if row['State'] == 'non-compliant'
            ],
        )
        self.run_on_tiers(4, 'plan', *consents, '--out', self.saved)
        self.run_tier(0, 'apply', self.saved)
        self.assert_only_alpha_has(retired)

    def test_a_type_that_was_retired_while_it_was_open_is_closed(self):
        retired = self.retire('[alpha]', '[alpha]')
        found = self.types()[retired]
        self.connection.block_storage.add_type_access(found, BETA)
        self.assertIn(
            f"'volume type {retired}'",
            self.run_on_tiers(5, 'plan', '-f', 'text'),
        )
        self.assertIn(retired, self.run_tier(4, 'export'))
        for allowed in (f'volume type {retired}:projects', NAME):
            self.run_on_tiers(4, 'plan', '--allow', allowed)
        self.run_on_tiers(0, 'apply', '--allow', f'volume type {retired}')
        self.assert_only_alpha_has(retired)

    def test_volumes_of_a_retired_type_are_found_by_each_command(self):
        retired = self.retire('public', 'public')
        (volume,) = self.connection.block_storage.volumes(all_projects=True)
        self.api.add_project(volume.project_id, 'gamma')
        sums = json.loads(self.run_tier(0, 'volumes', '-f', 'json'))
        self.assertEqual(
            [('database', 1, volume.size, 1)],
            [
                (one['Tier'], one['Volumes'], one['GiB'], one['Wrong'])
                for one in sums
            ],
        )
        for arguments, status in (
            (['--wrong'], 4),
            (['database'], 0),
            (['database', '--wrong', '--project', 'gamma'], 4),
        ):
            (found,) = json.loads(
                self.run_tier(status, 'volumes', *arguments, '-f', 'json')
            )
            self.assertEqual(
                (volume.id, 'gamma', retired, 'database', 'out of date'),
                tuple(
                    found[key]
                    for key in ('Volume', 'Project', 'Type', 'Tier', 'State')
                ),
            )
        self.run_tier(1, 'volumes', 'databse', '--wrong')
        for arguments in (['general'], ['--wrong', '--project', BETA]):
            self.assertEqual(
                [],
                json.loads(
                    self.run_tier(0, 'volumes', *arguments, '-f', 'json')
                ),
            )
        explained = json.loads(
            self.run_tier(4, 'explain', '--volume', volume.id, '-f', 'json')
        )
        self.assertEqual('out of date', explained['outcome'])
        self.run_on_tiers(4, 'audit', '--volumes')
