# SPDX-License-Identifier: Apache-2.0

"""Shelves servers while their volumes change, and unshelves them.

Nova keeps the pool of a volume for each start of a server, and forgets it when
it shelves that. Before each step the server says what it was: a repair that is
killed at any moment leaves what `finish` ends.
"""

import collections.abc
import contextlib
import dataclasses
import math
import typing

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import servers
from cinder_tiers.observe.cinder import volumes

#: Nova changes the state and the task of a server one after the other.
_POLLS_AT_REST = 5
#: The longest that Nova takes to spawn, and to save a disk as an image.
_MOST_S = 3600.0
_MOST_SAVING_S = 24 * 3600.0
#: A restart of an API takes no longer.
_MOST_SILENT_S = 600.0
#: For a change of a server, where the answer is lost.
_MOST_REQUESTS = 3
#: Of a server, with what it was.
_STATUSES = {
    repair.ServerState.ACTIVE: 'ACTIVE',
    repair.ServerState.STOPPED: 'SHUTOFF',
    repair.ServerState.SHELVED: 'SHELVED_OFFLOADED',
}
_SHELVED = ('SHELVED', 'SHELVED_OFFLOADED')
#: Of a volume that Cinder ends by itself.
_BUSY = ('retyping', 'extending', 'backing-up', 'uploading', 'maintenance')
#: What Nova records of a guest.
_OF_GUESTS = (
    *('shelve', 'shelveOffload', 'unshelve'),
    *('reboot', 'stop', 'start'),
)
#: Ceph gives a manager the end of a move some seconds after its copy: looks
#: without a task before a volume counts as copied, and between two requests
#: for a server whose volume does not.
_POLLS_COPIED = 10
_POLLS_A_REQUEST = 30
#: The longest that Ceph copies.
_MOST_COPYING_S = 24 * 3600.0
_SAY_EVERY_S = 60.0

_Wait = collections.abc.Callable[[str], None]
_Value = typing.TypeVar('_Value')


class ServerChanged(errors.TiersError):
    """A server is not as the plan showed it; nothing was done with it."""


class NotBack(errors.ActionFailed):
    """A server is not what it was."""


