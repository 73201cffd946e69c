# SPDX-License-Identifier: Apache-2.0
"""The catalog of an existing cloud, for which a plan is empty.

A managed volume type becomes a tier; each other type becomes a tier that is
not taken over. State that a catalog cannot express is in a remark: nothing is
dropped silently. Pure. Must not know how anything is read, nor how a catalog
is written down.
"""

import collections
import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.export import osds as export_osds
from cinder_tiers.domain.export import pools as export_pools
from cinder_tiers.domain.export import volume_types as export_types
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.placement import tier_specs as extra_specs
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import qos_limits
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import fallback as fallback_rules

_READ_ONLY = 'profile rbd-read-only pool='


@dataclasses.dataclass(frozen=True, kw_only=True)
class Remark:
    """State that the catalog does not express."""

    #: Name of the tier that it is about, or None.
    tier: str | None = None
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exported:
    """A sound catalog, and the state that it does not express."""

    catalog: catalogs.Catalog
    remarks: tuple[Remark, ...]
    #: Actions of a plan for the catalog.
    leftover: tuple[str, ...] = ()
    #: {name of a tier: parts that it lacks because they could not be read}
    undetermined: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )


class _Draft:
    """The tiers collected so far, by name, and the remarks on them."""

    def __init__(self, known: inventory.Inventory) -> None:
        self.known = known
        self.tiers: dict[str, catalogs.Tier] = {}
        self.follow: list[str] = []
        self.remarks: list[Remark] = []
        self.undetermined: dict[str, str] = {}

    def put(self, tier: catalogs.Tier) -> None:
        self.tiers[tier.name] = tier

    def remark(self, text: str, tier: str | None = None) -> None:
        self.remarks.append(Remark(tier=tier, text=text))


def export(known: inventory.Inventory) -> Exported:
    """Return the catalog that declares the existing state.

    :param known: existing state.
    :returns: a sound catalog: its managed tiers as `decide()` ranks them, then
        the others by name.
    """
    draft = _Draft(known)
    _find_types(draft)
    clusters = _find_pools(
        draft,
        {
            one.fsid.lower(): _with_cinder_user(one, draft)
            for one in reversed(known.clusters)
        },
    )
    _settle_tags(draft)
    _settle_priorities(draft)
    _settle_fallback(draft)
    tiers = sorted(
        draft.tiers.values(),
        key=lambda tier: (
            not tier.take_over,
            tier.fallback,
            -tier.priority,
            tier.name,
        ),
    )
    catalog = _with_overflow(
        catalogs.Catalog(
            tiers=tuple(tiers),
            clusters=clusters,
            follow_image_types=tuple(draft.follow),
            without_fallback=(
                any(tier.take_over for tier in tiers)
                and not any(tier.fallback for tier in tiers)
            ),
        ),
        draft,
    )
    return Exported(
        catalog=catalog,
        remarks=tuple(draft.remarks),
        leftover=tuple(_leftover(catalog, known)),
        undetermined=draft.undetermined,
    )


def _find_types(draft: _Draft) -> None:
    """Make each volume type a tier, or one that follows the image."""
    taken: dict[str, str] = {}
    types = draft.known.cinder.volume_types
    # Managed types come first, so others yield to them.
    for found in sorted(
        types.values(), key=lambda one: (not one.is_ours, one.name)
    ):
        name = found.name
        try:
            other = taken.get(cinder_state.as_databases_compare(name))
            if other is not None:
                raise ValueError(
                    f'its name differs from {other} only in case or accents'
                )
            if export_types.leaves_choice_to_image(found):
                _follow(draft, found)
            else:
                tier, remarks = export_types.tier_of(
                    found,
                    draft.known,
                    is_ours=cinder_state.NAME in found.extra_specs,
                    taken=draft.tiers.keys() | types.keys() - {name},
                )
                draft.tiers[tier.name] = tier
                for text in remarks:
                    draft.remark(text, tier=tier.name)
            taken[cinder_state.as_databases_compare(name)] = name
        except ValueError as error:
            draft.remark(
                f'volume type {name} is not in the tiers file: {error}'
            )


