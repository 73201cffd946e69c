# SPDX-License-Identifier: Apache-2.0

"""Whether a run was steady, judged afterwards by the rule of the SNIA.

The Solid State Storage Performance Test Specification of the SNIA (version
2.0, definition of Steady State) calls a measurement window steady if

* excursion: the highest and the lowest value of the window are together
  within 20 % of its average: max - min <= 0.20 x average, and
* slope: the least squares line through the window rises or falls by at most
  10 % of the average from end to end.

There a value is a round of one minute and a window five rounds.  Here a run
has values of each second, and one second of a few hundred I/Os scatters by
more than 20 % where nothing changes; so seconds are put together into rounds
of equal length first, five of them as in the specification.

fio can stop a job when it is steady (``steadystate=``), but then guests stop
apart, and what the last ones get is no longer shared.  So all run for their
time, and what is steady is decided here.

This module must not know where a series came from.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import math
import statistics

RULE = 'SNIA PTS: excursion 20 %, slope 10 %, 5 rounds'
ROUNDS = 5
EXCURSION_LIMIT = 0.20
SLOPE_LIMIT = 0.10

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
    """What the rule says, with its numbers."""

    #: None if it cannot be judged
    steady: bool | None
    #: of the rounds; None if it cannot be judged
    average: float | None
    #: (highest - lowest round) / average, or None
    excursion: float | None
    #: rise of the least squares line over the window / average, negative when
    #: it falls, or None
    slope: float | None
    #: in words, with the numbers
    reason: str


def unknown(reason: str) -> Verdict:
    """The verdict on what cannot be judged.

    :param reason: why not, in words
    """
    return Verdict(
        steady=None, average=None, excursion=None, slope=None, reason=reason
    )


def rise(values: Sequence[float]) -> float:
    """How much the least squares line through values rises, end to end.

    >>> rise([1, 2, 3])
    2.0

    :param values: at least 2, at equal distances
    """
    middle = (len(values) - 1) / 2
    average = statistics.fmean(values)
    slope = math.fsum(
        (x - middle) * (value - average) for x, value in enumerate(values)
    ) / math.fsum((x - middle) ** 2 for x in range(len(values)))
    return slope * (len(values) - 1)


def rounds(values: Sequence[float], number: int = ROUNDS) -> list[float]:
    """Means of equally long parts; what does not fill one is left out first.

    :param values: at least ``number``
    :raises ValueError: there are fewer
    """
    length = len(values) // number
    if not length:
        raise ValueError(f'{len(values)} values for {number} rounds')
    first = len(values) - number * length
    return [
        statistics.fmean(values[at : at + length])
        for at in range(first, len(values), length)
    ]


def judge(series: Series) -> Verdict:
    """Apply the rule to a window.

    :param series: values of each second, all of the window
    :returns: ``steady`` is None if there are fewer values than rounds, or
        they are all 0
    :raises ValueError: the series is not in order of time, or a value is
        negative or not finite
    """
    _check(series)
    if len(series) < ROUNDS:
        return unknown(f'{len(series)} values, expected at least {ROUNDS}')
    means = rounds([value for _ms, value in series])
    average = statistics.fmean(means)
    if not average:
        return unknown('nothing was done: all values are 0')
    excursion = (max(means) - min(means)) / average
    slope = rise(means) / average
    failed = []
    if excursion > EXCURSION_LIMIT:
        failed.append('excursion')
    if abs(slope) > SLOPE_LIMIT:
        failed.append('slope')
    finding = f'not steady by {" and ".join(failed)}' if failed else 'steady'
    return Verdict(
        steady=not failed,
        average=average,
        excursion=excursion,
        slope=slope,
        reason=f'{finding}: excursion {100 * excursion:.1f} % (limit'
        f' {100 * EXCURSION_LIMIT:.0f} %), slope {100 * slope:+.1f} %'
        f' (limit {100 * SLOPE_LIMIT:.0f} %) over {len(means)} rounds'
        f' of {len(series) // ROUNDS} values',
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
    """From the latest start to the earliest end: all ran side by side.

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
    """All guests of a slot, second by second."""

    #: in which all of them ran
    window: Window
    #: [(start of each full second, sum of the guests'), ...]
    total: tuple[tuple[int, float], ...]


def resample(
    series: Series, starts_ms: Sequence[int], step_ms: int
) -> list[float]:
    """Means over steps of the common clock of values that hold for one step.

    A value at t holds from t to t + step, so that two of them overlap a step
    of the common clock; each counts for its share.  What no value holds for
    counts as 0: the guest did nothing then, or said nothing.

    :param series: in order of time
    :param starts_ms: of the steps, in order of time
    :param step_ms: length of a step, and of what a value holds for
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
