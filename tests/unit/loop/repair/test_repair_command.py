# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair`, run by the real shell against a real Cinder API.

The tiers lie on storage that exists, so that no image has limits. What steps
do is in test_carry_out.
"""

import json
import uuid

from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case
from tests.unit.execute import test_cinder

COLUMNS = ('Volume', 'Kind', 'Step', 'Moved GiB', 'Outcome')


class RepairCommandTestCase(tiers_file_case.TiersFileTestCase):
    text = tiers_file_case.TIERS.replace('access: [alpha]', 'access: public')

    def repair(self, *arguments, answer=None):
        return shell.openstack(
            *self.api.arguments_of('admin'),
            *('tier', 'repair', '--catalog', self.path, '-f', 'json'),
            *arguments,
            answer=answer,
        )

    def rows(self, ran):
        return [
            tuple(row[name] for name in COLUMNS)
            for row in json.loads(ran.stdout)
        ]

    def test_the_plan_is_shown_and_asked_for(self):
        connection = test_cinder.connect(self.api)
        self.addCleanup(connection.close)
        self.assertEqual(0, self.run_tier('apply').status)
        types = {
            one.name: one.id
            for one in connection.block_storage.types(is_public='None')
        }
        ssd, tape = (self.api.add_backend(name) for name in ('ssd', 'tape'))
        right, wrong, used = (
            self.api.add_volume(
                host=host, volume_type_id=types['database'], **fields
            )
            for host, fields in (
                (ssd, {}),
                (tape, {}),
                (tape, {'status': 'in-use'}),
            )
        )
        shown = [
            (used, 'placement', f'migrate to {ssd}', 1, 'refused'),
            (wrong, 'placement', f'migrate to {ssd}', 1, 'planned'),
        ]

        # Nobody is there to ask.
        ran = self.repair()
        self.assertEqual((4, ''), (ran.status, ran.stderr))
        self.assertCountEqual(shown, self.rows(ran))

        ran = self.repair(answer='n\n')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('Repair 1 volume, moving at most 1 GiB?', ran.stderr)
        self.assertIn(f'volume {used} of tier database', ran.stderr)
        self.assertIn('Nothing was changed', ran.stderr)

        # What can be done is none of it.
        ran = self.repair('--volume', used, '--yes')
        self.assertEqual(5, ran.status)
        self.assertEqual(shown[:1], self.rows(ran))
        for arguments in (
            ('--volume', right),
            ('--tier', 'general'),
            ('--kind', 'type', '--kind', 'limits', '--kind', 'image'),
        ):
            ran = self.repair(*arguments, '--yes')
            self.assertEqual((0, '[]'), (ran.status, ran.stdout.strip()))
        found = connection.block_storage.get_volume(wrong)
        self.assertEqual(('available', tape), (found.status, found.host))

        # A backend that does not report says nothing of its volumes.
        lost = self.api.add_volume(
            host='node@gone#gone', volume_type_id=types['database']
        )
        ran = self.repair('--volume', lost, '--yes')
        self.assertEqual((3, '[]'), (ran.status, ran.stdout.strip()))
        self.assertIn(
            'Whether 1 volume needs repair is unknown:',
            ' '.join(ran.stderr.split()),
        )

        for arguments, status, said in (
            (('--volume', 'disk'), 2, "'disk': expected the ID of a volume"),
            (('--volume', str(uuid.uuid4())), 1, 'Cinder has no volume'),
            (('--tier', 'databse'), 1, "tier 'databse' does not exist"),
            (('--concurrency', '0'), 2, 'expected a number from 1 to 64'),
            (('--kind', 'quota'), 2, 'invalid choice'),
        ):
            ran = self.repair(*arguments, '--yes')
            self.assertEqual((status, ''), (ran.status, ran.stdout))
            self.assertIn(said, ' '.join(ran.stderr.split()))