def _follow(draft: _Draft, found: cinder_state.VolumeType) -> None:
    export_types.check_follow_name(found.name)
    if not extra_specs.follows_image(found.extra_specs):
        raise ValueError(
            f'its extra spec {cinder_state.FOLLOW_IMAGE} is '
            f'{found.extra_specs[cinder_state.FOLLOW_IMAGE]}, '
            'so it neither follows the image nor is a tier; remove that extra '
            'spec'
        )
    draft.follow.append(found.name)


def _with_cinder_user(
    known: inventory.KnownCluster, draft: _Draft
) -> inventory.KnownCluster:
    """Return the cluster with the cephx user that most backends have."""
    users = collections.Counter(
        location.user
        for location in map(rbd_location.location_of, draft.known.backends)
        if location
        and location.fsid == known.fsid.lower()
        and export_pools.is_user(location.user)
    )
    if not users:
        return known
    user = min(users, key=lambda name: (-users[name], name))
    return dataclasses.replace(
        known, cluster=dataclasses.replace(known.cluster, cinder_user=user)
    )


def _find_pools(
    draft: _Draft,
    clusters: collections.abc.Mapping[str, inventory.KnownCluster],
) -> dict[str, catalogs.Cluster]:
    """Add the pools behind their backends to the tiers.

    :param clusters: {fsid: cluster}
    :returns: {name: cluster} of clusters with a pool of a tier.
    """
    owners: dict[tuple[str, str], str] = {}
    # A pool belongs to one tier: the one created for it, else a managed one,
    # else the plainest, because further types are for encryption or features.
    for tier in sorted(
        draft.tiers.values(),
        key=lambda one: (
            one.backend_name != one.section,
            not one.take_over,
            one.encryption is not None,
            len(one.extra_specs),
            one.name,
        ),
    ):
        try:
            found = _pool_of(tier, draft, clusters, owners)
        except ValueError as error:
            draft.remark(f'rbd is left out: {error}', tier=tier.name)
            if isinstance(error, export_pools.Undetermined):
                draft.undetermined[tier.name] = f'rbd: {error.what}'
            continue
        if found is None:
            continue
        owners.update(
            {(found.cluster, pool): tier.name for pool in found.pools}
        )
        draft.put(
            dataclasses.replace(
                tier,
                rbd=found,
                backend_name=(
                    None
                    if tier.backend_name == tier.section
                    else tier.backend_name
                ),
            )
        )
    used = {name for name, _ in owners}
    return {
        one.cluster.name: _completed(one, draft, owners)
        for one in sorted(clusters.values(), key=lambda one: one.cluster.name)
        if one.cluster.name in used
    }


