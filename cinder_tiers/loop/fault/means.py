# SPDX-License-Identifier: Apache-2.0

"""Execution of faults: by Ceph, and by the operator's own commands."""

import collections.abc
import dataclasses
import subprocess
import sys
import time
import typing

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import carried_out as of_ceph
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.fault import objections
from cinder_tiers.loop.sweep import run_restore

#: That a command of the operator may take to begin or end a fault.
COMMAND_S = 60.0
#: That an OSD may take to come up again, or a monitor to show it.
UP_S = 120.0
_LOOK_EVERY_S = 1.0
_LOOK_AT_SCRUBS_S = 5.0
#: Of a fault of the operator's commands: nobody knows what it did.
_ENDED, _UNKNOWN = 'ended', 'not known'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mended:
    """Result of undoing a fault."""

    target: faults.Target
    #: As it was found.
    found: str
    outcome: run_restore.RestoreOutcome
    #: Why it failed.
    reason: str = ''

    @property
    def name(self) -> str:
        """Name of the fault in a journal."""
        return self.target.name

    @property
    def before(self) -> str:
        """State to which the target must return."""
        return before(self.target)

    @property
    def is_back(self) -> bool:
        """Return whether the target is as before the fault."""
        return self.outcome in (
            run_restore.RestoreOutcome.AS_BEFORE,
            run_restore.RestoreOutcome.BROUGHT_BACK,
        )


def before(target: faults.Target) -> str:
    """Return the state that a target has without the fault."""
    if target.fault.kind is faults.FaultKind.COMMAND:
        return _ENDED
    return of_ceph.before(target)


class FactsReader(typing.Protocol):
    """Reads a cluster, such as `observe.ceph.fault_facts.Reader`."""

    def facts(
        self,
        pool: str,
        osd_ids: collections.abc.Callable[
            [frozenset[int]], collections.abc.Iterable[int]
        ],
    ) -> cluster_facts.ClusterFacts:
        """Read the facts of the cluster that a fault needs."""

    def health(self) -> cluster_facts.Health:
        """Return the health of the cluster."""

    def osds(self) -> collections.abc.Mapping[int, cluster_facts.OsdStatus]:
        """{id: OSD} at the moment."""

    def deep_scrubs(self, pool: str) -> collections.abc.Mapping[str, str]:
        """{placement group: when it was deep-scrubbed, as Ceph writes it}."""


