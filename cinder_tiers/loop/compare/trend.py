# SPDX-License-Identifier: Apache-2.0

"""Changes of the figures of tiers over successive runs.

Pure.  A run is one observation, the geometric mean of its repeats: repeats of
one run have its fleet in common, and would make every run a change.
"""

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
import datetime
import enum
import itertools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import change_points
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.compare import circumstances
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import same_pattern


class TrendFinding(enum.Enum):
    """Findings on a quantity over time."""

    BETTER = 'better'
    WORSE = 'worse'
    NO_CHANGE = 'no change'
    #: the newest run has no figure, or the runs wander
    CANNOT_TELL = 'cannot tell'
    TOO_FEW_RUNS = 'too few runs'


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A run that ran the pattern, and has no figure of it on the tier."""

    #: its nonce
    run: str
    #: when it ended, ISO 8601, UTC
    ended_at: str
    #: why
    reason: str


@dataclass(frozen=True, kw_only=True)
class Level:
    """A change, or the finding that there is none."""

    tier: str
    #: name in the profile
    pattern: str
    #: name as in ``expectations.find_quantity``
    quantity: str
    #: of the quantity
    unit: str
    finding: TrendFinding
    #: runs that have the pattern, all guests complete in some repeat
    runs: int
    #: nonce of the first run on the new level; empty without a change
    run: str = ''
    #: when that run ended, ISO 8601, UTC; empty without a change
    ended_at: str = ''
    #: geometric mean since the change before; None if there is no run
    before: float | None = None
    #: geometric mean up to the next change
    after: float | None = None
    #: from before to after
    difference_percent: float | None = None
    #: of such a cut if nothing changed
    probability: float | None = None
    #: what else was not the same in the run before the change
    changed: tuple[str, ...] = ()
    #: fewest that can show a change, if these are too few
    runs_needed: int | None = None
    #: runs that are not among those, in order of time; also the newest that
    #: ran the pattern on other tiers only
    left_out: tuple[LeftOut, ...] = ()
    #: whether the newest run that has the pattern is among them: of how it is
    #: now, nothing is known
    is_newest_left_out: bool = False
    #: whether a level changed, but as it does in runs of which each is like
    #: the one before
    wanders: bool = False


@dataclass(frozen=True, kw_only=True)
class _Observation:
    run: run_result.RunResult
    logarithm: float
    #: relative width of what cannot be distinguished
    resolution: float


def over_time(
    runs: Sequence[run_result.RunResult],
    quantities: Sequence[str] = comparison.QUANTITIES,
) -> list[Level]:
    """Find changes of each quantity of each pattern of each tier.

    :param runs: at least two different runs, in any order; they are ordered by
        the time at which they ended
    :param quantities: names as in ``expectations.find_quantity``
    :returns: levels by tier, pattern and quantity, in order of time
    :raises comparison.ComparisonError: a quantity is unknown, no pattern has
        one, there are fewer than two runs, or the end of one is unknown
    """
    comparison.Question(quantities=tuple(quantities))
    if len(runs) < 2:
        raise comparison.ComparisonError(
            f'{len(runs)} run: expected at least 2, and more to see a change'
        )
    ordered = sorted(runs, key=lambda run: (_ended_at(run), run.run))
    tested = dict.fromkeys(
        (tier.tier, pattern.pattern, quantity)
        for run in ordered
        for tier in run.tiers
        for pattern in tier.patterns
        for quantity in quantities
        if pattern.slots
        and figures.is_about(expectations.quantity(quantity), run, pattern)
    )
    if not tested:
        raise comparison.no_pattern(quantities)
    # Each series is one claim; more than one false change in twenty looks
    # at all of them would be too many.
    least = (1 - differences.CONFIDENCE) / len(tested)
    least_runs = change_points.least_values(least_probability=least)
    return [
        level
        for tier, pattern, quantity in tested
        for level in _levels(
            ordered, tier, pattern, quantity, least, least_runs
        )
    ]


def _ended_at(run: run_result.RunResult) -> datetime.datetime:
    """Return the end of a run in UTC, which is assumed without an offset."""
    try:
        found = datetime.datetime.fromisoformat(run.ended_at)
        if found.tzinfo is None:
            return found.replace(tzinfo=datetime.UTC)
        return found.astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        raise comparison.ComparisonError(
            f'run {run.run} ended at {run.ended_at[:40]!r}: expected a time in'
            f' ISO 8601, UTC, such as 2026-11-23T18:00:00+00:00'
        ) from error


def _observed(
    runs: Sequence[run_result.RunResult],
    tier: str,
    pattern: str,
    quantity: str,
) -> Iterator[_Observation | LeftOut]:
    limit = expectations.quantity(quantity)
    for run in runs:
        slots = [
            slot
            for each in run.tiers
            if each.tier == tier
            for one in each.patterns
            if one.pattern == pattern
            for slot in one.slots
        ]
        if not slots:
            continue
        complete = figures.complete(slots)
        values = figures.of_complete(complete, limit)
        if not complete:
            reason = figures.NONE_COMPLETE
        elif values and min(values) > 0:
            reason = figures.too_few_ios(complete, limit)
        else:
            reason = (
                figures.not_told(complete, limit)
                or f'in a repeat {figures.nothing_done(limit)}'
            )
        if reason:
            yield LeftOut(run=run.run, ended_at=run.ended_at, reason=reason)
            continue
        yield _Observation(
            run=run,
            logarithm=differences.mean_logarithm(values),
            resolution=figures.resolution(complete, limit),
        )


def _has(run: run_result.RunResult, pattern: str, tier: str | None) -> bool:
    """Return whether a run has a pattern on a tier; None: on any."""
    return any(
        one.pattern == pattern and bool(one.slots)
        for each in run.tiers
        if tier in (None, each.tier)
        for one in each.patterns
    )


def _without_tier(
    runs: Sequence[run_result.RunResult], tier: str, pattern: str
) -> list[LeftOut]:
    """The newest runs that ran a pattern on other tiers only.

    The tier may have gone, been renamed, or be measured in runs of its own.
    """
    found = []
    for run in reversed(runs):
        if _has(run, pattern, tier):
            break
        if _has(run, pattern, None):
            found.append(
                LeftOut(
                    run=run.run,
                    ended_at=run.ended_at,
                    reason=f'it ran on {", ".join(_tiers(run, pattern))} only',
                )
            )
    return found[::-1]


def _tiers(run: run_result.RunResult, pattern: str) -> list[str]:
    return [each.tier for each in run.tiers if _has(run, pattern, each.tier)]


def _changes(
    series: Sequence[_Observation], least: float
) -> tuple[list[change_points.ChangePoint], bool]:
    """(changes whose levels can be distinguished, whether runs wander)."""
    values = [each.logarithm for each in series]
    # Those that cannot be distinguished are no wandering either.
    changes = _distinguished(
        series, change_points.find(values, least_probability=least)
    )
    lasting = change_points.outlast_wandering(
        values, changes, least_probability=least
    )
    return _distinguished(series, lasting), bool(changes) and not lasting


def _distinguished(
    series: Sequence[_Observation],
    changes: Sequence[change_points.ChangePoint],
) -> list[change_points.ChangePoint]:
    """Keep changes whose levels differ by more than the resolution."""
    found = list(changes)
    width = max((each.resolution for each in series), default=0.0)
    while found:
        ends = [0, *(each.index for each in found), len(series)]
        levels = [
            _mean(series[begin:end]) for begin, end in itertools.pairwise(ends)
        ]
        steps = [
            abs(after - before) for before, after in itertools.pairwise(levels)
        ]
        smallest = min(steps)
        if smallest > width:
            break
        del found[steps.index(smallest)]
    return found


def _levels(
    runs: Sequence[run_result.RunResult],
    tier: str,
    pattern: str,
    quantity: str,
    least: float,
    least_runs: int,
) -> Iterator[Level]:
    limit = expectations.quantity(quantity)
    observed = list(_observed(runs, tier, pattern, quantity))
    series = [each for each in observed if isinstance(each, _Observation)]
    left_out = (
        *(each for each in observed if isinstance(each, LeftOut)),
        *_without_tier(runs, tier, pattern),
    )
    is_newest_left_out = isinstance(observed[-1], LeftOut)
    found, wanders = _changes(series, least)
    if not found:
        is_enough = len(series) >= least_runs
        yield Level(
            tier=tier,
            pattern=pattern,
            quantity=quantity,
            unit=limit.unit,
            finding=_without_change(
                is_enough=is_enough,
                is_known=not is_newest_left_out and not wanders,
            ),
            runs=len(series),
            runs_needed=None if is_enough else least_runs,
            before=_level(series),
            after=_level(series),
            left_out=left_out,
            is_newest_left_out=is_newest_left_out,
            wanders=wanders,
        )
        return
    ends = [0, *(each.index for each in found), len(series)]
    for place, point in enumerate(found, 1):
        before = series[ends[place - 1] : point.index]
        after = series[point.index : ends[place + 1]]
        difference = _mean(after) - _mean(before)
        first = series[point.index].run
        yield Level(
            tier=tier,
            pattern=pattern,
            quantity=quantity,
            unit=limit.unit,
            finding=TrendFinding.BETTER
            if (difference > 0) == limit.is_least
            else TrendFinding.WORSE,
            runs=len(series),
            run=first.run,
            ended_at=_ended_at(first).isoformat(),
            before=_level(before),
            after=_level(after),
            difference_percent=differences.percent(difference),
            probability=point.probability,
            changed=tuple(_changed(before[-1].run, first, tier, pattern)),
            left_out=left_out,
            is_newest_left_out=is_newest_left_out,
        )


def _changed(
    before: run_result.RunResult,
    first: run_result.RunResult,
    tier: str,
    pattern: str,
) -> Iterator[str]:
    """Yield other differences at a change, that of the pattern first."""
    reason = same_pattern.not_the_same(pattern, [before, first])
    if reason:
        yield reason
    yield from map(str, circumstances.of_runs(before, first, {tier: tier}))


def _without_change(*, is_enough: bool, is_known: bool) -> TrendFinding:
    if not is_enough:
        return TrendFinding.TOO_FEW_RUNS
    return TrendFinding.NO_CHANGE if is_known else TrendFinding.CANNOT_TELL


def _mean(series: Sequence[_Observation]) -> float:
    return sum(each.logarithm for each in series) / len(series)


def _level(series: Sequence[_Observation]) -> float | None:
    return differences.value(_mean(series)) if series else None
