# SPDX-License-Identifier: Apache-2.0

"""Tempest finds the plugin and lists its tests.

That nothing else imports them is the business of `test_dependency_rule`.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import fixtures
import testtools

TOP = pathlib.Path(__file__).resolve().parents[3]
TESTS = TOP / 'cinder_tiers' / 'tempest' / 'tests'
TEST = re.compile(
    r"@decorators\.idempotent_id\('([0-9a-f-]{36})'\)\n"
    r'(?:    @.*\n)*    def (test_\w+)\('
)


def declared():
    """{name of a test: its idempotent id}, read from the sources."""
    return {
        name: ident
        for path in TESTS.glob('test_*.py')
        for ident, name in TEST.findall(path.read_text())
    }


class SourcesTestCase(testtools.TestCase):
    def test_each_test_has_an_id_of_its_own(self):
        names = [
            name
            for path in TESTS.glob('test_*.py')
            for name in re.findall(r'    def (test_\w+)', path.read_text())
        ]
        self.assertEqual(sorted(names), sorted(declared()))
        self.assertEqual(len(names), len(set(declared().values())))


class TempestTestCase(testtools.TestCase):
    """With Tempest itself, in a process and a folder of its own."""

    def setUp(self):
        super().setUp()
        if importlib.util.find_spec('tempest') is None:
            self.skipTest('tempest is not installed (test-requirements.txt)')
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def tempest(self, *arguments, folder='.'):
        """Run it; return what it says, without a warning."""
        done = subprocess.run(
            [sys.executable, '-m', 'tempest.cmd.main', *arguments],
            cwd=self.home / folder,
            env={
                **os.environ,
                'HOME': str(self.home),
                'PYTHON': sys.executable,
            },
            capture_output=True,
            text=True,
        )
        said = done.stdout + done.stderr
        self.assertEqual(0, done.returncode, said)
        for word in ('WARNING', 'ERROR', 'Traceback', 'Warning:'):
            self.assertNotIn(word, said)
        return done.stdout

    def test_the_plugin_is_listed(self):
        self.assertIn(
            'cinder_tiers.tempest.plugin:CinderTiersTempestPlugin',
            self.tempest('list-plugins'),
        )

    def test_all_tests_are_listed_with_their_ids(self):
        self.tempest('init', 'workspace')
        listed = self.tempest(
            'run',
            '--list-tests',
            '--regex',
            r'^cinder_tiers\.',
            folder='workspace',
        )
        self.assertEqual(
            declared(),
            dict(re.findall(r'\.(test_\w+)\[id-([0-9a-f-]{36})', listed)),
        )
