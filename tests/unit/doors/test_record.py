# SPDX-License-Identifier: Apache-2.0


"""The record of a decision: what is logged, what is sent, what never is."""

import dataclasses
import json
import logging
import queue
import socket
import threading
import time

from cinder import context as cinder_context
from cinder import rpc
import fixtures
import hypothesis
from hypothesis import strategies as st
import oslo_messaging
import testtools

from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors import record
from tests.unit.doors import cinder_fixture

PROJECT = cinder_fixture.PROJECT
TIERS = (
    decision.AppliedTier(
        name='database',
        tags=frozenset({'database'}),
        priority=20,
        overflow='general',
    ),
    decision.AppliedTier(name='general', fallback=True),
)


def decide(*tags, tiers=TIERS, **request):
    image = (
        decision.Image(
            owner=PROJECT, visibility='private', tags=frozenset(tags)
        )
        if tags
        else None
    )
    return placement.decide(
        tiers=tiers,
        request=decision.Request(project=PROJECT, image=image, **request),
    )


def undecided(rule):
    return decision.PlacementDecision(
        verdict=decision.RequestVerdict.UNDECIDED,
        reasons=(decision.Reason(rule=rule),),
    )


def not_ours(rule):
    return decision.PlacementDecision(
        verdict=decision.RequestVerdict.NOT_OURS,
        reasons=(decision.Reason(rule=rule),),
    )


def record_of(decided, **values):
    """What a door keeps of a decision."""
    return record.DecisionRecord(
        **{
            'door': 'scheduler',
            'decision': decided,
            'project': PROJECT,
            'volume_id': 'volume',
            'image_id': 'image',
            'volume_type_id': 'type',
            'error': None,
            'seconds': 0.0123456789,
            'context': cinder_context.RequestContext(
                user_id='user',
                project_id='project of the user',
                request_id='req-1',
                auth_token='token-of-user',
                is_admin=False,
            ),
            **values,
        }
    )


class LineTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )

    def keep(self, kept, **how):
        recorder = record.Recorder()
        recorder.keep(kept, **{'notify': False, **how})
        self.assertTrue(recorder.wait(60))
        return self.log.output.splitlines()

    def test_a_decision_is_one_line_of_json(self):
        (line,) = self.keep(record_of(decide('database', 'other')))
        level, words, text = line.split(' ', 2)
        self.assertEqual(('INFO', 'tiers.decision'), (level, words))
        self.assertEqual(
            {
                'version': '3.0',
                'door': 'scheduler',
                'verdict': 'tier',
                'tier': 'database',
                'overflow': 'general',
                'volume_type_id': 'type',
                'request_id': 'req-1',
                'project_id': PROJECT,
                'user_id': 'user',
                'volume_id': 'volume',
                'image_id': 'image',
                'image_age_seconds': None,
                'zone': None,
                'reasons': [
                    {'rule': 'tag', 'tier': 'database', 'found': 'database'},
                    {
                        'rule': 'overflow',
                        'tier': 'database',
                        'found': 'general',
                    },
                ],
                'error': None,
                'client_error': False,
                'seconds': 0.012346,
            },
            json.loads(text),
        )

    def test_a_tier_that_could_not_be_told_is_an_error(self):
        (line,) = self.keep(record_of(decide(), error='Glance answered 404'))
        level, _, text = line.split(' ', 2)
        self.assertEqual('ERROR', level)
        self.assertEqual('Glance answered 404', json.loads(text)['error'])

    def test_an_error_that_the_client_caused_is_none_of_the_operator(self):
        recorder = record.Recorder()
        for _ in range(50):
            recorder.keep(
                record_of(
                    undecided(decision.Rule.ERROR),
                    error='Glance answered 404',
                    is_clients_doing=True,
                ),
                notify=False,
            )
        self.assertTrue(recorder.wait(60))
        lines = self.log.output.splitlines()
        self.assertEqual(50, len(lines))
        for line in lines:
            level, _, text = line.split(' ', 2)
            self.assertEqual('INFO', level)
            self.assertEqual(
                ('Glance answered 404', True),
                (json.loads(text)['error'], json.loads(text)['client_error']),
            )

    def test_a_client_that_causes_errors_does_not_wait_for_the_log(self):
        held = threading.Event()
        self.addCleanup(held.set)
        (handler,) = logging.getLogger().handlers
        handler.addFilter(lambda line: held.wait(60))
        recorder = record.Recorder()
        requests = threading.Thread(
            target=lambda: [
                recorder.keep(
                    record_of(
                        decide(),
                        error='Glance answered 404',
                        is_clients_doing=True,
                    ),
                    notify=False,
                )
                for _ in range(50)
            ]
        )
        requests.start()
        requests.join(60)
        self.assertFalse(requests.is_alive())
        self.assertEqual('', self.log.output)
        held.set()
        self.assertTrue(recorder.wait(60))
        self.assertEqual(50, len(self.log.output.splitlines()))

    def test_the_age_of_an_old_answer_is_told(self):
        (line,) = self.keep(record_of(decide(), image_age_s=61.23456))
        self.assertEqual(
            61.235, json.loads(line.split(' ', 2)[2])['image_age_seconds']
        )

    def test_a_bug_is_logged_with_its_way(self):
        try:
            raise KeyError('any')
        except KeyError as error:
            bug = error
        lines = self.keep(record_of(decide(), error='KeyError'), bug=bug)
        self.assertEqual(
            1, len([line for line in lines if 'tiers.decision' in line])
        )
        self.assertIn('Traceback (most recent call last):', lines)

    def test_where_there_was_nothing_to_decide_nothing_is_kept(self):
        for rule in (
            decision.Rule.FIXED,
            decision.Rule.EXPLICIT_TYPE,
            decision.Rule.NO_TIERS,
        ):
            self.assertEqual([], self.keep(record_of(not_ours(rule))), rule)

    def test_what_the_image_or_the_project_decided_is_kept(self):
        for number, rule in enumerate(
            (decision.Rule.IMAGE_TYPE, decision.Rule.PROJECT_TYPE), 1
        ):
            lines = self.keep(record_of(not_ours(rule)))
            self.assertEqual(number, len(lines))

    def test_what_no_tier_was_chosen_for_is_kept_whatever_the_rule(self):
        for number, rule in enumerate(decision.Rule, 1):
            lines = self.keep(record_of(undecided(rule)))
            self.assertEqual(number, len(lines))
            level, _, text = lines[-1].split(' ', 2)
            self.assertEqual(
                (
                    'ERROR' if rule is decision.Rule.ERROR else 'INFO',
                    'undecided',
                ),
                (level, json.loads(text)['verdict']),
            )

    def test_a_zone_is_named_as_the_tier_knows_it(self):
        for zones in (
            {'type_zones': frozenset({'az1'})},
            {'backend_zones': frozenset({'az1', 'az2'})},
        ):
            decided = decide(tiers=[dataclasses.replace(TIERS[1], **zones)])
            self.assertEqual(
                'az1', record_of(decided, zone='az1').payload['zone']
            )
            self.assertIsNone(
                record_of(decided, zone='text of a tenant').payload['zone']
            )

    def test_a_zone_that_no_tier_knows_is_not_repeated(self):
        for decided in (decide(), undecided(decision.Rule.NO_FALLBACK)):
            self.assertIsNone(
                record_of(decided, zone='text of a tenant').payload['zone']
            )

    def test_no_token_is_in_it(self):
        self.assertNotIn('token-of-user', self.keep(record_of(decide()))[0])

    @hypothesis.given(st.sets(st.text(max_size=8), min_size=1, max_size=4))
    def test_no_text_of_an_image_is_in_it(self, texts):
        tags = {f'evil{text}' for text in texts} | {'Database', 'a\r\nERROR'}
        kept = record_of(decide(*tags))
        text = json.dumps(kept.payload)
        self.assertNotIn('evil', text.lower())
        self.assertNotIn('\n', text)
        self.assertEqual(json.loads(text), kept.payload)

    def test_without_a_message_bus_only_the_line_is_kept(self):
        self.assertFalse(rpc.initialized())
        self.assertEqual(1, len(self.keep(record_of(decide()), notify=True)))


