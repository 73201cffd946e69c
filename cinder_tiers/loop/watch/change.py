# SPDX-License-Identifier: Apache-2.0

"""Whether the latest windows of a series are on another level than before.

The values are logarithms of latencies: what makes storage slower makes it so
by a factor. The level of some windows is their midmean, the mean of the middle
half (Rosenberger and Gasko in Hoaglin et al., Understanding Robust and
Exploratory Data Analysis, 1983, chapter 10): a burst of a minute does not
decide it, and it varies less than a median. The latest level is compared with
the median of all windows before, which may be of hours, so that a slow ramp is
seen as well as a step. It must differ

* by at least a given factor, and
* by a multiple of the deviation that such levels had before.

When it began is estimated by least squares, of a step and of a ramp that
begins at each place; the one that leaves less is taken (a broken-line
regression: Hinkley, Biometrika 56, 1969, 495-504).

Must not know what the values are of.
"""

from dataclasses import dataclass
import math

import numpy
from numpy import typing as numpy_typing

#: Whose midmean is the latest level; of 20 s each, four minutes.
LATEST_WINDOWS = 12
#: Before them, at least.
LEAST_BEFORE = 10
#: On a new level, at least, so that it is one.
LEAST_WINDOWS = 5
#: The new level differs from the old one by this, at least. Less is hard to
#: distinguish from what a tier does all day.
LEAST_PERCENT = 50.0
#: And by so many deviations of the levels before.
LEAST_DEVIATIONS = 5.0
# A median of absolute deviations is so much of a standard deviation.
_OF_MEDIAN = 1.4826


@dataclass(frozen=True, kw_only=True)
class Change:
    """Of a level, at a place in a series."""

    #: index of the first value of the change
    index: int
    #: median of the values before it
    before: float
    #: level that it has reached
    after: float


def latest_level(levels: numpy_typing.ArrayLike) -> float:
    """The level of the latest windows of a series.

    :param levels: at least one, in order of time
    """
    latest = numpy.sort(numpy.asarray(levels, dtype=float)[-LATEST_WINDOWS:])
    cut = len(latest) // 4
    return float(latest[cut : len(latest) - cut].mean())


def find(
    levels: numpy_typing.ArrayLike, *, least_percent: float = LEAST_PERCENT
) -> Change | None:
    """The change that the latest values of a series are behind.

    :param levels: natural logarithms, in order of time, since the last change
        that was found; finite
    :param least_percent: by which one level is at least above the other
    :returns: None without one, or while there are too few values
    """
    values = numpy.asarray(levels, dtype=float)
    if len(values) < LEAST_BEFORE + LATEST_WINDOWS:
        return None
    before = values[:-LATEST_WINDOWS]
    middle = float(numpy.median(before))
    latest = latest_level(values)
    least = math.log1p(least_percent / 100)
    rise = latest - middle
    if abs(rise) < least or abs(rise) < LEAST_DEVIATIONS * _deviation(before):
        return None
    # What is far from both levels would decide a sum of squares.
    room = abs(rise) / 2
    index = begins(
        values.clip(min(middle, latest) - room, max(middle, latest) + room)
    )
    index = min(max(index, 1), len(values) - LEAST_WINDOWS)
    return Change(
        index=index,
        before=float(numpy.median(values[:index])),
        after=float(numpy.median(values[index:][-LATEST_WINDOWS:])),
    )


def _deviation(before: numpy.ndarray) -> float:
    """Of the levels of as many windows, without those that stand out."""
    if len(before) < 2 * LATEST_WINDOWS:
        return 0.0
    cut = LATEST_WINDOWS // 4
    runs = numpy.lib.stride_tricks.sliding_window_view(before, LATEST_WINDOWS)
    levels = numpy.sort(runs, axis=1)[:, cut:-cut].mean(axis=1)
    away = numpy.abs(levels - numpy.median(levels))
    return float(_OF_MEDIAN * numpy.median(away))


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
    number = count - places
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
    """What a regression on a shape explains of a sum of squares.

    :param product: sums of the values, of which the mean is 0, by the shape
    :param total: sums of the shape
    :param squares: sums of the squares of the shape
    :param count: of the values
    """
    return product**2 / (squares - total**2 / count)
