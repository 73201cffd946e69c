# SPDX-License-Identifier: Apache-2.0

"""Threads that read guests, so that one that does not answer delays no other.

How many there are is bounded, and each guest is read by one of them at a
time.  What takes long leaves its place to others: it is counted among the
slow ones, which have places of their own.  This module must not know what is
read, nor what it means.
"""

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import threading
import time
from typing import Any

READERS = 8
REQUESTS_PER_SECOND = 50

# A console is there within a second; Nova gives up on a compute host that
# does not answer after 60 s (oslo.messaging, rpc_response_timeout).
_SLOW_SECONDS = 2
# For each reader: how many slow guests are waited for, at most, and while how
# many of them those that were slow before are tried again.  A compute host
# that dies takes dozens of guests with it; that they are not tried all the
# time spares Nova's workers, each of which waits as long.
_SLOW_PLACES = 8
_TRIED_AGAIN = 2


class RequestPace:
    """Pace of requests, for all threads together."""

    def __init__(
        self,
        per_second: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create a pace; the first request need not wait.

        :param per_second: maximum requests per second, more than 0
        :param clock: returns seconds of a monotonic clock
        :param sleep: waits for a number of seconds
        """
        self._step_seconds = 1 / per_second
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = clock()

    def wait(self) -> None:
        """Return when it is this caller's turn, in the order of calls."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._step_seconds
        if turn > now:
            self._sleep(turn - now)


@dataclasses.dataclass(kw_only=True)
class _UnderWay:
    future: futures.Future
    began: float
    slow: bool


class Readers:
    """Reads many guests at once, each by one thread at a time."""

    def __init__(
        self,
        guests: Sequence[str],
        *,
        readers: int = READERS,
        slow_seconds: float = _SLOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the readers; threads are started when needed.

        :param guests: names of all guests to read
        :param readers: number of guests that are read at once, from 1; in
            addition, up to 8 times as many slow ones are waited for
        :param slow_seconds: a guest that takes longer is slow until it no
            longer does
        :param clock: returns seconds of a monotonic clock
        """
        self._order = {guest: place for place, guest in enumerate(guests)}
        self._readers = readers
        self._slow_seconds = slow_seconds
        self._clock = clock
        self._executor = futures.ThreadPoolExecutor(
            readers * (1 + _SLOW_PLACES),
            thread_name_prefix='cinder-tiers-read',
        )
        self._under_way: dict[str, _UnderWay] = {}
        self._slow: set[str] = set()

    def is_under_way(self, guest: str) -> bool:
        """Return whether a job of the guest has not been returned yet."""
        return guest in self._under_way

    def start(self, guest: str, job: Callable[[], Any]) -> bool:
        """Run a job of a guest in a thread, if there is a place for it now.

        :param job: must touch nothing that the caller or a job of another
            guest changes
        :returns: whether it was started; not if one of the guest is under way
        """
        self._move_overdue()
        slow = guest in self._slow
        places = self._readers * (_TRIED_AGAIN if slow else 1)
        if guest in self._under_way or self._taken(slow=slow) >= places:
            return False
        self._under_way[guest] = _UnderWay(
            future=self._executor.submit(job),
            began=self._clock(),
            slow=slow,
        )
        return True

    def finished(self, seconds: float) -> list[tuple[str, futures.Future]]:
        """Return the finished jobs, in the order of guests.

        :param seconds: how long to wait for a job if none has ended; always
            the full time if none is running
        """
        waited_for = {each.future for each in self._under_way.values()}
        if waited_for:
            futures.wait(waited_for, seconds, futures.FIRST_COMPLETED)
        else:
            time.sleep(seconds)
        done = sorted(
            (
                guest
                for guest, each in self._under_way.items()
                if each.future.done()
            ),
            key=self._order.__getitem__,
        )
        return [(guest, self._end(guest)) for guest in done]

    def close(self) -> None:
        """Start nothing more; what hangs ends with its own time-out."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _taken(self, *, slow: bool) -> int:
        return sum(each.slow == slow for each in self._under_way.values())

    def _move_overdue(self) -> None:
        """Move overdue guests to the places of slow ones, as far as free."""
        latest = self._clock() - self._slow_seconds
        free = self._readers * _SLOW_PLACES - self._taken(slow=True)
        for guest, each in self._under_way.items():
            if free > 0 and not each.slow and each.began < latest:
                each.slow = True
                self._slow.add(guest)
                free -= 1

    def _end(self, guest: str) -> futures.Future:
        each = self._under_way.pop(guest)
        if self._clock() - each.began > self._slow_seconds:
            self._slow.add(guest)
        else:
            self._slow.discard(guest)
        return each.future
