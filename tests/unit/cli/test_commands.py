# SPDX-License-Identifier: Apache-2.0

"""The tier commands, run by the real `openstack` shell.

What needs a real Ceph as well is in tests/contract.
"""

import importlib.util
import json
import os
import pathlib
import shlex
import socket
import tempfile

import ddt
from osc_lib.cli import client_config
from oslo_config import cfg
import testtools
import yaml

from cinder_tiers.cli import base
from cinder_tiers.driver import pools
from tests.unit.cli import shell

SAMPLE = str(
    pathlib.Path(__file__).resolve().parents[3]
    / 'etc'
    / 'cinder-tiers'
    / 'tiers.yaml'
)
NO_CLOUD = (
    '--os-auth-type',
    'admin_token',
    '--os-token',
    'x',
    '--os-endpoint',
    'http://127.0.0.1:9/v3',
)

#: Nothing listens on this port.
NO_KEYSTONE = (
    *('--os-auth-type', 'password', '--os-username', 'admin'),
    *('--os-password', 'any', '--os-user-domain-id', 'default'),
    *('--os-project-name', 'admin', '--os-project-domain-id', 'default'),
    *('--os-auth-url', 'http://127.0.0.1:9/identity/v3'),
)
INCLUDE_ROOT = 'CINDER_TIERS_INCLUDE_ROOT'


def flat(text):
    """A text in one line."""
    return ' '.join(text.split())


def edited(test, *changes):
    """The sample with texts replaced, as a file; returns its path."""
    text = pathlib.Path(SAMPLE).read_text('utf-8')
    for old, new in changes:
        text = text.replace(old, new)
    handle, path = tempfile.mkstemp(suffix='.yaml')
    test.addCleanup(os.unlink, path)
    with os.fdopen(handle, 'w', encoding='utf-8') as stream:
        stream.write(text)
    return path


