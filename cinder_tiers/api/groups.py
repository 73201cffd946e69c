# SPDX-License-Identifier: Apache-2.0

"""POST groups: a group is made of the types of tiers."""

import collections.abc

from cinder.api.schemas import groups

from cinder_tiers.api import outcome
from cinder_tiers.api import request as requests
from cinder_tiers.domain.placement import backends
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


def steer(request: requests.ApiRequest) -> outcome.RequestOutcome:
    """Put a tier's type for types that follow the image.

    Volumes of a group go where it is, and have one of its types: what leaves
    the choice to their images chooses nothing. It is the fallback tier's
    unless another type of the group says a different place.

    :raises Exception: whatever Cinder's database layer raises.
    """
    group = request.document['group']
    return _steer(request, 'group', group['volume_types'], list)


def steer_consistency(request: requests.ApiRequest) -> outcome.RequestOutcome:
    """The same for a consistency group.

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
) -> outcome.RequestOutcome:
    group = request.document[key]
    context = request.context
    api = door.of_process('api')
    found: dict[str, applied.VolumeType] = {}
    # A tenant may write thousands: each is looked up once, as long as all are
    # found, and each that follows the image is placed once, however spelt.
    for ident in dict.fromkeys(idents):
        # As Cinder does it (group/api.py, `create`): so it finds private ones.
        one = api.types.find(context.elevated(), ident)
        if one is None:
            return outcome.type_not_found(ident)
        if named_types.is_closed_now(one, context):
            return outcome.type_not_found(one.type_id)
        found[ident] = one
    follow = {
        one.type_id: one
        for one in found.values()
        if one.follows_image and one.may_use(context)
    }
    others = [one for one in found.values() if one.type_id not in follow]
    instead: dict[str, str | None] = {}
    placed = None
    for type_id, one in follow.items():
        placed = _place(request, one, group.get('availability_zone'))
        instead[type_id] = _type_instead(one, placed, others)
        if instead[type_id] is None and (
            placed.decision.verdict is decision.RequestVerdict.REFUSED
        ):
            return outcome.refuse(placed.decision)
    # One type only once.
    taken = {one.type_id for one in others}
    types = []
    for ident in idents:
        chosen = instead.get(found[ident].type_id)
        if chosen is None:
            types.append(ident)
        elif chosen not in taken:
            types.append(chosen)
            taken.add(chosen)
    if types == idents:
        return outcome.PASS
    return outcome.RequestOutcome(
        placed=placed,
        document={key: {**group, 'volume_types': join(dict.fromkeys(types))}},
    )


def _type_instead(
    follow: applied.VolumeType,
    placed: placement_request.Placement,
    others: list[applied.VolumeType],
) -> str | None:
    """Choose the type that replaces one that follows the image.

    A group must fit all its types: with the type of the fallback tier, Cinder
    would find no backend if another type names a different one.

    :param follow: the type that follows the image.
    :param placed: the placement of a group that has only this type.
    :param others: the other types of the group.
    :returns: id of the type, which can be one of `others`; None to keep the
        type, so that the other types decide where the group goes.
    """
    wanted = placed.tier_type
    if wanted is not None and all(
        backends.may_share(wanted.extra_specs, other.extra_specs)
        for other in others
    ):
        return wanted.type_id
    if placed.state is None or placed.decision.because_of(decision.Rule.ERROR):
        return wanted.type_id if wanted else None
    tiers = {one.type_id for one in placed.state.types.values()}
    return next(
        (
            other.type_id
            for other in others
            if other.type_id in tiers and follow.offers <= other.offers
        ),
        None,
    )


def _place(
    request: requests.ApiRequest, found: applied.VolumeType, zone: object
) -> placement_request.Placement:
    """Choose the tier that replaces a type that follows the image.

    :param zone: availability zone of the request, as the tenant wrote it.
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
