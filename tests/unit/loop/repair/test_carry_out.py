# SPDX-License-Identifier: Apache-2.0

"""Steps of a repair against Cinder's real API.

No cinder-volume is there: what it would write, a thread writes.
"""

import dataclasses
import io
import math
import threading
import types

import keystoneauth1.session
import requests
import testtools

from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import pace
from cinder_tiers.loop.repair import repair
from cinder_tiers.observe import visible_cloud
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

POLL_S = 0.05


PLACE = volume_limits.ClusterPool(cluster='ceph', pool='pool')
CHANGES = {'rbd_qos_iops_limit': '4', 'rbd_qos_bps_burst': None}
LIMITS = volume_limits.ImageLimits(
    place=PLACE, has={'rbd_qos_bps_burst': '9'}, changes=CHANGES
)


class Session:
    """Of a cluster whose images have the same options."""

    def __init__(self):
        self.options = {'rbd_qos_bps_burst': '9', 'rbd_cache': 'false'}
        self.set = []
        self.parent = 'images/golden@snap'
        #: What the manager answers when it is asked for its tasks; with the
        #: last answer, it has done them, or given them up.
        self.works = []
        self.flattens = True
        #: So many requests to flatten are not answered; whether it is done.
        self.silent, self.flattens_silently = 0, False
        self.is_migrating = False
        self.task = {'id': 'task-1', 'progress': 0.5}
        self.asked = []

    def image_options(self, pool, name):
        return self.options

    def image(self, pool, name):
        return types.SimpleNamespace(
            parent=self.parent, is_migrating=self.is_migrating
        )

    def ask_manager(self, prefix, **arguments):
        self.asked.append((prefix, arguments))
        if prefix == 'rbd task add flatten':
            if self.silent:
                self.silent -= 1
                self.parent = None if self.flattens_silently else self.parent
                raise errors.Unreachable('no answer in time')
            return self.task
        answer = self.works.pop(0) if self.works else []
        if isinstance(answer, Exception):
            raise answer
        if not self.works and self.flattens:
            self.parent = None
        return answer

    def set_image_options(self, pool, name, options):
        self.set.append((pool, name, dict(options)))


class Overloaded(keystoneauth1.session.Session):
    """As behind a proxy that answers some requests for actions itself."""

    failures = math.inf

    def request(self, url, method, **options):
        if (
            method != 'POST'
            or not url.endswith('/action')
            or self.failures <= 0
        ):
            return super().request(url, method, **options)
        self.failures -= 1
        answer = requests.Response()
        answer.status_code = 503
        answer.raw = io.BytesIO()
        return answer


class OverloadedOnce(Overloaded):
    failures = 1


class CarryOutTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.hosts = [cls.api.add_backend(name) for name in ('fast', 'slow')]

    def setUp(self):
        super().setUp()
        self.connection = test_cinder_world.log_in(self.api)
        self.addCleanup(self.connection.close)
        storage = self.connection.block_storage
        self.types = {}
        for name in ('old', 'new'):
            made = storage.create_type(name=self.unique(name))
            self.addCleanup(storage.delete_type, made)
            self.types[name] = made
        self.known = visible_cloud.observe(self.connection)
        self.session = Session()
        self.reported = []
        self.pace = None
        self.said = []

    def unique(self, name):
        return f'{name}-{self.id().rpartition(".")[2]}'

    def add(self, **fields):
        made = self.api.add_volume(
            **{
                'host': self.hosts[1],
                'volume_type_id': self.types['old'].id,
                **fields,
            }
        )
        self.addCleanup(self.api.delete_volume, made)
        return made

    def step(self, volume, kind=repair.RepairKind.TYPE, **fields):
        """A step for a volume as it is now."""
        (found,) = (
            visible_cloud.parse_volume(one, self.known)
            for one in visible_cloud.list_volumes(
                self.connection, all_tenants='True'
            )
            if one['id'] == volume
        )
        if kind is not repair.RepairKind.LIMITS and 'migrate_to' not in fields:
            fields.setdefault('retype_to', self.types['new'].name)
        return repair.RepairStep(
            kind=kind, volume=found, tier='fast', reason='it is', **fields
        )

    def carry_out(self, *steps, is_to_stop=lambda: False, report=None):
        return carry_out.carry_out(
            steps,
            connection=self.connection,
            sessions={'ceph': self.session},
            at_once=2,
            is_to_stop=is_to_stop,
            report=report or self.reported.append,
            say=self.said.append,
            poll_s=POLL_S,
            pace=self.pace,
        )

    def outcome(self, *steps, **options):
        (result,) = self.carry_out(*steps, **options)
        return result.outcome.value, result.reason

    def as_cinder_volume(self, volume, **fields):
        """Write what cinder-volume would when it works on a volume."""

        def write():
            pause = threading.Event()
            while True:
                pause.wait(POLL_S)
                now = self.connection.block_storage.get_volume(volume)
                if now.status == 'retyping' or now.migration_status:
                    break
            pause.wait(3 * POLL_S)
            self.api.change_volume(volume, **fields)

        thread = threading.Thread(target=write)
        thread.start()
        self.addCleanup(thread.join)

    def test_a_retype_is_waited_for(self):
        volume = self.add()
        step = self.step(volume)
        self.as_cinder_volume(
            volume, status='available', volume_type_id=self.types['new'].id
        )
        self.assertEqual(('done', ''), self.outcome(step))
        self.assertEqual(1, len(self.reported))

    def test_a_migration_is_waited_for(self):
        volume = self.add()
        step = self.step(
            volume, repair.RepairKind.PLACEMENT, migrate_to=self.hosts[0]
        )
        self.as_cinder_volume(
            volume,
            status='available',
            migration_status='success',
            # The same backend, as another cinder-volume of a cluster has it.
            host='other' + self.hosts[0].removeprefix('node'),
        )
        self.assertEqual(('done', ''), self.outcome(step))

    def test_what_cinder_gives_up_has_failed(self):
        volume = self.add()
        step = self.step(volume)
        self.as_cinder_volume(volume, status='available')
        outcome, reason = self.outcome(step)
        self.assertEqual('failed', outcome)
        self.assertIn(f'its type is {self.types["old"].name}', reason)

    def test_what_the_api_answered_is_said_of_what_did_not_begin(self):
        step = self.step(self.add())
        self.connection = test_cinder_world.log_in(self.api, Overloaded)
        self.addCleanup(self.connection.close)
        outcome, reason = self.outcome(step)
        self.assertEqual('failed', outcome)
        self.assertIn('the API answered the request with 503', reason)

    def test_what_a_server_failed_to_begin_is_asked_for_again(self):
        volume = self.add()
        step = self.step(volume)
        self.connection = test_cinder_world.log_in(self.api, OverloadedOnce)
        self.addCleanup(self.connection.close)
        self.as_cinder_volume(
            volume, status='available', volume_type_id=self.types['new'].id
        )
        self.assertEqual(('done', ''), self.outcome(step))

    def test_what_cinder_refuses_has_failed_with_its_reason(self):
        volume = self.add(status='error')
        outcome, reason = self.outcome(self.step(volume))
        self.assertEqual('failed', outcome)
        self.assertIn('Retype needs volume to be in', reason)

    def test_a_volume_that_is_gone_has_failed(self):
        volume = self.api.add_volume(
            host=self.hosts[1], volume_type_id=self.types['old'].id
        )
        step = self.step(volume)
        self.api.delete_volume(volume)
        outcome, reason = self.outcome(step)
        self.assertEqual('failed', outcome)
        self.assertIn(volume, reason)

    def test_a_volume_that_has_changed_is_left_alone(self):
        volume = self.add()
        for change, said in (
            ({'status': 'in-use'}, 'status was available and is in-use'),
            ({'size': 2}, 'size gib was 1 and is 2'),
            (
                {'host': self.hosts[0], 'status': 'available'},
                f'host was {self.hosts[1]} and is {self.hosts[0]}',
            ),
        ):
            step = self.step(volume)
            self.api.change_volume(volume, **change)
            outcome, reason = self.outcome(step)
            self.assertEqual('changed', outcome)
            self.assertIn(said, reason)
            self.api.change_volume(
                volume, host=self.hosts[1], status='available', size=1
            )
        found = self.connection.block_storage.get_volume(volume)
        self.assertEqual('available', found.status)

    def test_nothing_is_done_of_what_is_refused(self):
        volume = self.add()
        step = dataclasses.replace(self.step(volume), refusal='it is so')
        self.assertEqual(('refused', 'it is so'), self.outcome(step))
        found = self.connection.block_storage.get_volume(volume)
        self.assertEqual('available', found.status)

    def test_an_end_begins_no_further_volume(self):
        steps = [
            self.step(self.add(), repair.RepairKind.LIMITS, limits=LIMITS)
            for _ in range(5)
        ]
        results = self.carry_out(
            *steps, is_to_stop=lambda: bool(self.reported)
        )
        found = [one.outcome.value for one in results]
        self.assertIn('not started', found)
        self.assertEqual(found.count('done'), len(self.session.set))
        self.assertEqual(steps, [one.step for one in results])

    def test_limits_are_set_at_the_image(self):
        volume = self.add()
        step = self.step(volume, repair.RepairKind.LIMITS, limits=LIMITS)
        self.assertEqual(('done', ''), self.outcome(step))
        self.assertEqual(
            [('pool', f'volume-{volume}', CHANGES)], self.session.set
        )

    def test_limits_that_somebody_else_set_meanwhile_stay(self):
        step = self.step(self.add(), repair.RepairKind.LIMITS, limits=LIMITS)
        self.session.options = {'rbd_qos_iops_limit': '5'}
        outcome, reason = self.outcome(step)
        self.assertEqual('changed', outcome)
        self.assertIn('the limits of its image changed', reason)
        self.assertEqual([], self.session.set)

    def test_a_migration_that_began_meanwhile_is_left_alone(self):
        volume = self.add()
        step = self.step(volume, repair.RepairKind.LIMITS, limits=LIMITS)
        self.api.change_volume(volume, migration_status='migrating')
        outcome, reason = self.outcome(step)
        self.assertEqual('changed', outcome)
        self.assertIn('is migrating was False and is True', reason)

    def test_who_ends_at_once_does_not_wait_for_cinder(self):
        """As by a second Ctrl-C; Cinder never ends these."""
        steps = [self.step(self.add()) for _ in range(2)]
        refused = dataclasses.replace(steps[0], refusal='it is so')

        def interrupt(result):
            raise KeyboardInterrupt

        self.assertRaises(
            KeyboardInterrupt,
            self.carry_out,
            refused,
            *steps,
            report=interrupt,
        )

    def flatten(self):
        volume = self.add()
        outcome = self.outcome(
            self.step(
                volume,
                repair.RepairKind.RESIDENCY,
                migrate_to=None,
                flattens=PLACE,
            )
        )
        return f'pool/volume-{volume}', *outcome

    def test_a_flatten_of_the_manager_is_waited_for(self):
        # A manager that fails over does not end it.
        self.session.works = [
            [self.session.task, {'id': 'task-2'}],
            errors.Unreachable('no manager'),
            [self.session.task],
            [{'id': 'task-2'}],
        ]
        spec, outcome, reason = self.flatten()
        self.assertEqual(('done', ''), (outcome, reason))
        self.assertEqual(
            ('rbd task add flatten', {'image_spec': spec}),
            self.session.asked[0],
        )
        self.assertEqual([], self.session.works)

    def test_a_manager_that_does_not_answer_is_asked_again(self):
        for flattens, asked in ((False, 3), (True, 1)):
            self.session.parent = 'images/golden@snap'
            self.session.silent = 2
            self.session.flattens_silently = flattens
            del self.session.asked[:]
            spec, *outcome = self.flatten()
            self.assertEqual(['done', ''], outcome)
            self.assertEqual(
                [('rbd task add flatten', {'image_spec': spec})] * asked,
                self.session.asked[:asked],
            )

    def test_a_flatten_that_the_manager_gave_up_has_failed(self):
        self.session.flattens = False
        spec, outcome, reason = self.flatten()
        self.assertEqual('failed', outcome)
        self.assertIn(f'Ceph gave up to flatten {spec}', reason)

    def test_an_image_that_moves_is_not_flattened(self):
        self.session.is_migrating = True
        spec, outcome, reason = self.flatten()
        self.assertEqual('failed', outcome)
        self.assertIn(f'{spec} still comes from another pool', reason)
        self.assertEqual([], self.session.asked)

    def test_an_image_that_was_flattened_meanwhile_is_left_alone(self):
        self.session.parent = None
        _spec, outcome, _reason = self.flatten()
        self.assertEqual('changed', outcome)
        self.assertEqual([], self.session.asked)

    def test_what_moves_no_data_does_not_wait_for_a_budget(self):
        self.pace = pace.Pace(bytes_per_second=2.0**30, poll_s=POLL_S)
        moves = [
            self.step(self.add(), repair.RepairKind.IMAGE) for _ in range(2)
        ]
        for one in moves:
            self.as_cinder_volume(
                one.volume.volume_id,
                status='available',
                volume_type_id=self.types['new'].id,
            )
        limits = self.step(self.add(), repair.RepairKind.LIMITS, limits=LIMITS)
        results = self.carry_out(*moves, limits)
        self.assertEqual([*moves, limits], [one.step for one in results])
        self.assertEqual(['done'] * 3, [one.outcome.value for one in results])
        self.assertEqual(self.hosts[1], results[0].host)
        self.assertIs(limits, self.reported[0].step)
        self.assertIn('--max-bytes-per-second', self.said[0])

    def test_a_trouble_that_stays_begins_no_step(self):
        self.pace = pace.Pace(
            trouble=lambda: 'tier fast is slow',
            most_pause_s=POLL_S,
            poll_s=POLL_S,
        )
        steps = [
            self.step(self.add(), repair.RepairKind.LIMITS, limits=LIMITS)
            for _ in range(3)
        ]
        for one in self.carry_out(*steps):
            self.assertEqual('not started', one.outcome.value)
            self.assertIn('tier fast is slow', one.reason)
        self.assertEqual([], self.session.set)
