# SPDX-License-Identifier: Apache-2.0

"""What the pages for deployment tools tell to do has the result they promise.

Of Kolla, the command that changes the paste file of its image is run on that
of the Cinder that is installed here; of OpenStack-Ansible, the overrides are
merged into it. Commands of ours are run as far as they go without a cloud.
"""

import configparser
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

import ddt
import fixtures
import testtools
import yaml

from tests.unit.cli import shell

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / 'doc/source/install/kolla-ansible.rst'
API_PASTE = pathlib.Path(sys.prefix, 'etc/cinder/api-paste.ini')
GUIDE = TOP / 'doc' / 'source'
OPENSTACK_ANSIBLE = GUIDE / 'install' / 'openstack-ansible.rst'
EXISTING_CLOUD = GUIDE / 'install' / 'existing-cloud.rst'
EXAMPLE = TOP / 'etc' / 'cinder-tiers' / 'tiers.yaml'
#: Pages whose commands are parsed here.
PAGES = (
    *sorted(GUIDE.glob('install/*.rst')),
    *(
        GUIDE / 'admin' / f'{name}.rst'
        for name in ('availability', 'metrics', 'sizing', 'watch')
    ),
)
_BLOCK = re.compile(r'(?m)^( *)\.\. code-block:: (\w+)\n\n((?:\1   .*\n|\n)+)')
PIPELINES = 'composite:openstack_volume_api_v3'


def parsed(text):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser


class KollaTestCase(testtools.TestCase):
    def run_footer(self):
        """Run the RUN of the page on a copy of the file; the copy's text."""
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'api.ini'
        )
        path.write_text(API_PASTE.read_text())
        [command] = re.findall(
            r'(?s)^   RUN (.*?)^   \{% endblock', PAGE.read_text(), re.M
        )
        self.assertEqual(2, command.count('/etc/cinder/api-paste.ini'))
        subprocess.run(
            [
                'sh',
                '-c',
                command.replace('/etc/cinder/api-paste.ini', str(path)),
            ],
            check=True,
        )
        return path.read_text()

    def test_the_middleware_is_last_in_every_pipeline(self):
        before = parsed(API_PASTE.read_text())
        after = parsed(self.run_footer())
        for name, value in before[PIPELINES].items():
            if name != 'use':
                self.assertRegex(value, ' apiv3$')
                value = value.replace(' apiv3', ' tiers apiv3')
            self.assertEqual(value, after[PIPELINES][name])

    def test_the_middleware_is_defined_and_nothing_else_changes(self):
        before = parsed(API_PASTE.read_text())
        after = parsed(self.run_footer())
        self.assertEqual(
            {'paste.filter_factory': 'cinder_tiers.api:filter_factory'},
            {
                key: after['filter:tiers'][key]
                for key in after['filter:tiers']
                if key not in after.defaults()
            },
        )
        self.assertEqual(
            ['filter:tiers'],
            sorted(set(after.sections()) - set(before.sections())),
        )
        for section in set(before.sections()) - {PIPELINES}:
            self.assertEqual(before[section], after[section])

    def test_it_is_the_example_of_the_package(self):
        example = parsed((TOP / 'etc/cinder-tiers/api-paste.ini').read_text())
        self.assertEqual(
            example['filter:tiers']['paste.filter_factory'],
            parsed(self.run_footer())['filter:tiers']['paste.filter_factory'],
        )


def blocks(page, language):
    """The code blocks of a page in a language."""
    return [
        textwrap.dedent(text)
        for _, found, text in _BLOCK.findall(page.read_text('utf-8'))
        if found == language
    ]


def commands():
    """(page, words after `openstack tier`) of each command in a block."""
    for page in PAGES:
        for text in blocks(page, 'console'):
            for line in re.sub(r'\\\n\s*', '', text).splitlines():
                _, found, command = line.partition('openstack tier ')
                if found:
                    yield page.name, shlex.split(command.partition(' > ')[0])


COMMANDS = list(commands())


