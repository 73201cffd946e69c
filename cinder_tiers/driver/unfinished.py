# SPDX-License-Identifier: Apache-2.0

"""Unfinished moves: each is committed or taken back.

A move goes on while Cinder has the volume in the new pool. The record of the
move is in Ceph, so that a service that starts finds the moves of an earlier
process.
"""

import collections.abc
import enum
import threading
import time

from cinder import exception
from oslo_log import log as logging

from cinder_tiers.driver import moving

LOG = logging.getLogger(__name__)

#: Requests that wait at once for a move to end. oslo.messaging gives a service
#: 64 threads.
MOST_WAITERS = 16


class MoveStep(enum.Enum):
    """Next step of a move."""

    EXECUTE = 'execute'
    COMMIT = 'commit'
    ABORT = 'abort'
    FINISH = 'finish'
    LEAVE = 'leave'


def next_step(
    state: moving.MoveState, move: moving.Move, pool: str | None
) -> MoveStep:
    """Choose the next step of a move that no request waits for.

    :param pool: RADOS pool in which Cinder has the volume; None if it has no
        such volume.
    """
    if state is moving.MoveState.COMMITTED:
        return MoveStep.FINISH
    if pool == move.source:
        return MoveStep.ABORT
    if pool != move.target or state is moving.MoveState.BROKEN:
        return MoveStep.LEAVE
    return (
        MoveStep.COMMIT
        if state is moving.MoveState.EXECUTED
        else MoveStep.EXECUTE
    )


