# SPDX-License-Identifier: Apache-2.0

"""A number of places, shared by projects.

Must not know what a place is for. Uses `threading` only, which
cinder-scheduler turns into green threads when it runs under eventlet.
"""

import collections
import threading


class Places:
    """A limited number of places; one project gets at most half of them.

    The half also applies while no other project waits, because a call that
    hangs cannot be taken back for a later one. A free place goes to the
    project with the fewest places, and among equals to the one that has waited
    longest. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._taken: collections.Counter[str] = collections.Counter()
        # Projects that wait, in the order in which they came; the event says
        # that the place is theirs.
        self._waiting: list[tuple[str, threading.Event]] = []

    @property
    def taken(self) -> int:
        """Number of places that have not been given back."""
        with self._lock:
            return self._taken.total()

    def taken_by(self, project: str) -> int:
        """Number of places that a project has.

        :param project: its id.
        """
        with self._lock:
            return self._taken[project]

    def take(self, project: str, *, number: int, timeout_s: float) -> bool:
        """Take a place, and wait for one if necessary.

        :param project: id of the project that gets it.
        :param number: number of places; at least 1.
        :param timeout_s: maximum wait in seconds.
        :returns: whether a place was taken.
        """
        turn = project, threading.Event()
        with self._lock:
            self._number = number
            self._waiting.append(turn)
            self._hand_out()
        try:
            turn[1].wait(max(0.0, timeout_s))
        except BaseException:
            # The thread is killed (eventlet) and cannot give it back later.
            if self._end(turn):
                self.give_back(project)
            raise
        return self._end(turn)

    def _end(self, turn: tuple[str, threading.Event]) -> bool:
        """Wait no longer; whether the place was to be had."""
        with self._lock:
            # It may have become free at the last moment.
            if not turn[1].is_set():
                self._waiting.remove(turn)
            return turn[1].is_set()

    def give_back(self, project: str) -> None:
        """Leave a place to others.

        :param project: id of the project that took it.
        """
        with self._lock:
            self._taken[project] -= 1
            if not self._taken[project]:
                del self._taken[project]
            self._hand_out()

    def _hand_out(self) -> None:
        """Give free places to those who wait."""
        while self._taken.total() < self._number:
            turn = min(
                (
                    one
                    for one in self._waiting
                    if self._taken[one[0]] < max(1, self._number // 2)
                ),
                key=lambda one: self._taken[one[0]],
                default=None,
            )
            if turn is None:
                return
            self._waiting.remove(turn)
            self._taken[turn[0]] += 1
            turn[1].set()
