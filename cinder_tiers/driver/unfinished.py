# SPDX-License-Identifier: Apache-2.0

"""Unfinished moves: each is committed or taken back.

A move goes on while Cinder has the volume in the new pool. The record of the
move is in Ceph, so that a service that starts finds the moves of an earlier
process.
"""

import collections.abc
import contextlib
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
#: The longest that a start waits for an OSD of a pool of others, in seconds.
OTHERS_WITHIN_S = 30


class Place(enum.Enum):
    """Where Cinder has the volume of a move."""

    SOURCE = 'in its old pool'
    TARGET = 'in its new pool'
    #: The option lacks its tier, or gives a tier of the move another pool.
    UNKNOWN = 'in a pool that is not known'
    #: In a third pool, in another backend, or nowhere.
    ELSEWHERE = 'elsewhere'


class MoveStep(enum.Enum):
    """Next step of a move."""

    EXECUTE = 'execute'
    COMMIT = 'commit'
    ABORT = 'abort'
    FINISH = 'finish'
    LEAVE = 'leave'


def next_step(state: moving.MoveState, place: Place) -> MoveStep:
    """Choose the next step of a move that no request waits for."""
    if state is moving.MoveState.COMMITTED:
        return MoveStep.FINISH
    if place is Place.SOURCE:
        return MoveStep.ABORT
    if place is not Place.TARGET or state is moving.MoveState.BROKEN:
        return MoveStep.LEAVE
    return (
        MoveStep.COMMIT
        if state is moving.MoveState.EXECUTED
        else MoveStep.EXECUTE
    )


