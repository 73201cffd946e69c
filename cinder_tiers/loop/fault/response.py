# SPDX-License-Identifier: Apache-2.0

"""Response of a load to a fault: before, during, after, stalls, recovery.

A series has a value for each second: IOPS or bandwidth, where more is better,
or a latency, where less is.  Its rolling means over a window define its normal
state before the fault: the interval from the lowest to the highest of them. A
window is as before if its mean is not worse than the worse end of that
interval by more than a bound.  Then

* the load *has recovered* after the fault from the first second from which all
  windows are as before, until the series ends, and

* it *gets along* with the fault from the first second from which all windows
  are as before, until the fault ends.

Either may be unknown, and then a reason says why: there is no default.  A
window that begins before the load has recovered may be as before already, so a
time is too short by at most the window.

The longest stall is that of ``stats.steadiness``, for series of completions.

This module must not know what the fault was, nor where a series came from.
"""

from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import math
import statistics

import numpy as np

from cinder_tiers.figures.stats import steadiness

#: Windows before the fault, at least, so that they say what is usual.
LEAST_WINDOWS_BEFORE = 3
#: Windows as before in the end, at least, so that it is no chance.
LEAST_WINDOWS_AFTER = 2


@dataclass(frozen=True, kw_only=True)
class ResponseRule:
    """Rule that decides whether a series is as before a fault.

    :raises ValueError: a number is out of range
    """

    #: of rolling means, in seconds
    window_s: int = 10
    #: by which a mean may be worse than all means before the fault
    bound_percent: float = 10.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 1 <= self.window_s <= 3600:
            raise ValueError(
                f'window of {self.window_s} s: expected 1 to 3600'
            )
        if not 0 <= self.bound_percent < 100:
            raise ValueError(
                f'bound of {self.bound_percent} %: expected 0 to less than 100'
            )


@dataclass(frozen=True, kw_only=True)
class LoadSeries:
    """A value for each second, without gaps."""

    #: when the first second begins, in seconds on some clock
    begins_at: float
    #: None: nothing was completed, so that a latency has no value; of IOPS
    #: and bandwidth, that is 0
    values: tuple[float | None, ...]
    #: of IOPS and bandwidth; else less is better
    is_more_better: bool = True

    def __post_init__(self) -> None:
        """Check the values, which may come from a file.

        :raises ValueError: one is not possible
        """
        for second, value in enumerate(self.values):
            if value is None:
                if self.is_more_better:
                    raise ValueError(f'second {second} has no value')
            elif not (math.isfinite(value) and value >= 0):
                raise ValueError(
                    f'second {second} has {value}: expected a finite number'
                    f' of at least 0'
                )


@dataclass(frozen=True, kw_only=True)
class Span:
    """Time of a fault, on the clock of the series.

    :raises ValueError: it ends before it begins, or an error below 0
    """

    began_at: float
    ended_at: float
    #: by which the two clocks may differ, in seconds
    clock_error_s: float = 0.0

    def __post_init__(self) -> None:
        """Check the times."""
        if not (
            math.isfinite(self.began_at)
            and math.isfinite(self.ended_at)
            and self.began_at <= self.ended_at
            and 0 <= self.clock_error_s < math.inf
        ):
            raise ValueError(
                f'a fault from {self.began_at} to {self.ended_at}, with an'
                f' error of {self.clock_error_s} s'
            )


