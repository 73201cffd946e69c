# SPDX-License-Identifier: Apache-2.0

"""The Debian package, built as Debian builds it.

Needs Debian 13 or later.
"""

import os
import pathlib
import subprocess

import fixtures
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
#: Debian's own Python, whatever environment runs the test.
ENVIRONMENT = {
    'HOME': os.environ.get('HOME', '/root'),
    'LC_ALL': 'C.UTF-8',
    'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
}


def run(*command, **options):
    """Runs a command, and shows all that it said if it fails.

    :returns: its standard output.
    :raises AssertionError: if it fails.
    """
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        **options,
    )
    if done.returncode:
        raise AssertionError(f'{command}: {done.stdout}{done.stderr}')
    return done.stdout


class DebianPackageTest(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = fixtures.TempDir()
        folder.setUp()
        cls.addClassCleanup(folder.cleanUp)
        cls.source = pathlib.Path(folder.path, 'source')
        run('git', 'clone', '-q', '--shared', TOP, cls.source)
        run('dpkg-buildpackage', '-us', '-uc', '-b', cwd=cls.source)
        [cls.package] = cls.source.parent.glob('*.deb')
        [cls.changes] = cls.source.parent.glob('*.changes')

    def test_it_has_all_modules_and_what_hosts_of_cinder_need(self):
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        run('dpkg-deb', '-x', self.package, root)
        self.assertTrue((root / 'usr/bin/cinder-tiers-status').exists())
        modules = root / 'usr/lib/python3/dist-packages'
        committed = run(
            *('git', 'ls-files', 'cinder_tiers', 'rally_scenarios'),
            cwd=self.source,
        ).splitlines()
        self.assertEqual(
            [], [name for name in committed if not (modules / name).exists()]
        )
        [points] = modules.glob('cinder_tiers-*.dist-info/entry_points.txt')
        self.assertIn('[cinder.scheduler.filters]', points.read_text())

    def test_it_depends_on_nothing_that_cinder_does_not_need(self):
        depends = run('dpkg-deb', '-f', self.package, 'Depends')
        self.assertEqual(
            {
                'python3-cachetools',
                'python3-oslo.config',
                'python3-oslo.log',
                'python3-oslo.upgradecheck',
                'python3-pbr',
                'python3:any',
            },
            {one.split()[0] for one in depends.split(',')},
        )

    def test_lintian_finds_no_error(self):
        run('lintian', '--allow-root', '--fail-on', 'error', self.changes)
