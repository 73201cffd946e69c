# SPDX-License-Identifier: Apache-2.0

"""Keeps projects off the backends of private tiers where no tier was chosen.

A type that follows the image names no backend, so that to Cinder every
backend will do. Must not know why no tier was chosen.
"""

from cinder_tiers.doors import placement_request
from cinder_tiers.doors.volume_types import applied
from cinder_tiers.doors.volume_types import matching


def keep_permitted(
    backends: list,
    asked: placement_request.PlacementRequest,
    state: applied.AppliedState,
    *,
    is_unbound: bool = False,
) -> list:
    """The backends that do not serve only tiers closed to a project.

    A backend that serves no tier is for all; so is one that serves, beside a
    private tier, another tier that the project may use. The backends of a
    tier that was retired or cannot be read count as well.

    A type that names no backend asks for no tier. With it a project would
    have volumes on its private tier that are not of its type, and could give
    them to any other project: to members all private tiers are closed.

    :param backends: BackendState objects of Cinder's scheduler.
    :param asked: the request.
    :param state: the applied tiers.
    :param is_unbound: whether the type of the volume names no backend, and
        does not follow the image.
    """
    if asked.context.is_admin and not asked.moves:
        return backends
    closed: set[int] = set()
    opened: set[int] = set()
    for volume_type in state.marked:
        matcher = matching.matcher_of(volume_type.extra_specs)
        # One that names no backend claims none.
        if not matcher.names_capabilities:
            continue
        is_open = volume_type.projects is None or (
            asked.project in volume_type.projects
            and (asked.context.is_admin or not is_unbound)
        )
        try:
            served = matcher.keep(backends)
        # With extra specs that Cinder cannot match no volume is ever made.
        except Exception:  # noqa: BLE001, S112
            continue
        (opened if is_open else closed).update(map(id, served))
    closed -= opened
    return [backend for backend in backends if id(backend) not in closed]


def may_retype(
    retype: placement_request.Retype, state: applied.AppliedState
) -> bool:
    """Whether a volume may get the private type of a tier.

    :param retype: the request.
    :param state: the applied tiers.
    """
    return all(
        retype.project in (volume_type.projects or ())
        for volume_type in state.marked
        if volume_type.type_id == retype.type_id
        and volume_type.projects is not None
    )
