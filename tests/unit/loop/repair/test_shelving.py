# SPDX-License-Identifier: Apache-2.0

"""Servers that are shelved for a repair, against Cinder's real API."""

import dataclasses
import itertools
import uuid

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import pace
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import repair_rows
from cinder_tiers.loop.repair import servers
from cinder_tiers.loop.repair import shelving
from cinder_tiers.observe.cinder import volumes as observed_volumes
from cinder_tiers.observe import visible_cloud
from tests.unit.loop.repair import cinder_volume
from tests.unit.loop.repair import nova
from tests.worlds import cinder_api

POLL_S = 0.02
DONE = ('lock', 'shelve', 'unshelve', 'unlock')


class CopyingManager:
    """A session whose manager has copied an image when asked often enough."""

    def __init__(self, server, images, *, looks):
        self.statuses = []
        self._server, self._looks = server, looks
        self._first, self._others = images[0], images[1:]

    def ask_manager(self, _prefix):
        self.statuses.append(self._server.status)
        is_copied = len(self.statuses) > self._looks
        return [
            {'refs': {'action': 'migrate execute', 'image_name': one}}
            for one in [*([] if is_copied else [self._first]), *self._others]
        ]


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
        self.api.connection = self.connection
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

    def carry_out(self, steps, connection=None, **options):
        return carry_out.carry_out(
            steps,
            pace=options.get('pace'),
            connection=connection or self.connection,
            sessions=options.get('sessions', {}),
            at_once=options.get('at_once', 2),
            not_back=options.get('not_back', ()),
            is_to_stop=lambda: False,
            report=lambda result: None,
            say=self.said.append,
            poll_s=POLL_S,
        )

    def finish(self, left=None, sessions=None):
        return carry_out.finish(
            servers.left(self.connection) if left is None else left,
            connection=self.connection,
            sessions=sessions or {},
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

    def test_a_server_starts_when_ceph_has_copied_its_snapshots(self):
        server = self.boot()
        first, second = self.steps(server)
        self.api.add_snapshot(
            volume_id=first.volume.volume_id, volume_type_id=self.types[0].id
        )
        images = [
            observed_volumes.image_of(one.volume) for one in (first, second)
        ]
        # The other one can be used at once, whatever Ceph does.
        manager = CopyingManager(server, images, looks=3)
        self.carry_out([first, second], sessions={'ceph': manager})
        self.assertEqual({'SHELVED_OFFLOADED'}, {*manager.statuses})
        # Between the copy and its end the manager has no task for a while.
        self.assertGreater(len(manager.statuses), 3 + 5)
        self.assertIn(images[0], ' '.join(self.said))
        self.assertNotIn(images[1], ' '.join(self.said))
        self.assert_changed(server)

    def test_the_next_repair_waits_for_ceph_too(self):
        server = self.left()
        self.api.add_snapshot(
            volume_id=server.volumes[0], volume_type_id=self.types[0].id
        )
        image = observed_volumes.image_named(server.volumes[0])
        manager = CopyingManager(server, [image], looks=3)
        self.assertEqual({}, self.finish(sessions={'ceph': manager}))
        self.assertEqual({'SHELVED_OFFLOADED'}, {*manager.statuses})
        self.assertGreater(len(manager.statuses), 3 + 5)
        self.assertEqual('ACTIVE', server.status)

    def test_nova_is_asked_again_where_ceph_does_not_tell(self):
        for snapshots, failures in ((0, 1), (1, 0)):
            server = self.left(surprises=['SHELVED_OFFLOADED'])
            for _ in range(snapshots):
                self.api.add_snapshot(
                    volume_id=server.volumes[0],
                    volume_type_id=self.types[0].id,
                )
            self.assertEqual(failures, len(self.finish()))
            self.assertEqual(
                'SHELVED_OFFLOADED' if failures else 'ACTIVE', server.status
            )
            self.assertEqual({}, self.finish())

    def test_a_server_that_is_unlocked_meanwhile_starts_all_the_same(self):
        server = self.boot(volumes=1)
        steps = self.steps(server)

        def unlock():
            server.lock_owner = server.lock_reason = None
            server.actions.append(('unlock', cinder_api.PROJECT))

        self.nova.happens['shelve'] = unlock
        self.assertEqual('done', self.outcome(steps)[0])
        self.assertEqual('ACTIVE', server.status)

    def test_after_one_that_was_left_stays_down_no_server_is_shelved(self):
        server = self.boot(volumes=1)
        outcome, reason = self.outcome(self.steps(server), not_back=['a'])
        self.assertEqual('not started', outcome)
        self.assertIn('server a did not come back', reason)
        self.assertEqual((), self.actions(server))

    def test_a_server_is_again_what_it_was(self):
        for status, expected in (
            ('SHUTOFF', (*DONE[:3], 'stop', 'unlock')),
            ('SHELVED_OFFLOADED', ('lock', 'unlock')),
        ):
            server = self.boot(volumes=1, status=status)
            steps = self.steps(server)
            self.assertEqual(
                status == 'SHUTOFF',
                'boots for a moment' in repair_rows.text(steps[0]),
            )
            self.carry_out(steps)
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
        # Nova had turned the guest off.
        self.assertEqual(
            ('lock', 'shelve', 'stop', 'start', 'unlock'),
            self.actions(server),
        )
        self.assertTrue(server.runs)
        for one in map(self.volume, server.volumes):
            self.assertEqual(self.types[0].name, one.volume_type)

    def outcome(self, steps, **options):
        found = self.carry_out(steps, **options)
        return found[0].outcome.value, found[0].reason

    def assert_untouched(self, server, status='ACTIVE'):
        """It was locked at most."""
        self.assertEqual(('lock', 'unlock'), self.actions(server))
        self.assertEqual(
            (status, None, True),
            (server.status, server.lock_owner, server.runs),
        )

    def test_no_server_is_shelved_while_cinder_is_at_its_volumes(self):
        """Nova would end its guest, and Cinder then refuse Nova."""
        server = self.boot()
        steps = self.steps(server)[:1]
        (other,) = {*server.volumes} - {steps[0].volume.volume_id}
        self.api.change_volume(other, status='backing-up')
        outcome, reason = self.outcome(steps)
        self.assertEqual('changed', outcome)
        self.assertIn('is backing-up, expected in-use', reason)
        self.assert_untouched(server)

    def test_a_guest_that_cinder_ended_is_told_of(self):
        server = self.boot()
        steps = self.steps(server)
        self.nova.happens['shelve'] = lambda: self.api.change_volume(
            server.volumes[1], status='backing-up'
        )
        outcome, reason = self.outcome(steps)
        self.assertEqual('failed', outcome)
        self.assertIn('when it is, shelve and unshelve the server', reason)
        self.assertIn('is unlocked, and was active', reason)
        self.assertEqual(('lock', 'shelve', 'unlock'), self.actions(server))

    def test_volumes_that_keep_their_data_change_before(self):
        server = self.boot()
        moves, keeps = self.steps(server)
        keeps = dataclasses.replace(
            keeps, kind=repair.RepairKind.TYPE, to_tier=None, shelves=None
        )
        self.assertEqual(
            ['done', 'done'],
            [one.outcome.value for one in self.carry_out([moves, keeps])],
        )
        self.assert_changed(server)

    def test_what_a_user_does_before_the_lock_is_not_undone(self):
        for change in (
            {'status': 'PAUSED'},
            {'status': 'SHUTOFF'},
            {'status': 'SHELVED_OFFLOADED'},
            {'volumes': []},
        ):
            server = self.boot(volumes=1)
            steps = self.steps(server)
            self.nova.happens['lock'] = lambda server=server, change=change: (
                server.__dict__.update(change)
            )
            outcome, reason = self.outcome(steps)
            self.assertEqual('changed', outcome, reason)
            self.assert_untouched(server, change.get('status', 'ACTIVE'))

    def test_a_volume_that_its_server_has_no_more_shelves_nothing(self):
        server = self.boot(volumes=1)
        steps = self.steps(server)
        self.api.add_attachment(
            volume_id=server.volumes[0],
            attach_status='reserved',
            instance_uuid=str(uuid.uuid4()),
        )
        outcome, reason = self.outcome(steps)
        self.assertEqual('changed', outcome)
        self.assertIn('is not its own any more', reason)
        self.assertEqual((), self.actions(server))

    def test_a_volume_that_another_server_gets_meanwhile_stays(self):
        server = self.boot(volumes=1)
        steps = self.steps(server)
        self.nova.happens['shelve'] = lambda: self.api.add_attachment(
            volume_id=server.volumes[0],
            attach_status='reserved',
            instance_uuid=str(uuid.uuid4()),
        )
        outcome, reason = self.outcome(steps)
        self.assertEqual('failed', outcome)
        self.assertIn('expected reserved with one attachment', reason)
        self.assertEqual(
            self.types[0].name, self.volume(server.volumes[0]).volume_type
        )
        self.assertEqual(DONE, self.actions(server))

    def test_an_api_that_restarts_leaves_no_server_down(self):
        for action, way in itertools.product(
            ('lock', 'shelve', 'unshelve', 'unlock'), ('silent', 'lost')
        ):
            server = self.boot(volumes=1)
            steps = self.steps(server)
            self.nova.happens[action] = lambda way=way: setattr(
                self.nova, way, 2
            )
            self.assertEqual(('done', ''), self.outcome(steps))
            self.assert_changed(server)

    def left(self, **fields):
        """A server that a repair has shelved, and not finished."""
        server = self.boot(
            volumes=1,
            status='SHELVED_OFFLOADED',
            lock_owner=cinder_api.PROJECT,
            lock_reason=servers.reason_of(repair.ServerState.ACTIVE),
            **fields,
        )
        server.actions += [
            ('lock', cinder_api.PROJECT),
            ('shelve', cinder_api.PROJECT),
        ]
        return server

    def test_a_server_that_was_left_waits_for_no_pace(self):
        server = self.left()
        never = pace.Pace(trouble=lambda: 'slow', most_pause_s=0.0)
        self.assertEqual(
            ('done', ''), self.outcome(self.steps(server), pace=never)
        )
        self.assert_changed(server)

    def test_a_server_that_is_no_longer_left_is_not_finished(self):
        server = self.left()
        found = servers.left(self.connection)
        server.lock_owner = server.lock_reason = None
        server.actions.append(('unlock', cinder_api.PROJECT))
        before = self.actions(server)
        self.assertEqual({}, self.finish(found))
        self.assertEqual(before, self.actions(server))

    def test_a_server_that_was_deleted_is_finished(self):
        server = self.left()
        found = servers.left(self.connection)
        del self.nova.servers[server.ident]
        self.assertEqual({}, self.finish(found))

    def test_a_server_that_is_deleted_meanwhile_is_not_called_locked(self):
        server = self.boot(volumes=1)
        steps = self.steps(server)
        self.nova.happens['shelve'] = lambda: self.nova.servers.clear()
        self.assertEqual(
            ('failed', f'Nova has no server {server.ident}'),
            self.outcome(steps),
        )

    def test_a_server_in_error_is_unlocked(self):
        server = self.left(surprises=['ERROR'])
        (failure,) = self.finish().values()
        self.assertIn('is ERROR, expected ACTIVE', failure)
        self.assertIn('is unlocked, and was active', failure)
        self.assertIsNone(server.lock_owner)
        self.assertEqual((), servers.left(self.connection))

    def test_a_lock_of_an_administrator_keeps_what_a_tenant_wrote(self):
        server = self.boot()
        server.actions += [
            ('lock', server.project),
            ('lock', cinder_api.PROJECT),
        ]
        server.lock_owner = cinder_api.PROJECT
        server.lock_reason = servers.reason_of(repair.ServerState.ACTIVE)
        self.assertEqual((), servers.left(self.connection))
        self.assertIn('is locked', servers.read(self.connection, server.ident))

    def test_a_lock_that_does_not_fit_its_server_is_no_mark(self):
        """Shelving would lose the disk, or leave the server down."""
        for was, fields, words in (
            ('ACTIVE', {'ephemeral_gib': 1}, 'has an ephemeral disk'),
            ('SHELVED', {}, 'is locked'),
        ):
            server = self.boot(
                lock_owner=cinder_api.PROJECT,
                lock_reason=servers.reason_of(repair.ServerState[was]),
                **fields,
            )
            server.actions.append(('lock', cinder_api.PROJECT))
            self.assertEqual((), servers.left(self.connection))
            self.assertIn(words, servers.read(self.connection, server.ident))

    def test_what_cinder_began_in_the_meantime_is_waited_for(self):
        """Else the volume of a shelved server could not be detached."""
        server = self.left()
        (volume,) = server.volumes
        server.lock_reason = servers.reason_of(repair.ServerState.SHELVED)
        self.api.change_volume(volume, status='extending')
        work = shelving.Shelving(
            self.connection,
            wait=lambda what: self.api.change_volume(volume, status='in-use'),
            now=lambda: 0.0,
            say=self.said.append,
            copied=set,
        )
        work.finish(servers.read(self.connection, server.ident))
        self.assertEqual('reserved', self.volume(volume).status)
        self.assertIsNone(server.lock_owner)

    def test_after_a_server_that_stays_down_no_other_is_shelved(self):
        down, other = self.boot(volumes=1), self.boot(volumes=1)
        down.surprises = ['SHELVED_OFFLOADED'] * 2
        first, second = self.carry_out(
            [*self.steps(down), *self.steps(other)], at_once=1
        )
        self.assertEqual('failed', first.outcome.value)
        self.assertEqual('not started', second.outcome.value)
        self.assertIn(f'{down.ident} did not come back', second.reason)
        self.assertEqual((), self.actions(other))

    def test_a_disk_may_take_hours_to_save(self):
        clock = iter(range(0, 10**6, 1800))
        for task, is_enough in (
            ('shelving_image_uploading', True),
            ('shelving', False),
        ):
            server = self.left(lasts=8)
            server.task = task
            work = shelving.Shelving(
                self.connection,
                wait=lambda what: None,
                now=lambda: next(clock),
                say=self.said.append,
                copied=set,
            )
            found = servers.read(self.connection, server.ident)
            if is_enough:
                work.finish(found)
                self.assertIsNone(server.lock_owner)
            else:
                error = self.assertRaises(
                    errors.ActionFailed, work.finish, found
                )
                self.assertIn('server set --state active', str(error))

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
        self.assertEqual({}, self.finish())
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
            self.assertEqual({}, self.finish())
            self.assertEqual(
                ('SHUTOFF', None, None),
                (server.status, server.task, server.lock_owner),
            )
            self.assertEqual('in-use', self.volume(server.volumes[0]).status)
            if kills % 2 and steps:
                self.assert_changed(server, 'SHUTOFF')
            self.stop_cinder_volume()
        self.assertGreater(kills, 5)

    def test_an_older_default_of_the_user_hides_no_server(self):
        server = self.boot(status='SHELVED_OFFLOADED')
        server.lock_owner = nova.TENANT
        server.lock_reason = servers.reason_of(repair.ServerState.ACTIVE)
        server.actions.append(('lock', 'f' * 32))
        self.connection.compute.default_microversion = '2.1'
        self.assertEqual(
            [server.ident],
            [one.server_id for one in servers.left(self.connection)],
        )

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
