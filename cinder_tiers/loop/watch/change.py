# SPDX-License-Identifier: Apache-2.0

"""Detection of a new level in the latest windows of a series.

The values are logarithms of latencies: what makes storage slower makes it so
by a factor. The level of some windows is their midmean, the mean of the middle
half (Rosenberger and Gasko in Hoaglin et al., Understanding Robust and
Exploratory Data Analysis, 1983, chapter 10), which varies less than a median.
The level of a short span, which sees a step soon, or of a long one, which sees
a smaller or slower change, is compared with the median of all windows before,
which may be of hours. It must differ

* by at least a given factor,
* by a multiple of the deviation that such levels have, which is estimated from
  how far they are apart that are some minutes or an hour apart: noise that is
  alike from one window to the next moves levels more than their windows tell;
* and in nearly all windows of the span, so that a burst is no change.

When it began is estimated by least squares, of a step and of a ramp that
begins at each place; the one that leaves less is taken (a broken-line
regression: Hinkley, Biometrika 56, 1969, 495-504).

Must not know what the values are of.
"""

from dataclasses import dataclass
import math

import numpy
from numpy import typing as numpy_typing

#: Windows of which the latest level is: of 20 s each, 5 and 15 minutes. Of
#: fewer, two bursts of three minutes at most that meet would be a change.
SHORT = 15
LONG = 45
SPANS = (SHORT, LONG)
#: Before a span, at least.
LEAST_BEFORE = 10
#: On a new level, at least, so that it is one.
LEAST_WINDOWS = 5
#: The new level differs from the old one by this, at least. Less is hard to
#: distinguish from what a tier does all day.
LEAST_PERCENT = 50.0
#: And by so many deviations of such levels.
LEAST_DEVIATIONS = 4.0
# More of them if it is estimated from few windows: a share of so many spans.
_MORE_OF_FEW = 2.0
# From one level to another of which the difference tells the deviation.
_APART = (36, 180)
# Levels are of spans that begin so many windows apart: all tell no more.
_EACH = 3
# Of a span, one in so many windows may be as before.
_ONE_IN = 15
# And what the others have changed by is so much of the change of the level.
_HELD = 0.5
# A median of absolute deviations is so much of a standard deviation.
_OF_MEDIAN = 1.4826


@dataclass(frozen=True, kw_only=True)
class Change:
    """Change of level at a place in a series."""

    #: index of the first value of the change
    index: int
    #: median of the values before it
    before: float
    #: level that it has reached
    after: float


def latest_level(levels: numpy_typing.ArrayLike) -> float:
    """Return the level of the latest short span of a series.

    :param levels: levels in order of time, at least one
    """
    latest = numpy.asarray(levels, dtype=float)[-SHORT:]
    return float(_midmean(numpy.sort(latest)))


