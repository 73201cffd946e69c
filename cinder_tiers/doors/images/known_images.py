# SPDX-License-Identifier: Apache-2.0

"""Images, remembered for a while: few calls to Glance, and bounded waits.

One call serves all of a project who ask for an image at one time, and all who
ask soon after. What one project is refused, or sees alone, never becomes the
answer of another. While Glance fails, the last answer serves on for a while.
A call runs in a thread of its own: Cinder's Glance client has no deadline for
a whole call. Must not know what an image is for. Safe under native threads,
and under eventlet.
"""

import collections.abc
from concurrent import futures
import contextlib
import dataclasses
import threading
import time
import uuid

from cinder import context as cinder_context

from cinder_tiers.doors.images import breaker
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import image_memory
from cinder_tiers.doors.images import places

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
    """Limits of calls to Glance and of its cached answers; see the options."""

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
    """A lookup: requester, image reference and limits."""

    context: cinder_context.RequestContext
    project: str
    ref: str
    #: The UUID in the reference, in lower case, if there is one.
    ident: str | None
    limits: CacheLimits

    @property
    def keys(self) -> tuple[image_memory.Key, ...]:
        """Keys under which an answer may be stored.

        By its id in normal form, for all projects and for this one; and by the
        whole reference as a name.
        """
        by_name = (self.ref, self.project, image_memory.BY_NAME)
        if self.ident is None:
            return (by_name,)
        return ((self.ident,), (self.ident, self.project), by_name)

    @property
    def is_private(self) -> bool:
        """Return whether the tenant chose the text that is sent to Glance.

        A tenant may know a name that makes Glance hang.
        """
        return self.ident is None or self.ref.lower() != str(
            uuid.UUID(self.ident)
        )


@dataclasses.dataclass(kw_only=True, eq=False)
class _Flight:
    """A call, from the wait for its place until it returns."""

    question: _Question
    future: 'futures.Future[glance.ImageFacts]' = dataclasses.field(
        default_factory=futures.Future
    )
    #: When the answer is late; None while it waits for a place.
    due: float | None = None
    #: Whether no image has the id, and it is asked for as a name now.
    is_by_name: bool = False

    @property
    def is_private(self) -> bool:
        """Return whether the tenant may have caused the failure of the call.

        Any tenant can ask for ids that no image has.
        """
        return self.is_by_name or self.question.is_private

    @property
    def key(self) -> tuple[str, str]:
        """Project and reference of the requests that share this call."""
        return self.question.project, self.question.ref

    def late(self, limits: CacheLimits) -> glance.ImageUnreadable:
        """Return the error for a request that waited in vain.

        :param limits: limits of the request that waited.
        """
        return self.failure(
            f'no call to Glance was free within {limits.timeout_s:g} s; at '
            f'most {limits.max_calls} are allowed'
            if self.due is None
            else f'Glance did not answer within {limits.timeout_s:g} s'
        )

    def failure(self, text: str) -> glance.ImageUnreadable:
        """Return the error that the image is not known.

        What the tenant may have made fail is as if Glance refused: it must
        not have a volume without a tier by that.

        :param text: safe to log.
        """
        if self.is_private:
            return glance.ImageRefused(text, is_lasting=False, is_answer=False)
        return glance.ImageUnreadable(text)


