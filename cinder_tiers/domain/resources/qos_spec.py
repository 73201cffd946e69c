# SPDX-License-Identifier: Apache-2.0

"""QoS specs: the rules between limits, the wanted specs, and the plan.

Pure. A QoS spec has no place for a marker: each key goes to the hypervisor or
to the storage driver, and some drivers refuse unknown keys
(cinder/volume/drivers/netapp/utils.py). So a QoS spec is managed if it has the
name for a tier and no other volume type than the tier's uses it.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import limits_by_size
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import qos_limits
from cinder_tiers.domain.resources import safety
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import type_succession

#: What Cinder's RBD driver does with limits by size, and the remedy.
PASSED_OVER = (
    "with Cinder's RBD driver volumes are created, and grow, without these "
    'limits, until "openstack tier repair --kind limits" sets them'
)
REMEDY_BY_SIZE = (
    f'add {limits_by_size.CAPABILITY}: {cinder_state.TRUE!r} to extra_specs, '
    'with which Cinder uses no other driver; or declare plain limits'
)
#: Keys in addition to limits in Cinder's table of QoS specs
#: (cinder/db/api.py).
_KEYS_OF_CINDER = ('consumer', 'QoS_Specs_Name')

#: {consumer: volumes that a change does not reach}.
_KEEPS = {
    'front-end': (
        'attached volumes keep their limits until they are attached again'
    ),
    'back-end': 'existing volumes keep their limits until they are retyped',
    'both': (
        'existing volumes keep their limits until they are retyped and '
        'attached again'
    ),
}


def plan(
    catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> kinds.Actions:
    """Yield actions that set the QoS specs of the catalog.

    :returns: actions for tiers in the order of the file, then for managed QoS
        specs that the catalog does not have.
    """
    cinder = actual.cinder
    for tier in catalog.ours:
        wanted = qos_spec_of(tier)
        if wanted is not None:
            yield from _action(tier, cinder, wanted)
    declared = {
        tier.type_name
        for tier in catalog.tiers
        if tier.qos or not tier.take_over
    }
    for name, volume_type in cinder.volume_types.items():
        # Otherwise it would be managed as soon as its type is taken over.
        declaring = catalog.tier_of_type(name)
        of_tier = volume_type.extra_specs.get(cinder_state.NAME) or (
            declaring.name if declaring else ''
        )
        spec = cinder.qos_specs.get(qos_spec_name(of_tier))
        if (
            of_tier
            and spec
            and name not in declared
            and spec.volume_types == {name}
        ):
            yield _undeclared(of_tier, spec, _retired(name, cinder))


def _retired(type_name: str, cinder: cinder_state.CinderState) -> str:
    """Return the retired types of a tier, which may have its QoS spec.

    :param type_name: name of the volume type of the tier.
    :returns: names, separated by commas; '' for none.
    """
    return ', '.join(
        sorted(
            name
            for name in cinder.volume_types
            if type_succession.successor_of(name) == type_name
        )
    )


def _action(
    tier: catalogs.Tier,
    cinder: cinder_state.CinderState,
    wanted: cinder_state.QosSpec,
) -> collections.abc.Iterator[actions.Action]:
    before = cinder.qos_specs.get(wanted.name)
    notes: list[str] = []
    after = wanted
    if before is not None:
        after = dataclasses.replace(
            wanted, volume_types=before.volume_types | wanted.volume_types
        )
        if not difference.differences(before, after):
            return
        notes.append(_KEEPS[wanted.consumer])
        retired = _retired(tier.type_name, cinder)
        if retired:
            notes.append(
                f'it also applies to volumes of {retired}, if that type has it'
            )
    replaced = frozenset(
        other.name
        for other in cinder.qos_specs.values()
        if other.name != wanted.name and tier.type_name in other.volume_types
    )
    if replaced:
        after = cinder_state.ReplacingQosSpec(**vars(after), replaces=replaced)
    type_key = actions.Key(kind=actions.Kind.VOLUME_TYPE, name=tier.type_name)
    yield actions.Action(
        key=actions.Key(kind=actions.Kind.QOS_SPEC, name=wanted.name),
        before=before,
        after=after,
        why=f'tier {tier.name}',
        notes=tuple(notes),
        needs=frozenset({type_key}),
        completes=type_key,
        refusal=actions.joined(
            _refusals(
                tier.type_name,
                before,
                after,
                volume_type=cinder.volume_types.get(tier.type_name),
            )
        ),
    )


def _refusals(
    type_name: str,
    before: cinder_state.QosSpec | None,
    after: cinder_state.QosSpec,
    *,
    volume_type: cinder_state.VolumeType | None,
) -> collections.abc.Iterator[actions.Refusal]:
    for other in sorted(cinder_state.ReplacingQosSpec.names_in(after)):
        yield actions.Refusal(
            reason=(
                f'volume type {type_name} has the QoS spec {other}, which '
                'is not managed, and can have only one'
            ),
            remedy=f'declare "name: {other}" under qos to take it over, or '
            'remove qos from the tier',
            yields_to_consent=True,
        )
    if before is None or (before.specs, before.consumer) != (
        after.specs,
        after.consumer,
    ):
        yield from safety.refusals(
            text for *_, text in safety.of_limits(after.specs)
        )
    if before is None:
        return
    others = sorted(before.volume_types - {type_name})
    if others:
        yield actions.Refusal(
            reason=(
                'other volume types also have the QoS '
                f'spec: {", ".join(others)}'
            ),
            remedy='give them another QoS spec, or remove qos from the tier',
        )
    if before.volume_types and volume_type and not volume_type.is_ours:
        yield actions.Refusal(
            reason=(
                f'the QoS spec {before.name} belongs to a volume type without '
                'the ownership marker'
            ),
            remedy='use another name for the tier',
            yields_to_consent=True,
        )
    changed = {one.field for one in difference.differences(before, after)}
    # A spec of an interrupted apply has all values, and waits for its type.
    if not before.volume_types and changed != {'volume_types'}:
        yield actions.Refusal(
            reason=(
                f'a QoS spec {before.name} exists with other values, and the '
                'volume type of the tier does not have it, so it may belong '
                'to someone else'
            ),
            remedy=(
                f'run "openstack volume qos delete {before.name}" if it is '
                'not needed'
            ),
            yields_to_consent=True,
        )


def _undeclared(
    tier: str, spec: cinder_state.QosSpec, retired: str
) -> actions.Action:
    return actions.Action(
        key=actions.Key(kind=actions.Kind.QOS_SPEC, name=spec.name),
        before=spec,
        after=None,
        why=f'tier {tier} has it, but the tiers file does not declare it',
        refusal=actions.Refusal(
            reason='it would remove the limits of the tier'
            + (
                f', and of volumes of {retired}, if that type has them'
                if retired
                else ''
            ),
            remedy='declare qos again',
            yields_to_consent=True,
        ),
    )


def qos_spec_of(tier: catalogs.Tier) -> cinder_state.QosSpec | None:
    """Return the QoS spec of a tier; None without limits."""
    if tier.qos is None:
        return None
    return cinder_state.QosSpec(
        name=tier.qos_spec_name,
        consumer=tier.qos.consumer,
        specs=tier.qos.specs,
        volume_types=frozenset({tier.type_name}),
    )


def qos_spec_name(tier: str) -> str:
    """Return the default name of the QoS spec of a tier.

    >>> qos_spec_name('database')
    'tier-database'
    """
    return f'tier-{tier}'


def check(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield limits that Cinder, the hypervisor or librbd would refuse."""
    owners: dict[str, str] = {}
    for tier in catalog.tiers:
        qos = tier.qos
        if qos is None:
            continue
        path = ('tiers', tier.name, 'qos')
        other = owners.setdefault(
            cinder_state.as_databases_compare(tier.qos_spec_name), tier.name
        )
        if other != tier.name:
            yield errors.Problem(
                where=catalog.source.where((*path, 'name')),
                found=f'QoS spec {tier.qos_spec_name!r} of tier '
                f'{tier.name!r}, which tier {other!r} has',
                expected='a QoS spec of its own for each tier',
                remedy='use another name',
            )
        if not qos.specs:
            yield errors.Problem(
                where=catalog.source.where(path),
                found=f'qos of tier {tier.name!r} without limits',
                expected='front_end, back_end or both',
                remedy='add limits, or remove qos',
            )
        if qos.front_end and qos.back_end and qos.front_end != qos.back_end:
            yield errors.Problem(
                where=catalog.source.where((*path, 'back_end')),
                found=(
                    f'tier {tier.name!r} has different values in front_end '
                    'and back_end'
                ),
                expected=(
                    'one of them, or the same keys and values in both: '
                    'Cinder allows one QoS spec for a volume type and gives '
                    'all of it to each consumer'
                ),
                remedy='remove one of them, or make them equal',
            )
        faults = {
            fault.key: ('front_end', fault)
            for fault in qos_limits.faults_of_hypervisor(qos.front_end or {})
        }
        if tier.rbd is not None:
            for fault in qos_limits.faults_of_rbd(qos.back_end or {}):
                faults.setdefault(fault.key, ('back_end', fault))
        for consumer, fault in faults.values():
            yield errors.Problem(
                where=catalog.source.where((*path, consumer, fault.key)),
                found=fault.found,
                expected=fault.expected,
                remedy=fault.remedy,
            )
        for consumer in ('front_end', 'back_end'):
            yield from _spellings(
                catalog, (*path, consumer), getattr(qos, consumer) or {}
            )


