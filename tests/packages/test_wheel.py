# SPDX-License-Identifier: Apache-2.0

"""The wheel, beside Cinder in a virtual environment of a host."""

import pathlib
import shutil

import fixtures
import testtools

from tests.packages import cinder_host

CONSTRAINTS = cinder_host.TOP / 'devstack' / 'lab' / 'constraints.txt'


def files(folder):
    """The files below a folder; pip leaves empty folders."""
    return {str(path) for path in folder.rglob('*') if not path.is_dir()}


class WheelTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.venv = self.folder / 'venv'
        cinder_host.run('python3', '-m', 'venv', self.venv)
        self.pip('install', '-c', CONSTRAINTS, 'cinder')
        etc, state = self.folder / 'etc', self.folder / 'state'
        shutil.copytree(self.venv / 'etc' / 'cinder', etc)
        state.mkdir()
        self.host = cinder_host.CinderHost(
            '/', self.venv / 'bin', state=state, etc=str(etc)
        )

    def pip(self, *arguments):
        return cinder_host.run(
            *(self.venv / 'bin' / 'pip', '--disable-pip-version-check'),
            *arguments,
        )

    def make_wheel(self):
        source = self.folder / 'source'
        # Of a worktree, pbr could not tell the version.
        cinder_host.run('git', 'clone', '-q', cinder_host.TOP, source)
        self.pip('wheel', '--no-deps', '-w', self.folder / 'made', source)
        [wheel] = (self.folder / 'made').glob('*.whl')
        return wheel

    def test_it_is_used_and_removed_as_the_pages_say(self):
        wheel = self.make_wheel()
        before = files(self.venv)
        self.assertEqual(set(), self.host.used())
        self.pip('install', '-c', CONSTRAINTS, wheel)
        self.pip('check')
        self.host.enable()
        self.assertEqual(
            {'TierFilter', 'TierWeigher', 'cinder_tiers.api'}, self.host.used()
        )
        self.host.disable()
        self.assertEqual(set(), self.host.used())
        self.host.uninstall()
        self.assertEqual(set(), self.host.used())
        self.assertEqual(set(), before ^ files(self.venv))
