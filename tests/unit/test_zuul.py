# SPDX-License-Identifier: Apache-2.0

"""Zuul takes the configuration, and what its jobs run is there."""

import pathlib
import re
import subprocess
import sys

import jsonschema
import testtools
import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = pathlib.Path(__file__).with_name('zuul_schema.yaml')
#: Jobs of others that ours are made of: openstack-zuul-jobs and DevStack.
PARENTS = {'devstack-tempest', 'openstack-tox', 'openstack-tox-py313'}


class ZuulLoader(yaml.SafeLoader):
    """As Zuul reads it: its tags, and no key twice."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.tag != MERGE]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(
                None, None, f'twice: {twice}', node.start_mark
            )
        return super().construct_mapping(node, deep)


MERGE = 'tag:yaml.org,2002:merge'
ZuulLoader.add_constructor(
    '!encrypted/pkcs1-oaep',
    lambda loader, node: (
        loader.construct_sequence(node)
        if isinstance(node, yaml.SequenceNode)
        else loader.construct_scalar(node)
    ),
)
# In variables: Ansible expands nothing in it.
ZuulLoader.add_constructor(
    '!unsafe', lambda loader, node: loader.construct_scalar(node)
)


def read(text):
    """Zuul's view of a configuration."""
    return yaml.load(text, ZuulLoader)  # noqa: S506


def problems(document):
    """What the schema says against it, each with its place."""
    schema = yaml.safe_load(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return [
        f'{"/".join(map(str, error.absolute_path))}: {error.message}'
        for error in jsonschema.Draft202012Validator(schema).iter_errors(
            document
        )
    ]


class ConfigurationTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.document = read((TOP / '.zuul.yaml').read_text())
        self.jobs = {
            item['job']['name']: item['job']
            for item in self.document
            if 'job' in item
        }

    def commands(self):
        """{name of a job: what tests/zuul/run.yaml runs}"""
        return {
            name: job['vars']['cinder_tiers_command']
            for name, job in self.jobs.items()
            if 'cinder_tiers_command' in job.get('vars', {})
        }

    def used(self):
        """Names of the jobs of all pipelines."""
        [project] = [
            item['project'] for item in self.document if 'project' in item
        ]
        return {
            name
            for pipeline in project.values()
            if isinstance(pipeline, dict)
            for job in pipeline['jobs']
            for name in ([job] if isinstance(job, str) else job)
        }

    def test_it_is_what_zuul_takes(self):
        self.assertEqual([], problems(self.document))

    def test_every_job_that_is_run_is_defined_and_not_abstract(self):
        self.assertEqual(set(), self.used() - set(self.jobs))
        self.assertEqual(
            [], [name for name in self.used() if 'abstract' in self.jobs[name]]
        )

    def test_every_job_is_run_or_is_a_parent(self):
        parents = {job.get('parent') for job in self.jobs.values()}
        self.assertEqual(set(), set(self.jobs) - self.used() - parents)
        self.assertEqual(set(), parents - set(self.jobs) - PARENTS - {None})

    def test_environments_of_tox_are_there(self):
        tox = (TOP / 'tox.ini').read_text()
        for name, job in self.jobs.items():
            env = job.get('vars', {}).get('tox_envlist')
            if job.get('parent') == 'openstack-tox':
                self.assertIn(f'[testenv:{env}]', tox, name)

    def test_playbooks_are_there_and_are_yaml(self):
        paths = {
            job[key]
            for job in self.jobs.values()
            for key in ('run', 'post-run')
            if key in job
        }
        self.assertEqual(
            {'tests/zuul/run.yaml', 'tests/zuul/post.yaml'}, paths
        )
        for path in paths:
            [play] = read((TOP / path).read_text())
            self.assertEqual('all', play['hosts'])
            self.assertTrue(play['tasks'])

    def test_programs_of_jobs_take_their_arguments(self):
        for name, command in self.commands().items():
            program, argument = command.split()
            usage = subprocess.run(
                [TOP / program, '--help'], capture_output=True, text=True
            )
            self.assertEqual(0, usage.returncode, usage.stderr)
            self.assertRegex(
                usage.stdout, rf'(?m)^ +(\w+, )?{argument}\b', name
            )

    def test_cells_of_the_matrix_of_releases_are_there(self):
        text = self.jobs['cinder-tiers-releases']['vars'][
            'cinder_tiers_environment'
        ]['CINDER_TIERS_TEST_CELLS']
        usage = subprocess.run(
            [
                sys.executable,
                TOP / 'tests/cinder_releases/matrix.py',
                '--help',
            ],
            capture_output=True,
            text=True,
        ).stdout
        self.assertEqual(set(), set(text.split()) - set(usage.split()))

    def test_devstack_plugins_are_required_projects(self):
        job = self.jobs['cinder-tiers-tempest-base']
        for name, url in job['vars']['devstack_plugins'].items():
            project = url.removeprefix('https://opendev.org/')
            self.assertEqual(name, project.split('/')[1])
            self.assertIn(project, job['required-projects'])

    def test_settings_of_devstack_are_those_of_the_plugin(self):
        settings = (TOP / 'devstack/settings').read_text()
        for job in self.jobs.values():
            for name in job.get('vars', {}).get('devstack_localrc', {}):
                if name.startswith('CINDER_TIERS_'):
                    self.assertIn(f'\n{name}=', settings)

    def test_tests_of_tempest_are_found_by_their_regex(self):
        regex = self.jobs['cinder-tiers-tempest-ceph']['vars'][
            'tempest_test_regex'
        ]
        for path in (TOP / 'cinder_tiers/tempest/tests').glob('test_*.py'):
            module = '.'.join(path.relative_to(TOP).with_suffix('').parts)
            self.assertTrue(re.match(regex, f'{module}.X.test_y'), module)
