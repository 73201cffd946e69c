# SPDX-License-Identifier: Apache-2.0


"""Whether the projects of the catalog exist in Keystone.

Pure. Looked at before anything is planned.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors


def check(
    catalog: catalogs.Catalog,
    projects: collections.abc.Mapping[str, frozenset[str]],
) -> tuple[errors.Problem, ...]:
    """All projects that are none, or more than one.

    :param projects: {project as the catalog names it: ids that Keystone knows
        by it}.
    :returns: in the order of the file; empty when each is one project.
    """
    problems = []
    for tier in catalog.ours:
        for index, name in enumerate(tier.projects):
            ids = projects.get(name, frozenset())
            if len(ids) == 1:
                continue
            problems.append(
                errors.Problem(
                    where=catalog.source.where(
                        ('tiers', tier.name, 'access', index)
                    ),
                    found=(
                        (
                            f'{len(ids)} projects with the '
                            f'name {name!r}: {", ".join(sorted(ids))}'
                        )
                        if ids
                        else f'unknown project {name!r}'
                    ),
                    expected='the name or the ID of one Keystone project',
                    remedy='use the ID'
                    if ids
                    else 'fix it; see "openstack project list"',
                )
            )
    return tuple(problems)
