# SPDX-License-Identifier: Apache-2.0

"""The faults of one slot, each at its time.

Nothing happens by itself: whoever runs the command that measures calls `step`
now and then. Must not know what a fault is, nor how it is made.
"""

import collections.abc
import dataclasses
import math
import time
import typing

from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.loop.fault import fault as faults

#: Between two looks at the health of a cluster, in seconds.
LOOK_EVERY_S = 2.0


class FaultMeans(typing.Protocol):
    """Executor of faults."""

    def objections(
        self, targets: collections.abc.Sequence[faults.Target]
    ) -> collections.abc.Sequence[str]:
        """Return objections to faults at this moment, a line for each."""

    def begin(self, target: faults.Target) -> None:
        """Makes a fault."""

    def is_over(self, target: faults.Target) -> bool:
        """Return whether a fault has ended by itself."""

    def end(self, target: faults.Target) -> None:
        """Undoes a fault; may be repeated."""

    def health(self) -> cluster_facts.Health:
        """Return the health of the cluster."""


@dataclasses.dataclass(kw_only=True)
class _Course:
    """A fault, and how far it is."""

    target: faults.Target
    record: faults.FaultRecord
    #: Whether something may have to be undone.
    is_open: bool = False

    @property
    def waits(self) -> bool:
        return self.record.began is None and not self.record.problem

    def note(self, **fields: typing.Any) -> None:
        self.record = dataclasses.replace(self.record, **fields)

    def complain(self, problem: str) -> None:
        if problem not in self.record.problem:
            self.note(
                problem='; '.join(filter(None, [self.record.problem, problem]))
            )


def _steady() -> collections.abc.Callable[[], float]:
    """The seconds since the epoch, by a monotonic clock.

    A fault must not last for an hour because the host's clock was set back by
    one, nor be said to have lasted so long because it was set forward.
    """
    offset = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return lambda: offset + time.clock_gettime(time.CLOCK_BOOTTIME)


class Timeline:
    """Faults of one slot.

    :param targets: targets in the order of the file.
    :param counts_from: `fault.COMMAND` or `fault.ANNOUNCEMENT`.
    :param announced: returns the moment that the command announced, in seconds
        since the epoch; None: not yet.
    :param clock: returns seconds since the epoch; None: the host's time at
        this moment plus the time elapsed since, unaffected by clock changes.
    """

    def __init__(
        self,
        targets: collections.abc.Iterable[faults.Target],
        *,
        means: FaultMeans,
        counts_from: str,
        announced: collections.abc.Callable[[], float | None],
        clock: collections.abc.Callable[[], float] | None = None,
    ) -> None:
        self._means = means
        self._clock = clock = clock or _steady()
        self._announced = announced
        self._looked_at = -math.inf
        self._zero = clock() if counts_from == faults.COMMAND else None
        self._courses = [
            _Course(
                target=target,
                record=faults.FaultRecord(
                    name=target.fault.name,
                    kind=target.fault.kind,
                    target=str(target),
                ),
            )
            for target in targets
        ]

    @property
    def records(self) -> tuple[faults.FaultRecord, ...]:
        """Return the records of the faults so far, in order of the file."""
        return tuple(one.record for one in self._courses)

    def step(self) -> None:
        """Ends and begins what is due.

        What goes wrong is noted; to end a fault is tried again.
        """
        if self._zero is None:
            self._zero = self._read_announced()
        for one in self._courses:
            if one.is_open and self._is_due_to_end(one):
                self._end(one)
        for one in self._courses:
            if (
                one.waits
                and self._zero is not None
                and self._clock() >= self._zero + one.target.fault.at_s
                and not self._is_in_the_way(one)
            ):
                self._begin(one)
        self._look()

    def finish(self) -> None:
        """Ends what has not ended, since the command has.

        :raises errors.TiersError: a fault cannot be undone; all others are.
        """
        for one in self._courses:
            if one.waits:
                one.complain(
                    'not made: the command did not announce the time that '
                    'at_seconds counts from'
                    if self._zero is None
                    else 'not made: the command ended before its time'
                )
            if one.is_open:
                if not self._is_due_to_end(one):
                    one.complain('ended early, because the command ended')
                self._end(one)
        left = [one for one in self._courses if one.is_open]
        if left:
            raise errors.ActionFailed(
                *(f'{one.target.name}: {one.record.problem}' for one in left)
            )

    def wait_for_health(
        self,
        seconds: float,
        *,
        is_to_stop: collections.abc.Callable[[], bool],
        pause: collections.abc.Callable[[float], None] = time.sleep,
    ) -> None:
        """Wait until nothing is left to recover.

        Records what remains after that.

        :param seconds: maximum wait.
        :param is_to_stop: called while waiting; True ends the wait.
        :raises errors.TiersError: Ceph does not answer or refuses.
        """
        if all(one.record.ended is None for one in self._courses):
            return
        until = self._clock() + seconds
        while True:
            found = self._means.health()
            if found.is_ok:
                self._note_health()
                return
            if is_to_stop() or self._clock() >= until:
                break
            pause(LOOK_EVERY_S)
        for one in self._courses:
            if one.record.ended is not None and one.record.healthy is None:
                one.complain(
                    f'{self._clock() - one.record.ended:.0f} s after it had '
                    f'ended, the cluster had {found}'
                )

    def _read_announced(self) -> float | None:
        try:
            return self._announced()
        except errors.TiersError as error:
            for one in self._courses:
                if one.waits:
                    one.complain(f'not made: {error}')
            return None

    def _is_due_to_end(self, one: _Course) -> bool:
        began = one.record.began
        # One that could not be begun is undone as soon as possible.
        if began is None or one.record.problem:
            return True
        if self._clock() >= began + one.target.fault.for_s:
            return True
        try:
            return self._means.is_over(one.target)
        # It is looked at again, and ends when its time is up.
        except errors.TiersError:
            return False

    def _is_in_the_way(self, one: _Course) -> bool:
        """Return whether a fault of an OSD must wait for an open one."""
        return one.target.fault.kind in faults.OF_OSDS and any(
            other.is_open and other.target.fault.kind in faults.OF_OSDS
            for other in self._courses
        )

    def _begin(self, one: _Course) -> None:
        try:
            objections = self._means.objections([one.target])
        except errors.TiersError as error:
            objections = [str(error)]
        if objections:
            one.complain(f'not made: {"; ".join(objections)}')
            return
        # From here on it may have to be undone, whatever is answered.
        one.is_open = True
        began = self._clock()
        try:
            self._means.begin(one.target)
        except errors.TiersError as error:
            one.complain(f'not made: {error}')
            self._end(one)
            return
        one.note(began=began)

    def _end(self, one: _Course) -> None:
        try:
            self._means.end(one.target)
        except errors.TiersError as error:
            one.complain(str(error))
            return
        one.is_open = False
        if one.record.began is not None:
            one.note(ended=self._clock())

    def _look(self) -> None:
        """Notes when the cluster is in order after a fault."""
        if (
            any(one.is_open for one in self._courses)
            or all(
                one.record.ended is None or one.record.healthy is not None
                for one in self._courses
            )
            or self._clock() < self._looked_at + LOOK_EVERY_S
        ):
            return
        self._looked_at = self._clock()
        try:
            is_ok = self._means.health().is_ok
        except errors.TiersError:
            return  # It is looked at again.
        if is_ok:
            self._note_health()

    def _note_health(self) -> None:
        for one in self._courses:
            if one.record.ended is not None and one.record.healthy is None:
                one.note(healthy=self._clock())
