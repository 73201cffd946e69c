# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repair`, run by the real shell against a real Cinder API.

The tiers lie on storage that exists, so that no image has limits. What steps
do is in test_carry_out.
"""

import json
import os
import re
import tempfile
import uuid

from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import repair
from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case
from tests.unit.execute.cinder import test_volume_type
from tests.unit.loop.repair import cinder_volume

COLUMNS = ('Volume', 'Kind', 'Step', 'Moved GiB', 'Outcome')


class Thoughtful(shell.Terminal):
    """A person who agrees, after something else has happened."""

    def __init__(self, happens):
        super().__init__()
        self._happens = happens

    def readline(self):
        self._happens()
        return 'y\n'


class RepairCommandTestCase(tiers_file_case.TiersFileTestCase):
    text = tiers_file_case.TIERS.replace('access: [alpha]', 'access: public')

    def repair(self, *arguments, answer=None, role='admin'):
        return shell.openstack(
            *self.api.arguments_of(role),
            *('tier', 'repair', '--catalog', self.path, '-f', 'json'),
            *arguments,
            answer=answer,
        )

    def rows(self, ran):
        return [
            tuple(row[name] for name in COLUMNS)
            for row in json.loads(ran.stdout)
        ]

    def test_no_volume_gets_a_type_that_would_encrypt_it(self):
        """Cinder would refuse it, or copy what it cannot copy."""
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        self.begin_applied()
        storage = connection.block_storage
        types = {one.name: one.id for one in storage.types(is_public='None')}
        storage.create_type_encryption(
            types['general'],
            provider='luks',
            control_location='front-end',
            cipher='aes-xts-plain64',
            key_size=256,
        )
        tape, _lvm = (self.api.add_backend(name) for name in ('tape', 'lvm'))
        volume = self.api.add_volume(
            host=tape, volume_type_id=types['image-tier']
        )
        ran = self.repair('--yes')
        self.assertEqual(5, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual((volume, 'refused'), (row['Volume'], row['Outcome']))
        self.assertIn(
            'it is not encrypted, and the volume type general is',
            row['Reason'],
        )
        found = storage.get_volume(volume)
        self.assertEqual(
            ('available', 'image-tier'), (found.status, found.volume_type)
        )

    def test_an_encrypted_volume_of_other_storage_than_ceph_moves(self):
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        self.begin_applied()
        storage = connection.block_storage
        types = {one.name: one.id for one in storage.types(is_public='None')}
        for name in ('general', 'image-tier'):
            storage.create_type_encryption(
                types[name],
                provider='luks',
                control_location='front-end',
                cipher='aes-xts-plain64',
                key_size=256,
            )
        hosts = [
            self.api.add_backend(name, storage_protocol=protocol)
            for name, protocol in (
                ('tape', 'NVMe-TCP'),
                ('rbd', 'ceph'),
                ('lvm', 'NVMe-TCP'),
            )
        ]
        other, ceph = (
            self.api.add_volume(
                host=host,
                volume_type_id=types['image-tier'],
                encryption_key_id=str(uuid.uuid4()),
            )
            for host in hosts[:2]
        )
        ran = self.repair()
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertEqual(
            {other: 'planned', ceph: 'refused'}, self.outcomes(ran)
        )

    def test_only_encryptions_that_matter_are_asked_for(self):
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        self.begin_applied()
        types = {
            one.name: one.id
            for one in connection.block_storage.types(is_public='None')
        }
        tape, lvm = (self.api.add_backend(name) for name in ('tape', 'lvm'))
        moves, follows = (
            self.api.add_volume(host=tape, volume_type_id=types[name])
            for name in ('general', 'image-tier')
        )
        asked = re.compile(r'GET http\S+/types/([0-9a-f-]{36})/encryption')

        ran = self.repair('--volume', follows, '--debug')
        self.assertEqual({follows: 'planned'}, self.outcomes(ran))
        self.assertEqual(
            {types['general'], types['image-tier']},
            set(asked.findall(ran.stderr)),
        )
        ran = self.repair('--volume', moves, '--debug')
        self.assertEqual({moves: 'planned'}, self.outcomes(ran))
        self.assertEqual([], asked.findall(ran.stderr))

        # Who may not see them is refused what depends on them.
        ran = self.repair(role='keeper')
        self.assertEqual(4, ran.status, ran.stderr)
        rows = {row['Volume']: row for row in json.loads(ran.stdout)}
        self.assertEqual(
            ('planned', f'migrate to {lvm}'),
            (rows[moves]['Outcome'], rows[moves]['Step']),
        )
        self.assertEqual('refused', rows[follows]['Outcome'])
        self.assertIn(
            'by its policy volume_extension:volume_type_encryption:get',
            rows[follows]['Reason'],
        )

    def test_no_encrypted_volume_is_copied_out_of_its_cluster(self):
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        self.begin_applied()
        storage = connection.block_storage
        types = {one.name: one.id for one in storage.types(is_public='None')}
        tape, mute, _ssd = (
            self.api.add_backend(
                name, location_info=f'ceph:/etc/ceph.conf:{fsid}:u:{name}'
            )
            for name, fsid in (
                ('tape', 'one'),
                # Its cluster does not answer.
                ('mute', None),
                ('ssd', 'other'),
            )
        )
        encrypted, unknown, plain = (
            self.api.add_volume(
                host=host,
                volume_type_id=types['database'],
                encryption_key_id=key,
            )
            for host, key in (
                (tape, str(uuid.uuid4())),
                (mute, str(uuid.uuid4())),
                (mute, None),
            )
        )
        rows = {row['Volume']: row for row in json.loads(self.repair().stdout)}
        self.assertEqual('planned', rows[plain]['Outcome'])
        for one, words in (
            (encrypted, 'the end of its data'),
            (unknown, 'see that its cluster answers'),
        ):
            self.assertEqual('refused', rows[one]['Outcome'])
            self.assertIn(words, rows[one]['Reason'])

    def test_the_plan_is_shown_and_asked_for(self):
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        self.begin_applied()
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
        self.assertEqual(4, ran.status)
        self.assertIn('Nothing was changed: confirmation needs', ran.stderr)
        self.assertCountEqual(shown, self.rows(ran))

        ran = self.repair(answer='n\n')
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('Repair 1 volume, moving at most 1 GiB?', ran.stderr)
        paced = self.repair('--max-bytes-per-second', '10M', answer='n\n')
        self.assertIn('moving at most 1 GiB in 2 min or more?', paced.stderr)
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

        # Somebody attaches it while the plan is read.
        ran = self.repair(
            answer=Thoughtful(
                lambda: self.api.change_volume(wrong, status='in-use')
            )
        )
        self.assertEqual(5, ran.status, ran.stderr)
        self.assertCountEqual(
            [shown[0], (*shown[1][:-1], 'refused')], self.rows(ran)
        )
        self.assertIn('it has changed since it was shown', ran.stdout)
        self.api.change_volume(wrong, status='available')

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

    def outcomes(self, ran):
        return {
            row['Volume']: row['Outcome'] for row in json.loads(ran.stdout)
        }

    def test_files_of_steps(self):
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        plan, record, advice, lost = (
            os.path.join(folder, name)
            for name in ('plan', 'record', 'advice', 'lost')
        )
        self.begin_applied()
        types = {
            one.name: one.id
            for one in connection.block_storage.types(is_public='None')
        }
        ssd, tape, lvm = (
            self.api.add_backend(name) for name in ('ssd', 'tape', 'lvm')
        )
        moves, changes, slow = (
            self.api.add_volume(host=host, volume_type_id=types[name])
            for host, name in (
                (tape, 'database'),
                (tape, 'database'),
                (lvm, 'general'),
            )
        )

        # What is looked at is saved, in place of an older plan only.
        ran = self.repair('--out', plan)
        self.assertEqual(4, ran.status, ran.stderr)
        shown = {moves: 'planned', changes: 'planned'}
        self.assertEqual(shown, self.outcomes(ran))
        self.assertEqual(4, self.repair('--out', plan).status)
        ran = self.repair('--out', self.path)
        self.assertEqual(1, ran.status)
        self.assertIn('exists and was not replaced', ran.stderr)

        # What is done is that, less what has changed since.
        self.api.change_volume(changes, status='in-use')
        late = self.api.add_volume(host=tape, volume_type_id=types['database'])
        ends = {moves: {'host': ssd}, late: {'host': ssd}}
        works = cinder_volume.CinderVolume(self.api, ends)
        self.addCleanup(works.stop)
        ran = self.repair(
            *(plan, '--record', record, '--max-bytes-per-second', '1G')
        )
        self.assertEqual(5, ran.status, ran.stderr)
        self.assertEqual(
            {moves: 'done', changes: 'refused'}, self.outcomes(ran)
        )
        self.assertEqual([moves], works.ended)
        ran = self.repair(plan, '--volume', moves, '--yes')
        self.assertEqual((0, '[]'), (ran.status, ran.stdout.strip()))
        ran = self.repair(plan)
        self.assertIn(
            '1 of 2 volumes of the file need nothing, or are gone', ran.stderr
        )

        # Cinder moves no volume to where its type does not allow it.
        ran = self.repair('--undo', record, '--yes')
        self.assertEqual(5, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(moves, row['Volume'])
        self.assertIn(f'does not allow backend {tape}', row['Reason'])

        # What somebody recommends is asked for, as it is no plan.
        order_file.write(
            advice,
            order.Orders(
                origin=order.Origin.RECOMMENDATION,
                steps=(
                    order.Order(
                        volume=slow,
                        kind=repair.RepairKind.RECOMMENDATION,
                        tier='general',
                        to_tier='database',
                        reason='p99 is 3 ms \x1b[31m',
                    ),
                ),
            ),
        )
        ends[slow] = {'host': ssd, 'volume_type_id': types['database']}
        ran = self.repair(advice)
        self.assertEqual(4, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(
            (slow, 'recommendation', 'retype to database, moving data'),
            (row['Volume'], row['Kind'], row['Step']),
        )
        self.assertEqual('p99 is 3 ms \\x1b[31m', row['Reason'])
        os.unlink(record)
        ran = self.repair(advice, '--record', record, answer='y\n')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual({slow: 'done'}, self.outcomes(ran))
        found = connection.block_storage.get_volume(slow)
        self.assertEqual(('database', ssd), (found.volume_type, found.host))

        # The way back, of what was done.
        ends[slow] = {'host': lvm, 'volume_type_id': types['general']}
        ran = self.repair('--undo', record)
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertEqual({slow: 'planned'}, self.outcomes(ran))
        ran = self.repair('--undo', record, '--yes')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual({slow: 'done'}, self.outcomes(ran))
        self.assertEqual([moves, slow, slow], works.ended)
        found = connection.block_storage.get_volume(slow)
        self.assertEqual(('general', lvm), (found.volume_type, found.host))

        for arguments, status, said in (
            ((record,), 1, 'found: a record'),
            ((record,), 1, 'take it back with --undo'),
            (('--undo', advice), 1, 'a recommendation; expected a record'),
            ((self.path,), 1, 'expected steps of a repair, version 1'),
            ((plan, '--kind', 'type'), 2, 'not allowed with argument'),
            (('--out', lost, '--undo', record), 2, '--undo does not go with'),
            ((plan, '--volume', slow), 1, f'no step for volume {slow}'),
            (('--max-bytes-per-second', '0'), 2, 'expected more than 0'),
            (
                ('--max-bytes-per-second', '-1'),
                2,
                'expected a number of bytes',
            ),
            (('--watch', folder), 1, 'has no series of a tier'),
            (('--kind', 'recommendation'), 2, 'invalid choice'),
        ):
            ran = self.repair(*arguments)
            self.assertEqual((status, ''), (ran.status, ran.stdout))
            self.assertIn(
                said.replace('found: ', ''), ' '.join(ran.stderr.split())
            )
        self.assertFalse(os.path.exists(lost))
