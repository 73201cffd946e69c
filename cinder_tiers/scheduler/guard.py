# SPDX-License-Identifier: Apache-2.0

"""Keeps projects off the backends of private tiers where no tier was chosen.

A type that follows the image names no backend, so that to Cinder every
backend will do. Must not know why no tier was chosen.
"""

import collections.abc

from cinder_tiers.domain.placement import private_backends
from cinder_tiers.doors import placement_request
from cinder_tiers.doors.volume_types import applied
from cinder_tiers.doors.volume_types import matching
from cinder_tiers.doors.volume_types import named_types


def keep_permitted(
    backends: list,
    asked: placement_request.PlacementRequest,
    state: applied.AppliedState,
    *,
    is_unbound: bool = False,
    type_id: str | None = None,
) -> list:
    """Drop the backends that serve only tiers closed to the project.

    :param backends: BackendState objects of Cinder's scheduler.
    :param is_unbound: True if the volume type names no backend and does not
        follow the image.
    :param type_id: id of the volume type.
    """
    if asked.context.is_admin and not asked.moves:
        return backends
    closed = private_backends.closed_to(
        asked.project,
        _claims(backends, state, type_id),
        is_admin=asked.context.is_admin,
        is_unbound=is_unbound,
    )
    return [backend for backend in backends if id(backend) not in closed]


def _claims(
    backends: list, state: applied.AppliedState, type_id: str | None
) -> collections.abc.Iterator[private_backends.BackendClaim[int]]:
    """Yield the backends that each marked type claims, by object id."""
    for volume_type in state.marked:
        if not private_backends.claims_backends(volume_type.extra_specs):
            continue
        matcher = matching.matcher_of(volume_type.extra_specs)
        try:
            served = matcher.keep(backends)
        # With extra specs that Cinder cannot match no volume is ever made.
        except Exception:  # noqa: BLE001, S112
            continue
        yield private_backends.BackendClaim(
            extra_specs=volume_type.extra_specs,
            projects=volume_type.projects,
            backends=frozenset(map(id, served)),
            is_own=volume_type.type_id == type_id,
        )


def may_retype(
    retype: placement_request.Retype, state: applied.AppliedState
) -> bool:
    """Return whether a volume may get the private type of a tier."""
    found = state.find(retype.type_id)
    return found is None or not named_types.is_closed(
        found, retype.context, retype.project
    )
