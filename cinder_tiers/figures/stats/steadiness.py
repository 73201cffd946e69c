# SPDX-License-Identifier: Apache-2.0

"""Verdict on the steadiness of a finished run, and its stalls.

The Solid State Storage Performance Test Specification of the SNIA (version
2.0, definition of Steady State) calls a measurement window steady if

* excursion: the highest and the lowest value of the window are together
  within 20 % of its average: max - min <= 0.20 x average, and
* slope: the least squares line through the window rises or falls by at most
  10 % of the average from end to end.

There a value is a round of one minute and a window five rounds, and no value
is noise.  Here a window has values of each second, which scatter where nothing
changes.  So the limits are the SNIA's, the excursion is of five rounds of
equal length and the slope of the seconds, and a limit counts as exceeded only
if what exceeds it is more than noise makes:

* slope: Student's t interval of the line's rise.  Seconds depend on those
  before them: as an AR(1) process with the lag 1 autocorrelation rho, of which
  n seconds count as n (1 - rho) / (1 + rho).  rho is that of the residuals,
  which is too low in short series, and corrected for that: it is expected to
  be rho - (2 + 4 rho) / n where a line is fitted and rho - (1 + 3 rho) / n
  where a mean is (Marriott and Pope 1954, Kendall 1954, Biometrika 41).
* excursion: the studentized range of the rounds (Tukey), with the noise that
  seconds have within rounds: the median of the rounds, so that a step within
  one or two of them is not noise.

The first errs in one of 40 windows and the second in one of 100, so that
stationary noise is called unsteady in at most 5 %: simulated, 2 to 4 % of
windows of 30 s with 10 to 20 % noise, and more only where a window is too
short to see how seconds depend on each other (rho of 0.5 in 30 s: 7 %).  Over
a limit, but within noise, or shorter than 30 s: it cannot be determined.

A stall is a time of about 2 s or more without a completion, or next to none.
It is reported in any case, and a run with one is not steady.

fio can stop a job when it is steady (``steadystate=``), but then guests stop
apart, and what the last ones get is no longer shared.  So all run for their
time, and what is steady is decided here.

This module must not know where a series came from.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from cinder_tiers.figures.stats import distributions

RULE = (
    'Steady means that IOPS swing by at most 20 % and drift by at most 10 %,'
    ' leaving out what noise makes: the limits of the SNIA, which publishes'
    ' tests for disks. Less than 30 s are too short to tell. In a stall, no'
    ' I/O is completed.'
)
ROUNDS = 5
EXCURSION_LIMIT = 0.20
SLOPE_LIMIT = 0.10
SHORTEST_SECONDS = 30
# How often the claim may be wrong, of windows that are steady; of an excursion
# it is 0.01.
_SLOPE_ERRORS = 0.025
# More, and a series says no more of its noise than a few values do.
_MOST_CORRELATION = 0.95

# A stall that begins within a second is not a second of nothing; on another
# guest's clock it is none at all, but deficits add up to its length.  2 s
# without a completion, cut into seconds twice, leave a second of 12 % at most.
STALL_SECONDS = 2
_SHORTEST_DEFICIT_SECONDS = 1.5
_NEXT_TO_NONE = 0.25
_PART_OF_A_STALL = 0.90
_EDGE_SECONDS = 2
# So far from the median that no second of a run gets there by chance.
_DEVIATIONS = 4

# (ms, value) of one guest or of a fleet, in order of time.
Series = Sequence[tuple[int, float]]


@dataclass(frozen=True, kw_only=True)
class Window:
    """A span of time in ms on the common clock; the end is not in it."""

    start_ms: int
    end_ms: int

    @property
    def length_ms(self) -> int:
        """Never negative."""
        return max(0, self.end_ms - self.start_ms)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict of the rule, with its numbers."""

    #: None if it cannot be judged
    steady: bool | None
    #: of the rounds; None if it cannot be judged
    average: float | None
    #: (highest - lowest round) / average, or None
    excursion: float | None
    #: rise of the least squares line over the window / average, negative when
    #: it falls, or None
    slope: float | None
    #: as a sentence, with the figures
    reason: str
    #: longest time without a completion, or with next to none, to about half a
    #: second; 0 if it is less than about 2 s; null without a series
    longest_stall_s: float | None = None


