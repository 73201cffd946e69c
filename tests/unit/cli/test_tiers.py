# SPDX-License-Identifier: Apache-2.0

"""`openstack tier list` and `show`, run by the real shell.

Applied tiers are read from a real Cinder API; Keystone is a stand-in.
"""

import json

import ddt
import testtools

from tests.unit.cli import shell
from tests.unit.cli import test_commands
from tests.unit.execute.cinder import test_volume_type
from tests.worlds import cinder_api

US = cinder_api.PROJECT
THEM = '2' * 32
SAMPLE = test_commands.SAMPLE
TYPES = {
    'database': {
        'tiers:name': 'database',
        'tiers:tags': 'database,db',
        'tiers:priority': '20',
        'tiers:overflow': 'general',
        'volume_backend_name': '<or> tier-database <or> tier-general',
    },
    'general': {
        'tiers:name': 'general',
        'tiers:fallback': '<is> True',
        'volume_backend_name': 'tier-general',
    },
    'premium': {
        'tiers:name': 'premium',
        'tiers:tags': 'premium',
        'tiers:priority': '30',
        'volume_backend_name': 'tier-premium',
    },
    'image-tier': {'tiers:follow_image': '<is> True'},
    'theirs': {'volume_backend_name': 'tier-general'},
}


@ddt.ddt
class AppliedTestCase(testtools.TestCase):
    """All of it in one class, since the cloud takes seconds to start."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.pool = cls.api.add_backend('tier-general')
        cls.connection = test_volume_type.connect(cls.api)
        cls.addClassCleanup(cls.connection.close)
        for name, specs in TYPES.items():
            one = cls.connection.block_storage.create_type(
                name=name,
                description=f'The type {name}',
                is_public=name != 'premium',
                extra_specs=specs,
            )
            if name == 'premium':
                cls.connection.block_storage.add_type_access(one, THEM)

    def openstack(self, *arguments, role='admin'):
        return shell.openstack(
            *self.api.arguments_of(role), 'tier', *arguments
        )

    def add_type(self, name, **specs):
        """A volume type that is gone after the test."""
        one = self.connection.block_storage.create_type(
            name=name,
            extra_specs={
                key.replace('__', ':'): value for key, value in specs.items()
            },
        )
        self.addCleanup(self.connection.block_storage.delete_type, one)

    def test_the_list_has_the_tiers_and_no_other_type(self):
        ran = self.openstack('list', '--long', '-f', 'json')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertEqual(
            [
                {
                    'Name': 'premium',
                    'Tags': ['premium'],
                    'Priority': 30,
                    'Fallback': False,
                    'Overflow': None,
                    'Backend': ['tier-premium'],
                    'Take Over': True,
                    'Promise': {},
                    'Measured': None,
                    'Description': 'The type premium',
                },
                {
                    'Name': 'database',
                    'Tags': ['database', 'db'],
                    'Priority': 20,
                    'Fallback': False,
                    'Overflow': 'general',
                    'Backend': ['tier-database', 'tier-general'],
                    'Take Over': True,
                    'Promise': {},
                    'Measured': None,
                    'Description': 'The type database',
                },
                {
                    'Name': 'general',
                    'Tags': [],
                    'Priority': 0,
                    'Fallback': True,
                    'Overflow': None,
                    'Backend': ['tier-general'],
                    'Take Over': True,
                    'Promise': {},
                    'Measured': None,
                    'Description': 'The type general',
                },
            ],
            json.loads(ran.stdout),
        )

    def test_by_default_it_has_what_it_takes_to_choose(self):
        for role, columns in (
            ('admin', ['Name', 'Tags', 'Description', 'Measured']),
            ('member', ['Name', 'Description', 'Measured']),
        ):
            ran = self.openstack('list', '-f', 'json', role=role)
            self.assertEqual(columns, list(json.loads(ran.stdout)[0]))

    def test_people_see_no_lists(self):
        lines = self.openstack('list', '--long').stdout.splitlines()
        self.assertEqual(
            [
                'database',
                'database, db',
                'The type database',
                '-',
                '-',
                '20',
                'no',
                'general',
                'tier-database, tier-general',
                'yes',
            ],
            [cell.strip() for cell in lines[4].strip('|').split('|')],
        )

    def test_one_tier_with_the_pools_that_serve_it(self):
        ran = self.openstack('show', 'database', '-f', 'json')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertEqual(
            {
                'name': 'database',
                'volume_type': 'database',
                'description': 'The type database',
                'tags': ['database', 'db'],
                'priority': 20,
                'fallback': False,
                'overflow': 'general',
                'take_over': True,
                'access': 'public',
                'projects': [],
                'backends': ['tier-database', 'tier-general'],
                'pools': [
                    {'name': self.pool, 'free_gib': 40, 'total_gib': 100}
                ],
                'extra_specs': TYPES['database'],
                'card': {
                    'purpose': 'The type database',
                    'promise': {},
                    'measured': None,
                    'not_measured_since': None,
                },
                'read_from': 'Cinder',
            },
            json.loads(ran.stdout),
        )

    def test_a_private_tier_names_its_projects(self):
        shown = json.loads(
            self.openstack('show', 'premium', '-f', 'json').stdout
        )
        self.assertEqual(
            ('private', [THEM], []),
            (shown['access'], shown['projects'], shown['pools']),
        )

    @ddt.data('table', 'value', 'shell', 'yaml')
    def test_each_format_shows_the_pool(self, form):
        ran = self.openstack('show', 'general', '-f', form)
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertIn(self.pool, ran.stdout)

    def test_an_unknown_tier_is_not_guessed(self):
        ran = self.openstack('show', 'data-base')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn(
            'tier data-base does not exist; expected one of database, '
            "general, premium; did you mean 'database'?",
            ran.stderr,
        )

    def test_two_types_that_claim_one_tier(self):
        self.add_type('copy', tiers__name='general', volume_backend_name='ssd')
        self.assertEqual(
            4, len(json.loads(self.openstack('list', '-f', 'json').stdout))
        )
        ran = self.openstack('show', 'general')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn(
            "volume type 'copy' has the extra spec tiers:name='general', and "
            "so has 'general', which is the tier; remove the extra spec from "
            "'copy'",
            ran.stderr,
        )

    def test_a_type_that_cannot_be_read_is_shown_and_named(self):
        self.add_type('odd', tiers__name='odd', tiers__priority='high')
        ran = self.openstack('list', '--long', '-f', 'json')
        self.assertEqual(1, ran.status)
        self.assertIn("tiers:priority is 'high'", ran.stderr)
        (odd,) = (
            row for row in json.loads(ran.stdout) if row['Name'] == 'odd'
        )
        self.assertIsNone(odd['Priority'])
        self.assertEqual(1, self.openstack('show', 'odd').status)

    @ddt.data('json', 'table', 'value', 'csv', 'yaml')
    def test_hostile_text_is_escaped_in_every_format(self, form):
        self.add_type(
            'x\x1b[2J',
            tiers__name='x\x1b[2J',
            tiers__tags='\u202e',
            volume_backend_name='ssd',
        )
        for verb in (('list',), ('show', 'x\x1b[2J')):
            if form == 'csv' and verb != ('list',):
                continue
            ran = self.openstack(*verb, '-f', form)
            self.assertEqual((0, ''), (ran.status, ran.stderr))
            self.assertTrue(
                all(line.isprintable() for line in ran.stdout.splitlines()),
                ran.stdout,
            )

    def test_who_may_not_see_extra_specs_sees_types_that_may_be_used(self):
        ran = self.openstack('list', '--long', '-f', 'json', role='member')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertEqual(
            [
                {
                    'Name': name,
                    'Access': 'public',
                    'Promise': {},
                    'Measured': None,
                    'Description': f'The type {name}',
                }
                for name in ('database', 'general', 'image-tier', 'theirs')
            ],
            json.loads(ran.stdout),
        )
        ran = self.openstack('show', 'general', '-f', 'json', role='member')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        shown = json.loads(ran.stdout)
        self.assertEqual(
            ('general', 'The type general', 'public', 'Cinder'),
            (
                shown['name'],
                shown['description'],
                shown['access'],
                shown['read_from'],
            ),
        )
        self.assertEqual(
            shell.openstack(
                *self.api.arguments_of('member'), 'tier', 'show', 'nothing'
            ).stderr,
            self.openstack('show', 'premium', role='member').stderr.replace(
                'premium', 'nothing'
            ),
        )

    def test_who_sees_extra_specs_but_no_backends(self):
        shown = json.loads(
            self.openstack('show', 'general', '-f', 'json', role='seer').stdout
        )
        self.assertEqual(('general', None), (shown['name'], shown['pools']))

    def test_the_catalog_can_be_shown_beside_it(self):
        ran = self.openstack(
            'list', '--catalog', SAMPLE, '-f', 'value', '-c', 'Name'
        )
        self.assertEqual(
            ['database', 'archive', 'general'], ran.stdout.split()
        )


@ddt.ddt
class DeclaredTestCase(testtools.TestCase):
    """Without any argument or variable for a cloud."""

    def test_the_tiers_of_the_file(self):
        ran = shell.openstack(
            'tier',
            'list',
            '--long',
            '--declared',
            '-f',
            'json',
            CINDER_TIERS_CATALOG=SAMPLE,
        )
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertEqual(
            [
                ('database', ['database'], 20, False, ['tier-database']),
                ('archive', ['archive'], 10, False, ['tier-archive']),
                ('general', [], 0, True, ['tier-general']),
            ],
            [
                (
                    row['Name'],
                    row['Tags'],
                    row['Priority'],
                    row['Fallback'],
                    row['Backend'],
                )
                for row in json.loads(ran.stdout)
            ],
        )

    def test_one_of_them_with_its_pools(self):
        ran = shell.openstack(
            'tier', 'show', 'archive', '--catalog', SAMPLE, '-f', 'json'
        )
        shown = json.loads(ran.stdout)
        self.assertEqual(
            (['ceph/tier-archive', 'ceph/tier-archive-data'], SAMPLE),
            (shown['pools'], shown['read_from']),
        )

    def test_one_of_them_with_what_it_promises(self):
        path = test_commands.edited(
            self,
            (
                '    tags: [archive]',
                '    tags: [archive]\n'
                '    expect: {write-1m: {p99_ms_max: 50, iops_min: 2.5}}',
            ),
        )
        shown = shell.openstack(
            'tier', 'show', 'archive', '--catalog', path, '-f', 'json'
        )
        self.assertEqual(
            {'write-1m': {'iops_min': 2.5, 'p99_ms_max': 50}},
            json.loads(shown.stdout)['expect'],
        )
        self.assertIn(
            'write-1m: iops_min=2.5, p99_ms_max=50',
            shell.openstack(
                'tier', 'show', 'archive', '--catalog', path
            ).stdout,
        )

    def test_one_that_is_not_taken_over_says_so(self):
        path = test_commands.edited(
            self, ('    tags: [archive]', '    take_over: false')
        )
        ran = shell.openstack(
            'tier', 'list', '--long', '--catalog', path, '-f', 'json'
        )
        self.assertEqual(
            {'database': True, 'general': True, 'archive': False},
            {row['Name']: row['Take Over'] for row in json.loads(ran.stdout)},
        )
        ran = shell.openstack(
            'tier', 'show', 'archive', '--catalog', path, '-f', 'json'
        )
        self.assertIs(False, json.loads(ran.stdout)['take_over'])

    def test_an_unknown_tier(self):
        ran = shell.openstack('tier', 'show', 'archiv', '--catalog', SAMPLE)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn("did you mean 'archive'?", ran.stderr)

    @ddt.data(('list',), ('show', 'general'))
    def test_a_broken_file(self, verb):
        path = test_commands.edited(self, ('fallback: true', 'falback: true'))
        ran = shell.openstack('tier', *verb, '--catalog', path)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn("unknown key 'falback'", ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)

    @ddt.data(('list',), ('show', 'general'))
    def test_without_credentials_the_shell_says_what_is_missing(self, verb):
        ran = shell.openstack('tier', *verb)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('auth-url', ran.stderr)

    @ddt.data('list', 'show')
    def test_the_help_has_an_example(self, verb):
        ran = shell.openstack('tier', verb, '--help')
        self.assertIn(
            f'Example: openstack tier {verb}', ' '.join(ran.stdout.split())
        )
