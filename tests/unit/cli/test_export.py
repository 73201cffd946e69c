# SPDX-License-Identifier: Apache-2.0
"""`openstack tier export` with a real Cinder, and no Ceph."""

import argparse
import json
import os
import pathlib
import tempfile

import ddt
import testtools

from cinder_tiers.cli import export
from cinder_tiers.files.tiers import reader
from tests.unit.cli import shell
from tests.unit.cli import test_without_ceph
from tests.unit.domain import inventories
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

ALPHA, GONE = 'a' * 32, 'f' * 32
WITH_RBD = """
version: 1
clusters:
  ceph: {}
tiers:
  theirs:
    take_over: false
    backend: gone
    rbd:
      cluster: ceph
      pool: volumes
      device_class: ssd
      replicated: {size: 3}
"""
UNREACHABLE = ('--cluster', 'ceph=/nonexistent.conf')


@ddt.ddt
class ArgumentsTestCase(testtools.TestCase):
    @ddt.data(
        ('a=', ('a', None, 'admin')),
        ('a=:b', ('a', None, 'b')),
        ('a=/c.conf', ('a', '/c.conf', 'admin')),
        ('a=/c:d.conf:b', ('a', '/c:d.conf', 'b')),
        ('a=c', ('a', os.path.abspath('c'), 'admin')),
    )
    @ddt.unpack
    def test_a_cluster(self, text, expected):
        found = export.parse_cluster(text)
        self.assertEqual(expected, (found.name, found.conf, found.user))

    @ddt.data('', 'a', '=/c', 'a/b=/c', 'a=/c:client.b', 'a=/c:', 'a=/\n')
    def test_no_cluster(self, text):
        self.assertRaises(
            argparse.ArgumentTypeError, export.parse_cluster, text
        )


class ExportCase(testtools.TestCase):
    #: Of Cinder.
    backends = (
        inventories.other_backend('lvm'),
        inventories.other_backend('ssd'),
    )

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_project(ALPHA, 'alpha')
        for one in cls.backends:
            capabilities = dict(one.capabilities)
            cls.api.add_backend(
                capabilities.pop('volume_backend_name'), **capabilities
            )
        cls.empty = cls.api.keep()

    def setUp(self):
        super().setUp()
        connection = test_cinder_world.log_in(self.api)
        self.addCleanup(connection.close)
        self.block_storage = connection.block_storage
        self.addCleanup(self.api.return_to, self.empty)
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.path = str(self.folder / 'tiers.yaml')

    def run_tier(self, *arguments):
        return shell.openstack(
            *self.api.arguments_of('admin'), 'tier', *arguments
        )

    def export(self, *arguments, status=0):
        ran = self.run_tier('export', *arguments)
        self.assertEqual(status, ran.status, ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)
        return ran

    def assert_nothing_to_do(self):
        """The file that was written is sound, and its plan is empty."""
        ran = shell.openstack('tier', 'validate', self.path)
        self.assertEqual(0, ran.status, ran.stdout)
        plan = self.run_tier('plan', '--catalog', self.path, '-f', 'json')
        self.assertEqual((0, []), (plan.status, json.loads(plan.stdout)))
        apply = self.run_tier('apply', '--catalog', self.path, '-f', 'json')
        self.assertEqual((0, []), (apply.status, json.loads(apply.stdout)))

    def create_type(self, name, backend=None, *, projects=(), **changes):
        specs = {'volume_backend_name': backend} if backend else {}
        made = self.block_storage.create_type(
            name=name,
            is_public=not projects,
            extra_specs={**specs, **changes.pop('specs', {})},
            **changes,
        )
        for project in projects:
            self.block_storage.add_type_access(made, project)
        return made