class Means:
    """Executes the faults of one cluster.

    :param session: session with the cluster.
    :param reader: reads the cluster.
    :param pool: pool that holds the data of the tier.
    :param are_ended: whether it is known that no command has begun a fault,
        which holds unless a process was killed.
    :param folder: folder in which commands of the operator run; '': that of
        this process.
    """

    def __init__(
        self,
        session: ceph_session.Session,
        reader: FactsReader,
        pool: str,
        *,
        are_ended: bool = True,
        folder: str = '',
    ) -> None:
        self._session = session
        self._reader = reader
        self._pool = pool
        self._are_ended = are_ended
        self._folder = folder
        #: Names of faults that commands have begun.
        self._begun: set[str] = set()
        #: {fault: {placement group: when it was last deep-scrubbed}}
        self._scrubbed: dict[str, dict[str, str]] = {}
        self._looked_at = 0.0

    def facts(
        self,
        struck: collections.abc.Sequence[faults.Fault],
        seed: int,
    ) -> tuple[cluster_facts.ClusterFacts, tuple[faults.Target, ...]]:
        """Return the cluster, and the targets of faults in it.

        :param seed: seed for random choices.
        :raises errors.TiersError: Ceph does not answer or refuses.
        """

        def targets(
            holders: collections.abc.Iterable[int],
        ) -> list[faults.Target]:
            return [
                faults.Target(
                    fault=one,
                    cluster=self._session.cluster.name,
                    pool=self._pool,
                    osd=(
                        objections.chosen_osd(one, holders, seed)
                        if one.kind in faults.OF_OSDS
                        else None
                    ),
                )
                for one in struck
            ]

        found = self._reader.facts(
            self._pool,
            lambda holders: _osds_of(targets(holders)),
        )
        return found, tuple(targets(found.holders))

    def objections(
        self, targets: collections.abc.Sequence[faults.Target]
    ) -> tuple[str, ...]:
        """Return objections to faults at this moment, a line for each.

        :raises errors.TiersError: Ceph does not answer or refuses.
        """
        if not any(
            one.fault.kind is not faults.FaultKind.COMMAND for one in targets
        ):
            return ()
        facts = self._reader.facts(
            self._pool, lambda _holders: _osds_of(targets)
        )
        of_health = (
            objections.of_health(facts)
            if any(one.fault.kind in faults.OF_OSDS for one in targets)
            else ()
        )
        return (
            *of_health,
            *(
                line
                for one in targets
                for line in objections.of_target(one, facts)
            ),
        )

    def health(self) -> cluster_facts.Health:
        """Return the health of the cluster.

        :raises errors.TiersError: Ceph does not answer or refuses.
        """
        return self._reader.health()

    def begin(self, target: faults.Target) -> None:
        """Makes a fault.

        :raises errors.TiersError: it is not made, or only in part.
        """
        kind = target.fault.kind
        if kind is faults.FaultKind.COMMAND:
            self._begun.add(target.name)
            _run(target.fault.begin, self._folder)
            return
        if kind is faults.FaultKind.DEEP_SCRUB:
            self._scrubbed[target.name] = dict(
                self._reader.deep_scrubs(target.pool)
            )
            self._looked_at = time.monotonic()
        of_ceph.begin(self._session, target, self._reader.osds)

    def is_over(self, target: faults.Target) -> bool:
        """Return whether a fault has ended by itself, as a deep scrub does.

        :raises errors.TiersError: Ceph does not answer or refuses.
        """
        if target.fault.kind is not faults.FaultKind.DEEP_SCRUB:
            return False
        # Of a large pool, it is a long answer.
        if time.monotonic() < self._looked_at + _LOOK_AT_SCRUBS_S:
            return False
        self._looked_at = time.monotonic()
        then = self._scrubbed[target.name]
        now = self._reader.deep_scrubs(target.pool)
        return all(
            stamp != then[group]
            for group, stamp in now.items()
            if group in then
        )

    def end(self, target: faults.Target) -> None:
        """Undoes a fault; may be repeated.

        :raises errors.TiersError: it is not undone.
        """
        if target.fault.kind is faults.FaultKind.COMMAND:
            _run(target.fault.end, self._folder)
            self._begun.discard(target.name)
        elif target.is_to_mend:
            of_ceph.end(self._session, target, self._reader.osds)

    def stand(self, target: faults.Target) -> str:
        """Return the present state of the target of a fault.

        :raises errors.TiersError: Ceph does not answer or refuses.
        """
        if target.fault.kind is not faults.FaultKind.COMMAND:
            return of_ceph.stand(target, self._reader.osds)
        if self._are_ended and target.name not in self._begun:
            return _ENDED
        return _UNKNOWN

    def mend(self, target: faults.Target, *, wait_s: float = UP_S) -> Mended:
        """Undo a fault, and check that it is undone.

        :param wait_s: seconds that this may take to show.
        :raises errors.Unreachable: Ceph does not answer.
        """
        try:
            found = self.stand(target)
        except errors.Unreachable:
            raise
        except errors.TiersError as error:
            return Mended(
                target=target,
                found=_UNKNOWN,
                outcome=run_restore.RestoreOutcome.FAILED,
                reason=str(error),
            )
        outcome, reason = run_restore.RestoreOutcome.AS_BEFORE, ''
        if found != before(target):
            try:
                self.end(target)
                reason = self._left(target, wait_s)
            except errors.Unreachable:
                raise
            except errors.TiersError as error:
                reason = str(error)
            outcome = (
                run_restore.RestoreOutcome.FAILED
                if reason
                else run_restore.RestoreOutcome.BROUGHT_BACK
            )
        return Mended(
            target=target, found=found, outcome=outcome, reason=reason
        )

    def _left(self, target: faults.Target, wait_s: float) -> str:
        """Return what remains of a fault that was undone; '' if nothing."""
        if target.fault.kind is faults.FaultKind.COMMAND:
            return ''
        until = time.monotonic() + wait_s
        while True:
            found = self.stand(target)
            if found == before(target):
                return ''
            if time.monotonic() >= until:
                return (
                    f'{target} is still {found}, expected {before(target)}; '
                    'is its daemon running?'
                )
            time.sleep(_LOOK_EVERY_S)


def _osds_of(
    targets: collections.abc.Iterable[faults.Target],
) -> list[int]:
    return [one.osd for one in targets if one.osd is not None]


def _run(words: tuple[str, ...], folder: str) -> None:
    """Run a command of the operator, without a shell.

    :param folder: folder in which it runs; '': that of this process.
    :raises errors.ActionFailed: it fails, or takes too long.
    """
    try:
        ran = subprocess.run(  # noqa: S603 - the operator's own command
            words,
            stdin=subprocess.DEVNULL,
            # Standard output is of the table of results.
            stdout=sys.__stderr__,
            cwd=folder or None,
            timeout=COMMAND_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise errors.ActionFailed(
            f'{words[0]!r} did not end within {COMMAND_S:g} s and was killed'
        ) from error
    except OSError as error:
        raise errors.ActionFailed(
            f'{words[0]!r} cannot be started'
            f'{f" in {folder}" if folder else ""}: {error.strerror}'
        ) from error
    if ran.returncode:
        raise errors.ActionFailed(
            f'{words[0]!r} ended with {ran.returncode}, expected 0'
        )
