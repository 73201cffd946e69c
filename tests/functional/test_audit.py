# SPDX-License-Identifier: Apache-2.0

"""`openstack tier audit` sees what was changed behind our back."""

import json
import pathlib

import fixtures
import yaml

from tests.functional import commands
from tests.functional import lab

DATABASE = 'cinder-tiers-guest-database'


class AuditTest(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.run_command('openstack', 'tier', 'apply')

    def audit(self, *options, expect):
        """{(object, aspect): row} of the command, without warnings."""
        return {
            (row['Object'], row['Aspect']): row
            for row in self.ask(
                'openstack', 'tier', 'audit', *options, expect=expect
            )
            if row['State'] != 'warning'
        }

    def test_right_after_apply_all_tiers_are_compliant(self):
        self.assertEqual(
            {
                (f'tier {tier}', 'all'): 'compliant'
                for tier in ('database', 'general', 'archive')
            },
            {key: row['State'] for key, row in self.audit(expect=0).items()},
        )

    def test_what_is_changed_in_cinder_and_ceph_is_named(self):
        # To raise what somebody lowered may stop I/O, too.
        self.addCleanup(
            self.run_command,
            'openstack',
            'tier',
            'apply',
            '--allow',
            'pool tier-general (ceph):min_size',
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
        self.run_command(
            'ceph', 'osd', 'pool', 'set', 'tier-general', 'min_size', '1'
        )
        found = self.audit(expect=4)
        self.assertEqual(
            {'description': 'by somebody else'},
            found['tier database', 'volume type']['Current'],
        )
        pool = found['tier general', 'pool']
        self.assertEqual(
            ({'min_size': 1}, {'min_size': 2}),
            (pool['Current'], pool['Expected']),
        )
        self.assertEqual('compliant', found['tier archive', 'all']['State'])

    def test_a_cluster_that_does_not_answer_is_unknown(self):
        content = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        content['clusters']['ceph']['conf'] = '/nonexistent.conf'
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'x')
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        found = self.audit('--catalog', str(path), expect=3)
        self.assertEqual(
            {('unknown', 'cluster ceph')},
            {(row['State'], aspect) for (_, aspect), row in found.items()},
        )

    def test_a_clone_is_named_until_it_is_flat(self):
        volume = self.create_volume('--image', DATABASE)
        image = f'tier-database/volume-{volume}'
        info, _ = self.run_command('rbd', 'info', '--format', 'json', image)
        parent = json.loads(info)['parent']
        self.assertIn(
            ('volumes of tier database', 'placement'),
            self.audit('--volumes', '--tier', 'database', expect=0),
        )
        row = self.of_volumes()[f'volume {volume}', 'residency']
        self.assertEqual(
            ('unknown', {'parent': f'{parent["pool"]}/{parent["image"]}'}),
            (row['State'], row['Current']),
        )
        self.run_command('rbd', 'flatten', '--no-progress', image)
        self.assertEqual(
            [],
            [key for key in self.of_volumes() if key[0] == f'volume {volume}'],
        )

    def of_volumes(self):
        """The audit of the tier's volumes; others may be clones, too."""
        done = commands.run(
            (
                'openstack',
                'tier',
                'audit',
                '--volumes',
                '--residency',
                '--tier',
                'database',
                '-f',
                'json',
            ),
            environment=self.environment,
        )
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return {
            (row['Object'], row['Aspect']): row
            for row in json.loads(done.stdout)
        }
