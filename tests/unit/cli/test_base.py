# SPDX-License-Identifier: Apache-2.0

"""What the tier commands have in common: the cloud, and what is missing."""

import json
import pathlib
import socket
import tempfile

import ddt
from osc_lib.cli import client_config
import testtools

from cinder_tiers.cli import base
from tests.unit.cli import shell
from tests.unit.cli import test_commands


#: Nothing listens on this port.
NO_KEYSTONE = (
    *('--os-auth-type', 'password', '--os-username', 'admin'),
    *('--os-password', 'any', '--os-user-domain-id', 'default'),
    *('--os-project-name', 'admin', '--os-project-domain-id', 'default'),
    *('--os-auth-url', 'http://127.0.0.1:9/identity/v3'),
)


INCLUDE_ROOT = 'CINDER_TIERS_INCLUDE_ROOT'


@ddt.ddt
class NothingNamedTestCase(testtools.TestCase):
    """`"$PLAN"` of a shell is an empty word where PLAN is not set."""

    @ddt.data(
        ('apply', ''),
        ('apply', '--allow', ''),
        ('apply', '--coordination-url', ''),
        ('audit', '--tier', ''),
        ('explain', '--image', ''),
        ('explain', '--image', ' '),
        ('explain', '--blank', '--type', ''),
        ('export', '--out', ''),
        ('plan', '--out', ''),
        ('plan', '--catalog', ''),
        ('sweep', ''),
        ('validate', '--include-root', ''),
    )
    def test_an_empty_argument_is_no_missing_one(self, words):
        ran = shell.openstack(*test_commands.NO_CLOUD, 'tier', *words)
        self.assertEqual((2, ''), (ran.status, ran.stdout))
        self.assertIn('is empty', ran.stderr)

    def test_an_empty_variable_is_a_missing_one(self):
        with tempfile.TemporaryDirectory() as folder:
            below = pathlib.Path(folder) / 'below'
            below.mkdir()
            pathlib.Path(folder, 'outside.yaml').write_text('secret: x\n')
            (below / 'tiers.yaml').write_text('include: [../outside.yaml]\n')
            for root in (None, ''):
                ran = shell.openstack(
                    'tier',
                    'validate',
                    str(below / 'tiers.yaml'),
                    **({} if root is None else {INCLUDE_ROOT: root}),
                )
                self.assertEqual(1, ran.status)
                self.assertIn('--include-root', ran.stdout + ran.stderr)
                self.assertNotIn('secret', ran.stdout + ran.stderr)


@ddt.ddt
class KeystoneTestCase(testtools.TestCase):
    @ddt.data(
        ('plan', '--catalog', test_commands.SAMPLE),
        ('apply', '--catalog', test_commands.SAMPLE),
        ('audit', '--catalog', test_commands.SAMPLE),
        ('list',),
        ('show', 'database'),
        ('explain', '--blank'),
        ('export',),
        ('sweep', '--restore'),
        ('fault', '--restore'),
    )
    def test_without_a_cloud_it_says_how_to_choose_one(self, words):
        ran = shell.openstack('tier', *words)
        self.assertEqual((1, ''), (ran.status, ran.stdout), ran.stderr)
        # The words of OSC, of which its users know what to search for.
        self.assertIn('Missing value auth-url', ran.stderr)
        self.assertIn('OS_CLOUD or --os-cloud', ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)

    @ddt.data(
        ('plan', '--catalog', test_commands.SAMPLE),
        ('apply', '--catalog', test_commands.SAMPLE),
        ('audit', '--catalog', test_commands.SAMPLE),
        ('list',),
        ('show', 'database'),
        ('explain', '--blank'),
        ('export',),
        ('sweep', '--restore'),
        ('fault', '--restore'),
    )
    def test_one_that_does_not_answer_has_the_status_of_that(self, words):
        ran = shell.openstack(*NO_KEYSTONE, 'tier', *words)
        self.assertEqual((6, ''), (ran.status, ran.stdout), ran.stderr)
        self.assertIn('Keystone did not answer', ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)
        told = shell.openstack('tier', words[0], '--help')
        self.assertRegex(
            test_commands.flat(told.stdout), '; 6 [^;]* did not answer'
        )

    def test_one_that_accepts_and_says_nothing_is_not_waited_for(self):
        silent = self.enterContext(socket.create_server(('127.0.0.1', 0)))
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        clouds = folder / 'clouds.yaml'
        clouds.write_text(
            json.dumps(
                {
                    'clouds': {
                        'silent': {
                            'auth': {
                                'auth_url': 'http://127.0.0.1:'
                                f'{silent.getsockname()[1]}/v3',
                                'username': 'any',
                                'password': 'any',
                                'user_domain_id': 'default',
                                'system_scope': 'all',
                            },
                            'api_timeout': 0.5,
                        }
                    }
                }
            ),
            'utf-8',
        )
        ran = shell.openstack(
            *(
                '--os-cloud',
                'silent',
                'tier',
                'plan',
                '--catalog',
                test_commands.SAMPLE,
            ),
            OS_CLIENT_CONFIG_FILE=str(clouds),
        )
        self.assertEqual((6, ''), (ran.status, ran.stdout), ran.stderr)
        self.assertIn('Keystone did not answer', ran.stderr)

    def test_without_a_limit_in_clouds_yaml_there_is_one(self):
        for given, expected in (({}, 300), ({'api_timeout': 7}, 7)):
            config = client_config.OSC_Config(
                override_defaults=given, load_envvars=False
            )
            base.limit_wait(config)
            cloud = config.get_one(
                auth_type='admin_token', endpoint='http://any', token='any'
            )
            self.assertEqual(expected, cloud.get_session().timeout)
