# SPDX-License-Identifier: Apache-2.0

"""Threads that read guests, and the collector with a Nova over HTTP."""

import json
import pathlib
import subprocess
import sys
import threading
import time
import types

from cinderclient.v3 import volumes
from keystoneauth1 import identity
from keystoneauth1 import session as keystone_session
from novaclient import api_versions
from novaclient import client as nova_client
from novaclient.v2 import servers as nova_servers
import requests
import testtools

from rally_scenarios.guest import orders
from rally_scenarios.plugins.environment import openstack as environment
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import collector
from rally_scenarios.plugins.transport import console
from rally_scenarios.plugins.transport import readers
from tests.unit.guest import console_text

TOP = pathlib.Path(__file__).resolve().parents[3]
SECONDS = 60


class PaceTest(testtools.TestCase):
    def test_so_many_a_second_and_no_debt_is_kept(self):
        now, turns = [100.0], []

        def sleep(seconds):
            now[0] += seconds

        pace = readers.RequestPace(4, clock=lambda: now[0], sleep=sleep)
        for pause in (0, 0, 0, 10, 0):
            now[0] += pause
            pace.wait()
            turns.append(now[0] - 100)
        self.assertEqual([0, 0.25, 0.5, 10.5, 10.75], turns)


class ReadersTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.names = [orders.guest_name(number) for number in range(12)]
        self.now = 1000.0
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)

    def made(self, **options):
        made = readers.Readers(
            self.names, slow_seconds=2, clock=lambda: self.now, **options
        )
        self.addCleanup(made.close)
        return made

    def hang(self):
        self.go_on.wait(SECONDS)
        return 'late'

    def all_finished(self, made, count):
        found = []
        deadline = time.monotonic() + SECONDS
        while len(found) < count:
            self.assertLess(time.monotonic(), deadline)
            found += made.finished(0.5)
        return [(name, future.result()) for name, future in found]

    def test_a_guest_is_read_by_one_thread_and_not_more_than_asked_for(self):
        made = self.made(readers=2)
        self.assertTrue(made.start('g000', self.hang))
        self.assertFalse(made.start('g000', self.hang))
        self.assertTrue(made.start('g001', self.hang))
        self.assertFalse(made.start('g002', self.hang))
        self.go_on.set()
        self.assertEqual(
            {('g000', 'late'), ('g001', 'late')},
            set(self.all_finished(made, 2)),
        )
        self.assertTrue(made.start('g002', str))

    def hang_all(self, made, names):
        """Each becomes slow before the next one is started."""
        for name in names:
            self.assertTrue(made.start(name, self.hang))
            self.now += 3

    def test_those_that_hang_leave_their_places_to_others(self):
        """Eight of them with one reader."""
        made = self.made(readers=1)
        self.hang_all(made, self.names[:8])
        self.assertTrue(made.start('g008', str))
        self.assertEqual([('g008', '')], self.all_finished(made, 1))

    def test_not_before_they_are_slow(self):
        made = self.made(readers=1)
        made.start('g000', self.hang)
        self.now += 2
        self.assertFalse(made.start('g001', str))
        self.now += 0.1
        self.assertTrue(made.start('g001', str))

    def test_there_is_an_end_to_those_who_are_waited_for(self):
        made = self.made(readers=1)
        self.hang_all(made, self.names[:9])
        self.assertFalse(made.start('g009', str))

    def test_who_was_slow_is_not_tried_again_while_many_are(self):
        made = self.made(readers=1)
        self.hang_all(made, ('g000',))
        self.go_on.set()
        self.all_finished(made, 1)
        self.go_on.clear()
        self.hang_all(made, ('g001', 'g002'))
        self.assertFalse(made.start('g000', str))
        self.assertTrue(made.start('g003', str))
        self.go_on.set()
        self.all_finished(made, 3)
        self.assertTrue(made.start('g000', str))
        # It is quick again: the one place of those is taken.
        self.all_finished(made, 1)
        self.go_on.clear()
        made.start('g000', self.hang)
        self.assertFalse(made.start('g004', str))

    def test_what_is_done_comes_in_the_order_of_guests(self):
        made = self.made(readers=12)
        most, deadline = 0, time.monotonic() + SECONDS
        # All may be done at once, or one after another.
        while most < 2:
            self.assertLess(time.monotonic(), deadline)
            self.go_on.clear()
            for name in reversed(self.names):
                self.assertTrue(made.start(name, self.hang))
            self.go_on.set()
            time.sleep(0.1)
            left = len(self.names)
            while left:
                names = [name for name, _future in made.finished(SECONDS)]
                self.assertEqual(sorted(names), names)
                left -= len(names)
                most = max(most, len(names))

    def test_closing_waits_for_nobody(self):
        made = self.made(readers=1)
        made.start('g000', self.hang)
        began = time.monotonic()
        made.close()
        self.assertLess(time.monotonic() - began, SECONDS / 2)


class Words(console.Transport):
    """Guests whose words are known; some of them never answer.

    :ivar at_once: the most that were read at the same time
    """

    can_ask_again = False

    def __init__(self, text, silent=(), go_on=None):
        self.text, self.silent, self.go_on = text, set(silent), go_on
        self.at_once, self._now = 0, 0
        self._lock = threading.Lock()

    def read(self, guest):
        with self._lock:
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        try:
            if guest.name in self.silent:
                self.go_on.wait(SECONDS)
                raise console.TransportError('no answer')
            time.sleep(0.01)
            return self.text[guest.name]
        finally:
            with self._lock:
                self._now -= 1

    def ask_again(self, guest, missing):
        return ''

    def evidence(self, guest):
        return self.read(guest)

    def close(self):
        pass


