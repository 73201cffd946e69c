# SPDX-License-Identifier: Apache-2.0

"""Images, remembered for a while: few calls to Glance, and bounded waits.

One call serves all who ask for an image at one time, and all who ask soon
after. What one project is refused, or sees alone, never becomes the answer of
another. While Glance fails, the last answer serves on for a while. Must not
know what an image is for. Safe under native threads, and under eventlet.
"""

import collections.abc
from concurrent import futures
import dataclasses
import threading
import time
import uuid

from cinder import context as cinder_context

from cinder_tiers.doors.images import bounded_calls
from cinder_tiers.doors.images import breaker
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import image_memory

#: As `glance.fetch_image`, with all its arguments.
Fetch = collections.abc.Callable[
    [
        cinder_context.RequestContext,
        str,
        collections.abc.Callable[[], None],
    ],
    glance.ImageFacts,
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CacheLimits:
    """How long and how often; see the options of the same meaning."""

    timeout_s: float
    max_calls: int
    failures: int
    retry_s: float
    image_ttl_s: float
    stale_s: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class RememberedImage:
    """An image, and how old that knowledge is."""

    facts: glance.ImageFacts
    #: 0.0 unless Glance failed and an older answer serves; then the seconds
    #: since Glance gave it.
    age_s: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Question:
    """Who asks for what."""

    context: cinder_context.RequestContext
    project: str
    ref: str
    #: The UUID in the reference, in lower case, if there is one.
    ident: str | None
    limits: CacheLimits

    @property
    def keys(self) -> tuple[image_memory.Key, ...]:
        """Where an answer may be.

        By its id, for all and for the project, however the reference spells
        it; and by the whole reference as a name.
        """
        by_name = (self.ref, self.project, image_memory.BY_NAME)
        if self.ident is None:
            return (by_name,)
        return ((self.ident,), (self.ident, self.project), by_name)

    @property
    def is_private(self) -> bool:
        """Whether the tenant chose the text that Glance gets to see.

        A name may make Glance fail, which must not count for other projects.
        """
        return self.ident is None or self.ref.lower() != str(
            uuid.UUID(self.ident)
        )

    def is_answered_by(
        self, other: '_Question', facts: glance.ImageFacts
    ) -> bool:
        """Whether the answer to another is the one to this, too.

        :param other: a question with the same reference.
        :param facts: its answer.
        """
        return self.project == other.project or (
            facts.image_id == self.ident and facts.is_open
        )

    def is_refused_by(
        self, other: '_Question', refusal: glance.ImageRefused
    ) -> bool:
        """Whether the refusal of another is one of this, too.

        :param other: a question with the same reference.
        :param refusal: its answer.
        """
        return self.context is other.context or (
            refusal.is_lasting and self.project == other.project
        )


@dataclasses.dataclass(kw_only=True, eq=False)
class _Flight:
    """A call under way or in the queue, and who may wait for it."""

    question: _Question
    key: image_memory.Key
    #: Set before anybody sees it.
    future: 'futures.Future[glance.ImageFacts]' = dataclasses.field(init=False)
    #: When the answer is late; None while the call has not begun.
    due: float | None = None
    waiters: int = 1
    #: Whether no image has the id, and it is asked for as a name now.
    is_by_name: bool = False

    @property
    def is_private(self) -> bool:
        """Whether its failure counts for its project only.

        Any tenant can ask for ids that no image has.
        """
        return self.is_by_name or self.question.is_private


def _failure(text: str, *, is_private: bool) -> glance.ImageUnreadable:
    """Why an image is not known.

    :param is_private: whether Glance was to look for a text of the tenant.
        Then the tenant may have made it fail, and must not have a volume
        without a tier by that: it is as if Glance refused.
    """
    if is_private:
        return glance.ImageRefused(text, is_lasting=False, is_answer=False)
    return glance.ImageUnreadable(text)


class Images:
    """All images that one process remembers."""

    def __init__(
        self,
        *,
        size: int,
        fetch: Fetch = glance.fetch_image,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is remembered yet.

        :param size: images remembered at most.
        :param fetch: what asks Glance; runs in a thread of its own.
        :param clock: seconds since any instant.
        """
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._calls = bounded_calls.BoundedCalls()
        self._breaker = breaker.CircuitBreaker(clock)
        self._memory = image_memory.ImageMemory(size=size, clock=clock)
        self._flights: dict[image_memory.Key, _Flight] = {}
        # Those that have begun and are not late yet.
        self._begun: list[_Flight] = []

    @property
    def breaker_is_open(self) -> bool:
        """Whether Glance has failed so often that it is hardly asked."""
        return self._breaker.is_open

    @property
    def calls_under_way(self) -> int:
        """Number of calls to Glance that have not returned."""
        return self._calls.under_way

    def drop_old(self) -> bool:
        """Forget the images that are kept no longer.

        :returns: whether any is left, or may come yet.
        """
        is_calling = self._calls.under_way > 0
        with self._lock:
            return self._memory.drop_old() or is_calling

    def remembered(
        self,
        ref: str,
        project: str | None = None,
    ) -> glance.ImageFacts | None:
        """An image for which Glance need not be asked, or None.

        The same object as long as what is known of the image is the same.

        :param ref: as for `glance.fetch_image`.
        :param project: id of the project that asks; unless given, only what
            every project may see is found.
        """
        keys: tuple[image_memory.Key, ...] = ((ref,),)
        if project is not None:
            keys += (
                (ref, project),
                (ref, project, image_memory.BY_NAME),
            )
        with self._lock:
            return self._memory.fresh(keys)

    def read(
        self,
        context: cinder_context.RequestContext,
        ref: str,
        limits: CacheLimits,
    ) -> RememberedImage:
        """An image, from memory or from Glance.

        :param ref: as for `glance.fetch_image`.
        :param limits: the bounds of this call.
        :raises glance.ImageRefused: it is not shown to the user.
        :raises glance.ImageUnreadable: Glance did not answer in time, failed
            or is not asked at the moment, and no older answer is known.
        """
        ident, is_id = glance.plain_ref(ref)
        question = _Question(
            context=context,
            project=context.project_id or '',
            ref=ref,
            ident=ident.lower() if is_id else None,
            limits=limits,
        )
        try:
            return RememberedImage(facts=self._ask(question), age_s=0.0)
        except glance.ImageUnreadable as error:
            if isinstance(error, glance.ImageRefused) and error.is_answer:
                raise
            stale = self._stale(question)
            if stale is None:
                raise
            return stale

    def _ask(self, question: _Question) -> glance.ImageFacts:
        now = self._clock()
        deadline = now + question.limits.timeout_s
        # Others do not wait while a tenant's text is looked up as a name.
        keys = question.keys[-1:] if question.is_private else question.keys
        while True:
            boarded = self._board(question, keys, now)
            if isinstance(boarded, glance.ImageFacts):
                return boarded
            self._launch(boarded)
            facts = self._wait(boarded, question, deadline)
            if facts is not None:
                return facts
            # It was the answer of another project, or of another token: that
            # says nothing about this one. Each round waits for another call.
            keys = question.keys[-1:]
            now = self._clock()

    def _board(
        self,
        question: _Question,
        keys: tuple[image_memory.Key, ...],
        now: float,
    ) -> _Flight | glance.ImageFacts:
        """What is remembered, a call under way, or a new one."""
        with self._lock:
            facts = self._memory.fresh(question.keys)
            if facts is not None:
                return facts
            self._expire(now)
            for key in reversed(keys):
                flight = self._flights.get(key)
                # In the queue, those of another project may have no end.
                if flight is not None and (
                    flight.due is not None
                    or flight.question.project == question.project
                ):
                    flight.waiters += 1
                    return flight
            return self._take_off(
                question,
                keys[-1] if keys[0] in self._flights else keys[0],
                now,
            )

    def _take_off(
        self,
        question: _Question,
        key: image_memory.Key,
        now: float,
    ) -> _Flight:
        limits = question.limits
        if not self._breaker.admits(
            question.project,
            failures=limits.failures,
            retry_s=limits.retry_s,
            is_private=question.is_private,
            would_wait=self._calls.would_wait(
                project=question.project,
                max_calls=limits.max_calls,
                is_name_search=question.is_private,
            ),
        ):
            text = (
                f'Glance has failed at least {limits.failures} times in a '
                f'row; the next attempt follows after {limits.retry_s:g} '
                's'
            )
            raise _failure(text, is_private=question.is_private)
        flight = _Flight(question=question, key=key)
        flight.future = self._calls.admit(
            lambda: self._fly(flight),
            project=question.project,
            max_calls=limits.max_calls,
            is_name_search=question.is_private,
        )
        if flight.future.running():
            self._begin(flight, now)
        self._flights[key] = flight
        return flight

    def _launch(self, flight: _Flight) -> None:
        """Start the call of a flight, if it is new; holds no lock."""
        try:
            self._calls.launch(flight.future)
        except BaseException:
            with self._lock:
                if flight in self._begun:
                    self._begun.remove(flight)
                self._forget(flight)
            raise

    def _begin(self, flight: _Flight, now: float) -> None:
        flight.due = now + flight.question.limits.timeout_s
        self._begun.append(flight)

    def _fly(self, flight: _Flight) -> glance.ImageFacts:
        """The call, in its own thread."""
        question = flight.question
        with self._lock:
            if flight.due is None:
                # While it was in the queue, another may have asked the same.
                facts = self._memory.fresh(question.keys)
                if facts is not None:
                    self._forget(flight)
                    return facts
                self._begin(flight, self._clock())
        try:
            facts = self._fetch(
                question.context,
                question.ref,
                lambda: self._go_on_by_name(flight),
            )
        except BaseException as error:
            with self._lock:
                self._land(flight, error)
            raise
        with self._lock:
            self._land(flight, None)
            # Also what comes late.
            return self._memory.keep(
                question.keys,
                facts,
                is_by_id=facts.image_id == question.ident,
                fresh_s=question.limits.image_ttl_s,
                stale_s=question.limits.stale_s,
            )

    def _go_on_by_name(self, flight: _Flight) -> None:
        with self._lock:
            self._expire(self._clock())
            if flight in self._begun:
                # Glance has answered for the id.
                self._breaker.succeeded(flight.question.project)
            flight.is_by_name = True
            if not self._calls.become_name_search(flight.future):
                raise glance.ImageUnreadable(
                    'no call to Glance was free to look for the name'
                )

    def _wait(
        self,
        flight: _Flight,
        question: _Question,
        deadline: float,
    ) -> glance.ImageFacts | None:
        """What a call brings; None when it says nothing about a question."""
        limits = question.limits
        try:
            facts = flight.future.result(max(0.0, deadline - self._clock()))
        except TimeoutError as error:
            raise _failure(
                f'Glance did not answer within {limits.timeout_s:g} s'
                if self._give_up(flight, deadline)
                else f'no call to Glance was free within {limits.timeout_s:g} '
                f's; at most {limits.max_calls} are allowed',
                is_private=question.is_private or flight.is_by_name,
            ) from error
        except glance.ImageRefused as refusal:
            if question.is_refused_by(flight.question, refusal):
                raise
            return None
        except glance.ImageUnreadable as error:
            if not (question.is_private or flight.is_by_name):
                raise
            raise _failure(str(error), is_private=True) from error
        return (
            facts if question.is_answered_by(flight.question, facts) else None
        )

    def _give_up(self, flight: _Flight, deadline: float) -> bool:
        """A waiter has gone.

        :returns: whether the call has begun; if not, it is not made for want
            of others who wait.
        """
        with self._lock:
            flight.waiters -= 1
            self._expire(max(deadline, self._clock()))
            if flight.due is not None:
                return True
            if flight.waiters:
                return False
            self._forget(flight)
        self._calls.cancel(flight.future, project=flight.question.project)
        return False

    def _expire(self, now: float) -> None:
        """Calls that Glance did not answer in time have failed.

        Who asks from now on does not wait for them, and what they bring once
        they return says nothing of Glance any more.
        """
        for flight in [
            one
            for one in self._begun
            if one.due is not None and one.due <= now
        ]:
            self._begun.remove(flight)
            self._forget(flight)
            self._breaker.failed(
                flight.question.project, is_private=flight.is_private
            )

    def _forget(self, flight: _Flight) -> None:
        if self._flights.get(flight.key) is flight:
            del self._flights[flight.key]

    def _land(self, flight: _Flight, error: BaseException | None) -> None:
        """Note how a call ended."""
        question = flight.question
        self._expire(self._clock())
        if isinstance(error, glance.ImageRefused) and error.is_lasting:
            # It may be deleted, or closed to the project.
            self._memory.drop(question.keys)
        if flight not in self._begun:
            return
        self._begun.remove(flight)
        self._forget(flight)
        if error is None or (
            isinstance(error, glance.ImageRefused) and error.is_answer
        ):
            self._breaker.succeeded(question.project)
        elif isinstance(error, glance.ImageUnreadable) and not isinstance(
            error, glance.ImageRefused
        ):
            self._breaker.failed(
                question.project, is_private=flight.is_private
            )

    def _stale(self, question: _Question) -> RememberedImage | None:
        """The last answer, if it is not too old.

        It is one for an id: those for a name are not kept for that.
        """
        with self._lock:
            last = self._memory.last(question.keys)
        if last is None or last[1] >= question.limits.stale_s:
            return None
        return RememberedImage(facts=last[0], age_s=last[1])