def _pool_of(
    tier: catalogs.Tier,
    draft: _Draft,
    clusters: collections.abc.Mapping[str, inventory.KnownCluster],
    owners: collections.abc.Mapping[tuple[str, str], str],
) -> catalogs.RbdPool | None:
    """Return the pool of a tier; None if its backend has no RBD driver.

    :raises export_pools.Undetermined: the pool could not be read.
    :raises ValueError: the pool cannot be declared.
    """
    if tier.backend_name is None:
        return None
    location = _location(tier.backend_name, draft.known)
    if location is None:
        return None
    if location.fsid not in clusters:
        unreached = '; '.join(
            f'{name}: {why}'
            for name, why in sorted(draft.known.unreached.items())
        )
        raise export_pools.Undetermined(
            f'it is pool {location.pool} of the Ceph cluster '
            f'{location.fsid}, which was not named with --cluster, or '
            'could not be reached',
            unreached,
        )
    known = clusters[location.fsid]
    if location.user != known.cluster.cinder_user:
        raise ValueError(
            f'its backend uses client.{location.user}, and others on the '
            f'cluster use client.{known.cluster.cinder_user}: a tiers '
            'file has one cinder_user for each cluster'
        )
    rbd, remarks = export_pools.rbd_of(known, location.pool)
    for pool in rbd.pools:
        other = owners.get((rbd.cluster, pool))
        if other is not None:
            raise ValueError(
                f'pool {pool} belongs to tier {other}; to give it to tier '
                f'{tier.name} instead, move the key rbd of {other} to it'
            )
    lacking = export_pools.lacking_caps(rbd, known.cluster, known.ceph)
    if tier.take_over and lacking:
        raise ValueError(
            f'client.{location.user} lacks capabilities that apply grants '
            f'for pool {rbd.pool} ({", ".join(lacking)})'
        )
    for fault in qos_limits.faults_of_rbd(
        (tier.qos and tier.qos.back_end) or {}
    ):
        raise ValueError(
            f'{fault.found} in its QoS spec, but {fault.expected} is needed'
        )
    for text in remarks:
        draft.remark(text, tier=tier.name)
    return rbd


def _location(
    backend: str,
    known: inventory.Inventory,
) -> rbd_location.Location | None:
    """Return the place of the volumes of the backends with a name.

    :raises export_pools.Undetermined: no backend of the name reports.
    :raises ValueError: the backends keep volumes in several places.
    """
    serving = [
        one
        for one in known.backends
        if one.capabilities.get(cinder_state.BACKEND) == backend
    ]
    if not serving:
        raise export_pools.Undetermined(
            f"no backend with the name {backend} reports to Cinder's scheduler"
        )
    locations = {rbd_location.location_of(one) for one in serving}
    if len(locations) > 1:
        raise ValueError(
            f'several backends are called {backend}, and not all have the '
            f'same pool and user: '
            f'{", ".join(sorted(one.name for one in serving))}'
        )
    return locations.pop()


def _completed(
    known: inventory.KnownCluster,
    draft: _Draft,
    owners: collections.abc.Mapping[tuple[str, str], str],
) -> catalogs.Cluster:
    """Return the cluster with the options of its hosts and its images pool.

    The images pool is the only pool that cinder-volume may only read.
    """
    remarks: list[str] = []
    cluster = dataclasses.replace(
        known.cluster,
        images_pool=None,
        host_osd_options=export_osds.host_options(known, remarks),
    )
    for text in remarks:
        draft.remark(f'cluster {cluster.name}: {text}')
    user = known.ceph.users.get(f'client.{cluster.cinder_user}')
    grants = cephx_user.parse(user.caps.get('osd', '')) if user else ()
    pools = sorted(
        {
            pool
            for grant in grants
            if grant.startswith(_READ_ONLY)
            and (pool := grant.removeprefix(_READ_ONLY)) in known.ceph.pools
            and export_pools.is_pool_name(pool)
            and (cluster.name, pool) not in owners
        }
    )
    if len(pools) == 1:
        return dataclasses.replace(cluster, images_pool=pools[0])
    draft.remark(
        f'cluster {cluster.name}: images_pool is not known: the pools '
        f'that client.{cluster.cinder_user} may only read '
        f'are: {", ".join(pools) or "none"}'
    )
    return cluster


def _settle_tags(draft: _Draft) -> None:
    """Leave each tag to one tier."""
    owners: dict[str, str] = {}
    for name, tier in sorted(draft.tiers.items()):
        twice = [
            tag for tag in tier.tags if owners.setdefault(tag, name) != name
        ]
        for tag in twice:
            draft.remark(
                (
                    f'the tag {tag} is left out: tier {owners[tag]} has it as '
                    'well'
                ),
                tier=name,
            )
        left = tuple(tag for tag in tier.tags if tag not in twice)
        if twice:
            draft.put(
                dataclasses.replace(
                    tier, tags=left, priority=tier.priority if left else 0
                )
            )


