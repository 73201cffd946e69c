# SPDX-License-Identifier: Apache-2.0

"""The Debian package, built as Debian builds it.

Needs Debian 13 or later.
"""

import functools
import os
import pathlib
import shutil

import fixtures
import testtools

from tests.packages import cinder_host

#: Debian's own Python, whatever environment runs the test.
ENVIRONMENT = {
    'HOME': os.environ.get('HOME', '/root'),
    'LC_ALL': 'C.UTF-8',
    'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
}
#: Of apt and dpkg, and what the services write when they start.
NOTES = (
    *('root/.cache', 'var/cache/apt', 'var/lib/apt', 'var/lib/dpkg'),
    *('var/lib/state', 'var/log'),
)

run = functools.partial(cinder_host.run, env=ENVIRONMENT)


class DebianPackageTest(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = fixtures.TempDir()
        folder.setUp()
        cls.addClassCleanup(folder.cleanUp)
        cls.source = pathlib.Path(folder.path, 'source')
        run('git', 'clone', '-q', '--shared', cinder_host.TOP, cls.source)
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

    def test_it_is_used_and_removed_as_the_pages_say(self):
        """In a fresh Debian with the Cinder of that Debian."""
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'root')
        run(
            *('mmdebstrap', '--variant=minbase', '--dpkgopt=force-unsafe-io'),
            '--include=cinder-api,cinder-scheduler',
            *('trixie', root, cinder_host.debian_source()),
        )
        (root / 'var/lib/state').mkdir()
        host = cinder_host.CinderHost(root, '/usr/bin', '/var/lib/state')
        before = files(root)
        self.assertEqual(set(), host.used())
        # What it depends on is there, because Cinder needs it.
        shutil.copy(self.package, root / 'tmp.deb')
        run('chroot', root, 'dpkg', '--install', 'tmp.deb')
        (root / 'tmp.deb').unlink()
        host.enable()
        self.assertEqual(
            {'TierFilter', 'TierWeigher', 'cinder_tiers.api'}, host.used()
        )
        host.disable()
        self.assertEqual(set(), host.used())
        [purge] = host.commands('apt-get')
        run('chroot', root, *purge, '--yes')
        self.assertEqual(set(), host.used())
        self.assertEqual(set(), before ^ files(root))


def files(root):
    """Paths of all files of a Debian system, without NOTES."""
    notes = [root / name for name in NOTES]
    return {
        str(path)
        for path in root.rglob('*')
        if not any(map(path.is_relative_to, notes))
    }
