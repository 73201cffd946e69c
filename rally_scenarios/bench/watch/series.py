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
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from dataclasses import fields
import itertools
import json
import math
import re
import statistics

from cinder_tiers.domain import errors

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
#: Latencies of a direction in a window, and entries of a list or mapping in
#: it, at most.
MOST_VALUES = 1000
_RANGE = re.compile('([0-9]{1,6})(?:-([0-9]{1,6}))?', re.ASCII)


class SeriesError(errors.LinesError, ValueError):
    """A text is no series."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a cluster reported at the end of a window.

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
class Window:
    """Some seconds of a tier."""

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
        self, direction: str, *, following: 'Window | None' = None
    ) -> tuple[float, ...]:
        """Of each I/O; of one without completion, how long it is under way.

        That is the least that its latency will be.

        :param following: the next window, if an I/O that it has as well is to
            be left out here
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

    def level(self, direction: str) -> float | None:
        """Logarithm of the median latency in ms; None without an I/O."""
        found = self.median_ms(direction)
        return None if found is None else math.log(max(found, 1e-3))


def latencies_ms(
    windows: Sequence[Window], direction: str
) -> Iterator[tuple[float, ...]]:
    """Of the I/Os of each window, each I/O once.

    One that hangs for several windows is in the latest of them.

    :param windows: that follow one another
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

    @property
    def is_worse(self) -> bool:
        """Whether the latency is greater than before."""
        return self.after_ms > self.before_ms


@dataclass(frozen=True, kw_only=True)
class Series:
    """All that is kept of a tier."""

    tier: str
    #: of the tier, first the one that Cinder names
    pools: tuple[str, ...]
    #: in order of time
    windows: tuple[Window, ...] = ()
    #: in order of the time at which they were found
    changes: tuple[LevelChange, ...] = ()
    #: {expectation that is not met: since when, seconds since the epoch}
    broken_since: Mapping[str, float] = field(default_factory=dict)

    def last_change(self, direction: str) -> LevelChange | None:
        """The latest change of reads or writes; None without one."""
        for change in reversed(self.changes):
            if change.direction == direction:
                return change
        return None


def write(series: Series) -> str:
    """The text of a file.

    The oldest windows and changes are left out where there are too many.
    """
    document = {
        'version': VERSION,
        **asdict(series),
        'windows': [
            _document(window) for window in series.windows[-MOST_WINDOWS:]
        ],
        'changes': [
            asdict(change) for change in series.changes[-MOST_CHANGES:]
        ],
    }
    return json.dumps(document, allow_nan=False, separators=(',', ':')) + '\n'


def _document(window: Window) -> dict:
    found = asdict(window)
    if window.status is not None:
        found['status'] = {
            name: value
            for name, value in found['status'].items()
            if value is not None
        }
    return found


def read(text: str) -> Series:
    """The series of a text.

    :raises SeriesError: it is none; the message says why
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SeriesError(f'no JSON: {error}') from error
    if not isinstance(document, dict) or document.get('version') != VERSION:
        raise SeriesError(f'expected an object with version {VERSION}')
    return Series(
        tier=_text(document, 'tier'),
        pools=tuple(_texts(document, 'pools')),
        windows=tuple(
            _window(each)
            for each in _list(document, 'windows', most=MOST_WINDOWS)
        ),
        changes=tuple(
            _change(each)
            for each in _list(document, 'changes', most=MOST_CHANGES)
        ),
        broken_since=_numbers_by_name(document, 'broken_since'),
    )


def _window(document: object) -> Window:
    _mapping(document, 'a window')
    status = document.get('status')
    if document.get('pending') not in ('', *DIRECTIONS):
        raise SeriesError('pending of a window is not a direction')
    return Window(
        began_at=_number(document, 'began_at'),
        write_ms=tuple(_numbers(document, 'write_ms')),
        read_ms=tuple(_numbers(document, 'read_ms')),
        pending_s=_number(document, 'pending_s'),
        pending=document['pending'],
        failed=int(_number(document, 'failed')),
        status=None if status is None else _status(status),
    )


