# SPDX-License-Identifier: Apache-2.0

"""Rally turns an import error of a plugin into a warning and goes on."""

import json
import os
import pathlib
import subprocess
import sys
import tomllib

import fixtures
import testtools

TOP = pathlib.Path(__file__).parents[3]


def entry_point():
    project = tomllib.loads((TOP / 'pyproject.toml').read_text())['project']
    return project['entry-points']['rally_plugins']['path']


class PluginLoadingTest(testtools.TestCase):
    def test_all_plugins_load_without_a_warning(self):
        found = self.load()
        self.assert_all_are_loaded(found)
        # Or the empty list of warnings would prove nothing.
        self.assertIn(
            'no_such_module_anywhere', ' '.join(found['warnings'][1])
        )

    def load(self):
        """What load_plugins.py tells of our package, and of a broken one."""
        home = self.useFixture(fixtures.TempDir()).path
        broken = pathlib.Path(home, 'broken', 'plugins')
        broken.mkdir(parents=True)
        for folder in (broken, broken.parent):
            (folder / '__init__.py').touch()
        (broken / 'aaa.py').write_text('import no_such_module_anywhere\n')
        done = subprocess.run(
            [
                sys.executable,
                str(pathlib.Path(__file__).with_name('load_plugins.py')),
                entry_point(),
                'broken.plugins',
            ],
            env={
                **os.environ,
                'PYTHONPATH': f'{TOP}{os.pathsep}{home}',
                'HOME': home,
            },
            cwd=home,
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def assert_all_are_loaded(self, found):
        self.assertEqual([], found['warnings'][0])
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
