# SPDX-License-Identifier: Apache-2.0

"""Difference of two sides, its significance, and the repeats to show it.

What is compared is a ratio, so all is done with natural logarithms: what
makes storage slower makes it so by a factor, and "twice as fast" is as far
from "the same" as "half as fast" is.  The observations are repeats, one
figure each (see ``intervals``).

Sides that had their turns in the same repeats are compared within each of
them (paired t): what a whole repeat has in common, such as a neighbour's
load, is then in neither.  Runs that were made apart: see ``between_runs``.

fio counts latencies in buckets, and an I/O is counted or not.  Repeats that
fall into the same bucket do not have a standard deviation of 0, they have one
that cannot be seen; so at least that of a value that is anywhere in its
bucket, width / sqrt(12), is assumed, and no difference within one bucket is
ever called one.

Must not know what the figures are of.
"""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
import math
import statistics

from cinder_tiers.figures.stats import distributions
from cinder_tiers.figures.stats import intervals

CONFIDENCE = intervals.CONFIDENCE
#: That a difference of the wanted size is found.
POWER = 0.8
#: Of sides that had their turns in the same repeats, or blocks.  Where each
#: turn is fast or slow by chance, two agree too often to show anything.
LEAST_PAIRS = 3
#: More repeats are never asked for.
MOST_REPEATS = 1000
# Of the standard deviation that a few repeats show, the upper bound of this
# confidence is planned with: planned with the value itself, every second run
# would be too short (Browne, Statistics in Medicine 14, 1995, 1933-1940).
_PLANNING_CONFIDENCE = 0.8
# A double has no number of which the logarithm is 710.
_MOST_LOGARITHM = 700.0
# Nor can it be distinguished from -100 % below, which has no logarithm.
_LEAST_LOGARITHM = -36.0


@dataclass(frozen=True, kw_only=True)
class LogDifference:
    """Difference of the second side to the first, in natural logarithms."""

    #: mean
    mean: float
    #: standard error of the mean
    error: float
    #: degrees of freedom
    freedom: float
    #: standard deviation of one repeat's difference
    deviation: float
    #: whether repeats of both sides were compared within each
    is_paired: bool
    #: of the side that has fewer
    repeats: int
    #: below which nothing is a difference
    resolution: float
    #: how often intervals may have been looked at to end the repeats, see
    #: ``stopping``; 1: their number was fixed
    looks: int = 1

    @property
    def variation_percent(self) -> float:
        """Coefficient of variation of the repeats of each of two alike sides.

        Without what they have in common where both are in the same repeats.
        """
        return 100 * math.sqrt(
            math.expm1(min(self.deviation**2 / 2, _MOST_LOGARITHM))
        )

    @property
    def percent(self) -> float:
        """The second in percent of the first, less 100."""
        return percent(self.mean)

    def interval_percent(self, *, claims: int = 1) -> tuple[float, float]:
        """Return the ends of the interval, which hold for all claims at 95 %.

        It excludes 0 exactly if ``p_differs`` times the claims is small
        enough.

        :param claims: number of claims made together
        """
        half = max(
            self.resolution,
            self.error
            * -distributions.student_quantile(
                self.freedom, (1 - CONFIDENCE) / (2 * self.looks * claims)
            ),
        )
        return percent(self.mean - half), percent(self.mean + half)

    def p_differs(self, margin: float = 0.0) -> float:
        """Return the two-sided probability of such a mean if nothing differs.

        :param margin: differences up to this, either way, count as none
        """
        if abs(self.mean) <= margin + self.resolution:
            return 1.0
        return min(
            1.0,
            2
            * self.looks
            * distributions.student_above(
                self.freedom, (abs(self.mean) - margin) / self.error
            ),
        )

    def p_beside(self, bound: float) -> float:
        """Return the two-sided probability of such a mean if it is the bound.

        Equals ``p_differs`` for a bound of 0.  If it is small, the difference
        lies on the side of the bound on which the mean is.

        :param bound: a logarithm, of either sign
        """
        distance = abs(self.mean - bound)
        if distance <= self.resolution:
            return 1.0
        return min(
            1.0,
            2
            * self.looks
            * distributions.student_above(self.freedom, distance / self.error),
        )

    def p_within(self, margin: float) -> float:
        """Return the probability of such a mean if the margin is exceeded.

        The larger of two one-sided tests (Schuirmann, Journal of
        Pharmacokinetics and Biopharmaceutics 15, 1987, 657-680).

        An error up to the resolution may be the same in all repeats, so that
        no number of them makes up for it.

        :param margin: more than 0
        """
        room = margin - self.resolution
        if abs(self.mean) >= room:
            return 1.0
        return min(
            1.0,
            self.looks
            * distributions.student_above(
                self.freedom, (room - abs(self.mean)) / self.error
            ),
        )


