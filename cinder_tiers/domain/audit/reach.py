# SPDX-License-Identifier: Apache-2.0

"""Volume types that reach the storage of tiers, and their projects.

A tier is defined by its volume type: limits, quota, encryption and access do
not belong to a pool. Each type that leads to the backends of a tier without
being a tier bypasses all of that. Pure. Must not know the effect of a finding
on an exit status.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.placement import reach
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state

#: Aspects: a volume type that only claims to be a tier, a public type that
#: bypasses the tiers, and projects that reach backends of private tiers.
NO_TIER = 'tier'
BESIDE = 'other volume types'
PRIVATE = 'reach'
_ALL = 'all projects'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Way:
    """A volume type that bypasses the types of tiers, or is left out."""

    #: Name of the type.
    name: str
    aspect: str
    current: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )
    expected: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )
    reason: str
    remedy: str = ''


def find_left_out(
    cinder: cinder_state.CinderState,
) -> collections.abc.Iterator[Way]:
    """Yield each managed type that middleware and filter leave out."""
    for one in _read(cinder).left_out:
        yield Way(
            name=one.name,
            aspect=NO_TIER,
            current={NO_TIER: 'none'},
            expected={NO_TIER: one.mark or ''},
            reason=f'it is left out of the tiers: {one.problem}',
        )


def find(
    catalog: catalogs.Catalog,
    cinder: cinder_state.CinderState,
    backends: tuple[backends_of_cinder.Backend, ...] | None,
) -> collections.abc.Iterator[Way]:
    """Yield each type that leads to backends of a tier without being one.

    :param catalog: catalog whose tiers may have types without the mark of a
        tier.
    :param backends: backends that report to Cinder's scheduler; None if
        unknown.
    :returns: ways in the order of the names of types. A public type is one
        Way. A type that reaches backends of private tiers is one Way with
        these backends and its projects.
    """
    types = {
        name: reach.Type(
            name=name,
            extra_specs=one.extra_specs,
            projects=None if one.is_public else one.projects,
        )
        for name, one in cinder.volume_types.items()
    }
    tiers = {
        tier: types[one.name] for tier, one in _read(cinder).types.items()
    }
    declared = {tier.type_name for tier in catalog.tiers if not tier.take_over}
    for one in reach.find(
        (one for one in types.values() if one.name not in declared),
        tiers,
        backends,
    ):
        if one.volume_type.projects is None:
            yield Way(
                name=one.volume_type.name,
                aspect=BESIDE,
                current={
                    f'tier {tier}': f'without {_given(tiers[tier], cinder)}'
                    for tier in one.tiers
                },
                reason=one.reason,
                remedy=one.remedy,
            )
        yield from _private(one, tiers)


def _private(
    one: reach.Reach, tiers: collections.abc.Mapping[str, reach.Type]
) -> collections.abc.Iterator[Way]:
    """Yield the backends of private tiers that a type opens to others."""
    projects = one.volume_type.projects
    current, expected = {}, {}
    for tier, several in one.tiers.items():
        entitled = tiers[tier].projects
        if entitled is None or projects is not None and projects <= entitled:
            continue
        for backend in several:
            key = f'backend {backend}'
            current[key] = _listed(projects)
            expected[key] = f'{_listed(entitled)} (tier {tier})'
    if current:
        yield Way(
            name=one.volume_type.name,
            aspect=PRIVATE,
            current=current,
            expected=expected,
            reason=f'volume type {one.volume_type.name!r} names backends that '
            'serve a private tier, and opens them to projects that may not '
            'use the tier',
            remedy=one.remedy,
        )


def _listed(projects: frozenset[str] | None) -> str:
    if projects is None:
        return _ALL
    return f'projects {spelling.listed(projects)}'


def _given(tier: reach.Type, cinder: cinder_state.CinderState) -> str:
    """Describe the properties that volumes get only from the tier's type."""
    spec = next(
        (
            one
            for one in cinder.qos_specs.values()
            if tier.name in one.volume_types
        ),
        None,
    )
    parts = []
    if spec is not None:
        limits = ', '.join(
            f'{key}={value}' for key, value in sorted(spec.specs.items())
        )
        parts.append(f'QoS ({limits})')
    unlimited = cinder_state.TypeQuota(name=tier.name)
    if cinder.quotas.get(tier.name, unlimited) != unlimited:
        parts.append('quota')
    if tier.name in cinder.encryptions:
        parts.append('encryption')
    if tier.projects is not None:
        parts.append('access')
    return ', '.join(parts) or 'the type of the tier'


def _read(cinder: cinder_state.CinderState) -> tier_specs.ReadTiers:
    return tier_specs.read_tiers(
        tier_specs.read_type(
            one.extra_specs,
            type_id=name,
            name=name,
            projects=None if one.is_public else one.projects,
            description=one.description,
        )
        for name, one in cinder.volume_types.items()
    )
