# SPDX-License-Identifier: Apache-2.0

"""Moves an image to another pool of its cluster, without copying it first.

librbd's live migration: `prepare` makes the image appear in the other pool
within a second, with its snapshots, its parent and its clones; what was not
copied yet is read from the source, which waits in the trash. `execute` copies,
and `commit` removes the source. These two are tasks of Ceph's manager, so that
they go on without cinder-volume. Until the commit, `abort` takes it all back,
without what was written meanwhile.

A mark in the metadata of the source pool, made before anything else, says
whose move it is. Administrators prepare images, too; what has no mark is
theirs. The trash would show the sources as well, but the Python bindings of
Ceph 16 cannot list it while it has one.
"""

import collections.abc
import contextlib
import dataclasses
import enum
import errno
import json
import time

from cinder.volume.drivers import rbd
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Key in the metadata of a pool, before the name of an image that leaves it.
MARK = 'cinder_tiers_move_'
#: States of volumes of which nothing is read but by those who watch it.
_IDLE = frozenset({'available', 'error', 'in-use', 'reserved'})
#: Ceph takes a process for gone that watched an image after half a minute,
#: on busy disks after one or two.
FORGOTTEN_S = 180
#: The manager hears of a cancelled task with the next object that it copies.
CANCEL_S = 60
_NOT_MIGRATING = frozenset({None, 'success', 'error'})


class ManagerRefused(Exception):
    """Ceph's manager does not do what it was asked for."""


class State(enum.Enum):
    """The state of a move."""

    #: `prepare` did not come to its end, or a state that we do not know.
    BROKEN = 'broken'
    PREPARED = 'prepared'
    EXECUTED = 'executed'


class Task(enum.Enum):
    """A step of a move, which the manager carries out."""

    EXECUTE = 'execute'
    COMMIT = 'commit'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Move:
    """An image that goes from one RADOS pool to another."""

    volume_id: str
    image: str
    source: str
    target: str

    def __str__(self) -> str:
        return f'{self.source}/{self.image} to {self.target}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kin:
    """A clone, or a clone of a clone, of the image that moves."""

    pool: str
    image: str


