# SPDX-License-Identifier: Apache-2.0

"""The audit: each tier compared with what exists, in one of six states.

It uses the differences of the plan, by tier and aspect. Unlike a plan, it
continues if something could not be read, and reports that. Pure. Must not know
how anything is read, shown or corrected.
"""

import collections.abc
import dataclasses
import enum
import itertools

from cinder_tiers.domain.audit import left_over
from cinder_tiers.domain.audit import osd_requirements
from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.audit import reach
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.plan import backend_pools
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.plan import unheeded_limits
from cinder_tiers.domain.plan import unserved
from cinder_tiers.domain.resources import default_access
from cinder_tiers.domain.resources import host_osd_options
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.resources import volume_type as volume_types
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.domain.state import type_succession
from cinder_tiers.domain.validation import clusters as cluster_rules
from cinder_tiers.domain.validation import projects as project_rules

#: Aspect of the one finding of a tier that is as declared.
ALL = 'all'
_APPLY = 'run "openstack tier apply"'
_RESTART = 'do so one failure domain at a time'
_MEASURE = (
    'run "openstack tier apply", which takes the figures out of the '
    'description; then measure, and run "openstack tier publish"'
)
#: {field, or the beginning of fields up to a dot: aspect}
_ASPECTS = {
    'extra_specs': 'extra specs',
    'is_public': 'access',
    'projects': 'access',
    'options': 'pool options',
    'rbd_options': 'rbd options',
}


