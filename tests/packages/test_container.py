# SPDX-License-Identifier: Apache-2.0

"""The container image, built and used by buildah."""

import json
import pathlib
import shutil
import uuid

import fixtures
import testtools

from tests.packages import cinder_host

#: What the machine trusts and asks, for pip in the image.
OF_THE_MACHINE = ('etc/ssl/certs/ca-certificates.crt', 'etc/pip.conf')
#: A tiers file, and where the commands look for one.
EXAMPLE = cinder_host.TOP / 'etc' / 'cinder-tiers' / 'tiers.yaml'
CATALOG = '/etc/cinder-tiers/tiers.yaml'

run = cinder_host.run


class ContainerTest(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        temporary = fixtures.TempDir()
        temporary.setUp()
        cls.addClassCleanup(temporary.cleanUp)
        folder = pathlib.Path(temporary.path)
        cls.tag = f'localhost/cinder-tiers-test-{uuid.uuid4().hex[:8]}'
        cls.base = f'{cls.tag}-base'
        cls.make_base(folder)
        source = folder / 'source'
        # Of a worktree, pbr could not tell the version.
        run('git', 'clone', '-q', cinder_host.TOP, source)
        run(
            *('buildah', 'bud', '--isolation', 'chroot', '--network', 'host'),
            *('--build-arg', f'DEBIAN={cls.base}'),
            *('--build-arg', 'EXTRAS=cli,rally'),
            *('--file', source / 'etc/container/Containerfile'),
            *('--tag', cls.tag, source),
        )
        cls.addClassCleanup(run, 'buildah', 'rmi', '--force', cls.tag)
        cls.entrypoint = run(
            *('buildah', 'inspect', '--type', 'image', '--format'),
            *('{{index .OCIv1.Config.Entrypoint 0}}', cls.tag),
        ).strip()
        cls.container = run('buildah', 'from', cls.tag).strip()
        cls.addClassCleanup(run, 'buildah', 'rm', cls.container)

    @classmethod
    def make_base(cls, folder):
        """Make what others pull: a Debian 13, here of the machine's mirror."""
        root = folder / 'root.tar'
        run(
            *('mmdebstrap', '--variant=minbase', '--include=ca-certificates'),
            '--dpkgopt=force-unsafe-io',
            *('trixie', root, cinder_host.debian_source()),
        )
        extra = folder / 'extra'
        for name in OF_THE_MACHINE:
            if pathlib.Path('/', name).exists():
                (extra / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pathlib.Path('/', name), extra / name)
        container = run('buildah', 'from', 'scratch').strip()
        try:
            run('buildah', 'add', '-q', container, root, '/')
            run('buildah', 'copy', '-q', container, extra, '/')
            run('buildah', 'commit', '-q', container, cls.base)
        finally:
            run('buildah', 'rm', container)
        cls.addClassCleanup(run, 'buildah', 'rmi', '--force', cls.base)

    def run_in_image(self, *command, options=(), entrypoint=None, expected=0):
        """Run its entry point, or another one; the standard output.

        podman is refused where the limits and cgroups of the machine are not
        its own; buildah needs neither.
        """
        return run(
            *('buildah', 'run', '--isolation', 'chroot', *options),
            *(self.container, '--', entrypoint or self.entrypoint, *command),
            expected=expected,
        )

    def validated(self, path, expected):
        return self.run_in_image(
            *('tier', 'validate', CATALOG, '-f', 'json'),
            options=('--volume', f'{path}:{CATALOG}:ro'),
            expected=expected,
        )

    def test_a_tiers_file_of_the_host_is_validated(self):
        self.assertEqual([], json.loads(self.validated(EXAMPLE, 0)))
        folder = self.useFixture(fixtures.TempDir()).path
        wrong = pathlib.Path(folder, 'tiers.yaml')
        wrong.write_text(EXAMPLE.read_text() + 'colour: red\n')
        self.assertIn('colour', self.validated(wrong, 1))

    def test_it_has_the_libraries_of_ceph(self):
        self.run_in_image('-c', 'import rados, rbd', entrypoint='python3')

    def test_rally_finds_the_plugins(self):
        found = self.run_in_image(
            *('plugin', 'show', 'CinderTiers.fleet_fio'),
            options=('--env', 'HOME=/tmp'),
            entrypoint='/opt/cinder-tiers/bin/rally',
        )
        self.assertIn('CinderTiers.fleet_fio', found)

    def test_it_runs_with_no_rights_of_root(self):
        user = self.run_in_image('-un', entrypoint='id')
        self.assertEqual('cinder-tiers', user.strip())
