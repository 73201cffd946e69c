# SPDX-License-Identifier: Apache-2.0

"""Key loads of a curve: saturation, knee, 70 %, maximum within a limit.

Each is found on the curve of each repeat, and its interval is that over the
repeats, or over the runs if there are several.  The most load within a limit
is a promise: its interval is that of one more repeat, or run.  Values that
steps or repeats do not show are not guessed: the answer then says what is
missing.

The knee is that of Kneedle: Satopaa, Albrecht, Irwin, Raghavan, "Finding a
'Kneedle' in a Haystack: Detecting Knee Points in System Behavior", ICDCSW
2011, section III, for a curve that rises and is convex, with the sensitivity S
= 1 of its section IV.  The 70 % point is a rule of practice and no law: the
response curves of the Ceph Benchmarking Tool are read so.

Between two steps, the inverse of a latency is assumed to be linear in the
load. For M/M/1 this is exact for the mean and for each percentile: the time in
the system is exponential with the rate mu - lambda (Kleinrock, Queueing
Systems, volume 1, section 3.2), so that a percentile p has -ln(1 - p) / (mu -
lambda). Between neighbouring steps of other systems it is an approximation.
"""

from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import itertools
import math
import statistics

from cinder_tiers.figures.stats import intervals
from cinder_tiers.loop.headroom import curve as load_curve

#: Of the most that can be done.
OPERATE_SHARE = 0.7
#: With fewer, each is an end or the only one between them.
LEAST_STEPS_OF_KNEE = 5
#: With so many times the load, a latency that is hardly more is not its.
_MORE_LOAD = 2
_HARDLY_MORE = 1.25
#: Student's interval of one more of two is 15.6 of their deviations.
_FEW = 3
_ONE_REPEAT = f'one repeat has no interval: expected at least {_FEW}'


@dataclass(frozen=True, kw_only=True)
class GuestsLoad:
    """A load in IOPS of all guests together, or why it is not known."""

    #: over the repeats; None: not known
    iops: intervals.Estimate | None = None
    #: a load that is less than it, where only that is shown
    at_least_iops: float | None = None
    #: a load that is more than it, where only that is shown
    at_most_iops: float | None = None
    #: in which one of these was shown
    repeats: int = 0
    #: why it is not known, or not exactly; else empty
    reason: str = ''
    #: what was measured that contradicts it; else empty
    contradiction: str = ''

    @property
    def has_interval(self) -> bool:
        """Return whether the load has an interval, which claims need."""
        return self.iops is not None and self.iops.low is not None


def _over_repeats(
    values: Sequence[float], curve: load_curve.Curve
) -> GuestsLoad:
    return GuestsLoad(
        iops=intervals.estimate_mean(
            curve.observations(values), looks=curve.looks
        ),
        reason='' if len(values) > 1 else _ONE_REPEAT,
    )


def _of_next(values: Sequence[float], curve: load_curve.Curve) -> GuestsLoad:
    found = intervals.estimate_next(
        curve.observations(values), looks=curve.looks
    )
    return dataclasses.replace(
        _over_repeats(values, curve),
        iops=found
        if found.low is None
        else dataclasses.replace(found, low=max(0.0, found.low)),
    )


def _next_ms(
    step: load_curve.Step, curve: load_curve.Curve
) -> tuple[float, float]:
    """Return the interval in which the latency of one more lies, in ms.

    That of a single repeat, which shows nothing of another, is its own.
    """
    found = intervals.estimate_next(
        [math.log(each) for each in curve.observations(step.latencies_ms)],
        looks=curve.looks,
    )
    if found.low is None or found.high is None:
        return step.latencies_ms[0], step.latencies_ms[0]
    return intervals.exponential(found.low), intervals.exponential(found.high)


def _beyond_steps(
    curve: load_curve.Curve,
    reason: str,
    *,
    at_least_iops: float | None = None,
    at_most_iops: float | None = None,
) -> GuestsLoad:
    """Return a load that lies beyond an end of the curve."""
    return GuestsLoad(
        at_least_iops=at_least_iops,
        at_most_iops=at_most_iops,
        repeats=curve.repeats,
        reason=reason if curve.repeats > 1 else f'{reason}; {_ONE_REPEAT}',
    )


def most(curve: load_curve.Curve) -> GuestsLoad:
    """The most that was done, of a curve that reaches saturation.

    Of the step that did most, on the mean: to choose in each repeat would
    choose noise, too.
    """
    if curve.first_saturated() is None:
        last = curve.steps[-1]
        return _beyond_steps(
            curve,
            f'no step is shown to be saturated, up to {last.asked_iops} IOPS:'
            f' add steps of more load, or repeats',
            at_least_iops=last.estimate_iops().mean,
        )
    best = max(curve.steps, key=lambda step: sum(step.iops))
    return _over_repeats(best.iops, curve)


