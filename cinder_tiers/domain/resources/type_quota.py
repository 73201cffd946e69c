# SPDX-License-Identifier: Apache-2.0

"""The default quota of a tier's volume type.

It applies to each project without a quota of its own. Pure.
"""

import collections.abc
import dataclasses
import re
import types

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import safety
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference

#: Type name after the name of the resource
#: (cinder/api/validation/parameter_types.py, quota_class_set, 29.0.0).
_NAME_OF_QUOTA = re.compile('[a-zA-Z0-9-_:. ]+')
#: {quota: objects that cannot be created if it is 0}
_CLOSED = {
    'volumes': 'a volume',
    'size_gib': 'a volume or snapshot',
    'snapshots': 'a snapshot',
}
#: {quota: field of a volume type with the use of each project}
_USE: collections.abc.Mapping[str, str] = types.MappingProxyType(
    {
        'volumes': 'volumes_of',
        'size_gib': 'gib_of',
        'snapshots': 'snapshots_of',
    }
)
#: Maximum number of projects in a refusal.
_NAMED = 10


def type_quota_of(tier: catalogs.Tier) -> cinder_state.TypeQuota | None:
    """Return the default quota of a tier's type; None if none is declared."""
    if tier.quotas is None:
        return None
    return cinder_state.TypeQuota(
        name=tier.type_name,
        volumes=tier.quotas.volumes,
        size_gib=tier.quotas.size_gib,
        snapshots=tier.quotas.snapshots,
    )


def plan(
    catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> kinds.Actions:
    """Yield actions that set the default quotas of the catalog.

    The quota of a new type is unknown: Cinder keeps the quotas of a deleted
    type for the next type with its name.

    :returns: actions in the order of the file.
    """
    volume_types = actual.cinder.volume_types
    # A type with volumes gets a successor, which no project uses yet.
    unused = volume_type_kind.changing_extra_specs(
        catalog=catalog, volume_types=volume_types
    )
    for tier in catalog.ours:
        after = type_quota_of(tier)
        before = actual.cinder.quotas.get(tier.type_name)
        if after is None or (
            before is not None and not difference.differences(before, after)
        ):
            continue
        used = dict(
            exceeded(
                before,
                after,
                None if after.name in unused else volume_types.get(after.name),
            )
        )
        after = dataclasses.replace(
            after, exceeded_by=frozenset().union(*used.values())
        )
        type_key = actions.Key(
            kind=actions.Kind.VOLUME_TYPE, name=tier.type_name
        )
        yield actions.Action(
            key=actions.Key(kind=actions.Kind.TYPE_QUOTA, name=tier.type_name),
            before=before,
            after=after,
            why=f'tier {tier.name}',
            notes=('projects with their own quota keep it',),
            needs=frozenset({type_key}),
            completes=type_key,
            refusal=actions.joined(
                (
                    *safety.refusals(
                        text for _, text in closed(before, after)
                    ),
                    *(
                        actions.Refusal(
                            reason=_statement(field, after, projects),
                            remedy='declare as much as the projects have, or '
                            'give them quotas of their own with "openstack '
                            'quota set --volume-type"',
                            yields_to_consent=True,
                        )
                        for field, projects in used.items()
                    ),
                )
            ),
        )


def may_have_quota(type_name: str) -> bool:
    """Return whether Cinder accepts quotas of a type with this name."""
    return _NAME_OF_QUOTA.fullmatch(type_name) is not None


def check(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield quotas of types with names that Cinder's quotas cannot have."""
    for tier in catalog.tiers:
        if tier.quotas and not may_have_quota(tier.type_name):
            yield errors.Problem(
                where=catalog.source.where(('tiers', tier.name, 'quotas')),
                found=f'quotas of volume type {tier.type_name!r}',
                expected='a volume type with a name of letters, digits, '
                '"-", "_", ":", "." and spaces: Cinder accepts quotas of no '
                'other',
                remedy='remove quotas, or rename the volume type',
            )


def _taken_away(
    before: cinder_state.TypeQuota, after: cinder_state.TypeQuota
) -> collections.abc.Iterator[str]:
    for one in difference.differences(before, after):
        if one.after == cinder_state.UNLIMITED:
            yield f'limit {one.field}'


def closed(
    before: cinder_state.TypeQuota | None, after: cinder_state.TypeQuota
) -> collections.abc.Iterator[tuple[str, str]]:
    """Yield quotas of 0, which close the tier to each project.

    :param before: existing quotas; None if unknown: every 0 then counts.
    :param after: declared quotas.
    :returns: Cinder's name of each quota, and a clause with the reason.
    """
    for field, resource in cinder_state.QUOTA_RESOURCES.items():
        quota = getattr(after, field)
        if quota == 0 and (before is None or getattr(before, field) != 0):
            yield (
                resource,
                f'a quota of {resource} 0 closes the tier: no project '
                f'without a quota of its own could create {_CLOSED[field]}',
            )


def _lowered(
    before: cinder_state.TypeQuota | None, after: cinder_state.TypeQuota
) -> collections.abc.Iterator[str]:
    """Yields the fields whose quota is lowered, but not to 0."""
    for field in _USE if before else ():
        old, new = getattr(before, field), getattr(after, field)
        if new > 0 and (old == cinder_state.UNLIMITED or new < old):
            yield field


def exceeded(
    before: cinder_state.TypeQuota | None,
    after: cinder_state.TypeQuota,
    volume_type: cinder_state.VolumeType | None,
) -> collections.abc.Iterator[tuple[str, dict[str, int]]]:
    """Yield quotas that are lowered below what projects use.

    It is not known which of these projects have a quota of their own: Cinder
    has to be asked for each.

    :param before: existing quotas; None if unknown.
    :param after: declared quotas.
    :param volume_type: type with its use; None if no project uses it.
    :returns: field of each quota, and {id of a project: its use}.
    """
    if volume_type is None:
        return
    for field in _lowered(before, after):
        more = {
            project: count
            for project, count in getattr(volume_type, _USE[field]).items()
            if count > getattr(after, field)
        }
        if more:
            yield field, more


def _statement(
    field: str,
    after: cinder_state.TypeQuota,
    projects: collections.abc.Mapping[str, int],
) -> str:
    most = sorted(projects.items(), key=lambda one: (-one[1], one[0]))
    named = ', '.join(
        f'{count} of project {project}' for project, count in most[:_NAMED]
    )
    others = len(most) - _NAMED
    return (
        f'a quota of {cinder_state.QUOTA_RESOURCES[field]} '
        f'{getattr(after, field)} is below what projects have ({named}'
        + (f', and {others} other projects' if others > 0 else '')
        + f'): without a quota of their own they could not create '
        f'{_CLOSED[field]} any more'
    )


def types_whose_usage_matters(
    catalog: catalogs.Catalog, cinder: cinder_state.CinderState
) -> frozenset[str]:
    """Return types with a quota that is lowered, but not to 0."""
    return frozenset(
        after.name
        for tier in catalog.ours
        if (after := type_quota_of(tier)) is not None
        and after.name in cinder.volume_types
        and any(_lowered(cinder.quotas.get(after.name), after))
    )


TYPE_QUOTA = kinds.ResourceKind(
    kind=actions.Kind.TYPE_QUOTA,
    resource=cinder_state.TypeQuota,
    state_field='quotas',
    plan=plan,
    check=check,
    tiers_affected=kinds.tiers_of_that_name,
    types_whose_usage_matters=types_whose_usage_matters,
    taken_away=_taken_away,
)