class ExportTestCase(ExportCase):
    """A cloud without Ceph."""

    def test_an_untouched_cloud(self):
        self.export('--out', self.path)
        self.assertEqual((), reader.read_file(self.path).tiers)
        self.assertIn('__DEFAULT__', pathlib.Path(self.path).read_text())
        self.assert_nothing_to_do()

    def test_a_cloud_with_tiers(self):
        pathlib.Path(self.path).write_text(test_without_ceph.TIERS)
        self.assertEqual(
            0, self.run_tier('apply', '--catalog', self.path).status
        )
        self.create_type('theirs', 'lvm')
        self.export('--out', self.path, '--force')
        catalog = reader.read_file(self.path)
        self.assertEqual(
            [
                ('database', True, 'general', (ALPHA,)),
                ('general', True, None, None),
                ('theirs', False, None, None),
            ],
            [
                (tier.name, tier.take_over, tier.overflow, tier.access)
                for tier in catalog.tiers
            ],
        )
        self.assertEqual(('image-tier',), catalog.follow_image_types)
        self.assert_nothing_to_do()

    def test_a_type_is_taken_over_when_it_was_handed_over(self):
        theirs = self.create_type('theirs', 'lvm')
        self.export('--out', self.path)
        text = pathlib.Path(self.path).read_text()
        pathlib.Path(self.path).write_text(
            text.replace('take_over: false', 'fallback: true')
        )
        plan = self.run_tier('plan', '--catalog', self.path)
        self.assertEqual(5, plan.status)
        self.assertIn('without the ownership marker', plan.stderr)
        self.block_storage.update_type_extra_specs(
            theirs, **{'tiers:name': 'theirs'}
        )
        self.assertEqual(
            0, self.run_tier('apply', '--catalog', self.path).status
        )
        self.export('--out', self.path, '--force')
        (tier,) = reader.read_file(self.path).tiers
        self.assertEqual((True, True), (tier.take_over, tier.fallback))
        pathlib.Path(self.path).write_text(text)
        plan = self.run_tier('plan', '--catalog', self.path)
        self.assertEqual(5, plan.status)
        self.assertIn(
            'the tiers file says take_over: false, but the volume type '
            'has the ownership marker',
            plan.stderr,
        )

    def test_what_no_catalog_can_say_is_told(self):
        self.create_type(
            'a',
            'lvm',
            specs={
                'tiers:name': 'a',
                'tiers:tags': 'X',
                'tiers:priority': 'many',
            },
        )
        ran = self.export(status=4)
        self.assertIn(
            (
                '"openstack tier plan" would change something: update volume '
                'type a'
            ),
            ran.stderr,
        )
        self.assertEqual(
            ('x',), reader.read_text(ran.stdout, file='t.yaml').tiers[0].tags
        )

    def test_a_file_is_not_replaced_unless_it_is_asked_for(self):
        target = pathlib.Path(self.path)
        target.write_text('mine')
        target.chmod(0o640)
        ran = self.export('--out', self.path, status=1)
        self.assertIn('--force', ran.stderr)
        self.assertEqual('mine', target.read_text())
        self.export('--out', self.path, '--force')
        self.assertNotEqual('mine', target.read_text())
        self.assertEqual(0o640, target.stat().st_mode & 0o777)
        ran = self.export('--out', str(self.folder / 'no' / 'x'), status=1)
        self.assertIn('cannot be written', ran.stderr)
        self.assertEqual(
            ['tiers.yaml'], [one.name for one in self.folder.iterdir()]
        )

    def test_who_may_not_see_the_cloud_exports_nothing(self):
        ran = shell.openstack(
            *self.api.arguments_of('member'), 'tier', 'export'
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('administrator', ran.stderr)

    def test_wrong_arguments(self):
        ran = self.export(*UNREACHABLE, *UNREACHABLE, status=1)
        self.assertIn('--cluster names ceph twice', ran.stderr)
        ran = self.export('--cluster', '/other.conf', status=2)
        self.assertIn('NAME=CONF[:USER]', ran.stderr)

    def test_the_statuses_are_in_the_help(self):
        ran = shell.openstack('tier', 'export', '--help')
        text = ' '.join(ran.stdout.split())
        self.assertIn(
            '0 the file describes the cloud; 3 the file is written', text
        )
        self.assertIn('openstack tier export --out', text)


class ExportOfCephTestCase(ExportCase):
    """A cloud with an RBD backend, of a cluster that does not answer."""

    backends = (
        *ExportCase.backends,
        inventories.rbd_backend('rbd-1', 'volumes'),
    )

    def test_a_cloud_of_somebody_else(self):
        gold = self.create_type(
            'gold', 'rbd-1', projects=[ALPHA, GONE], description='Fast: "x"\n'
        )
        self.create_type('plain', 'lvm', specs={'multiattach': '<is> True'})
        self.create_type('no\u202etier', 'lvm')
        limits = self.block_storage.create_qos_spec(
            name='limits', consumer='both', total_iops_sec='5'
        )
        self.block_storage.associate_qos_spec(limits, gold.id)
        self.block_storage.put(
            '/os-quota-class-sets/default',
            json={'quota_class_set': {'volumes_gold': 3}},
        )
        ran = self.export(*UNREACHABLE, '--out', self.path, status=3)
        self.assertRegex(
            ran.stderr,
            ('Cluster ceph is left out: .*(/nonexistent.conf|python3-rados)'),
        )
        self.assertIn('tiers: 2, not taken over: 2', ran.stderr)
        text = pathlib.Path(self.path).read_text()
        self.assertIn(f'- {ALPHA}  # alpha\n', text)
        self.assertIn('name: limits', text)
        unwrapped = ' '.join(text.replace('#', '').split())
        self.assertIn(
            (
                f'project {GONE} has access, but Keystone does not have such '
                'a project'
            ),
            unwrapped,
        )
        self.assertIn(
            (
                'rbd is left out: it is pool volumes of the Ceph '
                f'cluster {inventories.FSID}, which was not named with '
                '--cluster, or could not be reached (ceph: '
            ),
            unwrapped,
        )
        self.assertIn('no\\u202etier', text)
        tier, plain = reader.read_text(text, file='t.yaml').tiers
        self.assertEqual(
            ('gold', False, 'rbd-1', None, (ALPHA, GONE), 'Fast: "x"\n', 3),
            (
                tier.name,
                tier.take_over,
                tier.backend,
                tier.rbd,
                tier.access,
                tier.description,
                tier.quotas.volumes,
            ),
        )
        self.assertEqual({'multiattach': '<is> True'}, plain.extra_specs)
        self.assert_nothing_to_do()

    def test_what_could_not_be_read_replaces_nothing(self):
        self.create_type(
            'gold',
            'rbd-1',
            specs={'tiers:name': 'gold', 'tiers:fallback': '<is> True'},
        )
        target = pathlib.Path(self.path)
        target.write_text('with rbd')
        for cluster in (UNREACHABLE, ()):
            ran = self.export(
                *cluster, '--out', self.path, '--force', status=6
            )
            self.assertIn('is not replaced', ran.stderr)
            self.assertIn(
                'Tier gold lacks rbd: it is pool volumes', ran.stderr
            )
            self.assertEqual('with rbd', target.read_text())
        target.unlink()
        ran = self.export(
            *UNREACHABLE, '--out', self.path, '--force', status=3
        )
        self.assertIn('Tier gold lacks rbd', ran.stderr)
        self.assert_nothing_to_do()

    def test_a_backend_that_does_not_report_replaces_nothing(self):
        self.create_type(
            'gold',
            'tier-gold',
            specs={'tiers:name': 'gold', 'tiers:fallback': '<is> True'},
        )
        pathlib.Path(self.path).write_text('with rbd')
        ran = self.export('--out', self.path, '--force', status=6)
        self.assertIn(
            'Tier gold lacks rbd: no backend with the name tier-gold reports',
            ran.stderr,
        )
        self.assertEqual('with rbd', pathlib.Path(self.path).read_text())

    def test_rbd_of_what_is_not_managed_is_not_lost(self):
        self.create_type('theirs', 'gone')
        target = pathlib.Path(self.path)
        target.write_text(WITH_RBD)
        ran = self.export('--out', self.path, '--force', status=6)
        self.assertIn('Tier theirs lacks rbd: no backend', ran.stderr)
        self.assertEqual(WITH_RBD, target.read_text())


class ExportOfOldTypesTestCase(ExportCase):
    """A cloud without Ceph, in which a backend is gone for ever."""

    def test_what_is_not_managed_needs_no_backend(self):
        self.create_type('theirs', 'gone')
        for _ in range(2):
            ran = self.export('--out', self.path, '--force')
            self.assertNotIn('lacks', ran.stderr)
