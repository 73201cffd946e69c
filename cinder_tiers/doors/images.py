# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Images, remembered for a while: few calls to Glance, and bounded waits.

One call serves all who ask for an image at one time, and all who ask soon
after. What one project is refused never becomes the answer of another. Must
not know what an image is for. Safe under native threads, and under eventlet.
"""

import collections.abc
from concurrent import futures
import dataclasses
import threading
import time

import cachetools
from cinder import context as cinder_context

from cinder_tiers.doors import bounded_calls
from cinder_tiers.doors import breaker
from cinder_tiers.doors import glance

Fetch = collections.abc.Callable[
    [cinder_context.RequestContext, str], glance.ImageFacts]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """How long and how often; see the options of the same meaning."""

    timeout_s: float
    max_calls: int
    failures: int
    retry_s: float
    image_ttl_s: float
    refusal_ttl_s: float


@dataclasses.dataclass(kw_only=True)
class _Flight:
    """A call under way, and who may wait for it."""

    context: cinder_context.RequestContext
    project: str
    future: 'futures.Future[glance.ImageFacts]'


class Images:
    """All images that one process remembers."""

    def __init__(self, *, size: int, fetch: Fetch = glance.fetch_image,
                 clock: collections.abc.Callable[[], float] = time.monotonic,
                 ) -> None:
        """Nothing is remembered yet.

        :param size: images remembered at most, and as many refusals.
        :param fetch: what asks Glance; runs in a thread of its own.
        :param clock: seconds since any instant.
        """
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._calls = bounded_calls.BoundedCalls()
        self._breaker = breaker.CircuitBreaker(clock)
        # Values are (time to live, what is remembered).
        self._facts = _cache(size, clock)
        self._refusals = _cache(size, clock)
        self._flights: dict[tuple[str, ...], _Flight] = {}

    def remembered(self, ref: str) -> glance.ImageFacts | None:
        """An image that is remembered by its id, or None.

        :param ref: as for `glance.fetch_image`.
        """
        # Its get() looks twice.
        try:
            with self._lock:
                return self._facts[(ref,)][1]
        except KeyError:
            return None

    def read(self, context: cinder_context.RequestContext, ref: str,
             limits: Limits) -> glance.ImageFacts:
        """An image, from memory or from Glance.

        :param context: of the request.
        :param ref: as for `glance.fetch_image`.
        :param limits: the bounds of this call.
        :raises glance.ImageRefused: it is not shown to the user.
        :raises glance.ImageUnreadable: Glance did not answer in time, failed
            or is not asked at the moment.
        """
        deadline = self._clock() + limits.timeout_s
        project = context.project_id or ''
        ref, is_id = glance.plain_ref(ref)
        # A name means to each project what it sees; an id is the same to all.
        key = (ref,) if is_id else (ref, project)
        boarded = self._board(context, ref, key, project, limits)
        if isinstance(boarded, glance.ImageFacts):
            return boarded
        try:
            return self._wait(boarded, key, deadline, limits)
        except glance.ImageRefused as refusal:
            if boarded.context is context or (
                    refusal.is_lasting and boarded.project == project):
                raise
        # Another project was refused, or another token: that says nothing
        # about ours.
        key = (ref, project)
        boarded = self._board(context, ref, key, project, limits)
        if isinstance(boarded, glance.ImageFacts):
            return boarded
        return self._wait(boarded, key, deadline, limits)

    def _board(self, context: cinder_context.RequestContext, ref: str,
               key: tuple[str, ...], project: str,
               limits: Limits) -> '_Flight | glance.ImageFacts':
        """What is remembered, a call under way, or a new one."""
        with self._lock:
            found = self._facts.get(key[:1]) or self._facts.get(key)
            if found is not None:
                return found[1]
            refusal = self._refusals.get((ref, project))
            if refusal is not None:
                raise glance.ImageRefused(refusal[1], is_lasting=True)
            if key in self._flights:
                return self._flights[key]
            flight = self._take_off(context, ref, key, project, limits)
        # Out of the lock: a call that has ended already lands at once.
        flight.future.add_done_callback(
            lambda _: self._land(flight, ref, key, limits))
        return flight

    def _take_off(self, context: cinder_context.RequestContext, ref: str,
                  key: tuple[str, ...], project: str,
                  limits: Limits) -> _Flight:
        if not self._breaker.admits(failures=limits.failures,
                                    retry_s=limits.retry_s):
            raise glance.ImageUnreadable(
                f'Glance has failed {limits.failures} times or more in a '
                f'row; it is asked again after {limits.retry_s:g} s')
        try:
            future = self._calls.start(lambda: self._fetch(context, ref),
                                       max_calls=limits.max_calls)
        except bounded_calls.TooManyCalls as error:
            raise glance.ImageUnreadable(
                f'Glance does not answer: {error}') from error
        flight = self._flights[key] = _Flight(
            context=context, project=project, future=future)
        return flight

    def _wait(self, flight: _Flight, key: tuple[str, ...], deadline: float,
              limits: Limits) -> glance.ImageFacts:
        try:
            return flight.future.result(max(0.0, deadline - self._clock()))
        except TimeoutError as error:
            if not flight.future.done():
                self._give_up(flight, key)
            raise glance.ImageUnreadable(
                f'Glance did not answer within {limits.timeout_s:g} s'
            ) from error

    def _give_up(self, flight: _Flight, key: tuple[str, ...]) -> None:
        """Nobody boards it from now on; counted once as a failure."""
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
                self._breaker.failed()

    def _land(self, flight: _Flight, ref: str, key: tuple[str, ...],
              limits: Limits) -> None:
        """Remember how a call ended; late ones, too."""
        with self._lock:
            is_late = self._flights.get(key) is not flight
            if not is_late:
                del self._flights[key]
            error = flight.future.exception()
            if error is None:
                self._breaker.succeeded()
                facts = flight.future.result()
                # Its id names it to all, whoever asked.
                self._facts[(ref,) if ref == facts.image_id else key] = (
                    limits.image_ttl_s, facts)
            elif isinstance(error, glance.ImageRefused):
                self._breaker.succeeded()
                if error.is_lasting:
                    self._refusals[(ref, flight.project)] = (
                        limits.refusal_ttl_s, str(error))
            elif (isinstance(error, glance.ImageUnreadable)
                  and not is_late):
                self._breaker.failed()


def _cache(size: int, clock: collections.abc.Callable[[], float],
           ) -> 'cachetools.TLRUCache[object, tuple[float, object]]':
    return cachetools.TLRUCache(
        size, ttu=lambda _, value, now: now + value[0], timer=clock)
