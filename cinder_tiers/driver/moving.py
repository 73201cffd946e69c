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

`commit` first makes the new image one that does not migrate, and removes the
source after that, its entry in the trash last. A manager that ends in between
leaves a source that librbd takes for no part of a migration any more. So the
mark stays until the entry is gone, and what is left is removed here.

`prepare` puts the source in the trash before anything says where to, and
`abort` has it out again while its header still says so. librbd takes neither
back. So what a process leaves that ends there is put right here, too, as
librbd would have done: link the source, free it of the header.
"""

import collections.abc
import contextlib
import dataclasses
import enum
import errno
import json
import struct
import time

from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_tiers.domain import record
from cinder_tiers.driver import monitors
from cinder_tiers.driver import pool as pool_driver
from cinder_tiers.driver import startup

LOG = logging.getLogger(__name__)

#: Key in the metadata of a pool, before the name of an image that leaves it.
MARK = 'cinder_tiers_move_'
#: States of volumes of which nothing is read but by those who watch it. A
#: stopped server that has one may start at any time.
_IDLE = frozenset({'available', 'error'})
#: The manager hears of a cancelled task with the next object that it copies.
CANCEL_S = 60
#: Why an image does not move.
UNENDED = 'An earlier move of the image has not ended.'
_NOT_MIGRATING = frozenset({None, 'success', 'error'})


#: Begin of a migration header: version, compatible version and length of what
#: follows; then whose header it is, and the ID of the other pool.
_HEADER = struct.Struct('<BBIBq')
_OF_SOURCE = 1


class NotYet(Exception):
    """A step of a move is not possible yet, and is to be tried again."""


class ManagerRefused(NotYet):
    """Ceph's manager does not do what it was asked for."""


class MoveState(enum.Enum):
    """The state of a move."""

    #: `prepare` or `abort` did not come to its end, or one we do not know.
    BROKEN = 'broken'
    PREPARED = 'prepared'
    EXECUTED = 'executed'
    #: The new image is whole, and something of the source is left.
    COMMITTED = 'committed'
    #: There is none: it did not begin, was taken back, or has ended.
    OVER = 'over'


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
    #: Names of the two pools in Cinder when it began, if they are known.
    tiers: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    def __str__(self) -> str:
        return f'{self.source}/{self.image} to {self.target}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kin:
    """A clone, or a clone of a clone, of the image that moves."""

    pool: str
    image: str


