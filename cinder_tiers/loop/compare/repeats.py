# SPDX-License-Identifier: Apache-2.0

"""How many repeats a wanted difference needs, and how long they take.

Pure.  The noise is that of a run that was made before, or is given;
the number is the one that a comparison tells afterwards, by the same formula
(``differences.repeats_needed``).  The time is that of the former run, and, for
what is not in its result, the estimate that each run begins with.
"""

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
import enum

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.compare import comparison


class Between(enum.Enum):
    """What is to be compared."""

    #: tiers of one run, within each repeat
    TIERS = 'tiers'
    #: a tier with itself in another run, such as after a change
    RUNS = 'runs'


@dataclass(frozen=True, kw_only=True)
class Need:
    """What one quantity of one pattern asks for."""

    #: whose figures they are; empty if the noise is stated
    tier: str = ''
    #: the tier that it is compared with; empty if it is with itself
    reference: str = ''
    #: name in the profile; empty if the noise is stated
    pattern: str = ''
    #: name as in ``expectations.find_quantity``; empty if the noise is stated
    quantity: str = ''
    #: coefficient of variation of repeats, without what both sides have in
    #: common where they are compared within repeats; None if it is not known
    variation_percent: float | None
    #: that show the wanted difference; None if it is not known, or if not even
    #: ``differences.MOST_REPEATS`` do
    repeats: int | None
    #: that show that no difference is relevant, if there is none; None
    #: likewise, or if any difference is relevant
    repeats_for_none: int | None
    #: of a run with so many repeats; None if it is not known
    seconds: int | None
    #: why there is no number; else empty
    reason: str = ''


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What all claims of a comparison ask for, made together."""

    #: one for each claim
    needs: tuple[Need, ...]
    #: how many are corrected for each other
    claims: int

    @property
    def repeats(self) -> int | None:
        """So that all of them are shown; None if one has no number."""
        found = [need.repeats for need in self.needs]
        return None if None in found else max(found, default=None)

    @property
    def seconds(self) -> int | None:
        """Of a run with so many repeats; None if it is not known."""
        found = [need.seconds for need in self.needs]
        return None if None in found else max(found, default=None)


def of_run(
    run: run_result.RunResult,
    question: comparison.Question,
    *,
    between: Between,
    reference: str | None = None,
) -> Needs:
    """By the noise of a run.

    :param reference: tier that the others are compared with; None: the first
    :raises comparison.ComparisonError: there is no tier, or, between tiers,
        a single one or none of that name
    """
    if between is Between.TIERS:
        claims = comparison.tiers_of_run(
            run, question, reference=reference
        ).claims
        known = sum(claim.variation_percent is not None for claim in claims)
        needs = [_of_claim(claim, question) for claim in claims]
    else:
        noises = list(_noises(run, question))
        known = sum(not reason for *_, reason in noises)
        needs = [_of_noise(each, question, known) for each in noises]
    if not needs:
        raise comparison.no_pattern(question.quantities)
    return Needs(
        claims=known,
        needs=tuple(
            _with_time(need, _seconds(run, need.repeats)) for need in needs
        ),
    )


def of_variation(
    variation_percent: float,
    question: comparison.Question,
    *,
    between: Between,
    claims: int,
    run: run_result.RunResult | None = None,
) -> Needs:
    """By a noise that is given.

    :param variation_percent: coefficient of variation of the repeats of each
        side
    :param claims: how many are to be made together, at least 1
    :param run: for the time; None: it is not known
    :raises comparison.ComparisonError: no such numbers
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
        needs=(_with_time(need, run and _seconds(run, need.repeats)),),
    )


def _with_time(need: Need, seconds: int | None) -> Need:
    values = {**vars(need), 'seconds': seconds}
    return Need(**values)


def _of_claim(claim: comparison.Claim, question: comparison.Question) -> Need:
    is_known = claim.variation_percent is not None
    return Need(
        tier=claim.second_tier,
        reference=claim.first_tier,
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
    noise: differences.Difference,
    question: comparison.Question,
    claims: int,
    **about: str,
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
        **about,
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


# (tier, pattern, quantity, noise, why there is none)
_Noise = tuple[str, str, str, differences.Difference | None, str]


def _noises(
    run: run_result.RunResult, question: comparison.Question
) -> Iterator[_Noise]:
    for tier in run.tiers:
        for pattern in tier.patterns:
            for name in question.quantities:
                limit = expectations.find_quantity(name)
                if not figures.is_about(limit, run, pattern):
                    continue
                yield (
                    tier.tier,
                    pattern.pattern,
                    name,
                    *_noise(pattern.slots, limit, looks=run.looks),
                )


def _noise(
    slots: Sequence[run_result.SlotResult],
    limit: expectations.Limit,
    *,
    looks: int,
) -> tuple[differences.Difference | None, str]:
    complete = figures.complete(slots)
    if len(complete) < 2:
        return None, (
            f'{len(complete)} of {len(slots)} repeats can be used: expected'
            f' at least 2 in which all guests are complete'
        )
    reason = figures.not_told(complete, limit)
    if reason:
        return None, reason
    values = [figures.figure(slot, limit) or 0.0 for slot in complete]
    if min(values) <= 0:
        return None, f'in a repeat {figures.nothing_done(limit)}'
    reason = figures.too_few_ios(complete, limit)
    if reason:
        return None, reason
    return (
        differences.of_alike(
            values,
            resolution=figures.resolution(complete, limit),
            looks=looks,
        ),
        '',
    )


def _of_noise(
    found: _Noise, question: comparison.Question, claims: int
) -> Need:
    tier, pattern, quantity, noise, reason = found
    about = {'tier': tier, 'pattern': pattern, 'quantity': quantity}
    if noise is None:
        return Need(
            **about,
            variation_percent=None,
            repeats=None,
            repeats_for_none=None,
            seconds=None,
            reason=reason,
        )
    return _need(noise, question, claims, **about)


def _seconds(run: run_result.RunResult, repeats: int | None) -> int | None:
    """How long such a run takes with so many repeats; None: not known."""
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
    """One repeat as it would be planned, and what is around it."""
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
    """From the beginning of a repeat to that of the next, as it was planned.

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
