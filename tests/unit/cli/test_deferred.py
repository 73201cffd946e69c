# SPDX-License-Identifier: Apache-2.0

"""What `openstack` loads of the commands, and when."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import testtools

from tests.unit.cli import shell

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
from openstackclient import shell
sys.modules['jsonschema'] = None
sys.exit(shell.main())
"""


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
        (info / 'entry_points.txt').write_text(
            ''.join(
                f'[{group}]\n'
                + ''.join(
                    f'{one.name} = {one.value}\n'
                    for one in shell.entry_points(group)
                )
                for group in ('openstack.cli.extension', shell.GROUP)
            )
        )

    def run_script(self, *arguments, script):
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
                ],
            ],
            json.loads(done.stdout),
        )

    def test_a_missing_module_of_a_command_is_named(self):
        done = self.run_script('tier', 'validate', script=WITHOUT_JSONSCHEMA)
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertIn('the Python module jsonschema is missing', done.stderr)
        self.assertIn("'cinder-tiers[cli]'", done.stderr)
        self.assertNotIn('Traceback', done.stderr)


class ImportsTestCase(testtools.TestCase):
    def test_no_command_waits_for_all_of_scipy(self):
        rooms = (
            'compare.compare_rows',
            'compare.trend_rows',
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