class CinderTestCase(testtools.TestCase):
    """A cinder-scheduler with notifications and the fall-back tier."""

    def start(self, **notifications):
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )
        self.cinder = self.useFixture(
            cinder_fixture.Scheduler(**notifications)
        )
        self.glance = self.cinder.glance
        self.general = self.cinder.add_backend('general')
        self.cinder.add_type(
            'general',
            tiers_name='general',
            tiers_fallback='<is> True',
            volume_backend_name='general',
        )
        self.follow = self.cinder.add_type(
            'image-tier', tiers_follow_image='<is> True'
        )

    def create(self, *tags, **properties):
        """Create a volume from an image."""
        volume = self.cinder.create_volume(
            volume_type=self.follow,
            image_id=self.glance.add_image(*tags, **properties),
        )
        self.assertEqual(self.general, volume.host)
        return volume

    def logged(self, recorder=None):
        """All records in the log."""
        self.assertTrue((recorder or door.of_process('scheduler')).wait(60))
        return [
            json.loads(line.partition(' tiers.decision ')[2])
            for line in self.log.output.splitlines()
            if line.startswith('INFO tiers.decision ')
        ]


class NotificationTestCase(CinderTestCase):
    def setUp(self):
        super().setUp()
        self.start(driver='messagingv2')
        self.arrived = queue.Queue()
        listener = oslo_messaging.get_notification_listener(
            rpc.NOTIFICATION_TRANSPORT,
            [oslo_messaging.Target(topic='notifications')],
            [self],
            executor='threading',
        )
        listener.start()
        self.addCleanup(listener.stop)

    def info(self, *notification):
        """Where oslo.messaging delivers what arrives."""
        self.arrived.put(notification)

    def test_what_is_logged_is_sent(self):
        volume = self.create()
        context, publisher, event, payload, _ = self.arrived.get(timeout=30)
        self.assertEqual(
            ('cinder-tiers.scheduler', 'tiers.decision'), (publisher, event)
        )
        self.assertEqual(self.logged(), [payload])
        self.assertEqual(
            ('3.0', volume.id), (payload['version'], payload['volume_id'])
        )
        self.assertEqual(
            ('user', PROJECT, payload['request_id']),
            (context['user_id'], context['project_id'], context['request_id']),
        )

    def test_it_holds_no_token_and_no_text_of_the_image(self):
        self.create(
            'evil',
            'evil\r\nERROR',
            name='evil',
            evil='evil',
            cinder_img_volume_type='evil\r\nERROR',
        )
        text = repr(self.arrived.get(timeout=30))
        for secret in ('token-of-user', 'evil'):
            self.assertNotIn(secret, text)
            self.assertNotIn(secret, self.log.output)

    def test_each_decision_is_sent_in_order_unless_notify_is_off(self):
        self.create()
        self.cinder.conf.config(group='cinder_tiers', notify=False)
        self.create()
        self.cinder.conf.config(group='cinder_tiers', notify=True)
        self.create()
        first, _, third = self.logged()
        self.assertEqual(
            [first, third], [self.arrived.get(timeout=30)[3] for _ in range(2)]
        )
        self.assertTrue(self.arrived.empty())


class HangingBusTestCase(CinderTestCase):
    """A message bus that lets everybody connect and then says nothing."""

    def setUp(self):
        super().setUp()
        self.bus = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(self.bus.close)
        port = self.bus.getsockname()[1]
        self.start(
            driver='messagingv2',
            retry=0,
            transport_url=f'rabbit://any:any@127.0.0.1:{port}/',
        )

    def wait_for_connection(self):
        """A notification is under way from now on."""
        self.bus.settimeout(30)
        self.connection, _ = self.bus.accept()
        self.addCleanup(self.connection.close)

    def hang_up(self, notifications):
        """End it, and wait until so many have failed."""
        self.bus.close()
        self.connection.close()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            failed = self.log.output.count('Could not send notification')
            if failed == notifications:
                return
            time.sleep(0.02)
        self.fail(f'{failed} of {notifications} have failed')

    def test_no_create_waits_for_it_and_none_fails(self):
        started = time.monotonic()
        for _ in range(5):
            self.create()
        self.wait_for_connection()
        self.create()
        self.assertThat(
            time.monotonic() - started, testtools.matchers.LessThan(20)
        )
        self.assertEqual(6, len(self.logged()))
        self.hang_up(6)

    def test_what_it_cannot_take_is_dropped_and_the_log_is_complete(self):
        recorder = record.Recorder(queue_size=2)
        recorder.keep(record_of(decide()), notify=True)
        self.wait_for_connection()
        for _ in range(10):
            recorder.keep(record_of(decide()), notify=True)
        self.assertEqual(11, len(self.logged(recorder)))
        self.assertEqual(
            ['1', '2', '4', '8'],
            [
                line.split('keep up: ')[1].split()[0]
                for line in self.log.output.splitlines()
                if line.startswith('WARNING The message bus')
            ],
        )
        self.hang_up(3)
