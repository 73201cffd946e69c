# SPDX-License-Identifier: Apache-2.0

"""Carries out the steps of a repair, a few at a time.

Each step looks at its volume first, and does nothing if that is not as it was
when the plan was made. Nothing is kept about what is done: after an end in the
middle, what is left is what the next plan shows.
"""

import collections.abc
import concurrent.futures
import dataclasses
import threading
import time

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.loop.repair import pace
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import servers
from cinder_tiers.loop.repair import shelving
from cinder_tiers.observe.cinder import volumes
from cinder_tiers.observe import visible_cloud

#: How often Cinder is asked; a retype that copies nothing takes a second.
_POLL_S = 2.0
#: Between two progress messages of a move.
_SAY_EVERY_S = 60.0
#: Statuses of HTTP from here on are of servers and proxies.
_OF_SERVERS = 500
#: Of a volume, between the plan and its step.
_COMPARED = (
    'type_name',
    'host',
    'status',
    'stored_id',
    'is_migrating',
    'size_gib',
)
#: Types are compared by name.
_NOTHING_KNOWN = facts.VisibleCloud(
    project='', is_admin=True, types=(), default_type=None, backends=None
)
#: A restart of cinder-api takes no longer.
_MOST_SILENT_S = 600.0
#: How often a volume is at rest before its new type is missed: Cinder gives it
#: its status and its type one after the other.
_POLLS_AT_REST = 5
#: For a move, where a server fails.
_MOST_REQUESTS = 3
#: Of a volume that Cinder works on.
_BUSY = ('retyping', 'maintenance')
#: The longest wait for a move: its cinder-volume may have stopped for good.
_MOST_S = 24 * 3600.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepResult:
    """A step, and what came of it."""

    step: repair.RepairStep
    outcome: repair.StepOutcome
    #: Why it is not done; empty if it is.
    reason: str = ''
    #: host@backend#pool where its volume was then; None: it did not move.
    host: str | None = None


class _NotAsPlanned(errors.TiersError):
    """A volume is not as the plan showed it."""


def carry_out(
    steps: collections.abc.Sequence[repair.RepairStep],
    *,
    connection: openstack.connection.Connection,
    sessions: collections.abc.Mapping[str, ceph_session.Session],
    at_once: int,
    is_to_stop: collections.abc.Callable[[], bool],
    report: collections.abc.Callable[[StepResult], None],
    say: collections.abc.Callable[[str], None],
    pace: pace.Pace | None = None,
    not_back: collections.abc.Iterable[str] = (),
    poll_s: float = _POLL_S,
) -> list[StepResult]:
    """Execute the steps that are not refused.

    :param sessions: {cluster: session}, with the clusters of images to write.
    :param at_once: maximum number of steps at a time.
    :param is_to_stop: called before each step; once True, no further step
        begins.
    :param report: called with each result, one after another.
    :param say: called with a line on what a step waits for.
    :param pace: delays steps before they begin; None: no delay.
    :param not_back: ids of servers that did not come back; if there is one, no
        server is shelved.
    :param poll_s: seconds between checks whether a step has ended.
    :returns: a result for each step, in their order.
    """
    telling = threading.Lock()
    # What ends the process at once must not wait for hours of copying.
    abandoned = threading.Event()
    work = _Work(
        connection=connection,
        sessions=sessions,
        say=say,
        telling=telling,
        abandoned=abandoned,
        poll_s=poll_s,
        not_back=list(not_back),
    )

    def is_ended() -> bool:
        return is_to_stop() or abandoned.is_set()

    asked: list[concurrent.futures.Future] = []
    #: Retypes of attached volumes that keep their data, which take seconds.
    before: list[concurrent.futures.Future] = []

    def never(step: repair.RepairStep) -> StepResult | None:
        """Wait until a step may begin; the result if it does not."""
        if step.refusal:
            return StepResult(
                step=step,
                outcome=repair.StepOutcome.REFUSED,
                reason=step.refusal,
            )
        reason = (
            pace.wait(step, is_ended=is_ended, say=work.tell)
            # A server that is down does not wait.
            if pace and not (step.shelves and step.shelves.is_left)
            else ''
        )
        if step.shelves and work.not_back:
            reason = f'server {work.not_back[0]} did not come back'
        if reason or is_ended():
            return StepResult(
                step=step,
                outcome=repair.StepOutcome.NOT_STARTED,
                reason=reason,
            )
        return None

    def done(
        together: collections.abc.Sequence[repair.RepairStep],
    ) -> list[StepResult]:
        if together[0].shelves:
            # Nova ends a guest, and then finds that Cinder is at its volume.
            concurrent.futures.wait(before)
        # A server is not down while its volumes wait for their turn.
        results = [never(step) for step in together]
        begin = [
            step
            for step, result in zip(together, results, strict=True)
            if result is None
        ]
        begun = iter(
            work.results_of_server(begin, is_ended)
            if begin and begin[0].shelves
            else [work.result_of(step) for step in begin]
        )
        found = [result or next(begun) for result in results]
        with telling:
            for result in found:
                report(result)
        return found

    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        # What moves no data does not wait for what does.
        for together in sorted(_together(steps), key=_turn):
            future = threads.submit(done, together)
            asked.append(future)
            if _keeps_data_of_server(together[0]):
                before.append(future)
        try:
            results = {
                result.step.volume.volume_id: result
                for one in asked
                for result in one.result()
            }
        except BaseException:
            abandoned.set()
            raise
    return [results[step.volume.volume_id] for step in steps]


