# SPDX-License-Identifier: Apache-2.0

"""Load curves of results: a latency against the load that was done.

A curve has a step for each load that was asked for (``result.AskedLoad``).
Only repeats in which all guests of all its steps are complete are used, so
that each of them is a curve of its own, and what is found on each is one
observation (``intervals``).

This module must not know what is concluded from a curve: see ``load``.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import enum
import itertools
import statistics

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import errors
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals

#: A step of which less is done is not done.  fio counts whole I/Os between
#: the ends of a run, and its guests do not start at the same moment.
PACED_SHARE = 0.98


class CurveError(errors.LinesError, ValueError):
    """Results that have no such curve; it says why and what would help."""


class Saturation(enum.Enum):
    """Verdicts on a step: whether the tier did the requested load."""

    DONE = 'done'
    SATURATED = 'saturated'
    CANNOT_TELL = 'cannot tell'


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of load of a curve."""

    #: its pattern in the result
    pattern: str
    #: of all guests together
    asked_iops: int
    #: of each volume
    volume_iops: int
    #: what was done in each repeat, of all guests together
    iops: tuple[float, ...]
    #: the quantity in each repeat; empty if it has none, see ``reason``
    latencies_ms: tuple[float, ...]
    #: why it has none; else empty
    reason: str = ''

    def estimate_iops(self, *, looks: int = 1) -> intervals.Estimate:
        """Return the achieved IOPS, over the repeats."""
        return intervals.estimate_mean(self.iops, looks=looks)

    def saturation(self, *, looks: int = 1) -> Saturation:
        """Judge whether the volumes did the requested load.

        :param looks: see ``intervals.confidence``
        """
        found = self.estimate_iops(looks=looks)
        wanted = PACED_SHARE * self.asked_iops
        if found.low is None or found.high is None:
            return Saturation.CANNOT_TELL
        if found.high < wanted:
            return Saturation.SATURATED
        if found.low >= wanted:
            return Saturation.DONE
        return Saturation.CANNOT_TELL


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A pattern on a tier, at more and more load."""

    tier: str
    #: name of the pattern without its steps
    name: str
    #: a latency, as ``expectations.find_quantity`` has it
    quantity: expectations.Limit
    #: at least one, rising
    steps: tuple[Step, ...]
    #: that are in all steps, at least one
    repeats: int
    #: repeats of each run, if there are several, in the order of the figures
    of_runs: tuple[int, ...] = ()
    #: see ``intervals.confidence``
    looks: int = 1

    def observations(self, values: Sequence[float]) -> list[float]:
        """The mean of each run, if there are several; else the values.

        Repeats of a run know nothing of how another run would differ.

        :param values: one of each repeat
        """
        if len(self.of_runs) < 2:
            return list(values)
        rest = iter(values)
        return [
            statistics.fmean(itertools.islice(rest, repeats))
            for repeats in self.of_runs
        ]

    def first_saturated(self) -> Step | None:
        """The least load that is shown not to be done; None: there is none.

        A step of less load than one that is done was disturbed by something
        else.
        """
        first = None
        for step in self.steps:
            found = step.saturation(looks=self.looks)
            if found is Saturation.DONE:
                first = None
            elif found is Saturation.SATURATED and first is None:
                first = step
        return first


def names(run: run_result.RunResult) -> list[tuple[str, str]]:
    """(tier, name without its steps) of all curves of a run, tier by tier."""
    return [
        (tier.tier, name)
        for tier in run.tiers
        for name in dict.fromkeys(
            each.asked.curve for each in tier.patterns if each.asked
        )
    ]


def of_run(
    run: run_result.RunResult,
    tier: str,
    name: str,
    quantity: expectations.Limit,
) -> Curve | None:
    """Read a curve of a run.

    Each curve is read by itself: losses of one do not affect another.

    :param name: name without the steps, see ``names``
    :returns: None if the run lacks the curve, or the quantity does not apply
        to it
    :raises CurveError: no repeat is complete in all steps, or two steps have
        the same load
    """
    steps = sorted(
        (
            (pattern.asked, pattern)
            for each in run.tiers
            if each.tier == tier
            for pattern in each.patterns
            if pattern.asked and pattern.asked.curve == name
        ),
        key=lambda step: step[0].iops,
    )
    if not steps or not figures.is_about(quantity, run, steps[0][1]):
        return None
    return _curve(tier, name, steps, quantity, looks=run.looks)


def _curve(
    tier: str,
    name: str,
    steps: Sequence[tuple[run_result.AskedLoad, run_result.PatternResult]],
    quantity: expectations.Limit,
    *,
    looks: int,
) -> Curve:
    asked = [each.iops for each, _pattern in steps]
    if len(set(asked)) < len(asked):
        raise CurveError(
            f'{tier} {name}: two steps ask for the same load, of'
            f' {", ".join(map(str, asked))} IOPS: expected one of each'
        )
    complete = [
        {slot.repeat: slot for slot in figures.complete(pattern.slots)}
        for _asked, pattern in steps
    ]
    common = sorted(set.intersection(*(set(each) for each in complete)))
    if not common:
        raise CurveError(
            f'{tier} {name}: no repeat has all guests of all'
            f' {len(steps)} steps: see the verdicts of the guests'
        )
    return Curve(
        tier=tier,
        name=name,
        quantity=quantity,
        steps=tuple(
            _step(*each, [slots[repeat] for repeat in common], quantity)
            for each, slots in zip(steps, complete, strict=True)
        ),
        repeats=len(common),
        looks=looks,
    )


def _step(
    asked: run_result.AskedLoad,
    pattern: run_result.PatternResult,
    slots: Sequence[run_result.SlotResult],
    quantity: expectations.Limit,
) -> Step:
    found = figures.of_complete(slots, quantity)
    reason = figures.not_told(slots, quantity)
    if not reason and not found:
        reason = f'in a repeat {figures.nothing_done(quantity)}'
    reason = reason or figures.too_few_ios(slots, quantity)
    return Step(
        pattern=pattern.pattern,
        asked_iops=asked.iops,
        volume_iops=asked.volume_iops,
        iops=tuple(slot.measured.iops for slot in slots),
        latencies_ms=() if reason else tuple(found),
        reason=reason,
    )


def joined(parts: Iterable[Curve]) -> Curve:
    """Join the same curve of several runs, each with its repeats.

    :param parts: at least one, of the same tier, name and quantity
    :raises CurveError: their steps differ
    """
    first, *others = parts
    steps = list(first.steps)
    for other in others:
        if [each.asked_iops for each in other.steps] != [
            each.asked_iops for each in steps
        ]:
            raise CurveError(
                f'{first.tier} {first.name}: results have different steps:'
                f' name results of one task with the same load_steps'
            )
        steps = [
            dataclasses.replace(
                ours,
                iops=ours.iops + theirs.iops,
                latencies_ms=()
                if ours.reason or theirs.reason
                else ours.latencies_ms + theirs.latencies_ms,
                reason=ours.reason or theirs.reason,
            )
            for ours, theirs in zip(steps, other.steps, strict=True)
        ]
    return dataclasses.replace(
        first,
        steps=tuple(steps),
        repeats=sum(each.repeats for each in (first, *others)),
        of_runs=tuple(each.repeats for each in (first, *others))
        if others
        else (),
        # Nobody looked between runs.
        looks=1 if others else first.looks,
    )
