# SPDX-License-Identifier: Apache-2.0

"""POST volumes/{id}/action, os-retype: no volume is retyped off its tier."""

import collections.abc

from cinder.api.openstack import wsgi
from cinder.api.schemas import volume_actions
from cinder import context as cinder_context
from cinder.db import api as db_api
from cinder import exception
from cinder import objects
from cinder.policies import volume_actions as policy
import webob.exc

from cinder_tiers.api import outcome
from cinder_tiers.api import request as requests
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors.images import image_metadata
from cinder_tiers.doors import placement_request
from cinder_tiers.doors.volume_types import named_types

PATH = 'volumes/{id}/action'
_ACTION = 'os-retype'
_NOT_CHOSEN = (
    'The storage tier for this volume could not be determined, so the '
    'volume keeps its volume type. Name a volume type that does not '
    'follow the image.'
)
_NOT_ALLOWED = (
    'This cloud does not allow retyping a volume to a volume type that '
    'follows the image. Name another volume type.'
)


def schemas() -> collections.abc.Iterable[requests.Schema]:
    """Cinder's own."""
    return ((None, None, volume_actions.retype),)


def steer(request: requests.ApiRequest) -> outcome.RequestOutcome:
    """Give a volume the type of its tier in place of one without a tier.

    With a type that follows the image a volume would stay where it is, and
    lose the QoS and the quota of the tier.

    :raises Exception: whatever Cinder's database layer raises.
    """
    context = request.context
    ident = request.document[_ACTION]['new_type']
    api = door.of_process('api')
    # As Cinder does it (volume/api.py, `retype`): so it finds private types.
    found = api.types.find(context.elevated(), ident)
    if found is None:
        return outcome.PASS
    try:
        volume = objects.Volume.get_by_id(context, request.ident)
    except exception.NotFound:
        return outcome.PASS
    if named_types.is_closed(found, context, volume.project_id):
        return outcome.type_not_found(found.type_id)
    if not found.follows_image:
        return outcome.PASS
    placed = api.place(
        placement_request.PlacementRequest(
            context=context,
            project=volume.project_id,
            volume_id=volume.id,
            image_ref=image_metadata.image_of(
                db_api.volume_glance_metadata_get, context, volume.id
            ),
            metadata=volume.metadata,
            named_type=decision.NamedType(
                source=decision.TypeSource.REQUEST,
                follows_image=True,
                offers=found.offers,
            ),
            moves=True,
            zone=volume.availability_zone,
            type_offers=found.offers,
            has=(
                frozenset({decision.Feature.ENCRYPTION})
                if volume.encryption_key_id
                else frozenset()
            ),
        )
    )
    if _has_it_already(context, volume, placed):
        return outcome.accept(request.environ, request.version)
    if not context.is_admin and api.refuses_retypes:
        return outcome.RequestOutcome(
            answer=wsgi.Fault(
                webob.exc.HTTPForbidden(explanation=_NOT_ALLOWED)
            )
        )
    if placed.decision.verdict is decision.RequestVerdict.REFUSED:
        return outcome.refuse(placed.decision)
    if placed.tier_type is not None:
        return outcome.RequestOutcome(
            placed=placed,
            document={
                _ACTION: {
                    **request.document[_ACTION],
                    'new_type': placed.tier_type.type_id,
                }
            },
        )
    # An administrator may have volumes without a tier.
    if context.is_admin or (
        placed.decision.verdict is decision.RequestVerdict.NOT_OURS
    ):
        return outcome.PASS
    return outcome.RequestOutcome(
        answer=wsgi.Fault(webob.exc.HTTPBadRequest(explanation=_NOT_CHOSEN))
    )


def _has_it_already(
    context: cinder_context.RequestContext,
    volume: objects.Volume,
    placed: placement_request.Placement,
) -> bool:
    """Return whether a volume already has the type of a retype.

    Cinder refuses such a retype. Clients such as Terraform compare the type
    that they named with the one that is shown, and retype at each run.

    :param context: the context of the request.
    :param placed: the placement that the retype would get.
    """
    # Its modules load only where Cinder's objects are registered.
    from cinder.volume import api as volume_api

    if (
        volume.status not in ('available', 'in-use')
        or volume.migration_status
        not in volume_api.API.AVAILABLE_MIGRATION_STATUS
        or not context.authorize(
            policy.RETYPE_POLICY, target_obj=volume, fatal=False
        )
    ):
        return False
    tiers = placed.state.types.values() if placed.state else ()
    if volume.volume_type_id not in {one.type_id for one in tiers}:
        return False
    return (
        # It stays where its group is.
        bool(volume.group_id or volume.consistencygroup_id)
        # Its image is gone, and can select no other tier.
        or placed.is_image_refused
        or placed.tier_type is not None
        and placed.tier_type.type_id == volume.volume_type_id
    )
