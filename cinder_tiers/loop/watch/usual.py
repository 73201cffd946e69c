# SPDX-License-Identifier: Apache-2.0

"""Whether a tier has a latency now and then, so that it is no change.

Kept is the highest level of each hour of a week. A job of each hour or half
hour is felt in many of the hours of a day; a nightly one, and the load of
office hours, in the same hours of a day of the week before.

Pure.
"""

from collections.abc import Iterable
import math

from cinder_tiers.loop.watch import series

#: A level that so many hours of the day before had is usual.
LEAST_HOURS = 3
#: By how much an hour may have been below a level that it is said to have
#: had, as a logarithm: of each level, a deviation or two.
NEAR = 0.1
_HOUR_S = 3600.0
_DAY_HOURS = 24


def noted(
    hours: Iterable[series.Hour],
    *,
    direction: str,
    moment: float,
    level: float,
) -> tuple[series.Hour, ...]:
    """The hours with a level more; those of more than a week ago are left out.

    :param hours: in order of time
    :param direction: write or read
    :param moment: seconds since the epoch, not before any of the hours
    :param level: logarithm of a latency in ms
    """
    now = math.floor(moment / _HOUR_S)
    highest_ms = math.exp(level)
    kept = []
    for each in hours:
        if each.direction == direction and each.number == now:
            highest_ms = max(highest_ms, each.highest_ms)
        elif each.number >= now - series.MOST_HOURS:
            kept.append(each)
    return (
        *kept,
        series.Hour(direction=direction, number=now, highest_ms=highest_ms),
    )


def is_usual(
    hours: Iterable[series.Hour],
    *,
    direction: str,
    since: float,
    moment: float,
    level: float,
) -> bool:
    """Whether a tier has had a level often, or at this time of day.

    :param direction: write or read
    :param since: when it began to change to it, seconds since the epoch; what
        the tier had since then is not asked
    :param moment: when it has it, seconds since the epoch
    :param level: logarithm of a latency in ms
    """
    now = math.floor(moment / _HOUR_S)
    first = math.floor(since / _HOUR_S)
    had = [
        each.number
        for each in hours
        if each.direction == direction
        and each.number < first
        and math.log(max(each.highest_ms, 1e-3)) >= level - NEAR
    ]
    if sum(number >= first - _DAY_HOURS for number in had) >= LEAST_HOURS:
        return True
    # Of the same hour of a day, or of the one before or after it.
    return any(
        now - number > 1 and (now - number + 1) % _DAY_HOURS <= 2
        for number in had
    )
