# SPDX-License-Identifier: Apache-2.0

"""POST backups/{id}/restore: a backup is restored to a volume of a tier."""

import collections.abc
import functools
import json
import time
import typing

from cinder.api.middleware import fault
from cinder.api.openstack import wsgi
from cinder.api.schemas import backups
from cinder import exception
from cinder import objects
from cinder.objects import fields
from cinder.policies import backups as policy
from oslo_log import log as logging
import webob
import webob.exc

from cinder_tiers.api import outcome
from cinder_tiers.api import request as requests
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import door
from cinder_tiers.doors import placement_request

LOG = logging.getLogger(__name__)

PATH = 'backups/{id}/restore'
#: As Cinder writes it, and as long as it waits from look to look
#: (cinder/backup/api.py, `restore`).
_DESCRIPTION = 'auto-created_from_restore_from_backup'
_PAUSE_S = 1.0
#: Seconds for which a volume that is to go is waited for: what is being
#: created cannot be deleted.
_UNDO_S = 30.0


def schemas() -> collections.abc.Iterable[requests.Schema]:
    """Cinder's own."""
    return ((None, None, backups.restore),)


def steer(
    request: requests.ApiRequest, application: collections.abc.Callable
) -> outcome.RequestOutcome:
    """Restore to a volume that is made first, with the type of its tier.

    A restore that names no volume has Cinder make one, of the default type;
    no key of the request says another.

    :param application: Cinder's API.
    :raises Exception: whatever Cinder's database layer raises.
    """
    restore = request.document['restore']
    if restore is None or restore.get('volume_id') is not None:
        return outcome.PASS
    context = request.context
    try:
        backup = objects.Backup.get_by_id(context, request.ident)
    except exception.NotFound:
        return outcome.PASS
    refusal = _refusal(context, backup)
    if refusal is not None:
        return outcome.RequestOutcome(answer=wsgi.Fault(refusal))
    api = door.of_process('api')
    zone, default_zone = api.zones_of(None)
    placed = api.place(
        placement_request.PlacementRequest(
            context=context,
            project=context.project_id or '',
            zone=zone,
            default_zone=default_zone,
            has=(
                frozenset({decision.Feature.ENCRYPTION})
                if backup.encryption_key_id
                else frozenset()
            ),
        )
    )
    if placed.decision.verdict is decision.RequestVerdict.REFUSED:
        return outcome.refuse(placed.decision)
    if placed.tier_type is None:
        return outcome.PASS
    return _to_new_volume(
        request, application, backup, restore, placed.tier_type.type_id
    )


def _to_new_volume(
    request: requests.ApiRequest,
    application: collections.abc.Callable,
    backup: objects.Backup,
    restore: dict[str, typing.Any],
    type_id: str,
) -> outcome.RequestOutcome:
    """Make the volume; from then on the request never goes on as it came."""
    answer = _create(
        request,
        application,
        {
            'size': backup.size,
            'volume_type': type_id,
            'name': (
                f'restore_backup_{request.ident}'
                if restore.get('name') is None
                else restore['name']
            ),
            'description': _DESCRIPTION,
        },
    )
    if answer.status_int != webob.exc.HTTPAccepted.code:
        return outcome.RequestOutcome(answer=answer)
    volume_id = answer.json['volume']['id']
    undo = functools.partial(
        _delete, request.context, volume_id, backup_id=backup.id
    )
    try:
        status = _status_when_made(request.context, volume_id)
    except exception.NotFound as error:
        # Its owner was quicker. Cinder must not make another one.
        return outcome.RequestOutcome(
            answer=wsgi.Fault(webob.exc.HTTPNotFound(explanation=error.msg))
        )
    except BaseException:
        undo()
        raise
    if status == 'error':
        return outcome.RequestOutcome(
            answer=wsgi.Fault(
                webob.exc.HTTPBadRequest(
                    explanation=f'Invalid volume: Error while creating volume '
                    f'{volume_id} for restoring backup '
                    f'{request.ident}.'
                )
            )
        )
    return outcome.RequestOutcome(
        document={'restore': {**restore, 'volume_id': volume_id}}, undo=undo
    )


def _refusal(
    context: typing.Any,
    backup: objects.Backup,
) -> webob.exc.HTTPException | None:
    """Return Cinder's refusal of a restore, which must not leave a volume.

    The answer is made here with Cinder's words: the backup may become
    available before Cinder checks it.
    """
    try:
        context.authorize(policy.RESTORE_POLICY, target_obj=backup)
    except exception.PolicyNotAuthorized as error:
        return webob.exc.HTTPForbidden(explanation=error.msg)
    reason = None
    if backup.status != fields.BackupStatus.AVAILABLE:
        reason = 'Backup status must be available'
    elif not backup.size:
        reason = 'Backup to be restored has invalid size'
    return reason and webob.exc.HTTPBadRequest(
        explanation=exception.InvalidBackup(reason=reason).msg
    )


def _create(
    request: requests.ApiRequest,
    application: collections.abc.Callable,
    volume: dict[str, typing.Any],
) -> webob.Response:
    """Ask Cinder for a volume in the name of who asks for the restore."""
    environ = request.environ.copy()
    environ['QUERY_STRING'] = ''
    made = webob.Request(environ)
    made.method = 'POST'
    # Cinder takes not every project id in a path.
    made.path_info = '/volumes'
    made.body = json.dumps({'volume': volume}).encode()
    # Some errors leave Cinder as exceptions. What fails in here otherwise
    # lets a request pass on; an exceeded quota must not.
    return made.get_response(fault.FaultWrapper(application))


def _status_when_made(context: typing.Any, volume_id: str) -> str:
    """Status of a volume that is no longer being created."""
    while True:
        status = objects.Volume.get_by_id(context, volume_id).status
        if status != 'creating':
            return status
        time.sleep(_PAUSE_S)


def _delete(context: typing.Any, volume_id: str, *, backup_id: str) -> None:
    """Delete the new volume of a restore that Cinder refuses.

    One that is in use stays, and is logged, and so does one whose creation
    failed: its owner may ask why, as with Cinder alone.

    :param context: the context of the request; its user may lack the
        right to delete volumes.
    """
    # Its modules load only where Cinder's objects are registered.
    from cinder.volume import api as volume_api

    until = time.monotonic() + _UNDO_S
    try:
        while True:
            volume = objects.Volume.get_by_id(context, volume_id)
            if volume.status != 'creating' or time.monotonic() >= until:
                break
            time.sleep(_PAUSE_S)
        if volume.status != 'available':
            raise exception.InvalidVolume(reason=f'it is {volume.status}')
        volume_api.API().delete(context.elevated(), volume)
    except exception.NotFound:
        pass
    except Exception as error:  # noqa: BLE001 - said
        LOG.warning(
            (
                'Volume %(volume)s, which was created for a restore of backup '
                '%(backup)s that Cinder refused, cannot be deleted: '
                '%(error)s (request %(request)s). Delete it if it is '
                'not in use.'
            ),
            {
                'volume': volume_id,
                'backup': backup_id,
                'error': (
                    error.msg
                    if isinstance(error, exception.CinderException)
                    else type(error).__name__
                ),
                'request': context.request_id,
            },
        )
    else:
        LOG.info(
            (
                'Volume %(volume)s, which was created for a restore of backup '
                '%(backup)s that Cinder refused, is deleted (request '
                '%(request)s).'
            ),
            {
                'volume': volume_id,
                'backup': backup_id,
                'request': context.request_id,
            },
        )