def _together(
    steps: collections.abc.Iterable[repair.RepairStep],
) -> collections.abc.Iterable[list[repair.RepairStep]]:
    """Steps of the volumes of one server; each other step alone."""
    found: dict[object, list[repair.RepairStep]] = {}
    for step in steps:
        key = step.shelves if step.shelves and not step.refusal else step
        found.setdefault(id(step) if key is step else key, []).append(step)
    return found.values()


def _turn(together: collections.abc.Sequence[repair.RepairStep]) -> int:
    """Whose steps come first: what copies not, and servers that are down.

    Steps of servers wait for steps of attached volumes that keep their data:
    these must have begun.
    """
    step = together[0]
    if _keeps_data_of_server(step):
        return 0
    if step.shelves:
        return 1 if step.shelves.is_left else 3
    return 2 if not step.moved_gib else 3


def _keeps_data_of_server(step: repair.RepairStep) -> bool:
    return bool(
        step.retype_to
        and not step.moved_gib
        and not step.shelves
        and step.volume.status == 'in-use'
    )


def finish(
    left: collections.abc.Iterable[repair.Server],
    *,
    connection: openstack.connection.Connection,
    sessions: collections.abc.Mapping[str, ceph_session.Session],
    is_to_stop: collections.abc.Callable[[], bool],
    say: collections.abc.Callable[[str], None],
    poll_s: float = _POLL_S,
) -> dict[str, str]:
    """Make servers what they were that a repair has left locked.

    :param sessions: sessions with the clusters by their names, for what their
        managers still copy.
    :param is_to_stop: called before each; once True, no further one begins.
    :param say: called with a line on each that is.
    :returns: {id of a server that is not: why}
    """
    work = _Work(
        connection=connection,
        sessions=sessions,
        say=say,
        telling=threading.Lock(),
        abandoned=threading.Event(),
        poll_s=poll_s,
        not_back=[],
    ).new_shelving()
    failures = {}
    for server in left:
        try:
            found = servers.read(connection, server.server_id)
            if isinstance(found, str):
                say(f'not finished: {found.removeprefix("its ")}')
                continue
            if found != server:
                continue
            if is_to_stop():
                failures[server.server_id] = (
                    f'server {server.server_id} is still locked'
                )
                continue
            work.finish(server)
        except servers.Gone as error:
            say(f'not finished: {error}')
        except errors.TiersError as error:
            failures[server.server_id] = str(error)
        else:
            say(
                f'server {server.server_id}, which a repair had left, is '
                f'{server.state.value} again'
            )
    return failures


def images_with_tasks(
    sessions: collections.abc.Iterable[ceph_session.Session],
) -> set[str]:
    """Return the names of images that managers of Ceph still work on.

    :param sessions: sessions with the clusters.
    :raises errors.TiersError: a manager does not tell this user.
    """
    return {
        task['refs'].get('image_name', '')
        for session in sessions
        for task in session.ask_manager('rbd task list') or ()
    }


