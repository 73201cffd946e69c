# SPDX-License-Identifier: Apache-2.0

"""The way back: a step for each volume that is as a repair left it.

What a repair gave to a volume is taken back: its type, its backend, or the
limits of its image. Pure. Must not know where records are kept.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import repair

_REASON = 'a repair changed it'
#: What has failed may have been done after all: Cinder goes on with what takes
#: longer than somebody waits.
_NOT_DONE = (
    repair.StepOutcome.REFUSED,
    repair.StepOutcome.CHANGED,
    repair.StepOutcome.NOT_STARTED,
)


def plan(
    orders: order.Orders,
    listed: collections.abc.Iterable[audit_volumes.ListedVolume],
    *,
    circumstances: repair.Circumstances,
    tiers: collections.abc.Container[str] | None = None,
    volumes: collections.abc.Container[str] | None = None,
) -> list[repair.RepairStep]:
    """Plan the steps that take a repair back, in the order of the record.

    It is not known what a killed or failed step did: a volume that is not as
    the step would have left it is passed over.

    :param orders: a record of a repair, or the plan that was carried out.
    :param listed: volumes of all projects.
    :param circumstances: facts with types, and with limits if the record has
        some.
    :param tiers: names of the tiers of the volumes at that time; None: all.
    :param volumes: ids of the volumes whose repair is taken back; None: all.
    """
    there = {one.volume.volume_id: one for one in listed}
    types = {one.name: one for one in circumstances.types}
    found = []
    for one in orders.steps:
        known = there.get(one.volume)
        if (
            known is None
            or one.refused
            or one.outcome in _NOT_DONE
            or (tiers is not None and one.tier not in tiers)
            or (volumes is not None and one.volume not in volumes)
        ):
            continue
        volume = known.volume
        step = _step(one, volume, circumstances)
        changed = _changed(one, volume, step.limits)
        if one.outcome is not repair.StepOutcome.DONE and (
            one.kind is repair.RepairKind.RESIDENCY
            or (changed and not _is_half_done(one, step.limits))
        ):
            continue
        refusal = (
            f'since the repair, {changed}'
            if changed
            else '; '.join(
                _refusals(step, known.verdict, types, circumstances)
            )
        )
        found.append(dataclasses.replace(step, refusal=refusal))
    return found


def _step(
    one: order.Order,
    volume: facts.KnownVolume,
    circumstances: repair.Circumstances,
) -> repair.RepairStep:
    limits, image = circumstances.limits, None
    if one.limits is not None and limits:
        found = audit_volumes.limits_of(volume, limits)
        if isinstance(found, volume_limits.ImageLimits):
            image = dataclasses.replace(found, changes=one.had_limits or {})
    return repair.RepairStep(
        kind=one.kind,
        volume=volume,
        tier=one.to_tier or one.tier,
        to_tier=one.tier if one.to_tier else None,
        reason=_REASON,
        retype_to=one.had_type if one.retype_to else None,
        migrate_to=one.had_host if one.migrate_to else None,
        limits=image,
        shelves=repair.shelved_for(volume, one.kind, circumstances),
    )


def _changed(
    one: order.Order,
    volume: facts.KnownVolume,
    image: volume_limits.ImageLimits | None,
) -> str:
    """Describe how a volume changed since the repair; empty if it did not."""
    if one.limits is not None:
        if image is None:
            return 'the limits of its image cannot be read any more'
        return ', '.join(
            f'{option} changed from {value or "not set"} to '
            f'{image.has.get(option, "not set")}'
            for option, value in one.limits.items()
            if image.has.get(option) != value
        )
    wanted_type = one.retype_to or one.had_type
    if volume.type_name != wanted_type:
        return f'its type changed from {wanted_type} to {volume.type_name}'
    left_on = one.host or one.migrate_to
    if left_on and not repair.is_same_place(left_on, volume.host):
        return f'its host changed from {left_on} to {volume.host}'
    return ''


def _is_half_done(
    one: order.Order, image: volume_limits.ImageLimits | None
) -> bool:
    """Return whether only some limits have their wanted value."""
    had = one.had_limits or {}
    return image is not None and any(
        image.has.get(option) == value != had.get(option)
        for option, value in (one.limits or {}).items()
    )


def _refusals(
    step: repair.RepairStep,
    verdict: audit_volumes.VolumeVerdict,
    types: collections.abc.Mapping[str, facts.KnownType],
    circumstances: repair.Circumstances,
) -> collections.abc.Iterator[str]:
    volume = step.volume
    if step.kind is repair.RepairKind.RESIDENCY:
        yield 'an image that is flattened cannot become a clone again'
        return
    if step.limits:
        yield from order.not_settable(step.limits.changes)
        objection = repair.limits_objection(volume)
        if objection:
            yield objection
        return
    if step.retype_to:
        former = types.get(step.retype_to)
        if former is None:
            yield f'there is no volume type {step.retype_to} any more'
            return
        yield from repair.not_entitled(volume, former)
    elif not step.migrate_to:
        yield 'it had no volume type, and Cinder does not take one away'
        return
    elif step.migrate_to not in verdict.allowed:
        # The scheduler is asked, whatever an administrator orders.
        yield (
            f'its type does not allow backend {step.migrate_to}, and Cinder '
            'moves no volume to such a one'
        )
    elif circumstances.free_gib.get(step.migrate_to, 0.0) < volume.size_gib:
        yield (
            f'backend {step.migrate_to} does not report to the scheduler, or '
            f'has less than {volume.size_gib} GiB free'
        )
    yield from repair.objections(
        volume,
        step.kind,
        retype_to=step.retype_to,
        migrate_to=step.migrate_to,
        targets=circumstances.free_gib,
        circumstances=circumstances,
    )
