# SPDX-License-Identifier: Apache-2.0

"""`openstack tier audit`, run by the real shell against a real Cinder API.

Keystone and Glance are stand-ins. The tiers lie on storage that exists, but
for one on a Ceph cluster that does not answer.
"""

import json
import os
import tempfile

import ddt
import testtools

from cinder_tiers.domain.audit import tiers as audit
from tests.unit.cli import shell
from tests.unit.cli import test_commands
from tests.unit.cli import tiers_file_case
from tests.unit.execute.cinder import test_volume_type

ON_CEPH = """  archive:
    tags: [archive]
    rbd: {cluster: far, pool: archive, device_class: hdd,
          replicated: {size: 3, min_size: 2}}
clusters:
  far: {conf: /nonexistent.conf}
"""
#: A public type of Cinder's own, which leads to all backends.
BESIDE = ('volume type __DEFAULT__', 'warning', 'other volume types')


class AuditTestCase(tiers_file_case.TiersFileTestCase):
    def audit(self, *arguments, status, **options):
        """The rows that the command shows."""
        ran = self.run_tier('audit', '-f', 'json', *arguments, **options)
        self.assertEqual((status, ''), (ran.status, ran.stderr), ran.stdout)
        return json.loads(ran.stdout)

    def states(self, *arguments, **options):
        return [
            (row['Object'], row['State'], row['Aspect'])
            for row in self.audit(*arguments, **options)
        ]

    def change_type(self, name, *, specs=None, **fields):
        """Changes a volume type behind our back."""
        with test_volume_type.connect(self.api) as connection:
            storage = connection.block_storage
            found = storage.find_type(name)
            if fields:
                storage.update_type(found, **fields)
            if specs:
                storage.update_type_extra_specs(found, **specs)

    def test_from_nothing_to_compliant_to_drift(self):
        self.assertEqual(
            [
                ('tier database', 'non-compliant', 'volume type'),
                ('tier database', 'non-compliant', 'qos spec'),
                ('tier general', 'non-compliant', 'volume type'),
                ('volume type image-tier', 'non-compliant', 'volume type'),
            ],
            self.states(status=4),
        )
        self.assertEqual(0, self.run_tier('apply').status)
        self.assertEqual(
            [
                ('tier database', 'compliant', 'all'),
                ('tier general', 'compliant', 'all'),
                BESIDE,
            ],
            self.states(status=0),
        )
        self.change_type('__DEFAULT__', specs={'volume_backend_name': 'tape'})
        self.assertNotIn(BESIDE, self.states(status=0))

        self.change_type('database', specs={'tiers:priority': '1'})
        self.change_type('image-tier', description='x')
        (row,) = self.audit('--tier', 'database', status=4)
        self.assertEqual(
            (
                'tier database',
                'non-compliant',
                'extra specs',
                {'extra_specs.tiers:priority': '1'},
                {'extra_specs.tiers:priority': '20'},
            ),
            tuple(
                row[name]
                for name in (
                    'Object',
                    'State',
                    'Aspect',
                    'Current',
                    'Expected',
                )
            ),
        )
        self.assertIn('run "openstack tier apply"', row['Reason'])
        self.assertEqual(
            [('tier general', 'compliant', 'all')],
            self.states('--tier', 'general', status=0),
        )

    def test_a_backend_that_serves_another_pool(self):
        self.write(self.text + ON_CEPH)
        self.api.add_backend(
            'tier-archive',
            storage_protocol='ceph',
            location_info='ceph:/etc/ceph/far.conf:'
            '01234567-89ab-cdef-0123-456789abcdef:cinder:archive-before',
        )
        (_, row) = [
            one
            for one in self.audit('--tier', 'archive', status=4)
            if one['Aspect'] in ('cluster far', 'backend')
        ]
        self.assertEqual(
            (
                'tier archive',
                'non-compliant',
                {'pool': 'archive-before'},
                {'pool': 'archive'},
            ),
            tuple(
                row[name]
                for name in ('Object', 'State', 'Current', 'Expected')
            ),
        )
        self.assertIn('@tier-archive#tier-archive', row['Reason'])
        self.assertIn('restart cinder-volume', row['Reason'])

    def test_a_cluster_that_is_not_there_leaves_the_rest(self):
        # The API of the tests has a scheduler only with a backend.
        self.api.add_backend('lvm')
        self.api.add_backend('ssd')
        self.assertEqual(0, self.run_tier('apply').status)
        self.write(self.text + ON_CEPH)
        rows = self.audit(status=4)
        self.assertEqual(
            [
                ('tier database', 'compliant', 'all'),
                ('tier general', 'compliant', 'all'),
                ('tier archive', 'unknown', 'cluster far'),
                ('tier archive', 'non-compliant', 'volume type'),
                BESIDE,
            ],
            [(row['Object'], row['State'], row['Aspect']) for row in rows],
        )
        # Where Ceph's modules are missing, the message is about them.
        self.assertRegex(
            rows[2]['Reason'], '/nonexistent.conf|install python3-rados'
        )
        self.states('--tier', 'general', status=0)

    def test_a_tier_that_no_backend_serves_is_warned_of(self):
        self.api.add_backend('lvm')
        self.assertEqual(0, self.run_tier('apply').status)
        row = self.audit('--tier', 'database', status=0)[1]
        self.assertEqual(('warning', 'backend'), (row['State'], row['Aspect']))
        self.assertIn('has volume_backend_name ssd', row['Reason'])
        self.audit('--strict', status=4)
        for form, place in (
            ('text', 'stderr'),
            ('json', 'stderr'),
            ('markdown', 'stdout'),
        ):
            ran = self.run_tier('plan', '-f', form)
            self.assertEqual(0, ran.status)
            self.assertIn('no backend serves tier database', vars(ran)[place])

    def test_who_may_not_ask_is_told(self):
        self.begin_applied()
        rows = self.audit('--tier', 'database', status=1, role='member')
        self.assertEqual(
            [('unknown', 'volume type'), ('unknown', 'access')],
            [(row['State'], row['Aspect']) for row in rows],
        )
        self.assertIn('must be an administrator', rows[0]['Reason'])

    def test_a_tier_that_is_not_there(self):
        ran = self.run_tier('audit', '--tier', 'generel')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn(
            "tier 'generel' does not exist; expected one of database, general",
            ran.stderr,
        )


