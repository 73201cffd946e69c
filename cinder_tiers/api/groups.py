# SPDX-License-Identifier: Apache-2.0

"""POST groups: a group is made of the types of tiers."""

import collections.abc

from cinder.api.schemas import groups

from cinder_tiers.api import outcome
from cinder_tiers.api import request as requests
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors import placement_request
from cinder_tiers.doors.volume_types import applied
from cinder_tiers.doors.volume_types import named_types

try:
    from cinder.api.schemas import consistencygroups
except ImportError:  # Cinder 26 and 27
    consistencygroups = None

PATH = 'groups'
#: The same in the API of old, whose types are one text.
CONSISTENCY_PATH = 'consistencygroups'
#: Stands for the schema of a consistency group where Cinder has none and looks
#: at the body itself: nothing that it accepts is refused, and what it refuses
#: is left to it.
_CHECKED_BY_CINDER = {
    'type': 'object',
    'properties': {
        'consistencygroup': {'type': 'object', 'required': ['volume_types']},
    },
    'required': ['consistencygroup'],
}


def schemas() -> collections.abc.Iterable[requests.Schema]:
    """Cinder's own."""
    return ((None, None, groups.create),)


def consistency_schemas() -> collections.abc.Iterable[requests.Schema]:
    """Cinder's own, if it has one."""
    if consistencygroups is None:
        return ((None, None, _CHECKED_BY_CINDER),)
    return ((None, None, consistencygroups.create),)


def steer(request: requests.ApiRequest) -> outcome.Outcome:
    """Put the fallback tier's type for types that follow the image.

    Volumes of a group go where it is, and have one of its types: what leaves
    the choice to their images chooses nothing.

    :param request: the create.
    :raises Exception: whatever Cinder's database layer raises.
    """
    group = request.document['group']
    return _steer(request, 'group', group['volume_types'], list)


def steer_consistency(request: requests.ApiRequest) -> outcome.Outcome:
    """The same for a consistency group.

    :param request: the create.
    :raises Exception: whatever Cinder's database layer raises.
    """
    text = request.document['consistencygroup']['volume_types']
    if not text or not isinstance(text, str):
        return outcome.PASS
    return _steer(
        request, 'consistencygroup', text.rstrip(',').split(','), ','.join
    )


def _steer(
    request: requests.ApiRequest,
    key: str,
    idents: list[str],
    join: collections.abc.Callable,
) -> outcome.Outcome:
    group = request.document[key]
    context = request.context
    api = door.of_process('api')
    placements: dict[str, placement_request.Placement] = {}
    chosen: dict[str, str] = {}
    # A tenant may write thousands: each is looked up once, as long as all are
    # found, and each that follows the image is placed once, however spelt.
    for ident in dict.fromkeys(idents):
        # As Cinder does it (group/api.py, `create`): so it finds private ones.
        found = api.types.find(context.elevated(), ident)
        if found is None:
            return outcome.type_not_found(ident)
        if named_types.is_closed_now(found, context):
            return outcome.type_not_found(found.type_id)
        if not (found.follows_image and found.may_use(context)):
            chosen[ident] = ident
            continue
        placed = placements.get(found.type_id)
        if placed is None:
            placed = placements[found.type_id] = _place(
                request, found, group.get('availability_zone')
            )
        if placed.decision.verdict is decision.Verdict.REFUSED:
            return outcome.refuse(placed.decision)
        chosen[ident] = placed.tier_type.type_id if placed.tier_type else ident
    types = [chosen[ident] for ident in idents]
    if types == idents:
        return outcome.PASS
    # One type only once.
    return outcome.Outcome(
        placed=next(reversed(placements.values())),
        document={key: {**group, 'volume_types': join(dict.fromkeys(types))}},
    )


def _place(
    request: requests.ApiRequest, found: applied.VolumeType, zone: object
) -> placement_request.Placement:
    """The tier in place of a type that follows the image.

    :param request: the create.
    :param found: the type.
    :param zone: what the request names, hostile.
    """
    api = door.of_process('api')
    named_zone, default_zone = api.zones_of(zone)
    return api.place(
        placement_request.PlacementRequest(
            context=request.context,
            project=request.context.project_id or '',
            zone=named_zone,
            default_zone=default_zone,
            named_type=decision.NamedType(
                source=decision.TypeSource.REQUEST,
                follows_image=True,
                offers=found.offers,
            ),
            type_offers=found.offers,
        )
    )