class Shelving:
    """Changes the state of servers.

    :param wait: called between two looks, with what is waited for; raises
        `errors.TiersError` if nobody waits any more.
    :param now: returns seconds of a clock.
    :param say: called with a line on what a server waits for.
    :param copied: returns the names of images that Ceph still copies; raises
        `errors.TiersError` if it does not tell.
    """

    def __init__(
        self,
        connection: openstack.connection.Connection,
        *,
        wait: _Wait,
        now: collections.abc.Callable[[], float],
        say: collections.abc.Callable[[str], None],
        copied: collections.abc.Callable[[], set[str]],
    ) -> None:
        self._connection = connection
        self._wait = wait
        self._now = now
        self._say = say
        self._copied = copied

    @contextlib.contextmanager
    def shelved(
        self, server: repair.Server, volumes: collections.abc.Iterable[str]
    ) -> collections.abc.Iterator[None]:
        """Have a server shelved and locked; then it is again as it was.

        :param volumes: ids of those that are to change.
        :raises ServerChanged: it is not as the plan showed it.
        :raises NotBack: it is not as it was; the text says what to do.
        :raises errors.TiersError: Nova did not shelve it.
        """
        name = server.server_id
        before = self._patient(lambda: servers.show(self._connection, name))
        found = servers.judge(self._connection, before)
        if found != server:
            raise _changed(name, found if isinstance(found, str) else '')
        self._check_volumes(before, volumes)
        if not server.is_left:
            reason = servers.reason_of(server.state)
            self._patient(
                lambda: self._act(name, 'lock', {'locked_reason': reason})
            )
        has_shelved = False
        try:
            now = self._at_rest(name)
            # Until it was locked, its user could do anything with it.
            if not server.is_left and before != dataclasses.replace(
                now, is_locked=False, lock_reason=''
            ):
                raise _changed(name)
            self._shelve(now)
            has_shelved = True
            yield
        finally:
            self.finish(server, has_shelved=has_shelved)

    def _check_volumes(
        self, shown: servers.Shown, volumes: collections.abc.Iterable[str]
    ) -> None:
        for volume in volumes:
            found = self._attachments(volume)
            if volume not in shown.volumes or [
                one.server for one in found
            ] != [shown.server_id]:
                raise _changed(
                    shown.server_id, f'volume {volume} is not its own any more'
                )

    def finish(
        self, server: repair.Server, *, has_shelved: bool = False
    ) -> None:
        """Make a server that a repair has locked what it was, and unlock it.

        :param has_shelved: whether this process did; else Nova says whether
            that was done under the lock, unless somebody has unlocked it.
        :raises NotBack: it is not what it was; the text says what to do.
        """
        name = server.server_id
        try:
            trouble = self._restored(server, has_shelved)
        except servers.Gone:
            return
        except errors.TiersError as error:
            raise NotBack(
                f'{error}. Server {name} is still locked, and was '
                f'{server.state.value}. Run "openstack tier repair --shelve", '
                'which makes it that again'
            ) from error
        if trouble:
            raise NotBack(
                f'{trouble}. Server {name} is unlocked, and was '
                f'{server.state.value}: make it that again'
            )

    def _restored(self, server: repair.Server, has_shelved: bool) -> str:
        """Make a server what it was, and unlock it; why it is not that.

        :raises errors.TiersError: it is shelved, or not known to be at rest.
        """
        name = server.server_id
        shown = self._at_rest(name)
        if shown.status == 'SHELVED_OFFLOADED':
            for volume in sorted(shown.volumes):
                self._reserve_at_rest(name, volume)
        done = [
            one['action']
            for one in self._patient(
                lambda: servers.while_locked(self._connection, name)
            )
            if one['action'] in _OF_GUESTS
        ]
        trouble = ''
        if server.state is repair.ServerState.SHELVED:
            trouble = _unlike(shown, _STATUSES[server.state])
        elif not (done or has_shelved):
            # The repair did not change its state.
            pass
        elif shown.status in _SHELVED:
            shown = self._unshelve(shown)
            if shown.status in _SHELVED:
                raise errors.ActionFailed(_unlike(shown, 'ACTIVE'))
            trouble = self._put_on(server, shown)
        elif not done or done[-1] in ('shelve', 'shelveOffload'):
            # Nova gave it up, after it had turned the guest off.
            trouble = self._not_at_rest(shown)
            if trouble:
                trouble += '; when it is, shelve and unshelve the server'
            else:
                trouble = self._put_on(server, shown, is_off=True)
        else:
            trouble = self._put_on(server, shown)
        self._patient(lambda: self._act(name, 'unlock'))
        return trouble

    def _unshelve(self, shown: servers.Shown) -> servers.Shown:
        """Start a shelved server when it can read its volumes.

        The driver for all tiers refuses a volume with snapshots until Ceph has
        copied it, and Nova leaves the server shelved then.
        """
        name = shown.server_id
        images = [
            image
            for one in sorted(shown.volumes)
            if (image := self._with_snapshots(one))
        ]
        is_known = not images or self._wait_until_copied(name, images)
        begun = self._now()
        while True:
            shown = self._change(name, 'unshelve', 'ACTIVE')
            if (
                is_known
                or shown.status not in _SHELVED
                or self._now() - begun > _MOST_S
            ):
                return shown
            for _ in range(_POLLS_A_REQUEST):
                self._wait(f'copies of {", ".join(images)}')

    def _wait_until_copied(
        self, name: str, images: collections.abc.Collection[str]
    ) -> bool:
        """Wait until Ceph has copied images; False: it does not tell."""
        begun, said = self._now(), -math.inf
        looks = 0
        while looks < _POLLS_COPIED:
            try:
                left = sorted(self._copied() & {*images})
            except errors.TiersError:
                return False
            looks = 0 if left else looks + 1
            text = f'server {name} waits until Ceph has copied'
            text = f'{text} {", ".join(left or images)}'
            if left and self._now() - said > _SAY_EVERY_S:
                said = self._now()
                self._say(f'{text}: see "ceph rbd task list"')
            if self._now() - begun > _MOST_COPYING_S:
                raise errors.ActionFailed(
                    f'{text} for {_MOST_COPYING_S / 3600:.0f} h; "ceph rbd '
                    'task list" and the log of its manager say why'
                )
            self._wait(text)
        return True

    def _with_snapshots(self, volume_id: str) -> str | None:
        """Return the name of the image of a volume that has snapshots."""

        def read() -> str | None:
            with openstack_client.asking_as_admin(
                f'list snapshots of volume {volume_id}'
            ):
                found = openstack_client.rows(
                    self._connection.block_storage,
                    '/snapshots',
                    key='snapshots',
                    links='snapshots_links',
                    params={
                        'all_tenants': 'True',
                        'volume_id': openstack_client.checked_id(volume_id),
                    },
                )
                if not any(one['volume_id'] == volume_id for one in found):
                    return None
                volume = self._show(volume_id)
                stored = volume.get('os-vol-mig-status-attr:name_id')
                return volumes.image_named(stored or volume_id)

        return self._patient(read)

    def _put_on(
        self,
        server: repair.Server,
        shown: servers.Shown,
        *,
        is_off: bool = False,
    ) -> str:
        """Start or stop a server that is not shelved; why it is not as wanted.

        :param is_off: its guest is, whatever Nova says.
        """
        name, wanted = server.server_id, _STATUSES[server.state]
        try:
            if is_off and shown.status == 'ACTIVE':
                # Ends a guest in order that runs after all.
                shown = self._change(name, 'os-stop', 'SHUTOFF')
            if (shown.status, wanted) == ('ACTIVE', 'SHUTOFF'):
                shown = self._change(name, 'os-stop', wanted)
            elif (shown.status, wanted) == ('SHUTOFF', 'ACTIVE'):
                shown = self._change(name, 'os-start', wanted)
            elif (
                shown.status == wanted == 'ACTIVE'
                and shown.power != servers.RUNNING
            ):
                shown = self._change(name, 'reboot', wanted, {'type': 'HARD'})
        except errors.NotVisible as error:
            return str(error)
        return _unlike(shown, wanted)

    def _not_at_rest(self, shown: servers.Shown) -> str:
        """Explain why Nova must not shelve a server; empty if it may.

        Nova ends the guest before Cinder refuses it another attachment.
        """
        return ', '.join(
            f'volume {volume} of server {shown.server_id} is {status}, '
            'expected in-use'
            for volume in sorted(shown.volumes)
            if (status := self._status(volume)) != 'in-use'
        )

    @contextlib.contextmanager
    def open(
        self, server: repair.Server, volume_id: str
    ) -> collections.abc.Iterator[None]:
        """Let Cinder change a volume of a shelved server.

        In the meantime its status is in-use: in that, its user can neither
        delete nor attach it, and Cinder copies nothing, as Nova refuses to.

        :raises errors.TiersError: it is not as it is after shelving.
        """
        name = server.server_id
        found = self._reserve_at_rest(name, volume_id)
        if found != 'reserved' or not self._is_reserved(name, volume_id):
            raise errors.ActionFailed(
                f'the status of volume {volume_id} is {found}, expected '
                f'reserved with one attachment, of the shelved server {name}'
            )
        self._reset(volume_id, 'in-use')
        try:
            yield
        finally:
            self._reserve_at_rest(name, volume_id)

    def _reserve_at_rest(self, name: str, volume_id: str) -> str:
        """Give a volume that was opened its status back; its status then.

        :raises errors.TiersError: Cinder still works on it.
        """
        begun = self._now()
        while (status := self._status(volume_id)) in _BUSY:
            if self._now() - begun > _MOST_S:
                raise errors.ActionFailed(
                    f'volume {volume_id} is still {status} after '
                    f'{_MOST_S / 60:.0f} min; see the log of cinder-volume'
                )
            self._wait(f'volume {volume_id} ({status})')
        if status == 'in-use' and self._is_reserved(name, volume_id):
            self._reset(volume_id, 'reserved')
            return 'reserved'
        return status

    def _is_reserved(self, name: str, volume_id: str) -> bool:
        """Return whether only a shelved server has a volume."""
        found = self._attachments(volume_id)
        return [(one.server, one.is_reserved) for one in found] == [
            (name, True)
        ]

    def _attachments(self, volume_id: str) -> list[servers.Attachment]:
        return self._patient(
            lambda: servers.attachments(self._connection, volume_id)
        )

    def _status(self, volume_id: str) -> str:
        return self._patient(lambda: self._show(volume_id)['status'])

    def _show(self, volume_id: str) -> dict:
        with openstack_client.asking(
            f'Cinder did not show volume {volume_id}'
        ):
            return openstack_client.request(
                self._connection.block_storage, 'GET', '/volumes/{}', volume_id
            ).json()['volume']

    def _reset(self, volume_id: str, status: str) -> None:
        def write() -> None:
            # The status alone: with attach_status, Cinder deletes attachments.
            with openstack_client.asking_as_admin(
                f'give volume {volume_id} of a shelved server the status '
                f'{status}'
            ):
                openstack_client.request(
                    self._connection.block_storage,
                    'POST',
                    '/volumes/{}/action',
                    volume_id,
                    json={'os-reset_status': {'status': status}},
                )

        self._patient(write)

    def _patient(self, ask: collections.abc.Callable[[], _Value]) -> _Value:
        """Ask again while a service is silent; twice does no harm.

        :raises errors.TiersError: it refuses, or is silent for too long.
        """
        begun = self._now()
        while True:
            try:
                return ask()
            except errors.NotVisible:
                raise
            except errors.Unreachable as error:
                if self._now() - begun > _MOST_SILENT_S:
                    raise
                self._wait(f'an answer: {error}')

    def _shelve(self, shown: servers.Shown) -> None:
        for action, status in (
            # As [DEFAULT] shelved_offload_time says, later or never.
            ('shelve', ('ACTIVE', 'SHUTOFF')),
            ('shelveOffload', ('SHELVED',)),
        ):
            if shown.status not in status:
                continue
            trouble = self._not_at_rest(shown)
            if trouble:
                raise _changed(shown.server_id, trouble)
            shown = self._change(shown.server_id, action, 'SHELVED_OFFLOADED')
        if trouble := _unlike(shown, 'SHELVED_OFFLOADED'):
            raise errors.ActionFailed(trouble)

    def _change(
        self, name: str, action: str, wanted: str, value: object = None
    ) -> servers.Shown:
        """Have Nova change a server, and wait until it has, or gave up."""
        for _ in range(_MOST_REQUESTS):
            is_silent = False
            try:
                self._act(name, action, value)
            except errors.NotVisible:
                raise
            except errors.Unreachable:
                # What has no answer may be done all the same.
                is_silent = True
            shown = self._at_rest(name, wanted)
            if shown.status == wanted or not is_silent:
                break
        return shown

    def _act(self, name: str, action: str, value: object = None) -> None:
        with openstack_client.asking(
            f'Nova did not do the action {action} of server {name}'
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
            shown = self._patient(lambda: servers.show(self._connection, name))
            task = shown.task or ''
            at_rest = 0 if task else at_rest + 1
            if at_rest and (
                not wanted
                or shown.status == wanted
                or at_rest == _POLLS_AT_REST
            ):
                return shown
            most_s = (
                _MOST_SAVING_S
                if task.startswith('shelving_image')
                else _MOST_S
            )
            if self._now() - begun > most_s:
                raise errors.ActionFailed(
                    f'Nova works on server {name} ({task}) for '
                    f'{most_s / 3600:.0f} h; if its logs say that it does '
                    f'not, run "openstack server set --state active {name}"'
                )
            self._wait(f'server {name} ({task or shown.status})')


def _changed(name: str, why: str = '') -> ServerChanged:
    return ServerChanged(
        f'since the plan was made, server {name} changed'
        f'{f": {why}" if why else ""}; run the command again'
    )


def _unlike(shown: servers.Shown, wanted: str) -> str:
    """Explain what a server is that is not as wanted; empty if it is."""
    if shown.status == wanted:
        return ''
    return (
        f'Server {shown.server_id} is {shown.status}, expected {wanted}: '
        f'"openstack server event list {shown.server_id}" and the logs of '
        'Nova say why'
    )