class VolumesTestCase(tiers_file_case.TiersFileTestCase):
    """All of it in one test, since the cloud takes seconds to start."""

    text = tiers_file_case.TIERS.replace('access: [alpha]', 'access: public')

    def setUp(self):
        super().setUp()
        self.connection = test_volume_type.connect(self.api)
        self.addCleanup(self.connection.close)
        self.begin_applied()
        self.types = {
            one.name: one.id
            for one in self.connection.block_storage.types(is_public='None')
        }
        self.hosts = {
            name: self.api.add_backend(name) for name in ('ssd', 'lvm', 'tape')
        }

    def volume(self, type_name, on, **fields):
        return self.api.add_volume(
            host=self.hosts[on], volume_type_id=self.types[type_name], **fields
        )

    def audit(self, *arguments, status, role='admin'):
        ran = self.run_tier('audit', '-f', 'json', *arguments, role=role)
        self.assertEqual((status, ''), (ran.status, ran.stderr), ran.stdout)
        return [
            (
                row['Object'],
                row['State'],
                row['Aspect'],
                row['Current'].get('volumes'),
            )
            for row in json.loads(ran.stdout)
            if row['Aspect'] != audit.ALL
        ]

    def test_residency_of_no_volume_is_not_taken_for_an_audit_of_it(self):
        ran = self.run_tier('audit', '--residency')
        self.assertEqual((2, ''), (ran.status, ran.stdout))
        self.assertIn('--residency was given without --volumes', ran.stderr)

    def test_volumes_of_all_projects_are_held_against_their_tiers(self):
        self.volume('database', 'ssd', project_id='b' * 32)
        self.volume('database', 'lvm')
        tagged = self.api.add_image('database', visibility='public')
        self.volume('image-tier', 'ssd', image_id=tagged)
        self.volume('__DEFAULT__', 'tape')
        self.assertEqual(
            [
                (*BESIDE, None),
                ('volumes of no tier', 'not applicable', 'placement', 1),
                ('volumes of tier database', 'compliant', 'placement', 3),
                ('volumes of tier database', 'not applicable', 'residency', 3),
            ],
            self.audit('--volumes', '--residency', status=0),
        )

        stray = self.volume('database', 'tape')
        other = self.volume('image-tier', 'tape', image_id=tagged)
        self.assertEqual(
            [
                (f'volume {other}', 'non-compliant', 'placement', None),
                (f'volume {stray}', 'out of date', 'placement', None),
                ('volumes of tier database', 'compliant', 'placement', 3),
                ('volumes of tier database', 'out of date', 'placement', 1),
                ('volumes of tier database', 'non-compliant', 'placement', 1),
            ],
            self.audit('--volumes', '--tier', 'database', status=4),
        )
        self.assertEqual([], self.audit('--tier', 'database', status=0))
        self.assertEqual(
            [],
            [
                one
                for one in self.audit('--volumes', '--limits', status=4)
                if 'limits' in one[2]
            ],
        )
        for size_gib, limit in ((1, 500), (2, 40)):
            used = self.volume(
                'database', 'ssd', status='in-use', size=size_gib
            )
            self.api.add_attachment(
                volume_id=used,
                instance_uuid='5' * 8 + '-1111-4111-8111-111111111111',
                connection_info={'qos_specs': {'total_iops_sec': limit}},
            )
        self.assertEqual(
            [
                (f'volume {used}', 'out of date', 'attached limits', None),
                (
                    'volumes of tier database',
                    'compliant',
                    'attached limits',
                    1,
                ),
                (
                    'volumes of tier database',
                    'out of date',
                    'attached limits',
                    1,
                ),
            ],
            [
                one
                for one in self.audit('--volumes', '--limits', status=4)
                if 'limits' in one[2]
            ],
        )
        self.assertIn(
            ('volumes', 'unknown', 'placement', None),
            self.audit('--volumes', status=1, role='member'),
        )


@ddt.ddt
class FailureTestCase(testtools.TestCase):
    @ddt.data('json', 'yaml', 'csv', 'table', 'value')
    def test_without_any_cloud_all_is_unknown(self, output):
        handle, path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, path)
        os.write(handle, tiers_file_case.TIERS.encode())
        os.close(handle)
        ran = shell.openstack(
            *test_commands.NO_CLOUD,
            'tier',
            'audit',
            '--volumes',
            '-f',
            output,
            '--catalog',
            path,
        )
        self.assertEqual(6, ran.status, ran.stderr)
        for what in ('tier database', 'tier general', 'volumes', 'unknown'):
            self.assertIn(what, ran.stdout)
        self.assertNotIn('compliant', ran.stdout)
        self.assertNotIn('Traceback', ran.stderr)

    def test_a_wrong_argument_has_a_status_of_its_own(self):
        ran = shell.openstack(
            *test_commands.NO_CLOUD, 'tier', 'audit', '--bogus'
        )
        self.assertEqual(2, ran.status)

    def test_the_statuses_are_in_the_help(self):
        ran = shell.openstack('tier', 'audit', '--help')
        self.assertIn(
            '0 everything is compliant or not applicable', ran.stdout
        )
