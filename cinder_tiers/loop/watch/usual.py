# SPDX-License-Identifier: Apache-2.0

"""Latencies that a tier reaches repeatedly, such as in a nightly job.

Stores how high the latency was in each hour of a week, for some minutes and
for a quarter of an hour, and how low. A job of each hour or half hour shows in
many hours of a day, which have lower latencies as well; a nightly one, and the
load of office hours, in the same hours of a day of the week before.

Pure.
"""

import bisect
from collections.abc import Iterable
from collections.abc import Sequence
import math

import numpy

from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import series

#: A level that so many hours of the day before had, beside a lower one, is
#: usual; or so many of the week.
LEAST_HOURS = 3
LEAST_OF_WEEK = 5
#: By how much an hour may have been below a level that it is said to have
#: had, as a logarithm: of each level, a deviation or two.
NEAR = 0.15
# An hour that was lower than a level by this had it for a part only.
_LOWER = 0.2
_LEAST_MS = 1e-3
_HOUR_S = 3600.0
_DAY_HOURS = 24


def noted(
    hours: Sequence[series.Hour],
    *,
    direction: str,
    moment: float,
    levels: numpy.ndarray,
) -> tuple[series.Hour, ...]:
    """Return the hours with one more window, without those over a week old.

    :param hours: hours in order of time
    :param direction: write or read
    :param moment: seconds since the epoch, not before any of the hours
    :param levels: logarithms of latencies in ms; the window's is the last
    """
    now = math.floor(moment / _HOUR_S)
    highest_ms = math.exp(change.held(levels, change.SHORT))
    lasting_ms = math.exp(change.held(levels, change.LONG))
    lowest_ms = math.exp(change.latest_level(levels))
    # The latest are of this hour, of reads or writes.
    for each in hours[-len(series.DIRECTIONS) :]:
        if (each.direction, each.number) == (direction, now):
            highest_ms = max(highest_ms, each.highest_ms)
            lasting_ms = max(lasting_ms, each.lasting_ms)
            lowest_ms = min(lowest_ms, each.lowest_ms)
            hours = [other for other in hours if other is not each]
    oldest = bisect.bisect_left(
        hours, now - series.OLDEST_HOUR, key=lambda each: each.number
    )
    return (
        *hours[oldest:],
        series.Hour(
            direction=direction,
            number=now,
            highest_ms=highest_ms,
            lasting_ms=lasting_ms,
            lowest_ms=lowest_ms,
        ),
    )


def unusual(
    hours: Sequence[series.Hour],
    *,
    direction: str,
    began_at: Sequence[float],
    levels: numpy.ndarray,
    first: int,
    least_percent: float,
) -> change.Change | None:
    """Find the change that the latest windows follow, unless it is usual.

    A latency that is often high for some minutes may never have been so for
    longer: each span is compared with spans of the same length.

    :param hours: hours before the latest window
    :param direction: write or read
    :param began_at: begin of each window, seconds since the epoch
    :param levels: logarithm of a latency in ms, for each window
    :param first: index of the first window since the last change
    :param least_percent: see ``change.find``
    """
    for span in change.SPANS:
        found = change.find(
            levels, span=span, first=first, least_percent=least_percent
        )
        if found is not None and (
            found.after < found.before
            or not is_usual(
                hours,
                direction=direction,
                since=began_at[found.index],
                moment=began_at[-1],
                level=change.held(levels, span),
                span=span,
            )
        ):
            return found
    return None


def is_usual(
    hours: Iterable[series.Hour],
    *,
    direction: str,
    since: float,
    moment: float,
    level: float,
    span: int = change.SHORT,
) -> bool:
    """Return whether a tier often has a level, or at this time of day.

    :param direction: write or read
    :param since: begin of the change to it, seconds since the epoch; later
        levels are ignored
    :param moment: current time, seconds since the epoch
    :param level: logarithm of a latency in ms
    :param span: number of windows
    """
    now = math.floor(moment / _HOUR_S)
    first = math.floor(since / _HOUR_S)
    had = [
        each
        for each in hours
        if each.direction == direction
        and each.number < first
        and _log(each.highest_ms if span == change.SHORT else each.lasting_ms)
        >= level - NEAR
    ]
    for_a_part = [
        each.number >= first - _DAY_HOURS
        for each in had
        if _log(each.lowest_ms) <= level - _LOWER
    ]
    return (
        sum(for_a_part) >= LEAST_HOURS
        or len(for_a_part) >= LEAST_OF_WEEK
        # Of the same hour of a day, or of the one before or after it.
        or any(
            now - each.number > 1 and (now - each.number + 1) % _DAY_HOURS <= 2
            for each in had
        )
    )


def _log(latency_ms: float) -> float:
    return math.log(max(latency_ms, _LEAST_MS))
