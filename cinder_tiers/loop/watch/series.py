# SPDX-License-Identifier: Apache-2.0

"""The series of a tier that is watched, and its form in a file.

A window is some seconds of paced I/Os of one tier, with what its cluster
reported at the end of it. Latencies are kept one by one: an expectation is
about percentiles, which cannot be had from those of windows.

Pure. Must not know who measures, nor where the file is. What is read may be
of another user: it is checked, and bounded.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import fields
from dataclasses import replace
import functools
import itertools
import math
import re
import statistics

from cinder_tiers.domain import record

#: Of the file's format.
VERSION = 1
#: Of I/Os, as expectations have them.
DIRECTIONS = ('write', 'read')
#: A window, in seconds.
WINDOW_S = 20.0
#: Kept of a tier: eight hours.
MOST_WINDOWS = 1440
#: Changes kept of a tier.
MOST_CHANGES = 100
#: Age of the oldest hour kept, in hours: a week, and one for that beside it.
OLDEST_HOUR = 7 * 24 + 1
#: Hours kept of both directions.
MOST_HOURS = len(DIRECTIONS) * (OLDEST_HOUR + 1)
#: Latencies of a direction in a window, and entries of a list or mapping in
#: it, at most.
MOST_VALUES = 1000
#: Seconds, milliseconds, and what else is counted, are below.
_BEYOND = 1e15
_RANGE = re.compile('([0-9]{1,6})(?:-([0-9]{1,6}))?', re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Status:
    """State of a cluster as reported at the end of a window.

    A fact that could not be read is None, and is never compared.
    """

    #: health checks, such as OSD_DOWN or SLOW_OPS
    checks: tuple[str, ...] | None = None
    #: placement groups of the cluster that recover or backfill
    recovering: int | None = None
    #: placement groups of the cluster that are scrubbed, deep or not
    scrubbing: int | None = None
    #: OSDs that are up, as of `ranges`: a cluster may have thousands
    osds_up: tuple[str, ...] | None = None
    #: {OSD: commit latency in ms} as `osd perf` has it, of the slowest
    osd_ms: Mapping[str, float] | None = None
    #: median of all OSDs, in ms; None: all are in `osd_ms`
    osd_median_ms: float | None = None
    #: I/Os in a second of clients of the tier's pools, the probe's among them
    client_iops: float | None = None
    #: {RBD image: its I/Os in a second}, of the busiest
    image_iops: Mapping[str, float] | None = None
    #: version of the configuration that the monitors keep
    config_version: int | None = None
    #: names of the options that this version changed
    config_names: tuple[str, ...] | None = None
    #: {pool and option: value} of the tier's pools
    pool_options: Mapping[str, str] | None = None


def ranges(ids: Iterable[int]) -> tuple[str, ...]:
    """Numbers as ranges, in their order.

    >>> ranges([3, 0, 1, 2, 7])
    ('0-3', '7')
    """
    found: list[list[int]] = []
    for one in sorted(set(ids)):
        if found and found[-1][1] == one - 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    return tuple(
        str(first) if first == last else f'{first}-{last}'
        for first, last in found
    )


def ids_of(found: Iterable[str]) -> set[int]:
    """The numbers of `ranges`.

    >>> sorted(ids_of(('0-3', '7')))
    [0, 1, 2, 3, 7]
    """
    ids: set[int] = set()
    for one in found:
        first, _, last = one.partition('-')
        ids.update(range(int(first), int(last or first) + 1))
    return ids


@dataclass(frozen=True, kw_only=True)
class TierWindow:
    """Measurements of a tier over some seconds."""

    #: seconds since the epoch
    began_at: float
    #: latency of each completed write, in ms
    write_ms: tuple[float, ...] = ()
    #: latency of each completed read, in ms
    read_ms: tuple[float, ...] = ()
    #: how long an I/O was without completion at the end, in seconds; 0: none
    pending_s: float = 0.0
    #: its direction; empty without one
    pending: str = ''
    #: I/Os that ended with an error
    failed: int = 0
    #: None: it was not asked for
    status: Status | None = None

    def latencies_ms(
        self, direction: str, *, following: 'TierWindow | None' = None
    ) -> tuple[float, ...]:
        """Return the latency of each I/O; of a pending one, its time so far.

        That is a lower bound of its latency.

        :param following: the next window, if an I/O that it contains as well
            must be left out here
        """
        found = self.write_ms if direction == 'write' else self.read_ms
        if self.pending != direction:
            return found
        pending_ms = self.pending_s * 1000
        # One I/O is under way at a time, so that it is the longest of the next
        # window, unless it failed or the watch was started again.
        if following is not None and pending_ms <= max(
            following.latencies_ms(direction), default=-1.0
        ):
            return found
        return (*found, pending_ms)

    def median_ms(self, direction: str) -> float | None:
        """Median latency; None without an I/O."""
        found = self.latencies_ms(direction)
        return statistics.median(found) if found else None

    @functools.cached_property
    def _levels(self) -> dict[str, float | None]:
        medians = {each: self.median_ms(each) for each in DIRECTIONS}
        return {
            each: None if found is None else math.log(max(found, 1e-3))
            for each, found in medians.items()
        }

    def level(self, direction: str) -> float | None:
        """Logarithm of the median latency in ms; None without an I/O."""
        return self._levels[direction]


def latencies_ms(
    windows: Sequence[TierWindow], direction: str
) -> Iterator[tuple[float, ...]]:
    """Yield the latencies of each window, with each I/O once.

    An I/O that hangs for several windows is in the latest of them.

    :param windows: successive windows
    """
    for window, following in itertools.zip_longest(windows, windows[1:]):
        yield window.latencies_ms(direction, following=following)


@dataclass(frozen=True, kw_only=True)
class LevelChange:
    """A change of the latency that was found."""

    #: write or read
    direction: str
    #: when the first window on the new level began, seconds since the epoch
    since: float
    #: median latency before it
    before_ms: float
    #: median latency from it on
    after_ms: float
    #: what else changed at the same time, nearest first
    circumstances: tuple[str, ...] = ()
    #: when the window began in which it was found; None: not known, as of a
    #: series of earlier releases
    found_at: float | None = record.omitted()

    @property
    def is_worse(self) -> bool:
        """Return whether the latency is greater than before."""
        return self.after_ms > self.before_ms


@dataclass(frozen=True, kw_only=True)
class Hour:
    """An hour of a direction."""

    #: write or read
    direction: str
    #: of the hour, since the epoch
    number: int
    #: the highest latency that nearly all windows of a short span had
    highest_ms: float
    #: and of a long one
    lasting_ms: float
    #: the lowest level of a short span
    lowest_ms: float


@dataclass(frozen=True, kw_only=True)
class Series:
    """Stored data of a tier."""

    tier: str
    #: of the tier, first the one that Cinder names
    pools: tuple[str, ...]
    #: in order of time
    windows: tuple[TierWindow, ...] = ()
    #: in order of the time at which they were found
    changes: tuple[LevelChange, ...] = ()
    #: {expectation that is not met: since when, seconds since the epoch}
    broken_since: Mapping[str, float] = field(default_factory=dict)
    #: of the last week, in order of time; None: a series of earlier releases
    hours: tuple[Hour, ...] | None = record.omitted()

    def last_change(self, direction: str) -> LevelChange | None:
        """The latest change of reads or writes; None without one."""
        for change in reversed(self.changes):
            if change.direction == direction:
                return change
        return None


def write(series: Series) -> str:
    """The text of a file.

    Of windows, changes and hours, the oldest are left out if there are too
    many.
    """
    kept = replace(
        series,
        windows=series.windows[-MOST_WINDOWS:],
        changes=series.changes[-MOST_CHANGES:],
        hours=series.hours and series.hours[-MOST_HOURS:],
    )
    return record.dumps(kept, version=VERSION)


def read(text: str | bytes) -> Series:
    """The series of a text.

    :raises ValueError: it is none; the message says why
    """
    found = record.loads(Series, text, version=VERSION)
    _check(found, windows=MOST_WINDOWS, changes=MOST_CHANGES, hours=MOST_HOURS)
    for window in found.windows:
        _check(window)
        if window.pending not in ('', *DIRECTIONS):
            raise ValueError('pending: expected write, read or nothing')
        if window.status is not None:
            _check(window.status)
            _check_ranges(window.status.osds_up or ())
    for each in (*found.changes, *(found.hours or ())):
        _check(each)
        if each.direction not in DIRECTIONS:
            raise ValueError('direction: expected write or read')
    return found


def _check(
    value: Series | TierWindow | Status | LevelChange | Hour, **most: int
) -> None:
    """Check the numbers of a record, and the lengths of its fields.

    :param most: maximum length of a field, if that is not MOST_VALUES
    :raises ValueError: a number is negative or too large, or a field has too
        many entries
    """
    for name in (one.name for one in fields(value)):
        found = getattr(value, name)
        entries = found.values() if isinstance(found, Mapping) else found
        if not isinstance(found, Mapping | tuple):
            entries = (found,)
        elif len(found) > most.get(name, MOST_VALUES):
            raise ValueError(f'{name}: too many entries, {len(found)}')
        if any(
            isinstance(each, int | float) and not 0 <= each < _BEYOND
            for each in entries
        ):
            raise ValueError(f'{name}: expected numbers of 0 to 10^15')


def _check_ranges(found: Iterable[str]) -> None:
    before = -1
    for one in found:
        match = _RANGE.fullmatch(one)
        first, last = match.groups() if match else ('', None)
        # In their order, they are no more than the last of them.
        if not match or not before < int(first) <= int(last or first):
            raise ValueError('osds_up: expected ranges in their order')
        before = int(last or first)
