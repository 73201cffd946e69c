# SPDX-License-Identifier: Apache-2.0

"""Estimated and actual duration of a run.

An earlier run gives the speed of its cloud: the rates of the next estimate.
Pure.
"""

from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass

from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.result import result as run_result


@dataclass(frozen=True, kw_only=True)
class RunPart:
    """A part of a run, in seconds."""

    #: what is done in it
    name: str
    #: before the run
    told: float
    #: null: not known
    taken: float | None


def parts(cost: run_result.Cost) -> tuple[RunPart, ...]:
    """Return estimate and duration of each part, in chronological order.

    A start by wall time includes waiting: everything from active servers to
    the last result is then one part.
    """
    told = cost.told
    before = told.first_sign + told.prepare + told.precondition
    if cost.prepare_s is None:
        between = [
            RunPart(
                name='prepare, wait for the start, measure and collect',
                told=before + told.wait + told.measure,
                taken=cost.measure_s,
            )
        ]
    elif told.turns is None or cost.turns_s is None:
        between = [
            RunPart(name='prepare', told=before, taken=cost.prepare_s),
            RunPart(
                name='start, measure and collect',
                told=told.measure,
                taken=cost.measure_s,
            ),
        ]
    else:
        between = [
            RunPart(name='prepare', told=before, taken=cost.prepare_s),
            RunPart(name='measure', told=told.turns, taken=cost.turns_s),
            RunPart(
                name='start and collect',
                told=told.measure - told.turns,
                taken=max(0.0, cost.measure_s - cost.turns_s),
            ),
        ]
    return (
        RunPart(name='volumes', told=told.volumes, taken=cost.volumes_s),
        RunPart(name='boot', told=told.boot, taken=cost.boot_s),
        *between,
        RunPart(name='delete', told=told.delete, taken=cost.delete_s),
    )


def together(found: Sequence[RunPart]) -> RunPart:
    """The sum of parts; what they took is not known if one of them is not."""
    taken = [each.taken for each in found if each.taken is not None]
    return RunPart(
        name='together',
        told=sum(each.told for each in found),
        taken=sum(taken) if len(taken) == len(found) else None,
    )


def source(told: duration.Duration) -> str:
    """Describe the source of an estimate's rates."""
    if not told.rates_of:
        return 'rates assumed for a small cloud'
    return f'rates of run {told.rates_of}'


def rates(run: run_result.RunResult, *, by_clock: bool) -> duration.Rates:
    """Return the speed of the cloud of an earlier run.

    Guests that shared hosts shared their cores, so that the time to the first
    sign of life grows with their number; guests with a host each take the same
    time regardless of their number.

    :param by_clock: whether the guests of the next run start by wall time
    :raises ValueError: the run lacks the necessary figures
    """
    cost = run.cost
    extent = cost.told.extent if cost else None
    if not cost or not extent or extent.guests < 1 or extent.volumes < 1:
        raise ValueError(
            f'run {run.run} does not say how long its parts took: expected the'
            f' result of a fleet'
        )
    if extent.by_clock != by_clock:
        raise ValueError(
            f'guests of run {run.run} started by'
            f' {"clock" if extent.by_clock else "a volume"}, those of this run'
            f' by {"clock" if by_clock else "a volume"}: expected a result of'
            f' the same start, since they boot differently'
        )
    found = duration.Rates(
        run=run.run,
        per_volume=cost.volumes_s / extent.volumes,
        per_boot=cost.boot_s / extent.boots,
    )
    if cost.fill_s is not None and extent.fill_mib > 0:
        found = dataclasses.replace(
            found, per_filled_mib=cost.fill_s / extent.fill_mib
        )
    if cost.prepare_s is not None:
        first_sign = max(
            0.0, cost.prepare_s - (cost.fill_s or 0) - (cost.rounds_s or 0)
        )
        hosts = {guest.host for guest in run.guests}
        if None in hosts or len(hosts) < len(run.guests):
            found = dataclasses.replace(
                found, first_sign_per_guest=first_sign / extent.guests
            )
        else:
            found = dataclasses.replace(found, first_sign=first_sign)
    if cost.turns_s is not None and extent.around_seconds > 0:
        found = dataclasses.replace(
            found,
            around=max(0.0, cost.measure_s - cost.turns_s)
            / extent.around_seconds,
        )
    if cost.delete_s is not None:
        found = dataclasses.replace(
            found, per_deletion=cost.delete_s / extent.guests
        )
    return found
