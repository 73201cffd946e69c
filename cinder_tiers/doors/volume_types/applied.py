# SPDX-License-Identifier: Apache-2.0

"""The applied tiers, read from the volume types in Cinder's database.

Must not know any request: what it reads is the same for all of them, since
extra specs and private types are not for tenants. Safe under native threads,
and under eventlet.
"""

import collections.abc
import dataclasses
import threading
import time

import cachetools
from cinder import context as cinder_context
from oslo_log import log as logging

from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.doors.threads import shared_work
from cinder_tiers.doors.volume_types import volume_type_rows

LOG = logging.getLogger(__name__)

_MOST_PROJECTS = 10000
#: Share of the time for which the state is remembered after which it is read
#: anew.
_AHEAD = 0.8
#: Seconds for which a request waits for the state at most when it has one.
_MOMENT_S = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumeType:
    """A volume type of Cinder, whether it is a tier or not."""

    type_id: str
    name: str
    is_public: bool
    extra_specs: collections.abc.Mapping[str, str]
    #: Whether it leaves the choice of the tier to the image.
    follows_image: bool
    #: Ids of the projects that have access; None when all may use it.
    projects: frozenset[str] | None
    #: What it gives to its volumes.
    offers: frozenset[decision.Feature] = frozenset()

    def may_use(self, context: cinder_context.RequestContext) -> bool:
        """Return whether Cinder gives the type to a request."""
        return (
            self.projects is None
            or bool(context.is_admin)
            or context.project_id in self.projects
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedState:
    """The tiers, and what else of Cinder's types placement needs."""

    tiers: tuple[decision.AppliedTier, ...] = ()
    #: {name of a tier: its volume type}
    types: collections.abc.Mapping[str, VolumeType] = dataclasses.field(
        default_factory=dict
    )
    #: {name or id: volume type} of all types, also those that are not tiers.
    by_ident: collections.abc.Mapping[str, VolumeType] = dataclasses.field(
        default_factory=dict
    )
    #: All types with the mark of a tier, also those that were retired, wait
    #: for their name, or cannot be read: who has no access to one must not
    #: get its backends. Not those that an apply has not opened yet: until a
    #: tier is complete its backends serve whom they served before.
    marked: tuple[VolumeType, ...] = ()
    #: One sentence for each managed volume type that cannot be read; the
    #: other tiers work on without it.
    problems: tuple[str, ...] = ()
    #: One sentence for each volume type that an apply has not opened yet.
    unfinished: tuple[str, ...] = ()
    #: Whether any volume type has an encryption.
    any_encryption: bool = False

    def find(self, ident: str | None) -> VolumeType | None:
        """A volume type by its exact name or id.

        The database may take other spellings for the same name; what a
        request names is for Cinder to look up.

        :param ident: hostile text.
        """
        return None if ident is None else self.by_ident.get(ident)

    @property
    def following(self) -> frozenset[str]:
        """Names and ids of the types that leave the choice to the image."""
        return frozenset(
            ident
            for ident, found in self.by_ident.items()
            if found.follows_image
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Parsed:
    """A volume type: its database row and the parsed values."""

    row: volume_type_rows.TypeRow
    volume_type: VolumeType
    reading: tier_specs.TypeReading


def _parse(row: volume_type_rows.TypeRow) -> _Parsed:
    return _Parsed(
        row=row,
        reading=tier_specs.read_type(
            row.extra_specs,
            type_id=row.type_id,
            name=row.name,
            projects=row.projects,
            is_encrypted=row.is_encrypted,
            description=row.description,
        ),
        volume_type=VolumeType(
            type_id=row.type_id,
            name=row.name,
            is_public=row.projects is None,
            extra_specs=row.extra_specs,
            projects=row.projects,
            follows_image=tier_specs.follows_image(row.extra_specs),
            offers=tier_specs.features(
                row.extra_specs, is_encrypted=row.is_encrypted
            ),
        ),
    )


def _state_of(found: collections.abc.Iterable[_Parsed]) -> AppliedState:
    found = sorted(found, key=lambda one: (one.row.name, one.row.type_id))
    by_id = {one.row.type_id: one.volume_type for one in found}
    read = tier_specs.read_tiers(one.reading for one in found)
    return AppliedState(
        tiers=read.tiers,
        types={name: by_id[one.type_id] for name, one in read.types.items()},
        problems=read.problems,
        unfinished=tuple(one.problem for one in read.half_made if one.problem),
        # Ids last: that is what Cinder looks for first.
        by_ident={one.row.name: one.volume_type for one in reversed(found)}
        | by_id,
        marked=tuple(
            one.volume_type for one in found if one.reading.is_marked
        ),
        any_encryption=any(one.row.is_encrypted for one in found),
    )


class TypeReader:
    """Reads all volume types, and parses those that changed since.

    Not safe for use by several threads at one time.
    """

    def __init__(self) -> None:
        """Create a reader that has read nothing."""
        self._known: dict[str, _Parsed] = {}
        self._state = AppliedState()

    def read(self, context: cinder_context.RequestContext) -> AppliedState:
        """Read all tiers; returns the same object if nothing changed.

        :param context: any context; its rights do not matter.
        :raises Exception: Cinder's database layer failed.
        """
        found = {}
        for row in volume_type_rows.read_types(context):
            known = self._known.get(row.type_id)
            found[row.type_id] = (
                known if known and known.row == row else _parse(row)
            )
        if len(found) != len(self._known) or any(
            one is not self._known.get(type_id)
            for type_id, one in found.items()
        ):
            self._known, self._state = found, _state_of(found.values())
        return self._state


def read_applied(context: cinder_context.RequestContext) -> AppliedState:
    """Read all tiers, in four queries.

    :param context: any context; its rights do not matter.
    :raises Exception: Cinder's database layer failed.
    """
    return TypeReader().read(context)


Read = collections.abc.Callable[[cinder_context.RequestContext], AppliedState]


class AppliedTiers:
    """The applied state, remembered for a short while.

    Who finds it too old has a thread read it anew, and goes on with what is
    there. When it cannot be read, what is remembered serves on.
    """

    def __init__(
        self,
        *,
        read: Read | None = None,
        clock: collections.abc.Callable[[], float] = time.monotonic,
        wait_s: float = 5.0,
        pauses_s: tuple[float, ...] = (0.1, 0.5),
    ) -> None:
        """Create an empty memory; no thread is started.

        :param read: reads the database; by default a `TypeReader`.
        :param clock: returns seconds of a monotonic clock.
        :param wait_s: seconds that a request waits at most for a read of
            another thread.
        :param pauses_s: seconds between the tries of the first read.
        """
        self._read = TypeReader().read if read is None else read
        self._clock = clock
        self._wait_s = wait_s
        self._pauses_s = pauses_s
        self._lock = threading.Lock()
        self._state: AppliedState | None = None
        self._read_at = self._tried_at = 0.0
        self._tries = 0
        self._reading = shared_work.SharedWork(
            'cinder-tiers-applied', self._read_again, clock=clock
        )

    def get(
        self, context: cinder_context.RequestContext, *, ttl_s: float
    ) -> AppliedState:
        """Return the remembered state.

        Another thread reads it anew a little before it is older than `ttl_s`,
        so that under a steady flow of requests none waits. A request that
        finds it older waits for the read: for a second at most, or longer if
        the state is very old, as after an hour without requests.

        :param context: context of the request.
        :param ttl_s: seconds for which the state is remembered; 0: each
            request reads it itself.
        :raises Exception: the state was never read, and the database layer
            failed.
        """
        known = self._state
        if known is None:
            return self._read_first(context)
        if ttl_s == 0:
            with self._lock:
                return self._refresh_or_keep(context)
        tried_at = self._tried_at
        age_s = self._clock() - tried_at
        if age_s < _AHEAD * ttl_s:
            return known
        try:
            reading = self._reading.ask(lambda: self._tried_at == tried_at)
        except RuntimeError:  # no thread can be started
            with self._lock:
                return self._refresh_or_keep(context)
        if reading is not None and age_s >= ttl_s:
            is_very_old = self._clock() - self._read_at > 2 * ttl_s + 1
            reading.wait(
                self._wait_s if is_very_old else min(self._wait_s, _MOMENT_S)
            )
        return self._state or known

    def read_anew(
        self,
        context: cinder_context.RequestContext,
        stale: AppliedState | None = None,
    ) -> AppliedState:
        """Return the current state, or one that another request just read.

        If many requests find at the same time that a tier is gone, the first
        reads, and the others wait for it.

        :param context: context of the request.
        :param stale: the outdated state; any other one is returned without a
            read.
        :raises TimeoutError: another read did not end in time.
        :raises Exception: Cinder's database layer failed.
        """
        if not self._lock.acquire(timeout=self._wait_s):
            raise TimeoutError
        try:
            known = self._state
            if stale is None or known is None or known is stale:
                return self._refresh(context)
            return known
        finally:
            self._lock.release()

    def _read_first(
        self,
        context: cinder_context.RequestContext,
    ) -> AppliedState:
        """Read what was never read; a lost connection is not a failure."""
        tries = self._tries
        with self._lock:
            if self._state is not None:
                return self._state
            # Who waited while another tried in vain does so once.
            for pause_s in self._pauses_s if self._tries == tries else ():
                try:
                    return self._refresh(context)
                except Exception:  # noqa: BLE001 - the last one counts
                    time.sleep(pause_s)
            return self._refresh(context)

    def _read_again(self) -> None:
        with self._lock:
            self._refresh_or_keep(cinder_context.get_admin_context())

    def _refresh_or_keep(
        self,
        context: cinder_context.RequestContext,
    ) -> AppliedState:
        try:
            return self._refresh(context)
        except Exception as error:  # noqa: BLE001 - see the class
            if self._state is None:
                raise
            # Not asked again before the time is over.
            self._tried_at = self._clock()
            LOG.warning(
                (
                    'The applied tiers could not be read (%(error)s, request '
                    '%(request)s); continuing with the tiers cached earlier.'
                ),
                {'error': type(error).__name__, 'request': context.request_id},
            )
            return self._state

    def _refresh(
        self,
        context: cinder_context.RequestContext,
    ) -> AppliedState:
        self._tries += 1
        begun_at = self._clock()
        fresh = self._read(context)
        if self._state is None or fresh.problems != self._state.problems:
            for problem in fresh.problems:
                LOG.warning('Tier ignored: %s', problem)
        self._state = fresh
        self._read_at, self._tried_at = begun_at, self._clock()
        return fresh


class ProjectDefaults:
    """The default volume types of projects, each remembered for a while."""

    def __init__(
        self,
        *,
        size: int = _MOST_PROJECTS,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty memory.

        :param size: projects that are remembered at most.
        :param clock: seconds since any instant.
        """
        self._clock = clock
        self._lock = threading.Lock()
        #: {project: (when it was asked, the type's id)}
        self._known = cachetools.LRUCache(size)

    def type_id_of(
        self,
        context: cinder_context.RequestContext,
        project_id: str | None,
        *,
        ttl_s: float,
    ) -> str | None:
        """Return the id of the default type set for a project, or None.

        While the database fails, the remembered value is used.

        :param context: context of the request.
        :param ttl_s: seconds for which it is remembered; 0: each call reads
            it.
        :raises Exception: it was never read, and the database layer failed.
        """
        if not project_id:
            return None
        with self._lock:
            known = self._known.get(project_id)
        now = self._clock()
        if known is not None and now - known[0] < ttl_s:
            return known[1]
        try:
            found = volume_type_rows.read_default_of(context, project_id)
        except Exception as error:
            if known is None:
                raise
            LOG.warning(
                (
                    'The default volume type of a project could not be read '
                    '(%(error)s, request %(request)s); continuing with the '
                    'one cached earlier.'
                ),
                {'error': type(error).__name__, 'request': context.request_id},
            )
            found = known[1]
        with self._lock:
            self._known[project_id] = (now, found)
        return found
