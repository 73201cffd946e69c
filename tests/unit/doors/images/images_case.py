# SPDX-License-Identifier: Apache-2.0

"""What tests of the remembered images have in common.

Glance is a function that counts its calls, which is a parameter. The clock
does not pass by itself, but for who waits.
"""

import ctypes
import gc
import sys
import threading
import time
import uuid

from cinder import context
import testtools

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images

IDENT = 'c0ffee00-0000-4000-8000-000000000000'
LIMITS = {
    'timeout_s': 20.0,
    'max_calls': 16,
    'failures': 3,
    'retry_s': 10.0,
    'image_ttl_s': 30.0,
    'stale_s': 3600.0,
}


class Glance:
    """Answers what it is told, when it may.

    `answers` is {context, project or reference: facts or an error}, `takes`
    is called before each answer. Where `is_refusing_ids`, no image has the
    id, and what is answered is the answer for a name.
    """

    def __init__(self):
        self.takes = lambda: None
        self.is_refusing_ids = False
        self.calls = []
        self.answers = {}
        self.go = threading.Event()
        self.go.set()
        self.asked = threading.Semaphore(0)

    def __call__(self, user, ref, on_name):
        self.calls.append((user.project_id, ref))
        if self.is_refusing_ids:
            on_name()
        go = self.go
        self.asked.release()
        go.wait(60)
        self.takes()
        answer = self.answers.get(
            user, self.answers.get(user.project_id, self.answers.get(ref))
        )
        if isinstance(answer, Exception):
            raise answer
        return answer or facts(ref)


def facts(ref, visibility='public', *tags):
    return glance.ImageFacts(
        image_id=ref,
        volume_type=None,
        boot_snapshot=False,
        image=decision.Image(
            owner=None, visibility=visibility, tags=frozenset(tags)
        ),
    )


def private(ref):
    return facts(ref, 'private')


def user(project='us'):
    return context.RequestContext(
        user_id='user', project_id=project, is_admin=False
    )


def refused(is_lasting=True):
    return glance.ImageRefused('refused', is_lasting=is_lasting)


def waits_or_is_done(thread):
    """Whether a thread stands in a wait of threading, or has ended."""
    # CPython 3.11 can hang all threads if it collects in here (gh-106883).
    gc.disable()
    try:
        frame = sys._current_frames().get(thread.ident)
    finally:
        gc.enable()
    return frame is None or (
        (frame.f_code.co_filename, frame.f_code.co_name)
        == (threading.__file__, 'wait')
    )


def kill(thread):
    """Let a thread that waits raise SystemExit once it wakes."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
    )


def settle(condition):
    """Wait until another thread has noticed something."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    if not condition():
        raise AssertionError('it has not happened within 60 s')


class ImagesTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.glance = Glance()
        self.addCleanup(lambda: self.glance.go.set())
        self.images = known_images.Images(
            size=100, fetch=self.glance, clock=lambda: self.now
        )

    def read(self, ref=IDENT, project='us', who=None, **limits):
        """What one reader gets: facts, or the error."""
        found = self.answer(ref, project, who, **limits)
        return (
            found.facts
            if isinstance(found, known_images.RememberedImage)
            else found
        )

    def answer(self, ref=IDENT, project='us', who=None, **limits):
        """What one reader gets: an answer, or the error."""
        try:
            return self.images.read(
                who or user(project),
                ref,
                known_images.CacheLimits(**{**LIMITS, **limits}),
            )
        except glance.ImageUnreadable as error:
            return error

    def assert_reads(self, calls, *args, **kwargs):
        """An image is read, and Glance was called so often all in all."""
        found = self.read(*args, **kwargs)
        self.assertIsInstance(found, glance.ImageFacts)
        self.assertEqual(calls, len(self.glance.calls))
        return found

    def assert_fails(self, calls, *args, **kwargs):
        """No image is read, and Glance was called so often all in all."""
        error = self.read(*args, **kwargs)
        self.assertIsInstance(error, glance.ImageUnreadable)
        self.assertEqual(calls, len(self.glance.calls))
        return error

    def open_for_two(self):
        """Let two projects find Glance down; it is so for both from now on."""
        down = glance.ImageUnreadable('down')
        self.glance.answers.update(us=down, them=down)
        for project in ('us', 'them') * 3:
            self.assertIs(down, self.read(str(uuid.uuid4()), project))
        self.assertTrue(self.images.breaker_is_open)

    def board(self, number, **reading):
        """Start readers; a function that waits for what they get."""
        threads, results = self.start(number, **reading)

        def land():
            for thread in threads:
                thread.join(60)
            return results

        return land

    def start(self, number, **reading):
        """Readers, once they wait, and where they put what they get."""
        results, begun = [], threading.Semaphore(0)

        def work():
            begun.release()
            results.append(self.read(**reading))

        threads = [
            threading.Thread(target=work, daemon=True) for _ in range(number)
        ]
        for thread in threads:
            thread.start()
        for _ in threads:
            begun.acquire(timeout=60)
        settle(lambda: all(map(waits_or_is_done, threads)))
        return threads, results

    def hold(self):
        """Let Glance hang from now on; a function that lets it go."""
        go = self.glance.go = threading.Event()
        self.addCleanup(go.set)
        return go.set

    def wait_for_call(self):
        self.assertTrue(self.glance.asked.acquire(timeout=60))
