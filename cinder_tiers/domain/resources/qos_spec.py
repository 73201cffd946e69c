# SPDX-License-Identifier: Apache-2.0


"""The part of a plan that is about QoS specs.

Pure. A QoS spec has no place for a mark: each key of it goes to the hypervisor
or to the driver of the storage, and some drivers refuse a key that they do not
know (cinder/volume/drivers/netapp/utils.py). So one is ours when it has the
name for a tier and no volume type but the tier's has it.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import type_succession

#: {consumer: what a change does not reach}.
_KEEPS = {
    'front-end': 'volumes that are attached keep their limits until they are '
    'attached again',
    'back-end': 'volumes that exist keep their limits until they are retyped',
    'both': 'volumes that exist keep their limits until they are retyped and '
    'attached again',
}


def make(
    *,
    catalog: catalogs.Catalog,
    cinder: cinder_state.CinderState,
) -> collections.abc.Iterator[actions.Action]:
    """Actions that make the QoS specs those of the catalog.

    :param cinder: what exists.
    :returns: tiers in the order of the file, then QoS specs of ours that the
        catalog does not have.
    """
    for tier in catalog.ours:
        wanted = tier_pools.qos_spec_of(tier)
        if wanted is not None:
            yield from _action(tier, cinder, wanted)
    declared = {
        tier.name for tier in catalog.tiers if tier.qos or not tier.take_over
    }
    named = {tier.name for tier in catalog.tiers}
    for name, volume_type in cinder.volume_types.items():
        spec = cinder.qos_specs.get(tier_pools.qos_spec_name(name))
        if (
            spec is not None
            and name not in declared
            # Or it would be ours as soon as its type is taken over.
            and (cinder_state.NAME in volume_type.extra_specs or name in named)
            and spec.volume_types == {name}
        ):
            yield _undeclared(name, spec, _retired(name, cinder))


def _retired(tier: str, cinder: cinder_state.CinderState) -> str:
    """The retired types of a tier, which may have its QoS spec.

    :returns: '' for none.
    """
    return ', '.join(
        sorted(
            name
            for name in cinder.volume_types
            if type_succession.successor_of(name) == tier
        )
    )


def _action(
    tier: catalogs.Tier,
    cinder: cinder_state.CinderState,
    wanted: cinder_state.QosSpec,
) -> collections.abc.Iterator[actions.Action]:
    before = cinder.qos_specs.get(wanted.name)
    why = f'tier {tier.name}'
    after = wanted
    if before is not None:
        after = dataclasses.replace(
            wanted, volume_types=before.volume_types | wanted.volume_types
        )
        if not difference.differences(before, after):
            return
        why = f'{why}; {_KEEPS[wanted.consumer]}'
        retired = _retired(tier.name, cinder)
        if retired:
            why += (
                f'; it holds for volumes of {retired} as well, if that has it'
            )
    replaced = frozenset(
        other.name
        for other in cinder.qos_specs.values()
        if other.name != wanted.name and tier.name in other.volume_types
    )
    if replaced:
        after = cinder_state.ReplacingQosSpec(**vars(after), replaces=replaced)
    yield actions.Action(
        key=actions.Key(kind=actions.Kind.QOS_SPEC, name=wanted.name),
        before=before,
        after=after,
        why=why,
        needs=frozenset(
            {actions.Key(kind=actions.Kind.VOLUME_TYPE, name=tier.name)}
        ),
        refusal=actions.joined(
            _refusals(
                tier.name,
                before,
                after,
                volume_type=cinder.volume_types.get(tier.name),
            )
        ),
    )


def _refusals(
    tier: str,
    before: cinder_state.QosSpec | None,
    after: cinder_state.QosSpec,
    *,
    volume_type: cinder_state.VolumeType | None,
) -> collections.abc.Iterator[actions.Refusal]:
    for other in sorted(cinder_state.ReplacingQosSpec.names_in(after)):
        yield actions.Refusal(
            reason=f'volume type {tier} has the QoS spec {other}, which is '
            f'not ours, and can have one only',
            remedy='remove qos from the tier',
            yields_to_consent=True,
        )
    if before is None:
        return
    others = sorted(before.volume_types - {tier})
    if others:
        yield actions.Refusal(
            reason=f'other volume types have the QoS spec too: '
            f'{", ".join(others)}',
            remedy='give them a QoS spec of their own, or remove qos from '
            'the tier',
        )
    if before.volume_types and volume_type and not volume_type.is_ours:
        yield actions.Refusal(
            reason=f'the QoS spec {before.name} is that of a volume type '
            f'without our mark',
            remedy='choose another name for the tier',
            yields_to_consent=True,
        )
    changed = {one.field for one in difference.differences(before, after)}
    # What a killed apply leaves has all values, and waits for its type.
    if not before.volume_types and changed != {'volume_types'}:
        yield actions.Refusal(
            reason=f'a QoS spec {before.name} exists with other values, and '
            f'the volume type of the tier does not have it, so that '
            f"it may be somebody's",
            remedy=f'run "openstack volume qos delete {before.name}" when '
            f'nobody needs it',
            yields_to_consent=True,
        )


def _undeclared(
    tier: str, spec: cinder_state.QosSpec, retired: str
) -> actions.Action:
    return actions.Action(
        key=actions.Key(kind=actions.Kind.QOS_SPEC, name=spec.name),
        before=spec,
        after=None,
        why=f'tier {tier} has it, but the catalog does not declare it',
        refusal=actions.Refusal(
            reason='it would take the limits from the tier'
            + (
                f', and from volumes of {retired}, if that has them'
                if retired
                else ''
            ),
            remedy='declare qos again',
            yields_to_consent=True,
        ),
    )
