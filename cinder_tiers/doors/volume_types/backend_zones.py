# SPDX-License-Identifier: Apache-2.0

"""Availability zones in which each tier has backends.

Cinder's scheduler knows the pools and what they can do, its database knows
the zones of their services. A thread of its own asks both, so no request
waits but the first ones of a process, for a moment; until there is an answer,
the zones are not known. Must not know any
rule of placement.
"""

import collections
import collections.abc
import dataclasses
import threading
import time
import types

from cinder.common import constants
from cinder import context as cinder_context
from cinder import objects
from cinder.scheduler import rpcapi
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers import conf
from cinder_tiers.doors.threads import in_background
from cinder_tiers.doors.volume_types import applied
from cinder_tiers.doors.volume_types import matching

LOG = logging.getLogger(__name__)

#: Seconds for which a pool counts that the scheduler reports no more, since
#: its backend is down or disabled, and an answer that cannot be renewed.
KEPT_S = 600.0

#: Longest wait in seconds of the first request after a quiet period: one
#: without requests for more than twice zones_cache_seconds.
_MOMENT_S = 1.0

#: {name of a tier: zones in which it has backends}
Zones = collections.abc.Mapping[str, frozenset[str]]
_NOT_KNOWN: Zones = types.MappingProxyType({})


class PoolsMissing(Exception):
    """The scheduler does not know the pools of a service that is up."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Task:
    """Work that is left to the thread."""

    state: applied.AppliedState
    #: Of the request that came upon it.
    request_id: str | None
    #: Whether services and scheduler are to be asked, too.
    asks: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Report:
    """Last report of a pool by the scheduler, as a `Matcher` reads it."""

    backend: str
    seen_at: float
    capabilities: collections.UserDict

    @property
    def volume_backend_name(self) -> object:
        return self.capabilities.data.get('volume_backend_name')


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Zones:
    """The zones of the tiers of one state."""

    state: applied.AppliedState | None = None
    zones: Zones = dataclasses.field(default_factory=lambda: _NOT_KNOWN)
    #: Instant after which the zones count as not known.
    until: float = float('-inf')

    def covers(self, name: str, state: applied.AppliedState) -> bool:
        """Return whether a tier is the same in this state and another one."""
        if self.state is None:
            return False
        here, there = self.state.types.get(name), state.types.get(name)
        return (
            here is not None
            and there is not None
            and here.extra_specs == there.extra_specs
        )


class BackendZones:
    """The zones of the backends of all tiers, asked for in the background.

    Safe for use by many threads.
    """

    def __init__(
        self,
        *,
        clock: collections.abc.Callable[[], float] = (time.monotonic),
        first_wait_s: float = 0.0,
    ) -> None:
        """Create an empty memory; nothing is read before the first request.

        :param clock: seconds since any instant.
        :param first_wait_s: seconds for which requests wait at most for the
            first answer, counted from the first of them.
        """
        self._clock = clock
        self._first_wait_s = first_wait_s
        self._lock = threading.Lock()
        self._due = self._worth_waiting_until = float('-inf')
        self._has_answered = False
        self._answer = _Zones()
        #: Names of all zones of volume services; None when not known.
        self._names: frozenset[str] | None = None
        self._background = in_background.InBackground(
            'cinder-tiers-zones', self._work, queue_size=1
        )
        # What follows is the thread's own.
        self._reports: dict[str, _Report] = {}
        self._zones_of: dict[str, frozenset[str]] = {}
        self._until = float('-inf')
        self._has_failed = False

    def of(
        self,
        state: applied.AppliedState,
        context: cinder_context.RequestContext,
    ) -> Zones:
        """The zones in which each tier has backends, as far as known.

        :returns: {name of a tier: names of zones}, the same object for as
            long as nothing changes; a tier that is missing is not known, and
            none is where all volume services are in one zone.
        """
        now = self._clock()
        if now >= self._due:
            self._ask(state, context, now)
        # Before the first answer a volume may be sent where no backend is,
        # and after a quiet time what is known may be of any age.
        if now < self._worth_waiting_until:
            self.wait(self._worth_waiting_until - now)
        answer = self._answer
        if now >= answer.until:
            return _NOT_KNOWN
        if answer.state is not state:
            answer = self._carry_over(answer, state, context)
        return answer.zones

    def requested(self, named: object) -> tuple[str | None, str | None]:
        """Return the zone of a new volume, as Cinder's API will choose it.

        :param named: availability zone of the request, as the tenant wrote it;
            None if there is none.
        :returns: the zone, or None if none is named or Cinder refuses it; and
            the zone for a request that names none.
        """
        options = cfg.CONF
        default = (
            options.default_availability_zone
            or options.storage_availability_zone
        )
        if named is None:
            return None, default
        names = self._names
        if isinstance(named, str) and (
            names is None
            or named in names
            or named == options.storage_availability_zone
        ):
            return named, default
        if options.allow_availability_zone_fallback:
            return default, default
        return None, default

    def learn(self, timeout_s: float) -> None:
        """Wait for the first answer, unless there was one.

        :param timeout_s: seconds to wait at most. Nothing is waited for
            between two attempts.
        """
        if not self._has_answered:
            self.wait(timeout_s)

    def wait(self, timeout_s: float) -> bool:
        """Wait until all that was left to the thread so far is done.

        :param timeout_s: seconds to wait at most.
        :returns: whether it is.
        """
        return self._background.wait(timeout_s)

    def _ask(
        self,
        state: applied.AppliedState,
        context: cinder_context.RequestContext,
        now: float,
    ) -> None:
        with self._lock:
            if now < self._due:
                return  # another request was faster
            every_s = cfg.CONF[conf.GROUP].zones_cache_seconds
            if self._due == float('-inf'):
                self._worth_waiting_until = now + self._first_wait_s
            elif now - self._due >= every_s:
                self._worth_waiting_until = now + _MOMENT_S
            self._due = now + every_s
        self._leave(state, context, asks=True)

    def _leave(
        self,
        state: applied.AppliedState,
        context: cinder_context.RequestContext,
        *,
        asks: bool,
    ) -> None:
        # While the thread waits for a scheduler that is away, no more than
        # one task waits for the thread.
        try:
            self._background.leave(
                _Task(state=state, request_id=context.request_id, asks=asks)
            )
        except RuntimeError:
            LOG.warning(
                (
                    'Cannot start a thread to read the availability zones of '
                    'backends (request %s).'
                ),
                context.request_id,
            )

    def _carry_over(
        self,
        answer: _Zones,
        state: applied.AppliedState,
        context: cinder_context.RequestContext,
    ) -> _Zones:
        """The answer for tiers that were read anew: most are the same."""
        zones = {
            name: zones
            for name, zones in answer.zones.items()
            if answer.covers(name, state)
        }
        carried = dataclasses.replace(
            answer, state=state, zones=_same(answer.zones, zones)
        )
        with self._lock:
            if self._answer is answer:
                self._answer = carried
        if not all(answer.covers(name, state) for name in state.types):
            self._leave(state, context, asks=False)
        return carried

    def _work(self, task: _Task) -> None:
        has_answered = False
        if task.asks:
            # Neither the rights nor the token of who happened to ask.
            admin = cinder_context.RequestContext(
                user_id=None,
                project_id=None,
                is_admin=True,
                request_id=task.request_id,
                overwrite=False,
            )
            try:
                self._renew(admin)
                self._has_failed = False
                has_answered = True
            except Exception as error:  # noqa: BLE001 - what is known serves
                if not self._has_failed:
                    LOG.warning(
                        (
                            'The availability zones of backends could not be '
                            'read (%(error)s, request %(request)s); the last '
                            'known zones are used for %(seconds)d seconds '
                            'after they were read.'
                        ),
                        {
                            'error': type(error).__name__,
                            'seconds': KEPT_S,
                            'request': task.request_id,
                        },
                    )
                self._has_failed = True
        zones = (
            self._match(task.state)
            if self._clock() < self._until
            else _NOT_KNOWN
        )
        with self._lock:
            self._answer = _Zones(
                state=task.state,
                until=self._until,
                zones=_same(self._answer.zones, zones),
            )
            # Who sees that it is there reads it, without the lock.
            if has_answered:
                self._has_answered = True
            if task.asks and self._has_answered:
                self._worth_waiting_until = float('-inf')

    def _renew(self, admin: cinder_context.RequestContext) -> None:
        """Ask the database for the services, the scheduler for the pools.

        :raises PoolsMissing: there are some of which nothing was ever said.
        :raises Exception: whatever the database layer or the RPC raises.
        """
        # Those that are down or disabled, too, as Cinder lists its zones.
        services = objects.ServiceList.get_all_by_topic(
            admin, constants.VOLUME_TOPIC
        ).objects
        found = collections.defaultdict(set)
        for service in services:
            # Of a cluster or a host: the names of pools begin with it.
            found[service.service_topic_queue].add(service.availability_zone)
        self._names = frozenset(
            zone for zones in found.values() for zone in zones
        )
        if len(self._names) < 2:
            # Whatever Cinder does, the zone makes no difference.
            self._reports, self._until = {}, float('-inf')
            return
        self._zones_of = {
            backend: frozenset(zones) for backend, zones in found.items()
        }
        pools = rpcapi.SchedulerAPI().get_pools(admin)
        now = self._clock()
        self._reports.update(
            (
                pool['name'],
                _Report(
                    backend=pool['name'].partition('#')[0],
                    seen_at=now,
                    capabilities=collections.UserDict(pool['capabilities']),
                ),
            )
            for pool in pools
        )
        self._reports = {
            name: report
            for name, report in self._reports.items()
            if now - report.seen_at < KEPT_S
            and report.backend in self._zones_of
        }
        reported = {report.backend for report in self._reports.values()}
        # A scheduler that has just started waits for reports itself.
        if any(
            service.is_up
            and not service.disabled
            and not service.frozen
            and service.service_topic_queue not in reported
            for service in services
        ):
            raise PoolsMissing
        self._until = now + KEPT_S

    def _match(self, state: applied.AppliedState) -> Zones:
        """The zones of each tier that has any backend."""
        matchers = {
            name: matching.matcher_of(volume_type.extra_specs)
            for name, volume_type in state.types.items()
        }
        named = [
            matcher.names
            for matcher in matchers.values()
            if matcher.names is not None
        ]
        names = (
            sorted({name for some in named for name in some})
            if len(named) == len(matchers)
            else None
        )
        # Thousands of pools say the same of what any type names.
        reports = list(
            {
                (
                    self._zones_of[report.backend],
                    _distinction(report, names),
                ): report
                for report in self._reports.values()
            }.values()
        )
        zones = {}
        for name, matcher in matchers.items():
            try:
                kept = matcher.keep(reports)
            except Exception:  # noqa: BLE001, S112 - Cinder's matching
                # Some extra specs it cannot read: the doors log it on use.
                continue
            found = frozenset().union(
                *(self._zones_of[report.backend] for report in kept)
            )
            # With no backend anywhere the zone is not what is wrong.
            if found:
                zones[name] = found
        return zones


def _same(old: Zones, new: Zones) -> Zones:
    """The old object for an equal one: who remembers by it goes on."""
    return old if old == new else new


def _distinction(
    report: _Report, names: list[str] | None
) -> collections.abc.Hashable:
    """Return a key that differs for reports that may match differently.

    :param names: names of the capabilities that matter; None: all.
    """
    get = report.capabilities.data.get
    if names is not None:
        values = tuple([get(name) for name in names])
        # 1 and True are equal, but not to Cinder.
        if all(
            isinstance(value, str | int | float | None) for value in values
        ):
            return values, tuple(map(type, values))
    return id(report)
