# SPDX-License-Identifier: Apache-2.0

"""Projects whose default type is the volume type of a tier.

Cinder uses a default type if neither the request nor the image names a type
(`cinder default-type-set`, since API version 3.62). A project has one default
type at most. Cinder stores no ownership marker with it, so a default type is
managed if the volume type is; as soon as one tier has `default_for`, the file
decides for all tiers. Pure.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import identifier
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import volume_type
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession

_Ids = collections.abc.Mapping[str, frozenset[str]]


def plan(
    catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> kinds.Actions:
    """Yield actions that set the default types of the catalog.

    :returns: actions in the order of the file, then those that unset managed
        volume types which the catalog does not have: Cinder refuses to delete
        a volume type that is a default type. Projects of a retired type get
        only the tier that claims them.
    """
    cinder = actual.cinder
    wanted = _wanted(catalog, actual.projects)
    claims = {
        project: name
        for name, projects in wanted.items()
        for project in projects
    }
    for tier in catalog.ours:
        if not catalog.has_project_defaults:
            break
        yield from _action(
            tier.type_name,
            wanted[tier.type_name],
            cinder,
            claims,
            why=f'tier {tier.name}',
            # The file did not create the defaults of a type that is taken
            # over.
            is_declared=tier.default_for is not None
            and _is_ours(cinder, tier.type_name),
        )
    gone = set(volume_type.undeclared(catalog, cinder.volume_types))
    for name, found in cinder.project_defaults.items():
        if name in gone:
            yield from _action(
                name,
                frozenset(),
                cinder,
                {**_given_back(catalog, cinder, found), **claims},
                why='its volume type is not in the tiers file',
                # The deletion of the type already needs consent.
                is_declared=True,
            )
        elif (
            catalog.has_project_defaults
            and _is_ours(cinder, name)
            and (successor := type_succession.successor_of(name)) is not None
        ):
            yield from _action(
                name,
                found.default_for.difference(claims),
                cinder,
                claims,
                why=f'retired type of {successor}',
                is_declared=True,
            )


def _given_back(
    catalog: catalogs.Catalog,
    cinder: cinder_state.CinderState,
    found: cinder_state.ProjectDefaults,
) -> dict[str, str]:
    """Return {id of a project: the type that it gets back}.

    An interrupted apply gives projects the new type of a tier before that has
    its final name. If the file is then reverted, the old type stays.
    """
    owner = type_succession.owner_of(found.name)
    may_have = owner in catalog.follow_image_types or any(
        tier.type_name == owner and tier.default_for is None
        for tier in catalog.ours
    )
    is_of_others = owner in cinder.volume_types and not _is_ours(cinder, owner)
    if owner == found.name or not may_have or is_of_others:
        return {}
    return dict.fromkeys(found.default_for, owner)


def _wanted(
    catalog: catalogs.Catalog, projects: _Ids
) -> dict[str, frozenset[str]]:
    """Return {name of a volume type: ids of projects that should have it}."""
    return {
        tier.type_name: frozenset().union(
            *(projects[name] for name in tier.default_projects)
        )
        for tier in catalog.ours
    }


def _is_ours(cinder: cinder_state.CinderState, name: str) -> bool:
    found = cinder.volume_types.get(name)
    return found is not None and found.is_ours


def _action(
    name: str,
    wanted: frozenset[str],
    cinder: cinder_state.CinderState,
    claims: collections.abc.Mapping[str, str],
    *,
    why: str,
    is_declared: bool,
) -> collections.abc.Iterator[actions.Action]:
    """Yield the action that changes the projects of one default type, if any.

    :param name: name of the volume type.
    :param wanted: ids of the projects that should have it as default type.
    :param claims: {id of a project: name of its declared default type}, of all
        tiers.
    :param is_declared: whether the tier has `default_for`, so that unsetting
        the default type of other projects needs no consent.
    """
    before = cinder.project_defaults.get(name)
    had = before.default_for if before else frozenset()
    if wanted == had:
        return
    current = {
        project: one.name
        for one in cinder.project_defaults.values()
        for project in one.default_for
    }
    replaces = {
        project: current[project]
        for project in sorted(wanted - had)
        if project in current and not _is_ours(cinder, current[project])
    }
    replaced_by = {
        project: claims[project]
        for project in sorted(had - wanted)
        if project in claims
    }
    left = sorted(had - wanted - replaced_by.keys())
    yield actions.Action(
        key=actions.Key(kind=actions.Kind.PROJECT_DEFAULTS, name=name),
        before=before,
        after=cinder_state.ProjectDefaults(
            name=name,
            default_for=wanted,
            replaces=replaces,
            kept_unless_allowed=frozenset(() if is_declared else left),
            replaced_by=replaced_by,
        ),
        why=why,
        notes=tuple(_notes(name, wanted - had, replaced_by, left)),
        needs=frozenset(
            {
                *((_type(name),) if wanted - had else ()),
                *map(_type, replaced_by.values()),
            }
        ),
        refusal=actions.joined(
            _refusals(replaces, () if is_declared else left)
        ),
    )


def _type(name: str) -> actions.Key:
    return actions.Key(kind=actions.Kind.VOLUME_TYPE, name=name)


def _notes(
    name: str,
    gained: collections.abc.Collection[str],
    replaced_by: collections.abc.Mapping[str, str],
    left: collections.abc.Collection[str],
) -> collections.abc.Iterator[str]:
    if gained:
        yield (
            f'volumes of projects that get it have volume type {name} if '
            'neither the request nor the image names one, whatever the tags '
            'of the image'
        )
    for other in sorted(set(replaced_by.values())):
        projects = sorted(
            project for project, next_ in replaced_by.items() if next_ == other
        )
        yield f'{other} becomes the default type of {", ".join(projects)}'
    if left:
        yield (
            'projects that lose it without another one get '
            'default_volume_type of cinder.conf'
        )


def _refusals(
    replaces: collections.abc.Mapping[str, str],
    left: collections.abc.Collection[str],
) -> collections.abc.Iterator[actions.Refusal]:
    if replaces:
        pairs = ', '.join(
            f'{project} ("{name}")' for project, name in replaces.items()
        )
        yield actions.Refusal(
            reason='it would replace default types without the ownership '
            f'marker, of projects: {pairs}',
            remedy='remove the projects from default_for',
            yields_to_consent=True,
        )
    if left:
        yield actions.Refusal(
            reason='it would unset the default type of projects: '
            f'{", ".join(left)}',
            remedy='list those that still exist under default_for of the tier',
            yields_to_consent=True,
        )


def check(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield projects of two tiers, and those without access to their tier.

    This uses only the file: `validation.projects` checks with the ids of
    Keystone whether a name and an id are the same project.
    """
    seen: dict[str, catalogs.Tier] = {}
    for tier in catalog.tiers:
        for index, project in enumerate(tier.default_projects):
            other = seen.setdefault(project, tier)
            if other is not tier:
                yield claimed_twice(catalog, tier, index, other, project)
            if (
                not tier.is_public
                and project not in tier.projects
                and not _may_be_one_of(project, tier.projects)
            ):
                yield without_access(catalog, tier, index)


