# SPDX-License-Identifier: Apache-2.0

"""Pace of the steps of a repair.

Cinder copies as fast as it can, and no API slows it down. The only way is to
begin later: from the start of one step that moves data to the start of the
next, at least as much time passes as its bytes take at the allowed rate. A
volume counts with its full size, as its used size is not known.
"""

import collections.abc
import dataclasses
import threading
import time

from cinder_tiers.loop.repair import repair

#: How long a repair waits for tiers. A change of latency is said for an hour,
#: if it lasts so long; after that, it is what the tier has.
MOST_PAUSE_S = 2 * 3600.0
_POLL_S = 1.0
_SAY_EVERY_S = 60.0
_GIB = 2**30


@dataclasses.dataclass(kw_only=True)
class Pace:
    """Delay of steps, one after another."""

    #: Of data that move; None: any number.
    bytes_per_second: float | None = None
    #: Says why no step may begin now; empty if one may.
    trouble: collections.abc.Callable[[], str] = str
    most_pause_s: float = MOST_PAUSE_S
    poll_s: float = _POLL_S
    #: Why no step begins any more; empty as long as one may.
    never: str = ''

    def __post_init__(self) -> None:
        self._turn = threading.Lock()
        self._not_before = 0.0

    def wait(
        self,
        step: repair.RepairStep,
        *,
        is_ended: collections.abc.Callable[[], bool],
        say: collections.abc.Callable[[str], None],
    ) -> str:
        """Wait until a step may begin, or until the repair has ended.

        :param is_ended: called repeatedly; True if the step is no longer
            wanted.
        :param say: called with a line on what it waits for.
        :returns: why the step must not begin at all; empty if it may.
        """
        with self._turn:
            paused_at = said_at = None
            before = ''
            while not (self.never or is_ended()):
                now = time.monotonic()
                reason = self.trouble()
                if reason:
                    paused_at = now if paused_at is None else paused_at
                    if now - paused_at >= self.most_pause_s:
                        self.never = (
                            f'waited {self.most_pause_s / 60:.0f} min: '
                            f'{reason}'
                        )
                        break
                    words = f'paused: {reason}'
                elif step.moved_gib and now < self._not_before:
                    paused_at = None
                    reason = 'budget'
                    words = (
                        'waiting '
                        f'{self._not_before - now:.0f} s, so that no more '
                        'than --max-bytes-per-second move'
                    )
                else:
                    break
                if (
                    reason != before
                    or said_at is None
                    or now - said_at >= _SAY_EVERY_S
                ):
                    before, said_at = reason, now
                    say(words)
                time.sleep(self.poll_s)
            if before and not (self.never or is_ended()):
                say('continues')
            if self.bytes_per_second and step.moved_gib:
                self._not_before = (
                    time.monotonic()
                    + step.moved_gib * _GIB / self.bytes_per_second
                )
            return self.never
