# SPDX-License-Identifier: Apache-2.0

"""Number of repeats or runs that show a difference, and their duration.

Pure.  The noise is that of earlier runs, or is given; the number comes from
the same formula as in a comparison (``differences.repeats_needed``). The time
is that of the earlier run, and, for parts missing in its result, the estimate
that each run begins with.
"""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
import enum

from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.compare import comparison


#: Results of one storage that show how much runs vary: as many as the least
#: comparison that claims something has.
LEAST_RUNS = 6


class Between(enum.Enum):
    """Objects to compare."""

    #: tiers of one run, within each repeat
    TIERS = 'tiers'
    #: a tier with itself in another run, such as after a change
    RUNS = 'runs'


@dataclass(frozen=True, kw_only=True)
class Need:
    """Repeats that one quantity of one pattern needs."""

    #: whose figures they are; empty if the noise is stated
    tier: str = ''
    #: the tier that it is compared with; empty if it is with itself
    reference: str = ''
    #: name in the profile; empty if the noise is stated
    pattern: str = ''
    #: name as in ``expectations.find_quantity``; empty if the noise is stated
    quantity: str = ''
    #: coefficient of variation of runs; or of repeats, without what both sides
    #: have in common; None if it is not known
    variation_percent: float | None
    #: repeats, or runs of each side, that show the wanted difference; None if
    #: it is not known, or if not even ``differences.MOST_REPEATS`` do
    repeats: int | None
    #: that show that no difference is relevant, if there is none; None
    #: likewise, or if any difference is relevant
    repeats_for_none: int | None
    #: of a run with so many repeats, or of so many runs; None if it is not
    #: known
    seconds: int | None
    #: why there is no number; else empty
    reason: str = ''


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Repeats that all claims of a comparison need, made together."""

    #: one for each claim
    needs: tuple[Need, ...]
    #: how many are corrected for each other
    claims: int

    @property
    def repeats(self) -> int | None:
        """Return the repeats that show all claims; None if one is unknown."""
        return _most([need.repeats for need in self.needs])

    @property
    def seconds(self) -> int | None:
        """Return the duration of a run with these repeats; None if unknown."""
        return _most([need.seconds for need in self.needs])


def _most(found: Sequence[int | None]) -> int | None:
    """The greatest; None if one is not known, or there is none."""
    known = [each for each in found if each is not None]
    return max(known, default=None) if len(known) == len(found) else None


def of_run(
    run: run_result.RunResult,
    question: comparison.Question,
    *,
    reference: str | None = None,
) -> Needs:
    """Return the repeats that compare tiers, by the noise of a run.

    :param reference: tier with which the others are compared; None: the first
    :raises comparison.ComparisonError: there is a single tier, none of that
        name, or no pattern has a quantity
    """
    claims = comparison.tiers_of_run(run, question, reference=reference).claims
    return _of_claims(claims, question, lambda needed: _seconds(run, needed))


def of_runs(
    history: Sequence[run_result.RunResult], question: comparison.Question
) -> Needs:
    """Return the runs of each side, by the variation of runs of one storage.

    :param history: runs in order of time, at least LEAST_RUNS
    :raises comparison.ComparisonError: they are too few, have no tier in
        common, or no pattern has a quantity
    """
    if len(history) < LEAST_RUNS:
        raise comparison.ComparisonError(
            f'{len(history)} results: expected at least {LEAST_RUNS} runs of'
            f' the same storage, which show how much runs vary; name more'
            f' results or a folder of them, or give --variation'
        )
    # In turn, so that slow changes are in both halves.
    claims = comparison.runs(
        history[::2], {'': history[1::2]}, question
    ).claims
    return _of_claims(
        claims, question, lambda needed: _seconds_of_runs(history[-1], needed)
    )


def _of_claims(
    claims: Sequence[comparison.Claim],
    question: comparison.Question,
    seconds: Callable[[int | None], int | None],
) -> Needs:
    needs = [_of_claim(claim, question) for claim in claims]
    return Needs(
        claims=sum(claim.variation_percent is not None for claim in claims),
        needs=tuple(_with_time(need, seconds(need.repeats)) for need in needs),
    )


def _seconds_of_runs(
    run: run_result.RunResult, runs: int | None
) -> int | None:
    """Return the duration of the runs of one side; None if unknown."""
    seconds = _seconds(run, run.profile.repeats)
    return None if runs is None or seconds is None else runs * seconds


def of_variation(
    variation_percent: float,
    question: comparison.Question,
    *,
    between: Between,
    claims: int,
    run: run_result.RunResult | None = None,
) -> Needs:
    """Return the repeats for a given noise.

    :param variation_percent: coefficient of variation of the repeats, or the
        runs, of each side
    :param claims: number of claims made together, at least 1
    :param run: run that gives the duration; None: the duration stays unknown
    :raises comparison.ComparisonError: a number is out of range
    """
    wrong = []
    if not 0 < variation_percent < 1000:
        wrong.append(
            f'variation {variation_percent:g} %: expected more than 0 and less'
            f' than 1000'
        )
    if claims < 1:
        wrong.append(f'{claims} claims: expected at least 1')
    if wrong:
        raise comparison.ComparisonError(*wrong)
    need = _need(
        differences.of_variation(
            variation_percent, is_paired=between is Between.TIERS
        ),
        question,
        claims,
    )
    return Needs(
        claims=claims,
        needs=(
            _with_time(
                need,
                None
                if run is None
                else _seconds(run, need.repeats)
                if between is Between.TIERS
                else _seconds_of_runs(run, need.repeats),
            ),
        ),
    )


def _with_time(need: Need, seconds: int | None) -> Need:
    values = {**vars(need), 'seconds': seconds}
    return Need(**values)


def _of_claim(claim: comparison.Claim, question: comparison.Question) -> Need:
    is_known = claim.variation_percent is not None
    return Need(
        tier=claim.second_tier,
        reference=claim.first_tier
        if claim.first_tier != claim.second_tier
        else '',
        pattern=claim.pattern,
        quantity=claim.quantity,
        variation_percent=claim.variation_percent,
        repeats=claim.repeats_needed,
        repeats_for_none=claim.repeats_for_none,
        seconds=None,
        reason=_reason(claim.repeats_needed, question)
        if is_known
        else claim.reason,
    )


def _reason(needed: int | None, question: comparison.Question) -> str:
    return '' if needed is not None else comparison.to_see(question, needed)


def _need(
    noise: differences.LogDifference,
    question: comparison.Question,
    claims: int,
) -> Need:
    margin = differences.logarithm(question.least_difference_percent)
    needed = differences.repeats_needed(
        noise,
        wanted=differences.logarithm(question.wanted_difference_percent),
        claims=claims,
        margin=margin,
        power=question.power,
    )
    return Need(
        variation_percent=noise.variation_percent,
        repeats=needed,
        repeats_for_none=differences.repeats_for_none(
            noise, margin=margin, claims=2 * claims, power=question.power
        )
        if margin
        else None,
        seconds=None,
        reason=_reason(needed, question),
    )


def _seconds(run: run_result.RunResult, repeats: int | None) -> int | None:
    """Return the duration of a run with these repeats; None if unknown."""
    if repeats is None:
        return None
    try:
        plan, expected = _estimate(run)
    except ValueError:
        # A file may have patterns that no schedule has.
        return None
    of_repeat = _seconds_of_repeat(run) or plan.seconds
    if run.cost is not None:
        return round(
            run.cost.took_seconds
            + (
                run.cost.told.delete
                if run.cost.delete_s is None
                else run.cost.delete_s
            )
            + (repeats - run.profile.repeats) * of_repeat
        )
    return round(expected.seconds - plan.seconds + repeats * of_repeat)


def _estimate(
    run: run_result.RunResult,
) -> tuple[schedule.Schedule, duration.Duration]:
    """Return the schedule of one repeat, and the estimate of the rest."""
    guests = run.guests_per_tier * len(run.tiers)
    plan = schedule.plan(
        [tier.tier for tier in run.tiers],
        run.profile.patterns,
        run.profile.method,
        guest_steps=run.guest_steps,
        guests_per_tier=run.guests_per_tier,
        side_by_side=run.side_by_side,
    )
    return plan, duration.estimate(
        plan,
        run.profile.method,
        guests=guests,
        tier_mib_per_second=schedule.TIER_MIB_PER_SECOND,
    )


def _seconds_of_repeat(run: run_result.RunResult) -> float | None:
    """Return the planned time from a repeat's start to the next one's.

    Each repeat has the same turns, in whatever order.
    """
    begins: dict[int, int] = {}
    for each in run.runs:
        for guest in each.slot.guests:
            if guest.planned_ms is not None:
                begins[each.slot.repeat] = min(
                    begins.get(each.slot.repeat, guest.planned_ms),
                    guest.planned_ms,
                )
    first, last = min(begins, default=0), max(begins, default=0)
    if first == last:
        return None
    return (begins[last] - begins[first]) / (last - first) / 1000
