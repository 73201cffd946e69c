# SPDX-License-Identifier: Apache-2.0

"""IOPS and bandwidth of each second, which a guest sends behind fio's output.

fio writes them with ``--write_iops_log`` and ``--write_bw_log``,
``--log_avg_msec=1000``, ``--log_unix_epoch=1`` and ``--per_job_logs=0``: lines
``ms, value, direction`` where ms is the end of the second and the value is
IOPS or KiB/s, one series for each direction of each process, one process after
the other.  There is no line for the ramp, none for a second in which nothing
was completed, and often none for the last second (fio 3.33 HOWTO "Log File
Formats"; seen).

The text comes from inside a guest: it is read with suspicion.  This module
must not know how it came here.
"""

from array import array
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import itertools
import math
import re
from typing import Any

from cinder_tiers.figures.stats import steadiness

STEP_MS = 1000
# Seconds x directions x processes: a day of 16 processes that read and write.
_MAX_VALUES = 3 * 10**6
#: Directions x processes, of which a job has 256 at most; a clock that is set
#: back begins some of them anew.  A guest can claim one with each line, and
#: to add so many up takes the host long.
MAX_SERIES = 1000
# fio's last second, and clocks that are not quite the same.
_STEPS_OVER_RUNTIME = 5
# In this order; a guest of an older version sends the first only.
_MARKS = (b'\n@series\n', b'\n@bandwidth\n', b'\n@latencies\n')
_LINE = re.compile(rb'([0-9]{1,15}), *([0-9]{1,12}), *([012])')
#: As fio counts them (HOWTO "Log File Formats").
DIRECTIONS: Mapping[bytes, str] = {b'0': 'read', b'1': 'write', b'2': 'trim'}


class LogError(ValueError):
    """Values of each second that must not be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Files that a guest sends of one run of fio; logs may be empty."""

    #: json+ of fio
    output: bytes
    #: IOPS of each second
    iops: bytes
    #: KiB/s of each second
    bandwidth: bytes
    #: see ``fio.latency_log``
    latencies: bytes


def split(payload: bytes) -> Sent:
    """The parts of what a guest sent."""
    parts = []
    for mark in reversed(_MARKS):
        payload, found, rest = payload.partition(mark)
        parts.append(rest if found else b'')
    return Sent(
        output=payload,
        iops=parts[2],
        bandwidth=parts[1],
        latencies=parts[0],
    )


def _components(log: bytes) -> list[tuple[str, list[tuple[int, float]]]]:
    """A series for each direction of each process: (direction, series)."""
    found: list[tuple[str, list[tuple[int, float]]]] = []
    current: dict[bytes, list[tuple[int, float]]] = {}
    for line in log.splitlines():
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise LogError(
                f'found {line[:40]!r}, expected the time, value and'
                f' direction of a second'
            )
        begin_ms, direction = int(match[1]) - STEP_MS, match[3]
        series = current.get(direction)
        if series is None or begin_ms <= series[-1][0]:
            # Time goes back where the next process begins.
            series = current[direction] = []
            found.append((DIRECTIONS[direction], series))
            if len(found) > MAX_SERIES:
                raise LogError(
                    f'more than {MAX_SERIES} series: expected one for each'
                    f' direction of each process'
                )
        series.append((begin_ms, float(match[2])))
    return found


