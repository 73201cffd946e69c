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

"""The audit: each tier held against what exists, in one of five states.

The same difference as the plan's, told by tier and aspect. Unlike a plan it
goes on where something could not be read, and says so. Pure. Must not know
how anything is read, shown or put right.
"""

import collections.abc
import dataclasses
import enum

from cinder_tiers.domain import actions
from cinder_tiers.domain import caps
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import cluster_rules
from cinder_tiers.domain import desired
from cinder_tiers.domain import errors
from cinder_tiers.domain import plan as plans
from cinder_tiers.domain import project_rules
from cinder_tiers.domain import state

#: Aspect of the one finding of a tier that is as declared.
ALL = 'all'
_APPLY = 'run "openstack tier apply"'
#: {field, or the beginning of fields up to a dot: aspect}
_ASPECTS = {'extra_specs': 'extra specs', 'is_public': 'access',
            'projects': 'access', 'options': 'pool options',
            'rbd_options': 'rbd options'}


class State(enum.Enum):
    """What an object is, best first."""

    COMPLIANT = 'compliant'
    """It is as the catalog, or its tier, says."""
    NOT_APPLICABLE = 'not applicable'
    """Nothing is asked of it."""
    UNKNOWN = 'unknown'
    """It could not be told."""
    OUT_OF_DATE = 'out of date'
    """Its type, or the storage, was changed since, and it did not follow."""
    NON_COMPLIANT = 'non-compliant'
    """It is not as the catalog, or its tier, says."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One aspect of an object, and its state."""

    #: Kind and name, such as `tier database`.
    object_name: str
    #: Name of the tier that it is about; None when it is about none.
    tier: str | None
    state: State
    aspect: str
    #: {field: value} of what differs, as it is.
    current: collections.abc.Mapping[str, object] = dataclasses.field(
        default_factory=dict)
    #: {field: value} of what differs, as it should be.
    expected: collections.abc.Mapping[str, object] = dataclasses.field(
        default_factory=dict)
    #: Empty when there is nothing to say.
    reason: str = ''
    #: What to do, as an imperative; empty when there is nothing to do.
    remedy: str = ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unread:
    """Stands for what a service did not tell."""

    reason: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Observed:
    """All that a catalog is held against, as far as it could be read."""

    cinder: state.CinderState | Unread
    #: {project as the catalog names it: ids of all that are meant by it}.
    projects: collections.abc.Mapping[str, frozenset[str]] | Unread
    #: {name of the cluster in the catalog: its state}, for each in use.
    ceph: collections.abc.Mapping[str, state.CephState | Unread]


def audit(*, catalog: catalogs.Catalog,
          observed: Observed) -> tuple[Finding, ...]:
    """Holds each tier against what exists.

    :returns: for each tier, in the order of the file, what is not as declared
        or not known, or one compliant finding; then what is of no tier. All
        are compliant exactly when all could be read and the plan is empty.
    """
    problems = _problems(catalog, observed)
    found = [*_unread(catalog, observed), *problems]
    for action in _actions(catalog, observed, problems):
        found.extend(_findings(catalog, action))
    ordered = []
    for tier in catalog.tiers:
        ordered.extend(
            [one for one in found if one.tier == tier.name]
            or [Finding(object_name=f'tier {tier.name}', tier=tier.name,
                        state=State.COMPLIANT, aspect=ALL)])
    return (*ordered, *(one for one in found if one.tier is None))


def worst(findings: collections.abc.Iterable[Finding]) -> State:
    """The worst state among findings; compliant when there are none."""
    order = list(State)
    return max((one.state for one in findings), key=order.index,
               default=State.COMPLIANT)


def _unread(catalog: catalogs.Catalog,
            observed: Observed) -> collections.abc.Iterator[Finding]:
    for tier in catalog.tiers:
        sources = {'volume type': observed.cinder}
        if tier.projects:
            sources['access'] = observed.projects
        if tier.rbd:
            sources[f'cluster {tier.rbd.cluster}'] = (
                observed.ceph[tier.rbd.cluster])
        for aspect, source in sources.items():
            if isinstance(source, Unread):
                yield Finding(
                    object_name=f'tier {tier.name}', tier=tier.name,
                    state=State.UNKNOWN, aspect=aspect, reason=source.reason)


_ACCESS, _CLUSTER, _IMAGES = 'access', 'cluster', 'images pool'


def _problems(catalog: catalogs.Catalog, observed: Observed,
              ) -> list[Finding]:
    """What makes a plan impossible."""
    found = []
    for tier in catalog.tiers:
        alone = dataclasses.replace(catalog, tiers=(tier,))
        problems = {_ACCESS: (), _CLUSTER: (), _IMAGES: ()}
        if not isinstance(observed.projects, Unread):
            problems[_ACCESS] = project_rules.check(alone, observed.projects)
        if tier.rbd and not isinstance(observed.ceph[tier.rbd.cluster],
                                       Unread):
            problems[_CLUSTER] = cluster_rules.check(
                _without_images_pools(alone, alone.clusters), observed.ceph)
            problems[_IMAGES] = tuple(
                one for one in cluster_rules.check(alone, observed.ceph)
                if one not in problems[_CLUSTER])
        found.extend(
            _problem(tier.name, aspect, problem)
            for aspect, several in problems.items() for problem in several)
    return found


def _without_images_pools(catalog: catalogs.Catalog,
                          names: collections.abc.Container[str],
                          ) -> catalogs.Catalog:
    """A catalog with clusters of which Glance uses no pool."""
    return dataclasses.replace(catalog, clusters={
        name: dataclasses.replace(cluster, images_pool=None)
        if name in names else cluster
        for name, cluster in catalog.clusters.items()})


