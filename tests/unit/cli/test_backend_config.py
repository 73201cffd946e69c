# SPDX-License-Identifier: Apache-2.0

"""`openstack tier backend-config`, run by the real shell."""

import importlib.util
import json
import os
import tempfile

from oslo_config import cfg
import testtools

from cinder_tiers.driver import pools
from tests.unit.cli import shell
from tests.unit.cli import test_commands


class BackendConfigTestCase(testtools.TestCase):
    def test_oslo_config_reads_what_is_printed(self):
        ran = shell.openstack(
            'tier',
            'backend-config',
            '--catalog',
            test_commands.SAMPLE,
            CEPH_CONF='/etc/ceph/$x.conf',
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        handle, path = tempfile.mkstemp()
        self.addCleanup(os.unlink, path)
        os.write(handle, ran.stdout.encode())
        os.close(handle)
        conf = cfg.ConfigOpts()
        conf.register_opts(
            [
                cfg.ListOpt('enabled_backends'),
                cfg.StrOpt('default_volume_type'),
            ]
        )
        conf(['--config-file', path])
        self.assertEqual(
            ['tier-database', 'tier-general', 'tier-archive'],
            conf.enabled_backends,
        )
        self.assertEqual('image-tier', conf.default_volume_type)
        for section in conf.enabled_backends:
            conf.register_opts(
                [
                    cfg.StrOpt(name)
                    for name in (
                        'volume_backend_name',
                        'rbd_pool',
                        'rbd_ceph_conf',
                        'rbd_user',
                        'volume_driver',
                    )
                ],
                group=section,
            )
            self.assertEqual(section, conf[section].volume_backend_name)
            self.assertEqual(section, conf[section].rbd_pool)
            self.assertEqual('/etc/ceph/$x.conf', conf[section].rbd_ceph_conf)
            self.assertEqual('cinder', conf[section].rbd_user)

    def test_json_has_the_same_sections(self):
        ran = shell.openstack(
            'tier',
            'backend-config',
            '-f',
            'json',
            CINDER_TIERS_CATALOG=test_commands.SAMPLE,
            CINDER_TIERS_RBD_SECRET_UUID='some-uuid',
        )
        sections = json.loads(ran.stdout)
        self.assertEqual(
            ['DEFAULT', 'tier-database', 'tier-general', 'tier-archive'],
            list(sections),
        )
        self.assertEqual(
            'some-uuid', sections['tier-archive']['rbd_secret_uuid']
        )

    def test_the_tiered_driver_has_a_section_for_each_cluster(self):
        ran = shell.openstack(
            'tier',
            'backend-config',
            '--driver',
            'tiered',
            '-f',
            'json',
            '--catalog',
            test_commands.SAMPLE,
        )
        sections = json.loads(ran.stdout)
        (name,) = sections.keys() - {'DEFAULT'}
        self.assertEqual(name, sections['DEFAULT']['enabled_backends'])
        found = sections[name]
        self.assertNotIn('rbd_pool', found)
        self.assertEqual(
            [
                pools.BackendPool(name=tier, rados_pool=tier)
                for tier in ('tier-database', 'tier-general', 'tier-archive')
            ],
            list(pools.parse(found['tiers_rbd_pools'].split(','))),
        )
        module, _, driver = found['volume_driver'].rpartition('.')
        self.assertEqual('TieredRBDDriver', driver)
        self.assertIsNotNone(importlib.util.find_spec(module))

    def test_what_has_a_backend_for_each_tier_takes_no_other_driver(self):
        ran = shell.openstack(
            'tier',
            'backend-config',
            '--driver',
            'tiered',
            '--for',
            'kolla-ansible',
            '--catalog',
            test_commands.SAMPLE,
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('is for cinder.conf only', ran.stderr)

    def test_a_cluster_with_a_conf_and_a_secret_brings_them(self):
        uuid = '11111111-2222-3333-4444-555555555555'
        path = test_commands.edited(
            self,
            (
                '    user: admin',
                f'    conf: /etc/ceph/b.conf\n'
                f'    secret_uuid: {uuid}\n    user: admin',
            ),
        )
        ran = shell.openstack(
            'tier',
            'backend-config',
            '-f',
            'json',
            '--catalog',
            path,
            CEPH_CONF='/other',
            CINDER_TIERS_RBD_SECRET_UUID='other',
        )
        section = json.loads(ran.stdout)['tier-general']
        self.assertEqual(
            ('/etc/ceph/b.conf', uuid),
            (section['rbd_ceph_conf'], section['rbd_secret_uuid']),
        )

    def test_options_win_over_the_environment(self):
        ran = shell.openstack(
            'tier',
            'backend-config',
            '--rbd-secret-uuid',
            'of-the-option',
            '--ceph-conf',
            '/some/ceph.conf',
            '-f',
            'json',
            '--catalog',
            test_commands.SAMPLE,
            CEPH_CONF='/other/ceph.conf',
            CINDER_TIERS_RBD_SECRET_UUID='of-the-environment',
        )
        section = json.loads(ran.stdout)['tier-database']
        self.assertEqual(
            ('/some/ceph.conf', 'of-the-option'),
            (section['rbd_ceph_conf'], section['rbd_secret_uuid']),
        )

    def test_without_following_types_the_fall_back_is_the_default(self):
        path = test_commands.edited(
            self, ('follow_image_types: [image-tier]', '')
        )
        ran = shell.openstack(
            'tier', 'backend-config', '-f', 'json', '--catalog', path
        )
        self.assertEqual(
            'general', json.loads(ran.stdout)['DEFAULT']['default_volume_type']
        )

    def test_without_a_fallback_no_default_follows_the_image(self):
        path = test_commands.edited(
            self,
            ('    fallback: true', ''),
            ('version: 1', 'version: 1\nfallback: none'),
        )
        ran = shell.openstack('tier', 'backend-config', '--catalog', path)
        self.assertNotIn('\ndefault_volume_type', ran.stdout)
        self.assertIn(
            '# default_volume_type = image-tier is left out: no '
            'tier is the fallback',
            ran.stdout,
        )
        self.assertIn('\nenabled_backends = tier-database,', ran.stdout)

    def test_the_default_is_the_fallback_of_all_other_zones(self):
        path = test_commands.edited(
            self,
            ('follow_image_types: [image-tier]', ''),
            (
                'tags: [database]',
                'fallback: true\n    extra_specs: '
                '{"RESKEY:availability_zones": north}\n    tags: [database]',
            ),
        )
        ran = shell.openstack(
            'tier', 'backend-config', '-f', 'json', '--catalog', path
        )
        self.assertEqual(
            'general', json.loads(ran.stdout)['DEFAULT']['default_volume_type']
        )

    def test_a_backend_that_exists_gets_no_second_section(self):
        path = test_commands.edited(
            self,
            ('      pool: tier-general', '      pool: vols'),
            ('    fallback: true', '    fallback: true\n    backend: rbd-1'),
            ('    tags: [archive]', '    take_over: false'),
        )
        ran = shell.openstack('tier', 'backend-config', '--catalog', path)
        self.assertIn(
            '# tier general: backend rbd-1 already serves pool vols',
            ran.stdout,
        )
        self.assertIn('enabled_backends = tier-database\n', ran.stdout)
        self.assertNotIn('[tier-general]', ran.stdout)
        self.assertNotIn('archive', ran.stdout)

    def test_without_tiers_nothing_is_switched_off(self):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        os.write(handle, b'version: 1\ntiers: {}\n')
        os.close(handle)
        ran = shell.openstack('tier', 'backend-config', '--catalog', path)
        self.assertEqual((0, ''), (ran.status, ran.stdout.strip()))

    def test_without_rbd_no_backend_is_touched(self):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        os.write(
            handle, b'version: 1\ntiers: {a: {fallback: true, backend: lvm}}\n'
        )
        os.close(handle)
        ran = shell.openstack('tier', 'backend-config', '--catalog', path)
        self.assertEqual(
            ['[DEFAULT]', 'default_volume_type = a'],
            [
                line
                for line in ran.stdout.splitlines()
                if not line.startswith('#')
            ],
        )
        self.assertIn('# No tier has rbd', ran.stdout)

    def test_the_capabilities_are_in_a_comment(self):
        ran = shell.openstack(
            'tier', 'backend-config', '--catalog', test_commands.SAMPLE
        )
        self.assertIn('# client.cinder of Ceph cluster ceph needs', ran.stdout)
        self.assertIn('profile rbd pool=tier-archive-data', ran.stdout)

    def test_what_nova_and_glance_need_is_in_comments(self):
        ran = shell.openstack(
            'tier', 'backend-config', '--catalog', test_commands.SAMPLE
        )
        self.assertIn(
            '[libvirt] rbd_secret_uuid, rbd_user = cinder', ran.stdout
        )
        self.assertIn(
            'volumes from raw images in pool images are clones', ran.stdout
        )
        uuid = '457eb676-33da-42ec-9a8c-9293d545c337'
        path = test_commands.edited(
            self,
            ('    images_pool: images', f'    secret_uuid: {uuid}\n    #'),
        )
        ran = shell.openstack('tier', 'backend-config', '--catalog', path)
        self.assertIn(f'under the UUID {uuid}', ran.stdout)
        self.assertNotIn('Glance', ran.stdout)
