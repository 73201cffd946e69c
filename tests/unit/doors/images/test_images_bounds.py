# SPDX-License-Identifier: Apache-2.0

"""How long anybody waits for an image, whatever Glance does."""

import subprocess
import sys
import threading
import time
import uuid

import fixtures
import testtools
from testtools import matchers

from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
from tests.unit.doors.images import images_case
from tests.unit.doors.images.images_case import facts
from tests.unit.doors.images.images_case import IDENT
from tests.unit.doors.images.images_case import LIMITS
from tests.unit.doors.images.images_case import refused
from tests.worlds import cinder_fixture

#: No test may take longer for what must end at once.
AT_ONCE_S = 30

GREEN = """
import eventlet
eventlet.monkey_patch()
import time
from cinder import context
from cinder import objects
objects.register_all()
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
calls = []
def fetch(user, ref, on_name):
    calls.append(ref)
    time.sleep(60 if ref == 'hang' else 0.2)
    return glance.ImageFacts(
        image_id='id-' + ref, volume_type=None, boot_snapshot=False,
        image=decision.Image(owner=None, visibility='public'))
known = known_images.Images(size=10, fetch=fetch)
limits = known_images.CacheLimits(timeout_s=6, max_calls=16, failures=3,
                                  retry_s=9, image_ttl_s=30, stale_s=0)
user = context.RequestContext(user_id='user', project_id='p', is_admin=False)
ticks = []
def tick():
    while True:
        ticks.append(1)
        time.sleep(0.01)
eventlet.spawn(tick)
def read(ref):
    try:
        return known.read(user, ref, limits).facts.image_id
    except glance.ImageUnreadable as error:
        return str(error)
def many(ref):
    return {green.wait()
            for green in [eventlet.spawn(read, ref) for _ in range(32)]}
print(*many('one'), len(calls))
print(*many('one'), len(calls))
print(*many('hang'), len(calls))
greens = [eventlet.spawn(read, str(number)) for number in range(32)]
print(len({green.wait() for green in greens}), len(calls))
print('others ran' if len(ticks) > 5 else 'others were blocked')
"""

# How often the hub has to go round until the calls of so many have begun.
GREEN_TURNS = """
import sys
import eventlet
eventlet.monkey_patch()
from cinder import context
from cinder import objects
objects.register_all()
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
begun, turns, answered = [], [0], eventlet.event.Event()
def fetch(user, ref, on_name):
    begun.append(ref)
    answered.wait()
    raise glance.ImageUnreadable('')
def turn():
    while True:
        turns[0] += 1
        eventlet.sleep(0)
known = known_images.Images(size=100, fetch=fetch)
limits = known_images.CacheLimits(timeout_s=60, max_calls=160, failures=100,
                                  retry_s=9, image_ttl_s=30, stale_s=0)
user = context.RequestContext(user_id='user', project_id='p', is_admin=False)
def read(number):
    try:
        known.read(user, f'image {number}', limits)
    except glance.ImageUnreadable:
        pass
eventlet.spawn(turn)
eventlet.sleep(0)
turns[0] = 0
readers = [eventlet.spawn(read, number) for number in range(int(sys.argv[1]))]
while len(begun) < len(readers):
    eventlet.sleep(0)
print(turns[0])
answered.send()
for reader in readers:
    reader.wait()
"""


class BoundTestCase(images_case.ImagesTestCase):
    def assert_at_once(self, function, *args, **kwargs):
        started = time.monotonic()
        result = function(*args, **kwargs)
        self.assertThat(
            time.monotonic() - started, matchers.LessThan(AT_ONCE_S)
        )
        return result

    def test_nobody_waits_longer_than_allowed(self):
        self.hold()
        error = self.assert_at_once(self.assert_fails, 1, timeout_s=0.2)
        self.assertEqual('Glance did not answer within 0.2 s', str(error))

    def test_nor_do_those_who_share_a_call(self):
        self.hold()
        patient = self.board(1, timeout_s=60.0)
        self.wait_for_call()
        for error in self.assert_at_once(self.board(8, timeout_s=0.2)):
            self.assertIsInstance(error, glance.ImageUnreadable)
        self.assertEqual(1, len(self.glance.calls))
        self.glance.go.set()
        self.assertEqual([facts(IDENT)], patient())

    def test_nor_one_whose_shared_call_was_refused(self):
        """The time is one for both calls."""
        expired = images_case.user()
        self.glance.answers[expired] = refused(is_lasting=False)
        go = self.hold()
        theirs = self.board(1, who=expired)
        self.wait_for_call()
        # The clock stands still until somebody is refused.
        ours = self.board(1, timeout_s=60.0)
        self.hold()
        self.now += 59.9
        go()
        theirs()
        (error,) = self.assert_at_once(ours)
        self.assertEqual('Glance did not answer within 60 s', str(error))
        self.assertEqual(2, len(self.glance.calls))

    def test_a_call_that_was_given_up_is_not_boarded(self):
        self.hold()
        self.assert_fails(1, timeout_s=0.1)
        self.glance.go = threading.Event()
        self.glance.go.set()
        self.assert_reads(2)

    def test_a_call_that_cannot_be_started_holds_nobody_up(self):
        def fail(thread):
            raise RuntimeError("can't start new thread")

        with fixtures.MonkeyPatch('threading.Thread.start', fail):
            for ref in (IDENT, 'name'):
                self.assertRaises(RuntimeError, self.read, ref, max_calls=1)
        self.assertEqual(0, self.images.calls_under_way)
        self.assert_reads(1, max_calls=1)

    def test_a_late_answer_is_remembered(self):
        go = self.hold()
        self.assert_fails(1, timeout_s=0.1)
        go()
        images_case.settle(lambda: self.images.remembered(IDENT))
        self.assert_reads(1)

    def test_what_is_remembered_needs_no_call(self):
        self.assert_reads(1)
        self.hold()
        self.assert_fails(2, str(uuid.uuid4()), timeout_s=0.1, max_calls=1)
        self.assert_reads(2, max_calls=1)


