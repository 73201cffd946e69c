# SPDX-License-Identifier: Apache-2.0

"""Completion latencies of short times, as a guest sends them behind a result.

fio counts them with ``--write_hist_log``, ``--log_hist_msec``,
``--log_hist_coarseness=2`` and ``--log_unix_epoch=1``: a line for each time,
direction and process, with a counter for each of its buckets, four of them
taken together (fio 3.33 HOWTO "Log File Formats", ``stat.c``
plat_idx_to_val).  The guest leaves out what is 0.  What it sends begins with a
line that has the length of the times in ms; the others are ``ms INDEX:COUNT
...``, where ms is the end of the time and INDEX the number of the bucket, from
0.  In a time without a completion there is no line.

Four buckets together are at most 1/16 wide, so that their middle is off by at
most 3.2 %.

The text comes from inside a guest: it is read with suspicion.  This module
must not know how it came here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import functools
import re

from rally_scenarios.bench.fio import histogram
from rally_scenarios.bench.fio import iops_log

#: 2^this of fio's buckets are counted together.
COARSENESS = 2
# Times of a run, and of these all lines of its processes.
_MOST_STEPS = 60
_MOST_LINES = 120
# Guests of which the orders are older, and a last time that is longer.
_STEPS_OVER_RUNTIME = 5
_MAX_STEPS = 10 * _MOST_STEPS
_LINE = re.compile(rb'([0-9]{1,15})((?: [0-9]{1,4}:[0-9]{1,12})+)')
_STEP = re.compile(rb'[1-9][0-9]{0,7}')


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Completions of equal times, one after another."""

    #: when the first one began
    begin_ms: int
    #: how long each is
    step_ms: int
    #: latencies of each; empty if nothing was completed
    times: tuple[histogram.LatencyHistogram, ...]


def step_seconds(runtime_seconds: int, processes: int) -> int:
    """How long the times of a run are, so that a guest's console holds them.

    :param runtime_seconds: of fio, without the ramp
    :param processes: of fio, each of which writes lines
    :returns: at least 1
    """
    most = max(1, min(_MOST_STEPS, _MOST_LINES // processes))
    return -(-runtime_seconds // most)


@functools.cache
def _middles_ns() -> tuple[int, ...]:
    """The middle of each of the buckets that are counted together."""
    middles = sorted(histogram.fio_buckets().values())
    together = 2**COARSENESS
    return tuple(
        (middles[at] + middles[at + together - 1]) // 2
        for at in range(0, len(middles), together)
    )


def _counts(text: bytes) -> dict[int, int]:
    """{middle in ns: completions} of a line.

    :raises iops_log.LogError: no such bucket
    """
    middles = _middles_ns()
    found: dict[int, int] = {}
    for each in text.split():
        index, _colon, count = each.partition(b':')
        if int(index) >= len(middles):
            raise iops_log.LogError(
                f'bucket {int(index)}: expected less than {len(middles)}'
            )
        ns = middles[int(index)]
        found[ns] = found.get(ns, 0) + int(count)
    return found


def parse(log: bytes, *, runtime_ms: int, ios: int) -> Counted | None:
    """Latencies of a run's times, all directions and processes together.

    :param log: what the guest sent, or nothing
    :param runtime_ms: how long fio says that it ran, without the ramp
    :param ios: completions that its result has
    :returns: on the clock of fio's ``timestamp_ms``; None without lines
    :raises iops_log.LogError: a line is none that a guest writes, the times
        cannot be right, or there are more completions than the result has
    """
    head, *lines = log.split(b'\n') if log else [b'']
    lines = [line for line in lines if line]
    if not lines:
        return None
    if not _STEP.fullmatch(head):
        raise iops_log.LogError(
            f'found {head[:40]!r}, expected the length of a time in ms'
        )
    step_ms = int(head)
    matches = [_LINE.fullmatch(line) for line in lines]
    if None in matches:
        raise iops_log.LogError(
            f'found {lines[matches.index(None)][:40]!r}, expected a time and'
            f' its counters'
        )
    first_ms = min(int(match[1]) for match in matches)
    most = min(runtime_ms // step_ms + _STEPS_OVER_RUNTIME, _MAX_STEPS)
    counts: dict[int, dict[int, int]] = {}
    for match in matches:
        # Processes do not log at the very same ms.
        at = (int(match[1]) - first_ms + step_ms // 2) // step_ms
        if at >= most:
            raise iops_log.LogError(
                f'counters over {at + 1} times of {step_ms} ms, but fio ran'
                f' {runtime_ms} ms'
            )
        of_time = counts.setdefault(at, {})
        for ns, count in _counts(match[2]).items():
            of_time[ns] = of_time.get(ns, 0) + count
    total = sum(sum(of_time.values()) for of_time in counts.values())
    # What was in flight when fio reset its counters may be in one of them.
    if total > 1.1 * ios + 1000:
        raise iops_log.LogError(
            f'{total} completions in the counters of times, but {ios} in all'
        )
    return Counted(
        begin_ms=first_ms - step_ms,
        step_ms=step_ms,
        times=tuple(
            histogram.from_counts(counts.get(at, {}))
            for at in range(max(counts) + 1)
        ),
    )


def together(guests: Sequence[Counted]) -> Counted:
    """Several guests' latencies, time by time, on their common clock.

    A time of a guest counts for the one that it has most in common with.

    :param guests: at least one, all with times of the same length
    :returns: the times that all of them have
    :raises ValueError: there is none, or times are not of the same length
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
