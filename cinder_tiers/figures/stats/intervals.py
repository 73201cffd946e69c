# SPDX-License-Identifier: Apache-2.0

"""Confidence intervals of figures; ``differences`` compares figures.

The independent observations are repeats.  The I/Os of a run, and its values of
each second, are not independent: a deferred write, a compaction or a neighbour
affects many of them, so that an interval from 300 seconds as 300 values is far
too narrow.  Repeats are assumed to be independent: between two of them all
other patterns and tiers have had their turn (``schedule.plan``). So each
repeat is one number, and the interval is Student's for their mean: right for
few values, and for means of many I/Os nearly normal regardless of the
distribution of one I/O.

This module must not know what the values are of.
"""

from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import functools
import math
import statistics

from cinder_tiers.figures.stats import distributions

CONFIDENCE = 0.95
# Of a run that a narrow interval may have stopped: 95 % hold, see `stopping`.
_LOOKED_CONFIDENCE = 0.975
# More, and the mean alone says little of what the next run will give.
SPREAD_LIMIT_PERCENT = 10


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean and how far it can be trusted."""

    #: of all values
    mean: float
    #: how many observations the interval rests on
    values: int
    #: lower end of the 95 % interval of the mean; None without one
    low: float | None
    #: upper end; None without one
    high: float | None
    #: standard deviation of the observations, of the mean; None from one
    #: value, or if the mean is 0 and they differ
    spread_percent: float | None
    #: how the interval was made, or why there is none
    method: str
    #: always null; a field of version 1 of the format
    memory_samples: float | None = None

    @property
    def spread_is_wide(self) -> bool:
        """Return whether the spread is more than SPREAD_LIMIT_PERCENT."""
        return (
            self.spread_percent is not None
            and self.spread_percent > SPREAD_LIMIT_PERCENT
        )


def _checked(values: Sequence[float]) -> list[float]:
    found = [float(value) for value in values]
    if not found:
        raise ValueError('no values: expected at least one')
    wrong = [value for value in found if not math.isfinite(value)]
    if wrong:
        raise ValueError(f'values {wrong[:5]}: expected finite numbers')
    return found


def _spread_percent(mean: float, deviation: float) -> float | None:
    if deviation == 0:
        return 0.0
    return 100 * deviation / abs(mean) if mean else None


@functools.lru_cache(maxsize=1000)
def _student(freedom: float, confidence: float) -> float:
    return distributions.student_quantile(freedom, (1 + confidence) / 2)


def confidence(looks: int) -> float:
    """Return the confidence of Student's interval for which 95 % hold.

    :param looks: how often the repeats may end because the interval is narrow;
        1: their number is fixed
    """
    return CONFIDENCE if looks == 1 else _LOOKED_CONFIDENCE


def quantile(freedom: float, *, looks: int = 1) -> float:
    """Half the width of Student's interval, in standard errors.

    :param looks: see ``confidence``
    """
    return _student(freedom, confidence(looks))


def estimate_mean(values: Sequence[float], *, looks: int = 1) -> Estimate:
    """Return the mean over repeats with Student's 95 % interval.

    :param values: one figure of each repeat, at least one
    :param looks: see ``confidence``
    :raises ValueError: there is none, or one is not finite
    """
    found = _checked(values)
    mean = statistics.fmean(found)
    if len(found) == 1:
        return Estimate(
            mean=mean,
            values=1,
            low=None,
            high=None,
            spread_percent=None,
            method='no interval: one repeat says nothing of the next',
        )
    deviation = statistics.stdev(found)
    half = (
        quantile(len(found) - 1, looks=looks)
        * deviation
        / math.sqrt(len(found))
    )
    return Estimate(
        mean=mean,
        values=len(found),
        low=mean - half,
        high=mean + half,
        spread_percent=_spread_percent(mean, deviation),
        method=f"Student's t over {len(found)} repeats"
        + (
            ''
            if looks == 1
            else f' at {100 * confidence(looks):g} %, so that 95 % hold after'
            f' up to {looks} looks'
        ),
    )


def estimate_next(values: Sequence[float], *, looks: int = 1) -> Estimate:
    """Mean, with the 95 % interval in which one value more would lie.

    Student's, for a value from the same normal distribution: what is promised
    must hold when it is tried, and not on the mean alone.

    :param values: one figure of each repeat, at least one
    :param looks: see ``confidence``
    :raises ValueError: there is none, or one is not finite
    """
    found = estimate_mean(values, looks=looks)
    if found.low is None or found.high is None:
        return found
    wider = math.sqrt(found.values + 1)
    return dataclasses.replace(
        found,
        low=found.mean - wider * (found.mean - found.low),
        high=found.mean + wider * (found.high - found.mean),
        method=f'{found.method}, for one more',
    )


def exponential(logarithm: float) -> float:
    """Return the exponential, or infinity if a float cannot hold it."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


def estimate_geometric_mean(
    values: Sequence[float], *, looks: int = 1
) -> Estimate:
    """Return the geometric mean with Student's 95 % interval of logarithms.

    Sides are compared by this mean (``differences``), so that the shown means
    of two sides have the claimed ratio.

    :param values: one figure of each repeat, at least one, none negative
    :param looks: see ``confidence``
    :returns: 0 without an interval if one of the values is 0
    :raises ValueError: there is none, or one is not finite or negative
    """
    found = _checked(values)
    if min(found) < 0:
        raise ValueError(f'values {found[:5]}: expected none below 0')
    arithmetic = estimate_mean(found, looks=looks)
    if min(found) == 0:
        return dataclasses.replace(
            arithmetic,
            mean=0.0,
            low=None,
            high=None,
            method='no interval: in a repeat there was nothing',
        )
    logarithms = [math.log(value) for value in found]
    of_logarithms = estimate_mean(logarithms, looks=looks)
    if of_logarithms.low is None or of_logarithms.high is None:
        # Of one value, both means are the value.
        return arithmetic
    return dataclasses.replace(
        arithmetic,
        mean=exponential(of_logarithms.mean),
        low=exponential(of_logarithms.low),
        high=exponential(of_logarithms.high),
        method=of_logarithms.method.replace(
            "Student's t", "Student's t of logarithms"
        ),
    )


def fairness(values: Sequence[float]) -> float:
    """Return Jain's index: 1 if all got the same, 1/n if one got everything.

    :param values: share of each guest, at least one, none negative
    :raises ValueError: there is none, one is negative, or all are 0
    """
    found = _checked(values)
    if min(found) < 0 or not any(found):
        raise ValueError('expected values of at least 0, one of them more')
    scale = max(found)
    shares = [value / scale for value in found]
    return sum(shares) ** 2 / (
        len(shares) * math.fsum(share * share for share in shares)
    )