def held(levels: numpy_typing.ArrayLike, span: int) -> float:
    """Return the level that nearly all of the latest windows reach.

    :param levels: levels in order of time, at least one
    :param span: number of the latest windows
    """
    latest = numpy.sort(numpy.asarray(levels, dtype=float)[-span:])
    return float(latest[len(latest) // _ONE_IN])


def find(
    levels: numpy_typing.ArrayLike,
    *,
    span: int = SHORT,
    first: int = 0,
    least_percent: float = LEAST_PERCENT,
) -> Change | None:
    """Find the change that the latest values of a series follow.

    :param levels: natural logarithms, in order of time; finite
    :param span: number of the latest windows
    :param first: index of the first level since the last change that was
        found; earlier ones only show how far levels are apart
    :param least_percent: minimum by which one level is above the other
    :returns: None without a change, or while there are too few values
    """
    known = numpy.asarray(levels, dtype=float)
    values = known[first:]
    if len(values) < LEAST_BEFORE + span:
        return None
    middle = _median(values[:-span])
    latest = float(_midmean(numpy.sort(values[-span:])))
    rise = latest - middle
    if abs(rise) < math.log1p(least_percent / 100):
        return None
    if not _stands_out(known, span, rise):
        return None
    # What is far from both levels would decide a sum of squares.
    room = abs(rise) / 2
    index = begins(
        values.clip(min(middle, latest) - room, max(middle, latest) + room)
    )
    index = min(max(index, 1), len(values) - LEAST_WINDOWS)
    return Change(
        index=first + index,
        before=float(numpy.median(values[:index])),
        after=float(numpy.median(values[index:][-SHORT:])),
    )


def _midmean(ordered: numpy.ndarray) -> numpy.ndarray:
    cut = ordered.shape[-1] // 4
    return ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)


def _stands_out(known: numpy.ndarray, span: int, rise: float) -> bool:
    """Return whether the latest span differs by more than such spans do.

    :param known: all levels
    :param span: number of the latest windows
    :param rise: rise of the level; negative if it fell
    """
    before = known[:-span]
    # Of a level that fell, as of one that rose.
    side = math.copysign(1.0, rise)
    if len(before) < 2 * span:
        deviation = _OF_MEDIAN * _middle_distance(before) / 2
        held_before = held(side * before, len(before))
    else:
        runs = numpy.lib.stride_tricks.sliding_window_view(side * before, span)
        ordered = numpy.sort(runs[::-_EACH][::-1], axis=1)
        deviation = _deviation(_midmean(ordered), span)
        held_before = float(numpy.median(ordered[:, span // _ONE_IN]))
    least = LEAST_DEVIATIONS * (1 + _MORE_OF_FEW * span / len(before))
    held_rise = held(side * known, span) - held_before
    return abs(rise) >= least * deviation and held_rise >= _HELD * abs(rise)


def _deviation(levels: numpy.ndarray, span: int) -> float:
    """Return the deviation of levels of spans, robust to shifts and slopes.

    A long stay on another level makes levels lie far from their median; a
    short one makes them lie far from those some time before.
    """
    apart = [
        _OF_MEDIAN
        * float(numpy.median(numpy.abs(levels[each:] - levels[:-each])))
        / math.sqrt(2)
        for each in (max(each, span) // _EACH for each in _APART)
        if len(levels) >= 2 * each
    ]
    around = _OF_MEDIAN * _middle_distance(levels)
    return min(max(apart, default=around), around)


def _median(values: numpy.ndarray) -> float:
    """Do the work of `numpy.median`, whose checks double the time."""
    middle = len(values) // 2
    # Of an even number, the mean of two.
    ordered = numpy.partition(values, (middle - 1, middle))
    if len(values) % 2:
        return float(ordered[middle])
    return float((ordered[middle - 1] + ordered[middle]) / 2)


def _middle_distance(values: numpy.ndarray) -> float:
    return float(numpy.median(numpy.abs(values - numpy.median(values))))


def begins(values: numpy_typing.ArrayLike) -> int:
    """Index of the first value of a step or of a ramp that lasts to the end.

    :param values: two at least, in order of time
    """
    found = numpy.asarray(values, dtype=float)
    count = len(found)
    places = numpy.arange(1, count)
    away = found - found.mean()
    # Of each place, of the values from it on: their number, and the sums of
    # the values, of their distance to the place before, and of both.
    number: numpy.ndarray = count - places
    total = away[::-1].cumsum()[::-1][1:]
    weighted = (away * numpy.arange(count))[::-1].cumsum()[::-1][1:]
    step = _explained(total, number, number, count)
    ramp = _explained(
        weighted - (places - 1) * total,
        number * (number + 1) / 2,
        number * (number + 1) * (2 * number + 1) / 6,
        count,
    )
    best = ramp if ramp.max() > step.max() else step
    return int(places[best.argmax()])


def _explained(
    product: numpy.ndarray,
    total: numpy.ndarray,
    squares: numpy.ndarray,
    count: int,
) -> numpy.ndarray:
    """Return the part of a sum of squares that a shape explains.

    :param product: sums of the values, whose mean is 0, times the shape
    :param total: sums of the shape
    :param squares: sums of the squares of the shape
    :param count: number of the values
    """
    return product**2 / (squares - total**2 / count)
