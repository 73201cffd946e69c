# SPDX-License-Identifier: Apache-2.0

"""A circuit breaker: no more calls to who has failed again and again.

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
    """Counts failures in a row; from a number on it lets few calls through.

    It opens for a project whose calls fail, and for all only when the
    failures in a row are those of two projects or more: a project that can
    make its own calls fail stops itself. Private calls, which a tenant can
    make fail as it likes, are counted apart: they stop no others. While it is
    open one call in `retry_s` seconds is let through; the first that succeeds
    closes it.
    """

    def __init__(
        self, clock: collections.abc.Callable[[], float] = time.monotonic
    ) -> None:
        """A closed one.

        :param clock: seconds since any instant.
        """
        self._clock = clock
        self._of_all = _Row()
        # The projects in that row, until there are two.
        self._failed: set[str] = set()
        # A row for its private calls, and one for the others.
        self._of_project: dict[tuple[str, bool], _Row] = {}
        # A private call takes no attempt away from the others.
        self._last_private_attempt = 0.0
        self._threshold: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is open for all projects."""
        return (
            self._threshold is not None
            and self._of_all.failures >= self._threshold
            and len(self._failed) > 1
        )

    def admits(
        self,
        project: str,
        *,
        failures: int,
        retry_s: float,
        is_private: bool = False,
        would_wait: bool = False,
    ) -> bool:
        """Whether a call may be made now; the caller then makes it.

        :param project: id of the project for which it is made.
        :param failures: failures in a row that open it.
        :param retry_s: seconds between two attempts while it is open.
        :param is_private: whether its failure would not count for others.
        :param would_wait: whether it would not begin at once. Such a call is
            no attempt while the breaker is open: it may never be made, and
            others would be kept from theirs meanwhile.
        """
        self._threshold = failures
        now = self._clock()
        own = self._of_project.get((project, is_private))
        # The row that closes it to this project.
        closed = own if own is not None and own.failures >= failures else None
        if would_wait and (closed is not None or self.is_open):
            return False
        if closed is not None and now - closed.last_attempt < retry_s:
            return False
        if self.is_open:
            last = (
                self._last_private_attempt
                if is_private
                else self._of_all.last_attempt
            )
            if now - last < retry_s:
                return False
            if is_private:
                self._last_private_attempt = now
            else:
                self._of_all.last_attempt = now
        if closed is not None:
            closed.last_attempt = now
        return True

    def succeeded(self, project: str) -> None:
        """A call has succeeded.

        :param project: id of the project for which it was made.
        """
        if self.is_open:
            # What failed for all is not a project's own.
            self._of_project.clear()
        for is_private in (False, True):
            self._of_project.pop((project, is_private), None)
        self._of_all = _Row()
        self._failed.clear()

    def failed(self, project: str, *, is_private: bool = False) -> None:
        """A call has failed.

        :param project: id of the project for which it was made.
        :param is_private: whether the failure counts for the project's private
            calls only.
        """
        now = self._clock()
        own = self._of_project.pop((project, is_private), None) or _Row()
        if len(self._of_project) >= _MOST_PROJECTS:
            # The one whose last failure is the longest ago.
            del self._of_project[next(iter(self._of_project))]
        self._of_project[project, is_private] = own
        own.failures += 1
        own.last_attempt = self._last_private_attempt = now
        if is_private:
            return
        self._of_all.failures += 1
        self._of_all.last_attempt = now
        if len(self._failed) < 2:
            self._failed.add(project)