def operating_point(curve: load_curve.Curve) -> GuestsLoad:
    """70 % of the most that can be done."""
    found = most(curve)
    if found.iops is None:
        return GuestsLoad(reason=found.reason)
    best = max(curve.steps, key=lambda step: sum(step.iops))
    return _over_repeats([OPERATE_SHARE * each for each in best.iops], curve)


def kneedle(x: Sequence[float], y: Sequence[float]) -> int | None:
    """Return the index of the knee of a convex, rising curve, or None.

    Both axes are scaled to 0 to 1.  The knee is where the curve is furthest
    below the diagonal, if by more than the mean distance of neighbours on the
    load axis (sensitivity 1).

    :param x: loads that do not fall, at least two
    :param y: latency of each load

    >>> kneedle([0, 1, 2, 3, 4, 5], [0, 0.1, 0.2, 0.3, 2, 10])
    4
    >>> kneedle([0, 1, 2], [0, 1, 2]) is None
    True
    """
    width, height = x[-1] - x[0], max(y) - min(y)
    if width <= 0 or height <= 0:
        return None
    below = [
        (a - x[0]) / width - (b - min(y)) / height
        for a, b in zip(x, y, strict=True)
    ]
    best = max(range(len(x)), key=below.__getitem__)
    return best if below[best] > 1 / (len(x) - 1) else None


def knee(curve: load_curve.Curve) -> GuestsLoad:
    """The load beyond which the latency rises steeply.

    It is one of the steps, so its interval is at least as wide as from the
    step before it to the step after it.
    """
    usable = _up_to_saturation(curve)
    if len(usable) < LEAST_STEPS_OF_KNEE:
        return GuestsLoad(
            reason=f'{len(usable)} steps up to saturation have a latency:'
            f' expected at least {LEAST_STEPS_OF_KNEE}'
        )
    found = []
    for repeat in range(curve.repeats):
        at = kneedle(
            rising([step.iops[repeat] for step in usable]),
            rising([step.latencies_ms[repeat] for step in usable]),
        )
        if at is None:
            return GuestsLoad(
                reason=f'the curve of repeat {repeat + 1} has no knee: add'
                f' steps of more load'
            )
        found.append(at)
    loads = [usable[at].iops[repeat] for repeat, at in enumerate(found)]
    about = intervals.estimate_mean(
        curve.observations(loads), looks=curve.looks
    )
    if about.low is None or about.high is None:
        return _over_repeats(loads, curve)
    # Kneedle gives neither end.
    before, after = usable[min(found) - 1], usable[max(found) + 1]
    return GuestsLoad(
        iops=intervals.Estimate(
            mean=about.mean,
            values=about.values,
            low=min(about.low, before.estimate_iops().mean),
            high=max(about.high, after.estimate_iops().mean),
            spread_percent=about.spread_percent,
            method=f'{about.method}, and not less than a step',
        )
    )


def _up_to_saturation(
    curve: load_curve.Curve,
) -> list[load_curve.Step]:
    """Steps that have a latency, the first saturated one being the last."""
    last = curve.first_saturated()
    return [
        step
        for step in curve.steps
        if step.latencies_ms
        and (last is None or step.asked_iops <= last.asked_iops)
    ]


def rising(values: Sequence[float]) -> list[float]:
    """Values that do not fall from step to step, nearest to those given.

    By least squares: neighbours that fall share their mean.

    >>> rising([1, 3, 2, 4])
    [1.0, 2.5, 2.5, 4.0]
    """
    shared: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while shared and shared[-1][0] / shared[-1][1] > total / count:
            before, several = shared.pop()
            total, count = total + before, count + several
        shared.append((total, count))
    return [total / count for total, count in shared for _ in range(count)]


def within(curve: load_curve.Curve, most_ms: float) -> GuestsLoad:
    """The highest load at which the latency is at most so much.

    A step that the tier does not do is not within, whatever the latency of
    what it does.

    :param most_ms: more than 0
    """
    usable = _up_to_saturation(curve)
    if not usable:
        reasons = [step.reason for step in curve.steps if step.reason]
        return GuestsLoad(
            reason='no step has the latency'
            + (f': {reasons[0]}' if reasons else '')
        )
    # In each repeat by itself, so that one that breaks has its crossing.
    is_saturated = curve.first_saturated() is usable[-1]
    found = [
        _crossing(
            rising([step.iops[repeat] for step in usable]),
            rising([step.latencies_ms[repeat] for step in usable]),
            most_ms,
            is_saturated=is_saturated,
        )
        for repeat in range(curve.repeats)
    ]
    return dataclasses.replace(
        _within_steps(curve, usable, found, most_ms),
        contradiction=_contradiction(usable, most_ms),
    )


