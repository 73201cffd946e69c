# SPDX-License-Identifier: Apache-2.0

"""The DevStack plugin: its phases run in bash, then the files are looked at.

devstack.sh beside this file stands for DevStack. Set DEVSTACK_DIR to a
checkout of DevStack to run with its own functions for ini files.
"""

import configparser
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import fixtures
import testtools

HERE = pathlib.Path(__file__).resolve().parent
PLUGIN = HERE.parents[2] / 'devstack'
API_PASTE = pathlib.Path(sys.prefix, 'etc/cinder/api-paste.ini')
PIPELINES = 'composite:openstack_volume_api_v3'
STOCK = 'AvailabilityZoneFilter,CapacityFilter,CapabilitiesFilter'
TIERS = ('tier-database', 'tier-general', 'tier-archive')
UUID = '6b9e2e4c-5a0d-4a1e-9c57-0f2d9c4f7f10'


class PluginTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        for name in ('bash', 'awk', 'jq'):
            if shutil.which(name) is None:
                self.skipTest(f'{name} is not installed (bindep.txt)')
        self.world = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.etc_ceph = self.world / 'etc-ceph'
        self.etc_ceph.mkdir()
        (self.etc_ceph / 'ceph.conf').write_text('[global]\n\tfsid = any\n')

    def run_script(self, script, **settings):
        """Runs stack, unstack or clean; the finished process.

        :param settings: what local.conf and other plugins set
        """
        environment = {
            'PATH': os.environ['PATH'],
            'HOME': str(self.world),
            'DEVSTACK_DIR': os.environ.get('DEVSTACK_DIR', ''),
            'PYTHON': sys.executable,
            'PYTHONPATH': f'{PLUGIN.parent}:{self.world}/site',
            'PLUGIN': str(PLUGIN),
            'WORLD': str(self.world),
            'ENABLED_SERVICES': 'c-api,c-sch,c-vol,c-bak',
            'DEVSTACK_PLUGINS': 'devstack-plugin-ceph,cinder-tiers',
            'ENABLE_CEPH_CINDER': 'True',
            'REMOTE_CEPH': 'False',
            'CEPHADM': 'cephadm',
            'CONTAINER_IMAGE': 'any',
            'CEPH_CONF_DIR': str(self.etc_ceph),
            'CEPH_CONF_FILE': str(self.etc_ceph / 'ceph.conf'),
            'CEPH_CLASSES': '["ssd"]',
            'CINDER_CEPH_USER': 'cinder',
            'CINDER_API_PASTE': str(API_PASTE),
            'CINDER_CEPH_UUID': UUID,
            'GLANCE_CEPH_POOL': 'images',
            **settings,
        }
        return subprocess.run(
            ['bash', HERE / 'devstack.sh', script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def assert_runs(self, script, **settings):
        done = self.run_script(script, **settings)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done

    def assert_dies(self, *texts, script='stack', **settings):
        done = self.run_script(script, **settings)
        self.assertNotEqual(0, done.returncode)
        for text in texts:
            self.assertIn(text, done.stderr)

    def remote_ceph(self, catalog=None):
        """Settings for a Ceph that is there, with the keyring we need."""
        keyring = self.etc_ceph / 'ceph.client.cinder-tiers.keyring'
        keyring.write_text('of the operator')
        return {
            'REMOTE_CEPH': 'True',
            'CINDER_TIERS_CATALOG': self.own_catalog(catalog),
        }

    def conf(self, name='cinder.conf'):
        parser = configparser.ConfigParser(interpolation=None)
        with open(self.world / name, encoding='utf-8') as file:
            parser.read_file(file)
        return parser

    def lines(self, name):
        return (self.world / name).read_text().splitlines()

    def own_catalog(self, text=None):
        """A tiers file of the operator; its path."""
        path = self.world / 'tiers.yaml'
        path.write_text(
            text or (PLUGIN.parent / 'etc/cinder-tiers/tiers.yaml').read_text()
        )
        return str(path)


ONE_TIER = """
version: 1
follow_image_types: [image-tier]
clusters:
  ceph: {user: cinder-tiers, cinder_user: cinder, images_pool: images}
tiers:
  gold:
    fallback: true
    rbd:
      pool: gold
      cluster: ceph
      device_class: ssd
      failure_domain: osd
      replicated: {size: 3, min_size: 2}
"""


class DoorsTestCase(PluginTestCase):
    def assert_lists(self, filters, weighers, name='running/c-sch'):
        running = self.conf(name)['DEFAULT']
        self.assertEqual(
            (filters, weighers),
            (
                running['scheduler_default_filters'],
                running['scheduler_default_weighers'],
            ),
        )

    def test_the_scheduler_starts_with_filter_and_weigher(self):
        self.assert_runs('stack')
        self.assert_lists(f'{STOCK},TierFilter', 'CapacityWeigher,TierWeigher')

    def test_they_join_those_that_are_set(self):
        self.assert_runs(
            'stack',
            CINDER_CONF_EXTRA=(
                'scheduler_default_filters = CapacityFilter, DriverFilter\n'
                'scheduler_default_weighers = GoodnessWeigher'
            ),
        )
        self.assert_lists(
            'CapacityFilter,DriverFilter,TierFilter',
            'GoodnessWeigher,TierWeigher',
        )

    def test_the_api_starts_with_the_filter_last_in_every_pipeline(self):
        self.assert_runs('stack')
        expected = self.conf(API_PASTE)
        for name, value in expected[PIPELINES].items():
            if name != 'use':
                expected[PIPELINES][name] = value.replace(
                    ' apiv3', ' tiers apiv3'
                )
        expected['filter:tiers'] = {
            'paste.filter_factory': 'cinder_tiers.api:filter_factory'
        }
        self.assertEqual(expected, self.conf('running/api-paste.ini'))

    def test_both_services_know_what_to_do_on_an_error(self):
        for wanted in ('fallback', 'fail'):
            self.assert_runs('stack', CINDER_TIERS_ON_ERROR=wanted)
            for service in ('c-sch', 'c-api'):
                self.assertEqual(
                    wanted,
                    self.conf(f'running/{service}')['cinder_tiers'][
                        'on_error'
                    ],
                )

    def test_a_node_with_only_an_api_gets_only_its_filter(self):
        self.assert_runs(
            'stack', ENABLED_SERVICES='c-api', CINDER_TIERS_APPLY='False'
        )
        self.assertEqual('fallback', self.conf()['cinder_tiers']['on_error'])
        self.assertNotIn('scheduler_default_filters', self.conf()['DEFAULT'])
        self.assertIn('filter:tiers', self.conf('api-paste.ini'))

    def test_a_node_with_neither_gets_none(self):
        self.assert_runs(
            'stack', ENABLED_SERVICES='c-vol', CINDER_TIERS_APPLY='False'
        )
        self.assertEqual(self.conf('cinder.conf.before'), self.conf())
        self.assertEqual(self.conf(API_PASTE), self.conf('api-paste.ini'))

    def test_an_api_paste_of_another_shape_is_refused(self):
        other = self.world / 'other.ini'
        other.write_text(API_PASTE.read_text().replace('apiv3', 'apiv4'))
        self.assert_dies(
            'keystonecontext apiv4',
            'Cinder 26 or later',
            CINDER_API_PASTE=str(other),
        )


class StackTestCase(PluginTestCase):
    def test_backends_of_tiers_join_the_backends_of_devstack(self):
        self.assert_runs('stack')
        running = self.conf('running/c-vol')
        self.assertEqual(
            ','.join(('ceph', *TIERS)), running['DEFAULT']['enabled_backends']
        )
        self.assertEqual('ceph', running['ceph']['volume_backend_name'])
        for tier in TIERS:
            section = {
                key: value
                for key, value in running[tier].items()
                if key not in running.defaults()
            }
            self.assertEqual(
                {
                    'volume_driver': 'cinder.volume.drivers.rbd.RBDDriver',
                    'volume_backend_name': tier,
                    'rbd_pool': tier,
                    'rbd_ceph_conf': str(self.etc_ceph / 'ceph.conf'),
                    'rbd_user': 'cinder',
                    'rbd_secret_uuid': UUID,
                },
                section,
            )

    def test_a_catalog_without_secret_and_conf_gets_those_of_devstack(self):
        self.assert_runs('stack', **self.remote_ceph())
        section = self.conf('running/c-vol')['tier-database']
        self.assertEqual(UUID, section['rbd_secret_uuid'])
        conf = str(self.etc_ceph / 'ceph.conf')
        self.assertEqual(conf, section['rbd_ceph_conf'])
        self.assertEqual([conf], self.lines('applied.ceph_conf'))

    def test_the_default_type_of_the_running_api_follows_the_image(self):
        self.assert_runs('stack')
        self.assertEqual(
            'image-tier',
            self.conf('running/c-api')['DEFAULT']['default_volume_type'],
        )

    def test_the_tiers_fit_a_ceph_of_one_osd(self):
        self.assert_runs('stack', CEPH_CLASSES='["hdd"]')
        applied = (self.world / 'applied.yaml').read_text()
        self.assertEqual(
            3,
            applied.count(
                'device_class: hdd, failure_domain: osd, replicated: '
                '{size: 1, '
                'min_size: 1, single_copy: true}'
            ),
        )
        self.assertEqual(
            ['config set global mon_allow_pool_size_one true'],
            self.lines('ceph/config'),
        )

    def test_the_cephx_user_has_a_keyring_that_only_stack_can_read(self):
        done = self.assert_runs('stack')
        keyring = self.etc_ceph / 'ceph.client.cinder-tiers.keyring'
        self.assertEqual(
            '[client.cinder-tiers]\n\tkey = SECRET\n', keyring.read_text()
        )
        self.assertEqual(0o600, stat.S_IMODE(keyring.stat().st_mode))
        self.assertNotIn('SECRET', done.stdout + done.stderr)

    def test_a_tiers_file_of_the_operator_is_applied_as_it_is(self):
        catalog = self.own_catalog()
        self.assert_runs('stack', CINDER_TIERS_CATALOG=catalog)
        self.assertEqual(
            pathlib.Path(catalog).read_text(),
            (self.world / 'applied.yaml').read_text(),
        )
        self.assertFalse((self.world / 'ceph/config').exists())

    def test_the_package_is_installed_with_what_its_commands_need(self):
        self.assert_runs('stack')
        self.assertEqual([f'{PLUGIN.parent} [cli]'], self.lines('installed'))
        self.assertEqual(
            ['python3-rados', 'python3-rbd'], self.lines('packages')
        )

    def test_rally_is_installed_on_request(self):
        self.assert_runs('stack', CINDER_TIERS_RALLY='yes')
        self.assertEqual(
            [f'{PLUGIN.parent} [cli,rally]'], self.lines('installed')
        )

    def test_a_node_with_only_a_scheduler_gets_only_the_filter(self):
        self.assert_runs('stack', ENABLED_SERVICES='c-sch')
        self.assertEqual([f'{PLUGIN.parent} []'], self.lines('installed'))
        self.assertIn(
            'TierFilter', self.conf()['DEFAULT']['scheduler_default_filters']
        )
        self.assertEqual('ceph', self.conf()['DEFAULT']['enabled_backends'])
        self.assertFalse((self.world / 'applied.yaml').exists())
        self.assertEqual(self.conf(API_PASTE), self.conf('api-paste.ini'))

    def test_without_apply_any_backend_can_be_made_a_tier(self):
        self.assert_runs(
            'stack',
            CINDER_TIERS_APPLY='False',
            DEVSTACK_PLUGINS='cinder-tiers',
        )
        self.assertIn(
            'TierFilter',
            self.conf('running/c-sch')['DEFAULT']['scheduler_default_filters'],
        )
        self.assertEqual('ceph', self.conf()['DEFAULT']['enabled_backends'])
        self.assertFalse((self.world / 'packages').exists())

    def test_room_for_a_fleet_unless_local_conf_says_otherwise(self):
        self.assert_runs('stack')
        self.assertEqual('100', self.conf()['DEFAULT']['quota_volumes'])
        self.assert_runs('stack', CINDER_QUOTA_VOLUMES='7')
        self.assertEqual('7', self.conf()['DEFAULT']['quota_volumes'])

    def test_stacking_twice_gives_the_same_files(self):
        self.assert_runs('stack')
        first = self.texts()
        self.assert_runs('stack')
        self.assertEqual(first, self.texts())

    def test_a_phase_that_runs_twice_changes_nothing_more(self):
        self.assert_runs('stack')
        first = self.texts()
        self.assert_runs('configure_again')
        self.assertEqual(first, self.texts())

    def texts(self):
        return [
            (self.world / name).read_text()
            for name in ('cinder.conf', 'api-paste.ini')
        ]


class RefusalTestCase(PluginTestCase):
    def assert_nothing_done(self):
        self.assertFalse((self.world / 'installed').exists())
        self.assertFalse((self.world / 'cinder.conf').exists())

    def test_no_cinder(self):
        self.assert_dies('cinder-tiers needs Cinder', ENABLED_SERVICES='n-api')
        self.assert_nothing_done()

    def test_no_ceph(self):
        self.assert_dies(
            'enable_plugin devstack-plugin-ceph',
            'CINDER_TIERS_APPLY=False',
            DEVSTACK_PLUGINS='cinder-tiers',
        )
        self.assert_nothing_done()

    def test_ceph_but_not_for_cinder(self):
        self.assert_dies('ENABLE_CEPH_CINDER', ENABLE_CEPH_CINDER='False')
        self.assert_nothing_done()

    def test_a_remote_ceph_without_a_tiers_file_for_it(self):
        self.assert_dies('set CINDER_TIERS_CATALOG', REMOTE_CEPH='True')
        self.assert_nothing_done()

    def test_a_tiers_file_that_is_not_there(self):
        self.assert_dies(
            'cannot read /nowhere/tiers.yaml',
            CINDER_TIERS_CATALOG='/nowhere/tiers.yaml',
        )
        self.assert_nothing_done()

    def test_a_remote_ceph_without_a_keyring(self):
        settings = {
            'REMOTE_CEPH': 'True',
            'CINDER_TIERS_CATALOG': self.own_catalog(),
        }
        self.assert_dies(
            f'{self.etc_ceph}/ceph.client.cinder-tiers.keyring cannot be read',
            'put the keyring of client.cinder-tiers there',
            'keep copies elsewhere',
            **settings,
        )
        self.assert_nothing_done()

    def test_a_node_without_an_api_needs_no_keyring(self):
        settings = self.remote_ceph()
        (self.etc_ceph / 'ceph.client.cinder-tiers.keyring').unlink()
        self.assert_runs('stack', ENABLED_SERVICES='c-sch,c-vol', **settings)

    def test_a_python_that_cannot_import_the_packages_of_ceph(self):
        self.assert_dies('cannot import rados and rbd', OTHER_PYTHON='yes')

    def test_no_device_class(self):
        self.assert_dies(
            'no OSD of Ceph has a device class', CEPH_CLASSES='[]'
        )

    def test_tiers_that_cannot_be_applied(self):
        self.assert_dies('could not be applied', APPLY_FAILS='yes')
        self.assertEqual('ceph', self.conf()['DEFAULT']['enabled_backends'])

    def test_a_tiers_file_with_an_error(self):
        catalog = self.own_catalog('version: 7')
        for services in ('c-api,c-sch', 'c-vol'):
            self.assert_dies(
                f'CINDER_TIERS_CATALOG: {catalog} is not valid, see above',
                CINDER_TIERS_CATALOG=catalog,
                ENABLED_SERVICES=services,
            )
            # Before any service is configured, and started.
            self.assertFalse((self.world / 'running').exists())

    def test_each_error_of_a_tiers_file_is_shown(self):
        done = self.run_script(
            'stack',
            CINDER_TIERS_CATALOG=self.own_catalog(
                'version: 1\ntiers:\n  a: {tags: a}\n  b: {color: red}\n'
            ),
        )
        for line in ('tiers.yaml:3:', 'tiers.yaml:4:'):
            self.assertIn(line, done.stdout)

    def test_a_node_that_does_not_read_the_tiers_file_takes_any(self):
        self.assert_runs(
            'stack',
            CINDER_TIERS_CATALOG=self.own_catalog('version: 7'),
            ENABLED_SERVICES='c-sch',
        )

    def test_backends_of_the_stack_before_are_not_waited_for(self):
        self.assert_runs('stack')
        self.assert_runs(
            'stack',
            CINDER_TIERS_CATALOG=self.own_catalog(ONE_TIER),
            DOWN='tier-archive',
        )

    def test_a_backend_that_does_not_come_up(self):
        self.assert_dies('backend tier-general is not up', DOWN='tier-general')


class UnstackTestCase(PluginTestCase):
    def assert_as_before(self):
        before = self.world / 'cinder.conf.before'
        self.assertEqual(
            before.read_text(), (self.world / 'cinder.conf').read_text()
        )
        self.assertEqual(
            API_PASTE.read_text(), (self.world / 'api-paste.ini').read_text()
        )

    def test_unstack_leaves_the_files_as_they_were(self):
        self.assert_runs('stack')
        self.assert_runs('unstack')
        self.assert_as_before()

    def test_what_others_have_added_since_stays(self):
        self.assert_runs('stack')
        path = self.world / 'cinder.conf'
        text = path.read_text().replace('TierFilter', 'TierFilter,JsonFilter')
        path.write_text(text + '\n[later]\nkey = value\n')
        paste = self.world / 'api-paste.ini'
        paste.write_text(
            paste.read_text().replace(' tiers apiv3', ' audit tiers apiv3')
        )
        self.assert_runs('unstack')
        conf = self.conf()
        self.assertEqual(
            f'{STOCK},JsonFilter', conf['DEFAULT']['scheduler_default_filters']
        )
        self.assertEqual('value', conf['later']['key'])
        self.assertEqual(['ceph', 'later'], conf.sections())
        self.assertTrue(
            self.conf('api-paste.ini')[PIPELINES]['keystone'].endswith(
                ' keystonecontext audit apiv3'
            )
        )

    def test_unstack_after_stacking_twice(self):
        self.assert_runs('stack')
        self.assert_runs('stack')
        self.assert_runs('unstack')
        self.assert_as_before()

    def test_unstack_twice_and_without_a_stack(self):
        self.assert_runs('unstack')
        self.assert_runs('stack')
        self.assert_runs('unstack')
        self.assert_runs('unstack')
        self.assert_as_before()

    def test_sections_of_others_behind_ours_stay_as_they_are(self):
        later = '\n# of somebody else\n[later]\nkey = value\n\n# the end\n'
        self.assert_runs('stack')
        for name in ('cinder.conf', 'api-paste.ini'):
            with (self.world / name).open('a') as file:
                file.write(later)
        self.assert_runs('unstack')
        before = self.world / 'cinder.conf.before'
        self.assertEqual(
            [before.read_text() + later, API_PASTE.read_text() + later],
            [
                (self.world / name).read_text()
                for name in ('cinder.conf', 'api-paste.ini')
            ],
        )

    def test_clean_leaves_no_file_of_ours(self):
        self.assert_runs('stack')
        self.assert_runs('clean')
        self.assertEqual(['ceph.conf'], os.listdir(self.etc_ceph))
        self.assertEqual([], os.listdir(self.world / 'data'))

    def test_clean_says_what_stays_in_a_remote_ceph(self):
        settings = self.remote_ceph()
        keyring = self.etc_ceph / 'ceph.client.cinder-tiers.keyring'
        self.assert_runs('stack', **settings)
        done = self.assert_runs('clean', **settings)
        self.assertIn('stay in the remote Ceph', done.stdout)
        self.assertEqual('of the operator', keyring.read_text())
