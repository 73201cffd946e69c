# SPDX-License-Identifier: Apache-2.0
"""`openstack tier export` of the lab: what it writes needs nothing."""

import json
import pathlib
import subprocess

import fixtures
import yaml

from tests.functional import lab

FOREIGN = 'functional-foreign'
#: Of an erasure coded tier, what Ceph chose where nothing is declared.
CHOSEN = {'min_size', 'plugin', 'technique', 'stripe_unit_bytes'}
#: A backend that somebody set up for a pool of theirs.
BACKEND = """[DEFAULT]
enabled_backends = {backends},{name}
[{name}]
volume_driver = cinder.volume.drivers.rbd.RBDDriver
volume_backend_name = {name}
rbd_pool = {name}
rbd_ceph_conf = {conf}
rbd_user = cinder
"""


class ExportTestCase(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.catalog = pathlib.Path(self.environment['CINDER_TIERS_CATALOG'])
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = str(self.folder / 'tiers.yaml')

    def export(self):
        """Export, and return the content of the file."""
        self.run_command(
            'openstack', 'tier', 'export', '--out', self.path, '--force'
        )
        return yaml.safe_load(pathlib.Path(self.path).read_text())

    def assert_nothing_to_do(self):
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'validate', self.path)
        )
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', self.path)
        )


class ExportTest(ExportTestCase):
    def test_the_tiers_of_the_lab_come_back(self):
        self.run_command('openstack', 'tier', 'apply')
        found = self.export()
        self.assert_nothing_to_do()
        declared = yaml.safe_load(self.catalog.read_text())
        self.assertEqual(
            declared['follow_image_types'], found['follow_image_types']
        )
        self.assertEqual('images', found['clusters']['ceph']['images_pool'])
        for name, tier in declared['tiers'].items():
            exported = found['tiers'][name]
            self.assertNotIn('take_over', exported)
            for key in ('description', 'tags', 'priority', 'fallback'):
                self.assertEqual(tier.get(key), exported.get(key))
            for key in ('cluster', 'pool', 'device_class', 'pg_num'):
                self.assertEqual(
                    tier['rbd'].get(key), exported['rbd'].get(key)
                )
            # What is there is named, what need not be declared, too.
            coded = exported['rbd'].get('erasure_coded', {})
            self.assertEqual(
                tier['rbd'].get('erasure_coded', {}),
                {key: coded[key] for key in coded if key not in CHOSEN},
            )

    def test_settings_of_pools_and_osds_come_back(self):
        content = yaml.safe_load(self.catalog.read_text())
        content['tiers']['general']['rbd'].update(
            pool_options={'compression_mode': 'passive'},
            osd_options={'osd_max_scrubs': 2},
            rbd_options={'rbd_readahead_max_bytes': 65536},
        )
        declared = self.folder / 'declared.yaml'
        declared.write_text(yaml.safe_dump(content, sort_keys=False))
        self.addCleanup(self.forget_settings)
        self.run_command(
            'openstack', 'tier', 'apply', '--catalog', str(declared)
        )
        found = self.export()['tiers']
        for key in ('pool_options', 'osd_options', 'rbd_options'):
            self.assertEqual(
                content['tiers']['general']['rbd'][key],
                found['general']['rbd'][key],
            )
        # The same OSDs serve it.
        self.assertEqual(
            {'osd_max_scrubs': 2}, found['archive']['rbd']['osd_options']
        )
        self.assert_nothing_to_do()

    def forget_settings(self):
        self.run_command(
            'ceph',
            'osd',
            'pool',
            'set',
            'tier-general',
            'compression_mode',
            'unset',
        )
        self.run_command(
            'rbd',
            'config',
            'pool',
            'remove',
            'tier-general',
            'rbd_readahead_max_bytes',
        )
        self.run_command(
            'ceph', 'config', 'rm', 'osd/class:hdd', 'osd_max_scrubs'
        )

    def test_a_tier_that_lost_its_marks_is_somebody_elses(self):
        self.addCleanup(self.run_command, 'openstack', 'tier', 'apply')
        self.addCleanup(
            self.run_command,
            'openstack',
            'volume',
            'type',
            'set',
            '--property',
            'tiers:name=archive',
            'archive',
        )
        self.run_command(
            'openstack',
            'volume',
            'type',
            'unset',
            '--property',
            'tiers:name',
            '--property',
            'tiers:tags',
            '--property',
            'tiers:priority',
            'archive',
        )
        archive = self.export()['tiers']['archive']
        self.assertIs(False, archive['take_over'])
        self.assertNotIn('tags', archive)
        self.assertEqual(
            (
                'tier-archive',
                {'k': 2, 'm': 1, 'min_size': 3, 'stripe_unit_bytes': 4096},
            ),
            (
                archive['rbd']['pool'],
                {
                    key: value
                    for key, value in archive['rbd']['erasure_coded'].items()
                    if key not in ('plugin', 'technique')
                },
            ),
        )
        self.assert_nothing_to_do()

    def test_a_file_that_exists_is_left_as_it_is(self):
        target = pathlib.Path(self.path)
        target.write_text('mine')
        _, errors = self.run_command(
            'openstack', 'tier', 'export', '--out', self.path, expect=1
        )
        self.assertIn('--force', errors)
        self.assertEqual('mine', target.read_text())


