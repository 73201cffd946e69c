# SPDX-License-Identifier: Apache-2.0

"""The page for Kolla-Ansible, with the templates of Kolla and Kolla-Ansible.

Needs git repositories of both, bare or not, which CINDER_TIERS_KOLLA and
CINDER_TIERS_KOLLA_ANSIBLE name; skipped without them. Nothing is built or
deployed: the templates become files, and the files are looked at.
"""

import collections
import configparser
import io
import json
import os
import re
import subprocess
import sys
import types
from unittest import mock

import ddt
import jinja2
from jinja2 import nativetypes
import testtools
import yaml

from tests.unit.cli import shell
from tests.unit.status import test_checks
from tests.unit import test_deployment_pages as pages

RELEASES = ('stable/2025.1', 'stable/2025.2', 'stable/2026.1', 'HEAD')
OVERRIDES = '/etc/kolla/config'
CINDER_CONF = f'{OVERRIDES}/cinder.conf'
PACKAGE = 'git+https://opendev.org/x/cinder-tiers'


VARIABLES = ('CINDER_TIERS_KOLLA', 'CINDER_TIERS_KOLLA_ANSIBLE')


def load_tests(loader, standard_tests, _pattern):
    """Without the repositories one test, which is skipped and says why."""
    if any(os.environ.get(name) for name in VARIABLES):
        return standard_tests
    return loader.loadTestsFromTestCase(NothingNamedTestCase)


class NothingNamedTestCase(testtools.TestCase):
    def test_the_repositories_are_named(self):
        missing = [name for name in VARIABLES if not os.environ.get(name)]
        if missing:
            self.skipTest(f'{", ".join(missing)}: not set, see this module')


class KollaTestCase(testtools.TestCase):
    variable: str

    def setUp(self):
        super().setUp()
        self.repository = os.environ.get(self.variable)
        if not self.repository:
            self.skipTest(f'{self.variable} names no git repository')

    def git(self, *words):
        return subprocess.run(
            ['git', '-C', self.repository, *words],
            capture_output=True,
            text=True,
        )

    def read(self, release, *paths):
        """The first of the paths that the release has."""
        for path in paths:
            done = self.git('show', f'{release}:{path}')
            if not done.returncode:
                return done.stdout
        raise AssertionError(f'{release}: no {paths}: {done.stderr}')

    def use(self, release):
        if self.git('rev-parse', '--verify', '-q', release).returncode:
            self.skipTest(f'{self.repository} has no {release}')


@ddt.ddt
class ImageTestCase(KollaTestCase):
    variable = VARIABLES[0]

    def dockerfile(self, release, override):
        """The Dockerfile of cinder-base, as kolla-build renders it."""
        filters = types.ModuleType('filters')
        exec(self.read(release, 'kolla/template/filters.py'), vars(filters))
        environment = jinja2.Environment(
            undefined=jinja2.ChainableUndefined,
            loader=jinja2.DictLoader(
                {
                    'override': override,
                    'parent': self.read(
                        release,
                        'kolla/docker/cinder/cinder-base/Dockerfile.j2',
                        'docker/cinder/cinder-base/Dockerfile.j2',
                    ),
                    'macros.j2': self.read(
                        release,
                        'kolla/docker/macros.j2',
                        'docker/macros.j2',
                    ),
                }
            ),
        )
        environment.filters['customizable'] = filters.customizable
        return environment.get_template('override').render(
            parent_template='parent',
            image_name='cinder-base',
            base_package_type='deb',
            users={'cinder': {'uid': 1, 'gid': 1}},
            debian_package_install=lambda packages, clean: 'RUN apt',
            handle_repos=lambda repos, mode: '',
        )

    @ddt.data(*RELEASES)
    def test_the_image_has_the_package_and_the_middleware(self, release):
        self.use(release)
        [override] = pages.blocks(pages.PAGE, 'jinja')
        text = self.dockerfile(release, override)
        # Beside Cinder, and with its constraints.
        self.assertRegex(
            text, rf'pip .*install .*-c \S+ /cinder {re.escape(PACKAGE)}'
        )
        change = text.index('/etc/cinder/api-paste.ini')
        self.assertLess(text.index('cp -r /cinder/etc/cinder/*'), change)
        # It writes in /etc.
        self.assertNotRegex(text, '(?m)^USER ')


