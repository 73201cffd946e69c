# SPDX-License-Identifier: Apache-2.0

"""Latencies of each few seconds, as a guest sends them behind its IOPS.

fio writes them with ``--write_hist_log``, ``--log_hist_msec``,
``--log_hist_coarseness=2`` and ``--log_unix_epoch=1``: a line for each
direction of each process, of the completions since its last line, with a
column for each bucket.  The guest leaves out what is empty: ``ms,direction
bucket:completions ...`` where ms is when the line was due, and buckets count
from 0 (fio 3.33 HOWTO "Log File Formats", and ``iolog.c``
flush_hist_samples; seen).  An empty line is where the next process begins.

fio only writes a line when an I/O completes, so that one of a stall is as
long as the stall; and what completes after the last line is in none.

A bucket is four of fio's own ones together, and its value their middle, so
that a latency is off by at most 3.2 %.

The text comes from inside a guest: it is read with suspicion.  This module
must not know how it came here.
"""

from dataclasses import dataclass
import functools
import itertools
import re

from rally_scenarios.bench.fio import histogram
from rally_scenarios.bench.fio import iops_log

#: Of fio's ``log_hist_coarseness``: 2 to the power of it are one.
COARSENESS = 2
MARK = b'\n@latencies\n'
_LINE = re.compile(rb'([0-9]{1,15}),([012])((?: [0-9]{1,3}:[0-9]{1,12})*)')
# A day of 16 processes that read and write, each 10 s.
_MAX_LINES = 300_000
# fio's sums miss some of what was in flight when counting began or ended.
_MORE_IOS = 1024


class LogError(ValueError):
    """Latencies that must not be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """What completed in some seconds, in one direction of one process."""

    #: read, write or trim
    direction: str
    begin_ms: int
    end_ms: int
    clat: histogram.LatencyHistogram


def split(log: bytes) -> tuple[bytes, bytes]:
    """What a guest sent as (IOPS of each second, latencies).

    :param log: the second part of ``iops_log.split``
    :returns: the latencies may be empty
    """
    iops, _mark, latencies = log.partition(MARK)
    return iops, latencies


@functools.cache
def buckets_ns() -> tuple[int, ...]:
    """The value of each bucket, in the order in which fio has them."""
    values = list(histogram.fio_buckets().values())
    width = 1 << COARSENESS
    return tuple(
        (values[at + width // 2 - 1] + values[at + width // 2]) // 2
        for at in range(0, len(values), width)
    )


def _histogram(text: bytes, line: bytes) -> histogram.LatencyHistogram:
    pairs = [
        tuple(map(int, pair.split(b':'))) for pair in text.split(b' ') if pair
    ]
    values = buckets_ns()
    if any(
        left >= right for (left, _), (right, _) in itertools.pairwise(pairs)
    ) or any(bucket >= len(values) or not count for bucket, count in pairs):
        raise LogError(
            f'found {line[:40]!r}, expected buckets in ascending order, less'
            f' than {len(values)}, with at least one completion'
        )
    return histogram.from_columns(
        [values[bucket] for bucket, _count in pairs],
        [count for _bucket, count in pairs],
    )


def parse(log: bytes, *, begins_ms: int, total_ios: int) -> tuple[Window, ...]:
    """The windows of all directions and processes.

    :param log: lines as the guest writes them, or none
    :param begins_ms: when fio began to count, on the clock of the lines
    :param total_ios: that fio counted in all; the lines may have some more,
        which were in flight
    :returns: in the order of the lines; of a direction of a process, each
        begins where the one before it ended
    :raises LogError: a line is none of a guest's, or it cannot be right
    """
    found: list[Window] = []
    last: dict[bytes, int] = {}
    counted = 0
    for number, line in enumerate(log.splitlines()):
        if number >= _MAX_LINES:
            raise LogError(f'expected at most {_MAX_LINES} lines')
        if not line:
            last.clear()
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise LogError(
                f'found {line[:40]!r}, expected a time, a direction and'
                f' latencies'
            )
        end_ms, direction = int(match[1]), match[2]
        begin_ms = last.get(direction, begins_ms)
        if end_ms <= begin_ms:
            raise LogError(
                f'found latencies up to {end_ms} ms, expected them to go on'
                f' from {begin_ms} ms'
            )
        last[direction] = end_ms
        clat = _histogram(match[3], line)
        counted += clat.count
        if counted > total_ios + _MORE_IOS:
            raise LogError(
                f'latencies of {counted} I/Os or more, but fio counted'
                f' {total_ios}'
            )
        found.append(
            Window(
                direction=iops_log.DIRECTIONS[direction],
                begin_ms=begin_ms,
                end_ms=end_ms,
                clat=clat,
            )
        )
    return tuple(found)
