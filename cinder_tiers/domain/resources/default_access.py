# SPDX-License-Identifier: Apache-2.0

"""Default types of projects that these may not use. Pure.

A project keeps its default type when it loses access to it. Cinder answers
404 to each create then that would get that type (get_default_volume_type of
cinder/volume/volume_types.py).
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession

#: What Cinder refuses to projects without access to their default type.
REFUSED = 'each new volume of theirs for which nothing else names a type'
REMEDY = (
    'give them another default type ("cinder default-type-set TYPE PROJECT") '
    'or none ("cinder default-type-unset PROJECT")'
)


def without_access(
    one: cinder_state.VolumeType, projects: frozenset[str]
) -> frozenset[str]:
    """Those of some projects that may not use a volume type.

    :param projects: their ids.
    """
    return frozenset() if one.is_public else projects - one.projects


def left_as_they_are(
    catalog: catalogs.Catalog,
    cinder: cinder_state.CinderState,
    projects: collections.abc.Mapping[str, frozenset[str]],
    name: str,
) -> frozenset[str]:
    """Ids of the projects whose default type a plan lets be.

    Those of tiers follow the file as soon as it has `default_for`, and a type
    that is retired loses those that the file gives to a tier.

    :param projects: {project as the catalog names it: ids that are meant}.
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