def _settle_priorities(draft: _Draft) -> None:
    """Give each tier with tags a priority of its own."""
    # As in decide(), the name that sorts first wins at equal priorities.
    tagged = sorted(
        ((name, tier) for name, tier in draft.tiers.items() if tier.tags),
        key=lambda item: (-item[1].priority, item[0]),
    )
    priorities = _different([tier.priority for _, tier in tagged])
    for (name, tier), priority in zip(tagged, priorities, strict=True):
        if priority != tier.priority:
            draft.remark(
                (
                    f'its priority is {tier.priority}, which another tier has '
                    'as well'
                ),
                tier=name,
            )
            draft.put(dataclasses.replace(tier, priority=priority))


def _different(priorities: list[int]) -> list[int]:
    """Return priorities in the same order, highest first, all different.

    >>> _different([5, 5, 4, -1000000, -1000000])
    [5, 4, 3, -999999, -1000000]
    """
    found: list[int] = []
    for priority in priorities:
        found.append(min([priority, *(one - 1 for one in found[-1:])]))
    least = limits.PRIORITY.least
    for index in reversed(range(len(found))):
        found[index] = max(found[index], least)
        least = found[index] + 1
    return found


def _settle_fallback(draft: _Draft) -> None:
    """Leave at most one fallback tier to each availability zone."""
    fallbacks = {
        name: extra_specs.zones(tier.extra_specs)
        for name, tier in sorted(draft.tiers.items())
        if tier.fallback
    }
    for fault in fallback_rules.find_faults(fallbacks):
        draft.remark(f'fallback is left out: {fault.found}', tier=fault.tier)
        draft.put(dataclasses.replace(draft.tiers[fault.tier], fallback=False))


def _with_overflow(
    catalog: catalogs.Catalog, draft: _Draft
) -> catalogs.Catalog:
    """Return the catalog with each overflow that is sound with the others.

    They are tried one by one only if they are not all sound, because each try
    checks the whole catalog.
    """
    if not catalog_rules.check(catalog):
        return catalog
    wanted = {
        tier.name: tier.overflow
        for tier in catalog.tiers
        if tier.overflow is not None
    }
    catalog = dataclasses.replace(
        catalog,
        tiers=tuple(
            dataclasses.replace(tier, overflow=None) for tier in catalog.tiers
        ),
    )
    for name, overflow in sorted(wanted.items()):
        trial = dataclasses.replace(
            catalog,
            tiers=tuple(
                dataclasses.replace(tier, overflow=overflow)
                if tier.name == name
                else tier
                for tier in catalog.tiers
            ),
        )
        problems = catalog_rules.check(trial)
        if problems:
            draft.remark(
                f'overflow to {overflow} is left out: {problems[0].found}',
                tier=name,
            )
        else:
            catalog = trial
    return catalog


def _leftover(
    catalog: catalogs.Catalog,
    known: inventory.Inventory,
) -> collections.abc.Iterator[str]:
    """Yield actions of a plan for state that no catalog can declare."""
    try:
        made = plans.make(
            catalog=catalog,
            actual=actual_state.ActualState(
                cinder=known.cinder,
                ceph={one.cluster.name: one.ceph for one in known.clusters},
                projects={
                    ident: frozenset([ident] if name is not None else ())
                    for ident, name in known.projects.items()
                },
            ),
        )
    except errors.ProblemsFound as error:
        for problem in error.problems:
            yield problem.found
        return
    for action in made.actions:
        changes = ''
        if action.changes:
            changes = ': ' + ', '.join(
                f'{one.field} {_value(one.before)} -> {_value(one.after)}'
                for one in action.changes
            )
        verb = f'refused: {action.verb}' if action.refusal else action.verb
        yield f'{verb} {action.key}{changes}'


def _value(value: object) -> str:
    return (
        spelling.listed(value) if isinstance(value, frozenset) else str(value)
    )
