# SPDX-License-Identifier: Apache-2.0

"""Calls that may hang, held to a number.

Cinder's Glance client has no deadline for a whole call: without a configured
timeout it waits for ever, with one it retries. So a call runs in a thread of
its own, and who waits for it waits no longer than they like. Of what is called
it knows one thing: whether it looks an image up by its name. Then Glance lists
images, and a tenant may know how to make that hang. Uses `threading` only,
which cinder-scheduler turns into green threads when it runs under eventlet.
"""

import collections
import collections.abc
from concurrent import futures
import contextlib
import dataclasses
import threading
import typing

Result = typing.TypeVar('Result')


@dataclasses.dataclass(kw_only=True, eq=False)
class _Call:
    """What is called, and for whom."""

    project: str
    function: collections.abc.Callable[[], object]
    future: 'futures.Future[typing.Any]'
    #: Whether it looks an image up by its name.
    is_name_search: bool


class BoundedCalls:
    """Runs calls in threads of their own, so many at a time.

    Further calls wait in a queue that serves one project after the other. One
    project has at most half of the calls at any time, also while no other
    waits: a call that hangs cannot be taken back for who comes later. A call
    whose result is no longer waited for cannot be ended from outside: it
    counts as under way until it returns. Safe for use by many threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By project, all calls and the searches for a name among them.
        self._under_way: collections.Counter[str] = collections.Counter()
        self._name_searches: collections.Counter[str] = collections.Counter()
        self._max_calls = 0
        # Those that may begin and whose threads are still to be started.
        self._admitted: dict[futures.Future, _Call] = {}
        self._running: dict[futures.Future, _Call] = {}
        # Projects in the order in which they are served, each with its calls
        # in the order in which they came.
        self._waiting: dict[str, dict[futures.Future, _Call]] = {}

    @property
    def under_way(self) -> int:
        """Number of calls that have not returned, abandoned ones included."""
        with self._lock:
            return self._under_way.total()

    @property
    def waiting(self) -> int:
        """Number of calls that have not begun."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def would_wait(
        self, *, project: str, max_calls: int, is_name_search: bool = False
    ) -> bool:
        """Whether a call would have to wait in the queue, were it admitted.

        Parameters as of `admit`.
        """
        with self._lock:
            self._max_calls = max_calls
            return not self._may_begin(project, is_name_search)

    def admit(
        self,
        function: collections.abc.Callable[[], Result],
        *,
        project: str,
        max_calls: int,
        is_name_search: bool = False,
    ) -> 'futures.Future[Result]':
        """Take a call in, for now or for as soon as one is free.

        Never waits for another thread, so that it may be called with a lock
        held; a holder of none starts the call with `launch`.

        :param function: what to call.
        :param project: id of the project for which it is called.
        :param max_calls: number of calls that may be under way, this one
            included; at least 1.
        :param is_name_search: whether it looks an image up by its name.
        :returns: its result or error; running unless it waits in the queue.
        """
        future: futures.Future[Result] = futures.Future()
        call = _Call(
            project=project,
            function=function,
            future=future,
            is_name_search=is_name_search,
        )
        with self._lock:
            self._max_calls = max_calls
            if not self._may_begin(project, is_name_search):
                self._waiting.setdefault(project, {})[future] = call
                return future
            self._enter(call)
            self._admitted[future] = call
        future.set_running_or_notify_cancel()
        return future

    def launch(self, future: futures.Future) -> None:
        """Begin a call that was admitted, unless it waits in the queue.

        Under eventlet the start of a thread lets all others run first. Who
        held a lock meanwhile would make each of them wait for its turn, one
        turn of the hub after the other: seconds, on a busy scheduler.

        :param future: as `admit` returned it.
        :raises RuntimeError: no thread can be started; the call has failed.
        """
        with self._lock:
            call = self._admitted.pop(future, None)
        if call is None:
            return
        try:
            _start_thread(self._work, call)
        except BaseException as error:
            with self._lock:
                self._leave(call)
            future.set_exception(error)
            self._wake()
            raise

    def cancel(self, future: futures.Future, *, project: str) -> None:
        """Do not make a call that has not begun; others are left alone.

        :param future: as `start` returned it.
        :param project: as `start` got it.
        """
        with self._lock:
            calls = self._waiting.get(project, {})
            if calls.pop(future, None) is None:
                return
            if not calls:
                del self._waiting[project]
        future.cancel()

    def become_name_search(self, future: futures.Future) -> bool:
        """A call that has begun goes on to look an image up by its name.

        :param future: as `admit` returned it.
        :returns: whether it may; if not, there are as many as may be.
        """
        with self._lock:
            call = self._running[future]
            if not call.is_name_search:
                if not self._may_search(call.project):
                    return False
                call.is_name_search = True
                self._name_searches[call.project] += 1
            return True

    def _may_begin(self, project: str, is_name_search: bool) -> bool:
        return (
            self._under_way.total() < self._max_calls
            and self._under_way[project] < max(1, self._max_calls // 2)
            and (not is_name_search or self._may_search(project))
        )

    def _may_search(self, project: str) -> bool:
        return self._name_searches.total() < max(
            1, self._max_calls // 2
        ) and self._name_searches[project] < max(1, self._max_calls // 4)

    def _work(self, call: _Call) -> None:
        """Make a call, and those that waited for it to end."""
        following: _Call | None = call
        while following is not None:
            done = following
            result = error = None
            try:
                result = done.function()
            # A BaseException, too, belongs to the waiter for the result.
            except BaseException as caught:  # noqa: BLE001
                error = caught
            with self._lock:
                self._leave(done)
                following = self._next()
            if error is None:
                done.future.set_result(result)
            else:
                done.future.set_exception(error)
            # What left may have held up one by its project, and another by
            # being a search.
            self._wake()

    def _enter(self, call: _Call) -> None:
        self._under_way[call.project] += 1
        self._name_searches[call.project] += call.is_name_search
        self._running[call.future] = call

    def _leave(self, call: _Call) -> None:
        del self._running[call.future]
        for counts, number in (
            (self._under_way, 1),
            (self._name_searches, call.is_name_search),
        ):
            counts[call.project] -= number
            if not counts[call.project]:
                del counts[call.project]

    def _wake(self) -> None:
        """Begin a call that waits, if one may; holds no lock.

        Without a thread it waits on, and the next call that ends wakes it.
        """
        with self._lock:
            if self._first() is None:
                return
        # Whoever ends here has the next call in hand.
        with contextlib.suppress(Exception):
            _start_thread(self._work_for_queue)

    def _work_for_queue(self) -> None:
        with self._lock:
            call = self._next()
        if call is not None:
            self._wake()
            self._work(call)

    def _first(self) -> _Call | None:
        """The first of those that wait and may begin."""
        return next(
            (
                call
                for calls in self._waiting.values()
                for call in calls.values()
                if self._may_begin(call.project, call.is_name_search)
            ),
            None,
        )

    def _next(self) -> _Call | None:
        """The call that begins now, if one waits that may."""
        call = self._first()
        if call is None:
            return None
        calls = self._waiting.pop(call.project)
        del calls[call.future]
        if calls:
            # Its next turn is after that of the others.
            self._waiting[call.project] = calls
        self._enter(call)
        call.future.set_running_or_notify_cancel()
        return call


def _start_thread(
    work: collections.abc.Callable[..., None], *arguments: object
) -> None:
    """Let work be done in a thread of its own.

    :raises RuntimeError: no thread can be started.
    """
    threading.Thread(
        target=work, args=arguments, name='cinder-tiers-call', daemon=True
    ).start()