def unknown(reason: str, *, longest_stall_s: float | None = None) -> Verdict:
    """Return the verdict on a series that cannot be judged.

    :param reason: why it cannot be judged, in words
    :param longest_stall_s: the field of the verdict
    """
    return Verdict(
        steady=None,
        average=None,
        excursion=None,
        slope=None,
        reason=reason,
        longest_stall_s=longest_stall_s,
    )


@dataclass(frozen=True, kw_only=True)
class Stall:
    """A time without a completion, or with next to none."""

    #: second of the series in which it was found, from 0
    at: int
    #: to about half a second
    seconds: float


def _stall(values: np.ndarray, first: int, last: int) -> Stall:
    """The stall around seconds of next to nothing.

    :param values: shares of an ordinary second
    :param first: the first second of next to nothing
    :param last: the last one
    """
    begin, end = first, last
    while (
        begin > max(0, first - _EDGE_SECONDS)
        and values[begin - 1] < _PART_OF_A_STALL
    ):
        begin -= 1
    while (
        end < min(len(values) - 1, last + _EDGE_SECONDS)
        and values[end + 1] < _PART_OF_A_STALL
    ):
        end += 1
    return Stall(at=first, seconds=float((1 - values[begin : end + 1]).sum()))


def find_stalls(values: Sequence[float] | np.ndarray) -> list[Stall]:
    """Times of about 2 s and more without a completion.

    >>> find_stalls([100] * 9 + [50, 0, 50] + [100] * 9)
    [Stall(at=10, seconds=2.0)]

    :param values: completions of each second, none negative
    :returns: in order of time; where seconds scatter so much that some have
        next to none by chance, only seconds without any count, and two of
        them are the least
    """
    found = np.asarray(values, dtype=float)
    if not found.any():
        return [Stall(at=0, seconds=len(found))] if len(found) > 1 else []
    busy = found[found > _NEXT_TO_NONE * np.median(found[found > 0])]
    ordinary = float(np.median(busy))
    # 1.48: of a normal distribution, the median is that part of the deviation.
    deviation = 1.4826 * float(np.median(np.abs(busy / ordinary - 1)))
    limit = min(_NEXT_TO_NONE, 1 - _DEVIATIONS * deviation)
    shares = np.minimum(found / ordinary, 1)
    quiet = limit > 0
    none = shares <= (limit if quiet else 0)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], none, [0]))))
    stalls = [
        _stall(shares, first, end - 1)
        if quiet
        else Stall(at=int(first), seconds=float(end - first))
        for first, end in zip(
            edges[::2].tolist(), edges[1::2].tolist(), strict=True
        )
    ]
    least = _SHORTEST_DEFICIT_SECONDS if quiet else STALL_SECONDS
    return [stall for stall in stalls if stall.seconds >= least]


def longest_stall_s(values: Sequence[float]) -> float:
    """Return the length of the longest stall, to 0.1 s; 0 without stalls.

    :param values: see ``find_stalls``
    """
    return _longest_s(find_stalls(values))


def _longest_s(stalls: Sequence[Stall]) -> float:
    return round(max((stall.seconds for stall in stalls), default=0.0), 1)


def in_words(stalls: Sequence[Stall]) -> str:
    """Describe number and length of stalls; empty without stalls."""
    if not stalls:
        return ''
    longest = _longest_s(stalls)
    if len(stalls) == 1:
        return f'1 stall of {longest:.1f} s'
    return f'{len(stalls)} stalls of up to {longest:.1f} s'


@dataclass(frozen=True, kw_only=True)
class _Noise:
    """Noise of a series, as an AR(1) process."""

    #: of a mean of n values it is this / n
    variance: float
    #: of this estimate
    freedom: float