class Images:
    """The images of a cluster, over one connection.

    :param driver: of any pool of the cluster.
    :param cluster: connected, of the module rados.
    """

    def __init__(self, driver: rbd.RBDDriver, cluster: object) -> None:
        self._driver = driver
        self._rbd = driver.rbd
        self._rados = driver.rados
        self._images = driver.RBDProxy()
        self._cluster = cluster

    def objections(self, move: Move) -> list[str]:
        """Why Ceph could not move an image now; changes nothing.

        :returns: a sentence for each reason.
        :raises rbd.Error: the image cannot be looked at.
        """
        with self._open(move.source, move.image) as image:
            features = image.features()
            if features & self._rbd.RBD_FEATURE_MIGRATING:
                return ['An earlier move of the image has not ended.']
            found = [
                f'A client has the image open: {watcher["addr"]}.'
                for watcher in image.watchers_list()
            ]
            if self._is_mirrored(image, features):
                found.append('The image is mirrored.')
            if group := (image.group() or {}).get('name'):
                found.append(f'The image is in the RBD group {group}.')
        if self._has(move.target, move.image):
            found.append(f'Pool {move.target} has an image of that name.')
        try:
            self._ask_manager('rbd task list')
        except ManagerRefused as refused:
            found.append(
                f'{refused} It must do the copying: the cephx user needs mgr '
                f'"profile rbd pool={move.source}, '
                f'profile rbd pool={move.target}".'
            )
        return found

    def _is_mirrored(self, image: object, features: int) -> bool:
        if features & self._rbd.RBD_FEATURE_JOURNALING:
            return True
        state = image.mirror_image_get_info()['state']
        return state != self._rbd.RBD_MIRROR_IMAGE_DISABLED

    def busy_kin(
        self,
        pool: str,
        name: str,
        state_of: collections.abc.Callable[[str], tuple | None],
    ) -> list[str]:
        """Why clones of an image may be read from where the image was.

        Who opened a clone before `prepare` reads its parent at the old place,
        which `commit` removes. Who opens it later does not.

        :param state_of: from the name of an image to (status,
            migration_status) of its volume; None if it is of none.
        :returns: a sentence for each clone that somebody uses.
        """
        with self._open(pool, name) as image:
            kin = [
                Kin(pool=one['pool'], image=one['image'])
                for one in image.list_descendants()
                if not one['trash']
            ]
        found = []
        for one in kin:
            with self._open(one.pool, one.image) as clone:
                watchers = list(clone.watchers_list())
            status, migration = state_of(one.image) or ('available', None)
            if watchers:
                found.append(
                    f'Its clone {one.pool}/{one.image} is open: '
                    f'{watchers[0]["addr"]}.'
                )
            elif status not in _IDLE or migration not in _NOT_MIGRATING:
                found.append(
                    f'Its clone {one.pool}/{one.image} is {status}, '
                    f'migration: {migration}.'
                )
        return found

    def prepare(self, move: Move) -> None:
        """Make an image appear in its new pool.

        :raises rbd.Error: the image stays where it was.
        """
        with self._open(move.source, move.image) as image:
            image_id = image.id()
        with (
            self._ioctx(move.source) as source,
            self._ioctx(move.target) as target,
        ):
            self._images.pool_metadata_set(
                source,
                MARK + move.image,
                json.dumps(
                    {
                        'volume': move.volume_id,
                        'image_id': image_id,
                        'target': move.target,
                    }
                ),
            )
            self._images.migration_prepare(
                source, move.image, target, move.image
            )

    def take_back(self, move: Move, state: State) -> None:
        """Put an image back, as it was before.

        :param state: how far the move is. Of one that is broken, `prepare`
            was cut off: what it had made in the new pool is no image of
            anybody, and librbd aborts only without it.
        :raises ManagerRefused: the manager still copies, or does not say so.
        :raises rbd.Error: the image is where it was left.
        """
        if state is State.BROKEN:
            self._remove_half_made(move)
        else:
            self._cancel_tasks(move)
        with self._ioctx(move.source) as source:
            self._images.migration_abort(source, move.image)
        self.forget(move)

    def _remove_half_made(self, move: Move) -> None:
        if not self._has(move.target, move.image):
            return
        with self._ioctx(move.target) as target:
            with self._open(move.target, move.image, read_only=False) as image:
                for snapshot in list(image.list_snaps()):
                    name = snapshot['name']
                    if image.is_protected_snap(name):
                        image.unprotect_snap(name)
                    image.remove_snap(name)
            for _ in range(FORGOTTEN_S):
                try:
                    self._images.remove(target, move.image)
                    return
                except self._rbd.ImageBusy:
                    # The process that was killed counts as a watcher yet.
                    time.sleep(1)
            self._images.remove(target, move.image)

    def add_task(self, task: Task, move: Move) -> None:
        """Let the manager do a step of a move; once, however often asked.

        :raises ManagerRefused: with the reason.
        """
        self._ask_manager(
            f'rbd task add migration {task.value}',
            image_spec=f'{move.target}/{move.image}',
        )

    def _cancel_tasks(self, move: Move) -> None:
        """Wait until the manager does nothing for a move any more."""
        for _ in range(CANCEL_S):
            tasks = [
                task
                for task in json.loads(self._ask_manager('rbd task list'))
                if task['refs'].get('image_name') == move.image
                and task['refs'].get('pool_name') == move.target
            ]
            if not tasks:
                return
            for task in tasks:
                self._ask_manager('rbd task cancel', task_id=task['id'])
            time.sleep(1)
        raise ManagerRefused(
            f"Ceph's manager still has tasks for {move.target}/{move.image} "
            f'{CANCEL_S} s after they were cancelled.'
        )

    def state(self, move: Move) -> State | None:
        """Return the state of a move; None if there is none any more."""
        found = self._status(move.source, move.image)
        return None if found is None else self._state_of(found)

    def unfinished(
        self, rados_pools: collections.abc.Sequence[str]
    ) -> collections.abc.Iterator[tuple[Move, State]]:
        """Find the moves of this driver that have not ended.

        :param rados_pools: in which to look for their sources.
        """
        for pool in rados_pools:
            with self._ioctx(pool) as ioctx:
                marks = [
                    (key.removeprefix(MARK), json.loads(value))
                    for key, value in self._images.pool_metadata_list(ioctx)
                    if key.startswith(MARK)
                ]
            for name, mark in marks:
                move = Move(
                    volume_id=mark['volume'],
                    image=name,
                    source=pool,
                    target=mark['target'],
                )
                found = self._status(pool, name)
                if found and found['source_image_id'] == mark['image_id']:
                    yield move, self._state_of(found)
                elif self._is_hidden(move, mark['image_id']):
                    yield move, State.BROKEN
                else:
                    self.forget(move)

    def _is_hidden(self, move: Move, image_id: str) -> bool:
        """Return whether an image exists, but cannot be opened by its name.

        Of a source that `commit` has removed, no header is left; and where
        `prepare` did not begin, or was taken back, it has its name.
        """
        with self._ioctx(move.source) as ioctx:
            try:
                ioctx.stat(f'rbd_header.{image_id}')
            except self._rados.ObjectNotFound:
                return False
        return not self._has(move.source, move.image)

    def _has(self, pool: str, name: str) -> bool:
        try:
            with self._open(pool, name):
                return True
        except self._rbd.ImageNotFound:
            return False

    def forget(self, move: Move) -> None:
        """Take the mark of a move away, if it has one."""
        with self._ioctx(move.source) as source:
            try:
                self._images.pool_metadata_remove(source, MARK + move.image)
            except (KeyError, self._rbd.ImageNotFound):
                LOG.debug('The move of %s has no mark.', move)

    def _status(self, pool: str, name: str) -> dict | None:
        with self._ioctx(pool) as ioctx:
            try:
                return self._images.migration_status(ioctx, name)
            except (self._rbd.ImageNotFound, self._rbd.InvalidArgument):
                return None

    def _state_of(self, status: dict) -> State:
        return {
            self._rbd.RBD_IMAGE_MIGRATION_STATE_PREPARED: State.PREPARED,
            self._rbd.RBD_IMAGE_MIGRATION_STATE_EXECUTING: State.PREPARED,
            self._rbd.RBD_IMAGE_MIGRATION_STATE_EXECUTED: State.EXECUTED,
        }.get(status['state'], State.BROKEN)

    def _ask_manager(self, prefix: str, **arguments: str) -> str:
        request = json.dumps({'prefix': prefix, 'format': 'json', **arguments})
        code, answer, text = self._cluster.mgr_command(request, b'')
        if code:
            name = errno.errorcode.get(abs(code), code)
            raise ManagerRefused(
                f'Ceph\'s manager refused "{prefix}" ({name}): '
                f'{text or "no reason given"}.'
            )
        return answer.decode()

    @contextlib.contextmanager
    def _ioctx(self, pool: str) -> collections.abc.Iterator:
        ioctx = self._cluster.open_ioctx(pool)
        try:
            yield ioctx
        finally:
            ioctx.close()

    @contextlib.contextmanager
    def _open(
        self, pool: str, name: str, *, read_only: bool = True
    ) -> collections.abc.Iterator:
        with (
            self._ioctx(pool) as ioctx,
            rbd.RBDVolumeProxy(
                self._driver,
                name,
                read_only=read_only,
                client=self._cluster,
                ioctx=ioctx,
            ) as image,
        ):
            yield image
