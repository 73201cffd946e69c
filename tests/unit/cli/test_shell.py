# SPDX-License-Identifier: Apache-2.0

"""`cinder-tiers` with a cloud: as `openstack` finds it."""

import json
import os
import tempfile

import ddt
import testtools
import yaml

from tests.contract import cinder_api
from tests.unit.cli import shell
from tests.unit.execute.cinder import test_volume_type


@ddt.ddt
class CloudTestCase(testtools.TestCase):
    """Against a real Cinder API, with a stand-in for Keystone."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_backend('tier-general')
        connection = test_volume_type.connect(cls.api)
        cls.addClassCleanup(connection.close)
        connection.block_storage.create_type(
            name='general',
            extra_specs={
                'tiers:name': 'general',
                'volume_backend_name': 'tier-general',
            },
        )
        cls.login = {
            'auth_url': f'{cls.api.url}/identity/v3',
            'username': 'admin',
            'user_domain_id': 'default',
            'password': 'any',
            'project_id': cinder_api.PROJECT,
        }

    def names(self, *arguments, **environment):
        ran = shell.cinder_tiers(
            *arguments, 'list', '-f', 'json', **environment
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        return [row['Name'] for row in json.loads(ran.stdout)]

    def test_with_arguments(self):
        self.assertEqual(
            ['general'], self.names(*self.api.arguments_of('admin'))
        )

    def test_with_the_usual_environment(self):
        self.assertEqual(
            ['general'],
            self.names(
                OS_REGION_NAME='one',
                **{
                    f'OS_{name.upper()}': value
                    for name, value in self.login.items()
                },
            ),
        )

    @ddt.data(True, False)
    def test_with_clouds_yaml(self, by_option):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        with os.fdopen(handle, 'w') as stream:
            yaml.safe_dump(
                {
                    'clouds': {
                        'mine': {'auth': self.login, 'region_name': 'one'}
                    }
                },
                stream,
            )
        arguments = ('--os-cloud', 'mine') if by_option else ()
        environment = {} if by_option else {'OS_CLOUD': 'mine'}
        self.assertEqual(
            ['general'],
            self.names(*arguments, OS_CLIENT_CONFIG_FILE=path, **environment),
        )

    def test_it_says_what_openstack_says(self):
        arguments = self.api.arguments_of('admin')
        ours = shell.cinder_tiers(*arguments, 'explain', '--blank')
        theirs = shell.openstack(*arguments, 'tier', 'explain', '--blank')
        self.assertEqual(theirs, ours)

    def test_a_refused_login_is_no_traceback(self):
        ran = shell.cinder_tiers(
            *self.api.arguments_of('admin'),
            '--os-auth-url',
            f'{self.api.url}/nowhere',
            'list',
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('404', ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)