@ddt.ddt
class CommandsTestCase(testtools.TestCase):
    def test_there_are_some_for_each_owner(self):
        fragments = [words[-1] for _, words in COMMANDS if '--for' in words]
        self.assertLessEqual(
            {'cephadm', 'kolla-ansible', 'openstack-ansible', 'rook'},
            set(fragments),
        )

    @ddt.data(*range(len(COMMANDS)))
    def test_each_takes_its_arguments(self, number):
        _, (verb, *arguments) = COMMANDS[number]
        [entry] = [
            one
            for one in shell.entry_points(shell.GROUP)
            if one.name == f'tier_{verb.replace("-", "_")}'
            or one.name == f'tier_{verb}'
        ]
        parser = entry.load()(None, None).get_parser(f'openstack tier {verb}')
        # argparse ends the process for what it does not know.
        self.assertIsNotNone(parser.parse_args(arguments))

    @ddt.data(
        *sorted(
            {words[-1] for _, words in COMMANDS if words[1:2] == ['--for']}
        )
    )
    def test_backend_config_prints_it_without_a_cloud(self, owner):
        ran = shell.openstack(
            'tier', 'backend-config', '--catalog', str(EXAMPLE), '--for', owner
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertIn('tier', ran.stdout)


class OpenStackAnsibleTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        [text] = blocks(OPENSTACK_ANSIBLE, 'yaml')
        self.variables = yaml.safe_load(text)

    def test_the_paste_file_has_the_middleware_and_nothing_else_changes(self):
        before = parsed(API_PASTE.read_text())
        after = parsed(API_PASTE.read_text())
        overrides = self.variables['cinder_api_paste_ini_overrides']
        # As the role merges them: key by key.
        after.read_dict(overrides)
        for name, value in before[PIPELINES].items():
            if name not in ('use', 'noauth', 'noauth_include_project_id'):
                value = value.replace(' apiv3', ' tiers apiv3')
                self.assertEqual(value, after[PIPELINES][name])
        self.assertEqual(
            parsed((TOP / 'etc/cinder-tiers/api-paste.ini').read_text())[
                'filter:tiers'
            ]['paste.filter_factory'],
            after['filter:tiers']['paste.filter_factory'],
        )
        self.assertEqual({'filter:tiers', PIPELINES}, set(overrides))

    def test_the_scheduler_has_the_options_of_the_existing_cloud(self):
        [wanted] = [
            parsed(text)['DEFAULT']
            for text in blocks(EXISTING_CLOUD, 'ini')
            if 'TierFilter' in text
        ]
        self.assertEqual(
            dict(wanted),
            self.variables['cinder_cinder_conf_overrides']['DEFAULT'],
        )


def rules_of(name):
    """The rules of an example for Prometheus."""
    path = TOP / 'etc' / 'prometheus' / name
    return [
        rule
        for group in yaml.safe_load(path.read_text('utf-8'))['groups']
        for rule in group['rules']
    ]


@ddt.ddt
class AlertsTestCase(testtools.TestCase):
    """The rules ask for metrics that the page with them describes."""

    @ddt.data(
        ('metrics', 'tiers.rules.yaml'), ('watch', 'tiers-watch.rules.yaml')
    )
    @ddt.unpack
    def test_they_ask_for_what_there_is(self, page_name, name):
        page = GUIDE / 'admin' / f'{page_name}.rst'
        described = re.findall(
            r'(?m)^``(cinder_tiers_\w+)``', page.read_text('utf-8')
        )
        self.assertIn(name, page.read_text('utf-8'))
        rules = rules_of(name)
        self.assertTrue(rules)
        for rule in rules:
            asked = re.findall(r'cinder_tiers_\w+', rule['expr'])
            self.assertTrue(asked, rule)
            for metric in asked:
                self.assertIn(metric.removesuffix('_bucket'), described)

    def test_a_number_that_a_series_begins_with_is_not_missed(self):
        counting = [
            rule['expr']
            for rule in rules_of('tiers.rules.yaml')
            if 'increase(' in rule['expr']
        ]
        self.assertEqual(2, len(counting))
        for expression in counting:
            [metric] = set(re.findall(r'cinder_tiers_\w+', expression))
            # increase() needs two samples: a process that fails at its first
            # request has one, and fails no more if it is not asked again.
            self.assertIn(f'unless {metric} offset 10m', expression)


class FirstMeasurementTestCase(testtools.TestCase):
    """The steps of the pages, as far as they go without a cloud."""

    def setUp(self):
        super().setUp()
        self.steps = (GUIDE / 'user' / 'measure.rst').read_text('utf-8')
        self.recipes = (GUIDE / 'user' / 'measure-howto.rst').read_text(
            'utf-8'
        )
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (home / '.rally').mkdir()
        (home / '.rally' / 'rally.conf').write_text(
            f'[database]\nconnection = sqlite:///{home}/rally.sqlite\n'
        )
        self.environment = {
            'HOME': str(home),
            'PATH': f'{sys.prefix}/bin:{os.environ["PATH"]}',
            'OS_AUTH_URL': 'http://127.0.0.1:1/v3',
            'OS_USERNAME': 'admin',
            'OS_PASSWORD': 'secret',
            'OS_PROJECT_NAME': 'admin',
        }

    def run_step(self, pattern):
        """Run the command of the page that matches; what it prints."""
        [command] = re.findall(rf'(?m)^ +\$ ({pattern}.*)$', self.steps)
        done = subprocess.run(
            ['bash', '-c', command],
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_the_database_and_the_environment_are_made(self):
        self.run_step('rally db create')
        self.assertIn('mycloud', self.run_step('rally env create'))

    def test_the_task_is_where_it_says(self):
        [assignment] = re.findall(r'(?m)^ +\$ (tasks=.*)$', self.recipes)
        task, arguments = re.search(
            r"rally task start (\S+) --task-args \\\n +'(.*)'", self.recipes
        ).groups()
        done = subprocess.run(
            ['bash', '-c', f'cd /; {assignment}; cat {task}'],
            env={**self.environment, 'PYTHONPATH': str(TOP)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        for name in yaml.safe_load(arguments):
            self.assertIn(name, done.stdout)
