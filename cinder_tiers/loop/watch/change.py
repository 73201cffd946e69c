# SPDX-License-Identifier: Apache-2.0

"""Whether the latest windows of a series are on another level than before.

The values are logarithms of latencies: what makes storage slower makes it so
by a factor. ``change_points`` finds where a level changed; its test takes
every order of the values as equally likely, which does not hold for windows
that follow one another: a scrub or a neighbour is felt in several of them.
Asked in each window, it would report such drift again and again. So a change
must also be

* lasting: of the latest `LEAST_WINDOWS` windows all but one are on the new
  level, so that a burst of a minute is none,
* relevant: by at least a given factor, between medians, and
* new: so many windows in a row have never had such a median before, in the
  part of the series that it is compared with.

What a tier does again and again is no change. The cheap conditions are looked
at first, so that a quiet series costs next to nothing. The test is of ranks,
for which a window that is ten times as slow is no more than the slowest one.
That makes it blind for the size of a step: windows that were a little slow
just before one belong to the new level by their ranks. So where a level began
is estimated by the distances of all windows from the medians of both levels
(least absolute deviations: Bai, Econometric Theory 11, 1995, 403-436), which
one slow window does not decide either. How often all this is wrong, and how
soon a change is found, is simulated in
``tests/unit/loop/watch/test_change.py``.

Must not know what the values are of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy
from scipy import stats

from cinder_tiers.figures.stats import change_points

#: On the new level, at least; of 20 s each, 100 s.
LEAST_WINDOWS = 5
#: Before it, at least.
LEAST_BEFORE = 10
#: In which a cut is looked for. The cost grows with the square of it.
CUT_WINDOWS = 40
#: Among which the new level must be new.
MOST_WINDOWS = 240
#: A cut that chance makes as often is none (of `change_points.find`).
LEAST_PROBABILITY = 0.01
#: The new level differs from the old one by this, at least. Less is hard to
#: distinguish from what a tier does all day.
LEAST_PERCENT = 50.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """Of a level, at a place in a series."""

    #: index of the first value that is on the new level
    index: int
    #: median of the values before it that were compared
    before: float
    #: median of the values from it on
    after: float
    #: of a cut that explains as much if nothing changed
    probability: float


def find(
    levels: Sequence[float], *, least_percent: float = LEAST_PERCENT
) -> Change | None:
    """The change that the latest values of a series are behind.

    :param levels: natural logarithms, in order of time, since the last change
        that was found; finite
    :param least_percent: by which one level is at least above the other
    :returns: None without one, or while there are too few values
    """
    recent = numpy.asarray(levels[-MOST_WINDOWS:], dtype=float)
    if len(recent) < LEAST_BEFORE + LEAST_WINDOWS:
        return None
    least = math.log1p(least_percent / 100)
    if not _is_lasting(recent, least):
        return None
    cut = recent[-CUT_WINDOWS:]
    first = len(recent) - len(cut)
    found = change_points.find(
        stats.rankdata(cut), least_probability=LEAST_PROBABILITY
    )
    for number, point in reversed(list(enumerate(found))):
        earlier = found[number - 1].index if number else 0
        place = first + earlier + _begins(cut[earlier:])
        before, after = recent[:place], recent[place:]
        if len(before) < LEAST_BEFORE or len(after) < LEAST_WINDOWS:
            continue
        rise = numpy.median(after) - numpy.median(before)
        if abs(rise) >= least and _is_new(before, after):
            return Change(
                index=len(levels) - len(after),
                before=float(numpy.median(before)),
                after=float(numpy.median(after)),
                probability=point.probability,
            )
    return None


def _is_lasting(recent: numpy.ndarray, least: float) -> bool:
    """Whether the latest windows are away from the others, all but one.

    Each by half of what the levels have to differ by, at least, for each has
    noise of its own.
    """
    away = recent[-LEAST_WINDOWS:] - numpy.median(recent[:-LEAST_WINDOWS])
    middle = numpy.median(away)
    near = numpy.sort(away * numpy.sign(middle))
    return bool(abs(middle) >= least and near[1] >= least / 2)


def _begins(part: numpy.ndarray) -> int:
    """Index of the first window of the second of two levels.

    :param part: of two windows at least
    """
    return min(
        range(1, len(part)),
        key=lambda place: sum(
            numpy.abs(level - numpy.median(level)).sum()
            for level in (part[:place], part[place:])
        ),
    )


def _is_new(before: numpy.ndarray, after: numpy.ndarray) -> bool:
    """Whether no run of windows as long as the new level had its median."""
    length = min(len(after), LEAST_BEFORE)
    runs = numpy.lib.stride_tricks.sliding_window_view(before, length)
    medians = numpy.median(runs, axis=1)
    middle = numpy.median(after)
    return bool(middle > medians.max() or middle < medians.min())
