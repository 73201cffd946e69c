# SPDX-License-Identifier: Apache-2.0

"""`cinder-tiers`: the same verbs without `openstack`."""

import configparser
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import ddt
import testtools

from tests.unit.cli import shell
from tests.unit.cli import test_commands

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
        setup = configparser.ConfigParser()
        setup.read(shell.SETUP)
        (info / 'entry_points.txt').write_text(
            ''.join(
                f'[{group}]{lines}\n'
                for group, lines in setup['entry_points'].items()
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
                'PYTHONPATH': f'{self.folder}:{shell.SETUP.parent}',
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
        setup.read(shell.SETUP)
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
