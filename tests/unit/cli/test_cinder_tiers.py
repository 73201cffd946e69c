# SPDX-License-Identifier: Apache-2.0

"""`cinder-tiers`: the same verbs without `openstack`."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import ddt
import testtools
import yaml

from tests.contract import cinder_api
from tests.unit.cli import shell
from tests.unit.cli import test_commands
from tests.unit.execute import test_cinder

VERBS = {
    'apply',
    'audit',
    'backend-config',
    'explain',
    'export',
    'list',
    'plan',
    'show',
    'validate',
}
# What the console script does, where python-openstackclient is not.
SCRIPT = """
import sys
sys.modules['openstackclient'] = None
from cinder_tiers.cli import shell
sys.exit(shell.main())
"""
# What cliff does at each start, and each `openstack` command with it.
LOADED = """
import importlib.metadata, json, sys
before = set(sys.modules)
found = importlib.metadata.entry_points(group='openstack.tier.v1')
for one in found:
    one.load()
added = set(sys.modules) - before
print(json.dumps([len(found), sorted(
    name for name in added
    if name.partition('.')[0] not in sys.stdlib_module_names)]))
"""
# As with the base install, beside an OpenStackClient that has the rest.
WITHOUT_JSONSCHEMA = """
import sys
from cinder_tiers.cli import shell
sys.modules['jsonschema'] = None
sys.exit(shell.main())
"""


@ddt.ddt
class InstalledTestCase(testtools.TestCase):
    """As it is installed, in a process of its own, without a cloud."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # What pip would write of this tree.
        cls.folder = pathlib.Path(folder.name)
        info = cls.folder / 'cinder_tiers-1.2.3.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: cinder-tiers\nVersion: 1.2.3\n'
        )
        project = tomllib.loads(shell.PROJECT.read_text())['project']
        (info / 'entry_points.txt').write_text(
            ''.join(
                '\n'.join(
                    (f'[{group}]', *(f'{k} = {v}' for k, v in lines.items()))
                )
                + '\n'
                for group, lines in project['entry-points'].items()
            )
        )

    def run_script(self, *arguments, script=SCRIPT):
        return subprocess.run(
            [sys.executable, '-c', script, *arguments],
            text=True,
            cwd=self.folder,
            capture_output=True,
            timeout=60,
            env={
                'PATH': os.environ['PATH'],
                'HOME': str(self.folder),
                # Before the tree: a build may have left an egg-info there.
                'PYTHONPATH': f'{self.folder}:{shell.PROJECT.parent}',
            },
        )

    @ddt.data(('--help',), ())
    def test_the_help_lists_the_verbs(self, arguments):
        done = self.run_script(*arguments)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        listed = {
            line.split()[0]
            for line in done.stdout.partition('Commands:')[2].splitlines()
            if line.strip()
        }
        self.assertEqual(set(), VERBS - listed)
        self.assertIn('--os-cloud', done.stdout)
        # Of the several hundred lines on ways to log in, none.
        self.assertLess(len(done.stdout.splitlines()), 50)
        self.assertNotIn('--os-auth-url', done.stdout)

    def test_all_options_before_the_verb_are_shown_by_the_verb_help(self):
        done = self.run_script('help')
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertIn('--os-auth-url', done.stdout)
        [usage] = [
            line for line in done.stdout.splitlines() if 'usage:' in line
        ]
        self.assertIn('<command>', usage)

    def test_a_file_is_checked_without_a_cloud(self):
        done = self.run_script('validate', test_commands.SAMPLE)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('is valid', done.stderr)
        done = self.run_script('validate', '/nonexistent', '-f', 'json')
        self.assertEqual((1, ''), (done.returncode, done.stderr))
        self.assertEqual('/nonexistent', json.loads(done.stdout)[0]['Where'])

    def test_what_cliff_loads_at_each_start_is_next_to_nothing(self):
        done = self.run_script(script=LOADED)
        self.assertEqual('', done.stderr)
        self.assertEqual(
            [
                len(shell.VERBS),
                [
                    'cinder_tiers',
                    'cinder_tiers.cli',
                    'cinder_tiers.cli.commands',
                    'cinder_tiers.cli.deferred',
                    'cinder_tiers.cli.plugin',
                ],
            ],
            json.loads(done.stdout),
        )

    def test_a_missing_module_of_a_command_is_named(self):
        done = self.run_script('validate', script=WITHOUT_JSONSCHEMA)
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertIn('the Python module jsonschema is missing', done.stderr)
        self.assertIn("'cinder-tiers[cli]'", done.stderr)
        self.assertNotIn('Traceback', done.stderr)

    def test_it_needs_all_that_the_plug_in_needs_but_openstack(self):
        setup = configparser.ConfigParser()
        setup.read(shell.PROJECT)
        cli, standalone = (
            [
                line
                for line in setup['extras'][name].splitlines()
                if not line.startswith('python-openstackclient')
            ]
            for name in ('cli', 'standalone')
        )
        self.assertEqual(cli, standalone)

    def test_the_version(self):
        self.assertIn('1.2.3', self.run_script('--version').stdout)

    @ddt.data('plan', 'apply', 'list')
    def test_without_credentials_it_says_what_is_missing(self, verb):
        done = self.run_script(verb)
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertIn('auth-url', done.stderr)
        self.assertNotIn('Traceback', done.stderr)

    def test_an_unknown_verb(self):
        done = self.run_script('aply')
        self.assertNotEqual(0, done.returncode)
        self.assertIn('apply', done.stdout + done.stderr)


@ddt.ddt
class HelpTestCase(testtools.TestCase):
    @ddt.data(*sorted(VERBS))
    def test_examples_are_those_of_the_program(self, verb):
        ours, theirs = (
            # argparse breaks lines at hyphens, too
            ' '.join(ran.stdout.split()).replace('cinder- ', 'cinder-')
            for ran in (
                shell.cinder_tiers(verb, '--help'),
                shell.openstack('tier', verb, '--help'),
            )
        )
        self.assertIn(f'usage: cinder-tiers {verb} ', ours)
        self.assertIn(f'Example: cinder-tiers {verb} ', ours)
        self.assertNotIn('openstack tier', ours)
        self.assertIn(f'Example: openstack tier {verb} ', theirs)


@ddt.ddt
class CloudTestCase(testtools.TestCase):
    """Against a real Cinder API, with a stand-in for Keystone."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_backend('tier-general')
        connection = test_cinder.connect(cls.api)
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


class ImportsTestCase(testtools.TestCase):
    def test_no_command_waits_for_all_of_scipy(self):
        rooms = (
            'compare.compare_rows',
            'headroom.headroom_rows',
            'report.result_rows',
            'tune.tuning',
            'watch.expectation',
        )
        found = subprocess.run(
            [
                sys.executable,
                '-c',
                'import importlib, sys\n'
                f'for room in {rooms}:\n'
                '    importlib.import_module(f"cinder_tiers.loop.{room}")\n'
                'print(sorted({"scipy.optimize", "scipy.special",'
                ' "scipy.stats"} & sys.modules.keys()))',
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertEqual("['scipy.special']\n", found.stdout)