class Moves:
    """The moves of a backend that have been answered, and not ended.

    :param connect: returns a context manager with `moving.ClusterImages`.
    :param pool_of: takes the id of a volume and returns the RADOS pool in
        which Cinder has it; None if Cinder has no such volume here.
    :param settle: takes a move of an earlier process and `is_answered`, and
        sets the volume in Cinder to the state it would have if that process
        had not ended.
    """

    def __init__(
        self,
        connect: collections.abc.Callable,
        pool_of: collections.abc.Callable[[str], str | None],
        settle: collections.abc.Callable[..., object],
    ) -> None:
        self._connect = connect
        self._pool_of = pool_of
        self._settle = settle
        self._lock = threading.Lock()
        self._moves: dict[str, moving.Move] = {}
        self._turn = threading.Lock()
        self._waiters = threading.BoundedSemaphore(MOST_WAITERS)
        #: Images of moves that are to be taken back.
        self._unanswered: set[str] = set()
        #: Images of moves of an earlier process that were not looked at yet.
        self._unseen: set[str] = set()

    def add(self, move: moving.Move) -> None:
        """Carry a move on from now."""
        with self._lock:
            self._moves[move.image] = move

    def take_back(self, move: moving.Move) -> None:
        """Take a move back, from now, that was not answered."""
        with self._lock:
            self._unanswered.add(move.image)
            self._moves[move.image] = move

    def of(self, image: str) -> moving.Move | None:
        """The move of an image that has not ended, if there is one."""
        with self._lock:
            return self._moves.get(image)

    def are_some(self) -> bool:
        """Return whether any image moves."""
        with self._lock:
            return bool(self._moves)

    def end(self, image: str, *, within_s: float) -> bool:
        """Wait until an image does not move any more.

        Not if too many requests do so: they have the threads of the service.

        :returns: whether it was soon enough.
        """
        if self.of(image) is None:
            return True
        if not self._waiters.acquire(blocking=False):
            return False
        try:
            ends = time.monotonic() + within_s
            while time.monotonic() < ends:
                self.go_on()
                if self.of(image) is None:
                    return True
                time.sleep(1)
        finally:
            self._waiters.release()
        return self.of(image) is None

    def resume(self, rados_pools: collections.abc.Sequence[str]) -> None:
        """Carry on, or take back, what an earlier process left.

        To be called while no volume is served yet: a move of which Cinder has
        not heard was not answered, and is taken back. One that cannot be is
        tried again with `go_on`; until then its volume stays as it was.
        """
        with self._connect() as images:
            for move in list(images.unfinished(rados_pools)):
                with self._lock:
                    self._unseen.add(move.image)
                self.add(move)
                self._try(self._resume, images, move)

    def _resume(self, images: moving.ClusterImages, move: moving.Move) -> None:
        state, step = self._look_at(images, move)
        LOG.info(
            'Found the move of %(move)s, %(state)s; next: %(step)s.',
            {'move': move, 'state': state.value, 'step': step.value},
        )
        if step is MoveStep.LEAVE and state is not moving.MoveState.OVER:
            LOG.error(
                'The move of %(move)s is left as it is: volume %(volume)s is '
                'in neither pool of this backend in Cinder, or the move is '
                'broken. "rbd status %(source)s/%(image)s" shows it; unless '
                'it is of another backend, end it with "rbd migration abort" '
                'or "commit".',
                {
                    'move': move,
                    'volume': move.volume_id,
                    'source': move.source,
                    'image': move.image,
                },
            )
            with self._lock:
                self._unseen.discard(move.image)
                if self._moves.get(move.image) == move:
                    del self._moves[move.image]
            return
        if step is MoveStep.ABORT:
            with self._lock:
                self._unanswered.add(move.image)
        elif self._pool_of(move.volume_id) == move.target:
            self._settle(move, is_answered=True)
        with self._lock:
            self._unseen.discard(move.image)
        if step is MoveStep.ABORT or state is moving.MoveState.OVER:
            self._go_on_with(images, move)

    def _look_at(
        self, images: moving.ClusterImages, move: moving.Move
    ) -> tuple[moving.MoveState, MoveStep]:
        pool: str | None = move.target
        if not images.is_answered(move):
            pool = self._pool_of(move.volume_id)
            if pool == move.target:
                images.answer(move)
        state = images.state(move)
        return state, next_step(state, move, pool)

    def go_on(self) -> None:
        """Do what each move needs next; for a periodic task.

        Nothing while another thread does so.
        """
        with self._lock:
            moves = tuple(self._moves.values())
        if not moves or not self._turn.acquire(blocking=False):
            return
        try:
            self._go_on(moves)
        finally:
            self._turn.release()

    def _go_on(self, moves: tuple[moving.Move, ...]) -> None:
        try:
            with self._connect() as images:
                for move in moves:
                    is_seen = move.image not in self._unseen
                    do = self._go_on_with if is_seen else self._resume
                    self._try(do, images, move)
        except exception.VolumeBackendAPIException as error:
            LOG.warning('%d moves wait for the cluster: %s', len(moves), error)

    def _try(
        self,
        do: collections.abc.Callable,
        images: moving.ClusterImages,
        move: moving.Move,
    ) -> None:
        try:
            do(images, move)
        except moving.NotYet as reason:
            LOG.warning('The move of %s waits. %s', move, reason)
        # The periodic task must go on, for this move and for the others.
        except Exception:  # noqa: BLE001 - logged
            LOG.exception('The move of %s waits.', move)

    def _go_on_with(
        self, images: moving.ClusterImages, move: moving.Move
    ) -> None:
        state, step = self._look_at(images, move)
        if step is MoveStep.ABORT and move.image in self._unanswered:
            images.take_back(move, state)
            self._settle(move, is_answered=False)
            state = moving.MoveState.OVER
        if state is moving.MoveState.OVER:
            if images.has_task(move):
                # It has the image open yet, and who deletes it is refused.
                return
            images.forget(move)
            with self._lock:
                self._unanswered.discard(move.image)
                # A deletion that waits looks at moves, too.
                self._moves.pop(move.image, None)
            LOG.info('The move of %s has ended.', move)
        elif step is MoveStep.EXECUTE:
            images.add_task(moving.Task.EXECUTE, move)
        elif step is MoveStep.COMMIT:
            images.add_task(moving.Task.COMMIT, move)
        elif step is MoveStep.FINISH:
            images.finish(move)