def misspelled(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield limits with a name similar to a known one, which limit nothing.

    Nova and Cinder's RBD driver ignore unknown limits. They are not problems
    of the file: other hypervisors have other names, and an existing QoS spec
    is exported unchanged.
    """
    for tier in catalog.tiers:
        qos = tier.qos or catalogs.Qos()
        for name in qos.front_end or {}:
            meant = spelling.did_you_mean(name, qos_limits.LIBVIRT)
            if name not in qos_limits.LIBVIRT and meant:
                yield errors.Problem(
                    where=catalog.source.where(
                        ('tiers', tier.name, 'qos', 'front_end', name)
                    ),
                    found=f'the limit {name!r}, which Nova does not pass to '
                    'libvirt',
                    expected='a limit of libvirt',
                    remedy=f'{meant}fix it, unless your hypervisor knows it',
                )
        if tier.rbd is None or qos.front_end:
            continue
        for name in qos.back_end or {}:
            if name not in qos_limits.RBD_BY_SIZE:
                meant = spelling.did_you_mean(name, qos_limits.RBD_BY_SIZE)
                yield errors.Problem(
                    where=catalog.source.where(
                        ('tiers', tier.name, 'qos', 'back_end', name)
                    ),
                    found=f"the limit {name!r}, which Cinder's RBD driver "
                    'does not pass to librbd',
                    expected="a limit of Cinder's RBD driver",
                    remedy=(
                        'move it to front_end'
                        if name in qos_limits.LIBVIRT
                        else f'{meant}fix it, or remove it'
                    ),
                )


def by_size(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield limits by size of images, which not all drivers set.

    cinder.conf determines the driver of a tier. There is no warning for a tier
    with an extra spec that requires the capability.
    """
    for tier in catalog.tiers:
        of_gib = limits_by_size_of(tier)
        if (
            of_gib
            and tier.extra_specs.get(limits_by_size.CAPABILITY)
            != cinder_state.TRUE
        ):
            yield errors.Problem(
                where=catalog.source.where(
                    ('tiers', tier.name, 'qos', 'back_end', of_gib[0])
                ),
                found=f'{spelling.listed(of_gib)} under back_end of tier '
                f'{tier.name!r}',
                expected='the driver TieredRBDDriver (openstack tier '
                f'backend-config --driver tiered): {PASSED_OVER}',
                remedy=REMEDY_BY_SIZE,
            )


def limits_by_size_of(tier: catalogs.Tier) -> tuple[str, ...]:
    """Return keys of limits by size that only the driver could set."""
    qos = tier.qos
    if tier.rbd is None or qos is None or qos.front_end:
        return ()
    return tuple(
        key for key in qos.back_end or {} if limits_by_size.are_in([key])
    )


def of_servers(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield limits that do not change while a volume is attached."""
    for tier in catalog.tiers:
        if tier.qos is not None and tier.qos.front_end:
            yield errors.Problem(
                where=catalog.source.where(
                    ('tiers', tier.name, 'qos', 'front_end')
                ),
                found=f'tier {tier.name!r} has limits under front_end: Nova '
                'keeps them as they were when a volume was attached, '
                '"openstack tier repair" cannot set them, and Cinder gives '
                'an attached volume no type with others',
                expected='limits under back_end only, which change while '
                'servers run',
                remedy='move them to back_end'
                if tier.rbd is not None
                else 'move them to back_end, if the driver of the tier has '
                'such limits',
            )


def _spellings(
    catalog: catalogs.Catalog,
    path: catalogs.Path,
    specs: collections.abc.Mapping[str, str],
) -> kinds.Problems:
    seen = {
        cinder_state.as_databases_compare(name): f'{name!r} is a key of Cinder'
        for name in _KEYS_OF_CINDER
    }
    for key in specs:
        text = f'{key!r} exists'
        other = seen.setdefault(cinder_state.as_databases_compare(key), text)
        if other != text:
            yield errors.Problem(
                where=catalog.source.where((*path, key)),
                found=f'the limit {key!r}, but {other}',
                expected='each key once (the database ignores case)',
                remedy='remove it',
            )


def _taken_away(
    before: cinder_state.QosSpec, after: cinder_state.QosSpec
) -> collections.abc.Iterator[str]:
    for name in sorted(before.specs.keys() - after.specs.keys()):
        yield f'limit {name}'


def _tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    return tuple(
        tier.name
        for tier in catalog.tiers
        if tier.qos_spec_name == action.key.name
    )


QOS_SPEC = kinds.ResourceKind(
    kind=actions.Kind.QOS_SPEC,
    resource=cinder_state.QosSpec,
    state_field='qos_specs',
    plan=plan,
    tiers_affected=_tiers_affected,
    check=check,
    taken_away=_taken_away,
)
