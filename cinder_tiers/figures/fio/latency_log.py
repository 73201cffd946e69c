# SPDX-License-Identifier: Apache-2.0

"""Completion latencies of short times, as a guest sends them behind a result.

fio writes them with ``--write_hist_log``, ``--log_hist_msec``,
``--log_hist_coarseness=2`` and ``--log_unix_epoch=1``: a line for each
direction of each process, of the completions since its last line, with a
column for each bucket.  The guest leaves out what is empty.  What it sends
begins with a line that has ``log_hist_msec``; the others are ``ms,direction
bucket:completions ...`` where ms is when the line was due, and buckets count
from 0 (fio 3.33 HOWTO "Log File Formats", and ``iolog.c``
flush_hist_samples; seen).  An empty line is where the next process begins.

fio only writes a line when an I/O completes, so that one of a stall is as
long as the stall; and what completes after the last line is in none.  After a
stall it is some lines behind, and writes one with each of the next I/Os, which
may be in the same ms (``iolog.c`` add_clat_sample: ``hist_last``; seen).  Such
lines are one window.

A bucket is four of fio's own ones together, and its value their middle, so
that a latency is off by at most 3.2 %.

The text comes from inside a guest: it is read with suspicion.  This module
must not know how it came here.
"""

from array import array
from collections.abc import Mapping
from collections.abc import Sequence
import copy
import dataclasses
from dataclasses import dataclass
import functools
import itertools
import re

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import iops_log

#: Of fio's ``log_hist_coarseness``: 2 to the power of it are one.
COARSENESS = 2
# Times of a run, if the task does not say how long they are; and all lines
# of its processes.
_MOST_TIMES = 60
_MOST_LINES = 120
# A day of 16 processes that read and write, each 10 s.
_MAX_LINES = 300_000
# A last time that is longer, and clocks that are not quite the same.
_TIMES_OVER_RUNTIME = 5
_MAX_TIMES = 100_000
_LINE = re.compile(rb'([0-9]{1,15}),([012])((?: [0-9]{1,3}:[0-9]{1,12})*)')
# Ordered are whole seconds.
_STEP = re.compile(rb'[1-9][0-9]{3,7}')


@dataclass(frozen=True, kw_only=True)
class LogWindow:
    """Completions within some seconds, in one direction of one process."""

    #: read, write or trim
    direction: str
    begin_ms: int
    end_ms: int
    clat: histogram.LatencyHistogram