class Quiet:
    """A Nova whose servers are active."""

    @property
    def servers(self):
        return self

    status = 'ACTIVE'

    def get(self, server_id):
        return self


class ParallelCollectorTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)
        self.guests = [
            servers.Guest(
                name=orders.guest_name(number),
                tier='one',
                server_id=f'server-{number}',
            )
            for number in range(40)
        ]
        self.text = {
            guest.name: ''.join(
                console_text.whole_run(
                    [(0, 0, guest.name.encode())], guest=guest.name
                )
            )
            for guest in self.guests
        }

    def collected(self, transport, timeout_seconds=SECONDS, **options):
        found = collector.ResultCollector(
            nova=Quiet(),
            run=console_text.RUN,
            guests=self.guests,
            pause_seconds=0.05,
            transport=transport,
            pace=readers.RequestPace(10000),
            **options,
        )
        self.addCleanup(found.close)
        found.collect(timeout_seconds)
        return found

    def test_all_are_heard_by_a_bounded_number_of_threads(self):
        transport = Words(self.text)
        found = self.collected(transport, readers=4)
        self.assertEqual(
            [guest.name.encode() for guest in self.guests],
            [found.console(guest).result(0) for guest in self.guests],
        )
        self.assertIn(transport.at_once, range(2, 5))
        self.assertEqual(
            [guest.name for guest in self.guests], list(found.first_seen)
        )

    def test_those_that_hang_do_not_keep_the_others_from_being_heard(self):
        silent = [guest.name for guest in self.guests[:3]]
        transport = Words(self.text, silent, self.go_on)
        began = time.monotonic()
        found = self.collected(
            transport, timeout_seconds=10, readers=4, last_words_seconds=1
        )
        self.assertLess(time.monotonic() - began, SECONDS / 2)
        self.assertEqual(
            [guest.name not in silent for guest in self.guests],
            [
                found.console(guest).event('DONE') is not None
                for guest in self.guests
            ],
        )
        self.assertIn(
            'server server-0: no answer within 1 s',
            found.evidence(self.guests[0]),
        )


class Page:
    """Answers each request of a client with a page that is no JSON.

    Clients of OpenStack take None for its content then.
    """

    api_version = api_versions.APIVersion('2.48')

    def __init__(self):
        self.client = self

    def request(self, *_args, **_kwargs):
        return requests.Response(), None

    get = post = request


class PageOfAProxyTest(testtools.TestCase):
    def test_a_console_that_is_a_page_is_read_again_later(self):
        nova = types.SimpleNamespace(
            servers=nova_servers.ServerManager(Page())
        )
        transport = console.ConsoleTransport(
            nova, pace=readers.RequestPace(10000)
        )
        guest = servers.Guest(
            name='g000', tier='t', server_id='server-0', host=''
        )
        error = self.assertRaises(
            console.TransportError, transport.read, guest
        )
        self.assertIn('maybe of a proxy', str(error))
        self.assertIn('maybe of a proxy', transport.evidence(guest))
        found = collector.ResultCollector(
            nova=nova,
            run=console_text.RUN,
            guests=[guest],
            pause_seconds=0.01,
            transport=transport,
            pace=readers.RequestPace(10000),
        )
        self.addCleanup(found.close)
        found.collect(1)
        self.assertGreater(found.readings['g000'], 10)
        self.assertEqual((), found.console(guest).events)

    def test_facts_that_are_pages_cost_nothing(self):
        cinder = types.SimpleNamespace(volumes=volumes.VolumeManager(Page()))
        qos, backends = environment.read_tiers(cinder, {'t': ['volume']})
        for fact in (qos['t'], backends['t']):
            self.assertIsNone(fact.value)
            self.assertIn('maybe of a proxy', fact.reason)


class NovaOverHttpTest(testtools.TestCase):
    """A novaclient and its session, used by several threads."""

    def served(self, **options):
        process = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'benchmarks.served_consoles',
                json.dumps(options),
            ],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        url = f'http://127.0.0.1:{process.stdout.readline().strip()}'
        self.process = process
        return nova_client.Client(
            servers.NOVA_MICROVERSION,
            session=keystone_session.Session(
                identity.V3Password(
                    auth_url=f'{url}/v3',
                    user_id='u',
                    password='p',  # noqa: S106
                    project_id='p',
                ),
                timeout=SECONDS,
            ),
        )

    def test_consoles_of_many_guests_come_home_unmixed(self):
        """Its token expires again and again meanwhile."""
        guests = [
            servers.Guest(name=name, tier='one', server_id=name)
            for name in map(orders.guest_name, range(24))
        ]
        nova = self.served(
            guests=[guest.name for guest in guests],
            slots=2,
            slot_ms=1,
            latency_s=0.01,
            begins_ms=0,
            requests_per_token=7,
        )
        found = collector.ResultCollector(
            nova=nova,
            run=console_text.RUN,
            guests=guests,
            pause_seconds=0.1,
            readers=8,
            pace=readers.RequestPace(1000),
        )
        self.addCleanup(found.close)
        self.assertTrue(found.wait_for_leader(SECONDS))
        found.collect(SECONDS)
        heard = [found.console(guest) for guest in guests]
        self.assertEqual(
            [(8, 0)] * 24,
            [(len(each.events), each.damaged_lines) for each in heard],
        )
        self.assertEqual(
            [b'randwrite-4k'] * 24,
            [
                json.loads(each.result(1))['jobs'][0]['jobname'].encode()
                for each in heard
            ],
        )
        self.process.stdin.close()
        asked = json.loads(self.process.stdout.readline())
        self.assertGreaterEqual(asked['POST'], 24)
        self.assertGreater(asked['refused'], 1)
