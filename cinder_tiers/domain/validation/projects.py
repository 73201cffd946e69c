# SPDX-License-Identifier: Apache-2.0


"""Check that the projects of a catalog exist in Keystone.

Pure. It runs before anything is planned.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import project_defaults

_Ids = collections.abc.Mapping[str, frozenset[str]]


def check(
    catalog: catalogs.Catalog, projects: _Ids
) -> tuple[errors.Problem, ...]:
    """Return projects that are unknown, ambiguous or claimed wrongly.

    :param projects: {project in the catalog: ids that Keystone has for it}.
    :returns: problems in the order of the file; empty if each is one project.
    """
    return tuple(
        problem
        for tier in catalog.ours
        for problem in (
            *access(catalog, tier, projects),
            *default_for(catalog, tier, projects),
        )
    )


def access(
    catalog: catalogs.Catalog, tier: catalogs.Tier, projects: _Ids
) -> tuple[errors.Problem, ...]:
    """Return the problems of the projects under `access` of a tier.

    :param projects: see `check`.
    """
    return tuple(_unclear(catalog, tier, 'access', tier.projects, projects))


def default_for(
    catalog: catalogs.Catalog, tier: catalogs.Tier, projects: _Ids
) -> tuple[errors.Problem, ...]:
    """Return the problems of the projects under `default_for` of a tier.

    Problems that show without the ids are a rule of the file already.

    :param projects: see `check`.
    """
    names = tier.default_projects
    problems = list(_unclear(catalog, tier, 'default_for', names, projects))
    allowed = frozenset().union(
        *(projects.get(name, frozenset()) for name in tier.projects)
    )
    claims: dict[str, tuple[catalogs.Tier, str]] = {}
    for other in catalog.ours:
        if other.name == tier.name:
            break
        for name in other.default_projects:
            for ident in projects.get(name, ()):
                claims.setdefault(ident, (other, name))
    for index, name in enumerate(names):
        ids = projects.get(name, frozenset())
        if len(ids) != 1:
            continue
        (ident,) = ids
        if ident in claims:
            problems.append(
                project_defaults.claimed_twice(
                    catalog, tier, index, *claims[ident]
                )
            )
        if not tier.is_public and ident not in allowed:
            problems.append(
                project_defaults.without_access(catalog, tier, index)
            )
    return tuple(problems)


def _unclear(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    key: str,
    names: collections.abc.Iterable[str],
    projects: _Ids,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield projects under a key of a tier that are unknown or ambiguous."""
    for index, name in enumerate(names):
        ids = projects.get(name, frozenset())
        if len(ids) == 1:
            continue
        yield errors.Problem(
            where=catalog.source.where(('tiers', tier.name, key, index)),
            found=f'{len(ids)} projects with the name {name!r}: '
            f'{", ".join(sorted(ids))}'
            if ids
            else f'unknown project {name!r}',
            expected='the name or the ID of one Keystone project',
            remedy='use the ID'
            if ids
            else 'fix it; see "openstack project list"',
        )