def percent(logarithm: float) -> float:
    """A difference of logarithms as a change in percent.

    >>> round(percent(math.log(1.1)), 6)
    10.0
    """
    return 100 * math.expm1(
        max(_LEAST_LOGARITHM, min(logarithm, _MOST_LOGARITHM))
    )


def logarithm(change_percent: float) -> float:
    """A change in percent as a difference of logarithms.

    :param change_percent: more than -100
    """
    return math.log1p(change_percent / 100)


def mean_logarithm(values: Sequence[float]) -> float:
    """Return the logarithm of the geometric mean.

    :param values: at least one, each more than 0
    """
    return math.fsum(map(math.log, values)) / len(values)


def value(logarithm: float) -> float:
    """Return the value of a logarithm."""
    return math.exp(logarithm)


def logarithms(values: Sequence[float], *, least: int = 2) -> list[float]:
    """Return the natural logarithms of the figures of a side.

    :param values: figures, each more than 0
    :param least: required number of figures
    :raises ValueError: there are fewer, or one is not finite or not more than
        0
    """
    if len(values) < least:
        raise ValueError(f'{len(values)} repeats: expected at least {least}')
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError('a repeat has a figure of 0: expected more')
    return [math.log(value) for value in values]


def of_blocks(
    first: Sequence[float],
    second: Sequence[float],
    *,
    resolution: float,
    looks: int = 1,
) -> LogDifference:
    """Compare sides that had their turns in the same repeats.

    :param first: a figure of each repeat, more than 0
    :param second: figures of the same repeats, in the same order
    :param resolution: relative width of the bucket in which a figure lies
    :param looks: number of looks of the run, see ``LogDifference``
    :raises ValueError: fewer than LEAST_PAIRS repeats, a figure that is not
        more than 0, or different numbers of repeats
    """
    if len(first) < LEAST_PAIRS:
        raise ValueError(
            f'{len(first)} repeats: expected at least {LEAST_PAIRS}'
        )
    ones, others = logarithms(first), logarithms(second)
    found = [other - one for one, other in zip(ones, others, strict=True)]
    deviation = max(statistics.stdev(found), resolution / math.sqrt(6))
    deviation = max(deviation, 1e-12)
    return LogDifference(
        mean=statistics.fmean(found),
        error=deviation / math.sqrt(len(found)),
        freedom=len(found) - 1,
        deviation=deviation,
        is_paired=True,
        repeats=len(found),
        resolution=resolution,
        looks=looks,
    )


def of_variation(
    variation_percent: float, *, is_paired: bool
) -> LogDifference:
    """Return a difference of two sides with a given noise.

    :param variation_percent: coefficient of variation of the repeats of each
        side, more than 0; for sides in the same repeats, that of the part
        which they do not share
    :param is_paired: whether both sides have their turns in the same repeats
    """
    return _of_noise(
        # Of a log-normal distribution.
        math.sqrt(math.log1p((variation_percent / 100) ** 2)),
        freedom=math.inf,
        repeats=0,
        resolution=0.0,
        is_paired=is_paired,
    )


def _of_noise(
    deviation: float,
    *,
    freedom: float,
    repeats: int,
    resolution: float,
    is_paired: bool,
    looks: int = 1,
) -> LogDifference:
    of_pair = deviation * math.sqrt(2)
    return LogDifference(
        mean=0.0,
        error=of_pair / math.sqrt(repeats or 1),
        freedom=freedom,
        deviation=of_pair,
        is_paired=is_paired,
        repeats=repeats,
        resolution=resolution,
        looks=looks,
    )


