# SPDX-License-Identifier: Apache-2.0

"""In which zones the tiers have backends, by a real cinder-scheduler.

What asks is the code of cinder-api and cinder-scheduler; what answers is
Cinder's SchedulerManager, over oslo.messaging's fake driver and with a single
thread that serves all messages.
"""

import dataclasses
import datetime
import threading

from cinder.common import constants
from cinder import objects
from cinder import rpc
import ddt
import fixtures
import oslo_messaging as messaging
import testtools

from cinder_tiers.doors.volume_types import applied
from cinder_tiers.doors.volume_types import backend_zones
from tests.worlds import cinder_fixture


class ZonesTestCase(testtools.TestCase):
    """Tier database in zone nova, archive in az2, general in both."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )
        self.cinder = self.useFixture(cinder_fixture.Scheduler())
        self.now = 1000.0
        self.zones = backend_zones.BackendZones(clock=lambda: self.now)
        self.user = self.cinder.user()
        for name in ('database', 'general', 'archive'):
            self.add_tier(name)
        self.cinder.add_backend('database')
        self.cinder.add_backend('general')

    def add_tier(self, name, **specs):
        return self.cinder.add_type(
            name, **{'volume_backend_name': name, 'tiers_name': name, **specs}
        )

    def add_backend(self, name, zone, **capabilities):
        self.cinder.add_backend(name, **capabilities)
        self.change(name, availability_zone=zone)

    def change(self, name, **values):
        """Change the service of a backend."""
        service = objects.Service.get_by_args(
            self.cinder.admin, f'node@{name}', 'cinder-volume'
        )
        service.update(values)
        service.save()

    def add_second_zone(self):
        self.add_backend('general-2', 'az2', volume_backend_name='general')
        self.add_backend('archive', 'az2')

    def serve(self, *endpoints):
        """Let cinder-scheduler answer, and what else is to be served."""
        server = cinder_fixture.serve_messages(
            constants.SCHEDULER_TOPIC,
            'scheduler',
            self.cinder.manager,
            *endpoints,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.stop)

    def of(self, state=None):
        return self.zones.of(
            state or applied.read_applied(self.cinder.admin), self.user
        )

    def look(self, state=None):
        """What is known once the thread has nothing more to do."""
        state = state or applied.read_applied(self.cinder.admin)
        self.of(state)
        self.assertTrue(self.zones.wait(60))
        return dict(self.of(state))

    def pass_time(self, seconds):
        self.now += seconds


BOTH = frozenset({'nova', 'az2'})
AS_ADDED = {
    'database': frozenset({'nova'}),
    'general': BOTH,
    'archive': frozenset({'az2'}),
}


class AnswerTestCase(ZonesTestCase):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_in_one_zone_nothing_is_asked(self):
        self.assertEqual({}, self.look())
        self.assertEqual('', self.log.output)

    def test_in_two_zones(self):
        self.add_second_zone()
        self.assertEqual(AS_ADDED, self.look())

    def test_a_request_does_not_wait_for_it(self):
        self.add_second_zone()
        state = applied.read_applied(self.cinder.admin)
        self.assertEqual({}, self.of(state))

    def test_but_those_before_the_first_answer_may(self):
        self.add_second_zone()
        state = applied.read_applied(self.cinder.admin)
        waiting = backend_zones.BackendZones(first_wait_s=60.0)
        self.assertEqual(AS_ADDED, waiting.of(state, self.user))

    def test_so_does_the_first_one_after_a_quiet_time(self):
        """The answer before it may be hours old."""
        self.assertEqual({}, self.look())
        self.add_second_zone()
        state = applied.read_applied(self.cinder.admin)
        self.pass_time(3600)
        self.assertEqual(AS_ADDED, self.of(state))

    def test_it_is_the_same_object_while_nothing_changes(self):
        self.add_second_zone()
        self.look()
        first = self.of()
        self.pass_time(60)
        self.look()
        self.assertIs(first, self.of())

    def test_an_overflow_counts(self):
        self.add_second_zone()
        self.add_tier(
            'small', volume_backend_name='<or> database <or> archive'
        )
        self.assertEqual(BOTH, self.look()['small'])

    def test_every_capability_counts(self):
        self.add_backend('fast', 'az2', volume_backend_name='same', ssd=True)
        self.add_backend('slow', 'nova', volume_backend_name='same', ssd=0)
        for name, ssd in (('fast', '<is> True'), ('slow', '<is> False')):
            self.add_tier(name, volume_backend_name='same', ssd=ssd)
        looked = self.look()
        self.assertEqual(
            (frozenset({'az2'}), frozenset({'nova'})),
            (looked['fast'], looked['slow']),
        )

    def test_specs_that_cinder_cannot_match(self):
        self.add_second_zone()
        self.add_tier('odd', volume_backend_name='archive', ssd='<or>')
        self.assertEqual(AS_ADDED, self.look())

    def test_a_tier_without_any_backend_is_not_known(self):
        self.add_second_zone()
        self.add_tier('later')
        self.assertEqual(AS_ADDED, self.look())

    def test_a_backend_that_goes_down_stays_for_ten_minutes(self):
        self.add_second_zone()
        self.look()
        self.change('archive', disabled=True)
        for _ in range(9):
            self.pass_time(60)
            self.assertEqual(AS_ADDED, self.look())
        self.pass_time(60)
        self.assertEqual({'database', 'general'}, set(self.look()))

    def test_a_backend_that_moves_to_another_zone(self):
        self.add_second_zone()
        self.look()
        self.change('archive', availability_zone='nova')
        self.pass_time(59)
        self.assertEqual(AS_ADDED, self.look())
        self.pass_time(1)
        self.assertEqual(frozenset({'nova'}), self.look()['archive'])

    def test_a_service_that_is_removed_counts_no_more(self):
        self.add_second_zone()
        self.look()
        objects.Service.get_by_args(
            self.cinder.admin, 'node@archive', 'cinder-volume'
        ).destroy()
        self.pass_time(60)
        self.assertNotIn('archive', self.look())

    def test_the_second_zone_goes(self):
        self.add_second_zone()
        self.look()
        for name in ('general-2', 'archive'):
            self.change(name, availability_zone='nova')
        self.pass_time(60)
        self.assertEqual({}, self.look())

    def test_a_cluster_counts_in_each_of_its_zones(self):
        self.add_second_zone()
        for host, zone in (('one', 'nova'), ('two', 'az2')):
            objects.Service(
                context=self.cinder.admin,
                host=f'{host}@archive',
                topic='cinder-volume',
                binary='cinder-volume',
                availability_zone=zone,
                report_count=1,
                disabled=False,
                cluster_name='all@archive',
            ).create()
        self.cinder.manager.update_service_capabilities(
            self.cinder.admin,
            service_name='volume',
            host='one@archive',
            cluster_name='all@archive',
            capabilities={
                'volume_backend_name': 'clustered',
                'pool_name': 'any',
            },
            timestamp=datetime.datetime.now(datetime.UTC).strftime(
                '%Y-%m-%dT%H:%M:%S.%f'
            ),
        )
        self.add_tier('clustered')
        self.assertEqual(BOTH, self.look()['clustered'])


class ChangedTiersTestCase(ZonesTestCase):
    """The tiers are read anew every few seconds."""

    def setUp(self):
        super().setUp()
        self.serve()
        self.add_second_zone()
        self.state = applied.read_applied(self.cinder.admin)
        self.look(self.state)

    def test_those_that_are_the_same_are_known_at_once(self):
        changed = applied.read_applied(self.cinder.admin)
        self.assertIsNot(self.state, changed)
        self.assertEqual(AS_ADDED, self.of(changed))

    def test_another_tier_is_known_soon_without_a_new_look(self):
        self.add_tier('cold', volume_backend_name='archive')
        changed = applied.read_applied(self.cinder.admin)
        self.assertEqual(AS_ADDED, self.of(changed))
        self.assertEqual(
            {**AS_ADDED, 'cold': frozenset({'az2'})}, self.look(changed)
        )

    def test_a_tier_that_was_changed_is_not_taken_for_the_old_one(self):
        tiers = dict(self.state.types)
        tiers['database'] = dataclasses.replace(
            tiers['database'], extra_specs=tiers['archive'].extra_specs
        )
        changed = dataclasses.replace(self.state, types=tiers)
        self.assertNotIn('database', self.of(changed))
        self.assertEqual(frozenset({'az2'}), self.look(changed)['database'])

    def test_a_tier_that_is_gone_is_left_out(self):
        tiers = dict(self.state.types)
        del tiers['archive']
        changed = dataclasses.replace(self.state, types=tiers)
        self.assertEqual({'database', 'general'}, set(self.of(changed)))


class FaultsTestCase(ZonesTestCase):
    def setUp(self):
        super().setUp()
        # As long as nobody serves.
        self.cinder.conf.config(rpc_response_timeout=1)
        self.add_second_zone()

    def serve(self, *endpoints):
        self.cinder.conf.config(rpc_response_timeout=60)
        super().serve(*endpoints)

    def warnings(self):
        return [
            line
            for line in self.log.output.splitlines()
            if line.startswith('WARNING The availability zones')
        ]

    def test_a_scheduler_that_does_not_answer(self):
        for _ in range(2):
            self.assertEqual({}, self.look())
            self.pass_time(60)
        (line,) = self.warnings()
        self.assertIn('MessagingTimeout', line)
        self.assertIn(self.user.request_id, line)

    def test_it_answers_later(self):
        self.look()
        self.serve()
        self.assertEqual({}, self.look())
        self.pass_time(60)
        self.assertEqual(AS_ADDED, self.look())

    def test_the_last_answer_serves_for_ten_minutes(self):
        self.serve()
        self.look()
        self.execute('ALTER TABLE services RENAME TO gone')
        for _ in range(9):
            self.pass_time(60)
            self.assertEqual(AS_ADDED, self.look())
        self.pass_time(60)
        self.assertEqual({}, self.look())
        self.assertEqual(1, len(self.warnings()))
        self.execute('ALTER TABLE gone RENAME TO services')
        self.pass_time(60)
        self.assertEqual(AS_ADDED, self.look())

    def execute(self, statement):
        with self.cinder.engine.begin() as connection:
            connection.exec_driver_sql(statement)

    def test_a_scheduler_that_has_just_started(self):
        """It does not know yet what the backends that are up can do."""
        self.serve()
        states = self.cinder.manager.driver.host_manager.service_states
        known = dict(states)
        del states['node@archive']
        self.assertEqual({}, self.look())
        states.update(known)
        self.pass_time(60)
        self.assertEqual(AS_ADDED, self.look())

    def test_while_it_hangs_no_threads_pile_up(self):
        state = applied.read_applied(self.cinder.admin)
        before = set(threading.enumerate())
        for _ in range(100):
            self.assertEqual({}, self.of(state))
            self.pass_time(60)
        self.assertLessEqual(
            [
                thread.name
                for thread in set(threading.enumerate()) - before
                if thread.name.startswith('cinder-tiers')
            ],
            ['cinder-tiers-zones'],
        )

    def test_in_the_only_thread_that_serves_the_scheduler(self):
        """It asks itself, and does not wait for its own answer."""
        state = applied.read_applied(self.cinder.admin)
        self.serve(Placing(self.zones, state))
        scheduler = rpc.get_client(
            messaging.Target(topic=constants.SCHEDULER_TOPIC)
        )
        for expected in ([], sorted(AS_ADDED)):
            self.assertEqual(expected, scheduler.call(self.user, 'place'))
            self.assertTrue(self.zones.wait(60))
        self.assertEqual([], self.warnings())


class Placing:
    """What a filter does, as far as zones go."""

    def __init__(self, zones, state):
        self._zones = zones
        self._state = state

    def place(self, context):
        return sorted(self._zones.of(self._state, context))


@ddt.ddt
class RequestedTestCase(ZonesTestCase):
    """As ExtractVolumeRequestTask of cinder-api."""

    def setUp(self):
        super().setUp()
        self.serve()
        self.add_second_zone()
        self.look()

    @ddt.data(
        ({}, None, (None, 'nova')),
        ({}, 'az2', ('az2', 'nova')),
        ({}, 'az9', (None, 'nova')),
        ({}, ['az2'], (None, 'nova')),
        ({'default_availability_zone': 'az2'}, None, (None, 'az2')),
        ({'default_availability_zone': 'az2'}, 'nova', ('nova', 'az2')),
        ({'storage_availability_zone': 'az9'}, 'az9', ('az9', 'az9')),
        ({'allow_availability_zone_fallback': True}, 'az9', ('nova', 'nova')),
        (
            {
                'allow_availability_zone_fallback': True,
                'default_availability_zone': 'az2',
            },
            'az9',
            ('az2', 'az2'),
        ),
        ({'allow_availability_zone_fallback': True}, 'az2', ('az2', 'nova')),
    )
    @ddt.unpack
    def test_the_zone(self, options, named, expected):
        self.cinder.conf.config(**options)
        self.assertEqual(expected, self.zones.requested(named))

    def test_a_zone_that_does_not_exist_is_not_logged(self):
        self.zones.requested('\x1b[31mhostile')
        self.assertNotIn('hostile', self.log.output)

    def test_before_the_zones_are_known(self):
        self.assertEqual(
            ('az9', 'nova'), backend_zones.BackendZones().requested('az9')
        )