class ManyThreadsTestCase(images_case.ImagesTestCase):
    def test_thousands_of_reads(self):
        """No deadlock, no wrong image, and no refusal of another project."""
        refs = [str(uuid.uuid4()) for _ in range(20)]
        self.glance.answers['them'] = refused()
        self.glance.answers[refs[0]] = glance.ImageUnreadable('down')
        wrong, threads = [], []

        def work(project, start):
            for number in range(250):
                ref = refs[(start + number * 7) % len(refs)]
                found = self.read(
                    ref,
                    project,
                    failures=1000,
                    image_ttl_s=number % 3,
                    max_calls=100,
                )
                if isinstance(found, glance.ImageRefused):
                    right = project == 'them'
                elif isinstance(found, glance.ImageUnreadable):
                    right = ref == refs[0]
                else:
                    right = found.image_id == ref
                if not right:
                    wrong.append((project, ref, found))
                self.now += 0.01

        for number in range(16):
            threads.append(
                threading.Thread(
                    target=work,
                    daemon=True,
                    args=(
                        'them' if number % 4 == 0 else f'p{number % 3}',
                        number,
                    ),
                )
            )
            threads[-1].start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(
            ([], []),
            (wrong, [thread for thread in threads if thread.is_alive()]),
        )

    def test_under_eventlet_nobody_else_is_blocked(self):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', GREEN],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(
            [
                'id-one 1',
                'id-one 1',
                'Glance did not answer within 6 s 2',
                '32 34',
                'others ran',
            ],
            done.stdout.splitlines(),
            done.stderr,
        )

    def test_under_eventlet_many_begin_as_soon_as_one(self):
        """A busy scheduler may take a tenth of a second for each turn."""
        one, many = (
            int(
                subprocess.run(
                    [
                        sys.executable,
                        '-W',
                        'ignore',
                        '-c',
                        GREEN_TURNS,
                        number,
                    ],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=True,
                ).stdout
            )
            for number in ('1', '40')
        )
        self.assertThat(many, matchers.LessThan(one + 5))


class ImagesOverHttpTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder_fixture.Scheduler())
        self.glance = self.cinder.glance
        self.images = known_images.Images(size=100)

    def read(self, ref, timeout_s=20.0):
        return self.images.read(
            self.cinder.user(),
            ref,
            known_images.CacheLimits(**{**LIMITS, 'timeout_s': timeout_s}),
        ).facts

    def test_one_request_when_cold_and_none_when_warm(self):
        ref = self.glance.add_image('db')
        for _ in range(3):
            self.assertEqual(ref, self.read(ref).image_id)
        self.assertEqual(1, len(self.glance.requests))

    def test_one_request_for_32_at_once(self):
        ref, results = self.glance.add_image('db'), []
        self.glance.gate.clear()
        threads = [
            threading.Thread(
                target=lambda: results.append(self.read(ref).image_id)
            )
            for _ in range(32)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        self.glance.gate.set()
        for thread in threads:
            thread.join(60)
        self.assertEqual(([ref] * 32, 1), (results, len(self.glance.requests)))

    def test_a_frozen_glance_is_waited_for_no_longer_than_allowed(self):
        ref = self.glance.add_image('db')
        self.glance.gate.clear()
        started = time.monotonic()
        self.assertRaises(
            glance.ImageUnreadable, self.read, ref, timeout_s=0.3
        )
        self.assertThat(
            time.monotonic() - started, matchers.LessThan(AT_ONCE_S)
        )
