# SPDX-License-Identifier: Apache-2.0

"""The results of a sweep as an argument of commands."""

import argparse

from osc_lib import exceptions

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.fault import of_run
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import effects
from cinder_tiers.loop.sweep import file_results as sweep_files
from cinder_tiers.loop.sweep import record


def is_sweep(path: str) -> bool:
    """Return whether a file is the result of a sweep, and not of a run."""
    return results.is_of_kind(
        path, sweep_files.KIND, max_bytes=sweep_files.MAX_SIZE_BYTES
    )


def read(path: str) -> tuple[sweep_files.Results, effects.Swept]:
    """Read a sweep that a user named, with the results of its slots.

    A result that cannot be read is a slot without a sound result.

    :param path: path of its sweep.json
    :raises base.CommandFailed: the file cannot be read, or is not of a sweep
    """
    with base.user_errors():
        found = sweep_files.read(path)
    return found, effects.Swept(
        tier=found.sweep.tier,
        default=design.DEFAULT,
        treatments={
            one.name: frozenset(one.guest) for one in found.sweep.treatments
        },
        blocks=found.sweep.blocks,
        slots=tuple(_slot(path, one) for one in found.records),
    )


def result_paths(path: str, found: sweep_files.Results) -> list[str]:
    """Return the paths of the results of all slots, readable or not.

    :param path: path of the file of the sweep
    """
    return [
        sweep_files.result_path(path, one.measured.result_file)
        for one in found.records
        if one.measured is not None and one.measured.result_file is not None
    ]


def _slot(path: str, one: record.SlotRecord) -> effects.ReachedSlot:
    run, reason = None, one.reason
    verdict = effects.SlotVerdict.SOUND
    measured = one.measured
    if one.verdict is record.TreatmentVerdict.NOT_IN_EFFECT:
        verdict = effects.SlotVerdict.NOT_IN_EFFECT
    elif one.verdict is record.TreatmentVerdict.CHANGED:
        verdict = effects.SlotVerdict.CHANGED
    elif one.verdict is record.TreatmentVerdict.FAULT_NOT_MADE:
        verdict = effects.SlotVerdict.NO_RESULT
    elif measured is None:
        reason = reason or 'it was not measured'
    elif measured.exit_status:
        reason = f'the command ended with {measured.exit_status}'
    elif measured.result_file is None:
        reason = 'the command left no result'
    else:
        try:
            run = results.read(
                sweep_files.result_path(path, measured.result_file)
            )
        except exceptions.CommandError as error:
            reason = str(error)
    if verdict is effects.SlotVerdict.SOUND and run is None:
        verdict = effects.SlotVerdict.NO_RESULT
    return effects.ReachedSlot(
        number=one.slot.number,
        block=one.slot.block,
        treatment=one.slot.treatment,
        verdict=verdict,
        reason=reason,
        run=run,
    )


def made_faults(
    one: record.SlotRecord,
) -> tuple[tuple[of_run.Made, ...], dict[str, float]]:
    """The faults of a slot of which it is known when they were.

    :returns: (the faults, {fault: seconds from its end until the cluster was
        healthy})
    """
    known = [
        (fault, *times)
        for fault in (one.measured.faults if one.measured else ())
        if (times := times_of(fault))
    ]
    return (
        tuple(
            of_run.Made(
                name=fault.name,
                target=fault.target,
                began=began,
                ended=ended,
            )
            for fault, began, ended in known
        ),
        {
            fault.name: round(fault.healthy - ended, 1)
            for fault, _began, ended in known
            if fault.healthy is not None
        },
    )


def times_of(fault: faults.FaultRecord) -> tuple[float, float] | None:
    """Return begin and end of a fault; None if they are unknown."""
    if fault.began is None or fault.ended is None or fault.began > fault.ended:
        return None
    return fault.began, fault.ended


def faulty_slots(
    found: sweep_files.Results, swept: effects.Swept
) -> list[of_run.FaultySlot]:
    """Slots with faults, and a result to look for them in.

    :param swept: the same, with the results of its slots
    """
    slots = []
    for one, slot in zip(found.records, swept.slots, strict=True):
        made, healthy_s = made_faults(one)
        if made and slot.run is not None:
            slots.append(
                of_run.FaultySlot(
                    name=f'{slot.number} {slot.treatment}',
                    made=made,
                    healthy_s=healthy_s,
                    result=slot.run,
                )
            )
    return slots


def quantities(parsed_args: argparse.Namespace) -> tuple[str, ...]:
    """Return the quantities of the arguments of `results.add_quantities`."""
    return results.quantities(
        parsed_args,
        effects.OF_ALL if parsed_args.directions else effects.QUANTITIES,
    )


def summary(found: sweep_files.Results) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a sweep, as (name, value), for a report."""
    sweep = found.sweep
    return (
        ('Sweep of tier', sweep.tier),
        ('Started', found.started),
        ('State', '; '.join((found.state, *warnings(found)))),
        ('Blocks', str(sweep.blocks)),
        ('Seed of the order', str(sweep.seed)),
        *(
            (
                f'Treatment {one.name}',
                ', '.join(
                    f'{name} {design.text(value)}'
                    for name, value in (
                        *(
                            (place[-1], each)
                            for place, each in one.changes.items()
                        ),
                        *one.guest.items(),
                    )
                ),
            )
            for one in sweep.treatments
        ),
    )


def warnings(found: sweep_files.Results) -> tuple[str, ...]:
    """Return warnings on a sweep that precede its effects."""
    texts = []
    if found.state == sweep_files.RUNNING:
        texts.append(
            'the sweep is not complete: the effects will still change, '
            'and looking at them again and again until one shows finds '
            'too many'
        )
    elif found.state == sweep_files.ENDED_EARLY:
        texts.append(
            f'the sweep ended early, after {len(found.records)} of '
            f'{len(found.sweep.slots)} slots'
        )
    if not found.is_brought_back and found.state != sweep_files.RUNNING:
        texts.append(
            'not everything that the sweep changed is as before: run '
            '"openstack tier sweep --status"'
        )
    return tuple(texts)
