# SPDX-License-Identifier: Apache-2.0

"""Recommendation of a tier for a load, by recorded results.

Pure.  A load may be any of the patterns that are like it (``load.compare``),
and it is not known which: a tier is called better only if it is so in all of
them.  Every two tiers are compared, and all claims of all loads are corrected
for each other: in at least 95 % of all commands on tiers that do not differ,
no tier is recommended.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import enum
import functools
import itertools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.recommend import load as loads

#: Compared unless another one is named.
QUANTITY = 'p99_ms'


class Standing(enum.Enum):
    """Standings of a tier for a load."""

    #: better than any other, or none of them is relevantly different
    RECOMMENDED = 'recommended'
    #: likewise, and another one is, too: they do not differ relevantly
    AS_GOOD = 'as good'
    WORSE = 'worse'
    CANNOT_TELL = 'cannot tell'


class Placing(enum.Enum):
    """Findings on the tier on which a volume is."""

    RIGHT = 'right tier'
    WRONG = 'wrong tier'
    CANNOT_TELL = 'cannot tell'
    IDLE = 'idle'


@dataclass(frozen=True, kw_only=True)
class TierPlace:
    """Standing of one tier for a load."""

    #: its name in the results
    tier: str
    #: what can be said of it
    standing: Standing
    #: against the tier that leads, which has none; one for each pattern
    claims: tuple[comparison.Claim, ...]


class Pairs:
    """Claims of each two tiers in the patterns of a load."""

    def __init__(
        self, claims: Sequence[comparison.Claim], patterns: Collection[str]
    ) -> None:
        self._claims: dict[tuple[str, str], list[comparison.Claim]] = {}
        for claim in claims:
            if claim.pattern in patterns:
                for each in (claim, claim.reversed):
                    self._claims.setdefault(
                        (each.first_tier, each.second_tier), []
                    ).append(each)
        self.tiers = list(
            dict.fromkeys(first for first, _second in self._claims)
        )

    def of(self, first: str, second: str) -> tuple[comparison.Claim, ...]:
        """Claims of the second tier against the first."""
        return tuple(self._claims.get((first, second), ()))

    def has(
        self, first: str, second: str, finding: comparison.DifferenceFinding
    ) -> bool:
        """Return whether the second tier has a finding in some pattern."""
        return any(
            claim.finding is finding for claim in self.of(first, second)
        )

    def is_settled(self, first: str, second: str) -> bool:
        """Return whether the second is nowhere worse, nor may be."""
        return bool(self.of(first, second)) and all(
            claim.finding
            in (
                comparison.DifferenceFinding.BETTER,
                comparison.DifferenceFinding.NO_RELEVANT_DIFFERENCE,
            )
            for claim in self.of(first, second)
        )

    def is_better(self, first: str, second: str) -> bool:
        """Return whether the second is better somewhere, and nowhere worse."""
        return self.is_settled(first, second) and self.has(
            first, second, comparison.DifferenceFinding.BETTER
        )

    @functools.cached_property
    def best(self) -> list[str]:
        """The tiers that are nowhere worse than another."""
        return [
            tier
            for tier in self.tiers
            if all(
                self.is_settled(other, tier)
                for other in self.tiers
                if other != tier
            )
        ]

    @functools.cached_property
    def order(self) -> list[str]:
        """The tiers by what was measured, the one that leads first."""

        def lead(tier: str) -> tuple[int, float]:
            wins, total = 0, 0.0
            for other in self.tiers:
                for claim in self.of(other, tier):
                    if claim.difference_percent is not None:
                        gain = _gain(claim.quantity, claim.difference_percent)
                        wins += (gain > 0) - (gain < 0)
                        total += gain
            return wins, total

        return sorted(self.tiers, key=lead, reverse=True)


def _gain(quantity: str, difference_percent: float) -> float:
    """Return the gain of the second side in percent; negative: worse."""
    is_least = expectations.quantity(quantity).is_least
    return (1 if is_least else -1) * difference_percent


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """Recommendation for a load."""

    #: what was asked about
    load: loads.Load
    #: patterns that are like it
    patterns: tuple[str, ...]
    #: how it differs from them a little
    nearly: tuple[str, ...]
    #: in order of what was measured, the leading one first; empty if no
    #: pattern is like the load, or nothing could be compared
    places: tuple[TierPlace, ...]
    #: why there is none, or no clear one; else empty
    reason: str
    #: what all loads share that are like the same patterns
    pairs: Pairs = dataclasses.field(repr=False, compare=False)

    @property
    def tiers(self) -> tuple[str, ...]:
        """Return the recommended tiers: none, one, or several as good ones."""
        return tuple(
            place.tier
            for place in self.places
            if place.standing in (Standing.RECOMMENDED, Standing.AS_GOOD)
        )


@dataclass(frozen=True, kw_only=True)
class VolumeAdvice:
    """Advice on the tier of a volume."""

    #: of the volume
    recommendation: Recommendation | None
    #: tier that it is on; None: not known
    tier: str | None
    #: what can be said of that
    placing: Placing
    #: where it should be; None: where it is, or not known
    to: str | None
    #: of the tier that it is on, against that where it should be
    claims: tuple[comparison.Claim, ...]
    #: why no more can be said
    reason: str
    #: how often it was seen to be so; empty: it was looked at once
    certainty: str = ''


@dataclass(frozen=True, kw_only=True)
class PlacingAdvice:
    """Claims that are made together, and their circumstances."""

    #: what was not the same beside the tiers, in words
    circumstances: tuple[str, ...]
    #: in the order of the loads
    recommendations: tuple[Recommendation, ...]
    #: of every two tiers
    claims: tuple[comparison.Claim, ...]


def recommend(
    found: Sequence[run_result.RunResult],
    wanted: Sequence[loads.Load],
    question: comparison.Question,
    *,
    tiers: Collection[str] | None = None,
) -> PlacingAdvice:
    """Compare the tiers in the patterns that are like the loads.

    :param found: recorded results, at least one
    :param wanted: loads, at least one
    :param question: parameters with one quantity or more; a tier must not be
        worse in any
    :param tiers: tiers of the results to compare; None: all
    :raises comparison.ComparisonError: the results have fewer than two tiers
    """
    if tiers is not None:
        found = [_with_tiers(run, tiers) for run in found]
    measured = _measured(found)
    like = [_like(measured, each) for each in wanted]
    patterns = {name for names, _, _ in like for name in names}
    if not patterns:
        compared = comparison.Comparison(circumstances=(), claims=())
    else:
        compared = comparison.pairs_of_tiers(
            found, question, patterns=patterns
        )
    # Days of looks at volumes have many loads, and few answers.
    answers = {
        names: _answer(Pairs(compared.claims, names))
        for names in {names for names, _, _ in like}
    }
    return PlacingAdvice(
        circumstances=compared.circumstances,
        claims=compared.claims,
        recommendations=tuple(
            _recommendation(load, its, answers[its[0]])
            for load, its in zip(wanted, like, strict=True)
        ),
    )


def _with_tiers(
    run: run_result.RunResult, tiers: Collection[str]
) -> run_result.RunResult:
    return dataclasses.replace(
        run, tiers=tuple(each for each in run.tiers if each.tier in tiers)
    )


#: (patterns that are like a load, how they differ a little, why none is)
_Like = tuple[tuple[str, ...], tuple[str, ...], str]


def _measured(
    found: Sequence[run_result.RunResult],
) -> list[tuple[str, loads.Load]]:
    """Return the names of measured patterns with their loads, each once."""
    measured: dict[
        tuple[str, fio_pattern.Pattern, fio_pattern.Profile], None
    ] = {}
    for run in found:
        for each in (each for tier in run.tiers for each in tier.patterns):
            try:
                pattern = run.pattern_of(each)
            except ValueError:
                continue  # a file may have patterns that nobody knows
            measured[each.pattern, pattern, run.profile.method] = None
    return [
        (name, loads.of_pattern(pattern, method))
        for name, pattern, method in measured
    ]


def _like(
    measured: Sequence[tuple[str, loads.Load]], load: loads.Load
) -> _Like:
    near: dict[str, loads.Likeness] = {}
    far: dict[str, loads.Likeness] = {}
    for name, pattern in measured:
        likeness = loads.compare(load, pattern)
        (far if likeness.unlike else near)[name] = likeness
    # The same name may be of another pattern in another run.
    for name in far:
        near.pop(name, None)
    if any(each.distance == 0 for each in near.values()):
        same = {n: each for n, each in near.items() if each.distance == 0}
        # With a hot part, or blocks of two sizes, it is another one.
        fewest = min(len(each.others) for each in same.values())
        near = {
            n: each for n, each in same.items() if len(each.others) == fewest
        }
    nearly = dict.fromkeys(
        f'{name}: {words}'
        for name, each in near.items()
        for words in (*each.nearly, *each.others)
    )
    reason = ''
    if not near:
        reason = 'nothing like it was measured: ' + (
            '; '.join(
                f'{name} is not ({each.unlike[0]})'
                for name, each in itertools.islice(far.items(), 5)
            )
            or 'the results have no pattern'
        )
    return tuple(near), tuple(nearly), reason


#: (pairs, places of the tiers, why there is none, or no clear one)
_Answer = tuple[Pairs, tuple[TierPlace, ...], str]


def _answer(pairs: Pairs) -> _Answer:
    order = pairs.order
    lead = next((tier for tier in order if tier in pairs.best), '')
    if lead:
        order = [lead, *(tier for tier in order if tier != lead)]
    elif order:
        lead = order[0]
    places = tuple(
        TierPlace(
            tier=tier,
            standing=_standing(tier, pairs),
            claims=pairs.of(lead, tier) if tier != lead else (),
        )
        for tier in order
    )
    reason = ''
    if not places:
        reason = 'no two tiers were compared in what is like it'
    elif not pairs.best:
        reason = (
            f'{lead} leads, and is not known to be better than '
            + ', '.join(
                tier for tier in order[1:] if not pairs.is_settled(tier, lead)
            )
        )
    return pairs, places, reason


def _recommendation(
    load: loads.Load, like: _Like, answer: _Answer
) -> Recommendation:
    patterns, nearly, why_none = like
    pairs, places, reason = answer
    return Recommendation(
        load=load,
        patterns=patterns,
        nearly=nearly,
        places=places,
        reason=why_none or reason,
        pairs=pairs,
    )


def _standing(tier: str, pairs: Pairs) -> Standing:
    if tier in pairs.best:
        return (
            Standing.RECOMMENDED if len(pairs.best) == 1 else Standing.AS_GOOD
        )
    if any(
        pairs.is_better(tier, other) for other in pairs.tiers if other != tier
    ):
        return Standing.WORSE
    return Standing.CANNOT_TELL


def moves(
    advice: PlacingAdvice,
    placed: Mapping[str, Collection[str]],
    *,
    doubts: Mapping[str, str] | None = None,
) -> tuple[VolumeAdvice, ...]:
    """Return advice on the current tier of volumes.

    :param advice: advice whose loads have the names of the volumes
    :param placed: {volume: tiers on which it may be; empty: it is on none};
        those without a load are idle
    :param doubts: {volume without a load: why it may not be idle}
    """
    of_load = {each.load.name: each for each in advice.recommendations}
    return tuple(
        _move(
            of_load.get(name),
            tuple(tiers),
            doubt=(doubts or {}).get(name, ''),
        )
        for name, tiers in placed.items()
    )


def _move(
    found: Recommendation | None,
    tiers: tuple[str, ...],
    *,
    doubt: str,
) -> VolumeAdvice:
    def say(
        placing: Placing, reason: str, to: str | None = None
    ) -> VolumeAdvice:
        return VolumeAdvice(
            recommendation=found,
            tier=tier,
            placing=placing,
            to=to,
            claims=found.pairs.of(tier, to) if found and tier and to else (),
            reason=reason,
        )

    tier = tiers[0] if len(tiers) == 1 else None
    if found is None and doubt:
        return say(Placing.CANNOT_TELL, doubt)
    if found is None:
        return say(Placing.IDLE, 'does less than one I/O per second')
    if tier is None:
        return say(
            Placing.CANNOT_TELL,
            'its pool may be that of any of the tiers '
            f'{", ".join(tiers)}: name the cluster'
            if tiers
            else 'not known to be on a tier of the tiers file',
        )
    if not found.places:
        return say(Placing.CANNOT_TELL, found.reason)
    pairs = found.pairs
    if tier not in pairs.tiers:
        return say(
            Placing.CANNOT_TELL,
            f'no result has tier {tier} in what is like it',
        )
    if tier in found.tiers:
        others = [other for other in found.tiers if other != tier]
        return say(
            Placing.RIGHT,
            f'{", ".join(others)}: no relevant difference' if others else '',
        )
    better = [other for other in pairs.order if pairs.is_better(tier, other)]
    if better:
        return say(
            Placing.WRONG,
            '',
            to=next((one for one in better if one in found.tiers), better[0]),
        )
    return say(
        Placing.CANNOT_TELL,
        found.reason or f'not known to be worse than {found.tiers[0]}',
    )
