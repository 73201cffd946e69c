# SPDX-License-Identifier: Apache-2.0

"""Comparison of runs made separately, each as one observation.

The repeats of a run know nothing of how another run on the same storage would
differ: it has another fleet, in another place, at another time.  Such noise
may be normal, may have heavy tails, or may have levels: a whole run is then
fast or slow, by chance.  ``benchmarks/false_claims.py`` measures how often
each of them is taken for a difference.

Must not know what the figures are of.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import functools
import itertools
import math

from cinder_tiers.figures.stats import differences

#: {name of a run: a figure of each of its repeats, more than 0}
Runs = Mapping[str, Sequence[float]]
# Of the comparisons of the same storage, those that noise in levels alone may
# make false; the rest of what may be false is left for other noise.
_FALSE_BY_LEVELS = 0.8 * (1 - differences.CONFIDENCE)
# Where the noise of a side is taken from other runs, which may have less, and
# may have a heavy tail of which a single run knows nothing.
_FREEDOM_OF_OTHERS = 5


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Values of one quantity of one pattern, in all runs of a comparison."""

    #: runs of the one side, at least one
    first: Runs
    #: of the other side
    second: Runs
    #: other runs of the first storage, for how much runs vary
    history: Runs = dataclasses.field(default_factory=dict)
    #: relative width of the bucket that a figure lies in
    resolution: float

    @property
    def difference(self) -> differences.LogDifference:
        """The second to the first.

        :raises ValueError: as ``of_runs``
        """
        return of_runs(
            list(self.first.values()),
            list(self.second.values()),
            history=list(self.history.values()),
            resolution=self.resolution,
        )


def together(patterns: Sequence[Figures]) -> Figures:
    """Return the geometric mean over patterns, for runs that have all.

    :param patterns: at least one
    """
    first, second, history = (
        {
            run: _means([side[run] for side in sides])
            for run in sides[0]
            if all(run in side for side in sides)
        }
        for sides in (
            [each.first for each in patterns],
            [each.second for each in patterns],
            [each.history for each in patterns],
        )
    )
    return Figures(
        first=first,
        second=second,
        history=history,
        resolution=math.fsum(each.resolution for each in patterns)
        / len(patterns),
    )


def _means(of_patterns: Sequence[Sequence[float]]) -> list[float]:
    """The geometric mean of patterns of a run, in each of its repeats."""
    if len(set(map(len, of_patterns))) > 1:
        # A repeat of some is lost, so no repeat has all of them.
        of_patterns = [[_geometric_mean(each)] for each in of_patterns]
    return [
        _geometric_mean(repeat) for repeat in zip(*of_patterns, strict=True)
    ]


def _geometric_mean(values: Sequence[float]) -> float:
    return differences.value(differences.mean_logarithm(values))


