# SPDX-License-Identifier: Apache-2.0

"""Claims on tiers of one run, on runs, or on treatments.

Pure.  All claims of one comparison are made together: of sixteen patterns with
two quantities each, one or two would differ by chance, so each claim and its
interval is corrected for the others.

For runs that were made separately, each run is one observation, and the first
claim is on the geometric mean of all patterns.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import enum
import itertools
import math

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import errors
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import between_runs
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.compare import circumstances
from cinder_tiers.loop.compare import same_pattern

#: With this begins the reason why a single repeat, or block, shows nothing.
MEASURED_ONCE = 'measured once'
#: The pattern of a claim of the geometric mean of all patterns.
ALL_PATTERNS = 'all patterns'
#: Probability that as many runs as are asked for show a wanted difference of
#: all patterns together, at least.
POWER_OF_FIRST = 0.9
#: Compared unless others are named.
QUANTITIES = ('iops', 'p99_ms')


class ComparisonError(errors.LinesError, ValueError):
    """The requested comparison is not possible; the text says why."""


def no_pattern(quantities: Sequence[str]) -> ComparisonError:
    """Return the error that no pattern has any of the quantities."""
    return ComparisonError(
        f'no pattern has {" or ".join(quantities)}: expected one that does'
        f' what is asked for'
    )


class DifferenceFinding(enum.Enum):
    """Findings on the second side."""

    BETTER = 'better'
    WORSE = 'worse'
    #: the difference is known to be smaller than the least relevant one
    NO_RELEVANT_DIFFERENCE = 'no relevant difference'
    CANNOT_TELL = 'cannot tell'
    NOT_COMPARED = 'not compared'


class Within(enum.Enum):
    """Units that both sides share, whose effects cancel out."""

    #: they were measured apart
    NOTHING = ''
    #: of one run
    REPEATS = 'repeats'
    #: each with both sides
    RUNS = 'runs'
    #: of a sweep, each with a run of either side
    BLOCKS = 'blocks'

    @property
    def sides(self) -> tuple[str, str]:
        """The sides of one tier, as their columns are called."""
        if self is Within.BLOCKS:
            return 'default', 'treated'
        return 'first', 'second'


@dataclass(frozen=True, kw_only=True)
class Question:
    """Parameters of a comparison."""

    #: names as in ``expectations.find_quantity``
    quantities: tuple[str, ...] = QUANTITIES
    #: a smaller difference is none
    least_difference_percent: float = 0.0
    #: the difference for which the number of repeats is computed
    wanted_difference_percent: float = 10.0
    #: probability that these repeats show it if it is there
    power: float = differences.POWER

    def __post_init__(self) -> None:
        """Check the values.

        :raises ComparisonError: all that is wrong
        """
        wrong = [
            f'quantity {name[:60]!r}: expected'
            f' {expectations.QUANTITIES_EXPECTED}'
            for name in self.quantities
            if expectations.find_quantity(name) is None
        ]
        if not self.quantities:
            wrong.append('no quantity: expected at least one, such as iops')
        if not 0 <= self.least_difference_percent < 100:
            wrong.append(
                f'least relevant difference {self.least_difference_percent:g}'
                f' %: expected at least 0 and less than 100'
            )
        if not 0 < self.wanted_difference_percent < math.inf:
            wrong.append(
                f'wanted difference {self.wanted_difference_percent:g} %:'
                f' expected more than 0'
            )
        if not 0.5 <= self.power < 1:
            wrong.append(
                f'power {self.power:g}: expected at least 0.5 and less than 1'
            )
        if wrong:
            raise ComparisonError(*wrong)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Claim on a quantity of a pattern: the second side against the first."""

    #: name of the second side, if there are several; else empty
    side: str = ''
    #: tier of the first side
    first_tier: str
    #: tier of the second side
    second_tier: str
    #: name in the profile
    pattern: str
    #: name as in ``expectations.find_quantity``
    quantity: str
    #: of the quantity
    unit: str
    #: what can be claimed
    finding: DifferenceFinding
    #: why nothing, or no more, can be claimed; else how it was found
    reason: str
    #: geometric mean of the first side's repeats; None if it has none
    first: float | None = None
    #: of the second side's
    second: float | None = None
    #: change from first to second; None if it is not known
    difference_percent: float | None = None
    #: lower end of its interval, which all claims of the comparison have
    #: together with 95 %; None if runs are too few for one
    low_percent: float | None = None
    #: upper end
    high_percent: float | None = None
    #: probability of such a difference if there is none, corrected for all
    #: claims of the comparison
    probability: float | None = None
    #: of the side that has fewer
    repeats: int = 0
    #: whether both sides had their turns in the same repeats, or blocks
    is_paired: bool = False
    #: repeats of each side that show the wanted difference; None if not even
    #: `differences.MOST_REPEATS` do, or if it is not known
    repeats_needed: int | None = None
    #: repeats of each side that show that there is no relevant difference, if
    #: there is none; None likewise, or without a least relevant difference
    repeats_for_none: int | None = None
    #: noise of the repeats of a side, without what both have in common where
    #: they are paired; None if it is not known
    variation_percent: float | None = None

    @property
    def change_percent(self) -> tuple[float, float, float] | None:
        """The difference with both ends of its interval; None without one."""
        if (
            self.difference_percent is None
            or self.low_percent is None
            or self.high_percent is None
        ):
            return None
        return self.difference_percent, self.low_percent, self.high_percent

    @property
    def sentence(self) -> str:
        """Return the claim in one line, without its subject."""
        if self.difference_percent is None:
            return f'{self.finding.value}: {self.reason}'
        interval = (
            ''
            if self.low_percent is None
            else f' (95 % from {self.low_percent:+.1f} to'
            f' {self.high_percent:+.1f})'
        )
        return (
            f'{self.finding.value}: {self.first:.6g} {self.unit} to'
            f' {self.second:.6g} {self.unit},'
            f' {self.difference_percent:+.1f} %{interval}; {self.reason}'
        )

    def is_no_worse(self, least_difference_percent: float) -> bool:
        """Return whether it is shown not to be worse by more than so much."""
        if self.low_percent is None or self.high_percent is None:
            return False
        margin = differences.logarithm(least_difference_percent)
        if expectations.quantity(self.quantity).is_least:
            return differences.logarithm(self.low_percent) >= -margin
        return differences.logarithm(self.high_percent) <= margin

    @property
    def reversed(self) -> 'Claim':
        """The same claim, the first side against the second."""
        found = {
            DifferenceFinding.BETTER: DifferenceFinding.WORSE,
            DifferenceFinding.WORSE: DifferenceFinding.BETTER,
        }.get(self.finding, self.finding)
        difference, high, low = (
            None
            if each is None
            else differences.percent(-differences.logarithm(each))
            for each in (
                self.difference_percent,
                self.low_percent,
                self.high_percent,
            )
        )
        return dataclasses.replace(
            self,
            first_tier=self.second_tier,
            second_tier=self.first_tier,
            finding=found,
            first=self.second,
            second=self.first,
            difference_percent=difference,
            low_percent=low,
            high_percent=high,
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Claims that are made together, and their circumstances."""

    #: what was not the same beside the storage, in words
    circumstances: tuple[str, ...]
    #: in the order of the patterns
    claims: tuple[Claim, ...]

    def count(self, finding: DifferenceFinding) -> int:
        """Return the number of claims with a finding."""
        return sum(claim.finding is finding for claim in self.claims)


@dataclass(frozen=True, kw_only=True)
class _Observed:
    """A claim on its way: its difference is known, not yet what it means."""

    claim: Claim
    difference: differences.LogDifference | None
    is_least: bool = True
    within: Within = Within.NOTHING
    #: what a side has several of, for messages
    observations: str = ''
    #: how many the sides have
    counts: tuple[int, int] = (0, 0)
    #: of runs that were made apart
    runs: between_runs.Figures | None = None


@dataclass(frozen=True, kw_only=True)
class _Side:
    """A pattern of a tier, in one run or in several."""

    tier: str
    #: one tuple of slots for each run
    runs: tuple[tuple[run_result.SlotResult, ...], ...]
    #: quantities that the pattern cannot have, such as writes of a read one
    without: frozenset[str] = frozenset()
    #: why the side has none; else empty
    reason: str = ''
    #: why a run of the side has no figure at all; else empty
    lost: str = ''
    #: see ``intervals.confidence``, of the run that had most
    looks: int = 1


def tiers_of_run(
    run: run_result.RunResult,
    question: Question,
    *,
    reference: str | None = None,
) -> Comparison:
    """Compare the tiers of one run with one of them, within each repeat.

    :param reference: tier that the others are compared with; None: the first
    :raises ComparisonError: the run has a single tier, or none of that name,
        or no pattern of what is asked for
    """
    names = [tier.tier for tier in run.tiers]
    if len(names) < 2 or reference not in (None, *names):
        raise ComparisonError(
            f'run {run.run} has the tiers {", ".join(names) or "none"}:'
            f' expected '
            + (
                'two or more, or another result to compare runs'
                if len(names) < 2
                else f'{reference}'
            )
        )
    first = names[0] if reference is None else reference
    observed = [
        each
        for other in names
        if other != first
        for pattern in _patterns_of(run, first, other)
        for each in _observe(
            question,
            pattern,
            _side([run], first, pattern, question),
            _side([run], other, pattern, question),
            within=Within.REPEATS,
        )
    ]
    return Comparison(
        circumstances=tuple(
            _order_of_turns(
                run, first, [name for name in names if name != first]
            )
        ),
        claims=_decide(observed, question),
    )


def pairs_of_tiers(
    found: Sequence[run_result.RunResult],
    question: Question,
    *,
    patterns: Collection[str],
) -> Comparison:
    """Compare every two tiers, in some patterns.

    This allows naming the best tier afterwards: a comparison with only the one
    that looks best would ignore the number of candidates.  Tiers of a single
    run are compared within each repeat, those that are in the same runs within
    each run, and others like in ``runs``.

    :param found: runs, at least one
    :param patterns: names in the profiles
    :returns: claims for every two tiers that have one of the patterns
    :raises ComparisonError: fewer than two tiers, or no pattern has a quantity
    """
    of_tiers: dict[str, list[run_result.RunResult]] = {}
    for run in found:
        for tier in run.tiers:
            if any(each.pattern in patterns for each in tier.patterns):
                of_tiers.setdefault(tier.tier, []).append(run)
    if len(of_tiers) < 2:
        raise ComparisonError(
            f'{", ".join(of_tiers) or "no tier"} ran'
            f' {" or ".join(sorted(patterns)) or "no pattern"}: expected at'
            f' least two tiers to compare'
        )
    observed: list[_Observed] = []
    before: dict[str, None] = {}
    for one, other in itertools.combinations(of_tiers, 2):
        sides = of_tiers[one], of_tiers[other]
        within = Within.NOTHING
        if [run.run for run in sides[0]] == [run.run for run in sides[1]]:
            within = Within.REPEATS if len(sides[0]) == 1 else Within.RUNS
            for run in sides[0]:
                before |= dict.fromkeys(_order_of_turns(run, one, [other]))
        else:
            # Their volume types and the like are what is compared.
            before |= dict.fromkeys(_told_before(*sides, {}))
        both = [*sides[0], *sides[1]]
        for pattern in _patterns_of_runs(both, one, other):
            if pattern in patterns:
                observed += _observe(
                    question,
                    pattern,
                    _side(sides[0], one, pattern, question),
                    _side(sides[1], other, pattern, question),
                    within=within,
                    reason=same_pattern.not_the_same(pattern, both),
                )
    return Comparison(
        circumstances=tuple(before), claims=_decide(observed, question)
    )


def runs(
    first: Sequence[run_result.RunResult],
    others: Mapping[str, Sequence[run_result.RunResult]],
    question: Question,
    *,
    tiers: Mapping[str, str] | None = None,
    history: Sequence[run_result.RunResult] = (),
) -> Comparison:
    """Compare runs with other runs, tier by tier.

    Each run is one observation, regardless of its repeats: they cannot show
    how another fleet on the same storage would differ.  The first claims are
    on the geometric mean of all patterns of a tier.

    :param first: runs of the first side, at least one
    :param others: {name of a side: its runs, at least one}, each compared
        with the first
    :param tiers: {tier of the first side: tier of the others}; None: tiers of
        the same name, and those that a side lacks are not compared
    :param history: earlier runs of the first storage, which show how much runs
        vary; runs that are on a side only count there
    :raises ComparisonError: a tier is not in a run, no tier is in all, or no
        pattern has a quantity
    """
    observed = []
    found: dict[str, None] = {}
    named = {run.run for side in (first, *others.values()) for run in side}
    history = [run for run in history if run.run not in named]
    wrong = []
    for name, second in others.items():
        try:
            together = _tiers_together(first, second, tiers)
        except ComparisonError as error:
            wrong.append(f'{name}: {error}' if name else str(error))
            continue
        prefix = f'{name}: ' if len(others) > 1 else ''
        found |= dict.fromkeys(
            f'{prefix}{each}' for each in _told_before(first, second, together)
        )
        observed += [
            dataclasses.replace(
                each,
                claim=dataclasses.replace(
                    each.claim, side=name if len(others) > 1 else ''
                ),
            )
            for each in _observe_runs(
                first,
                second,
                together if tiers else _all_tiers(first, second),
                question,
                history,
            )
        ]
    if wrong:
        raise ComparisonError(*wrong)
    observed.sort(key=lambda each: each.claim.pattern != ALL_PATTERNS)
    return Comparison(
        circumstances=tuple(found), claims=_decide(observed, question)
    )


@dataclass(frozen=True, kw_only=True)
class SweptTreatment:
    """A treatment of a sweep, with a run of each block."""

    name: str
    #: {number of the block: the run}, at least one
    runs: Mapping[int, run_result.RunResult]
    #: fields of patterns that the treatment changes, such as iodepth
    varied: frozenset[str] = frozenset()


def treatments(
    default: Mapping[int, run_result.RunResult],
    others: Sequence[SweptTreatment],
    question: Question,
    *,
    tiers: Sequence[str] | None = None,
) -> Comparison:
    """Compare treatments with the default, within each block of a sweep.

    Each run is one observation, regardless of its repeats.  A quantity that
    repeats another one for a pattern is left out, so that no claim counts
    twice: bandwidth next to IOPS of one block size, and reads next to all I/Os
    of a pattern that only reads.

    :param default: {number of the block: the run of the default}
    :param others: treatments, each with a block in common with the default
    :param tiers: tiers to compare; None: all that are in all runs
    :raises ComparisonError: a tier is not in a run, no tier is in all, or no
        pattern has a quantity
    """
    observed = []
    found = list(_changed_default(default))
    wrong = []
    for treatment in others:
        blocks = sorted(default.keys() & treatment.runs.keys())
        first = [default[block] for block in blocks]
        second = [treatment.runs[block] for block in blocks]
        try:
            together = _tiers_together(
                first,
                second,
                {tier: tier for tier in tiers} if tiers else None,
            )
        except ComparisonError as error:
            wrong.append(f'{treatment.name}: {error}')
            continue
        found += [
            f'{treatment.name}: {each.about}: {each.first} by default,'
            f' {each.second} with the treatment'
            for one, other in zip(first, second, strict=True)
            for each in circumstances.of_runs(one, other, together)
        ]
        observed += [
            dataclasses.replace(
                each,
                claim=dataclasses.replace(each.claim, side=treatment.name),
            )
            for each in _observe_blocks(
                first, second, together, question, treatment.varied
            )
        ]
    if wrong:
        raise ComparisonError(*wrong)
    return Comparison(
        circumstances=tuple(dict.fromkeys(found)),
        claims=_decide(observed, question),
    )


def _changed_default(
    default: Mapping[int, run_result.RunResult],
) -> Iterator[str]:
    """Yield the differences between the runs of the default."""
    (begin, first), *others = sorted(default.items())
    for block, run in others:
        for each in circumstances.of_runs(
            first, run, {tier.tier: tier.tier for tier in first.tiers}
        ):
            yield (
                f'default: {each.about}: {each.first} in block {begin},'
                f' {each.second} in block {block}'
            )


def _observe_blocks(
    first: Sequence[run_result.RunResult],
    second: Sequence[run_result.RunResult],
    tiers: Mapping[str, str],
    question: Question,
    varied: Collection[str],
) -> Iterator[_Observed]:
    both = [*first, *second]
    for tier in tiers:
        for pattern in _patterns_of_runs(both, tier):
            reason = (
                same_pattern.not_the_same(pattern, first)
                or same_pattern.not_the_same(pattern, second)
                or same_pattern.not_the_same(pattern, both, varied)
            )
            names = _saying_more(pattern, both, question.quantities)
            yield from _observe(
                dataclasses.replace(question, quantities=names),
                pattern,
                _side(first, tier, pattern, question),
                _side(second, tier, pattern, question),
                within=Within.BLOCKS,
                reason=reason,
            )


def _saying_more(
    pattern: str,
    side: Sequence[run_result.RunResult],
    quantities: tuple[str, ...],
) -> tuple[str, ...]:
    """Drop quantities that another quantity makes redundant."""
    try:
        known = list(same_pattern.named(pattern, side))
    except ValueError:
        return quantities
    same = set()
    # Blocks of one size: IOPS are the bandwidth by that size
    # (``fio.output``), so both have the same ratio.
    if len({each.bs for each in known}) == 1 and known[0].bs is not None:
        same |= {
            (f'{direction}mib_per_s', f'{direction}iops')
            for direction in ('', 'read_', 'write_')
        }
    for name in quantities:
        limit = expectations.quantity(name)
        if limit.direction is not None and all(
            each.directions == (limit.direction,) for each in known
        ):
            same.add((name, limit.metric))
    return tuple(
        name
        for name in quantities
        if not any(
            name == which and other in quantities for which, other in same
        )
    )


def _tiers_together(
    first: Sequence[run_result.RunResult],
    second: Sequence[run_result.RunResult],
    tiers: Mapping[str, str] | None,
) -> Mapping[str, str]:
    """{tier of the first side: tier of the second}.

    :raises ComparisonError: as ``runs`` says
    """
    of_first, of_second = _common_tiers(first), _common_tiers(second)
    if tiers is None:
        tiers = {name: name for name in of_first if name in of_second}
    wrong = [
        f'tier {name!r} is not in all runs of the {side} side, which have'
        f' {", ".join(known) or "none in common"}'
        for side, known, names in (
            ('first', of_first, tiers.keys()),
            ('second', of_second, tiers.values()),
        )
        for name in names
        if name not in known
    ]
    if not tiers:
        wrong.append(
            'no tier is on both sides: the first has '
            f'{", ".join(of_first) or "none"}, the second '
            f'{", ".join(of_second) or "none"}; name two tiers that '
            'belong together'
        )
    if wrong:
        raise ComparisonError(*wrong)
    return tiers


def _told_before(
    first: Sequence[run_result.RunResult],
    second: Sequence[run_result.RunResult],
    tiers: Mapping[str, str],
) -> Iterator[str]:
    for one in first:
        for other in second:
            yield from map(str, circumstances.of_runs(one, other, tiers))


def _observe_runs(
    first: Sequence[run_result.RunResult],
    second: Sequence[run_result.RunResult],
    tiers: Mapping[str, str],
    question: Question,
    history: Sequence[run_result.RunResult],
) -> Iterator[_Observed]:
    both = [*first, *second]
    for one, other in tiers.items():
        observed = [
            each
            for pattern in _patterns_of_runs(both, one, other)
            for each in _observe(
                question,
                pattern,
                _side(first, one, pattern, question),
                _side(second, other, pattern, question),
                within=Within.NOTHING,
                reason=same_pattern.not_the_same(pattern, both),
                history=[
                    _side([run], one, pattern, question)
                    for run in history
                    if not same_pattern.not_the_same(pattern, [first[0], run])
                ],
            )
        ]
        for name in question.quantities:
            yield from _all_together(
                [each for each in observed if each.claim.quantity == name]
            )
        yield from observed


def _all_together(observed: Sequence[_Observed]) -> Iterator[_Observed]:
    """The geometric mean of the patterns of a tier, if there are several."""
    known = [each.runs for each in observed if each.runs is not None]
    if len(known) < 2:
        return
    first = next(each for each in observed if each.runs is not None)
    found = between_runs.together(known)
    count = f'{len(known)} of {len(observed)} patterns'
    yield _of_runs(
        dataclasses.replace(
            first.claim,
            pattern=ALL_PATTERNS,
            reason=f'geometric mean of {count}; '
            if len(known) < len(observed)
            else '',
            first=_geometric_mean_of(found.first),
            second=_geometric_mean_of(found.second),
        ),
        found,
        is_least=first.is_least,
    )


def _geometric_mean_of(side: between_runs.Runs) -> float:
    """Return the geometric mean of a side, with equal weight for each run."""
    return _geometric_mean(list(map(_geometric_mean, side.values())))


def _of_runs(
    claim: Claim, found: between_runs.Figures, *, is_least: bool
) -> _Observed:
    """Compare runs that were made separately, each as one observation."""
    counts = len(found.first), len(found.second)
    observed = _Observed(
        claim=claim,
        difference=None,
        is_least=is_least,
        within=Within.NOTHING,
        observations=Within.RUNS.value,
        counts=counts,
        runs=found,
    )
    fewer, more = sorted(counts)
    history = len(found.history)
    if not between_runs.can_differ(fewer, more, history):
        return dataclasses.replace(
            observed,
            claim=dataclasses.replace(
                claim,
                finding=DifferenceFinding.CANNOT_TELL,
                reason=claim.reason + _too_few_runs(fewer, more, history),
                difference_percent=differences.percent(
                    math.log(_geometric_mean_of(found.second))
                    - math.log(_geometric_mean_of(found.first))
                ),
            ),
        )
    return dataclasses.replace(observed, difference=found.difference)


def _too_few_runs(fewer: int, more: int, history: int) -> str:
    runs = 'one run each' if more == 1 else f'{fewer} and {more} runs'
    needed = between_runs.history_needed(fewer, more)
    return (
        f'{runs}: cannot tell a change of the storage from a change between'
        f' runs; three runs on each side are needed, or a history of'
        f' {needed} other runs of the first storage'
        + (f', not {history}' if history else '')
    )


def _all_tiers(*sides: Sequence[run_result.RunResult]) -> dict[str, str]:
    """Tiers of any run, each with itself."""
    return {
        tier.tier: tier.tier
        for side in sides
        for run in side
        for tier in run.tiers
    }


def _common_tiers(side: Sequence[run_result.RunResult]) -> list[str]:
    return [
        tier.tier
        for tier in side[0].tiers
        if all(
            tier.tier in {each.tier for each in run.tiers} for run in side[1:]
        )
    ]


def _patterns_of(run: run_result.RunResult, *tiers: str) -> list[str]:
    return list(
        dict.fromkeys(
            pattern.pattern
            for tier in run.tiers
            if tier.tier in tiers
            for pattern in tier.patterns
        )
    )


def _patterns_of_runs(
    side: Sequence[run_result.RunResult], *tiers: str
) -> list[str]:
    return list(
        dict.fromkeys(
            pattern for run in side for pattern in _patterns_of(run, *tiers)
        )
    )


def _side(
    side: Sequence[run_result.RunResult],
    tier: str,
    pattern: str,
    question: Question,
) -> _Side:
    found = []
    without: frozenset[str] = frozenset()
    lost = ''
    for run in side:
        result = next(
            (
                each
                for one in run.tiers
                if one.tier == tier
                for each in one.patterns
                if each.pattern == pattern and each.slots
            ),
            None,
        )
        if result is None:
            names = [each.tier for each in run.tiers]
            return _Side(
                tier=tier,
                runs=(),
                reason=f'run {run.run} has no {pattern} on {tier}'
                if tier in names
                else f'run {run.run} has no tier {tier}, but'
                f' {", ".join(names) or "none"}: name two tiers that belong'
                f' together if it has another name there',
                without=without,
            )
        without |= {
            name
            for name in question.quantities
            if not figures.is_about(expectations.quantity(name), run, result)
        }
        found.append(result.slots)
        if not lost and not figures.complete(result.slots):
            lost = (
                f'run {run.run} has {figures.NONE_COMPLETE}, of {pattern} on'
                f' {tier}: see the verdicts of its guests'
            )
    return _Side(
        tier=tier,
        runs=tuple(found),
        without=without,
        lost=lost,
        looks=max(run.looks for run in side),
    )


def _order_of_turns(
    run: run_result.RunResult, first: str, others: Collection[str]
) -> Iterator[str]:
    """Tiers that always had their turn on the same side of the first one.

    Or that no tier had a turn for itself.
    """
    if run.side_by_side:
        yield (
            'the tiers were measured side by side: what they share, such as'
            ' network and cores of hosts, one took from the others'
        )
        return
    began = {
        (tier.tier, slot.repeat): slot.number
        for tier in run.tiers
        for pattern in tier.patterns
        for slot in pattern.slots
    }
    sides: dict[str, list[str]] = {'after': [], 'before': []}
    for tier in run.tiers:
        if tier.tier not in others:
            continue
        repeats = [
            repeat
            for name, repeat in began
            if name == tier.tier and (first, repeat) in began
        ]
        after = sum(
            began[tier.tier, repeat] > began[first, repeat]
            for repeat in repeats
        )
        if repeats and after in (0, len(repeats)):
            sides['after' if after else 'before'].append(tier.tier)
    for side, tiers in sides.items():
        if tiers:
            yield (
                f'{", ".join(tiers)} ran {side} {first} in each repeat: a part'
                ' of their difference may come from the order, such as from a'
                ' full cache'
            )


def _observe(
    question: Question,
    pattern: str,
    first: _Side,
    second: _Side,
    *,
    within: Within,
    reason: str = '',
    history: Sequence[_Side] = (),
) -> Iterator[_Observed]:
    for name in question.quantities:
        limit = expectations.quantity(name)
        if name in first.without | second.without and not reason:
            continue
        claim = Claim(
            first_tier=first.tier,
            second_tier=second.tier,
            pattern=pattern,
            quantity=name,
            unit=limit.unit,
            finding=DifferenceFinding.NOT_COMPARED,
            reason=reason
            or first.reason
            or second.reason
            or _lost(first, second, within)
            or _not_told(first, second, limit),
        )
        if claim.reason:
            yield _Observed(claim=claim, difference=None)
            continue
        observations = _observations(first, second, within)
        sides = _values(first, second, limit, within=within)
        claim = dataclasses.replace(
            claim,
            first=_shown(first, sides[0], limit),
            second=_shown(second, sides[1], limit),
            repeats=min(map(len, sides)),
            is_paired=within is not Within.NOTHING,
        )
        too_few = _too_few(first, second, sides, limit, within)
        if too_few:
            yield _Observed(
                claim=dataclasses.replace(
                    claim,
                    finding=DifferenceFinding.CANNOT_TELL,
                    reason=too_few,
                ),
                difference=None,
            )
            continue
        if within is Within.NOTHING:
            yield _of_runs(
                claim,
                between_runs.Figures(
                    first=_figures(first, limit),
                    second=_figures(second, limit),
                    history=_figures_of_history(history, name, limit),
                    resolution=figures.resolution(
                        _complete(first, second), limit
                    ),
                ),
                is_least=limit.is_least,
            )
            continue
        yield _Observed(
            claim=claim,
            is_least=limit.is_least,
            within=within,
            observations=observations,
            counts=(len(sides[0]), len(sides[1])),
            difference=differences.of_blocks(
                *sides,
                resolution=figures.resolution(_complete(first, second), limit),
                looks=_looks(first, second),
            ),
        )


def _figures(side: _Side, limit: expectations.Limit) -> between_runs.Runs:
    """The figures of each run's complete repeats."""
    return {
        str(place): [
            figures.figure(slot, limit) or 0.0
            for slot in figures.complete(slots)
        ]
        for place, slots in enumerate(side.runs)
    }


def _figures_of_history(
    history: Sequence[_Side], quantity: str, limit: expectations.Limit
) -> between_runs.Runs:
    """Return {position in the history: figures} of the usable runs."""
    found = {}
    for place, side in enumerate(history):
        if side.reason or side.lost or quantity in side.without:
            continue
        (values,) = _figures(side, limit).values()
        if min(values) > 0:
            found[str(place)] = values
    return found


def _lost(first: _Side, second: _Side, within: Within) -> str:
    """Explain which run of a side was lost; empty if none was.

    A run that is lost must not be taken for one in which nothing was done.
    """
    if within is Within.BLOCKS:
        # A block that lacks a side is left out, and the others are told.
        return ''
    return '; '.join(filter(None, dict.fromkeys([first.lost, second.lost])))


def _not_told(first: _Side, second: _Side, limit: expectations.Limit) -> str:
    """Explain why a side lacks a quantity entirely; empty if both have it."""
    for side in (first, second):
        reason = figures.not_told(_complete(side), limit)
        if reason:
            return f'{side.tier}: {reason}'
    return ''


def _values(
    first: _Side,
    second: _Side,
    limit: expectations.Limit,
    *,
    within: Within,
) -> tuple[list[float], list[float]]:
    """The observations of both sides, of which none is left out unseen.

    One in which nothing was done is 0, whatever the quantity.  Each run has a
    complete repeat (``_lost``), or is one of blocks.
    """
    if within is Within.REPEATS:
        of_repeat = [
            {
                slot.repeat: figures.figure(slot, limit) or 0.0
                for slot in figures.complete(side.runs[0])
            }
            for side in (first, second)
        ]
        common = [repeat for repeat in of_repeat[0] if repeat in of_repeat[1]]
        return (
            [of_repeat[0][repeat] for repeat in common],
            [of_repeat[1][repeat] for repeat in common],
        )
    of_runs = [
        [
            [
                figures.figure(slot, limit) or 0.0
                for slot in figures.complete(slots)
            ]
            for slots in side.runs
        ]
        for side in (first, second)
    ]
    if within in (Within.BLOCKS, Within.RUNS):
        # A block needs complete repeats of both sides.
        pairs = [
            (_geometric_mean(one), _geometric_mean(other))
            for one, other in zip(*of_runs, strict=True)
            if one and other
        ]
        return (
            [one for one, _other in pairs],
            [other for _one, other in pairs],
        )
    one_side, other_side = (
        [_geometric_mean(values) for values in side] for side in of_runs
    )
    return one_side, other_side


def _observations(first: _Side, second: _Side, within: Within) -> str:
    """Return the name of a side's observations, for messages."""
    return (Within.RUNS if within is Within.NOTHING else within).value


def _looks(first: _Side, second: _Side) -> int:
    """Return the number of planned looks for which a claim is corrected."""
    if max(len(first.runs), len(second.runs)) > 1:
        # Runs are the observations, and were not looked at between.
        return 1
    return max(first.looks, second.looks)


def _geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of values; 0 if one is 0 or less."""
    if min(values) <= 0:
        return 0.0
    return differences.value(differences.mean_logarithm(values))


def _shown(
    side: _Side, values: Sequence[float], limit: expectations.Limit
) -> float | None:
    """The figure of a side; None for a latency of nothing.

    A percentile of too few I/Os is shown in no table, nor beside a claim.
    """
    found = _geometric_mean(values) if values else None
    if (
        found is not None
        and limit.percent is not None
        and figures.too_few_ios(_complete(side), limit)
    ):
        return None
    return None if limit.unit == 'ms' and not found else found


def _too_few(
    first: _Side,
    second: _Side,
    sides: tuple[list[float], list[float]],
    limit: expectations.Limit,
    within: Within,
) -> str:
    """Explain why values show nothing; empty if they may."""
    observations = _observations(first, second, within)
    # Whether runs that were made apart are too few, ``_of_runs`` says.
    least = 1 if within is Within.NOTHING else differences.LEAST_PAIRS
    reasons = [
        _too_few_of(side, values, limit, observations, least)
        for side, values in zip((first, second), sides, strict=True)
    ]
    if not any(reasons):
        # If that is so of one side alone, it is worse by at least as much.
        too_long = [
            figures.too_long_for_fio(_complete(side), limit)
            for side in (first, second)
        ]
        return ' and '.join(dict.fromkeys(too_long)) if all(too_long) else ''
    if reasons[0] == reasons[1]:
        return reasons[0]
    names = (
        within.sides
        if first.tier == second.tier
        else (first.tier, second.tier)
    )
    return '; '.join(
        f'{name}: {reason}'
        for name, reason in zip(names, reasons, strict=True)
        if reason
    )


def _too_few_of(
    side: _Side,
    values: Sequence[float],
    limit: expectations.Limit,
    observations: str,
    least: int,
) -> str:
    """Explain why the values of a side are too few; empty if they suffice.

    :param observations: name of the observations
    :param least: required number of values
    """
    if len(values) < least:
        count = (
            sum(len(slots) for slots in side.runs)
            if observations == Within.REPEATS.value
            else len(side.runs)
        )
        if len(values) == count == 1:
            return (
                f'{MEASURED_ONCE}: a comparison needs {least} {observations}'
                ' or more'
            )
        if len(values) == count:
            return (
                f'{count} {observations}: a comparison needs {least} or more'
            )
        return (
            f'{len(values)} of {count} {observations} can be used:'
            f' expected at least {least} in which all guests are complete'
        )
    if min(values) <= 0:
        return f'in a repeat {figures.nothing_done(limit)}'
    return figures.too_few_ios(_complete(side), limit)


def _complete(*sides: _Side) -> list[run_result.SlotResult]:
    return [
        slot
        for side in sides
        for slots in side.runs
        for slot in figures.complete(slots)
    ]


def _decide(
    observed: Sequence[_Observed], question: Question
) -> tuple[Claim, ...]:
    """Decide all claims, corrected for each other.

    :raises ComparisonError: there are no claims
    """
    if not observed:
        raise no_pattern(question.quantities)
    observed = _with_common_noise(observed)
    known = [each for each in observed if each.difference is not None]
    firsts = sum(each.claim.pattern == ALL_PATTERNS for each in known)
    shares = between_runs.claims_together(firsts, len(known) - firsts)
    return tuple(
        each.claim
        if each.difference is None
        else _decided(
            each,
            each.difference,
            question,
            shares[each.claim.pattern != ALL_PATTERNS],
            len(known),
        )
        for each in observed
    )


def _with_common_noise(observed: Sequence[_Observed]) -> list[_Observed]:
    """See ``between_runs.with_common_noise``, for each quantity.

    Of runs that were made apart, for each two tiers; of sides that had their
    turns together, for all of them, as the default is in each.
    """
    groups: dict[
        tuple[str, ...], list[tuple[int, differences.LogDifference]]
    ] = {}
    for place, each in enumerate(observed):
        claim = each.claim
        if each.difference is None:
            continue
        group: tuple[str, ...] = (each.within.value, claim.quantity)
        if each.within is Within.NOTHING:
            group += (claim.side, claim.first_tier, claim.second_tier)
            if claim.pattern == ALL_PATTERNS:
                group += (ALL_PATTERNS,)
        groups.setdefault(group, []).append((place, each.difference))
    found = list(observed)
    for members in groups.values():
        for (place, _own), common in zip(
            members,
            between_runs.with_common_noise([own for _place, own in members]),
            strict=True,
        ):
            found[place] = dataclasses.replace(found[place], difference=common)
    return found


def _decided(
    observed: _Observed,
    difference: differences.LogDifference,
    question: Question,
    share: int,
    claims: int,
) -> Claim:
    """The claim, of which one in share of all false ones may be."""
    low, high = difference.interval_percent(claims=share)
    alpha = 1 - differences.CONFIDENCE
    margin = differences.logarithm(question.least_difference_percent)
    p_differs = min(1.0, share * difference.p_differs(margin))
    # Of one side only, so twice: then it is so exactly if the interval is
    # within the margin.
    p_within = (
        min(1.0, 2 * share * difference.p_within(margin)) if margin else 1.0
    )
    needed = differences.repeats_needed(
        difference,
        wanted=differences.logarithm(question.wanted_difference_percent),
        claims=share,
        margin=margin,
        power=max(question.power, POWER_OF_FIRST)
        if observed.claim.pattern == ALL_PATTERNS
        else question.power,
    )
    observations = observed.observations
    how = (
        observed.claim.reason
        + _how(observed)
        + f', {claims} claim{"s" if claims > 1 else ""}'
    )
    if p_differs <= alpha:
        is_better = (difference.mean > 0) == observed.is_least
        finding = (
            DifferenceFinding.BETTER if is_better else DifferenceFinding.WORSE
        )
        reason = how
    elif p_within <= alpha:
        finding = DifferenceFinding.NO_RELEVANT_DIFFERENCE
        reason = (
            f'less than {question.least_difference_percent:g} % either'
            f' way; {how}'
        )
    else:
        finding = DifferenceFinding.CANNOT_TELL
        need = to_see(
            question,
            needed,
            repeats=difference.repeats,
            observations=observations,
        )
        reason = f'{need}; {how}'
        if 0 < margin <= difference.resolution:
            reason += (
                f'; figures are known to {100 * difference.resolution:.2g} %,'
                f' so that nothing less can be shown to be no relevant'
                f' difference'
            )
    return dataclasses.replace(
        observed.claim,
        finding=finding,
        reason=reason,
        difference_percent=difference.percent,
        low_percent=low,
        high_percent=high,
        probability=min(p_differs, p_within),
        repeats_needed=needed,
        repeats_for_none=differences.repeats_for_none(
            difference, margin=margin, claims=2 * share, power=question.power
        )
        if margin
        else None,
        variation_percent=difference.variation_percent,
    )


def _how(observed: _Observed) -> str:
    """Name the test, and the number of observations."""
    fewer, more = sorted(observed.counts)
    if observed.runs is None:
        return (
            f'paired t within {observed.observations},'
            f' {fewer} {observed.observations}'
        )
    history = len(observed.runs.history)
    return (
        f't of {fewer} and {more} runs'
        if fewer < more
        else f't of {fewer} run{"s" if fewer > 1 else ""} each'
    ) + (f', {history} of history' if history else '')


def to_see(
    question: Question,
    needed: int | None,
    *,
    repeats: int = 0,
    observations: str = 'repeats',
) -> str:
    """Return a clause on the repeats that show the wanted difference.

    :param needed: see ``Claim.repeats_needed``
    :param repeats: number of existing repeats; 0 before there are any
    :param observations: name of the observations
    """
    wanted = f'{question.wanted_difference_percent:g} %'
    least = question.least_difference_percent
    if question.wanted_difference_percent <= least:
        return f'{wanted} is no relevant difference (least: {least:g} %)'
    return differences.text_of_need(
        question.wanted_difference_percent,
        needed,
        repeats=repeats,
        observations=observations,
    )