@ddt.ddt
class ConfigurationTestCase(KollaTestCase):
    variable = VARIABLES[1]

    def role(self, release, path):
        return self.read(release, f'ansible/roles/cinder/{path}')

    def fragments(self):
        """{place: document} that backend-config prints."""
        ran = shell.openstack(
            'tier',
            'backend-config',
            '--catalog',
            str(pages.EXAMPLE),
            '--for',
            'kolla-ansible',
            '-f',
            'json',
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        return {
            one['place']: one['documents'][0] for one in json.loads(ran.stdout)
        }

    def overrides(self):
        """{path: texts} of the INI files that the page has one write."""
        page = pages.PAGE.read_text('utf-8')
        found = collections.defaultdict(list)
        for text in re.finditer(
            r'(?m)^\.\. code-block:: ini\n\n((?:   .*\n|\n)+)', page
        ):
            path = re.findall(
                rf'``({OVERRIDES}/\S+\.conf)``', page[: text.start()]
            )[-1]
            found[path].append(re.sub('(?m)^   ', '', text[1]))
        self.assertTrue(found)
        return found

    def merged(self, release, service, overrides):
        """cinder.conf of a service, as the role merges it."""
        place = '/etc/kolla/globals.yml'
        settings = self.fragments()[place]
        native = nativetypes.NativeEnvironment()
        native.filters['bool'] = _bool
        backends = [
            {
                key: native.from_string(value).render(settings)
                for key, value in backend.items()
            }
            for backend in settings['cinder_ceph_backends']
        ]
        template = jinja2.Environment(
            undefined=jinja2.ChainableUndefined, trim_blocks=True
        )
        template.filters |= {
            'bool': _bool,
            'kolla_address': lambda *_: '192.0.2.1',
            'put_address_in_context': lambda *_: '192.0.2.1',
        }
        text = template.from_string(
            self.role(release, 'templates/cinder.conf.j2')
        ).render(
            service_name=service,
            cinder_backend_ceph=True,
            cinder_ceph_backends=backends,
            cinder_enabled_backends=[
                one for one in backends if one['enabled']
            ],
            cinder_enabled_notification_topics=[],
            groups=collections.defaultdict(list),
        )
        [sources] = [
            task['merge_configs']['sources']
            for task in yaml.safe_load(self.role(release, 'tasks/config.yml'))
            if task.get('name') == 'Copying over cinder.conf'
        ]
        parser = self.merge_configs(release)
        parser.parse(io.StringIO(text))
        self.assertIn('role_path', sources[0])
        for source in sources[1:]:
            path = native.from_string(source).render(
                node_custom_config=OVERRIDES,
                item={'key': service},
                inventory_hostname='controller',
            )
            for one in overrides.pop(path, ()):
                parser.parse(io.StringIO(one))
        written = io.StringIO()
        parser.write(written)
        found = configparser.ConfigParser(interpolation=None, strict=False)
        found.read_string(written.getvalue())
        return found

    def merge_configs(self, release):
        """The parser of the role's action, without Ansible around it."""
        ansible = types.ModuleType('ansible')
        ansible.constants = None
        plugins = types.ModuleType('ansible.plugins')
        plugins.action = types.SimpleNamespace(ActionBase=object)
        action = types.ModuleType('merge_configs')
        with mock.patch.dict(
            sys.modules,
            {'ansible': ansible, 'ansible.plugins': plugins},
        ):
            exec(
                self.read(release, 'ansible/action_plugins/merge_configs.py'),
                vars(action),
            )
        return action.OverrideConfigParser()

    @ddt.data(*RELEASES)
    def test_the_check_finds_the_filter_in_each_container(self, release):
        self.use(release)
        for service in ('cinder-api', 'cinder-scheduler'):
            overrides = self.overrides()
            found = self.merged(release, service, overrides)
            # Nothing is written where the role does not look.
            self.assertEqual({}, overrides)
            result = test_checks.checks.scheduler(
                test_checks.state(
                    test_checks.GENERAL,
                    test_checks.PRIVATE,
                    test_checks.tier('db', 'db', overflow='general'),
                ),
                filters=found['DEFAULT']['scheduler_default_filters'].split(
                    ','
                ),
                weighers=found['DEFAULT']['scheduler_default_weighers'].split(
                    ','
                ),
            )
            self.assertEqual(
                test_checks.checks.SUCCESS,
                result.code,
                (service, result.details),
            )

    @ddt.data(*RELEASES)
    def test_decisions_are_notified(self, release):
        self.use(release)
        section = 'oslo_messaging_notifications'
        alone = self.merged(release, 'cinder-api', {})
        self.assertEqual('noop', alone[section]['driver'])
        found = self.merged(release, 'cinder-api', self.overrides())
        self.assertEqual('messagingv2', found[section]['driver'])
        self.assertEqual('notifications', found[section]['topics'])

    @ddt.data(*RELEASES)
    def test_each_tier_is_a_backend(self, release):
        self.use(release)
        found = self.merged(release, 'cinder-volume', {})
        backends = found['DEFAULT']['enabled_backends'].split(',')
        self.assertEqual(
            ['tier-database', 'tier-general', 'tier-archive'], backends
        )
        for name in backends:
            self.assertEqual(
                [name, name, 'cinder', '/etc/ceph/ceph.conf'],
                [
                    found[name][option]
                    for option in (
                        'volume_backend_name',
                        'rbd_pool',
                        'rbd_user',
                        'rbd_ceph_conf',
                    )
                ],
            )

    @ddt.data(*RELEASES)
    def test_the_default_type_reaches_the_api(self, release):
        self.use(release)
        # As backend-config prints it; the page has it pasted last.
        document = self.fragments()[CINDER_CONF]
        lines = [
            f'{key} = {value}' for key, value in document['DEFAULT'].items()
        ]
        found = self.merged(
            release,
            'cinder-api',
            {CINDER_CONF: ['\n'.join(('[DEFAULT]', *lines))]},
        )
        self.assertEqual('image-tier', found['DEFAULT']['default_volume_type'])

    @ddt.data(*RELEASES)
    def test_the_paste_file_of_the_image_is_used(self, release):
        self.use(release)
        self.assertNotIn(
            'api-paste', self.role(release, 'templates/cinder-api.json.j2')
        )
        found = self.merged(release, 'cinder-api', {})
        self.assertEqual(
            '/etc/cinder/api-paste.ini', found['DEFAULT']['api_paste_config']
        )

    @ddt.data(*RELEASES)
    def test_threads_run_between_requests(self, release):
        self.use(release)
        self.assertRegex(
            self.read(
                release,
                'ansible/roles/service-uwsgi-config/templates/uwsgi.ini.j2',
            ),
            '(?m)^enable-threads = true$',
        )

    @ddt.data(*RELEASES)
    def test_hosts_are_restarted_one_by_one_on_demand_only(self, release):
        self.use(release)
        [play] = [
            one
            for one in yaml.safe_load(self.read(release, 'ansible/site.yml'))
            if one.get('name') == 'Apply role cinder'
        ]
        self.assertIn('kolla_serial', play['serial'])
        self.assertIn('default("0")', play['serial'])
        self.assertIn('-e kolla_serial=1', pages.PAGE.read_text('utf-8'))


def _bool(value):
    """Ansible's filter."""
    return str(value).lower() in ('1', 'on', 'true', 'y', 'yes')