@dataclass(frozen=True, kw_only=True)
class SeriesPart:
    """A part of a series: before, during or after."""

    #: whole seconds in it
    seconds: int
    #: of the seconds; None without any that has a value
    mean: float | None
    #: likewise
    median: float | None
    #: the lowest
    least: float | None
    #: the highest
    most: float | None


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Time of an event, or the reason why it is unknown."""

    #: in whole seconds of the series; None if it is not known, or has not
    #: come about
    after_s: float | None
    #: empty if it has come about
    reason: str = ''
    #: whether it is known that it has not come about
    is_not_yet: bool = False


@dataclass(frozen=True, kw_only=True)
class Response:
    """Response of a series to a fault."""

    before: SeriesPart
    during: SeriesPart
    after: SeriesPart
    #: from the beginning of the fault to the end of the series; 0: none of
    #: about 2 s or more; None: the series is no rate, or has no such seconds
    longest_stall_s: float | None
    #: from the beginning of the fault on, until it ends
    gets_along: Moment
    #: from the end of the fault on
    recovered: Moment

    def recovered_since_beginning_s(self, span: Span) -> float | None:
        """Seconds from the beginning of the fault until the load recovered."""
        if self.recovered.after_s is None:
            return None
        return span.ended_at - span.began_at + self.recovered.after_s


def _part(values: Sequence[float | None]) -> SeriesPart:
    known = [each for each in values if each is not None]
    return SeriesPart(
        seconds=len(values),
        mean=statistics.fmean(known) if known else None,
        median=statistics.median(known) if known else None,
        least=min(known, default=None),
        most=max(known, default=None),
    )


def _badness(series: LoadSeries) -> np.ndarray:
    """The values turned so that more is worse."""
    if series.is_more_better:
        return -np.array(series.values, dtype=float)
    return np.array(
        [math.inf if each is None else each for each in series.values],
        dtype=float,
    )


def _means(values: np.ndarray, window_s: int) -> np.ndarray:
    """Rolling means; the first is of the first window."""
    if len(values) < window_s:
        return np.empty(0)
    # Not by differences of sums: they are not a number where one is infinite.
    return np.lib.stride_tricks.sliding_window_view(values, window_s).mean(
        axis=1
    )


def _limit(worst: float, bound_percent: float) -> float:
    """Badness up to which a window is as before."""
    return worst + abs(worst) * bound_percent / 100


def _settled(is_bad: np.ndarray) -> int:
    """Return the index of the window after the last bad one; 0 without."""
    bad = np.flatnonzero(is_bad)
    return int(bad[-1]) + 1 if len(bad) else 0


def _moment(
    badness: np.ndarray, first: int, end: int, limit: float, rule: ResponseRule
) -> Moment:
    """Return when the seconds from ``first`` to ``end`` are as before."""
    means = _means(badness[first:end], rule.window_s)
    if len(means) < LEAST_WINDOWS_AFTER * rule.window_s:
        return Moment(
            after_s=None,
            reason=f'too short to tell: {max(0, end - first)} s, and it takes'
            f' {(LEAST_WINDOWS_AFTER + 1) * rule.window_s - 1} s',
        )
    settled = _settled(means > limit)
    if settled == len(means):
        return Moment(
            after_s=None,
            reason=f'not within these {end - first} s',
            is_not_yet=True,
        )
    left = len(means) - settled
    if left < LEAST_WINDOWS_AFTER * rule.window_s:
        return Moment(
            after_s=None,
            reason=f'too late to tell: as before only for the last'
            f' {left + rule.window_s - 1} of {end - first} s',
        )
    return Moment(after_s=float(settled))


def respond(
    series: LoadSeries, span: Span, rule: ResponseRule | None = None
) -> Response:
    """Compute the response of a series to a fault.

    >>> found = respond(
    ...     LoadSeries(begins_at=0, values=(100.0,) * 60 + (0.0,) * 20
    ...                + (100.0,) * 60),
    ...     Span(began_at=60, ended_at=70),
    ... )
    >>> found.longest_stall_s, round(found.recovered.after_s, -1)
    (20.0, 10.0)

    :param series: series of one direction
    :param span: span of the fault
    :param rule: rule for the state before a fault; None: the default
    """
    rule = rule or ResponseRule()
    length = len(series.values)

    def second(at: float) -> int:
        return min(max(0, math.floor(at)), length)

    error_s = span.clock_error_s
    # Whole seconds before the fault, that touch it, and after it.
    begin = second(span.began_at - series.begins_at - error_s)
    end = second(math.ceil(span.ended_at - series.begins_at + error_s))
    during_end = max(begin, end)
    parts = {
        'before': _part(series.values[:begin]),
        'during': _part(series.values[begin:during_end]),
        'after': _part(series.values[during_end:]),
    }
    stall_s = None
    if series.is_more_better and begin < length:
        # Ordinary seconds before tell what next to none is.
        stall_s = max(
            (
                stall.seconds
                for stall in steadiness.find_stalls(
                    [each or 0.0 for each in series.values]
                )
                if stall.at >= begin
            ),
            default=0.0,
        )
    unknown = _unknown_before(series, span, begin, rule)
    if unknown:
        moment = Moment(after_s=None, reason=unknown)
        return Response(
            **parts,
            longest_stall_s=stall_s,
            gets_along=moment,
            recovered=moment,
        )
    badness = _badness(series)
    worst = float(_means(badness[:begin], rule.window_s).max())
    limit = _limit(worst, rule.bound_percent)
    return Response(
        **parts,
        longest_stall_s=stall_s,
        gets_along=_moment(badness, begin, during_end, limit, rule),
        recovered=_moment(badness, during_end, length, limit, rule),
    )


def respond_to_each(
    series: LoadSeries, spans: Sequence[Span], rule: ResponseRule | None = None
) -> tuple[Response, ...]:
    """Compute the responses of a series to several faults.

    The state before is that before the first of them, and the series of one
    ends where the next one begins.  Effects of simultaneous faults cannot be
    separated, and are not determined.

    :param series: series of one direction
    :param spans: spans of the faults, in any order
    :param rule: rule for the state before a fault; None: the default
    :returns: responses in the order of the spans
    """
    first = min(
        (span.began_at - span.clock_error_s for span in spans), default=0.0
    )
    undisturbed = min(
        max(0, math.floor(first - series.begins_at)), len(series.values)
    )
    return tuple(
        _respond_alone(
            series,
            span,
            [other for at, other in enumerate(spans) if at != number],
            undisturbed,
            rule,
        )
        for number, span in enumerate(spans)
    )


def _respond_alone(
    series: LoadSeries,
    span: Span,
    others: Sequence[Span],
    undisturbed: int,
    rule: ResponseRule | None,
) -> Response:
    length = len(series.values)

    def second(at: float) -> int:
        return min(max(0, math.floor(at - series.begins_at)), length)

    begin = second(span.began_at - span.clock_error_s)
    later = [
        second(other.began_at - other.clock_error_s)
        for other in others
        if other.began_at >= span.began_at
    ]
    end = max(begin, min(later, default=length))
    found = respond(
        LoadSeries(
            # What came between the undisturbed seconds and the fault is left
            # out.
            begins_at=series.begins_at + begin - undisturbed,
            values=series.values[:undisturbed] + series.values[begin:end],
            is_more_better=series.is_more_better,
        ),
        span,
        rule,
    )
    if any(
        other.began_at < span.ended_at and other.ended_at > span.began_at
        for other in others
    ):
        moment = Moment(
            after_s=None, reason='there was another fault at the same time'
        )
        return dataclasses.replace(found, gets_along=moment, recovered=moment)
    return found


def _unknown_before(
    series: LoadSeries, span: Span, begin: int, rule: ResponseRule
) -> str:
    """Explain why the normal load is not known; empty if it is."""
    needed = LEAST_WINDOWS_BEFORE * rule.window_s
    length = len(series.values)
    if span.began_at - series.begins_at >= length:
        return 'the series ends before the fault begins'
    if span.ended_at - series.begins_at > length:
        return 'the series ends before the fault does'
    if begin < needed:
        return f'{begin} s before the fault, and it takes {needed} s'
    before = series.values[:begin]
    if None in before:
        return 'nothing was completed in some second before the fault'
    if series.is_more_better:
        if not any(before):
            return 'nothing was completed before the fault'
        stalls = steadiness.find_stalls([each or 0.0 for each in before])
        if stalls:
            return (
                f'a stall of {stalls[0].seconds:g} s before the fault, at'
                f' second {stalls[0].at}'
            )
    return ''
