# SPDX-License-Identifier: Apache-2.0
"""The tier commands against the real Cinder and Ceph of the lab."""

import configparser
import pathlib
import time

import fixtures
import yaml

from tests.functional import lab


class TiersTest(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.catalog = pathlib.Path(self.environment['CINDER_TIERS_CATALOG'])
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, text):
        path = self.folder / 'tiers.yaml'
        path.write_text(text)
        return str(path)

    def changed(self, change):
        content = yaml.safe_load(self.catalog.read_text())
        change(content)
        return self.write(yaml.safe_dump(content, sort_keys=False))

    def world(self):
        """What the commands could have changed."""
        rules, _ = self.run_command('ceph', 'osd', 'crush', 'rule', 'dump')
        users, _ = self.run_command('ceph', 'auth', 'ls')
        types = self.ask('openstack', 'volume', 'type', 'list', '--long')
        return self.pools_in_text(), rules, users, types

    def assert_refused(self, catalog, *fragments, status=5):
        before = self.world()
        for command in ('plan', 'apply'):
            output, errors = self.run_command(
                'openstack',
                'tier',
                command,
                '--catalog',
                catalog,
                expect=status,
            )
            for fragment in fragments:
                self.assertIn(fragment, output + errors)
            self.assertNotIn('Traceback', errors)
        self.assertEqual(before, self.world())

    def test_right_after_apply_the_plan_is_empty(self):
        self.run_command('openstack', 'tier', 'apply')
        self.assertEqual([], self.ask('openstack', 'tier', 'plan'))

    def test_a_change_is_planned_applied_and_gone(self):
        changed = self.changed(
            lambda content: content['tiers']['database'].update(
                description='changed by a test'
            )
        )
        self.addCleanup(self.run_command, 'openstack', 'tier', 'apply')
        planned = self.ask(
            'openstack', 'tier', 'plan', '--catalog', changed, expect=4
        )
        self.assertEqual(1, len(planned), planned)
        self.run_command('openstack', 'tier', 'apply', '--catalog', changed)
        self.assertEqual(
            'changed by a test',
            self.ask('openstack', 'volume', 'type', 'show', 'database')[
                'description'
            ],
        )
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', changed)
        )

    def test_settings_of_pools_and_osds_are_in_effect(self):
        def declare(content):
            content['tiers']['general']['rbd'].update(
                pool_options={
                    'compression_mode': 'passive',
                    'quota_max_objects': 10**7,
                },
                osd_options={'osd_max_scrubs': 2},
                rbd_options={'rbd_readahead_max_bytes': 65536},
            )

        declared = self.changed(declare)
        self.addCleanup(self.forget_settings)
        self.run_command('openstack', 'tier', 'apply', '--catalog', declared)
        shown, _ = self.run_command(
            'ceph', 'osd', 'pool', 'get', 'tier-general', 'compression_mode'
        )
        self.assertEqual('compression_mode: passive', shown.strip())
        for osd_id in self.ask(
            'ceph', 'osd', 'crush', 'class', 'ls-osd', 'hdd'
        ):
            told = self.ask(
                'ceph',
                'tell',
                f'osd.{osd_id}',
                'config',
                'get',
                'osd_max_scrubs',
            )
            self.assertEqual('2', str(told['osd_max_scrubs']))
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', declared)
        )
        self.run_command(
            'ceph',
            'osd',
            'pool',
            'set-quota',
            'tier-general',
            'max_objects',
            '5000000',
        )
        self.run_command(
            'ceph', 'config', 'set', 'osd/class:hdd', 'osd_max_scrubs', '3'
        )
        pool, osds = self.wait_for_plan(declared, 2)
        self.assertEqual(
            (
                {'options.quota_max_objects': '5000000'},
                {'options.quota_max_objects': '10000000'},
            ),
            (pool['Before'], pool['After']),
        )
        self.assertEqual(
            ({'values.osd_max_scrubs': '3'}, {'values.osd_max_scrubs': '2'}),
            (osds['Before'], osds['After']),
        )
        self.run_command('openstack', 'tier', 'apply', '--catalog', declared)
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', declared)
        )

    def wait_for_plan(self, catalog, actions):
        """A plan of so many actions; OSDs hear of a change soon."""
        for _ in range(60):
            planned = self.ask(
                'openstack', 'tier', 'plan', '--catalog', catalog, expect=4
            )
            if len(planned) == actions:
                break
            time.sleep(1)
        return planned

    def forget_settings(self):
        pool = 'tier-general'
        self.run_command(
            'ceph', 'osd', 'pool', 'set', pool, 'compression_mode', 'unset'
        )
        self.run_command(
            'ceph', 'osd', 'pool', 'set-quota', pool, 'max_objects', '0'
        )
        self.run_command(
            'rbd', 'config', 'pool', 'remove', pool, 'rbd_readahead_max_bytes'
        )
        self.run_command(
            'ceph', 'config', 'rm', 'osd/class:hdd', 'osd_max_scrubs'
        )

    def test_a_saved_plan_is_applied_only_to_the_cloud_that_it_saw(self):
        changed = self.changed(
            lambda content: content['tiers']['database'].update(
                description='changed by a test'
            )
        )
        self.addCleanup(self.run_command, 'openstack', 'tier', 'apply')
        saved = str(self.folder / 'plan.json')
        self.ask(
            'openstack',
            'tier',
            'plan',
            '--catalog',
            changed,
            '--out',
            saved,
            expect=4,
        )
        self.run_command(
            'openstack',
            'volume',
            'type',
            'set',
            '--description',
            'by somebody else',
            'database',
        )
        _, errors = self.run_command(
            'openstack', 'tier', 'apply', saved, expect=1
        )
        self.assertIn(
            'volume type database: the current values are different', errors
        )
        self.assertEqual(
            'by somebody else',
            self.ask('openstack', 'volume', 'type', 'show', 'database')[
                'description'
            ],
        )
        self.ask(
            'openstack',
            'tier',
            'plan',
            '--catalog',
            changed,
            '--out',
            saved,
            expect=4,
        )
        self.run_command('openstack', 'tier', 'apply', saved)
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', changed)
        )

    def with_scratch(self, pg_num):
        """The catalog with one more tier."""
        return self.changed(
            lambda content: content['tiers'].update(
                scratch={
                    'tags': ['scratch'],
                    'priority': 77,
                    'rbd': {
                        'cluster': 'ceph',
                        'pool': 'tier-scratch',
                        'device_class': 'ssd',
                        'failure_domain': 'host',
                        'pg_num': pg_num,
                        'replicated': {'size': 2, 'min_size': 2},
                    },
                    'qos': {'front_end': {'total_iops_sec': 100}},
                }
            )
        )

    def test_a_new_tier_gets_pool_rule_and_type(self):
        changed = self.with_scratch(8)
        self.addCleanup(self.remove_scratch)
        self.run_command('openstack', 'tier', 'apply', '--catalog', changed)
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', changed)
        )
        size, _ = self.run_command(
            'ceph', 'osd', 'pool', 'get', 'tier-scratch', 'size'
        )
        self.assertEqual('size: 2', size.strip())

    def test_what_is_named_is_done_though_it_is_refused(self):
        self.addCleanup(self.remove_scratch)
        self.run_command(
            'openstack', 'tier', 'apply', '--catalog', self.with_scratch(8)
        )
        changed = self.with_scratch(16)
        name = 'pool tier-scratch (ceph)'
        self.assert_refused(changed, f"--allow '{name}'")
        self.run_command(
            'openstack', 'tier', 'apply', '--catalog', changed, '--allow', name
        )
        shown = self.ask('ceph', 'osd', 'pool', 'ls', 'detail')
        (pool,) = [one for one in shown if one['pool_name'] == 'tier-scratch']
        self.assertEqual(16, pool['pg_num_target'])
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', changed)
        )
        named = (
            '--allow',
            'volume type scratch',
            '--allow',
            'qos spec tier-scratch',
        )
        self.run_command('openstack', 'tier', 'apply', *named)
        self.assertEqual([], self.ask('openstack', 'tier', 'plan'))
        self.run_command('openstack', 'tier', 'apply', *named)
        self.assertNotIn('scratch', self.names('openstack', 'volume', 'type'))
        self.assertNotIn(
            'tier-scratch', self.names('openstack', 'volume', 'qos')
        )
        pools, _ = self.run_command('ceph', 'osd', 'pool', 'ls')
        self.assertIn('tier-scratch', pools.split())

    def names(self, *command):
        return {one['Name'] for one in self.ask(*command, 'list')}

    def remove_scratch(self):
        if 'scratch' in self.names('openstack', 'volume', 'type'):
            self.run_command(
                'openstack', 'volume', 'type', 'delete', 'scratch'
            )
        if 'tier-scratch' in self.names('openstack', 'volume', 'qos'):
            self.run_command(
                'openstack', 'volume', 'qos', 'delete', 'tier-scratch'
            )
        self.run_command(
            'ceph',
            'osd',
            'pool',
            'delete',
            'tier-scratch',
            'tier-scratch',
            '--yes-i-really-really-mean-it',
        )
        rules, _ = self.run_command('ceph', 'osd', 'crush', 'rule', 'ls')
        for rule in rules.split():
            if 'scratch' in rule:
                self.run_command('ceph', 'osd', 'crush', 'rule', 'rm', rule)

    def test_a_change_that_moves_data_is_refused(self):
        self.assert_refused(
            self.changed(
                lambda content: content['tiers']['general']['rbd'].update(
                    replicated={'size': 2}
                )
            ),
            'tier-general',
        )

    def test_an_unknown_device_class_is_refused(self):
        self.assert_refused(
            self.changed(
                lambda content: content['tiers']['database']['rbd'].update(
                    device_class='nvme'
                )
            ),
            'tiers.yaml:',
            'nvme',
            'hdd',
            'ssd',
            status=1,
        )

    def test_the_sections_for_cinder_are_those_that_the_lab_runs_with(self):
        text, _ = self.run_command('openstack', 'tier', 'backend-config')
        self.assertEqual(
            (self.root / 'etc' / 'cinder-backends.conf').read_text(), text
        )
        sections = configparser.ConfigParser()
        sections.read_string(text)
        up = {
            row['Host']
            for row in self.ask(
                'openstack',
                'volume',
                'service',
                'list',
                '--service',
                'cinder-volume',
            )
            if row['State'] == 'up'
        }
        self.assertEqual(
            {
                f'cinder-tiers-lab@{name}'
                for name in sections['DEFAULT']['enabled_backends'].split(',')
            },
            up,
        )

    def test_the_catalog_of_the_lab_is_the_sample(self):
        self.assertEqual(
            lab.REPOSITORY / 'etc' / 'cinder-tiers' / 'tiers.yaml',
            self.catalog,
        )
