# SPDX-License-Identifier: Apache-2.0

"""Comparison of a candidate's run with that of the default.

Pure.
"""

from collections.abc import Mapping
import math

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.sla import judgement
from cinder_tiers.figures.stats import differences


def _figure(
    run: run_result.RunResult, tier: str, limit: expectations.Limit
) -> dict[str, float]:
    """{pattern: geometric mean of its repeats}, of those that have one."""
    found = {}
    for each in (
        each for one in run.tiers if one.tier == tier for each in one.patterns
    ):
        slots = figures.complete(each.slots)
        if (
            not slots
            or not figures.is_about(limit, run, each)
            or figures.not_told(slots, limit)
        ):
            continue
        values = [figures.figure(slot, limit) or 0.0 for slot in slots]
        if min(values) > 0 and not figures.too_few_ios(slots, limit):
            found[each.pattern] = differences.mean_logarithm(values)
    return found


def least_gain_percent(goal: str, asked_percent: float) -> float:
    """A gain that counts, in percent, at least.

    A percentile of a latency may be off by a bucket of fio in every run, so
    that no number of blocks shows less.

    :param goal: name as in ``expectations.find_quantity``
    :param asked_percent: a smaller one is none, whatever can be seen
    """
    if expectations.quantity(goal).percent is None:
        return asked_percent
    return max(asked_percent, 100 * figures.BUCKET_WIDTH)


def gain(
    default: run_result.RunResult,
    treated: run_result.RunResult,
    *,
    tier: str,
    goal: str,
) -> float | None:
    """Return how much better a run is than that of the default.

    This is the mean over all patterns, with equal weight for each.

    :param tier: name of the tuned tier
    :param goal: name as in ``expectations.find_quantity``
    :returns: natural logarithm, more than 0 if better, whether the goal is
        more or less; None: the default has no figure, or the other run lacks
        the figure of one of its patterns
    """
    limit = expectations.quantity(goal)
    first, second = (_figure(run, tier, limit) for run in (default, treated))
    if not first or not first.keys() <= second.keys():
        return None
    mean = math.fsum(second[each] - first[each] for each in first) / len(first)
    return mean if limit.is_least else -mean


def broken(
    default: run_result.RunResult,
    treated: run_result.RunResult,
    expected: Mapping[str, expectations.Expectations],
) -> tuple[str, ...]:
    """Promises that a run breaks and that of the default holds.

    What the default may break itself says nothing against the other.  One that
    it holds is broken as well if the run has no figure of it, or one of too
    few I/Os: no guest of the tier may have come so far, or the tier may be so
    slow.

    :param expected: {tier: its expectations}
    """
    # Of the same limits in the same order, whatever a run has.
    before, after = (
        judgement.judge(run, judgement.Criteria(required=expected))
        for run in (default, treated)
    )
    broken, held = (
        judgement.CriterionOutcome.BROKEN,
        judgement.CriterionOutcome.HELD,
    )
    lost = judgement.CriterionOutcome.NOT_MEASURED
    return tuple(
        other.text
        for one, other in zip(before, after, strict=True)
        if one.outcome is held
        and (other.outcome in (broken, lost) or other.has_too_few_ios)
    )
