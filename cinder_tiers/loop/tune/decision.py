# SPDX-License-Identifier: Apache-2.0

"""Which candidate of a tuning is worth confirming, and whether it is better.

A candidate is one value for each option.  A gain is the natural logarithm of
how much better it was than the default of the same block, so what a block has
in common is not in it.  The candidate that looks best of many looks better
than it is: so what is said in the end rests on fresh blocks alone, in which
the candidates to be confirmed were measured beside the default.

Pure.  Must not know how candidates are searched, nor how they are measured.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import math
import statistics

from cinder_tiers.figures.stats import differences

#: The place of the value of each option; 0 is that of the tiers file.
Candidate = tuple[int, ...]

#: More are not confirmed: each costs a slot of each block, and power.
MOST_FINALISTS = 2
#: Fewer blocks confirm next to nothing; more are not asked for.
LEAST_BLOCKS = 4
MOST_BLOCKS = 12
# Of a candidate's mean, as many measurements of no gain are put in: of many
# candidates that were measured once, the best is best by luck.
_PRIOR_MEASUREMENTS = 1.0
# Standard errors by which an option must have looked good to be kept.
_LEAST_ERRORS = 2.0
# Coefficient of variation that is planned with before anything is known.
_USUAL_VARIATION_PERCENT = 5.0


@dataclass(frozen=True, kw_only=True)
class Gain:
    """One measurement of a candidate beside the default of its block."""

    candidate: Candidate
    #: natural logarithm; more than 0 is better than the default
    gain: float


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What fresh blocks say of a candidate."""

    candidate: Candidate
    #: to the default, in logarithms; None: fewer than two blocks
    difference: differences.Difference | None
    #: of such a gain if there is none, corrected for all claims
    probability: float
    #: whether it is better than the default, by more than the least relevant
    #: difference
    is_better: bool


def by_candidate(found: Iterable[Gain]) -> dict[Candidate, list[float]]:
    """{candidate: its gains}, in the order in which they were measured."""
    gains: dict[Candidate, list[float]] = {}
    for each in found:
        gains.setdefault(each.candidate, []).append(each.gain)
    return gains


def is_default(candidate: Candidate) -> bool:
    """Whether a candidate changes nothing."""
    return not any(candidate)


def leader(
    found: Iterable[Gain], *, broken: Collection[Candidate] = ()
) -> Candidate | None:
    """The candidate that looks best so far; None: none looks better.

    :param broken: candidates that break a constraint
    """
    shrunk = {
        candidate: math.fsum(gains) / (len(gains) + _PRIOR_MEASUREMENTS)
        for candidate, gains in by_candidate(found).items()
        if not is_default(candidate) and candidate not in broken
    }
    best = max(shrunk, key=shrunk.__getitem__, default=None)
    return best if best is not None and shrunk[best] > 0 else None


def simplified(candidate: Candidate, found: Sequence[Gain]) -> Candidate:
    """A candidate without options that did not look as if they helped.

    Of its options, the one is kept whose value made the clearest difference to
    candidates without it; then, with that taken off, the next one, until none
    is clear.  So an option that only came along with a good one is not kept.
    """
    kept = [0] * len(candidate)
    left = [each.gain for each in found]
    while True:
        clearest = max(
            (
                (*_advantage(place, value, found, left), place)
                for place, value in enumerate(candidate)
                if value and not kept[place]
            ),
            default=None,
        )
        if clearest is None or clearest[0] < _LEAST_ERRORS:
            return tuple(kept)
        _, advantage, place = clearest
        kept[place] = candidate[place]
        left = [
            gain - advantage * (each.candidate[place] == candidate[place])
            for each, gain in zip(found, left, strict=True)
        ]