def _status(document: object) -> Status:
    _mapping(document, 'a status')
    readers = {
        'checks': lambda name: tuple(_texts(document, name)),
        'recovering': lambda name: int(_number(document, name)),
        'scrubbing': lambda name: int(_number(document, name)),
        'osds_up': lambda name: _ranges(document, name),
        'osd_ms': lambda name: _numbers_by_name(document, name),
        'osd_median_ms': lambda name: _number(document, name),
        'client_iops': lambda name: _number(document, name),
        'image_iops': lambda name: _numbers_by_name(document, name),
        'config_version': lambda name: int(_number(document, name)),
        'config_names': lambda name: tuple(_texts(document, name)),
        'pool_options': lambda name: _texts_by_name(document, name),
    }
    return Status(
        **{
            each.name: readers[each.name](each.name)
            for each in fields(Status)
            if document.get(each.name) is not None
        }
    )


def _ranges(document: Mapping, name: str) -> tuple[str, ...]:
    """Numbers as of `ranges`; a former release wrote each of them."""
    found = _list(document, name)
    if all(map(_is_number, found)):
        return ranges(map(int, found))
    before = -1
    for one in found:
        match = _RANGE.fullmatch(one) if isinstance(one, str) else None
        first, last = match.groups() if match else ('', None)
        # In their order, they are no more than the last of them.
        if not match or not before < int(first) <= int(last or first):
            raise SeriesError(f'{name} is not a list of ranges')
        before = int(last or first)
    return tuple(found)


def _change(document: object) -> LevelChange:
    _mapping(document, 'a change')
    if document.get('direction') not in DIRECTIONS:
        raise SeriesError('the direction of a change is none')
    return LevelChange(
        direction=document['direction'],
        since=_number(document, 'since'),
        before_ms=_number(document, 'before_ms'),
        after_ms=_number(document, 'after_ms'),
        circumstances=tuple(_texts(document, 'circumstances')),
    )


def _mapping(value: object, what: str) -> Mapping:
    if not isinstance(value, dict):
        raise SeriesError(f'{what} is not an object')
    return value


def _list(
    document: Mapping, name: str, *, most: int = MOST_VALUES
) -> Sequence:
    found = document.get(name)
    if not isinstance(found, list) or len(found) > most:
        raise SeriesError(f'{name} is not a list of at most {most} entries')
    return found


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < 1e15
    )


def _number(document: Mapping, name: str) -> float:
    found = document.get(name)
    if not _is_number(found):
        raise SeriesError(f'{name} is not a number of 0 or more')
    return found


def _numbers(document: Mapping, name: str) -> Sequence[float]:
    found = _list(document, name)
    if not all(map(_is_number, found)):
        raise SeriesError(f'{name} is not a list of numbers')
    return found


def _text(document: Mapping, name: str) -> str:
    found = document.get(name)
    if not isinstance(found, str):
        raise SeriesError(f'{name} is not a text')
    return found


def _texts(document: Mapping, name: str) -> Sequence[str]:
    found = _list(document, name)
    if not all(isinstance(each, str) for each in found):
        raise SeriesError(f'{name} is not a list of texts')
    return found


def _numbers_by_name(document: Mapping, name: str) -> dict[str, float]:
    found = _mapping(document.get(name), name)
    if len(found) > MOST_VALUES or not all(map(_is_number, found.values())):
        raise SeriesError(f'{name} is not a mapping of numbers')
    return dict(found)


def _texts_by_name(document: Mapping, name: str) -> dict[str, str]:
    found = _mapping(document.get(name), name)
    if len(found) > MOST_VALUES or not all(
        isinstance(each, str) for each in found.values()
    ):
        raise SeriesError(f'{name} is not a mapping of texts')
    return dict(found)
