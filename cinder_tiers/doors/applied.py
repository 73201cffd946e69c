# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The applied tiers, read from the volume types in Cinder's database.

Must not know any request: it reads with admin rights, since extra specs and
private types are not for tenants. Safe under native threads, and under
eventlet.
"""

import collections.abc
import dataclasses
import threading
import time

from cinder import context as cinder_context
from cinder.db import api as db_api
from cinder.volume import volume_types
from oslo_log import log as logging

from cinder_tiers.domain import decision
from cinder_tiers.domain import extra_specs
from cinder_tiers.domain import state
from cinder_tiers.domain import superseded_types

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TierType:
    """The volume type of a tier."""

    type_id: str
    extra_specs: collections.abc.Mapping[str, str]
    is_public: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedState:
    """The tiers, and what else of Cinder's types placement needs."""

    tiers: tuple[decision.AppliedTier, ...] = ()
    #: {name of a tier: its volume type}
    types: collections.abc.Mapping[str, TierType] = dataclasses.field(
        default_factory=dict)
    #: Names and ids of the volume types that leave the choice to the image,
    #: with the projects that may use them; None when all may.
    following: collections.abc.Mapping[str, frozenset[str] | None] = (
        dataclasses.field(default_factory=dict))
    #: {project id: id of the default volume type that was set for it}
    project_defaults: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict)
    #: One sentence for each volume type of ours that cannot be read; the
    #: other tiers work on without it.
    problems: tuple[str, ...] = ()

    def named_type(self, source: decision.TypeSource, ident: str | None,
                   context: cinder_context.RequestContext,
                   ) -> decision.NamedType | None:
        """A volume type that somebody named, or None when nobody did.

        :param source: who named it.
        :param ident: its name or id, hostile text.
        :param context: of the request.
        :returns: a type that follows the image only if the project may use
            it; what it may not use, or what does not exist, is for Cinder to
            refuse.
        """
        if not ident:
            return None
        projects = self.following.get(ident, frozenset())
        return decision.NamedType(source=source, follows_image=(
            projects is None or context.project_id in projects
            or context.is_admin and ident in self.following))

    def default_of(self, context: cinder_context.RequestContext,
                   ) -> decision.NamedType | None:
        """The default volume type that was set for the project, if any."""
        return self.named_type(
            decision.TypeSource.PROJECT,
            self.project_defaults.get(context.project_id), context)

    def without(self, name: str) -> tuple[decision.AppliedTier, ...]:
        """All tiers but one."""
        return tuple(tier for tier in self.tiers if tier.name != name)


def read_applied(context: cinder_context.RequestContext) -> AppliedState:
    """All tiers, in two queries plus one for each private type of ours.

    :param context: any; it is raised to admin for the reading.
    :raises Exception: whatever Cinder's database layer raises.
    """
    admin = context.elevated()
    tiers, types, following, problems = [], {}, {}, []
    rows = volume_types.get_all_types(admin).values()
    for row in sorted(rows, key=lambda row: (row['name'], row['id'])):
        specs = row['extra_specs']
        if extra_specs.follows_image(specs):
            projects = _projects(admin, row)
            following.update({row['name']: projects, row['id']: projects})
        name = specs.get(state.NAME)
        if not name or superseded_types.is_of_no_tier(
                row['name'], name, has_tier=name in types):
            continue
        try:
            tier = extra_specs.read_tier(specs,
                                         projects=_projects(admin, row))
        except ValueError as error:
            problems.append(str(error))
            continue
        if tier.name in types:
            problems.append(f'volume type {row["name"]!r} says that it is '
                            f'tier {tier.name!r}, as another type does; '
                            f'remove {state.NAME} from one of them')
            continue
        tiers.append(tier)
        types[tier.name] = TierType(type_id=row['id'], extra_specs=specs,
                                    is_public=row['is_public'])
    return AppliedState(
        tiers=tuple(tiers), types=types, following=following,
        project_defaults={
            default.project_id: default.volume_type_id
            for default in db_api.project_default_volume_type_get(admin)},
        problems=tuple(problems))


def _projects(admin: cinder_context.RequestContext,
              volume_type: dict) -> frozenset[str] | None:
    if volume_type['is_public']:
        return None
    access = db_api.volume_type_access_get_all(admin, volume_type['id'])
    return frozenset(row['project_id'] for row in access)


Read = collections.abc.Callable[
    [cinder_context.RequestContext], AppliedState]


class AppliedTiers:
    """The applied state, remembered for a short while.

    Who finds it too old reads it anew, one at a time; the others take what
    is there meanwhile. When it cannot be read, what is remembered serves on.
    """

    def __init__(self, *, read: Read = read_applied,
                 clock: collections.abc.Callable[[], float] = time.monotonic,
                 ) -> None:
        """Nothing is remembered yet.

        :param read: what asks the database.
        :param clock: seconds since any instant.
        """
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._state: AppliedState | None = None
        self._read_at = 0.0

    def get(self, context: cinder_context.RequestContext, *,
            ttl_s: float) -> AppliedState:
        """The state, not older than it may be unless it cannot be read.

        :param context: of the request that needs it.
        :param ttl_s: seconds for which it is remembered.
        :raises Exception: it was never read, and the database layer raises.
        """
        state_now = self._state
        if state_now is None:
            with self._lock:
                return self._state or self._refresh(context)
        if (self._clock() - self._read_at < ttl_s
                or not self._lock.acquire(blocking=ttl_s == 0)):
            return state_now
        try:
            return self._refresh(context)
        except Exception as error:  # noqa: BLE001 - see the class
            # Not asked again before the time is over.
            self._read_at = self._clock()
            LOG.warning('The applied tiers could not be read '
                        '(%(error)s, request %(request)s); those read '
                        'before serve on.',
                        {'error': type(error).__name__,
                         'request': context.request_id})
            return state_now
        finally:
            self._lock.release()

    def read_anew(self, context: cinder_context.RequestContext,
                  stale: AppliedState | None = None) -> AppliedState:
        """The state as it is now, or was when another request read it anew.

        Many requests may find at one time that a tier is gone: the first
        reads, the others wait for it.

        :param context: of the request that needs it.
        :param stale: a state that is too old; any other will do.
        :raises Exception: whatever the database layer raises.
        """
        with self._lock:
            if stale is not None and self._state is not stale:
                return self._state
            return self._refresh(context)

    def _refresh(self, context: cinder_context.RequestContext,
                 ) -> AppliedState:
        fresh = self._read(context)
        if self._state is None or fresh.problems != self._state.problems:
            for problem in fresh.problems:
                LOG.warning('Tier left out: %s', problem)
        self._state, self._read_at = fresh, self._clock()
        return fresh