def _problem(tier: str, aspect: str, problem: errors.Problem) -> Finding:
    return Finding(
        object_name=f'tier {tier}', tier=tier, state=State.NON_COMPLIANT,
        aspect=aspect, current={'found': problem.found},
        expected={'expected': problem.expected}, remedy=problem.remedy,
        reason=f'{problem.where}: the catalog cannot be applied')


def _actions(catalog: catalogs.Catalog, observed: Observed,
             problems: list[Finding],
             ) -> collections.abc.Iterator[actions.Action]:
    """The plan, as far as both sides can be compared."""
    cinder, projects = observed.cinder, observed.projects
    is_cinder_read = not isinstance(cinder, Unread)
    if not is_cinder_read:
        cinder = state.CinderState(volume_types={})
    left_out = {aspect: {one.tier for one in problems
                         if one.aspect == aspect}
                for aspect in (_ACCESS, _CLUSTER, _IMAGES)}
    known: dict[str, frozenset[str]] = {}
    tiers = []
    for tier in catalog.tiers:
        if tier.rbd and (tier.name in left_out[_CLUSTER] or isinstance(
                observed.ceph[tier.rbd.cluster], Unread)):
            # Its volume type stays what it would be with the pool.
            tier = dataclasses.replace(tier, backend_name=tier.backend,
                                       rbd=None)
        if tier.projects and (tier.name in left_out[_ACCESS]
                              or isinstance(projects, Unread)):
            before = cinder.volume_types.get(tier.name)
            ids = sorted(before.projects) if before else []
            known.update({one: frozenset({one}) for one in ids})
            tier = dataclasses.replace(tier, access=tuple(ids))
        tiers.append(tier)
    if not isinstance(projects, Unread):
        known.update(projects)
    made = plans.make(
        catalog=_without_images_pools(
            dataclasses.replace(catalog, tiers=tuple(tiers)),
            {tier.rbd.cluster for tier in catalog.tiers
             if tier.name in left_out[_IMAGES]}),
        actual=state.ActualState(
            cinder=cinder, projects=known,
            ceph={name: one for name, one in observed.ceph.items()
                  if not isinstance(one, Unread)}))
    return (action for action in made.actions
            if is_cinder_read or action.key.cluster is not None)


def _findings(catalog: catalogs.Catalog, action: actions.Action,
              ) -> collections.abc.Iterator[Finding]:
    """An action as findings: one for each tier and aspect."""
    for tier in _tiers_of(catalog, action) or (None,):
        for aspect, current, expected in _aspects(action):
            yield Finding(
                object_name=f'tier {tier}' if tier else str(action.key),
                tier=tier, state=State.NON_COMPLIANT, aspect=aspect,
                current=current, expected=expected,
                reason=_reason(action, current),
                remedy=(action.refusal.remedy if action.refusal
                        else _APPLY))


def _tiers_of(catalog: catalogs.Catalog,
              action: actions.Action) -> tuple[str, ...]:
    """Names of the tiers that an action is for."""
    key = action.key
    if key.kind is actions.Kind.QOS_SPEC:
        return tuple(tier.name for tier in catalog.tiers
                     if desired.qos_spec_name(tier.name) == key.name)
    if key.cluster is None:
        return tuple(tier.name for tier in catalog.tiers
                     if tier.name == key.name)
    tiers = catalog.tiers_of(key.cluster)
    if key.kind is actions.Kind.OSD_OPTIONS:
        return tuple(tier.name for tier in tiers if tier.rbd.osd_options
                     and tier.rbd.device_class == key.name)
    if key.kind is actions.Kind.CEPHX_USER:
        held = action.before.caps if action.before else None
        return tuple(tier.name for tier in tiers
                     if held is None or _lacks(catalog, tier, held))
    return tuple(tier.name for tier in tiers if key.name in tier.rbd.pools)


def _lacks(catalog: catalogs.Catalog, tier: catalogs.Tier,
           held: collections.abc.Mapping[str, str]) -> bool:
    """Whether the user of cinder-volume lacks what a tier needs."""
    alone = dataclasses.replace(catalog, tiers=(tier,))
    return held != caps.union(held, desired.grants_of(
        alone, catalog.clusters[tier.rbd.cluster]))


def _aspects(action: actions.Action) -> list[
        tuple[str, dict[str, object], dict[str, object]]]:
    """(aspect, {field: as it is}, {field: as it should be})."""
    if action.before is None or action.after is None:
        return [(action.key.kind.value, _set_fields(action.before),
                 _set_fields(action.after))]
    aspects: dict[str, tuple[dict[str, object], dict[str, object]]] = {}
    for one in actions.differences(action.before, action.after):
        aspect = _ASPECTS.get(one.field.partition('.')[0],
                              action.key.kind.value)
        current, expected = aspects.setdefault(aspect, ({}, {}))
        current[one.field], expected[one.field] = one.before, one.after
    return [(aspect, *sides) for aspect, sides in aspects.items()]


def _set_fields(resource: actions.Resource | None) -> dict[str, object]:
    """What is set of a resource that is there on one side only."""
    if resource is None:
        return {}
    return {name: value for name, value in actions.fields_of(resource).items()
            if value not in (None, False, '', frozenset())}


def _reason(action: actions.Action,
            current: collections.abc.Mapping[str, object]) -> str:
    text = {'create': f'{action.key} does not exist',
            'update': f'{action.key} is not as the catalog says',
            'delete': f'{action.key}: {action.why}'}[action.verb]
    if isinstance(action.before, state.OsdOptions):
        whys = (f'{name}, where it was applied: {action.before.reasons[name]}'
                for name in (field.partition('.')[2] for field in current)
                if name in action.before.reasons)
        text = '; '.join((text, *whys))
    if action.refusal:
        text += f'; tier apply refuses: {action.refusal.reason}'
    return text