def _within_steps(
    curve: load_curve.Curve,
    usable: Sequence[load_curve.Step],
    found: Sequence[float],
    most_ms: float,
) -> GuestsLoad:
    """Combine the crossings of all repeats from ``_crossing``."""
    first, last = usable[0], usable[-1]
    if 0 in found:
        breaks = not any(found)
        sure = _next_ms(first, curve)[0] > most_ms
        return _beyond_steps(
            curve,
            f'the latency is{"" if breaks else " in some repeats"} more than'
            f' {most_ms:g} ms at the first step, {first.asked_iops} IOPS'
            f'{_unless(sure or not breaks, curve)}:'
            f' {_not_of_load(curve, usable) or _advice(curve, -1, first)}',
            at_most_iops=max(first.iops) if breaks and sure else None,
        )
    if math.inf in found:
        kept = all(each == math.inf for each in found)
        sure = _next_ms(last, curve)[1] <= most_ms
        return _beyond_steps(
            curve,
            f'the latency is{"" if kept else " in some repeats"} at most'
            f' {most_ms:g} ms up to the last step, {last.asked_iops} IOPS'
            f'{_unless(sure or not kept, curve)}: {_advice(curve, 1, last)}',
            at_least_iops=min(last.iops) if kept and sure else None,
        )
    return _of_next(found, curve)


def _unless(sure: bool, curve: load_curve.Curve) -> str:
    """Say that one more repeat, or run, may differ; empty if it is sure."""
    if sure:
        return ''
    one = 'run' if curve.of_runs else 'repeat'
    return f', but one {one} more may differ: add {one}s'


def _not_of_load(
    curve: load_curve.Curve, usable: Sequence[load_curve.Step]
) -> str:
    """Explain that the latency comes from pauses, not load; empty if not.

    Less load would not shorten pauses.
    """
    done = [step for step in usable if step is not curve.first_saturated()]
    if not done:
        return ''
    first, last = done[0], done[-1]
    low_ms, high_ms = (
        statistics.fmean(step.latencies_ms) for step in (first, last)
    )
    if (
        last.asked_iops < _MORE_LOAD * first.asked_iops
        or high_ms > _HARDLY_MORE * low_ms
    ):
        return ''
    return (
        f'it hardly depends on the load ({low_ms:.4g} ms at'
        f' {first.asked_iops} IOPS, {high_ms:.4g} ms at {last.asked_iops}):'
        f' look for what pauses I/Os, such as scrubs, recovery or a full write'
        f' cache, since fewer volumes would not help'
    )


def _advice(curve: load_curve.Curve, way: int, end: load_curve.Step) -> str:
    """Advise which steps would show more than those with a latency.

    :param way: 1: steps of more load; -1: steps of less
    :param end: the last step in this direction
    """
    words = 'more' if way > 0 else 'less'
    place = curve.steps.index(end) + way
    if 0 <= place < len(curve.steps) and curve.steps[place].reason:
        beyond = curve.steps[place]
        return (
            f'that of {words} load is not known, at {beyond.asked_iops} IOPS:'
            f' {beyond.reason}'
        )
    return f'add steps of {words} load'


def _contradiction(usable: Sequence[load_curve.Step], most_ms: float) -> str:
    """A step that breaks in all repeats below one that keeps in all.

    The nearest rising curve hides it, but nobody knows which of them was
    disturbed.
    """
    for place, step in enumerate(usable):
        if min(step.latencies_ms) > most_ms and any(
            max(other.latencies_ms) <= most_ms for other in usable[place:]
        ):
            return (
                f'the latency is more than {most_ms:g} ms in all repeats at'
                f' {step.asked_iops} IOPS, and at most that with more load:'
                f' something else disturbed the run, so measure again'
            )
    return ''


def _crossing(
    x: Sequence[float],
    y: Sequence[float],
    most_ms: float,
    *,
    is_saturated: bool,
) -> float:
    """Return the load at which a rising curve exceeds a latency.

    :param is_saturated: whether the last step was not reached
    :returns: 0 if the first step exceeds it; infinity if no step does
    """
    if y[0] > most_ms:
        return 0.0
    for (x0, y0), (x1, y1) in itertools.pairwise(zip(x, y, strict=True)):
        if y1 > most_ms:
            # fio has a bucket of 0 ns.
            y0 = max(y0, 1e-6)
            share = (1 / y0 - 1 / most_ms) / (1 / y0 - 1 / y1)
            return x0 + share * (x1 - x0)
    return x[-1] if is_saturated else math.inf
