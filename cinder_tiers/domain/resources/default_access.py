# SPDX-License-Identifier: Apache-2.0

"""Default types that their projects may not use. Pure.

A project keeps its default type when it loses access to it. Cinder then
answers 404 to each create that would use the type (get_default_volume_type of
cinder/volume/volume_types.py).
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession

#: Requests that Cinder refuses to projects without access to their default
#: type.
REFUSED = 'each new volume of theirs for which nothing else names a type'
REMEDY = (
    'give them another default type ("cinder default-type-set TYPE PROJECT") '
    'or none ("cinder default-type-unset PROJECT")'
)


def without_access(
    one: cinder_state.VolumeType, projects: frozenset[str]
) -> frozenset[str]:
    """Return the projects that may not use a volume type.

    :param projects: ids of projects.
    """
    return frozenset() if one.is_public else projects - one.projects


def left_as_they_are(
    catalog: catalogs.Catalog,
    cinder: cinder_state.CinderState,
    projects: collections.abc.Mapping[str, frozenset[str]],
    name: str,
) -> frozenset[str]:
    """Return ids of the projects whose default type a plan leaves alone.

    Default types of tiers follow the file once it has `default_for`; a retired
    type loses the projects that the file gives to a tier.

    :param projects: {project in the catalog: ids of matching projects}.
    """
    found = cinder.project_defaults.get(name)
    if found is None:
        return frozenset()
    if not catalog.has_project_defaults:
        return found.default_for
    if type_succession.successor_of(name) is None:
        return frozenset()
    return found.default_for.difference(
        *(
            projects.get(project, ())
            for tier in catalog.ours
            for project in tier.default_for or ()
        )
    )
