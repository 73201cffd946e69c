# SPDX-License-Identifier: Apache-2.0

"""What each role of Keystone gets of each verb."""

import json
import pathlib

import fixtures

from tests.functional import commands
from tests.functional import lab
from tests.functional import volumes

PASSWORD = 'of-a-test'
#: What a service's refusal leaves in a text.
REFUSALS = ('403 ', '403:', 'Forbidden', 'disallowed', 'Traceback')
#: Exit statuses by role.
EVERYBODY = {'reader': 0, 'member': 0, 'manager': 0, 'admin': 0}
ADMINS = {'reader': 1, 'member': 1, 'manager': 1, 'admin': 0}
#: Members do not see tags of tiers: where an image goes is unknown to them.
EXPLAINS = {'reader': 3, 'member': 3, 'manager': 3, 'admin': 0}
ROLES = tuple(EVERYBODY)


class RolesTest(volumes.VolumesTestCase):
    """A user for each role, in the project of the lab's member."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.image = self.make_image('database')
        self.file = self._clouds()

    def _clouds(self):
        """A file of clouds that are named like the roles."""
        path = pathlib.Path(self.environment['OS_CLIENT_CONFIG_FILE'])
        like = json.loads(path.read_text())['clouds'][lab.MEMBER]
        identity = self.admin.identity
        clouds = {}
        for role in ROLES:
            user = identity.create_user(
                name=self.unique_name(role), password=PASSWORD
            )
            self.addCleanup(identity.delete_user, user)
            identity.assign_project_role_to_user(
                self.member.current_project_id,
                user,
                identity.find_role(role, ignore_missing=False),
            )
            clouds[role] = {
                **like,
                'auth': {
                    **like['auth'],
                    'username': user.name,
                    'password': PASSWORD,
                },
            }
        written = self.folder / 'clouds.yaml'
        written.write_text(json.dumps({'clouds': clouds}))
        return str(written)

    def test_each_verb_has_its_least_role(self):
        catalog = self.environment['CINDER_TIERS_CATALOG']
        verbs = {
            ('list',): EVERYBODY,
            ('show', 'database'): EVERYBODY,
            ('explain', '--image', self.image): EXPLAINS,
            ('usage',): EVERYBODY,
            ('usage', '--project', self.member.current_project_id): EVERYBODY,
            ('volumes',): ADMINS,
            ('plan', '--catalog', catalog): ADMINS,
            ('repair', '--yes'): ADMINS,
        }
        found = {}
        said = {}
        for verb in verbs:
            found[verb] = {}
            for role in ROLES:
                done = self.run_as(role, *verb)
                found[verb][role] = done.returncode
                if verbs[verb] is not ADMINS:
                    said[verb, role] = done.stdout + done.stderr
        self.assertEqual(verbs, found)
        self.assertEqual(
            [],
            [
                (who, text)
                for who, text in said.items()
                if any(word in text for word in REFUSALS)
            ],
        )

    def run_as(self, role, *words):
        return commands.run(
            ('openstack', 'tier', *words, '-f', 'json'),
            environment={
                **self.environment,
                'OS_CLOUD': role,
                'OS_CLIENT_CONFIG_FILE': self.file,
            },
            timeout_s=300,
        )
