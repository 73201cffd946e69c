# SPDX-License-Identifier: Apache-2.0

"""Finds the servers of volumes, and those that a repair left. Writes nothing.

A server is locked as long as a repair works with it, so that its user waits,
and the reason of the lock says what it was before: that is all that the next
repair needs after a kill. A user may give a lock of his own the same reason.
Nova says whose the lock is.
"""

import collections.abc
import dataclasses
import re

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import side_by_side
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.loop.repair import repair
from cinder_tiers.observe import visible_cloud

#: The first of Nova with reasons of locks (Train).
MICROVERSION = '2.73'
_REASON = 'cinder-tiers changes the tier of its volumes; it was {}'
_OURS = re.compile(_REASON.format('(active|stopped|shelved)'))
_STATES = {
    'ACTIVE': repair.ServerState.ACTIVE,
    'SHUTOFF': repair.ServerState.STOPPED,
    'SHELVED_OFFLOADED': repair.ServerState.SHELVED,
}
_OFFLOADED = 'SHELVED_OFFLOADED'
_SHELVED = ('SHELVED', _OFFLOADED)
#: Of guests (nova/compute/power_state.py).
RUNNING = 1
_PAGE = 500


class Gone(errors.NotVisible):
    """Nova has no such server any more."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown:
    """A server as Nova shows it now."""

    server_id: str
    project: str
    status: str
    #: What Nova does with it; None: nothing.
    task: str | None
    #: As Nova last saw the guest; `RUNNING`, or another number.
    power: int | None
    is_locked: bool
    lock_reason: str
    #: Ids of its volumes.
    volumes: frozenset[str]
    has_local_disk: bool
    ephemeral_gib: int


def reason_of(state: repair.ServerState) -> str:
    """Return the reason of the lock of a server that was in a state."""
    return _REASON.format(state.value)


def show(connection: openstack.connection.Connection, server_id: str) -> Shown:
    """Read a server.

    :raises Gone: Nova has none of this id.
    :raises errors.TiersError: Nova does not show it.
    """
    with openstack_client.asking(
        f'Nova did not show server {server_id}', remedy=_RIGHTS
    ):
        try:
            answer = openstack_client.request(
                connection.compute,
                'GET',
                '/servers/{}',
                server_id,
                microversion=MICROVERSION,
            )
        except openstack.exceptions.NotFoundException as error:
            # A proxy without a backend has such a status, too.
            if b'itemNotFound' not in (error.response.content or b''):
                raise
            raise Gone(f'Nova has no server {server_id}') from error
        found = answer.json()['server']
    # Of a cell whose database does not answer, Nova shows no more than this.
    if found['status'] == 'UNKNOWN':
        raise errors.Unreachable(
            f'Nova did not show server {server_id}: its cell does not answer'
        )
    with openstack_client.asking(f'Nova did not show server {server_id}'):
        return _parse(found)


_RIGHTS = (
    'to shelve servers, the user must be an administrator of Nova, too; see '
    'the page "Permissions and credentials" of the documentation'
)


def _parse(found: collections.abc.Mapping) -> Shown:
    return Shown(
        server_id=found['id'],
        project=found['tenant_id'],
        status=found['status'],
        task=found.get('OS-EXT-STS:task_state'),
        power=found.get('OS-EXT-STS:power_state'),
        is_locked=found['locked'],
        lock_reason=found.get('locked_reason') or '',
        volumes=frozenset(
            one['id'] for one in found['os-extended-volumes:volumes_attached']
        ),
        has_local_disk=bool(found.get('image')),
        ephemeral_gib=found['flavor']['ephemeral'],
    )


def read(
    connection: openstack.connection.Connection, server_id: str
) -> repair.Server | str:
    """Return a server as it is, or why it is not to be shelved.

    :raises errors.TiersError: Nova does not show it.
    """
    return judge(connection, show(connection, server_id))


def judge(
    connection: openstack.connection.Connection, found: Shown
) -> repair.Server | str:
    """Return a server as it was shown, or why it is not to be shelved.

    :raises errors.TiersError: Nova does not show who locked it.
    """
    name = f'its server {found.server_id}'
    if found.ephemeral_gib and found.status not in _SHELVED:
        return (
            f'{name} has an ephemeral disk, which it would lose when it is '
            'shelved: detach the volume'
        )
    was = _OURS.fullmatch(found.lock_reason) if found.is_locked else None
    state = repair.ServerState(was[1]) if was else _STATES.get(found.status)
    if was and state and _is_left(connection, found, state):
        return repair.Server(
            server_id=found.server_id,
            state=state,
            saves_image=found.has_local_disk,
            is_left=True,
        )
    if found.is_locked:
        return f'{name} is locked: unlock it first'
    if found.task:
        return f'Nova works on {name} ({found.task}): run the command again'
    if state is None:
        return (
            f'{name} is {found.status}, expected ACTIVE, SHUTOFF or '
            'SHELVED_OFFLOADED: start or stop it first'
        )
    return repair.Server(
        server_id=found.server_id,
        state=state,
        saves_image=found.has_local_disk
        and state is not repair.ServerState.SHELVED,
    )


def _is_left(
    connection: openstack.connection.Connection,
    found: Shown,
    state: repair.ServerState,
) -> bool:
    """Return whether a server with our reason was locked by a repair.

    A tenant may write that reason, and an administrator who locks the server
    after that without one does not remove it.

    :raises errors.TiersError: Nova does not show who locked it.
    """
    if state is repair.ServerState.SHELVED and found.status != _OFFLOADED:
        return False
    locks = [
        one
        for one in while_locked(connection, found.server_id)
        if one['action'] == 'lock'
    ]
    return bool(locks) and all(
        one['user_id'] == connection.current_user_id
        or one['project_id'] != found.project
        for one in locks
    )


def while_locked(
    connection: openstack.connection.Connection, server_id: str
) -> list[collections.abc.Mapping]:
    """Return what was done with a server since it is locked, oldest first.

    :raises errors.TiersError: Nova does not list it.
    """
    with openstack_client.asking(
        f'Nova did not list what was done with server {server_id}',
        remedy=_RIGHTS,
    ):
        found: list[collections.abc.Mapping] = []
        # The newest is the first.
        for one in openstack_client.request(
            connection.compute,
            'GET',
            '/servers/{}/os-instance-actions',
            server_id,
            microversion=MICROVERSION,
        ).json()['instanceActions']:
            if one['action'] == 'unlock':
                break
            found.insert(0, one)
        names = [one['action'] for one in found]
        return found[names.index('lock') :] if 'lock' in names else []


def left(
    connection: openstack.connection.Connection,
) -> tuple[repair.Server, ...]:
    """Return the servers that a repair has locked, and did not unlock.

    :raises errors.TiersError: Nova does not list servers.
    """
    with openstack_client.asking(
        'Nova did not list locked servers', remedy=_RIGHTS
    ):
        listed = [
            _parse(one)
            for one in openstack_client.rows(
                connection.compute,
                '/servers/detail',
                key='servers',
                links='servers_links',
                params={
                    'all_tenants': 'True',
                    'locked': 'True',
                    'limit': _PAGE,
                },
                microversion=MICROVERSION,
                takes_older=False,
            )
        ]
    found = (
        judge(connection, one)
        for one in listed
        if _OURS.fullmatch(one.lock_reason)
    )
    return tuple(one for one in found if isinstance(one, repair.Server))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attachment:
    """An attachment of a volume, as Cinder shows it."""

    #: None: of no server.
    server: str | None
    #: Whether no host has the connection information of the volume.
    is_reserved: bool


def attachments(
    connection: openstack.connection.Connection, volume_id: str
) -> list[Attachment]:
    """Read the attachments of a volume.

    :raises errors.TiersError: Cinder does not list them.
    """
    with openstack_client.asking_as_admin(
        f'list attachments of volume {volume_id}'
    ):
        return [
            Attachment(
                server=one.get('instance'),
                is_reserved=one['status'] == 'reserved'
                and not one.get('connection_info'),
            )
            for one in openstack_client.rows(
                connection.block_storage,
                '/attachments/detail',
                key='attachments',
                links=None,
                params={
                    'all_tenants': 'True',
                    'volume_id': openstack_client.checked_id(volume_id),
                    'limit': _PAGE,
                },
                microversion=visible_cloud.VOLUME_MICROVERSION,
            )
            # Cinder ignores filters that its configuration does not name.
            if one['volume_id'] == volume_id
        ]


def of_volumes(
    connection: openstack.connection.Connection,
    volumes: collections.abc.Iterable[facts.KnownVolume],
) -> dict[str, repair.Server | str]:
    """Return {id of a volume: its server, or why that is not shelved}.

    :param volumes: attached ones, and ones of shelved servers.
    :raises errors.TiersError: Cinder or Nova does not answer.
    """
    wanted = list(volumes)
    attached = side_by_side.each(
        lambda one: attachments(connection, one.volume_id),
        wanted,
        at_once=side_by_side.API_AT_ONCE,
    )
    ids = {one.server for found in attached for one in found if one.server}
    shown: dict[str, tuple[Shown, repair.Server | str] | str] = dict(
        side_by_side.each(
            lambda one: (one, _shown(connection, one)),
            sorted(ids),
            at_once=side_by_side.API_AT_ONCE,
        )
    )
    return {
        volume.volume_id: _server_of(volume, found, shown)
        for volume, found in zip(wanted, attached, strict=True)
    }


def _shown(
    connection: openstack.connection.Connection, server_id: str
) -> tuple[Shown, repair.Server | str] | str:
    try:
        found = show(connection, server_id)
    except (errors.NotVisible, errors.Unreachable) as error:
        return str(error)
    return found, judge(connection, found)


def _server_of(
    volume: facts.KnownVolume,
    found: collections.abc.Sequence[Attachment],
    shown: collections.abc.Mapping[
        str, tuple[Shown, repair.Server | str] | str
    ],
) -> repair.Server | str:
    if volume.is_multiattach:
        return (
            'it is attached, and its type is multi-attach: another server '
            'could get it meanwhile; detach it'
        )
    ids = {one.server or '' for one in found}
    if len(ids) != 1 or '' in ids:
        return (
            f'it is {volume.status}, and attached to {len(ids - {""})} '
            'servers of Nova, expected 1: detach it'
        )
    (server_id,) = ids
    known = shown[server_id]
    if isinstance(known, str):
        return known
    server, judged = known
    # Cinder believes whoever makes an attachment of a volume of his own.
    if (
        server.project != volume.project
        or volume.volume_id not in server.volumes
    ):
        return (
            f'Cinder says that server {server_id} has it, and Nova does not: '
            'look at the attachments of both'
        )
    if (
        isinstance(judged, repair.Server)
        and volume.status == 'reserved'
        and not judged.is_left
        and judged.state is not repair.ServerState.SHELVED
    ):
        return (
            f'its status is reserved, and its server {server_id} is not '
            'shelved: see whether it is being attached, and run the command '
            'again'
        )
    return judged
