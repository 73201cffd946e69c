# SPDX-License-Identifier: Apache-2.0

"""Responses of a run's patterns to faults that occurred meanwhile.

Guests that start by wall time report the seconds of their series since the
epoch, and so are the times of faults.  With a start by a volume the clock is
that of a guest, and no response can be determined.

This module must not know how faults were made, nor where results lie.
"""

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.fault import latencies as fault_latencies
from cinder_tiers.loop.fault import response

# Where guests do not say how far their clocks may be off.
_UNKNOWN_ERROR_S = 1.0
# A guest is up for less than 3 years, and the epoch was before.
_EPOCH_MS = 10**11


@dataclass(frozen=True, kw_only=True)
class Made:
    """A fault that was made, in seconds since the epoch."""

    name: str
    #: what it struck, for people
    target: str
    began: float
    ended: float


@dataclass(frozen=True, kw_only=True)
class FaultySlot:
    """A slot in which faults were made, with its result."""

    #: by which a reader knows it, such as ``3 balanced``
    name: str
    made: tuple[Made, ...]
    #: {fault: seconds from its end until the cluster was healthy}
    healthy_s: dict[str, float]
    result: run_result.RunResult


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A pattern of a run, and how it responded to a fault."""

    made: Made
    #: None: none ran when the fault began
    run: run_result.PatternRun | None
    #: of IOPS; None: it cannot be determined
    iops: response.Response | None
    #: why not; empty if it can
    reason: str = ''
    #: read or write; None: all of them together
    direction: str | None = None
    #: p99 of completion latency; None: guests did not send latencies of each
    #: few seconds
    p99: fault_latencies.FaultLatencies | None = None


def answers(
    result: run_result.RunResult,
    made: Sequence[Made],
    rule: response.ResponseRule | None = None,
) -> Iterator[Answer]:
    """Yield the responses of all patterns to faults that began meanwhile.

    :param made: the faults, in any order
    :param rule: rule for the state before a fault; None: the default
    :raises ValueError: a series has gaps
    """
    answered: set[int] = set()
    runs = [run for run in result.runs if run.slot.series]
    for run in runs if _is_by_wall_time(runs) else ():
        series = _series(run)
        ends_at = series.begins_at + len(series.values)
        meanwhile = [
            number
            for number, one in enumerate(made)
            if series.begins_at <= one.began < ends_at
        ]
        error_s = _clock_error_s(result, run)
        spans = [
            response.Span(
                began_at=made[number].began,
                ended_at=made[number].ended,
                clock_error_s=error_s,
            )
            for number in meanwhile
        ]
        answered.update(meanwhile)
        of_directions = [
            _of_direction(run, series, direction, spans, rule)
            for direction in (None, *(run.slot.series_of_directions or ()))
        ]
        for place, number in enumerate(meanwhile):
            for direction, iops, p99 in of_directions:
                yield Answer(
                    made=made[number],
                    run=run,
                    iops=iops[place],
                    direction=direction,
                    p99=p99[place] if p99 else None,
                )
    for number, one in enumerate(made):
        if number not in answered:
            yield Answer(made=one, run=None, iops=None, reason=_why_none(runs))


def _of_direction(
    run: run_result.PatternRun,
    series: response.LoadSeries,
    direction: str | None,
    spans: Sequence[response.Span],
    rule: response.ResponseRule | None,
) -> tuple[
    str | None,
    tuple[response.Response, ...],
    tuple[fault_latencies.FaultLatencies, ...] | None,
]:
    """(direction, IOPS around each fault, p99 around each).

    :param direction: None: all of them
    """
    if direction is not None:
        series = response.LoadSeries(
            begins_at=series.begins_at,
            values=(run.slot.series_of_directions or {})[direction],
        )
    windows = run.slot.latency_windows
    return (
        direction,
        response.respond_to_each(series, spans, rule),
        None
        if windows is None
        else fault_latencies.around_each(
            [each for each in windows if direction in (None, each.direction)],
            spans,
        ),
    )


def _series(run: run_result.PatternRun) -> response.LoadSeries:
    first_ms = run.slot.series[0][0]
    for second, (begin_ms, _iops) in enumerate(run.slot.series):
        if begin_ms != first_ms + 1000 * second:
            raise ValueError(
                f'{run.name}: second {second} of the series begins at'
                f' {begin_ms} ms, expected {first_ms + 1000 * second} ms'
            )
    return response.LoadSeries(
        begins_at=first_ms / 1000,
        values=tuple(iops for _begin_ms, iops in run.slot.series),
    )


def _is_by_wall_time(runs: Sequence[run_result.PatternRun]) -> bool:
    return all(run.slot.series[0][0] >= _EPOCH_MS for run in runs)


def _why_none(runs: Sequence[run_result.PatternRun]) -> str:
    if not runs:
        return 'no guests sent values of each second'
    if not _is_by_wall_time(runs):
        return (
            'guests started by a volume, so their times are not those of the'
            ' fault; start them by wall time, start: {"by": "clock"}'
        )
    return 'no pattern was measured when it began'


def _clock_error_s(
    result: run_result.RunResult, run: run_result.PatternRun
) -> float:
    """Return the error of the clocks of a tier's guests, in seconds."""
    errors_ms = [
        guest.clock_error_ms
        for guest in result.guests
        if guest.tier == run.tier.tier
    ]
    known_ms = [each for each in errors_ms if each is not None]
    if not known_ms or len(known_ms) < len(errors_ms):
        return _UNKNOWN_ERROR_S
    return max(known_ms) / 1000