def _wait(ended: threading.Event, seconds: float, what: str) -> None:
    if ended.wait(seconds):
        raise errors.ActionFailed(f'Nobody waited for {what}')


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Work:
    """Context in which steps are executed."""

    connection: openstack.connection.Connection
    sessions: collections.abc.Mapping[str, ceph_session.Session]
    say: collections.abc.Callable[[str], None]
    telling: threading.Lock
    abandoned: threading.Event
    poll_s: float
    #: Ids of servers that are not what they were; no other one is shelved.
    not_back: list[str]

    def tell(self, line: str) -> None:
        """Write a line, while no other thread reports."""
        with self.telling:
            self.say(line)

    def new_shelving(self) -> shelving.Shelving:
        """Return what shelves servers, and starts them when they can read."""
        return shelving.Shelving(
            self.connection,
            wait=lambda what: _wait(self.abandoned, self.poll_s, what),
            now=time.monotonic,
            say=self.tell,
            copied=self._copied,
        )

    def _copied(self) -> set[str]:
        if not self.sessions:
            raise errors.Unreachable('no Ceph cluster answered')
        return images_with_tasks(self.sessions.values())

    def results_of_server(
        self,
        steps: collections.abc.Sequence[repair.RepairStep],
        is_ended: collections.abc.Callable[[], bool],
    ) -> list[StepResult]:
        """Carry out steps of the volumes of a server that is shelved once."""
        server = steps[0].shelves
        assert server  # noqa: S101 - of `_together`
        work = self.new_shelving()
        changed = {
            step.volume.volume_id: result
            for step in steps
            if (result := self._not_as_planned(step))
        }
        to_do = [one for one in steps if one.volume.volume_id not in changed]
        results: dict[str, StepResult] = {}
        outcome, reason = repair.StepOutcome.NOT_STARTED, ''
        try:
            if to_do:
                self.tell(
                    f'server {server.server_id} is shelved for {len(to_do)} '
                    f'volume{"" if len(to_do) == 1 else "s"}'
                )
                with work.shelved(
                    server, [step.volume.volume_id for step in to_do]
                ):
                    for step in to_do:
                        if is_ended():
                            break
                        results[step.volume.volume_id] = self.result_of(
                            step, work
                        )
        except shelving.ServerChanged as error:
            outcome, reason = repair.StepOutcome.CHANGED, str(error)
        except errors.TiersError as error:
            if isinstance(error, shelving.NotBack):
                self.not_back.append(server.server_id)
            outcome, reason = repair.StepOutcome.FAILED, str(error)
            # Who reads of one volume only must learn of the server.
            results = {
                volume: dataclasses.replace(
                    one,
                    outcome=outcome,
                    reason='; '.join(
                        (one.reason or 'its type was changed', reason)
                    ),
                )
                for volume, one in results.items()
            }
        found = results | changed
        return [
            found.get(step.volume.volume_id)
            or StepResult(step=step, outcome=outcome, reason=reason)
            for step in steps
        ]

    def _not_as_planned(self, step: repair.RepairStep) -> StepResult | None:
        try:
            self._look(step)
        except _NotAsPlanned as error:
            outcome, reason = repair.StepOutcome.CHANGED, str(error)
        except errors.TiersError as error:
            outcome, reason = repair.StepOutcome.FAILED, str(error)
        else:
            return None
        return StepResult(step=step, outcome=outcome, reason=reason)

    def result_of(
        self,
        step: repair.RepairStep,
        shelved: shelving.Shelving | None = None,
    ) -> StepResult:
        """Carry out a step that is not refused.

        :param shelved: the shelving of its server; None if no server has it.
        """
        host = None
        try:
            if shelved and step.shelves:
                with shelved.open(step.shelves, step.volume.volume_id):
                    host = self._move(step)
                return StepResult(
                    step=step, outcome=repair.StepOutcome.DONE, host=host
                )
            self._look(step)
            if step.limits:
                self._limit(step, step.limits)
            elif step.flattens:
                self._flatten(step, step.flattens)
            else:
                host = self._move(step)
        except _NotAsPlanned as error:
            return StepResult(
                step=step,
                outcome=repair.StepOutcome.CHANGED,
                reason=str(error),
            )
        except errors.TiersError as error:
            return StepResult(
                step=step, outcome=repair.StepOutcome.FAILED, reason=str(error)
            )
        return StepResult(
            step=step, outcome=repair.StepOutcome.DONE, host=host
        )

    def _show(self, step: repair.RepairStep) -> facts.KnownVolume:
        volume = step.volume.volume_id
        with openstack_client.asking(f'Cinder did not show volume {volume}'):
            found = openstack_client.request(
                self.connection.block_storage, 'GET', '/volumes/{}', volume
            ).json()['volume']
            return visible_cloud.parse_volume(found, _NOTHING_KNOWN)

    def _look(self, step: repair.RepairStep) -> None:
        """Look whether a volume is as the plan shows it.

        :raises _NotAsPlanned: it is not.
        """
        found = self._show(step)
        changed = [
            f'{name.replace("_", " ")} was {before} and is {now}'
            for name in _COMPARED
            for before, now in [
                (getattr(step.volume, name), getattr(found, name))
            ]
            if before != now
        ]
        if changed:
            raise _NotAsPlanned(
                f'since the plan was made, its {", its ".join(changed)}; run '
                'the command again'
            )

    def _limit(
        self, step: repair.RepairStep, found: volume_limits.ImageLimits
    ) -> None:
        """Set the limits of an image, if they are as the plan shows them."""
        session, pool = self.sessions[found.place.cluster], found.place.pool
        image = volumes.image_of(step.volume)
        now = volumes.limits_among(session.image_options(pool, image) or {})
        if now != dict(found.has):
            raise _NotAsPlanned(
                'since the plan was made, the limits of its image changed; '
                'run the command again'
            )
        session.set_image_options(pool, image, found.changes)

    def _flatten(
        self, step: repair.RepairStep, place: volume_limits.ClusterPool
    ) -> None:
        """Have Ceph's manager flatten an image, and wait until it has.

        The manager goes on with it, whatever becomes of this process.

        :raises errors.TiersError: Ceph refused it, or did not do it.
        """
        session = self.sessions[place.cluster]
        image = volumes.image_of(step.volume)
        spec = f'{place.pool}/{image}'
        found = session.image(place.pool, image)
        if found.parent is None:
            raise _NotAsPlanned(
                'since the plan was made, its image was flattened'
            )
        if found.is_migrating:
            # librbd takes the parent off, and copies nothing of it after that.
            raise errors.ActionFailed(
                f'{spec} still comes from another pool, and would lose what '
                'it has from its parent if Ceph flattened it now; run the '
                'command again when "rbd status" does not show the migration '
                'any more'
            )
        task = self._give_task(session, place.pool, image)
        if task is None:
            return
        begun = said = answered = time.monotonic()
        while True:
            if self.abandoned.wait(self.poll_s):
                raise errors.ActionFailed(
                    f'Nobody waited until {spec} was flattened, which Ceph '
                    'goes on with.'
                )
            now = time.monotonic()
            try:
                tasks = session.ask_manager('rbd task list') or []
            except errors.Unreachable:
                # Another manager goes on with what the one before began.
                if now - answered > _MOST_SILENT_S:
                    raise
                continue
            answered = now
            left = [one for one in tasks if one['id'] == task['id']]
            if not left:
                break
            if now - begun > _MOST_S:
                raise errors.ActionFailed(
                    f'Ceph has not flattened {spec} in '
                    f'{_MOST_S / 3600:.0f} h, and may go on with it: see '
                    '"ceph rbd task list"'
                )
            if now - said > _SAY_EVERY_S:
                said = now
                done = left[0].get('progress') or 0
                self.tell(
                    f'{spec} is {100 * done:.0f} % flattened after '
                    f'{(now - begun) / 60:.0f} min'
                )
        if session.image(place.pool, image).parent is not None:
            raise errors.ActionFailed(
                f'Ceph gave up to flatten {spec}; the log of its manager says '
                'why'
            )

    def _give_task(
        self, session: ceph_session.Session, pool: str, image: str
    ) -> collections.abc.Mapping | None:
        """Ask Ceph's manager to flatten an image, again while it is silent.

        :returns: its task; None if the image is flattened.
        :raises errors.TiersError: it refused, or does not answer.
        """
        ends = time.monotonic() + _MOST_SILENT_S
        while True:
            try:
                # One task, however often it is asked.
                return session.ask_manager(
                    'rbd task add flatten', image_spec=f'{pool}/{image}'
                )
            except errors.Unreachable:
                if time.monotonic() > ends or self.abandoned.wait(self.poll_s):
                    raise
            if session.image(pool, image).parent is None:
                return None

    def _move(self, step: repair.RepairStep) -> str | None:
        """Retype or migrate a volume, and wait until Cinder has ended it.

        A request that a server answered with its own failure, such as a
        deadlock of its database, is sent again while nothing came of it.

        :returns: host@backend#pool where it is then.
        :raises errors.TiersError: Cinder refused it, or did not do it.
        """
        volume = step.volume.volume_id
        for _ in range(_MOST_REQUESTS):
            failure = self._request_move(step)
            found = self._at_rest(step)
            if _has_come(step, found):
                return found.host
            if not failure:
                break
        raise errors.ActionFailed(
            f'Cinder gave up the move of volume {volume}: its type is '
            f'{found.type_name}, its host {found.host}, its status '
            f'{found.status}; {failure}"openstack volume message list" and '
            'the logs of cinder-api, cinder-scheduler and cinder-volume say '
            'why'
        )

    def _request_move(self, step: repair.RepairStep) -> str:
        """Ask Cinder for a move; how a server failed, if one did."""
        volume = step.volume.volume_id
        with openstack_client.asking(
            f'Cinder did not begin to move volume {volume}'
        ):
            try:
                openstack_client.request(
                    self.connection.block_storage,
                    'POST',
                    '/volumes/{}/action',
                    volume,
                    json=_order(step),
                )
            except openstack.exceptions.HttpException as error:
                # A proxy that gave up says nothing of what Cinder does.
                if (error.status_code or 0) < _OF_SERVERS:
                    raise
                return (
                    f'the API answered the request with {error.status_code}; '
                )
        return ''

    def _at_rest(self, step: repair.RepairStep) -> facts.KnownVolume:
        """Wait until Cinder does nothing with a volume; the volume then."""
        volume = step.volume.volume_id
        begun = said = answered = time.monotonic()
        at_rest = 0
        while True:
            if self.abandoned.wait(self.poll_s):
                raise errors.ActionFailed(
                    f'Nobody waited for the move of volume {volume}, which '
                    'Cinder goes on with.'
                )
            now = time.monotonic()
            try:
                found = self._show(step)
            except errors.NotVisible:
                raise
            except errors.Unreachable:
                # A restart of the API does not end what cinder-volume does.
                if now - answered > _MOST_SILENT_S:
                    raise
                continue
            answered = now
            if found.status not in _BUSY and not found.is_migrating:
                at_rest += 1
                if _has_come(step, found) or at_rest == _POLLS_AT_REST:
                    return found
                continue
            at_rest = 0
            if now - begun > _MOST_S:
                raise errors.ActionFailed(
                    f'Volume {volume} has been {found.status} for '
                    f'{_MOST_S / 3600:.0f} h; Cinder may go on with it: see '
                    'the log of cinder-volume'
                )
            if now - said > _SAY_EVERY_S:
                said = now
                self.tell(
                    f'volume {volume} has been {found.status} for '
                    f'{(now - begun) / 60:.0f} min'
                )


def _order(step: repair.RepairStep) -> dict[str, object]:
    if step.migrate_to:
        # Locked, so that its user waits rather than ends the migration.
        return {
            'os-migrate_volume': {'host': step.migrate_to, 'lock_volume': True}
        }
    keeps = step.kind is repair.RepairKind.TYPE
    return {
        'os-retype': {
            'new_type': step.retype_to,
            'migration_policy': 'never' if keeps else 'on-demand',
        }
    }


def _has_come(step: repair.RepairStep, found: facts.KnownVolume) -> bool:
    if step.retype_to:
        return found.type_name == step.retype_to
    return repair.is_same_place(step.migrate_to, found.host)
