# SPDX-License-Identifier: Apache-2.0

"""Choice of the candidates of a tuning to confirm, and the verdict.

A candidate is one value for each option.  A gain is the natural logarithm of
how much better it was than the default of the same block, which removes the
effects that a block has in common.  The best of many candidates looks better
than it is: so the verdict uses only fresh blocks, in which the candidates to
be confirmed were measured together with the default.

Pure.  Must not know how candidates are searched, nor how they are measured.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import math
import statistics

from cinder_tiers.figures.stats import differences

#: The place of the value of each option; 0 is that of the tiers file.
Candidate = tuple[int, ...]

#: Fewer blocks confirm next to nothing; more are not asked for.
LEAST_BLOCKS = 4
MOST_BLOCKS = 12
# Coefficient of variation that is planned with before anything is known.
_USUAL_VARIATION_PERCENT = 5.0


@dataclass(frozen=True, kw_only=True)
class Gain:
    """A measurement of a candidate against the default of its block."""

    candidate: Candidate
    #: natural logarithm; more than 0 is better than the default
    gain: float
    #: number of its block
    block: int


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Result of fresh blocks for a candidate."""

    candidate: Candidate
    #: to the default, in logarithms; None: too few blocks
    difference: differences.LogDifference | None
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
    """Return whether a candidate changes nothing."""
    return not any(candidate)


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
    """Return the number of fresh blocks that show a wanted gain.

    Fixed before the first of them: they are looked at once, at the end.

    :param candidates: number of candidates confirmed together, at least 1
    :param wanted_percent: the gain to detect
    :param least_percent: a smaller gain does not count
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
    """Return the results of fresh blocks, corrected for each other.

    :param gains: {candidate: its gain in each block in which both it and the
        default were measured}
    :param least_percent: a smaller gain does not count
    """
    margin = differences.logarithm(least_percent)
    found = {
        candidate: differences.of_blocks(
            [1.0] * len(values),
            [differences.value(value) for value in values],
            resolution=0.0,
        )
        if len(values) >= differences.LEAST_PAIRS
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
    least_percent = -math.inf
    for each in better:
        gain = each.difference
        if gain and gain.interval_percent()[0] > least_percent:
            chosen, least_percent = each, gain.percent
    return chosen
