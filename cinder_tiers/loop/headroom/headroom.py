# SPDX-License-Identifier: Apache-2.0

"""Number of further volumes that a tier carries within an expectation.

``(load of the curve at which it breaks - existing load) / load of a volume``,
rounded down.  The existing load can be the sold load, with all volumes at
their limit at once, or the current load; the two answer different questions
and are never mixed.  New volumes count with their full limit.

Pure.  Must not know where loads are read.
"""

import dataclasses
from dataclasses import dataclass
import enum
import math

from cinder_tiers.loop.headroom import load


class RoomFinding(enum.Enum):
    """Findings on the headroom."""

    ROOM = 'room'
    NONE_LEFT = 'none left'
    CANNOT_TELL = 'cannot tell'


@dataclass(frozen=True, kw_only=True)
class Headroom:
    """An answer; numbers of volumes below 0 are too many by so many."""

    finding: RoomFinding
    #: by the mean of the load; None: not known
    volumes: int | None = None
    #: by the lower end of its interval, or by a load that was kept where only
    #: that is known
    at_least: int | None = None
    #: by the upper end of its interval, or by a load that was too much where
    #: only that is known
    at_most: int | None = None
    #: why it is not known, or not exactly; else empty
    reason: str = ''


def headroom(
    within: load.GuestsLoad, *, in_use_iops: float, volume_iops: float
) -> Headroom:
    """Return the number of further volumes.

    :param within: load at which the expectation breaks
    :param in_use_iops: existing load of the same direction
    :param volume_iops: load of each further volume, greater than 0
    """
    found = _of_load(within, in_use_iops, volume_iops)
    if within.contradiction:
        return dataclasses.replace(
            found, finding=RoomFinding.CANNOT_TELL, reason=within.contradiction
        )
    return found


def _of_load(
    within: load.GuestsLoad, in_use_iops: float, volume_iops: float
) -> Headroom:
    """Return the headroom of a load, ignoring contradictions."""

    def fitting(iops: float | None) -> int | None:
        if iops is None:
            return None
        return math.floor((iops - in_use_iops) / volume_iops)

    if within.iops is None:
        low = fitting(within.at_least_iops)
        high = fitting(within.at_most_iops)
        # One repeat has no interval, whatever it shows.
        return Headroom(
            finding=_finding(low, high)
            if within.repeats > 1
            else RoomFinding.CANNOT_TELL,
            at_least=low,
            at_most=high,
            reason=within.reason,
        )
    volumes = fitting(within.iops.mean)
    if not within.has_interval:
        return Headroom(
            finding=RoomFinding.CANNOT_TELL,
            volumes=volumes,
            reason=within.reason,
        )
    low, high = fitting(within.iops.low), fitting(within.iops.high)
    finding = _finding(low, high)
    return Headroom(
        finding=finding,
        volumes=volumes,
        at_least=low,
        at_most=high,
        reason='the interval includes no room'
        if finding is RoomFinding.CANNOT_TELL
        else '',
    )


def _finding(low: int | None, high: int | None) -> RoomFinding:
    """Return the finding for bounds of the number of volumes, or None."""
    if low is not None and low > 0:
        return RoomFinding.ROOM
    if high is not None and high < 1:
        return RoomFinding.NONE_LEFT
    return RoomFinding.CANNOT_TELL