def _advantage(
    place: int, value: int, found: Sequence[Gain], left: Sequence[float]
) -> tuple[float, float]:
    """(in standard errors, as a logarithm) of a value over all others."""
    sides: tuple[list[float], list[float]] = ([], [])
    for each, gain in zip(found, left, strict=True):
        sides[each.candidate[place] == value].append(gain)
    if not all(sides):
        return 0.0, 0.0
    advantage = statistics.fmean(sides[1]) - statistics.fmean(sides[0])
    inside = [gain - statistics.fmean(side) for side in sides for gain in side]
    error = max(statistics.pstdev(inside), 1e-12) * math.sqrt(
        sum(1 / len(side) for side in sides)
    )
    return advantage / error, advantage


def finalists(
    found: Sequence[Gain], *, broken: Collection[Candidate] = ()
) -> tuple[Candidate, ...]:
    """Candidates to be confirmed; none if none looks better.

    :param broken: candidates that break a constraint
    """
    best = leader(found, broken=broken)
    if best is None:
        return ()
    simple = simplified(best, found)
    chosen = dict.fromkeys([simple, best])
    return tuple(
        each for each in chosen if not is_default(each) and each not in broken
    )[:MOST_FINALISTS]


def variation_percent(found: Iterable[Gain]) -> float:
    """Noise of one side of a block, by candidates measured repeatedly."""
    squares, freedom = 0.0, 0
    for gains in by_candidate(found).values():
        if len(gains) > 1:
            squares += statistics.variance(gains) * (len(gains) - 1)
            freedom += len(gains) - 1
    if not freedom:
        return _USUAL_VARIATION_PERCENT
    # A gain is of two sides.
    return 100 * math.sqrt(math.expm1(max(squares / freedom / 2, 1e-12)))


def blocks_to_confirm(
    found: Sequence[Gain],
    *,
    candidates: int,
    wanted_percent: float,
    least_percent: float,
) -> int:
    """How many fresh blocks show a wanted gain, if it is there.

    Fixed before the first of them: they are looked at once, at the end.

    :param candidates: how many are confirmed together, at least 1
    :param wanted_percent: the gain that is to be seen
    :param least_percent: a smaller one is none
    :returns: from LEAST_BLOCKS to MOST_BLOCKS
    """
    needed = differences.repeats_needed(
        differences.of_variation(variation_percent(found), is_paired=True),
        wanted=differences.logarithm(wanted_percent),
        claims=candidates,
        margin=differences.logarithm(least_percent),
    )
    return min(max(needed or MOST_BLOCKS, LEAST_BLOCKS), MOST_BLOCKS)


def confirm(
    gains: Mapping[Candidate, Sequence[float]], *, least_percent: float
) -> tuple[Confirmation, ...]:
    """What fresh blocks say of candidates, corrected for each other.

    :param gains: {candidate: its gain in each block in which both it and the
        default were measured}
    :param least_percent: a smaller gain is none
    """
    margin = differences.logarithm(least_percent)
    found = {
        candidate: differences.of_blocks(
            [1.0] * len(values),
            [differences.value(value) for value in values],
            resolution=0.0,
        )
        if len(values) > 1
        else None
        for candidate, values in gains.items()
    }
    probabilities = differences.holm(
        [
            1.0 if each is None else each.p_differs(margin)
            for each in found.values()
        ]
    )
    return tuple(
        Confirmation(
            candidate=candidate,
            difference=difference,
            probability=probability,
            is_better=difference is not None
            and difference.mean > 0
            and probability <= 1 - differences.CONFIDENCE,
        )
        for (candidate, difference), probability in zip(
            found.items(), probabilities, strict=True
        )
    )


def choose(found: Iterable[Confirmation]) -> Confirmation | None:
    """The candidate to propose; None: nothing is better than the default.

    Of several that are better, the one that changes fewest options, unless
    the interval of another one is above its mean.
    """
    better = sorted(
        (each for each in found if each.is_better),
        key=lambda each: sum(map(bool, each.candidate)),
    )
    chosen = None
    for each in better:
        if (
            chosen is None
            or each.difference.interval_percent()[0]
            > chosen.difference.percent
        ):
            chosen = each
    return chosen