class GuestLatencies:
    """Latencies that a guest sent of one run of fio; immutable.

    A large fleet has some hundred thousand windows, which are in memory until
    its run ends: kept as columns, they take a fifth of what they take as
    objects.

    :ivar step_ms: how long a window is, unless nothing completed meanwhile
    """

    __slots__ = (
        '_begins_ms',
        '_buckets',
        '_counts',
        '_directions',
        '_ends_ms',
        '_lengths',
        'step_ms',
    )

    def __init__(self, *, step_ms: int, windows: Sequence[LogWindow]) -> None:
        """Keep windows.

        :param windows: at least one, with the latencies of ``buckets_ns``;
            windows of the same direction and process follow each other without
            gaps
        """
        self.step_ms = step_ms
        self._directions = tuple(each.direction for each in windows)
        self._begins_ms = array('q', (each.begin_ms for each in windows))
        self._ends_ms = array('q', (each.end_ms for each in windows))
        bins = [each.clat.bins for each in windows]
        self._lengths = array('H', map(len, bins))
        place = _places()
        self._buckets = array(
            'H', (place[ns] for each in bins for ns, _count in each)
        )
        counts = [count for each in bins for _ns, count in each]
        self._counts = array(
            'I' if max(counts, default=0) < 2**32 else 'Q', counts
        )

    @property
    def windows(self) -> tuple[LogWindow, ...]:
        """Return the windows in their order."""
        values = buckets_ns()
        found, first = [], 0
        for direction, begin_ms, end_ms, length in zip(
            self._directions,
            self._begins_ms,
            self._ends_ms,
            self._lengths,
            strict=True,
        ):
            last = first + length
            found.append(
                LogWindow(
                    direction=direction,
                    begin_ms=begin_ms,
                    end_ms=end_ms,
                    clat=histogram.from_columns(
                        map(values.__getitem__, self._buckets[first:last]),
                        self._counts[first:last],
                    ),
                )
            )
            first = last
        return tuple(found)

    @property
    def last_ms(self) -> int:
        """Return the end of the last window."""
        return max(self._ends_ms)

    def moved(self, shift_ms: int) -> 'GuestLatencies':
        """The same so much later."""
        found = copy.copy(self)
        found._begins_ms = array(
            'q', (ms + shift_ms for ms in self._begins_ms)
        )
        found._ends_ms = array('q', (ms + shift_ms for ms in self._ends_ms))
        return found

    def __eq__(self, other: object) -> bool:
        """Same windows, of the same length."""
        if not isinstance(other, GuestLatencies):
            return NotImplemented
        return (self.step_ms, self.windows) == (other.step_ms, other.windows)

    def __hash__(self) -> int:
        return hash((self.step_ms, self.windows))


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Completions of equal times, one after another, in all directions."""

    #: when the first one began
    begin_ms: int
    #: how long each is
    step_ms: int
    #: latencies of each; empty if nothing was completed
    times: tuple[histogram.LatencyHistogram, ...]


def step_seconds(runtime_seconds: int, processes: int) -> int:
    """Choose the window length so that a guest's console can hold the windows.

    :param runtime_seconds: runtime of fio, without the ramp
    :param processes: number of fio processes, each of which writes lines
    :returns: seconds, at least 1
    """
    most = max(1, min(_MOST_TIMES, _MOST_LINES // processes))
    return -(-runtime_seconds // most)


@functools.cache
def buckets_ns() -> tuple[int, ...]:
    """The value of each bucket, in the order in which fio has them."""
    values = sorted(histogram.fio_buckets().values())
    width = 1 << COARSENESS
    return tuple(
        (values[at + width // 2 - 1] + values[at + width // 2]) // 2
        for at in range(0, len(values), width)
    )


@functools.cache
def _places() -> Mapping[int, int]:
    """Return {latency: its index in ``buckets_ns``}."""
    return {ns: at for at, ns in enumerate(buckets_ns())}


def _histogram(text: bytes, line: bytes) -> histogram.LatencyHistogram:
    pairs = [
        tuple(map(int, pair.split(b':'))) for pair in text.split(b' ') if pair
    ]
    values = buckets_ns()
    if any(
        left >= right for (left, _), (right, _) in itertools.pairwise(pairs)
    ) or any(bucket >= len(values) or not count for bucket, count in pairs):
        raise iops_log.LogError(
            f'found {line[:40]!r}, expected buckets in ascending order, less'
            f' than {len(values)}, with at least one completion'
        )
    return histogram.from_columns(
        [values[bucket] for bucket, _count in pairs],
        [count for _bucket, count in pairs],
    )


def parse(
    log: bytes, *, begins_ms: int, runtime_ms: int, total_ios: int
) -> GuestLatencies | None:
    """Parse the windows of all directions and processes.

    :param log: text that the guest sent, or empty
    :param begins_ms: begin of fio's measurement, on the clock of the lines
    :param runtime_ms: runtime that fio reports, without the ramp
    :param total_ios: number of I/Os that fio counted
    :returns: windows in their order, on the clock of the lines; None without
        lines
    :raises iops_log.LogError: a line is not one that a guest writes, the times
        are not plausible, or there are more completions than fio counted
    """
    head, *lines = log.splitlines() or [b'']
    if not any(lines):
        return None
    if not _STEP.fullmatch(head):
        raise iops_log.LogError(
            f'found {head[:40]!r}, expected the length of a time in ms, of'
            f' at least 1000'
        )
    step_ms = int(head)
    # Lines of the same ms after a stall, too, are each of a time that is over.
    most_lines = min(
        _MAX_LINES,
        iops_log.MAX_SERIES * (runtime_ms // step_ms + _TIMES_OVER_RUNTIME),
    )
    if len(lines) > most_lines:
        raise iops_log.LogError(
            f'{len(lines)} lines: expected at most {most_lines}'
        )
    found: list[LogWindow] = []
    # Of each direction of the process: its last window, by number.
    last: dict[bytes, int] = {}
    more: dict[int, list[histogram.LatencyHistogram]] = {}
    for line in lines:
        if not line:
            last.clear()
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise iops_log.LogError(
                f'found {line[:40]!r}, expected a time, a direction and'
                f' latencies'
            )
        end_ms, direction = int(match[1]), match[2]
        before = found[last[direction]] if direction in last else None
        begin_ms = before.end_ms if before else begins_ms
        clat = _histogram(match[3], line)
        if before and end_ms == begin_ms:
            # Added up at the end: a guest may send very many of one ms.
            more.setdefault(last[direction], []).append(clat)
            continue
        if end_ms <= begin_ms:
            raise iops_log.LogError(
                f'found latencies up to {end_ms} ms, expected them to go on'
                f' from {begin_ms} ms'
            )
        last[direction] = len(found)
        found.append(
            LogWindow(
                direction=iops_log.DIRECTIONS[direction],
                begin_ms=begin_ms,
                end_ms=end_ms,
                clat=clat,
            )
        )
    for at, parts in more.items():
        found[at] = dataclasses.replace(
            found[at], clat=histogram.merge([found[at].clat, *parts])
        )
    times = (max(each.end_ms for each in found) - begins_ms) // step_ms
    if times > min(runtime_ms // step_ms + _TIMES_OVER_RUNTIME, _MAX_TIMES):
        raise iops_log.LogError(
            f'latencies of {times} times of {step_ms} ms, but fio ran'
            f' {runtime_ms} ms'
        )
    counted = sum(each.clat.count for each in found)
    # What was in flight when fio reset its counters may be in a window.
    if counted > 1.1 * total_ios + 1000:
        raise iops_log.LogError(
            f'latencies of {counted} I/Os, but fio counted {total_ios}'
        )
    return GuestLatencies(step_ms=step_ms, windows=tuple(found))


def in_equal_times(latencies: GuestLatencies) -> Counted:
    """Merge directions and processes into windows of equal length.

    A window counts for the time in which it ends: that of a stall has the I/Os
    that were in flight during all of it.
    """
    step_ms = latencies.step_ms
    first_ms = min(each.end_ms for each in latencies.windows)
    of_times: dict[int, list[histogram.LatencyHistogram]] = {}
    for each in latencies.windows:
        # Processes do not log at the very same ms.
        at = (each.end_ms - first_ms + step_ms // 2) // step_ms
        of_times.setdefault(at, []).append(each.clat)
    return Counted(
        begin_ms=first_ms - step_ms,
        step_ms=step_ms,
        times=tuple(
            histogram.merge(of_times.get(at, ()))
            for at in range(max(of_times) + 1)
        ),
    )


def together(guests: Sequence[Counted]) -> Counted:
    """Merge the latencies of several guests on their common clock.

    A window of a guest counts for the one with which it overlaps most.

    :param guests: at least one, all with windows of the same length
    :returns: the windows that all guests have
    :raises ValueError: there is none, or the windows differ in length
    """
    lengths = {each.step_ms for each in guests}
    if len(lengths) != 1:
        raise ValueError(
            f'times of {sorted(lengths)} ms: expected them of one length'
        )
    step_ms = lengths.pop()
    begin_ms = max(each.begin_ms for each in guests)
    # How many of its times each of them had before.
    before = [
        (begin_ms - each.begin_ms + step_ms // 2) // step_ms for each in guests
    ]
    steps = min(
        len(each.times) - early
        for each, early in zip(guests, before, strict=True)
    )
    return Counted(
        begin_ms=begin_ms,
        step_ms=step_ms,
        times=tuple(
            histogram.merge(
                each.times[early + at]
                for each, early in zip(guests, before, strict=True)
            )
            for at in range(max(0, steps))
        ),
    )
