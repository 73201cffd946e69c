# SPDX-License-Identifier: Apache-2.0

"""Servers that are shelved for a repair, against Cinder's real API."""

import uuid

import testtools

from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import servers
from cinder_tiers.observe import visible_cloud
from tests.unit.loop.repair import cinder_volume
from tests.unit.loop.repair import nova
from tests.worlds import cinder_api

POLL_S = 0.02
DONE = ('lock', 'shelve', 'unshelve', 'unlock')


class ShelvingTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.hosts = [cls.api.add_backend(name) for name in ('fast', 'slow')]

    def setUp(self):
        super().setUp()
        self.nova = nova.Nova(self.api)
        self.connection = self.log_in()
        storage = self.connection.block_storage
        name = self.id().rpartition('.')[2]
        self.types = [
            storage.create_type(name=f'{name}-{number}') for number in range(2)
        ]
        self.said = []

    def log_in(self, **options):
        made = nova.log_in(self.api, self.nova, **options)
        self.addCleanup(made.close)
        return made

    def boot(self, *, volumes=2, status='ACTIVE', **fields):
        """A server with volumes, whose retypes Cinder ends."""
        ident = str(uuid.uuid4())
        made = [
            self.api.add_volume(
                host=self.hosts[1],
                volume_type_id=self.types[0].id,
                status='reserved'
                if status == 'SHELVED_OFFLOADED'
                else 'in-use',
            )
            for _ in range(volumes)
        ]
        for one in made:
            self.addCleanup(self.api.delete_volume, one)
            self.api.add_attachment(
                volume_id=one, attach_status='reserved', instance_uuid=ident
            )
        worker = cinder_volume.CinderVolume(
            self.api,
            {
                one: {
                    'status': 'in-use',
                    'volume_type_id': self.types[1].id,
                    'host': self.hosts[0],
                }
                for one in made
            },
        )
        self.addCleanup(worker.stop)
        self.stop_cinder_volume = worker.stop
        return self.nova.add(
            ident,
            volumes=made,
            status=status,
            project=fields.pop('project', nova.TENANT),
            **fields,
        )

    def volume(self, ident):
        return self.connection.block_storage.get_volume(ident)

    def steps(self, server):
        """A step for each volume of a server that has its old type."""
        known = visible_cloud.observe(self.connection)
        found = servers.read(self.connection, server.ident)
        return [
            repair.RepairStep(
                kind=repair.RepairKind.RECOMMENDATION,
                volume=visible_cloud.parse_volume(one, known),
                tier='slow',
                to_tier='fast',
                reason='it is',
                retype_to=self.types[1].name,
                shelves=found,
            )
            for one in visible_cloud.list_volumes(
                self.connection, all_tenants='True'
            )
            if one['id'] in server.volumes
            and one['volume_type'] == self.types[0].name
        ]

    def carry_out(self, steps, connection=None):
        return carry_out.carry_out(
            steps,
            connection=connection or self.connection,
            sessions={},
            at_once=2,
            is_to_stop=lambda: False,
            report=lambda result: None,
            say=self.said.append,
            poll_s=POLL_S,
        )

    def finish(self):
        return carry_out.finish(
            servers.left(self.connection),
            connection=self.connection,
            is_to_stop=lambda: False,
            say=self.said.append,
            poll_s=POLL_S,
        )

    def actions(self, server):
        return tuple(action for action, _ in server.actions)

    def assert_changed(self, server, status='ACTIVE'):
        self.assertEqual(
            (status, None, None),
            (server.status, server.task, server.lock_owner),
        )
        for one in map(self.volume, server.volumes):
            self.assertEqual(
                (
                    'in-use' if status != 'SHELVED_OFFLOADED' else 'reserved',
                    self.types[1].name,
                ),
                (one.status, one.volume_type),
            )

    def test_volumes_of_a_server_change_in_one_shelving(self):
        server = self.boot()
        results = self.carry_out(self.steps(server))
        self.assertEqual(
            [('done', '')] * 2,
            [(one.outcome.value, one.reason) for one in results],
        )
        self.assertEqual(DONE, self.actions(server))
        self.assert_changed(server)
        self.assertEqual(
            [f'server {server.ident} is shelved for 2 volumes'], self.said
        )
        self.assertEqual((), servers.left(self.connection))

    def test_a_server_is_again_what_it_was(self):
        for status, expected in (
            ('SHUTOFF', (*DONE[:3], 'os-stop', 'unlock')),
            ('SHELVED_OFFLOADED', ('lock', 'unlock')),
        ):
            server = self.boot(volumes=1, status=status)
            self.carry_out(self.steps(server))
            self.assertEqual(expected, self.actions(server))
            self.assert_changed(server, status)

    def test_a_local_disk_is_an_image_for_a_while(self):
        self.nova.keeps_shelved = True
        server = self.boot(volumes=1, image={'id': 'one'})
        (step,) = self.steps(server)
        self.assertTrue(step.shelves.saves_image)
        self.carry_out([step])
        self.assertEqual(
            ('lock', 'shelve', 'shelveOffload', 'unshelve', 'unlock'),
            self.actions(server),
        )
        self.assert_changed(server)

    def test_a_server_that_nova_does_not_shelve_runs_on(self):
        server = self.boot(surprises=['ACTIVE'])
        results = self.carry_out(self.steps(server))
        for one in results:
            self.assertEqual('failed', one.outcome.value)
            self.assertIn('is ACTIVE, expected SHELVED_OFFLOADED', one.reason)
        self.assertEqual(('lock', 'shelve', 'unlock'), self.actions(server))
        for one in map(self.volume, server.volumes):
            self.assertEqual(self.types[0].name, one.volume_type)

    def test_a_server_without_a_host_is_named_and_finished_later(self):
        server = self.boot(surprises=['SHELVED_OFFLOADED'] * 2)
        results = self.carry_out(self.steps(server))
        for one in results:
            self.assertEqual('failed', one.outcome.value)
            for words in (
                'its type was changed',
                f'server {server.ident} is SHELVED_OFFLOADED',
                'was active. Run "openstack tier repair --shelve"',
            ):
                self.assertIn(words, one.reason.replace('Server', 'server'))
        self.assertEqual([], self.finish())
        self.assertEqual(
            f'server {server.ident}, which a repair had left, is active again',
            self.said[-1],
        )
        self.assert_changed(server)

    def test_the_next_repair_finishes_what_a_kill_left_at_any_moment(self):
        kills = 0
        while True:
            server = self.boot(volumes=1, status='SHUTOFF')
            connection = self.log_in(lives=1 + kills)
            try:
                self.carry_out(self.steps(server), connection)
            except nova.Killed:
                kills += 1
            else:
                break
            self.assertTrue(servers.left(self.connection))
            # One that Cinder works on is planned later.
            steps = [
                one
                for one in self.steps(server)
                if one.volume.status != 'retyping'
            ]
            if kills % 2:
                self.carry_out(steps)
            self.assertEqual([], self.finish())
            self.assertEqual(
                ('SHUTOFF', None, None),
                (server.status, server.task, server.lock_owner),
            )
            self.assertEqual('in-use', self.volume(server.volumes[0]).status)
            if kills % 2 and steps:
                self.assert_changed(server, 'SHUTOFF')
            self.stop_cinder_volume()
        self.assertGreater(kills, 5)

    def test_a_lock_of_a_tenant_is_no_mark(self):
        server = self.boot(status='SHELVED_OFFLOADED')
        server.lock_owner = server.project
        server.lock_reason = servers.reason_of(repair.ServerState.ACTIVE)
        server.actions.append(('lock', server.project))
        self.assertEqual((), servers.left(self.connection))
        self.assertIn('is locked', servers.read(self.connection, server.ident))

    def of_volumes(self, *volumes):
        known = visible_cloud.observe(self.connection)
        return [
            str(one)
            for one in servers.of_volumes(
                self.connection,
                [
                    visible_cloud.parse_volume(one, known)
                    for one in visible_cloud.list_volumes(
                        self.connection, all_tenants='True'
                    )
                    if one['id'] in volumes
                ],
            ).values()
        ]

    def test_what_only_cinder_says_shelves_no_server(self):
        """Anybody may make an attachment that names a server of others."""
        server = self.boot(volumes=1)
        victim = self.nova.add(
            str(uuid.uuid4()), project=nova.TENANT, volumes=[]
        )
        volume = self.api.add_volume(
            host=self.hosts[1],
            volume_type_id=self.types[0].id,
            status='in-use',
            project_id=nova.TENANT,
        )
        self.addCleanup(self.api.delete_volume, volume)
        self.api.add_attachment(
            volume_id=volume,
            attach_status='reserved',
            instance_uuid=victim.ident,
        )
        (found,) = self.of_volumes(volume)
        self.assertIn(
            f'server {victim.ident} has it, and Nova does not', found
        )
        # Of another project than its server.
        (found,) = self.of_volumes(*server.volumes)
        self.assertIn('Nova does not', found)

    def test_reasons_against_shelving(self):
        for fields, reason in (
            ({'status': 'PAUSED'}, 'is PAUSED, expected ACTIVE, SHUTOFF or'),
            ({'ephemeral_gib': 1}, 'has an ephemeral disk'),
            ({'lock_owner': nova.TENANT}, 'is locked'),
            ({'task': 'rebooting'}, '(rebooting)'),
        ):
            server = self.boot(volumes=0, **fields)
            # A task ends when it is looked at.
            server.next_status = fields.get('task') and 'ACTIVE'
            self.assertIn(reason, servers.read(self.connection, server.ident))