class ClusterImages:
    """The images of a cluster, over one connection.

    :param driver: RBD driver of any pool of the cluster.
    :param cluster: a connected `rados.Rados`.
    """

    def __init__(
        self, driver: rbd.RBDDriver, cluster: 'rbd.rados.Rados'
    ) -> None:
        self._driver = driver
        self._rbd = driver.rbd
        self._rados = driver.rados
        self._images = driver.RBDProxy()
        self._cluster = cluster

    def objections(self, move: Move) -> list[str]:
        """Explain why Ceph could not move an image now; changes nothing.

        :returns: a sentence for each reason.
        :raises rbd.Error: the image cannot be looked at.
        """
        with self._open(move.source, move.image) as image:
            features = image.features()
            if features & self._rbd.RBD_FEATURE_MIGRATING:
                return [UNENDED]
            found = [
                f'A client has the image open: {watcher["addr"]}.'
                for watcher in image.watchers_list()
            ]
            if self._is_mirrored(image, features):
                found.append('The image is mirrored.')
            if group := (image.group() or {}).get('name'):
                found.append(f'The image is in the RBD group {group}.')
            if any(
                snapshot['namespace']
                == self._rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH
                for snapshot in image.list_snaps()
            ):
                found.append(
                    'A snapshot of it was deleted that has clones: librbd '
                    'does not migrate it until they are gone.'
                )
            if self._is_of_deleted_snapshot(image):
                found.append(
                    'The snapshot that it was made from was deleted: librbd '
                    'does not migrate it until it is flattened.'
                )
        if self._has(move.target, move.image):
            found.append(f'Pool {move.target} has an image of that name.')
        # Ceph's manager writes to both, and waits while one is full, with all
        # tasks of the cluster.
        found += [
            f'Pool {name} is full.'
            for name in self._full(move.source, move.target)
        ]
        try:
            self._ask_manager('rbd task list')
        except ManagerRefused as refused:
            found.append(
                f'{refused} A manager must do the copying, for which the '
                f'cephx user needs mgr "profile rbd pool={move.source}, '
                f'profile rbd pool={move.target}".'
            )
        return found

    def _full(self, *rados_pools: str) -> list[str]:
        with_data = {
            *rados_pools,
            *(
                monitors.data_pool(self._driver, self._cluster, name)
                for name in rados_pools
            ),
        }
        return startup.full(
            with_data,
            monitors.ask(self._cluster, 'osd pool ls', detail='detail'),
        )

    def _is_mirrored(self, image: 'rbd.rbd.Image', features: int) -> bool:
        if features & self._rbd.RBD_FEATURE_JOURNALING:
            return True
        state = image.mirror_image_get_info()['state']
        return state != self._rbd.RBD_MIRROR_IMAGE_DISABLED

    def _is_of_deleted_snapshot(self, image: 'rbd.rbd.Image') -> bool:
        try:
            pool, parent, name = image.parent_info()
            with self._open(pool, parent) as found:
                return any(
                    snapshot['name'] == name
                    and snapshot['namespace']
                    == self._rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH
                    for snapshot in found.list_snaps()
                )
        except self._rbd.ImageNotFound:
            # It is not a clone, or its parent is in the trash.
            return False

    def kin(self, pool: str, name: str) -> list[Kin]:
        """List the clones of an image, and clones of these."""
        with self._open(pool, name) as image:
            return [
                Kin(pool=one['pool'], image=one['image'])
                for one in image.list_descendants()
                if not one['trash']
            ]

    def read_in_states(self, pool: str, name: str) -> list[str]:
        """List what a reader of an image reads and has snapshots.

        :returns: names of it, of its parent, and so on.
        :raises rbd.Error: one cannot be opened.
        """
        found = []
        with (
            contextlib.suppress(self._rbd.ImageNotFound),
            self._open(pool, name) as image,
        ):
            if any(image.list_snaps()):
                found.append(name)
            with contextlib.closing(
                pool_driver.ancestors(self._driver, self._cluster, image)
            ) as ancestors:
                found += [
                    ancestor
                    for ancestor, opened in ancestors
                    if any(opened.list_snaps())
                ]
        return found

    def busy_kin(
        self,
        pool: str,
        name: str,
        state_of: collections.abc.Callable[[str], tuple | None],
    ) -> list[str]:
        """Explain which clones may still read from the old place of an image.

        A client that opened a clone before `prepare` reads the parent at its
        old place, which `commit` removes. Clients that open it later do not.
        Nor must a clone move itself.

        :param state_of: takes the name of an image and returns (status,
            migration_status) of its volume; None if it has no volume.
        :returns: a sentence for each clone that is in use.
        """
        found = []
        for one in self.kin(pool, name):
            with self._open(one.pool, one.image) as clone:
                watchers = list(clone.watchers_list())
                moves = clone.features() & self._rbd.RBD_FEATURE_MIGRATING
            status, migration = state_of(one.image) or ('available', None)
            if moves:
                # librbd (Ceph 16) ends the process that prepares its parent.
                found.append(f'Its clone {one.pool}/{one.image} moves.')
            elif watchers:
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

    def mark(self, move: Move) -> None:
        """Record in Ceph that an image begins to move.

        :raises rbd.Error: the image cannot be opened.
        """
        with self._open(move.source, move.image) as image:
            image_id = image.id()
        self._write_mark(
            move,
            {
                'volume': move.volume_id,
                'image_id': image_id,
                'target': move.target,
                'tiers': move.tiers,
            },
        )

    def is_marked(self, move: Move) -> bool:
        """Return whether traces of an earlier move from that pool are left."""
        mark = self._mark_in(move.source, move.image)
        if mark is None:
            return False
        earlier = dataclasses.replace(move, target=mark['target'])
        return self.state(earlier) is not MoveState.OVER

    def is_answered(self, move: Move) -> bool:
        """Return whether Cinder has had the image in its new pool."""
        return bool((self._mark_of(move) or {}).get('answered'))

    def is_copied(self, move: Move) -> bool:
        """Return whether the new image has all that the source had."""
        return self.state(move) not in (MoveState.BROKEN, MoveState.PREPARED)

    def answer(self, move: Move) -> None:
        """Record in Ceph that Cinder has the image in its new pool.

        From then on the move is not taken back, regardless of where Cinder has
        a volume of that name later, and the source may be removed.
        """
        mark = self._mark_of(move)
        if mark and not mark.get('answered'):
            self._write_mark(move, {**mark, 'answered': True})

    def _write_mark(self, move: Move, mark: dict) -> None:
        with self._ioctx(move.source) as source:
            self._images.pool_metadata_set(
                source, MARK + move.image, json.dumps(mark)
            )

    def _mark_of(self, move: Move) -> dict | None:
        mark = self._mark_in(move.source, move.image)
        # Else it is that of another move from there.
        is_its = mark and mark['target'] == move.target
        return mark if is_its else None

    def _mark_in(self, rados_pool: str, image: str) -> dict | None:
        with self._ioctx(rados_pool) as source:
            try:
                return record.parsed(
                    self._images.pool_metadata_get(source, MARK + image)
                )
            except (KeyError, self._rbd.ImageNotFound):
                return None

    def prepare(self, move: Move) -> None:
        """Make an image that was marked appear in its new pool.

        :raises rbd.Error: the image stays where it was.
        """
        with (
            self._ioctx(move.source) as source,
            self._ioctx(move.target) as target,
        ):
            self._images.migration_prepare(
                source, move.image, target, move.image
            )

    def take_back(self, move: Move, state: MoveState) -> None:
        """Return an image to its source pool.

        :param state: progress of the move. For a broken move, `prepare` or
            `abort` was cut off: the new pool then has an incomplete image,
            which must be removed before librbd can abort.
        :raises NotYet: the manager still copies, or does not say so; or a
            process that ended has the image open yet, to Ceph.
        :raises rbd.Error: the image is where it was left.
        """
        if state is not MoveState.OVER:
            if state is not MoveState.BROKEN:
                self._cancel_tasks(move)
            try:
                self._take_back(move, state)
            except self._rbd.ImageBusy as error:
                raise NotYet(
                    f'The image is open yet: {error}. To Ceph, a process that '
                    'ended has it for a while.'
                ) from error
        self.forget(move)

    def _take_back(self, move: Move, state: MoveState) -> None:
        if state is MoveState.BROKEN:
            self._remove_half_made(move)
        mark = self._mark_of(move) or {}
        with self._ioctx(move.source) as source:
            if state is MoveState.BROKEN and not (
                self._is_source(move, mark['image_id'])
                and self._is_in_trash(move.source, mark['image_id'])
            ):
                self._link(source, move.image, mark['image_id'])
            else:
                self._images.migration_abort(source, move.image)

    def _remove_half_made(self, move: Move) -> None:
        try:
            self._remove_snapshots(move)
        except self._rbd.ImageNotFound:
            LOG.debug('The move of %s has no new image.', move)
        except self._rbd.ReadOnlyImage:
            # An abort was cut off that librbd takes up again.
            return
        with (
            self._ioctx(move.target) as target,
            contextlib.suppress(self._rbd.ImageNotFound),
        ):
            # Of an image without a header it removes the name.
            self._images.remove(target, move.image)

    def _remove_snapshots(self, move: Move) -> None:
        with self._open(move.target, move.image, read_only=False) as image:
            self._free_of_snapshots(image)

    def _free_of_snapshots(self, image: 'rbd.rbd.Image') -> None:
        trash = self._rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH
        for snapshot in list(image.list_snaps()):
            if snapshot['namespace'] == trash:
                # librbd puts each there before it removes it, and a process
                # may end in between.
                image.remove_snap_by_id(snapshot['id'])
                continue
            name = snapshot['name']
            if image.is_protected_snap(name):
                image.unprotect_snap(name)
            image.remove_snap(name)

    def _is_source(self, move: Move, ident: str) -> bool:
        """Return whether the header of an image shows a move to the target."""
        with self._ioctx(move.source) as ioctx:
            try:
                _, header = ioctx.execute(
                    f'rbd_header.{ident}', 'rbd', 'migration_get', b''
                )
            except (
                # No image, or one whose header says nothing.
                self._rados.ObjectNotFound,
                self._rados.InvalidArgumentError,
            ):
                return False
        *_, kind, pool = _HEADER.unpack_from(header)
        return kind == _OF_SOURCE and pool == self._cluster.pool_lookup(
            move.target
        )

    def _link(self, ioctx: 'rbd.rados.Ioctx', name: str, ident: str) -> None:
        """Give an image its name back, and take what says that it moves away.

        Each step may have been done.
        """
        ioctx.write_full(f'rbd_id.{name}', _encoded(ident))
        with contextlib.suppress(self._rados.ObjectExists):
            ioctx.execute(
                'rbd_directory',
                'rbd',
                'dir_add_image',
                _encoded(name) + _encoded(ident),
            )
        with contextlib.suppress(self._rados.ObjectNotFound):
            ioctx.execute(
                f'rbd_header.{ident}', 'rbd', 'migration_remove', b''
            )
        with contextlib.suppress(self._rados.ObjectNotFound):
            ioctx.execute('rbd_trash', 'rbd', 'trash_remove', _encoded(ident))

    def add_task(self, task: Task, move: Move) -> None:
        """Let the manager do a step of a move; once, however often asked.

        :raises ManagerRefused: with the reason.
        """
        self._ask_manager(
            f'rbd task add migration {task.value}',
            image_spec=f'{move.target}/{move.image}',
        )

    def _cancel_tasks(self, move: Move) -> None:
        """Wait until the manager does nothing for a move any more.

        It does not cancel a task that has not begun: if one is cancelled, the
        manager (Ceph 16) ends the thread of all tasks when it comes to it. It
        ends a task whose image is gone.
        """
        for _ in range(CANCEL_S):
            begun = [
                task
                for task in self._tasks_of(move)
                if task.get('in_progress')
            ]
            if not begun:
                return
            for task in begun:
                self._ask_manager('rbd task cancel', task_id=task['id'])
            time.sleep(1)
        raise ManagerRefused(
            f"Ceph's manager still has tasks for {move.target}/{move.image} "
            f'{CANCEL_S} s after they were cancelled.'
        )

    def has_task(self, move: Move) -> bool:
        """Return whether the manager reports a task for a move.

        It closes the image some time after it has removed the source.
        """
        try:
            return bool(self._tasks_of(move))
        except ManagerRefused:
            return False

    def _tasks_of(self, move: Move) -> list[dict]:
        return [
            task
            for task in record.parsed(self._ask_manager('rbd task list'))
            if task['refs'].get('image_name') == move.image
            and task['refs'].get('pool_name') == move.target
        ]

    def finish(self, move: Move) -> None:
        """Remove what a commit has left that was cut off.

        Nothing while the manager still commits.

        :raises ManagerRefused: it does not say whether it does.
        :raises rbd.Error: something of the source stays.
        """
        mark = self._mark_of(move)
        if mark is None or self._tasks_of(move):
            return
        ident = mark['image_id']
        with self._ioctx(move.source) as ioctx:
            if self._has_header(ioctx, ident):
                if not self._is_whole(move):
                    LOG.error(
                        'The source of the move of %s is in the trash, and '
                        'the new image is not whole: nothing is removed.',
                        move,
                    )
                    return
                self._free(ioctx, ident)
            try:
                self._images.trash_remove(ioctx, ident, True)
            except self._rbd.ImageBusy:
                LOG.info(
                    'The source of the move of %s is open yet: to Ceph, a '
                    'process that ended has it for a while.',
                    move,
                )
                return
        LOG.info('Removed what the move of %s had left.', move)

    def _is_whole(self, move: Move) -> bool:
        """Return whether the new image needs no source."""
        try:
            with self._open(move.target, move.image) as image:
                return not image.features() & self._rbd.RBD_FEATURE_MIGRATING
        except self._rbd.ImageNotFound:
            return False

    def _free(self, ioctx: 'rbd.rados.Ioctx', ident: str) -> None:
        """Make the source of a committed move an image like others.

        librbd opens one for writing only so, and no call of it does it once
        the new image does not migrate any more.
        """
        ioctx.execute(f'rbd_header.{ident}', 'rbd', 'migration_remove', b'')
        with contextlib.closing(
            self._rbd.Image(ioctx, image_id=ident)
        ) as image:
            self._free_of_snapshots(image)

    def state(self, move: Move) -> MoveState:
        """Return the state of a move."""
        mark = self._mark_of(move)
        if mark is None:
            return MoveState.OVER
        found = self._status(move)
        ident = mark['image_id']
        if found and found['source_image_id'] == ident:
            return self._state_of(found)
        if not self._is_in_trash(move.source, ident):
            is_left = self._is_source(move, ident)
            return MoveState.BROKEN if is_left else MoveState.OVER
        with self._ioctx(move.source) as ioctx:
            is_over = not self._has_header(ioctx, ident)
        if is_over or mark.get('answered'):
            return MoveState.COMMITTED
        return MoveState.BROKEN

    def _is_in_trash(self, pool: str, ident: str) -> bool:
        with self._ioctx(pool) as ioctx:
            try:
                self._images.trash_get(ioctx, ident)
            except self._rbd.ImageNotFound:
                return False
            except IndexError:
                # Bindings of Ceph 16 found it, and have no name for its kind.
                return True
        return True

    def _has_header(self, ioctx: 'rbd.rados.Ioctx', ident: str) -> bool:
        try:
            ioctx.stat(f'rbd_header.{ident}')
        except self._rados.ObjectNotFound:
            return False
        return True

    def unfinished_elsewhere(
        self, served: collections.abc.Container[str]
    ) -> list[Move]:
        """Find the moves from pools that are not of the backend.

        A tier may be taken out while images leave its pool. Pools that refuse,
        or do not answer, are passed over.

        :param served: RADOS pools of the backend.
        """
        found = []
        for pool in monitors.ask(
            self._cluster, 'osd pool ls', detail='detail'
        ):
            name = pool['pool_name']
            if name in served or not startup.may_keep_images(pool):
                continue
            try:
                found += self.unfinished(name)
            except (self._rbd.PermissionError, self._rados.PermissionError):
                LOG.debug('Pool %s is not searched for moves: no rights', name)
            except (self._rbd.Error, self._rados.Error) as error:
                LOG.warning(
                    'Pool %(pool)s, which is not of this backend, is not '
                    'searched for moves from it: %(error)s. If it was, start '
                    'the service again once the pool answers.',
                    {'pool': name, 'error': error},
                )
        return found

    def unfinished(self, rados_pool: str) -> list[Move]:
        """Find the moves from a pool, by their marks.

        :raises rbd.Error: it refuses, or does not answer.
        """
        with self._ioctx(rados_pool) as ioctx:
            marks = {
                key.removeprefix(MARK): record.parsed(value)
                for key, value in self._images.pool_metadata_list(ioctx)
                if key.startswith(MARK)
            }
        return [
            Move(
                volume_id=mark['volume'],
                image=image,
                source=rados_pool,
                target=mark['target'],
                tiers=tuple(mark.get('tiers', ())),
            )
            for image, mark in marks.items()
        ]

    def _has(self, pool: str, name: str) -> bool:
        try:
            with self._open(pool, name):
                return True
        except self._rbd.ImageNotFound:
            return False

    def forget(self, move: Move) -> None:
        """Take the mark of a move away, if it has one."""
        if self._mark_of(move) is None:
            LOG.debug('The move of %s has no mark.', move)
            return
        with self._ioctx(move.source) as source:
            try:
                self._images.pool_metadata_remove(source, MARK + move.image)
            except (KeyError, self._rbd.ImageNotFound):
                LOG.debug('The move of %s has no mark.', move)

    def _status(self, move: Move) -> dict | None:
        # Not by the name of the source: librbd 16 ends the process when it
        # finds it in the trash, and its header is gone.
        if not self._has(move.target, move.image):
            return None
        with self._ioctx(move.target) as ioctx:
            try:
                return self._images.migration_status(ioctx, move.image)
            except (
                self._rbd.ImageNotFound,
                self._rbd.InvalidArgument,
                # An abort was cut off.
                self._rbd.ReadOnlyImage,
            ):
                return None

    def _state_of(self, status: dict) -> MoveState:
        return {
            self._rbd.RBD_IMAGE_MIGRATION_STATE_PREPARED: MoveState.PREPARED,
            self._rbd.RBD_IMAGE_MIGRATION_STATE_EXECUTING: MoveState.PREPARED,
            self._rbd.RBD_IMAGE_MIGRATION_STATE_EXECUTED: MoveState.EXECUTED,
        }.get(status['state'], MoveState.BROKEN)

    def _ask_manager(self, prefix: str, **arguments: str) -> str:
        if not monitors.has_manager(self._cluster):
            raise ManagerRefused(
                f'No manager of Ceph is active, which is to do "{prefix}".'
            )
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
            yield pool_driver.answering(ioctx)
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


def _encoded(text: str) -> bytes:
    """Encode a string like Ceph: length (uint32, little-endian), bytes."""
    found = text.encode()
    return struct.pack('<I', len(found)) + found