class Seconds(Sequence[tuple[int, float]]):
    """Values of seconds without gaps; a value, never changed.

    A large fleet has some hundred thousand, which are in memory until its run
    ends: pairs would take ten times as much.
    """

    __slots__ = ('_begin_ms', '_values')

    def __init__(self, begin_ms: int, values: Iterable[float]) -> None:
        """Keep values.

        :param begin_ms: begin of the first value
        """
        self._begin_ms = begin_ms
        self._values = array('d', values)

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._values)

    def __getitem__(self, at: Any) -> Any:
        """(ms at which it begins, value)."""
        if isinstance(at, slice):
            return tuple(self)[at]
        place = range(len(self._values))[at]
        return self._begin_ms + place * STEP_MS, self._values[place]

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Pairs, as by index."""
        return zip(itertools.count(self._begin_ms, STEP_MS), self._values)

    def __eq__(self, other: object) -> bool:
        """Same pairs, however they are kept."""
        if not isinstance(other, Seconds | tuple):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _told_steps(
    components: Iterable[Sequence[tuple[int, float]]], first_ms: int
) -> int:
    """Return the number of seconds from the first line to the last."""
    ends_ms = [series[-1][0] for series in components]
    steps = (max(ends_ms) - first_ms + STEP_MS // 2) // STEP_MS + 1
    if steps > 1 and max(ends_ms) - min(ends_ms) > STEP_MS // 2:
        # Not all of them logged their last second: it is of no use.
        steps -= 1
    return steps


def _whole(
    first_ms: int, steps: int, runtime_ms: int, end_ms: int | None
) -> tuple[int, int]:
    """(beginning, number of seconds) with those in which nothing was done.

    All but the last second must be there.  What is missing was after the last
    line, as far as there was time until fio's end; else before the first,
    where a single I/O took seconds.
    """
    missing = max(0, runtime_ms // STEP_MS - 1 - steps)
    after = missing
    if end_ms is not None:
        left_ms = end_ms - (first_ms + steps * STEP_MS)
        after = min(missing, max(0, left_ms // STEP_MS))
    return first_ms - (missing - after) * STEP_MS, steps + missing


def parse_directions(
    log: bytes, *, runtime_ms: int, end_ms: int | None = None
) -> dict[str, tuple[tuple[int, float], ...]]:
    """Return the values of each second and direction, summed over processes.

    :param log: lines as fio writes them, or empty
    :param runtime_ms: runtime that fio reports, without the ramp
    :param end_ms: fio's ``timestamp_ms``, just before it ends; None if unknown
    :returns: {read, write or trim: ((begin of the second in ms, value), ...)}
        of the directions that have lines, all for the same seconds without
        gaps, on the clock of fio's ``timestamp_ms``; empty without lines
    :raises LogError: a line is not fio's, or the times are not plausible
    """
    components = _components(log)
    if not components:
        return {}
    all_series = [series for _direction, series in components]
    first_ms = min(series[0][0] for series in all_series)
    first_ms, steps = _whole(
        first_ms, _told_steps(all_series, first_ms), runtime_ms, end_ms
    )
    # Before anything is made of them: few lines can claim a long time.
    if steps > runtime_ms // STEP_MS + _STEPS_OVER_RUNTIME:
        raise LogError(f'values over {steps} s, but fio ran {runtime_ms} ms')
    if steps * len(components) > _MAX_VALUES:
        raise LogError(
            f'{steps} s of {len(components)} series, expected at'
            f' most {_MAX_VALUES} values'
        )
    starts_ms = range(first_ms, first_ms + steps * STEP_MS, STEP_MS)
    return {
        name: _added_up(
            starts_ms,
            [
                steadiness.resample(series, starts_ms, STEP_MS)
                for direction, series in components
                if direction == name
            ],
        )
        for name in DIRECTIONS.values()
        if any(direction == name for direction, _series in components)
    }


def _added_up(
    starts_ms: Iterable[int], values: Iterable[Iterable[float]]
) -> tuple[tuple[int, float], ...]:
    sums = map(math.fsum, zip(*values, strict=True))
    return tuple(zip(starts_ms, sums, strict=True))


def total(
    directions: Mapping[str, Sequence[tuple[int, float]]],
) -> Sequence[tuple[int, float]]:
    """Sum the directions of ``parse_directions``; empty without directions."""
    if not directions:
        return ()
    each = list(directions.values())
    if len(each) == 1:
        return each[0]
    return _added_up(
        [at_ms for at_ms, _iops in each[0]],
        [[iops for _ms, iops in series] for series in each],
    )


def parse(
    log: bytes, *, runtime_ms: int, end_ms: int | None = None
) -> Sequence[tuple[int, float]]:
    """IOPS of each second, all directions and processes together.

    The arguments and errors are those of ``parse_directions``.

    :returns: ((begin of the second in ms, IOPS), ...) without gaps; empty
        without lines
    """
    return total(parse_directions(log, runtime_ms=runtime_ms, end_ms=end_ms))
