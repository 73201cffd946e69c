# SPDX-License-Identifier: Apache-2.0

"""Rally turns an import error of a plugin into a warning and goes on."""

import configparser
import json
import os
import pathlib
import shutil
import subprocess
import sys

import fixtures
import testtools

TOP = pathlib.Path(__file__).parents[3]


def entry_point():
    setup = configparser.ConfigParser()
    setup.read(TOP / 'setup.cfg')
    name, value = setup['entry_points']['rally_plugins'].split('=')
    assert name.strip() == 'path', name
    return value.strip()


class PluginLoadingTest(testtools.TestCase):
    def load(self, top):
        """What load_plugins.py tells of the package below ``top``."""
        home = self.useFixture(fixtures.TempDir()).path
        done = subprocess.run(
            [
                sys.executable,
                str(pathlib.Path(__file__).with_name('load_plugins.py')),
                entry_point(),
            ],
            env={**os.environ, 'PYTHONPATH': str(top), 'HOME': home},
            cwd=home,
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_all_plugins_load_without_a_warning(self):
        found = self.load(TOP)
        self.assertEqual([], found['warnings'])
        self.assertIn('CinderTiers.fleet_fio', found['plugins'])
        self.assertIn('CinderTiers.layers', found['plugins'])
        self.assertIn('cinder_tiers_start_signal', found['plugins'])
        self.assertEqual(
            {},
            {
                name: title
                for name, title in found['plugins'].items()
                if not title
            },
        )
        # Rally stops at the first module that fails: none may be missing.
        modules = {
            '.'.join(path.relative_to(TOP).with_suffix('').parts)
            for path in (TOP / 'rally_scenarios' / 'plugins').rglob(
                '[a-z]*.py'
            )
        }
        self.assertEqual(set(), modules - set(found['modules']))

    def test_a_broken_module_is_noticed(self):
        """The test above would fail: here is a copy with such a module."""
        copy = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        shutil.copytree(TOP / 'rally_scenarios', copy / 'rally_scenarios')
        broken = copy / 'rally_scenarios' / 'plugins' / 'aaa_broken.py'
        broken.write_text('import no_such_module_anywhere\n')
        warnings = self.load(copy)['warnings']
        self.assertIn('no_such_module_anywhere', ' '.join(warnings))
