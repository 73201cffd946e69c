# SPDX-License-Identifier: Apache-2.0

"""A wheel and an sdist, built, installed and looked at as a packager would.

Needs the index of Python packages, and no lab.
"""

import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import fixtures
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
CONSTRAINTS = TOP / 'devstack' / 'lab' / 'constraints.txt'
VERSION = '0.0.1'
OLD_AND_NEW = (('pbr==7.0.2', 'setuptools==64.0.0'), ('pbr', 'setuptools'))


def run(*command, **options):
    """Runs a command, and shows all that it said if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        **options,
    )
    if done.returncode:
        raise AssertionError(f'{command}: {done.stdout}{done.stderr}')
    return done.stdout


class Environment:
    """A virtual environment of its own."""

    def __init__(self, folder):
        run(sys.executable, '-m', 'venv', folder)
        self.folder = folder

    def pip(self, *arguments):
        return run(
            self.folder / 'bin/python',
            '-m',
            'pip',
            '--disable-pip-version-check',
            *arguments,
        )

    def install(self, *what):
        self.pip('install', '-q', '-c', CONSTRAINTS, *what)

    def installed(self):
        return set(self.pip('freeze', '--all').splitlines())


class PackagesTest(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = fixtures.TempDir()
        folder.setUp()
        cls.addClassCleanup(folder.cleanUp)
        cls.folder = pathlib.Path(folder.path)
        cls.source = cls.folder / 'source'
        # What is committed; pbr takes the files of the sdist from git.
        run('git', 'clone', '-q', '--shared', TOP, cls.source)
        builder = Environment(cls.folder / 'builder')
        builder.pip('install', '-q', 'build')
        # The wheel is built from the sdist.
        run(
            builder.folder / 'bin/python',
            '-m',
            'build',
            '--outdir',
            cls.folder / 'dist',
            cls.source,
            env={**os.environ, 'PBR_VERSION': VERSION},
        )
        [cls.wheel] = (cls.folder / 'dist').glob('*.whl')
        [cls.sdist] = (cls.folder / 'dist').glob('*.tar.gz')

    def test_the_wheel_has_the_packages_and_the_samples_and_no_more(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        committed = run('git', 'ls-files', cwd=self.source).splitlines()
        wanted = {
            name
            for name in committed
            if name.startswith(('cinder_tiers/', 'rally_scenarios/'))
        } | {
            f'cinder_tiers-{VERSION}.data/data/share/cinder-tiers/{name}'
            for name in committed
            if name.startswith('etc/')
        }
        found = {
            name for name in names if f'-{VERSION}.dist-info/' not in name
        }
        self.assertEqual(set(), wanted - found)
        self.assertEqual(set(), found - wanted)

    def test_old_and_new_build_tools_make_the_same_of_it(self):
        for pins in OLD_AND_NEW:
            builder = Environment(self.folder / '-'.join(pins))
            builder.pip('install', '-q', 'build', 'wheel', *pins)
            folder = self.folder / '-'.join(('made', *pins))
            done = subprocess.run(
                [
                    builder.folder / 'bin/python',
                    *('-m', 'build', '--no-isolation'),
                    *('--skip-dependency-check', '--wheel'),
                    *('--outdir', folder, self.source),
                ],
                capture_output=True,
                text=True,
                env={**os.environ, 'PBR_VERSION': VERSION},
            )
            said = done.stdout + done.stderr
            self.assertEqual(0, done.returncode, said)
            [wheel] = folder.glob('*.whl')
            self.assertEqual(self.content(self.wheel), self.content(wheel))
            # What setuptools and pbr deprecate is in pyproject.toml or
            # setup.cfg; older ones scold what pbr itself calls.
            if pins == OLD_AND_NEW[-1]:
                self.assertNotIn('deprecated', said)

    @staticmethod
    def content(wheel):
        """Names of its files but of metadata, and its entry points."""
        info = f'cinder_tiers-{VERSION}.dist-info/'
        with zipfile.ZipFile(wheel) as file:
            return (
                {name for name in file.namelist() if info not in name},
                sorted(file.read(f'{info}entry_points.txt').split()),
            )

    def test_the_sdist_has_what_its_tests_need(self):
        with tarfile.open(self.sdist) as file:
            names = {name.partition('/')[2] for name in file.getnames()}
        wanted = {
            name
            for name in run('git', 'ls-files', cwd=self.source).splitlines()
            if not name.startswith('.')
        }
        self.assertEqual(set(), wanted - names)

    def test_beside_cinder_it_adds_itself_alone(self):
        environment = Environment(self.folder / 'cinder')
        environment.install('cinder')
        before = environment.installed()
        environment.install(self.wheel)
        environment.pip('check')
        added = environment.installed() - before
        self.assertEqual(
            ['cinder-tiers'], [line.partition(' @ ')[0] for line in added]
        )
        self.assertEqual(set(), before - environment.installed())

    def test_the_extra_of_the_commands_installs_and_runs(self):
        environment = Environment(self.folder / 'cli')
        environment.install(f'{self.wheel}[cli]')
        environment.pip('check')
        run(environment.folder / 'bin/openstack', 'tier', 'validate', '--help')

    def test_tempest_lists_the_plugin(self):
        environment = Environment(self.folder / 'tempest')
        environment.install(f'{self.wheel}[tempest]')
        environment.pip('check')
        self.assertIn(
            'cinder_tiers.tempest.plugin',
            run(environment.folder / 'bin/tempest', 'list-plugins'),
        )
