# SPDX-License-Identifier: Apache-2.0

"""Placement requests from the properties that cinder-scheduler gets.

The properties of a request come in many forms (traced in Cinder 29.0.0):

* create: `volume_id`, an `image_id` or none, and what fixes its place;
* group: for each volume type `group_id` and no `volume_id`, once with
  `group_type` in place of a volume type, and once without any type for a
  copy of a group, which stays on the backend of that;
* get-pools: a volume type and no `request_spec`;
* retype and migrate: `operation`, `volume_id`, no image;
* extend, manage, snapshot: the same, on a volume that stays where it is.
"""

from cinder.db import api as db_api
from cinder import exception
from cinder import objects
from cinder.volume import volume_utils

from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import tier_specs as extra_specs
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.doors.images import image_metadata
from cinder_tiers.doors import placement_request

#: {key of a request spec: what it fixes the place of a new volume by}
_FIXED_BY = {
    'snapshot_id': decision.FixedBy.SNAPSHOT,
    'cgsnapshot_id': decision.FixedBy.SNAPSHOT,
    'source_volid': decision.FixedBy.SOURCE_VOLUME,
    'source_replicaid': decision.FixedBy.SOURCE_VOLUME,
    'consistencygroup_id': decision.FixedBy.GROUP,
    'group_id': decision.FixedBy.GROUP,
    'resource_backend': decision.FixedBy.GROUP,
}
_FOLLOWS_IMAGE = decision.NamedType(
    source=decision.TypeSource.REQUEST, follows_image=True
)
_ENCRYPTED = frozenset({decision.Feature.ENCRYPTION})
_CREATES = (None, 'create_volume')
_MOVES = ('retype_volume', 'migrate_volume', 'migrate_volume_to_host')


def parse_request(
    filter_properties: dict,
) -> placement_request.PlacementRequest | None:
    """Return the placement request; None for one that leaves no choice.

    :param filter_properties: properties of the request from FilterScheduler.
    :raises Exception: Cinder's database layer failed.
    """
    named = None
    if filter_properties.get('resource_type'):
        if not follows_image(filter_properties):
            return None
        named = _FOLLOWS_IMAGE
    spec = filter_properties.get('request_spec') or {}
    context = filter_properties['context']
    volume_id = spec.get('volume_id')
    operation = spec.get('operation')
    properties = spec.get('volume_properties') or {}
    common = {
        'context': context,
        'named_type': named,
        'keeps_type': True,
        'project': (properties.get('project_id') or context.project_id or ''),
        'zone': _zone(spec, properties),
    }
    if operation == 'create_group' or (spec.get('group_id') and not volume_id):
        if named is None:
            return None
        # Its volumes go where it is: as for a volume without an image.
        return placement_request.PlacementRequest(**common)
    if not volume_id:
        return None
    moves = operation in _MOVES and named is not None
    image_ref = fixed_by = None
    metadata = properties.get('metadata')
    snapshot_id = spec.get('snapshot_id')
    if moves:
        image_ref = image_metadata.image_of(
            db_api.volume_glance_metadata_get, context, volume_id
        )
        metadata = db_api.volume_metadata_get(context, volume_id)
    elif operation not in _CREATES:
        return None
    elif snapshot_id and not spec.get('resource_backend'):
        # Cinder's snapshot_same_host is off: any backend may take it.
        image_ref = image_metadata.image_of(
            db_api.volume_snapshot_glance_metadata_get, context, snapshot_id
        )
    else:
        image_ref = spec.get('image_id')
        fixed_by = _fixed_by(spec)
    return placement_request.PlacementRequest(
        **common,
        volume_id=volume_id,
        moves=moves,
        image_ref=image_ref,
        metadata=metadata,
        fixed_by=fixed_by,
        type_offers=(
            _ENCRYPTED if properties.get('encryption_key_id') else frozenset()
        ),
    )


def specs_beside(filter_properties: dict) -> list[dict[str, str]]:
    """Return the extra specs of the group's types that follow no image.

    :param filter_properties: properties from FilterScheduler of a request
        whose type follows the image.
    :returns: the extra specs of each such type; empty for a request that does
        not create a group.
    :raises Exception: Cinder's database layer failed.
    """
    spec = filter_properties.get('request_spec') or {}
    group_id = spec.get('group_id')
    if not group_id or spec.get('volume_id'):
        return []
    group = objects.Group.get_by_id(
        filter_properties['context'].elevated(), group_id
    )
    found = [one.extra_specs or {} for one in group.volume_types]
    return [specs for specs in found if not extra_specs.follows_image(specs)]


