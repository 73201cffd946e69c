# SPDX-License-Identifier: Apache-2.0

"""Records of volumes in Cinder's database, found by their images."""

from cinder import context as cinder_context
from cinder import exception
from cinder import objects
from cinder.volume import volume_utils
from oslo_log import log as logging

from cinder_tiers.driver import moving

LOG = logging.getLogger(__name__)

#: Of a volume whose move was not answered: its status, ...
_MOVING = frozenset({'retyping', 'maintenance'})
#: ... and its migration_status.
_MIGRATING = frozenset({'starting', 'migrating'})


def image_of(resource: objects.Volume | objects.Snapshot) -> str:
    """Name of the image of a volume, or of the volume of a snapshot."""
    return getattr(resource, 'volume_name', None) or resource.name


def volume(ident: str) -> objects.Volume | None:
    """The volume of an id, if there is one."""
    try:
        return objects.Volume.get_by_id(
            cinder_context.get_admin_context(), ident
        )
    except exception.VolumeNotFound:
        return None


def has_snapshots(ident: str) -> bool:
    """Return whether Cinder has a snapshot of a volume."""
    return bool(
        objects.SnapshotList.get_all_for_volume(
            cinder_context.get_admin_context(), ident
        )
    )


def _volume_of_name(ident: str) -> objects.Volume | None:
    """The volume whose image has not its id in its name, but another one.

    So it is once Cinder has migrated a volume that was attached.
    """
    found = objects.VolumeList.get_all(
        cinder_context.get_admin_context(), filters={'_name_id': ident}
    )
    return found[0] if found else None


def state_of(image: str) -> tuple[str, str | None] | None:
    """(status, migration_status) of the volume of an image."""
    ident = volume_utils.extract_id_from_volume_name(
        image.removesuffix('.deleted')
    )
    found = ident and (volume(ident) or _volume_of_name(ident))
    return found and (found.status, found.migration_status)


def settle(move: moving.Move, *, is_answered: bool) -> None:
    """Do what Cinder's manager would have done with a move.

    :param is_answered: the volume is in the new pool; else it is put back.
    """
    found = volume(move.volume_id)
    if found is None:
        return
    if is_answered:
        # It writes these after the volume.
        for snapshot in found.snapshots:
            snapshot.volume_type_id = found.volume_type_id
            snapshot.save()
        return
    if found.status in _MOVING:
        found.status = found.previous_status or 'available'
    if found.migration_status in _MIGRATING:
        found.migration_status = 'error'
    if changes := found.obj_what_changed():
        found.save()
        LOG.warning(
            'Volume %(volume)s is where it was before the move of '
            '%(move)s, which a service began that ended; set again: '
            '%(changes)s.',
            {
                'volume': found.id,
                'move': move,
                'changes': ', '.join(sorted(changes)),
            },
        )
