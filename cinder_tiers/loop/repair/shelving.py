# SPDX-License-Identifier: Apache-2.0

"""Shelves servers while their volumes change, and unshelves them.

Nova keeps the pool of a volume for each start of a server, and forgets it when
it shelves that. Before each step the server says what it was: a repair that is
killed at any moment leaves what `finish` ends.
"""

import collections.abc
import contextlib

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import servers

#: Nova changes the state and the task of a server one after the other.
_POLLS_AT_REST = 5
#: The longest that Nova takes to save a disk as an image, or to spawn.
_MOST_S = 3600.0

_Wait = collections.abc.Callable[[str], None]


class ServerChanged(errors.TiersError):
    """A server is not as the plan showed it; nothing was done with it."""


class Shelving:
    """Changes the state of servers.

    :param wait: called between two looks, with what is waited for; raises
        `errors.TiersError` if nobody waits any more.
    :param now: returns seconds of a clock.
    """

    def __init__(
        self,
        connection: openstack.connection.Connection,
        *,
        wait: _Wait,
        now: collections.abc.Callable[[], float],
    ) -> None:
        self._connection = connection
        self._wait = wait
        self._now = now

    @contextlib.contextmanager
    def shelved(self, server: repair.Server) -> collections.abc.Iterator[None]:
        """Have a server shelved and locked; then it is again as it was.

        :raises ServerChanged: it is not as the plan showed it.
        :raises errors.TiersError: Nova did not shelve it, or did not make it
            as it was; the text says what to do.
        """
        found = servers.read(self._connection, server.server_id)
        if found != server:
            raise ServerChanged(
                f'since the plan was made, server {server.server_id} changed'
                f'{f": {found}" if isinstance(found, str) else ""}; run the '
                'command again'
            )
        if not server.is_left:
            self._act(
                server.server_id,
                'lock',
                {'locked_reason': servers.reason_of(server.state)},
            )
        try:
            self._shelve(server.server_id)
            yield
        finally:
            self.finish(server)

    def finish(self, server: repair.Server) -> None:
        """Make a server that a repair has locked what it was.

        :raises errors.TiersError: a service did not do it; the text says what
            to do.
        """
        name = server.server_id
        try:
            shown = self._at_rest(name)
            if shown.status == 'SHELVED_OFFLOADED':
                for volume in sorted(shown.volumes):
                    self._reserve_at_rest(volume)
            if server.state is not repair.ServerState.SHELVED:
                shown = self._start(shown)
            if (
                server.state is repair.ServerState.STOPPED
                and shown.status == 'ACTIVE'
            ):
                self._act(name, 'os-stop')
                self._expect(self._at_rest(name, 'SHUTOFF'), 'SHUTOFF')
            self._act(name, 'unlock')
        except errors.TiersError as error:
            raise errors.ActionFailed(
                f'{error}. Server {name} is still locked, and was '
                f'{server.state.value}. Run "openstack tier repair --shelve", '
                'which makes it that again'
            ) from error

    @contextlib.contextmanager
    def open(self, volume_id: str) -> collections.abc.Iterator[None]:
        """Let Cinder change a volume of a shelved server.

        In the meantime its status is in-use: in that, its user can neither
        delete nor attach it, and Cinder copies nothing, as Nova refuses to.

        :raises errors.TiersError: it is not as it is after shelving.
        """
        found = self._reserve_at_rest(volume_id)
        if found != 'reserved':
            raise errors.ActionFailed(
                f'the status of volume {volume_id} is {found}, and not '
                'reserved as that of a volume of a shelved server'
            )
        self._reset(volume_id, 'in-use')
        try:
            yield
        finally:
            self._reserve_at_rest(volume_id)

    def _reserve_at_rest(self, volume_id: str) -> str:
        """Give a volume that was opened its status back; its status then.

        :raises errors.TiersError: Cinder still works on it.
        """
        begun = self._now()
        while (status := self._status(volume_id)) == 'retyping':
            if self._now() - begun > _MOST_S:
                raise errors.ActionFailed(
                    f'volume {volume_id} is still retyping after '
                    f'{_MOST_S / 60:.0f} min; see the log of cinder-volume'
                )
            self._wait(f'the retype of volume {volume_id}')
        if status == 'in-use':
            found = servers.attachments(self._connection, volume_id)
            if found and all(one.is_reserved for one in found):
                self._reset(volume_id, 'reserved')
                return 'reserved'
        return status

    def _status(self, volume_id: str) -> str:
        with openstack_client.asking(
            f'Cinder did not show volume {volume_id}'
        ):
            return openstack_client.request(
                self._connection.block_storage, 'GET', '/volumes/{}', volume_id
            ).json()['volume']['status']

    def _reset(self, volume_id: str, status: str) -> None:
        # The status alone: with attach_status, Cinder deletes attachments.
        with openstack_client.asking_as_admin(
            f'give volume {volume_id} of a shelved server the status {status}'
        ):
            openstack_client.request(
                self._connection.block_storage,
                'POST',
                '/volumes/{}/action',
                volume_id,
                json={'os-reset_status': {'status': status}},
            )

    def _shelve(self, name: str) -> None:
        shown = self._at_rest(name, 'SHELVED_OFFLOADED')
        if shown.status in ('ACTIVE', 'SHUTOFF'):
            self._act(name, 'shelve')
            shown = self._at_rest(name, 'SHELVED_OFFLOADED')
        if shown.status == 'SHELVED':
            # As [DEFAULT] shelved_offload_time says, later or never.
            self._act(name, 'shelveOffload')
            shown = self._at_rest(name, 'SHELVED_OFFLOADED')
        self._expect(shown, 'SHELVED_OFFLOADED')

    def _start(self, shown: servers.Shown) -> servers.Shown:
        if shown.status in ('SHELVED', 'SHELVED_OFFLOADED'):
            self._act(shown.server_id, 'unshelve')
            shown = self._at_rest(shown.server_id, 'ACTIVE')
        self._expect(shown, 'ACTIVE', 'SHUTOFF')
        return shown

    def _act(self, name: str, action: str, value: object = None) -> None:
        with openstack_client.asking(
            f'Nova refused the action {action} of server {name}'
        ):
            openstack_client.request(
                self._connection.compute,
                'POST',
                '/servers/{}/action',
                name,
                json={action: value},
                microversion=servers.MICROVERSION,
            )

    def _at_rest(self, name: str, wanted: str = '') -> servers.Shown:
        """Wait until a server is what is wanted, or Nova has given that up."""
        begun = self._now()
        at_rest = 0
        while True:
            shown = servers.show(self._connection, name)
            at_rest = at_rest + 1 if shown.task is None else 0
            if at_rest and (
                not wanted
                or shown.status == wanted
                or at_rest == _POLLS_AT_REST
            ):
                return shown
            if self._now() - begun > _MOST_S:
                raise errors.ActionFailed(
                    f'Nova works on server {name} ({shown.task}) for '
                    f'{_MOST_S / 60:.0f} min'
                )
            self._wait(f'server {name} ({shown.task or shown.status})')

    @staticmethod
    def _expect(shown: servers.Shown, *wanted: str) -> None:
        if shown.status not in wanted:
            raise errors.ActionFailed(
                f'Server {shown.server_id} is {shown.status}, expected '
                f'{" or ".join(wanted)}: "openstack server event list '
                f'{shown.server_id}" and the logs of Nova say why'
            )