class Images:
    """Cache of images in one process."""

    def __init__(
        self,
        *,
        size: int,
        fetch: Fetch = glance.fetch_image,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty cache.

        :param size: maximum number of remembered images.
        :param fetch: reads an image from Glance; runs in a thread of its own.
        :param clock: returns seconds of a monotonic clock.
        """
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._calls = places.Places()
        # Calls that look an image up by its name have another place as well:
        # a tenant may know how to make Glance hang by that.
        self._searches = places.Places()
        # Those who are stopped for a text of their tenants go on by ids.
        self._breaker = breaker.CircuitBreaker(clock)
        self._private_breaker = breaker.CircuitBreaker(clock)
        self._memory = image_memory.ImageMemory(size=size, clock=clock)
        # Those that are not late.
        self._flights: dict[tuple[str, str], _Flight] = {}

    @property
    def breaker_is_open(self) -> bool:
        """Return whether the breaker stops several projects at present."""
        return self._breaker.stops_several

    @property
    def calls_under_way(self) -> int:
        """Number of calls to Glance that have not returned."""
        return self._calls.taken

    def drop_old(self) -> bool:
        """Forget the images that are kept no longer.

        :returns: whether any is left, or may come yet.
        """
        is_calling = self._calls.taken > 0
        with self._lock:
            return self._memory.drop_old() or is_calling

    def remembered(
        self,
        ref: str,
        project: str | None = None,
    ) -> glance.ImageFacts | None:
        """Return an image that need not be read from Glance, or None.

        Returns the same object as long as the known facts are unchanged.

        :param ref: reference as in `glance.fetch_image`.
        :param project: id of the project that asks; without it, only images
            that every project may see are found.
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
        """Read an image from memory or from Glance.

        :param ref: reference as in `glance.fetch_image`.
        :param limits: limits of this call.
        :raises glance.ImageRefused: Glance does not show the image to the
            user.
        :raises glance.ImageUnreadable: Glance did not answer in time, failed,
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
        limits = question.limits
        deadline = self._clock() + limits.timeout_s
        while True:
            boarded = self._board(question)
            if isinstance(boarded, glance.ImageFacts):
                return boarded
            is_ours = boarded.question is question
            if is_ours:
                self._launch(boarded, deadline)
            try:
                return boarded.future.result(
                    max(0.0, deadline - self._clock())
                )
            except TimeoutError as error:
                with self._lock:
                    self._expire(deadline)
                raise boarded.late(limits) from error
            except glance.ImageRefused as refusal:
                # Another token of the project may do.
                if is_ours or refusal.is_lasting:
                    raise
            except glance.ImageUnreadable as error:
                # Who began to wait for a place earlier has gone.
                if is_ours or boarded.due is not None:
                    if not boarded.is_private:
                        raise
                    raise boarded.failure(str(error)) from error

    def _board(self, question: _Question) -> _Flight | glance.ImageFacts:
        """Return the remembered image, a call in progress, or a new call."""
        limits = question.limits
        with self._lock:
            facts = self._memory.fresh(question.keys)
            if facts is not None:
                return facts
            self._expire(self._clock())
            flight = _Flight(question=question)
            other = self._flights.get(flight.key)
            if other is not None:
                return other
            if not self._breaker_of(flight).admits(
                question.project,
                failures=limits.failures,
                retry_s=limits.retry_s,
            ):
                raise flight.failure(
                    f'Glance has failed at least {limits.failures} times in a '
                    f'row; the next attempt follows after {limits.retry_s:g} '
                    's'
                )
            self._flights[flight.key] = flight
            return flight

    def _launch(self, flight: _Flight, deadline: float) -> None:
        """Wait for a place, and start the call in a thread of its own.

        No lock is held meanwhile. Under eventlet the start of a thread lets
        all others run first.

        :param deadline: until when to wait.
        """
        taken = contextlib.ExitStack()
        try:
            self._take_places(flight, deadline, taken)
            threading.Thread(
                target=self._fly,
                args=(flight, taken),
                name='cinder-tiers-call',
                daemon=True,
            ).start()
        except BaseException as error:
            taken.close()
            with self._lock:
                self._flights.pop(flight.key, None)
            # A GreenletExit is for one; the others ask again.
            flight.future.set_exception(
                error
                if isinstance(error, Exception)
                else flight.late(flight.question.limits)
            )
            if not isinstance(error, glance.ImageUnreadable):
                raise

    def _take_places(
        self, flight: _Flight, deadline: float, taken: contextlib.ExitStack
    ) -> None:
        limits, project = flight.question.limits, flight.question.project
        kinds = [(self._calls, limits.max_calls)]
        if flight.is_private:
            kinds.insert(0, (self._searches, max(1, limits.max_calls // 2)))
        for kind, number in kinds:
            if not kind.take(
                project, number=number, timeout_s=deadline - self._clock()
            ):
                with self._lock:
                    self._expire(self._clock())
                    # Unless it is the project itself that makes its calls
                    # wait, while Glance answers.
                    if not kind.taken_by(project) or all(
                        other.due is None for other in self._flights.values()
                    ):
                        self._breaker_of(flight).failed(project)
                raise flight.late(limits)
            taken.callback(kind.give_back, project)

    def _fly(self, flight: _Flight, taken: contextlib.ExitStack) -> None:
        """The call, in its own thread."""
        try:
            with taken:
                facts = self._call(flight, taken)
        # A BaseException, too, belongs to who waits for the result.
        except BaseException as error:  # noqa: BLE001
            flight.future.set_exception(error)
        else:
            flight.future.set_result(facts)

    def _call(
        self, flight: _Flight, taken: contextlib.ExitStack
    ) -> glance.ImageFacts:
        question = flight.question
        with self._lock:
            # While it waited for a place, another may have asked the same.
            facts = self._memory.fresh(question.keys)
            flight.due = self._clock() + question.limits.timeout_s
            if facts is not None:
                self._flights.pop(flight.key, None)
                return facts
        try:
            facts = self._fetch(
                question.context,
                question.ref,
                lambda: self._go_on_by_name(flight, taken),
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

    def _go_on_by_name(
        self, flight: _Flight, taken: contextlib.ExitStack
    ) -> None:
        question = flight.question
        with self._lock:
            self._expire(self._clock())
            if self._flights.get(flight.key) is flight:
                # Glance has answered for the id.
                self._breaker_of(flight).succeeded(question.project)
            flight.is_by_name = True
        if question.is_private:
            return
        if not self._searches.take(
            question.project,
            number=max(1, question.limits.max_calls // 2),
            timeout_s=0.0,
        ):
            raise glance.ImageUnreadable(
                'no call to Glance was free to look for the name'
            )
        taken.callback(self._searches.give_back, question.project)

    def _breaker_of(self, flight: _Flight) -> breaker.CircuitBreaker:
        return self._private_breaker if flight.is_private else self._breaker

    def _expire(self, now: float) -> None:
        """Calls that Glance did not answer in time have failed.

        Who asks from now on does not wait for them, and what they bring once
        they return says nothing of Glance any more.
        """
        for flight in list(self._flights.values()):
            if flight.due is not None and flight.due <= now:
                del self._flights[flight.key]
                self._breaker_of(flight).failed(flight.question.project)

    def _land(self, flight: _Flight, error: BaseException | None) -> None:
        """Note how a call ended."""
        question = flight.question
        self._expire(self._clock())
        refusal = error if isinstance(error, glance.ImageRefused) else None
        if refusal is not None and refusal.is_lasting:
            # It may be deleted, or closed to the project.
            self._memory.drop(question.keys)
        if self._flights.get(flight.key) is not flight:
            return
        del self._flights[flight.key]
        if error is None or (refusal is not None and refusal.is_answer):
            self._breaker_of(flight).succeeded(question.project)
        elif refusal is None and isinstance(error, glance.ImageUnreadable):
            self._breaker_of(flight).failed(question.project)

    def _stale(self, question: _Question) -> RememberedImage | None:
        """The last answer, if it is not too old.

        It is one for an id: those for a name are not kept for that.
        """
        with self._lock:
            last = self._memory.last(question.keys)
        if last is None or last[1] >= question.limits.stale_s:
            return None
        return RememberedImage(facts=last[0], age_s=last[1])
