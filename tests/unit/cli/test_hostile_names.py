# SPDX-License-Identifier: Apache-2.0

"""Names in Cinder cannot steer the terminal of who plans, applies or audits.

Cinder takes any text up to 255 characters for the name of a volume type or a
QoS spec.
"""

import ddt
import keystoneauth1.session
from keystoneauth1 import token_endpoint
import openstack.connection

from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case

EVIL = '\x1b[2Jx\n\u202e' + 'y' * 200


@ddt.ddt
class HostileNamesTestCase(tiers_file_case.TiersFileTestCase):
    def setUp(self):
        super().setUp()
        self.begin_applied()
        connection = openstack.connection.Connection(
            session=keystoneauth1.session.Session(
                auth=token_endpoint.Token(self.api.endpoint, self.api.token)
            ),
            block_storage_api_version='3',
        )
        self.addCleanup(connection.close)
        self.cinder = connection.block_storage

    def make_evil(self):
        """A type with our mark, and a QoS spec on the type of a tier."""
        self.cinder.create_type(
            name=EVIL, extra_specs={'tiers:name': 'x', 'tiers:tags': EVIL}
        )
        general = next(
            one for one in self.cinder.types() if one.name == 'general'
        )
        spec = self.cinder.post(
            '/qos-specs', json={'qos_specs': {'name': EVIL}}
        ).json()['qos_specs']['id']
        self.cinder.get(
            f'/qos-specs/{spec}/associate', params={'vol_type_id': general.id}
        )
        self.write(
            f'{tiers_file_case.TIERS}'
            '    qos: {front_end: {total_iops_sec: 9}}\n'
        )

    def assert_harmless(self, ran):
        self.assertNotIn('Traceback', ran.stderr)
        for line in (*ran.stdout.splitlines(), *ran.stderr.splitlines()):
            self.assertTrue(line.isprintable(), repr(line))

    @ddt.data('table', 'json', 'yaml', 'csv', 'value')
    def test_in_every_format(self, form):
        self.make_evil()
        for command, status in (('plan', 5), ('apply', 5), ('audit', 4)):
            ran = self.run_tier(command, '-f', form)
            self.assertEqual(status, ran.status, ran.stderr)
            self.assert_harmless(ran)
            # JSON and CSV write the backslash twice.
            self.assertIn(
                r'\x1b[2Jx\n\u202ey',
                (ran.stdout + ran.stderr).replace(r'\\', '\\'),
            )

    def test_at_a_terminal_without_utf_8(self):
        self.write(f'{tiers_file_case.TIERS}    description: Größe\n')
        for command, form in (
            ('plan', 'table'),
            ('plan', 'csv'),
            ('plan', 'text'),
            ('audit', 'table'),
        ):
            ran = self.run_tier(command, '-f', form, encoding='ascii')
            self.assertIn(r'Gr\xf6\xdfe', ran.stdout, ran.stderr)

    def test_an_exported_file_is_utf_8_whatever_the_terminal(self):
        self.api.add_backend('ssd')
        self.cinder.create_type(
            name='other',
            description='Größe',
            extra_specs={'volume_backend_name': 'ssd'},
        )
        ran = shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            'export',
            encoding='ascii',
        )
        self.assertIn('Größe', ran.stdout, ran.stderr)

    def test_in_an_exported_file(self):
        self.make_evil()
        self.api.add_backend('ssd')
        self.api.add_project('b' * 32, EVIL)
        database = next(
            one
            for one in self.cinder.types(is_public='None')
            if one.name == 'database'
        )
        self.cinder.add_type_access(database, 'b' * 32)
        ran = shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            'export',
            '--cluster',
            'c=/nonexistent.conf',
        )
        self.assert_harmless(ran)
        self.assertIn(
            r'- bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb  # \x1b[2Jx\n', ran.stdout
        )
        self.write(ran.stdout)
        ran = shell.openstack('tier', 'validate', self.path)
        self.assertEqual(0, ran.status, ran.stdout)
