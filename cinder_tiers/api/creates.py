# SPDX-License-Identifier: Apache-2.0

"""POST volumes: a volume gets the volume type of its tier."""

import collections.abc
import dataclasses
import typing

from cinder.api import microversions
from cinder import exception
from cinder import objects
from oslo_log import log as logging
from oslo_utils import uuidutils

from cinder_tiers.api import outcome
from cinder_tiers.api import request as requests
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors.images import glance
from cinder_tiers.doors import placement_request

LOG = logging.getLogger(__name__)

PATH = 'volumes'
#: Why a create is refused wherever it would go.
_OF_REQUEST = frozenset(
    {
        decision.Rule.ACCESS_NEEDED,
        decision.Rule.ERROR,
        decision.Rule.IMAGE_REFUSED,
        decision.Rule.KEY_NEEDED,
    }
)


def schemas() -> collections.abc.Iterable[requests.Schema]:
    """Return the schemas of Cinder's own create operation."""
    # Its modules load only where Cinder's objects are registered.
    from cinder.api.v3 import volumes

    return requests.schemas_of(volumes.VolumeController.create)


def steer(request: requests.ApiRequest) -> outcome.RequestOutcome:
    """Set the volume type of a create that leaves it to the image.

    Which keys count is Cinder's rule (cinder/api/v3/volumes.py, `create`,
    26.0.0 to 29.0.0): those that it does not read, such as source_replica,
    and an empty backup_id, mean nothing.

    :raises Exception: whatever Cinder's database layer raises.
    """
    volume = request.document['volume']
    context = request.context
    api = door.of_process('api')
    named = _named_in(request)
    if named is not None and not named.follows_image:
        return outcome.PASS
    group_id = _group_id_of(volume)
    source = _source_of(context, volume)
    if source is not None:
        return _like_source(
            volume, request, source, named, in_group=group_id is not None
        )
    if group_id is not None and named is None:
        return outcome.PASS  # Cinder wants a type in a group
    placed = api.place(
        dataclasses.replace(
            _asked(request, volume, named),
            has=_has(context, volume.get('backup_id')),
        )
    )
    if group_id is not None:
        return _in_group(request, volume, group_id, placed)
    if placed.decision.verdict is decision.RequestVerdict.REFUSED:
        return outcome.refuse(placed.decision)
    if placed.tier_type is None:
        return _held(request, volume, placed)
    return _with(
        request, volume, volume_type=placed.tier_type.type_id, placed=placed
    )


def _held(
    request: requests.ApiRequest,
    volume: dict,
    placed: placement_request.Placement,
) -> outcome.RequestOutcome:
    """Fix the type in the body where Cinder could still choose another one."""
    decided = placed.decision
    if decided.because_of(decision.Rule.PROJECT_TYPE) and (
        placed.facts is not None
        or decided.because_of(decision.Rule.IMAGE_REFUSED)
    ):
        # Before Cinder looks at the image, it may name a type that follows
        # the image: that comes before the type of the project.
        return _with(
            request,
            volume,
            volume_type=door.of_process('api').types.default_of_project(
                request.context
            ),
        )
    if placed.facts is not None:
        return _as_image_says(request, volume, decided, placed.facts)
    return outcome.PASS


def steer_after_failure(
    request: requests.ApiRequest, error: Exception
) -> outcome.RequestOutcome:
    """Choose the volume type of a create whose steering failed.

    A create whose type does not follow the image passes on unchanged. One that
    leaves the type to the image follows the operator's on_error; it never
    passes on without a type because of an image, which a tenant can write.

    :param error: the error that steering raised.
    :raises Exception: Cinder's database layer failed while the volume type of
        the request was looked up.
    """
    volume = request.document['volume']
    context = request.context
    api = door.of_process('api')
    named = _named_in(request)
    if named is not None and not named.follows_image:
        return outcome.PASS
    # Cinder wants a type of the group, and goes where that is.
    if _group_id_of(volume) is not None:
        return outcome.PASS
    source = _source_of(context, volume)
    if source is not None:
        return _like_source(volume, request, source, named, in_group=False)
    try:
        has = _has(context, volume.get('backup_id'))
    except Exception as second:  # noqa: BLE001 - it goes with the first
        error.add_note(f'{type(second).__name__} while reading the backup')
        has = frozenset({decision.Feature.ENCRYPTION})
    placed = api.place_after_failure(
        dataclasses.replace(_asked(request, volume, named), has=has), error
    )
    if placed.decision.verdict is decision.RequestVerdict.REFUSED or (
        placed.decision.because_of(decision.Rule.IMAGE_UNREAD)
    ):
        return outcome.refuse(placed.decision)
    if placed.tier_type is None:
        return outcome.PASS
    return _with(
        request, volume, volume_type=placed.tier_type.type_id, placed=placed
    )


def _named_in(request: requests.ApiRequest) -> decision.NamedType | None:
    """The volume type that the request names; None without one."""
    ident = request.document['volume'].get('volume_type')
    if not ident:
        return None
    return door.of_process('api').types.named(request.context, ident)


def _group_id_of(volume: dict) -> object:
    """Return the group id of the request; None without a group."""
    group_id = volume.get('group_id')
    if group_id is None:
        group_id = volume.get('consistencygroup_id')
    return group_id


def _asked(
    request: requests.ApiRequest,
    volume: dict,
    named: decision.NamedType | None,
) -> placement_request.PlacementRequest:
    """Return the placement request, without features of a backup."""
    context = request.context
    zone, default_zone = door.of_process('api').zones_of(
        volume.get('availability_zone')
    )
    return placement_request.PlacementRequest(
        context=context,
        project=context.project_id or '',
        image_ref=volume.get(
            'image_id' if 'image_id' in volume else 'imageRef'
        ),
        metadata=volume.get('metadata'),
        named_type=named,
        zone=zone,
        default_zone=default_zone,
        type_offers=named.offers if named else frozenset(),
        takes_boot_snapshots=request.version.matches(
            microversions.SUPPORT_NOVA_IMAGE
        ),
    )