class BackendConfigTestCase(testtools.TestCase):
    def test_oslo_config_reads_what_is_printed(self):
        ran = shell.openstack(
            'tier',
            'backend-config',
            '--catalog',
            SAMPLE,
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
            CINDER_TIERS_CATALOG=SAMPLE,
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
            SAMPLE,
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
            SAMPLE,
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('is for cinder.conf only', ran.stderr)

    def test_a_cluster_with_a_conf_and_a_secret_brings_them(self):
        uuid = '11111111-2222-3333-4444-555555555555'
        path = edited(
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
            SAMPLE,
            CEPH_CONF='/other/ceph.conf',
            CINDER_TIERS_RBD_SECRET_UUID='of-the-environment',
        )
        section = json.loads(ran.stdout)['tier-database']
        self.assertEqual(
            ('/some/ceph.conf', 'of-the-option'),
            (section['rbd_ceph_conf'], section['rbd_secret_uuid']),
        )

    def test_without_following_types_the_fall_back_is_the_default(self):
        path = edited(self, ('follow_image_types: [image-tier]', ''))
        ran = shell.openstack(
            'tier', 'backend-config', '-f', 'json', '--catalog', path
        )
        self.assertEqual(
            'general', json.loads(ran.stdout)['DEFAULT']['default_volume_type']
        )

    def test_without_a_fallback_no_default_follows_the_image(self):
        path = edited(
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
        path = edited(
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
        path = edited(
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
        ran = shell.openstack('tier', 'backend-config', '--catalog', SAMPLE)
        self.assertIn('# client.cinder of Ceph cluster ceph needs', ran.stdout)
        self.assertIn('profile rbd pool=tier-archive-data', ran.stdout)

    def test_what_nova_and_glance_need_is_in_comments(self):
        ran = shell.openstack('tier', 'backend-config', '--catalog', SAMPLE)
        self.assertIn(
            '[libvirt] rbd_secret_uuid, rbd_user = cinder', ran.stdout
        )
        self.assertIn(
            'volumes from raw images in pool images are clones', ran.stdout
        )
        uuid = '457eb676-33da-42ec-9a8c-9293d545c337'
        path = edited(
            self,
            ('    images_pool: images', f'    secret_uuid: {uuid}\n    #'),
        )
        ran = shell.openstack('tier', 'backend-config', '--catalog', path)
        self.assertIn(f'under the UUID {uuid}', ran.stdout)
        self.assertNotIn('Glance', ran.stdout)


class CephUsersTestCase(testtools.TestCase):
    def printed(self, *arguments, path=SAMPLE):
        ran = shell.openstack(
            'tier', 'backend-config', '--catalog', path, *arguments
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        return ran.stdout

    def commands(self, *arguments, path=SAMPLE):
        """What a shell makes of the lines that are not comments."""
        return [
            shlex.split(line)
            for line in self.printed(*arguments, path=path).splitlines()
            if not line.startswith('#')
        ]

    def test_the_command_makes_the_user_and_shows_no_key(self):
        (command,) = self.commands('--for', 'ceph-reader')
        self.assertEqual(
            [
                *('ceph', 'auth', 'get-or-create', 'client.tiers-reader'),
                'mon',
                'allow r, allow command "auth get" with entity=client.cinder',
                'osd',
                ', '.join(
                    f'allow r class-read pool=tier-{name} '
                    'object_prefix rbd_info'
                    for name in ('database', 'general', 'archive')
                ),
                *('mgr', 'allow r'),
                '-o',
                '/etc/ceph/ceph.client.tiers-reader.keyring',
            ],
            command,
        )

    def test_what_to_put_into_the_tiers_file_is_in_a_comment(self):
        printed = self.printed('--for', 'ceph-writer')
        self.assertIn(
            '# In the tiers file: clusters: {ceph: {user: tiers-writer}}\n',
            printed,
        )
        self.assertIn('# ceph auth caps client.tiers-writer ', printed)

    def test_a_cluster_with_a_conf_and_a_user_has_them(self):
        path = edited(
            self,
            (
                '    user: admin          #',
                '    conf: /etc/ceph/b.conf\n    user: me  #',
            ),
        )
        (command,) = self.commands('--for', 'ceph-reader', path=path)
        self.assertEqual(
            [
                *('ceph', '--conf', '/etc/ceph/b.conf'),
                *('auth', 'get-or-create', 'client.me'),
            ],
            command[:6],
        )
        self.assertIn(
            '# In /etc/ceph/b.conf: [client.me] keyring = '
            '/etc/ceph/b.client.me.keyring\n',
            self.printed('--for', 'ceph-reader', path=path),
        )

    def test_who_watches_sees_no_volume(self):
        printed = self.printed('--for', 'ceph-watcher')
        self.assertIn(
            '# rbd namespace create tier-database/cinder-tiers-watch\n',
            printed,
        )
        self.assertIn('# rbd pool init tier-archive-data\n', printed)
        caps = json.loads(self.printed('--for', 'ceph-watcher', '-f', 'json'))[
            'ceph'
        ]['caps']
        self.assertEqual(('allow r', 'allow r'), (caps['mon'], caps['mgr']))
        self.assertEqual(
            [
                f'profile rbd pool=tier-{name} namespace=cinder-tiers-watch'
                for name in ('database', 'general', 'archive', 'archive-data')
            ],
            caps['osd'].split(', '),
        )

    def test_json_has_the_capabilities(self):
        printed = json.loads(
            self.printed('--for', 'ceph-writer', '-f', 'json')
        )
        self.assertEqual('client.tiers-writer', printed['ceph']['entity'])
        self.assertEqual({'mon', 'osd', 'mgr'}, printed['ceph']['caps'].keys())

    def test_without_rbd_no_user_is_needed(self):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        os.write(
            handle, b'version: 1\ntiers: {a: {fallback: true, backend: lvm}}\n'
        )
        os.close(handle)
        self.assertEqual([], self.commands('--for', 'ceph-reader', path=path))


@ddt.ddt
class OwnerFragmentsTestCase(testtools.TestCase):
    def printed(self, *arguments, path=SAMPLE):
        ran = shell.openstack(
            'tier', 'backend-config', '--catalog', path, *arguments
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        return ran.stdout

    @ddt.data(('rook', 4), ('cephadm', 2), ('openstack-ansible', 2))
    @ddt.unpack
    def test_yaml_and_json_are_the_same(self, target, count):
        printed = self.printed('--for', target)
        documents = list(yaml.safe_load_all(printed))
        self.assertEqual(count, len(documents))
        self.assertEqual(
            [
                document
                for one in json.loads(
                    self.printed('--for', target, '-f', 'json')
                )
                for document in one['documents']
            ],
            documents,
        )
        self.assertEqual(
            [], [line for line in printed.splitlines() if len(line) > 79]
        )

    def test_kolla_has_two_files(self):
        first, second = self.printed('--for', 'kolla-ansible').split('\n\n')
        self.assertTrue(first.startswith('# /etc/kolla/globals.yml:\n'))
        self.assertEqual(3, len(yaml.safe_load(first)['cinder_ceph_backends']))
        self.assertTrue(second.startswith('# /etc/kolla/config/cinder.conf:'))
        self.assertEqual(
            ['[DEFAULT]', 'default_volume_type = image-tier'],
            [line for line in second.splitlines() if line[:1] != '#'],
        )

    @ddt.data('rook', 'cephadm', 'kolla-ansible')
    def test_without_rbd_nothing_is_needed(self, target):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        os.write(handle, b'version: 1\nfallback: none\ntiers: {}\n')
        os.close(handle)
        self.assertEqual(
            '# No tier has rbd, so nothing is needed.\n',
            self.printed('--for', target, path=path),
        )


@ddt.ddt
class FailureTestCase(testtools.TestCase):
    """Status 1, what to do, and no traceback."""

    @ddt.data(
        (('plan',), (*NO_CLOUD,)),
        (('apply',), (*NO_CLOUD,)),
        (('backend-config',), ()),
    )
    @ddt.unpack
    def test_a_broken_tiers_file(self, command, cloud):
        path = edited(
            self,
            ('fallback: true', 'falback: true'),
            ('tags: [archive]', 'tags: [Database]'),
        )
        ran = shell.openstack(*cloud, 'tier', *command, '--catalog', path)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        text = pathlib.Path(path).read_text('utf-8')
        line = text[: text.index('falback')].count('\n') + 1
        self.assertIn(f"{path}:{line}: unknown key 'falback'", ran.stderr)
        self.assertIn("tag 'Database' of tier 'archive'", ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)

    @ddt.data('plan', 'apply')
    def test_ceph_that_is_not_there(self, command):
        path = edited(
            self,
            (
                '    user: admin',
                '    conf: /nonexistent.conf\n    user: admin',
            ),
        )
        ran = shell.openstack(*NO_CLOUD, 'tier', command, '--catalog', path)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        # Where Ceph's modules are missing, the message is about them.
        self.assertRegex(ran.stderr, '/nonexistent.conf|install python3-rados')
        self.assertNotIn('Traceback', ran.stderr)

    @ddt.data('plan', 'apply', 'backend-config', 'list', 'validate')
    def test_a_wrong_argument_has_a_status_of_its_own(self, command):
        ran = shell.openstack(*NO_CLOUD, 'tier', command, '--bogus')
        self.assertEqual(2, ran.status)
        self.assertIn('--bogus', ran.stderr)

    @ddt.data(*shell.VERBS)
    def test_the_statuses_are_in_the_help(self, command):
        ran = shell.openstack('tier', command, '--help')
        _, found, told = flat(ran.stdout).partition('Exit status: 0 ')
        self.assertTrue(found, ran.stdout)
        for status in (1, 2):
            self.assertRegex(told, f'; {status} ')


@ddt.ddt
class NothingNamedTestCase(testtools.TestCase):
    """`"$PLAN"` of a shell is an empty word where PLAN is not set."""

    @ddt.data(
        ('apply', ''),
        ('apply', '--allow', ''),
        ('apply', '--coordination-url', ''),
        ('audit', '--tier', ''),
        ('explain', '--image', ''),
        ('explain', '--image', ' '),
        ('explain', '--blank', '--type', ''),
        ('export', '--out', ''),
        ('plan', '--out', ''),
        ('plan', '--catalog', ''),
        ('sweep', ''),
        ('validate', '--include-root', ''),
    )
    def test_an_empty_argument_is_no_missing_one(self, words):
        ran = shell.openstack(*NO_CLOUD, 'tier', *words)
        self.assertEqual((2, ''), (ran.status, ran.stdout))
        self.assertIn('is empty', ran.stderr)

    def test_an_empty_variable_is_a_missing_one(self):
        with tempfile.TemporaryDirectory() as folder:
            below = pathlib.Path(folder) / 'below'
            below.mkdir()
            pathlib.Path(folder, 'outside.yaml').write_text('secret: x\n')
            (below / 'tiers.yaml').write_text('include: [../outside.yaml]\n')
            for root in (None, ''):
                ran = shell.openstack(
                    'tier',
                    'validate',
                    str(below / 'tiers.yaml'),
                    **({} if root is None else {INCLUDE_ROOT: root}),
                )
                self.assertEqual(1, ran.status)
                self.assertIn('--include-root', ran.stdout + ran.stderr)
                self.assertNotIn('secret', ran.stdout + ran.stderr)


@ddt.ddt
class KeystoneTestCase(testtools.TestCase):
    @ddt.data(
        ('plan', '--catalog', SAMPLE),
        ('apply', '--catalog', SAMPLE),
        ('audit', '--catalog', SAMPLE),
        ('list',),
        ('show', 'database'),
        ('explain', '--blank'),
        ('export',),
        ('sweep', '--restore'),
        ('fault', '--restore'),
    )
    def test_without_a_cloud_it_says_how_to_choose_one(self, words):
        ran = shell.openstack('tier', *words)
        self.assertEqual((1, ''), (ran.status, ran.stdout), ran.stderr)
        # The words of OSC, of which its users know what to search for.
        self.assertIn('Missing value auth-url', ran.stderr)
        self.assertIn('OS_CLOUD or --os-cloud', ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)

    @ddt.data(
        ('plan', '--catalog', SAMPLE),
        ('apply', '--catalog', SAMPLE),
        ('audit', '--catalog', SAMPLE),
        ('list',),
        ('show', 'database'),
        ('explain', '--blank'),
        ('export',),
        ('sweep', '--restore'),
        ('fault', '--restore'),
    )
    def test_one_that_does_not_answer_has_the_status_of_that(self, words):
        ran = shell.openstack(*NO_KEYSTONE, 'tier', *words)
        self.assertEqual((6, ''), (ran.status, ran.stdout), ran.stderr)
        self.assertIn('Keystone did not answer', ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)
        told = shell.openstack('tier', words[0], '--help')
        self.assertRegex(flat(told.stdout), '; 6 [^;]* did not answer')

    def test_one_that_accepts_and_says_nothing_is_not_waited_for(self):
        silent = self.enterContext(socket.create_server(('127.0.0.1', 0)))
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        clouds = folder / 'clouds.yaml'
        clouds.write_text(
            json.dumps(
                {
                    'clouds': {
                        'silent': {
                            'auth': {
                                'auth_url': 'http://127.0.0.1:'
                                f'{silent.getsockname()[1]}/v3',
                                'username': 'any',
                                'password': 'any',
                                'user_domain_id': 'default',
                                'system_scope': 'all',
                            },
                            'api_timeout': 0.5,
                        }
                    }
                }
            ),
            'utf-8',
        )
        ran = shell.openstack(
            *('--os-cloud', 'silent', 'tier', 'plan', '--catalog', SAMPLE),
            OS_CLIENT_CONFIG_FILE=str(clouds),
        )
        self.assertEqual((6, ''), (ran.status, ran.stdout), ran.stderr)
        self.assertIn('Keystone did not answer', ran.stderr)

    def test_without_a_limit_in_clouds_yaml_there_is_one(self):
        for given, expected in (({}, 300), ({'api_timeout': 7}, 7)):
            config = client_config.OSC_Config(
                override_defaults=given, load_envvars=False
            )
            base.limit_wait(config)
            cloud = config.get_one(
                auth_type='admin_token', endpoint='http://any', token='any'
            )
            self.assertEqual(expected, cloud.get_session().timeout)
