# SPDX-License-Identifier: Apache-2.0

"""Decides whether a volume can change its pool in place, and does it.

Either all of it happens, or the image is back where it was.
"""

import collections.abc
import typing

from cinder import context
from cinder import objects
from cinder.objects import fields
from oslo_log import log as logging

from cinder_tiers.driver import moving

LOG = logging.getLogger(__name__)

_Result = typing.TypeVar('_Result')


class NotInPlace(Exception):
    """A volume does not move in place, and is where it was.

    :param reasons: a sentence for each.
    """

    def __init__(self, reasons: collections.abc.Sequence[str]) -> None:
        super().__init__(' '.join(reasons))


def objections(volume: objects.Volume, diff: dict | None) -> list[str]:
    """List the reasons in Cinder against a move in place.

    :param diff: differences of the new type; None if the type stays.
    :returns: a sentence for each reason.
    """
    found = []
    # What the message says is as old as the request.
    status = objects.Volume.get_by_id(
        context.get_admin_context(), volume.id
    ).status
    if status in ('reserved', 'attaching'):
        found.append(f'It is {status}: a server gets it now.')
    attachments = objects.VolumeAttachmentList.get_all_by_volume_id(
        context.get_admin_context(), volume.id
    )
    if not all(map(_is_reserved, attachments)) or (
        not attachments and 'in-use' in (volume.status, volume.previous_status)
    ):
        found.append(
            'It is attached: Nova keeps the name of the pool for the next '
            'start of the server.'
        )
    changed = diff or {}
    if changed.get('encryption'):
        found.append('The new type encrypts in another way.')
    for spec in ('replication_enabled', 'multiattach'):
        before, after = (changed.get('extra_specs') or {}).get(
            spec, (None, None)
        )
        if before != after:
            found.append(f'The new type has another {spec}.')
    return found


def _is_reserved(attachment: 'objects.VolumeAttachment') -> bool:
    """Return whether an attachment gives no host the name of the pool.

    So are those of a server that Nova has shelved and offloaded.
    """
    return (
        attachment.attach_status == fields.VolumeAttachStatus.RESERVED
        and not attachment.connector
        and not attachment.connection_info
        and not attachment.attached_host
    )


def stay(
    images: moving.ClusterImages,
    place: moving.Move,
    retype: collections.abc.Callable[[], _Result],
) -> _Result:
    """Retype an image in its pool, and mark it in Ceph meanwhile.

    :param place: a move from the pool to the same pool.
    :param retype: changes the image.
    :returns: what `retype` returns.
    """
    images.mark(place)
    try:
        result = retype()
    except Exception:
        images.forget(place)
        raise
    images.forget(place)
    return result


def move(
    images: moving.ClusterImages,
    wanted: moving.Move,
    *,
    finish: collections.abc.Callable[[], _Result],
    state_of: collections.abc.Callable[[str], tuple | None],
) -> _Result:
    """Move an image, and apply its new type.

    :param finish: changes the image in its new pool; the changes are undone if
        the move is undone.
    :param state_of: see `moving.ClusterImages.busy_kin`.
    :returns: the result of `finish`; the manager of Ceph then copies the data.
    :raises NotInPlace: the image stayed at its old place.
    :raises Exception: the cluster failed; the text says that the image is in
        neither state.
    """
    if images.is_marked(wanted):
        raise NotInPlace([moving.UNENDED])
    # Before it is looked at: a service that starts finds what it was doing.
    images.mark(wanted)
    try:
        reasons = images.objections(wanted) or images.busy_kin(
            wanted.source, wanted.image, state_of
        )
    except Exception as error:  # noqa: BLE001 - told; nothing has changed yet
        reasons = [f'{type(error).__name__}: {error}.']
    if reasons:
        images.forget(wanted)
        raise NotInPlace(reasons)
    try:
        images.prepare(wanted)
        # Again: who has opened a clone since then, found the new parent.
        reasons = images.busy_kin(wanted.target, wanted.image, state_of)
        if not reasons:
            result = finish()
            _begin_to_copy(images, wanted)
            return result
    except Exception as error:  # noqa: BLE001 - told, behind the way back
        reasons = [f'{type(error).__name__}: {error}.']
    _take_back(images, wanted, reasons)
    raise NotInPlace(reasons)


def _begin_to_copy(images: moving.ClusterImages, wanted: moving.Move) -> None:
    try:
        images.add_task(moving.Task.EXECUTE, wanted)
    except moving.ManagerRefused as refused:
        # It has just been asked, and begins anew. The image is usable; who
        # carries moves on asks for the task again.
        LOG.warning('The move of %s waits. %s', wanted, refused)


def _take_back(
    images: moving.ClusterImages, wanted: moving.Move, reasons: list[str]
) -> None:
    try:
        images.take_back(wanted, images.state(wanted))
    except Exception as error:
        LOG.exception(
            'The move of %(move)s failed, and could not be taken back: '
            '%(reasons)s It is tried again.',
            {'move': wanted, 'reasons': ' '.join(reasons)},
        )
        error.add_note(f'The move of {wanted} was not taken back.')
        raise