class Moves:
    """The moves of a backend that have been answered, and not ended.

    :param connect: returns a context manager with `moving.ClusterImages`;
        takes the parameters of `monitors.connected`.
    :param place_of: takes a move and returns the place of its volume.
    :param settle: takes a move of an earlier process and `is_answered`, and
        sets the volume in Cinder to the state it would have if that process
        had not ended.
    """

    def __init__(
        self,
        connect: collections.abc.Callable,
        place_of: collections.abc.Callable[[moving.Move], Place],
        settle: collections.abc.Callable[..., object],
    ) -> None:
        self._connect = connect
        self._place_of = place_of
        self._settle = settle
        self._lock = threading.Lock()
        #: In the order in which they began. An image has two if the mark of
        #: an earlier move was left.
        self._moves: dict[moving.Move, None] = {}
        #: RADOS pools of the backend.
        self._served: frozenset[str] = frozenset()
        #: Images that begin to move.
        self._beginning: set[str] = set()
        self._turn = threading.Lock()
        self._waiters = threading.BoundedSemaphore(MOST_WAITERS)
        #: {request: seconds}, until nothing moves any more.
        self._waited_s: dict[str, float] = {}
        #: Moves that are to be taken back: whether Cinder's manager has ended
        #: since, and left their volumes as they are.
        self._unanswered: dict[moving.Move, bool] = {}
        #: Moves of an earlier process that were not looked at yet.
        self._unseen: set[moving.Move] = set()
        #: Those of them of which it was said that their place is not known.
        self._told: set[moving.Move] = set()

    def add(self, move: moving.Move) -> None:
        """Carry a move on from now."""
        with self._lock:
            self._moves[move] = None

    def take_back(self, move: moving.Move) -> None:
        """Take a move back, from now, that was not answered."""
        with self._lock:
            self._unanswered[move] = False
            self._moves[move] = None

    def of(self, image: str) -> moving.Move | None:
        """The move of an image that has not ended, if there is one.

        :returns: the last one if the image has several.
        """
        with self._lock:
            found = [move for move in self._moves if move.image == image]
        left = {move.source for move in found if move.source != move.target}
        return next(
            (move for move in found if move.target not in left),
            found[-1] if found else None,
        )

    def may_be_taken_back(self, move: moving.Move) -> bool:
        """Return whether what is written to the new image may be lost."""
        with self._lock:
            return move in self._unanswered or move in self._unseen

    def has_none_of(self, image: str) -> bool:
        """Return whether an image does not move."""
        return self.of(image) is None

    @contextlib.contextmanager
    def beginning(self, image: str) -> collections.abc.Iterator[None]:
        """While it is held, a move of an image begins, which `of` has not."""
        with self._lock:
            self._beginning.add(image)
        try:
            yield
        finally:
            with self._lock:
                self._beginning.discard(image)

    def begins(self, image: str) -> bool:
        """Return whether a move of an image begins."""
        with self._lock:
            return image in self._beginning

    def are_some(self) -> bool:
        """Return whether any image moves, or begins to move."""
        with self._lock:
            return bool(self._moves or self._beginning)

    def end(
        self,
        is_over: collections.abc.Callable[[], bool],
        *,
        within_s: float,
        request: str | None = None,
    ) -> bool:
        """Wait for moves.

        Not if too many requests do so: they have the threads of the service.

        :param is_over: returns whether it need not wait any more.
        :param within_s: longest wait, of all waits of a request together.
        :param request: its ID; a deletion with the snapshots waits for each,
            and that of a group for each volume.
        :returns: whether it was soon enough.
        """
        if is_over():
            return True
        if not self._waiters.acquire(blocking=False):
            return False
        began = time.monotonic()
        waited_s = self._waited_s.get(request, 0) if request else 0
        try:
            ends = began + within_s - waited_s
            while time.monotonic() < ends:
                self.go_on()
                if is_over():
                    return True
                time.sleep(1)
        finally:
            self._waiters.release()
            if request:
                with self._lock:
                    self._waited_s[request] = (
                        waited_s + time.monotonic() - began
                    )
        return is_over()

    def resume(self, rados_pools: collections.abc.Sequence[str]) -> None:
        """Carry on, or take back, what an earlier process left.

        To be called while no volume is served yet: a move of which Cinder has
        not heard was not answered, and is taken back. One that cannot be is
        tried again with `go_on`; until then its volume stays as it was.
        """
        self._served = frozenset(rados_pools)
        with self._connect(osd_timeout_s=OTHERS_WITHIN_S) as images:
            found = images.unfinished_elsewhere(self._served)
        with self._connect(asks_manager=True) as images:
            for pool in rados_pools:
                found += images.unfinished(pool)
            for move in found:
                with self._lock:
                    self._unseen.add(move)
                self.add(move)
                self._try(self._resume, images, move)

    def _resume(self, images: moving.ClusterImages, move: moving.Move) -> None:
        place = self._place_of(move)
        if place is Place.ELSEWHERE and not self._served & {
            *(move.source, move.target)
        }:
            # Of another backend.
            self._drop(move)
            return
        state, step = self._look_at(images, move)
        is_over = state is moving.MoveState.OVER
        if step is MoveStep.LEAVE and place is Place.UNKNOWN:
            self._tell_that_unknown(move)
            return
        LOG.info(
            'Found the move of %(move)s, %(state)s; next: %(step)s.',
            {'move': move, 'state': state.value, 'step': step.value},
        )
        if step is MoveStep.LEAVE and not is_over:
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
            self._drop(move)
            return
        if step is MoveStep.ABORT:
            with self._lock:
                self._unanswered[move] = True
        elif place is Place.TARGET:
            self._settle(move, is_answered=True)
        with self._lock:
            self._unseen.discard(move)
        if step is MoveStep.ABORT or is_over:
            self._go_on_with(images, move)
            return
        for pool in sorted({move.source, move.target} - self._served):
            LOG.warning(
                'The move of %(move)s goes on, although tiers_rbd_pools does '
                'not name pool %(pool)s: keep that pool, and the rights in '
                'it, until "rbd status %(target)s/%(image)s" shows no '
                'migration.',
                {
                    'move': move,
                    'pool': pool,
                    'target': move.target,
                    'image': move.image,
                },
            )

    def _tell_that_unknown(self, move: moving.Move) -> None:
        if move in self._told:
            return
        self._told.add(move)
        LOG.error(
            'The move of %(move)s waits: tiers_rbd_pools does not name the '
            'tier in which Cinder has volume %(volume)s, or gives a tier of '
            'the move (%(tiers)s) another pool. Put the option back until '
            '"rbd status %(target)s/%(image)s" shows no migration; if a tier '
            'has another name now, change the host of its volumes with '
            '"cinder-manage volume update_host".',
            {
                'move': move,
                'volume': move.volume_id,
                'tiers': ' to '.join(move.tiers) or 'not recorded',
                'target': move.target,
                'image': move.image,
            },
        )

    def _drop_ended(self, move: moving.Move) -> None:
        self._drop(move)
        LOG.info('The move of %s has ended.', move)

    def _drop(self, move: moving.Move) -> None:
        with self._lock:
            self._unseen.discard(move)
            self._unanswered.pop(move, None)
            # A deletion that waits looks at moves, too.
            self._moves.pop(move, None)
            if not self._moves:
                self._waited_s.clear()

    def _look_at(
        self, images: moving.ClusterImages, move: moving.Move
    ) -> tuple[moving.MoveState, MoveStep]:
        place = Place.TARGET
        if not images.is_answered(move):
            place = self._place_of(move)
            if place is Place.TARGET:
                images.answer(move)
        state = images.state(move)
        return state, next_step(state, place)

    def go_on(self) -> None:
        """Do what each move needs next; for a periodic task.

        Nothing while another thread does so.
        """
        with self._lock:
            moves = tuple(self._moves)
        if not moves or not self._turn.acquire(blocking=False):
            return
        try:
            self._go_on(moves)
        finally:
            self._turn.release()

    def _go_on(self, moves: tuple[moving.Move, ...]) -> None:
        try:
            with self._connect(asks_manager=True) as images:
                for move in moves:
                    is_seen = move not in self._unseen
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
        if step is MoveStep.ABORT and move in self._unanswered:
            images.take_back(move, state)
            if self._unanswered[move]:
                self._settle(move, is_answered=False)
            self._drop_ended(move)
        elif state is moving.MoveState.OVER:
            if images.has_task(move):
                # It has the image open yet, and who deletes it is refused.
                return
            images.forget(move)
            self._drop_ended(move)
        elif step is MoveStep.EXECUTE:
            images.add_task(moving.Task.EXECUTE, move)
        elif step is MoveStep.COMMIT:
            images.add_task(moving.Task.COMMIT, move)
        elif step is MoveStep.FINISH:
            images.finish(move)