def read_unbound(
    filter_properties: dict,
) -> placement_request.PlacementRequest | None:
    """Return the request if its type names no backend; None otherwise.

    Cinder creates such a type itself, the public `__DEFAULT__`. Cinder accepts
    for it every backend with the capabilities that the type requires, also
    those of private tiers. A copy with the type of its source stays on the
    backend of the source, and is passed over.

    :param filter_properties: properties from FilterScheduler of a request
        whose type does not follow the image.
    """
    specs = filter_properties['resource_type'].get('extra_specs', None) or {}
    if backends.names_backend(specs):
        return None
    spec = filter_properties.get('request_spec') or {}
    operation = spec.get('operation')
    # Of a group Cinder says the backend without its pool, so that its volumes
    # may go to every pool of it.
    is_copy = volume_utils.extract_host(
        spec.get('resource_backend') or '', 'pool'
    )
    if (is_copy and _has_type_of_source(filter_properties)) or (
        operation not in (*_CREATES, 'create_group', 'retype_volume')
    ):
        return None
    return read_bare(filter_properties)


def _has_type_of_source(filter_properties: dict) -> bool:
    """Return whether a copy has the type of its source volume or snapshot.

    Cinder takes any other where a single cinder-volume is disabled
    (cinder/volume/api.py, _retype_is_possible, 29.0.0).
    """
    spec = filter_properties['request_spec']
    context = filter_properties['context'].elevated()
    for key, kind in (
        ('snapshot_id', objects.Snapshot),
        ('source_volid', objects.Volume),
    ):
        if spec.get(key):
            try:
                source = kind.get_by_id(context, spec[key])
            except exception.NotFound:
                return False
            type_id = filter_properties['resource_type'].get('id')
            return source.volume_type_id == type_id
    return True


def is_of_group(filter_properties: dict) -> bool:
    """Return whether the request has a group type in place of a volume type.

    Such a request names no backend. Each volume type of the group has a
    request of its own that does.

    :param filter_properties: properties of the request from FilterScheduler.
    """
    spec = filter_properties.get('request_spec') or {}
    return bool(spec.get('group_type'))


def read_bare(filter_properties: dict) -> placement_request.PlacementRequest:
    """Return the request with only its context, volume and project.

    :param filter_properties: properties of the request from FilterScheduler.
    """
    spec = filter_properties.get('request_spec') or {}
    context = filter_properties['context']
    properties = spec.get('volume_properties') or {}
    return placement_request.PlacementRequest(
        context=context,
        volume_id=spec.get('volume_id'),
        moves=spec.get('operation') in _MOVES,
        project=properties.get('project_id') or context.project_id or '',
    )


def follows_image(filter_properties: dict) -> bool:
    """Return whether the volume type of the request follows the image.

    :param filter_properties: properties of the request from FilterScheduler.
    """
    # Without a default, some of Cinder's objects would load the specs.
    return extra_specs.follows_image(
        (filter_properties.get('resource_type') or {}).get('extra_specs', None)
        or {}
    )


def read_retype(filter_properties: dict) -> placement_request.Retype | None:
    """Return a member's retype to a private tier; None for other requests.

    Cinder looks up the new type with an administrator's rights (volume/api.py,
    `retype`, 29.0.0). To a project without access its API refuses only the
    quota of the type, and access may be removed meanwhile.

    :param filter_properties: properties of the request from FilterScheduler.
    """
    spec = filter_properties.get('request_spec') or {}
    if spec.get('operation') != 'retype_volume':
        return None
    volume_type = filter_properties.get('resource_type') or {}
    specs = volume_type.get('extra_specs', None) or {}
    if volume_type.get('is_public', True) or cinder_state.NAME not in specs:
        return None
    context = filter_properties['context']
    if context.is_admin:
        return None
    properties = spec.get('volume_properties') or {}
    return placement_request.Retype(
        context=context,
        type_id=volume_type.get('id'),
        project=properties.get('project_id') or context.project_id or '',
    )


def _zone(spec: dict, properties: dict) -> str | None:
    """The zone to which Cinder sends a volume, if it is one and not many."""
    zones = spec.get('availability_zones') or []
    if zones:
        return zones[0] if len(zones) == 1 else None
    return properties.get('availability_zone')


def _fixed_by(spec: dict) -> decision.FixedBy | None:
    for key in _FIXED_BY:
        if spec.get(key):
            return _FIXED_BY[key]
    return None