class State(enum.Enum):
    """State of an object, best first."""

    COMPLIANT = 'compliant'
    """It is as the catalog, or its tier, says."""
    NOT_APPLICABLE = 'not applicable'
    """Nothing is asked of it."""
    WARNING = 'warning'
    """It is as the catalog says, and that is a known risk."""
    UNKNOWN = 'unknown'
    """It could not be determined."""
    OUT_OF_DATE = 'out of date'
    """Its type, or the storage, was changed since, and it did not follow."""
    NON_COMPLIANT = 'non-compliant'
    """It is not as the catalog, or its tier, says."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """State of one aspect of an object."""

    #: Kind and name, such as `tier database`.
    object_name: str
    #: Name of the tier that it is about, or None.
    tier: str | None
    state: State
    aspect: str
    #: {field: current value} of differences.
    current: collections.abc.Mapping[str, object] = dataclasses.field(
        default_factory=dict
    )
    #: {field: expected value} of differences.
    expected: collections.abc.Mapping[str, object] = dataclasses.field(
        default_factory=dict
    )
    #: '' if there is none.
    reason: str = ''
    #: Remedy as an imperative; '' if nothing must be done.
    remedy: str = ''
    #: Name of the cluster whose OSDs it is about, regardless of their tier, or
    #: None.
    cluster: str | None = None

    def is_about(self, catalog: catalogs.Catalog, tier: str) -> bool:
        """Return whether it is about a tier, or OSDs that the tier may have.

        :param tier: name of a tier of the catalog.
        """
        declared = catalog.tier(tier)
        return self.tier == tier or (
            isinstance(declared, catalogs.CephTier)
            and declared.rbd.cluster == self.cluster
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unread:
    """Stands for state that a service did not report."""

    reason: str
    #: The error; None if the service was not asked.
    error: errors.TiersError | None = dataclasses.field(
        default=None, compare=False
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Observed:
    """State to compare with a catalog, as far as it could be read."""

    cinder: cinder_state.CinderState | Unread
    #: {project in the catalog: ids of matching projects}.
    projects: collections.abc.Mapping[str, frozenset[str]] | Unread
    #: {name of the cluster in the catalog: its state}, for clusters in use.
    ceph: collections.abc.Mapping[str, ceph_state.CephState | Unread]
    #: Namespace with published tags; None if there is none, or the catalog
    #: does not concern it.
    tag_namespace: glance_state.TagNamespace | Unread | None = None
    #: {name of the cluster: {OSD id: facts}}, for clusters of tiers with OSD
    #: requirements.
    osds: collections.abc.Mapping[
        str, collections.abc.Mapping[int, osd_requirements.OsdFacts] | Unread
    ] = dataclasses.field(default_factory=dict)
    #: Backends that report to Cinder's scheduler; None if they were not read.
    backends: tuple[backends_of_cinder.Backend, ...] | Unread | None = None
    #: {name of the cluster: facts on known bad practice}.
    practice_facts: collections.abc.Mapping[str, practice.PracticeFacts] = (
        dataclasses.field(default_factory=dict)
    )


def audit(
    *, catalog: catalogs.Catalog, observed: Observed
) -> tuple[Finding, ...]:
    """Compare each tier with what exists.

    :returns: findings: for each tier, in the order of the file, its
        differences and unknown aspects, or one compliant finding, then its
        warnings; then findings that belong to no tier, such as other volume
        types, and remains of removed tiers. Apart from warnings, all findings
        are compliant exactly if everything could be read, the plan is empty,
        the OSDs meet their requirements, and the backends serve the declared
        pools.
    """
    without_io = list(_pools_without_io(catalog, observed))
    observed = _as_if_with_io(catalog, observed)
    warnings = list(_warnings(catalog, observed))
    problems = _problems(catalog, observed)
    hosts = _host_problems(catalog, observed)
    found = [
        *_unread(catalog, observed),
        *without_io,
        *problems,
        *itertools.chain.from_iterable(hosts.values()),
    ]
    catalog = host_osd_options.without(catalog, hosts)
    stale = _stale_cards(catalog, observed)
    for action in _actions(catalog, observed, problems, stale):
        found.extend(
            _findings(
                catalog,
                action,
                stale.get(action.key.name, ())
                if action.key.kind is actions.Kind.VOLUME_TYPE
                else (),
            )
        )
    found.extend(_requirements(catalog, observed))
    found.extend(_backends(catalog, observed))
    if not isinstance(observed.cinder, Unread):
        found.extend(
            _of_type(State.NON_COMPLIANT, one)
            for one in reach.find_left_out(observed.cinder)
        )
    ordered = []
    for tier in catalog.tiers:
        ordered.extend(
            [one for one in found if one.tier == tier.name]
            or [_as_declared(tier, observed)]
        )
        ordered.extend(one for one in warnings if one.tier == tier.name)
    return (
        *ordered,
        *(one for one in (*found, *warnings) if one.tier is None),
        *_left_over(catalog, observed),
    )


def _stale_cards(
    catalog: catalogs.Catalog, observed: Observed
) -> dict[str, tuple[str, ...]]:
    """Return {volume type of a tier: reasons why its figures are outdated}."""
    if isinstance(observed.cinder, Unread):
        return {}
    known = {
        name: state
        for name, state in observed.ceph.items()
        if not isinstance(state, Unread)
    }
    return {
        tier.type_name: volume_types.stale_card(
            catalog,
            tier,
            observed.cinder.volume_types.get(tier.type_name),
            known,
        )
        for tier in catalog.ours
    }


def _of_type(state: State, one: reach.Way) -> Finding:
    return Finding(
        object_name=f'volume type {one.name}',
        tier=None,
        state=state,
        aspect=one.aspect,
        current=one.current,
        expected=one.expected,
        reason=one.reason,
        remedy=one.remedy,
    )


def _warnings(
    catalog: catalogs.Catalog, observed: Observed
) -> collections.abc.Iterator[Finding]:
    """Yield bad practice, tiers without a backend, and ways past tiers."""
    yield from _unserved(catalog, observed)
    yield from _unheeded(catalog, observed)
    cinder, backends = observed.cinder, observed.backends
    if not isinstance(cinder, Unread):
        for way in reach.find(
            catalog,
            cinder,
            None if isinstance(backends, Unread) else backends,
        ):
            yield _of_type(State.WARNING, way)
        yield from _without_access(catalog, observed, cinder)
        yield from _continued_cards(catalog, cinder)
    for one in practice.advise(
        catalog,
        {
            name: state
            for name, state in observed.ceph.items()
            if not isinstance(state, Unread)
        },
        observed.practice_facts,
        None if isinstance(observed.cinder, Unread) else observed.cinder,
    ):
        yield Finding(
            object_name=f'tier {one.tier}',
            tier=one.tier,
            state=State.WARNING,
            aspect=one.aspect,
            current=one.current,
            expected=one.expected,
            reason=one.reason,
            remedy=one.remedy,
        )


def _continued_cards(
    catalog: catalogs.Catalog, cinder: cinder_state.CinderState
) -> collections.abc.Iterator[Finding]:
    """Yield cards that count as text because other text follows them."""
    for tier in catalog.ours:
        before = cinder.volume_types.get(tier.type_name)
        if before is None or not volume_types.continued_card(tier, before):
            continue
        yield Finding(
            object_name=f'tier {tier.name}',
            tier=tier.name,
            state=State.WARNING,
            aspect=_CARD,
            current={'description': before.description},
            reason='the description goes on after the card, so its figures '
            'count as words and are not compared',
            remedy=volume_types.CONTINUED_CARD,
        )


def _without_access(
    catalog: catalogs.Catalog,
    observed: Observed,
    cinder: cinder_state.CinderState,
) -> collections.abc.Iterator[Finding]:
    """Yield default types of projects without access to them.

    A plan does not change these defaults.
    """
    projects = (
        {} if isinstance(observed.projects, Unread) else (observed.projects)
    )
    for name in cinder.project_defaults:
        one = cinder.volume_types[name]
        lost = default_access.without_access(
            one,
            default_access.left_as_they_are(catalog, cinder, projects, name),
        )
        if not one.is_ours or not lost:
            continue
        tier = catalog.tier_of_type(type_succession.owner_of(name))
        yield Finding(
            object_name=f'tier {tier.name}' if tier else f'volume type {name}',
            tier=tier.name if tier else None,
            state=State.WARNING,
            aspect=_DEFAULTS,
            current={'projects without access': lost},
            reason=f'volume type {name} is the default type of projects that '
            f'may not use it; Cinder refuses {default_access.REFUSED}',
            remedy=f'give them access, or {default_access.REMEDY}',
        )


def _left_over(
    catalog: catalogs.Catalog, observed: Observed
) -> collections.abc.Iterator[Finding]:
    """Report what removed tiers have left in the clusters."""
    for cluster in catalog.clusters_in_use:
        state = observed.ceph[cluster.name]
        if isinstance(state, Unread):
            continue
        for one in left_over.find(catalog, cluster, state):
            yield Finding(
                object_name=one.object_name,
                tier=None,
                state=State.WARNING,
                aspect=_LEFT_OVER,
                reason=one.reason,
                remedy=one.remedy,
            )


def _unserved(
    catalog: catalogs.Catalog, observed: Observed
) -> collections.abc.Iterator[Finding]:
    """Yield tiers with a volume type for which no backend takes volumes."""
    cinder, backends = observed.cinder, observed.backends
    if isinstance(cinder, Unread) or isinstance(backends, Unread | None):
        return
    for one in unserved.find(catalog, cinder.volume_types, backends):
        tier = catalog.tier(one.tier)
        if tier and tier.type_name in cinder.volume_types:
            yield Finding(
                object_name=f'tier {one.tier}',
                tier=one.tier,
                state=State.WARNING,
                aspect=_BACKEND,
                reason=f'{one.reason}; {one.effect}',
                remedy=one.remedy,
            )


def _unheeded(
    catalog: catalogs.Catalog, observed: Observed
) -> collections.abc.Iterator[Finding]:
    """Yield limits that backends do not set."""
    if isinstance(observed.backends, Unread | None):
        return
    for one in unheeded_limits.find(catalog, observed.backends):
        yield Finding(
            object_name=f'tier {one.tier}',
            tier=one.tier,
            state=State.WARNING,
            aspect=_BACKEND,
            reason=one.reason,
            remedy=one.remedy,
        )


def _requirements(
    catalog: catalogs.Catalog,
    observed: Observed,
) -> collections.abc.Iterator[Finding]:
    """Yield requirements of tiers that their OSDs do not meet."""
    for tier in catalog.ours:
        if (
            not isinstance(tier, catalogs.CephTier)
            or tier.rbd.osd_requirements is None
        ):
            continue
        state = observed.ceph[tier.rbd.cluster]
        if isinstance(state, Unread):
            continue
        facts = observed.osds[tier.rbd.cluster]
        name = f'tier {tier.name}'
        if isinstance(facts, Unread):
            yield Finding(
                object_name=name,
                tier=tier.name,
                state=State.UNKNOWN,
                aspect=_OSD_REQUIREMENTS,
                reason=facts.reason,
            )
            continue
        for one in osd_requirements.compare(
            tier.rbd.osd_requirements,
            {
                osd.osd_id: facts.get(osd.osd_id)
                for osd in state.osds
                if osd.device_class == tier.rbd.device_class
                and osd.is_below(tier.rbd.crush_root)
            },
        ):
            yield Finding(
                object_name=name,
                tier=tier.name,
                state=_ANSWERS[one.answer],
                aspect=_OSD_REQUIREMENTS,
                current=one.current,
                expected=one.expected,
                reason=one.reason,
                remedy=one.remedy,
            )


def _backends(
    catalog: catalogs.Catalog, observed: Observed
) -> collections.abc.Iterator[Finding]:
    """Yield backends that keep the volumes of a tier in another pool."""
    backends = observed.backends
    if backends is None:
        return
    if isinstance(backends, Unread):
        # If Cinder could not be read at all, the volume type has that finding.
        if not isinstance(observed.cinder, Unread):
            yield from (
                Finding(
                    object_name=f'tier {tier.name}',
                    tier=tier.name,
                    state=State.UNKNOWN,
                    aspect=_BACKEND,
                    reason=backends.reason,
                )
                for tier in catalog.ours
                if tier.rbd
            )
        return
    for one in backend_pools.find_elsewhere(
        catalog,
        backends,
        {
            name: state.fsid
            for name, state in observed.ceph.items()
            if not isinstance(state, Unread) and state.fsid is not None
        },
    ):
        yield Finding(
            object_name=f'tier {one.tier}',
            tier=one.tier,
            state=State.NON_COMPLIANT,
            aspect=_BACKEND,
            current=one.current,
            expected=one.expected,
            reason=one.reason,
            remedy=one.remedy,
        )


def _as_declared(tier: catalogs.Tier, observed: Observed) -> Finding:
    """Return the finding of a tier without any other finding."""
    if tier.take_over:
        return Finding(
            object_name=f'tier {tier.name}',
            tier=tier.name,
            state=State.COMPLIANT,
            aspect=ALL,
        )
    gone = (
        not isinstance(observed.cinder, Unread)
        and tier.type_name not in observed.cinder.volume_types
    )
    return Finding(
        object_name=f'tier {tier.name}',
        tier=tier.name,
        state=State.NOT_APPLICABLE,
        aspect=ALL,
        reason='take_over: false: the volume type is not managed and is not '
        'checked'
        + ('; a volume type of this name does not exist' if gone else ''),
    )


def worst(findings: collections.abc.Iterable[Finding]) -> State:
    """Return the worst state of findings; compliant if there are none."""
    order = list(State)
    return max(
        (one.state for one in findings),
        key=order.index,
        default=State.COMPLIANT,
    )


def _unread(
    catalog: catalogs.Catalog, observed: Observed
) -> collections.abc.Iterator[Finding]:
    for tier in catalog.ours:
        sources: dict[str, object] = {'volume type': observed.cinder}
        if tier.projects:
            sources[_ACCESS] = observed.projects
        if tier.default_for:
            sources[_DEFAULTS] = observed.projects
        if isinstance(tier, catalogs.CephTier):
            sources[f'cluster {tier.rbd.cluster}'] = observed.ceph[
                tier.rbd.cluster
            ]
        for aspect, source in sources.items():
            if isinstance(source, Unread):
                yield Finding(
                    object_name=f'tier {tier.name}',
                    tier=tier.name,
                    state=State.UNKNOWN,
                    aspect=aspect,
                    reason=source.reason,
                )
    if isinstance(observed.tag_namespace, Unread):
        kind = actions.Kind.TAG_NAMESPACE
        yield Finding(
            object_name=str(
                actions.Key(kind=kind, name=glance_state.NAMESPACE)
            ),
            tier=None,
            state=State.UNKNOWN,
            aspect=kind.value,
            reason=observed.tag_namespace.reason,
        )


def _pools_without_io(
    catalog: catalogs.Catalog, observed: Observed
) -> collections.abc.Iterator[Finding]:
    """Yield tiers whose pool serves no I/O, so its RBD options are unknown."""
    for tier in catalog.ceph_tiers:
        if not tier.take_over:
            continue
        state = observed.ceph[tier.rbd.cluster]
        if isinstance(state, Unread):
            continue
        pool = state.pools.get(tier.rbd.pool)
        if pool and pool.rbd_options_unread:
            yield Finding(
                object_name=f'tier {tier.name}',
                tier=tier.name,
                state=State.UNKNOWN,
                aspect=_ASPECTS['rbd_options'],
                reason=pool.rbd_options_unread,
            )


def _as_if_with_io(catalog: catalogs.Catalog, observed: Observed) -> Observed:
    """Return the observed pools, with unknown options assumed as declared.

    All other properties of these pools can then be compared.
    """
    return dataclasses.replace(
        observed,
        ceph={
            name: state
            if isinstance(state, Unread)
            else dataclasses.replace(
                state,
                pools={
                    **state.pools,
                    **{
                        wanted.name: dataclasses.replace(
                            found,
                            rbd_options=wanted.rbd_options,
                            rbd_default_data_pool=wanted.rbd_default_data_pool,
                        )
                        for tier in catalog.tiers_of(name)
                        for wanted in tier_pools.pools_of(tier.rbd).pools
                        if (found := state.pools.get(wanted.name))
                        and found.rbd_options_unread
                    },
                },
            )
            for name, state in observed.ceph.items()
        },
    )


_OSD_REQUIREMENTS = 'osd requirements'
_BACKEND = 'backend'
_LEFT_OVER = 'left over'
_CARD = 'card'
#: {answer: state}
_ANSWERS = {
    osd_requirements.RequirementAnswer.UNMET: State.NON_COMPLIANT,
    osd_requirements.RequirementAnswer.UNKNOWN: State.UNKNOWN,
    osd_requirements.RequirementAnswer.NOT_APPLICABLE: State.NOT_APPLICABLE,
}
_ACCESS, _CLUSTER, _IMAGES = 'access', 'cluster', 'images pool'
_DEFAULTS = actions.Kind.PROJECT_DEFAULTS.value


def _problems(
    catalog: catalogs.Catalog,
    observed: Observed,
) -> list[Finding]:
    """Return the problems of each tier that make a plan impossible."""
    found: list[Finding] = []
    catalog = host_osd_options.without(catalog, catalog.clusters)
    ceph = {
        name: one
        for name, one in observed.ceph.items()
        if not isinstance(one, Unread)
    }
    two_names = cluster_rules.with_two_names(catalog, ceph)
    for tier in catalog.ours:
        alone = dataclasses.replace(catalog, tiers=(tier,))
        problems: dict[str, tuple[errors.Problem, ...]] = {
            _ACCESS: (),
            _DEFAULTS: (),
            _CLUSTER: (),
            _IMAGES: (),
        }
        if not isinstance(observed.projects, Unread):
            problems[_ACCESS] = project_rules.access(
                catalog, tier, observed.projects
            )
            problems[_DEFAULTS] = project_rules.default_for(
                catalog, tier, observed.projects
            )
        if tier.rbd and tier.rbd.cluster in two_names:
            problems[_CLUSTER] = (two_names[tier.rbd.cluster],)
        elif tier.rbd and tier.rbd.cluster in ceph:
            problems[_CLUSTER] = cluster_rules.check(
                _without_images_pools(alone, alone.clusters), ceph
            )
            problems[_IMAGES] = tuple(
                one
                for one in cluster_rules.check(alone, ceph)
                if one not in problems[_CLUSTER]
            )
        found.extend(
            _problem(f'tier {tier.name}', tier.name, aspect, problem)
            for aspect, several in problems.items()
            for problem in several
        )
    return found


def _host_problems(
    catalog: catalogs.Catalog,
    observed: Observed,
) -> dict[str, list[Finding]]:
    """Return {cluster: problems of its `host_osd_options`}."""
    found = {
        cluster.name: [
            dataclasses.replace(
                _problem(
                    f'cluster {cluster.name}',
                    None,
                    actions.Kind.HOST_OSD_OPTIONS.value,
                    problem,
                ),
                cluster=cluster.name,
            )
            for problem in host_osd_options.check_cluster(
                catalog, cluster, state
            )
        ]
        for cluster in catalog.clusters_in_use
        if not isinstance(state := observed.ceph[cluster.name], Unread)
    }
    return {name: several for name, several in found.items() if several}


def _without_images_pools(
    catalog: catalogs.Catalog,
    names: collections.abc.Container[str],
) -> catalogs.Catalog:
    """Return a catalog in which some clusters have no images pool."""
    return dataclasses.replace(
        catalog,
        clusters={
            name: dataclasses.replace(cluster, images_pool=None)
            if name in names
            else cluster
            for name, cluster in catalog.clusters.items()
        },
    )


def _problem(
    object_name: str, tier: str | None, aspect: str, problem: errors.Problem
) -> Finding:
    return Finding(
        object_name=object_name,
        tier=tier,
        state=State.NON_COMPLIANT,
        aspect=aspect,
        current={'found': problem.found},
        expected={'expected': problem.expected},
        remedy=problem.remedy,
        reason=f'{problem.where}: the tiers file cannot be applied',
    )


def _actions(
    catalog: catalogs.Catalog,
    observed: Observed,
    problems: list[Finding],
    stale: collections.abc.Mapping[str, tuple[str, ...]],
) -> collections.abc.Iterator[actions.Action]:
    """Yield the plan, as far as both sides can be compared.

    :param stale: result of _stale_cards, also of clusters with problems.
    """
    projects = observed.projects
    is_cinder_read = not isinstance(observed.cinder, Unread)
    cinder = (
        cinder_state.CinderState(volume_types={})
        if isinstance(observed.cinder, Unread)
        else observed.cinder
    )
    namespace = observed.tag_namespace
    if isinstance(namespace, Unread):
        catalog = dataclasses.replace(catalog, publish_tags=None)
    elif namespace is not None:
        cinder = dataclasses.replace(
            cinder, tag_namespaces={namespace.name: namespace}
        )
    left_out = {
        aspect: {one.tier for one in problems if one.aspect == aspect}
        for aspect in (_ACCESS, _DEFAULTS, _CLUSTER, _IMAGES)
    }
    known: dict[str, frozenset[str]] = {}
    tiers = []
    without_cluster: set[str] = set()
    without_projects: set[str] = set()
    without_defaults: set[str] = set()
    for tier in catalog.tiers:
        if (
            isinstance(tier, catalogs.CephTier)
            and tier.take_over
            and (
                tier.name in left_out[_CLUSTER]
                or isinstance(observed.ceph[tier.rbd.cluster], Unread)
            )
        ):
            # Its volume type stays as it would be with the pool.
            without_cluster.add(tier.type_name)
            tier = tier.without_pool()
        if tier.default_for and (
            tier.name in left_out[_ACCESS] | left_out[_DEFAULTS]
            or isinstance(projects, Unread)
        ):
            tier = dataclasses.replace(tier, default_for=())
            without_defaults.add(tier.type_name)
        if (
            tier.projects
            and tier.take_over
            and (
                tier.name in left_out[_ACCESS] or isinstance(projects, Unread)
            )
        ):
            before = cinder.volume_types.get(tier.type_name)
            ids = sorted(before.projects) if before else []
            known.update({one: frozenset({one}) for one in ids})
            tier = dataclasses.replace(tier, access=tuple(ids))
            without_projects.add(tier.type_name)
        tiers.append(tier)
    if not isinstance(projects, Unread):
        known.update(projects)
    made = plans.make(
        catalog=_without_images_pools(
            dataclasses.replace(catalog, tiers=tuple(tiers)),
            {
                tier.rbd.cluster
                for tier in catalog.ceph_tiers
                if tier.name in left_out[_IMAGES]
            },
        ),
        actual=actual_state.ActualState(
            cinder=cinder,
            projects=known,
            ceph={
                name: one
                for name, one in observed.ceph.items()
                if not isinstance(one, Unread)
            },
        ),
    )
    return (
        action
        for action in _with_cards(
            made.actions,
            {name for name in without_cluster if not stale.get(name)},
        )
        if (
            is_cinder_read
            or action.key.cluster is not None
            or action.key.kind is actions.Kind.TAG_NAMESPACE
        )
        and not _is_guess(action, without_projects)
        and not (
            action.key.kind is actions.Kind.PROJECT_DEFAULTS
            and action.key.name in without_defaults
        )
    )


def _with_cards(
    planned: collections.abc.Iterable[actions.Action],
    without_cluster: collections.abc.Container[str],
) -> collections.abc.Iterator[actions.Action]:
    """Yield actions that leave a card alone if it may be outdated.

    :param without_cluster: types of tiers whose cluster could not be read.
    """
    for action in planned:
        before, after = action.before, action.after
        if (
            isinstance(before, cinder_state.VolumeType)
            and isinstance(after, cinder_state.VolumeType)
            and action.key.name in without_cluster
            and descriptions.read(before.description).measured
        ):
            action = dataclasses.replace(
                action,
                after=dataclasses.replace(
                    after, description=before.description
                ),
            )
            if not action.changes:
                continue
        yield action


def _is_guess(
    action: actions.Action, without_projects: collections.abc.Container[str]
) -> bool:
    """Return whether it removes projects although the wanted are unknown.

    The audit assumes that the projects with access to the type of such a tier
    are the wanted ones; a retired type may have others.

    :param without_projects: types of tiers whose projects are unknown.
    """
    return (
        isinstance(action.before, cinder_state.VolumeType)
        and not action.before.is_public
        and type_succession.successor_of(action.key.name) in without_projects
    )


def _findings(
    catalog: catalogs.Catalog,
    action: actions.Action,
    stale: tuple[str, ...],
) -> collections.abc.Iterator[Finding]:
    """Yield an action as findings: one for each tier and aspect.

    :param stale: reasons why the figures of a volume type are outdated.
    """
    for tier in registry.tiers_affected(catalog, action) or (None,):
        for aspect, found, current, expected in _aspects(action, bool(stale)):
            yield Finding(
                object_name=f'tier {tier}' if tier else str(action.key),
                tier=tier,
                state=found,
                aspect=aspect,
                current=current,
                expected=expected,
                reason=(
                    f'the card is stale: {"; ".join(stale)}'
                    if aspect == _CARD
                    else _reason(action, current)
                ),
                remedy=(
                    _MEASURE
                    if aspect == _CARD
                    else _RESTART
                    if found is State.OUT_OF_DATE
                    else action.remedy or _APPLY
                ),
                cluster=(
                    action.key.cluster
                    if action.key.kind is actions.Kind.HOST_OSD_OPTIONS
                    else None
                ),
            )


def _aspects(
    action: actions.Action, is_card_stale: bool
) -> list[tuple[str, State, dict[str, object], dict[str, object]]]:
    """Return (aspect, state, {field: current}, {field: expected}) tuples."""
    if action.before is None or action.after is None:
        return [
            (
                action.key.kind.value,
                State.NON_COMPLIANT,
                difference.set_fields_of(action.before),
                difference.set_fields_of(action.after),
            )
        ]
    aspects: dict[
        tuple[str, State], tuple[dict[str, object], dict[str, object]]
    ] = {}
    for one in action.changes:
        aspect = _ASPECTS.get(
            one.field.partition('.')[0], action.key.kind.value
        )
        found = (
            State.OUT_OF_DATE
            if _misses_restart(action.before, one)
            else State.NON_COMPLIANT
        )
        if is_card_stale and one.field == 'description':
            aspect, found = _CARD, State.OUT_OF_DATE
        current, expected = aspects.setdefault((aspect, found), ({}, {}))
        current[one.field], expected[one.field] = one.before, one.after
    return [(*key, *sides) for key, sides in aspects.items()]


def _misses_restart(
    before: actions.Resource, change: difference.Difference
) -> bool:
    """Return whether the value is configured, and OSDs need a restart."""
    return isinstance(before, ceph_state.OsdOptions) and (
        before.after_restart.get(change.field.partition('.')[2])
        == change.after
    )


def _reason(
    action: actions.Action, current: collections.abc.Mapping[str, object]
) -> str:
    text = {
        'create': f'{action.key} does not exist',
        'update': f'{action.key} differs from the tiers file',
        'delete': f'{action.key}: {action.why}',
    }[action.verb]
    if isinstance(action.before, ceph_state.OsdOptions):
        whys = (
            f'{name}, where it is set: {action.before.reasons[name]}'
            for name in (field.partition('.')[2] for field in current)
            if action.before.reasons.get(name)
        )
        text = '; '.join((text, *whys))
    if action.refusal:
        text += f'; tier apply refuses: {action.refusal.reason}'
    return text