def _noise(residuals: np.ndarray, parameters: int) -> _Noise:
    """Estimate the noise of a series from the residuals of a fit.

    :param residuals: a row for each part that was fitted by itself; of
        several, the median counts
    :param parameters: parameters of each fit: 1 for a mean, 2 for a line
    """
    parts, length = residuals.shape
    freedom = length - parameters
    squares = (residuals**2).sum(axis=1)
    quiet = np.argsort(squares)[: parts // 2 + 1]
    middle = float(np.median(squares))
    if not middle:
        return _Noise(variance=0.0, freedom=float(freedom))
    seen = float(
        (residuals[quiet, 1:] * residuals[quiet, :-1]).sum()
        / squares[quiet].sum()
    )
    # Expected is rho - (1 + 3 rho) / n, or rho - (2 + 4 rho) / n: see above.
    correlation = (length * seen + parameters) / (length - parameters - 2)
    correlation = min(max(correlation, 0.0), _MOST_CORRELATION)
    inflation = (1 + correlation) / (1 - correlation)
    # A fit takes away more of what is correlated.
    left = max(0.1, 1 - (inflation - 1) / length)
    independent = max(1.0, freedom / inflation)
    if parts > 1:
        # Of chi squared, the median is below the mean (Wilson and Hilferty).
        left *= (1 - 2 / (9 * independent)) ** 3
        # Of normal values, a median of five is as good as a mean of 3.5.
        independent *= 0.7 * parts
    return _Noise(
        variance=middle / freedom / left * inflation,
        freedom=max(2.0, independent),
    )


def _slope(values: np.ndarray) -> tuple[float, float]:
    """Rise of the least squares line, end to end, and half its interval."""
    x = np.arange(len(values)) - (len(values) - 1) / 2
    squares = float((x * x).sum())
    per_second = float((x * values).sum()) / squares
    left = values - values.mean() - per_second * x
    noise = _noise(left[np.newaxis], parameters=2)
    half = distributions.student_quantile(
        noise.freedom, 1 - _SLOPE_ERRORS / 2
    ) * math.sqrt(noise.variance / squares)
    length = len(values) - 1
    return per_second * length, half * length


def _excursion(values: np.ndarray) -> tuple[float, float]:
    """Range of the rounds, and the range that noise alone would make."""
    length = len(values) // ROUNDS
    parts = values[len(values) - ROUNDS * length :].reshape(ROUNDS, length)
    means = parts.mean(axis=1)
    noise = _noise(parts - means[:, np.newaxis], parameters=1)
    by_noise = distributions.range_of_five(noise.freedom) * math.sqrt(
        noise.variance / length
    )
    return float(means.max() - means.min()), by_noise


def judge(series: Series) -> Verdict:
    """Apply the rule to a window.

    :param series: values of each second, all of the window
    :returns: ``steady`` is None if there are fewer than 30 values, they are
        all 0, or a limit is exceeded by no more than noise makes
    :raises ValueError: the series is not in order of time, or a value is
        negative or not finite
    """
    _check(series)
    values = np.array([value for _ms, value in series], dtype=float)
    stalls = find_stalls(values)
    longest_s = _longest_s(stalls)
    stood = in_words(stalls)
    if len(values) < SHORTEST_SECONDS:
        return unknown(
            f'cannot tell: {len(values)} s, expected at least'
            f' {SHORTEST_SECONDS}' + (f'; {stood}' if stood else ''),
            longest_stall_s=longest_s,
        )
    if not values.any():
        return unknown(
            'nothing was done: all values are 0',
            longest_stall_s=longest_s,
        )
    average = float(values.mean())
    excursion, by_noise = (part / average for part in _excursion(values))
    slope, half = (part / average for part in _slope(values))
    over = {
        'excursion': excursion > EXCURSION_LIMIT,
        'slope': abs(slope) > SLOPE_LIMIT,
    }
    failed = [
        name
        for name, more_than_noise in (
            ('excursion', excursion > by_noise),
            ('slope', abs(slope) > half),
        )
        if over[name] and more_than_noise
    ]
    failed += ['stalls'] if stalls else []
    if failed:
        steady, finding = False, f'not steady by {" and ".join(failed)}'
    elif any(over.values()):
        steady, finding = None, 'cannot tell'
    else:
        steady, finding = True, 'steady'
    return Verdict(
        steady=steady,
        average=average,
        excursion=excursion,
        slope=slope,
        reason=f'{finding}: excursion {100 * excursion:.1f} % (limit'
        f' {100 * EXCURSION_LIMIT:.0f} %, noise {100 * by_noise:.1f} %),'
        f' slope {100 * slope:+.1f} % (limit {100 * SLOPE_LIMIT:.0f} %, noise'
        f' {100 * half:.1f} %) over {len(values)} s'
        + (f'; {stood}' if stood else ''),
        longest_stall_s=longest_s,
    )


def _check(series: Series) -> None:
    previous = None
    for at_ms, value in series:
        if previous is not None and at_ms <= previous:
            raise ValueError(
                f'{at_ms} ms after {previous} ms: expected a'
                f' series in order of time'
            )
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(
                f'value {value} at {at_ms} ms: expected a finite'
                f' number of at least 0'
            )
        previous = at_ms


def common_window(spans: Mapping[str, Window]) -> Window:
    """Return the window from the latest start to the earliest end.

    :param spans: {guest: its run on the common clock}, at least one
    :returns: of length 0 if they never did
    :raises ValueError: there is no guest
    """
    if not spans:
        raise ValueError('no guest has a span: expected at least one')
    start_ms = max(span.start_ms for span in spans.values())
    return Window(
        start_ms=start_ms,
        end_ms=max(start_ms, min(span.end_ms for span in spans.values())),
    )


def on_common_clock(series: Series, *, offset_ms: int) -> list:
    """A guest's series with its times on the common clock.

    :param offset_ms: the guest's clock minus the common one
    """
    return [(at_ms - offset_ms, value) for at_ms, value in series]


@dataclass(frozen=True, kw_only=True)
class FleetSeries:
    """Guests of a slot together, second by second."""

    #: in which all of them ran
    window: Window
    #: [(start of each full second, sum of the guests'), ...]
    total: tuple[tuple[int, float], ...]


def resample(
    series: Series, starts_ms: Sequence[int], step_ms: int
) -> list[float]:
    """Resample a series to steps of the common clock, as means.

    A value at t holds from t to t + step, so that two of them overlap a step
    of the common clock; each counts for its share.  Gaps count as 0: the guest
    did nothing then, or reported nothing.

    :param series: values in order of time
    :param starts_ms: starts of the steps, in order of time
    :param step_ms: length of a step, and of the time for which a value holds
    """
    found = []
    first = 0
    for start in starts_ms:
        while first < len(series) and series[first][0] + step_ms <= start:
            first += 1
        amount, at = 0.0, first
        while at < len(series) and series[at][0] < start + step_ms:
            begin = series[at][0]
            share = min(begin, start) + step_ms - max(begin, start)
            amount += series[at][1] * share / step_ms
            at += 1
        found.append(amount)
    return found


def cut(
    series: Mapping[str, Series],
    *,
    offsets_ms: Mapping[str, int],
    step_ms: int = 1000,
) -> FleetSeries:
    """Cut all guests' series to their common window and add them up.

    :param series: {guest: [(ms on its own clock, value that holds for the
        step that begins then), ...]}, in order of time
    :param offsets_ms: {guest: its clock minus the common one}
    :param step_ms: distance of the values
    :returns: with an empty ``total`` if no full step is common to all
    :raises ValueError: no guest, a guest without values or offset, or a
        series that ``judge`` would refuse
    """
    silent = sorted(guest for guest, found in series.items() if not found)
    lost = sorted(series.keys() - offsets_ms.keys())
    if silent or lost:
        raise ValueError(
            f'guests without values: {", ".join(silent) or "-"};'
            f' without a clock offset: {", ".join(lost) or "-"}'
        )
    common = {}
    for guest, found in series.items():
        _check(found)
        common[guest] = on_common_clock(found, offset_ms=offsets_ms[guest])
    window = common_window(
        {
            guest: Window(start_ms=found[0][0], end_ms=found[-1][0] + step_ms)
            for guest, found in common.items()
        }
    )
    starts_ms = range(window.start_ms, window.end_ms - step_ms + 1, step_ms)
    values = [resample(found, starts_ms, step_ms) for found in common.values()]
    return FleetSeries(
        window=window,
        total=tuple(
            zip(
                starts_ms,
                map(math.fsum, zip(*values, strict=True)),
                strict=True,
            )
        ),
    )
