# SPDX-License-Identifier: Apache-2.0

"""Work that a thread of its own does once for all who ask for it meanwhile.

Must not know what the work is. Safe under native threads, and under eventlet.
"""

import collections.abc
import dataclasses
import threading
import time

from cinder_tiers.doors.threads import in_background

Clock = collections.abc.Callable[[], float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turn:
    """The work, done one time."""

    clock: Clock
    asked_at: float
    done: threading.Event = dataclasses.field(default_factory=threading.Event)

    def wait(self, timeout_s: float) -> bool:
        """Wait until it is done.

        :param timeout_s: seconds since it was first asked for; who comes
            later waits for what is left of them.
        :returns: whether it is done.
        """
        return self.done.wait(
            max(0.0, self.asked_at + timeout_s - self.clock())
        )


class SharedWork:
    """Work for which many ask at one time, and a thread that does it."""

    def __init__(
        self,
        name: str,
        work: collections.abc.Callable[[], None],
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        """Define the work; the thread is started with the first request.

        :param work: the work; its exceptions are logged.
        :param clock: returns seconds of a monotonic clock.
        """
        self._work = work
        self._clock = clock
        self._lock = threading.Lock()
        self._turn: Turn | None = None
        self._background = in_background.InBackground(
            name, self._do, queue_size=1
        )

    def ask(
        self, is_needed: collections.abc.Callable[[], bool] = lambda: True
    ) -> Turn | None:
        """Have it done soon, or share what is under way.

        :param is_needed: looked at when nothing is under way: what was may
            have ended since the caller found that it is needed.
        :returns: None when it is not needed any more.
        :raises RuntimeError: no thread can be started.
        """
        with self._lock:
            if self._turn is None:
                if not is_needed():
                    return None
                turn = Turn(clock=self._clock, asked_at=self._clock())
                self._background.leave(turn)
                self._turn = turn
            return self._turn

    def _do(self, turn: Turn) -> None:
        try:
            self._work()
        finally:
            with self._lock:
                self._turn = None
            turn.done.set()