class ForeignBackendTest(ExportTestCase):
    """A pool, a backend and a volume type that nobody declared."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        environment = lab.user_environment()

        def run(*argv):
            return subprocess.run(
                argv,
                check=True,
                capture_output=True,
                text=True,
                env=environment,
            ).stdout

        run(
            'ceph',
            'osd',
            'pool',
            'create',
            FOREIGN,
            '8',
            '8',
            'replicated',
            'replicated_rule',
        )
        cls.addClassCleanup(
            run,
            'ceph',
            'osd',
            'pool',
            'delete',
            FOREIGN,
            FOREIGN,
            '--yes-i-really-really-mean-it',
        )
        run('ceph', 'osd', 'pool', 'application', 'enable', FOREIGN, 'rbd')
        (held,) = json.loads(
            run('ceph', 'auth', 'get', 'client.cinder', '-f', 'json')
        )

        def set_caps(more):
            caps = []
            for daemon, text in held['caps'].items():
                caps += [daemon, text if daemon == 'mon' else text + more]
            run('ceph', 'auth', 'caps', 'client.cinder', *caps)

        set_caps(f', profile rbd pool={FOREIGN}')
        cls.addClassCleanup(set_caps, '')
        venv = pathlib.Path(environment['CINDER_TIERS_LAB']) / 'venv' / 'bin'
        etc = pathlib.Path(environment['CINDER_TIERS_LAB']) / 'etc'
        # Runs after the restart without the backend.
        cls.addClassCleanup(
            run,
            str(venv / 'cinder-manage'),
            '--config-file',
            str(etc / 'cinder.conf'),
            'service',
            'remove',
            'cinder-volume',
            f'cinder-tiers-lab@{FOREIGN}',
        )
        # The lab's backends are called as their pools.
        lab.change_cinder_for_class(
            cls,
            BACKEND.format(
                name=FOREIGN,
                conf=environment['CEPH_CONF'],
                backends=','.join(lab.POOLS),
            ),
            'cinder-volume',
        )

    def setUp(self):
        super().setUp()
        self.admin = lab.connect(self.environment, lab.ADMIN)
        self.name = self.unique_name('type')
        made = self.admin.block_storage.create_type(
            name=self.name,
            is_public=False,
            description='theirs',
            extra_specs={'volume_backend_name': FOREIGN},
        )
        self.addCleanup(self.admin.block_storage.delete_type, made)
        project = self.admin.current_project_id
        self.admin.block_storage.add_type_access(made, project)
        self.project = project

    def test_it_is_declared_and_left_alone(self):
        tier = self.export()['tiers'][self.name]
        self.assertEqual(
            {
                'take_over': False,
                'description': 'theirs',
                'access': [self.project],
                'backend': FOREIGN,
                'rbd': {
                    'cluster': 'ceph',
                    'pool': FOREIGN,
                    'pg_num': 8,
                    'replicated': {'size': 3, 'min_size': 2},
                },
            },
            tier,
        )
        self.assert_nothing_to_do()
        (finding,) = [
            one
            for one in self.ask(
                'openstack', 'tier', 'audit', '--catalog', self.path
            )
            if one['Object'] == f'tier {self.name}'
        ]
        self.assertEqual('not applicable', finding['State'])
        text, _ = self.run_command(
            'openstack', 'tier', 'backend-config', '--catalog', self.path
        )
        self.assertNotIn(FOREIGN, text)

    def test_it_is_taken_over_without_touching_its_pool(self):
        content = self.export()
        pools = self.pools_in_text()
        tier = content['tiers'][self.name]
        del tier['take_over']
        tier.update(tags=[self.name], priority=91)
        pathlib.Path(self.path).write_text(yaml.safe_dump(content))
        self.run_command(
            'openstack', 'tier', 'plan', '--catalog', self.path, expect=5
        )
        self.run_command(
            'openstack',
            'volume',
            'type',
            'set',
            '--property',
            f'tiers:name={self.name}',
            self.name,
        )
        pool = f'pool {FOREIGN} (ceph)'
        planned = self.ask(
            'openstack', 'tier', 'plan', '--catalog', self.path, expect=5
        )
        self.assertEqual(
            {pool: ['managed'], f'volume type {self.name}': None},
            {
                one['Object']: sorted(one['After']) if one['Refused'] else None
                for one in planned
            },
        )
        self.run_command(
            'openstack',
            'tier',
            'apply',
            '--catalog',
            self.path,
            '--allow',
            f'{pool}:managed',
        )
        self.assert_nothing_to_do()
        self.assertEqual(pools, self.pools_in_text())
        again = self.export()['tiers'][self.name]
        self.assertEqual(
            ([self.name], 91, FOREIGN),
            (again['tags'], again['priority'], again['rbd']['pool']),
        )
        self.assert_nothing_to_do()
        text, _ = self.run_command(
            'openstack', 'tier', 'backend-config', '--catalog', self.path
        )
        self.assertIn(f'backend {FOREIGN} already serves pool {FOREIGN}', text)
        self.assertNotIn(f'[{FOREIGN}]', text)
