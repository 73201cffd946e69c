# SPDX-License-Identifier: Apache-2.0

"""A circuit breaker: no more calls for who has failed again and again.

Must not know who is called nor what an error is. Not safe by itself for many
threads: its user holds a lock.
"""

import collections.abc
import dataclasses
import time

_MOST_PROJECTS = 10000


@dataclasses.dataclass(kw_only=True)
class _Row:
    """Failures in a row."""

    failures: int = 0
    last_attempt: float = 0.0


class CircuitBreaker:
    """Counts the failures in a row of each project, and then stops it.

    No project stops another, so that nobody can take the tiers away from
    others by calls that fail. A project that is stopped may try once in a
    while; the first call that succeeds ends it.
    """

    def __init__(
        self, clock: collections.abc.Callable[[], float] = time.monotonic
    ) -> None:
        """Create a breaker that stops no project.

        :param clock: seconds since any instant.
        """
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._threshold = 1
        self._last_success = float('-inf')

    @property
    def stops_several(self) -> bool:
        """Return whether two projects or more are stopped, without success."""
        return (
            sum(
                row.failures >= self._threshold
                and row.last_attempt > self._last_success
                # A copy: who asks holds no lock, and must not wait for one.
                for row in list(self._rows.values())
            )
            > 1
        )

    def admits(self, project: str, *, failures: int, retry_s: float) -> bool:
        """Return whether a call may be made now; the caller then makes it.

        :param project: id of the project for which it is made.
        :param failures: failures in a row that stop the project.
        :param retry_s: seconds between two attempts of one that is stopped.
        """
        self._threshold = failures
        row = self._rows.get(project)
        if row is None or row.failures < failures:
            return True
        if self._clock() - row.last_attempt < retry_s:
            return False
        row.last_attempt = self._clock()
        return True

    def succeeded(self, project: str) -> None:
        """A call has succeeded.

        :param project: id of the project for which it was made.
        """
        self._last_success = self._clock()
        self._rows.pop(project, None)

    def failed(self, project: str) -> None:
        """A call has failed.

        :param project: id of the project for which it was made.
        """
        row = self._rows.pop(project, None) or _Row()
        if len(self._rows) >= _MOST_PROJECTS:
            # The one whose last failure is the longest ago.
            del self._rows[next(iter(self._rows))]
        self._rows[project] = row
        row.failures += 1
        row.last_attempt = self._clock()