def holm(probabilities: Sequence[float]) -> list[float]:
    """Probabilities as they are when all of them are claimed together.

    Holm, Scandinavian Journal of Statistics 6 (1979), 65-70: that one claim
    of all is false is no more likely than for a single one, whatever they
    have to do with each other.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(probabilities)
    most = 0.0
    for rank, place in enumerate(
        sorted(range(len(probabilities)), key=probabilities.__getitem__)
    ):
        most = max(
            most, min(1.0, (len(probabilities) - rank) * probabilities[place])
        )
        adjusted[place] = most
    return adjusted


def repeats_needed(
    difference: LogDifference,
    *,
    wanted: float,
    claims: int = 1,
    margin: float = 0.0,
    power: float = POWER,
) -> int | None:
    """Return the repeats of each side that show a difference of this size.

    Uses the exact power of the t test, for one of several claims.

    :param difference: difference in earlier repeats, for its deviation and
        method
    :param wanted: natural logarithm of the ratio, more than 0
    :param claims: number of claims made together
    :param margin: see ``LogDifference.p_differs``
    :param power: probability of finding an existing difference, more than 0,
        less than 1
    :returns: None if MOST_REPEATS are not enough
    """
    if wanted <= margin + difference.resolution:
        return None
    deviation = _planned_deviation(difference)
    alpha = (1 - CONFIDENCE) / (claims * difference.looks)

    def shows(repeats: int) -> bool:
        freedom = _freedom_of(difference, repeats)
        critical = distributions.student_quantile(freedom, 1 - alpha / 2)
        distance = (wanted - margin) / deviation * math.sqrt(repeats)
        found = distributions.noncentral_above(freedom, distance, critical)
        # There is no value where the tail is beyond a double.
        return not math.isfinite(found) or found >= power

    return _least_repeats(shows, LEAST_PAIRS if difference.is_paired else 2)


def text_of_need(
    wanted_percent: float,
    needed: int | None,
    *,
    repeats: int = 0,
    observations: str = 'repeats',
) -> str:
    """Return a clause on the repeats that show a difference of this size.

    :param wanted_percent: the size
    :param needed: the result of ``repeats_needed``
    :param repeats: number of existing repeats; 0 before there are any
    :param observations: name of the repeats
    """
    if needed is None:
        return (
            f'more than {MOST_REPEATS} {observations} would be needed to see'
            f' {wanted_percent:g} %'
        )
    if needed <= repeats:
        return (
            f'{wanted_percent:g} % would most likely have shown, as'
            f' {needed} {observations} are enough for that'
        )
    return f'to see {wanted_percent:g} %, {needed} {observations} are needed'


def repeats_for_none(
    difference: LogDifference,
    *,
    margin: float,
    claims: int = 1,
    power: float = POWER,
) -> int | None:
    """Return the repeats that show that a difference is within a margin.

    Assumes that there is no difference, with the two one-sided tests of
    ``p_within``. Both reject with at least 1 less the probabilities that each
    does not: for a power of more than a half that bound is close (Phillips,
    Journal of Pharmacokinetics and Biopharmaceutics 18, 1990, 137-144, has the
    exact integral).

    :param difference: difference in earlier repeats, for its deviation and
        method
    :param margin: natural logarithm of the ratio, more than 0
    :param claims: number of claims made together
    :param power: probability of showing it, more than 0, less than 1
    :returns: None if MOST_REPEATS are not enough
    """
    room = margin - difference.resolution
    if room <= 0:
        return None
    deviation = _planned_deviation(difference)
    alpha = (1 - CONFIDENCE) / (claims * difference.looks)

    def shows(repeats: int) -> bool:
        freedom = _freedom_of(difference, repeats)
        critical = distributions.student_quantile(freedom, 1 - alpha)
        distance = room / deviation * math.sqrt(repeats)
        missed = distributions.noncentral_below(freedom, distance, critical)
        return not math.isfinite(missed) or 1 - 2 * missed >= power

    return _least_repeats(shows, LEAST_PAIRS if difference.is_paired else 2)


def _planned_deviation(difference: LogDifference) -> float:
    """The deviation that is planned with; see _PLANNING_CONFIDENCE."""
    if math.isinf(difference.freedom):
        return difference.deviation
    freedom = max(1.0, difference.freedom)
    return difference.deviation * math.sqrt(
        freedom
        / distributions.chi_squared_quantile(freedom, 1 - _PLANNING_CONFIDENCE)
    )


def _freedom_of(difference: LogDifference, repeats: int) -> int:
    # The deviation of two groups is that of a pair of their values.
    return repeats - 1 if difference.is_paired else 2 * (repeats - 1)


def _least_repeats(shows: Callable[[int], bool], least: int) -> int | None:
    """The least number, from one on, that shows something; more do, too."""
    low, high = least - 1, least
    while not shows(high):
        low, high = high, high * 2
        if low >= MOST_REPEATS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high if high <= MOST_REPEATS else None