def _with(
    request: requests.ApiRequest,
    volume: dict,
    *,
    volume_type: str | None,
    placed: placement_request.Placement | None = None,
) -> outcome.RequestOutcome:
    return outcome.RequestOutcome(
        placed=placed,
        document={
            **request.document,
            'volume': {**volume, 'volume_type': volume_type},
        },
    )


def _has(
    context: typing.Any,
    backup_id: object,
) -> frozenset[decision.Feature]:
    """Return features of the backup that its volume must keep."""
    if not uuidutils.is_uuid_like(backup_id):
        return frozenset()
    try:
        backup = objects.Backup.get_by_id(context, backup_id)
    except exception.NotFound:
        return frozenset()
    return (
        frozenset({decision.Feature.ENCRYPTION})
        if backup.encryption_key_id
        else frozenset()
    )


def _source_of(
    context: typing.Any,
    volume: dict,
) -> collections.abc.Callable[[], typing.Any] | None:
    """Return a loader of the source volume or snapshot; None without one."""
    for key, kind in (
        ('snapshot_id', objects.Snapshot),
        ('source_volid', objects.Volume),
    ):
        ident = volume.get(key)
        if ident is not None:
            return lambda: kind.get_by_id(context, ident)
    return None


def _like_source(
    volume: dict,
    request: requests.ApiRequest,
    source: collections.abc.Callable[[], typing.Any],
    named: decision.NamedType | None,
    *,
    in_group: bool,
) -> outcome.RequestOutcome:
    """A copy stays with its source, and has the type of that.

    With a type that follows the image it would lie there without the QoS and
    the quota of the tier.
    """
    if named is None:
        return outcome.PASS
    if not in_group:
        return _with(request, volume, volume_type=None)
    try:
        type_id = source().volume_type_id
    except exception.NotFound:
        return outcome.PASS
    return _with(request, volume, volume_type=type_id)


def _as_image_says(
    request: requests.ApiRequest,
    volume: dict,
    decided: decision.PlacementDecision,
    facts: glance.ImageFacts,
) -> outcome.RequestOutcome:
    """Write down by what no tier was chosen.

    Its owner may change the image before Cinder looks at it, so that the
    volume would end with a type that follows the image, and on no tier.
    """
    # Where its type could not be looked up, Cinder meets the same text, unless
    # the request names a type.
    if decided.because_of(decision.Rule.IMAGE_TYPE) or (
        decided.because_of(decision.Rule.IMAGE_UNREAD)
        and facts.volume_type
        and not volume.get('volume_type')
    ):
        return _with(request, volume, volume_type=facts.volume_type)
    if decided.because_of(decision.Rule.IMAGE_UNREAD):
        return outcome.refuse(decided)
    if not decided.because_of(decision.Rule.FIXED):
        return outcome.PASS
    try:
        type_id = _type_of_snapshot(request.context, facts.boot_snapshot_id)
    except exception.NotFound:
        return outcome.snapshot_not_found(facts.boot_snapshot_id)
    return _with(request, volume, volume_type=type_id)


def _type_of_snapshot(context: typing.Any, ident: str | None) -> str | None:
    """Id of the volume type of a snapshot; None when it has none.

    Asked again once: the volume can have no other type.
    """
    try:
        return objects.Snapshot.get_by_id(context, ident).volume_type_id
    except exception.NotFound:
        raise
    except Exception:
        LOG.exception(
            'Snapshot %s could not be read (request %s); it is read again.',
            ident,
            context.request_id,
        )
        return objects.Snapshot.get_by_id(context, ident).volume_type_id


def _in_group(
    request: requests.ApiRequest,
    volume: dict,
    group_id: object,
    placed: placement_request.Placement,
) -> outcome.RequestOutcome:
    """A volume goes where its group is, and has a type of the group."""
    decided = placed.decision
    is_refused = decided.verdict is decision.RequestVerdict.REFUSED
    # That the fallback tier is closed to the project does not matter here.
    if not (
        is_refused and _OF_REQUEST & {one.rule for one in decided.reasons}
    ):
        type_id = _type_of_group(request, volume, group_id, placed)
        if type_id is not None:
            return _with(request, volume, volume_type=type_id)
    # Cinder wants a type of the group, and says so.
    return outcome.refuse(decided) if is_refused else outcome.PASS


def _type_of_group(
    request: requests.ApiRequest,
    volume: dict,
    group_id: object,
    placed: placement_request.Placement,
) -> str | None:
    """Id of the type of a tier that a volume has in its group, if any."""
    state = placed.state
    try:
        group = objects.Group.get_by_id(request.context, group_id)
    except exception.NotFound:
        return None
    named = door.of_process('api').types.find(
        request.context, volume['volume_type']
    )
    if state is None or named is None:
        return None
    members = {one.id for one in group.volume_types}
    needs = named.offers
    if placed.facts is not None and placed.facts.image.brings_key:
        needs |= {decision.Feature.ENCRYPTION}
    others = [
        state.types[tier.name]
        for tier in sorted(
            state.tiers,
            key=lambda one: (not one.fallback, -one.priority, one.name),
        )
    ]
    return next(
        (
            wanted.type_id
            for wanted in (placed.tier_type, *others)
            if wanted is not None
            and wanted.type_id in members
            and wanted.may_use(request.context)
            and needs <= wanted.offers
        ),
        None,
    )