def _may_be_one_of(
    project: str, others: collections.abc.Iterable[str]
) -> bool:
    """Return whether others may list the project by name instead of id.

    Or by id instead of name.
    """
    is_id = identifier.is_id(project)
    return any(identifier.is_id(one) is not is_id for one in others)


def claimed_twice(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    index: int,
    other: catalogs.Tier,
    as_other: str,
) -> errors.Problem:
    """Return the problem of a project under `default_for` of two tiers.

    :param tier: later tier in the file.
    :param index: index of the project in its `default_for`.
    :param as_other: project as written in `default_for` of the earlier tier.
    """
    first = catalog.source.where(
        (
            'tiers',
            other.name,
            'default_for',
            other.default_projects.index(as_other),
        )
    )
    return errors.Problem(
        where=catalog.source.where(('tiers', tier.name, 'default_for', index)),
        found=f'default_for of tier {tier.name!r} has project '
        f'{tier.default_projects[index]!r}, which tier {other.name!r} has as '
        f'well ({first})',
        expected='each project under default_for of one tier: it has one '
        'default type',
        remedy='remove it from one of them',
    )


def without_access(
    catalog: catalogs.Catalog, tier: catalogs.Tier, index: int
) -> errors.Problem:
    """Return the problem of a project without access to its default type.

    :param index: index of the project in `default_for` of the tier.
    """
    access = catalog.source.where(('tiers', tier.name, 'access'))
    return errors.Problem(
        where=catalog.source.where(('tiers', tier.name, 'default_for', index)),
        found=f'default_for of tier {tier.name!r} has project '
        f'{tier.default_projects[index]!r}, which is not under access '
        f'({access})',
        expected='projects that may use the tier: Cinder would refuse each '
        'create of another one that names no type',
        remedy='add it to access, or remove it from default_for',
    )


def _taken_away(
    before: cinder_state.ProjectDefaults, after: cinder_state.ProjectDefaults
) -> collections.abc.Iterator[str]:
    count = len(before.default_for - after.default_for)
    if count:
        yield f'default type of {count} project{"" if count == 1 else "s"}'


PROJECT_DEFAULTS = kinds.ResourceKind(
    kind=actions.Kind.PROJECT_DEFAULTS,
    resource=cinder_state.ProjectDefaults,
    state_field='project_defaults',
    plan=plan,
    check=check,
    tiers_affected=kinds.tiers_of_that_name,
    taken_away=_taken_away,
)