def of_runs(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    *,
    history: Sequence[Sequence[float]] = (),
    resolution: float,
) -> differences.LogDifference:
    """Compare runs that were made separately, each as one observation.

    The variation between runs of the same storage is pooled over all groups;
    otherwise a few runs that happen to agree would seem to have no noise.  For
    the same reason it is at least the variance that the mean of a run has by
    its own repeats.  The error is at least that of each side's own variation,
    and the degrees of freedom are limited by the side with fewer runs (the
    conservative end of Welch, Biometrika 34, 1947, 28-35).  A single run is
    assumed to vary like the others.

    :param first: figures of each repeat of each run, more than 0
    :param second: the same for the other side
    :param history: other runs of the same storage, used for their variation
        only
    :param resolution: relative width of the bucket in which a figure lies
    :raises ValueError: no group has two runs, a side has none, or a figure is
        not more than 0
    """
    runs = [
        [differences.logarithms(run, least=1) for run in group]
        for group in (first, second, history)
    ]
    means = [[_mean(run) for run in group] for group in runs]
    freedom = sum(len(group) - 1 for group in means if group)
    if freedom < 1 or not (means[0] and means[1]):
        raise ValueError(
            f'{len(first)} and {len(second)} runs, {len(history)} of history:'
            f' expected two in one of them, and one on each side'
        )
    between = sum(map(_squares, filter(None, means))) / freedom
    repeated = [run for group in runs for run in group if len(run) > 1]
    within = (
        sum(map(_squares, repeated))
        / sum(len(run) - 1 for run in repeated)
        * (sum(1 / len(run) for run in repeated) / len(repeated))
        if repeated
        else 0.0
    )
    variance = max(between, within, resolution**2 / 12, 1e-24)
    of_sides = [variance] * 2
    fewer = min(len(first), len(second))
    if fewer > 1:
        of_sides = [_squares(side) / (len(side) - 1) for side in means[:2]]
    return differences.LogDifference(
        mean=_mean(means[1]) - _mean(means[0]),
        error=math.sqrt(
            max(
                variance * (1 / len(first) + 1 / len(second)),
                of_sides[0] / len(first) + of_sides[1] / len(second),
            )
        ),
        freedom=min(
            freedom,
            max(
                2 * (fewer - 1),
                _FREEDOM_OF_OTHERS if history or fewer == 1 else 1,
            ),
        ),
        deviation=math.sqrt(max(2 * variance, sum(of_sides))),
        is_paired=False,
        repeats=fewer,
        resolution=resolution,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _squares(values: Sequence[float]) -> float:
    """Return the sum of squared distances from the mean."""
    mean = _mean(values)
    return math.fsum((each - mean) ** 2 for each in values)


def with_common_noise(
    found: Sequence[differences.LogDifference],
) -> list[differences.LogDifference]:
    """Return the differences with at least their common noise.

    By chance, some of few observations agree, with noise in levels more often
    than with normal noise; among many quantities those would be claimed.  The
    common noise is the root of the mean of the variances.  If a single run is
    compared, all get the highest noise: a single observation from a heavy tail
    cannot be recognized as such.  Of sides that had their turns together, the
    noisiest do not count, as many as ``noisiest_left_out`` says: a side may
    well be less steady than the others.

    :param found: differences of one quantity, each for another pattern or side
    :returns: differences in the same order
    """
    deviations = sorted(each.deviation for each in found)
    all_paired = all(each.is_paired for each in found)
    with_noise = []
    for each in found:
        counting = deviations
        if all_paired:
            counting = deviations[: -noisiest_left_out(each.repeats)]
        elif each.repeats == 1:
            counting = deviations[-1:]
        least = math.sqrt(
            math.fsum(one**2 for one in counting) / max(1, len(counting))
        )
        with_noise.append(
            each
            if least <= each.deviation
            else dataclasses.replace(
                each,
                deviation=least,
                error=each.error * least / each.deviation,
            )
        )
    return with_noise


def noisiest_left_out(pairs: int) -> int:
    """Return how many differences may be noisier than the common noise.

    With levels of equal shares, one side is in the high and the other in the
    low one in a quarter of the pairs.  Of so many differences and one more,
    hardly any has that in all pairs, either way.  One is left out in any case,
    or a single unsteady side would hide what all others show; of three pairs,
    two differences with such levels then claim in 6 %.

    :returns: number of differences, from 1

    >>> [noisiest_left_out(pairs) for pairs in (3, 4, 5)]
    [1, 5, 24]
    """
    return max(1, int((1 - differences.CONFIDENCE) / (2 * 0.25**pairs)) - 1)


@functools.cache
def can_differ(first: int, second: int, history: int = 0) -> bool:
    """Return whether so many runs can show a difference.

    That all runs of one side are in one level and all others in another must
    not be likely, whatever the share of the levels is: 3 against 3 can show
    something, or 1 against 9, or 1 against 1 with a history of 17.

    :param first: number of runs of one side
    :param second: likewise
    :param history: number of other runs of the first storage
    """
    apart = [(first, second + history)]
    if history:
        apart.append((second, first + history))
    return all(
        sum(
            share**one * (1 - share) ** others
            + share**others * (1 - share) ** one
            for one, others in apart
        )
        <= _FALSE_BY_LEVELS
        for share in (each / 100 for each in range(1, 51))
    )


def history_needed(first: int, second: int) -> int:
    """Return how many other runs of the first storage can show a difference.

    :param first: number of runs of one side, at least one
    :param second: number of runs of the other side, at least one
    """
    return next(
        history
        for history in itertools.count()
        if can_differ(first, second, history)
    )


def claims_together(firsts: int, others: int) -> tuple[int, int]:
    """Return the corrections of the first claims and of the others.

    Each half may be wrong equally often, so that a few first claims are not
    corrected for many others.

    :param firsts: number of first claims
    :param others: number of the others
    :returns: the number of claims for which a claim of each half is corrected
    """
    if not firsts or not others:
        return firsts, others
    return 2 * firsts, 2 * others
