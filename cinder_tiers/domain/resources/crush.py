# SPDX-License-Identifier: Apache-2.0

"""CRUSH rules and erasure code profiles of the pools of a tier.

`tier_pools` defines their content, and their names in an empty cluster; this
module adapts that to a cluster. A pool keeps its rule and its profile,
regardless of their names, if their content is as wanted. If another object has
a name, another name is used. So no rule and no profile is ever changed. Pure.
"""

import collections
import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import erasure_code
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference

#: First release with multi-step retry rules; its name and later ones as in
#: require_min_compat_client.
MSR_SINCE = 19
_CLIENTS_WITH_MSR = ('squid', 'tentacle', 'umbrella', 'vampire')

#: Maximum number of failure domains in a message.
_MOST_SHOWN = 5

Named = ceph_state.CrushRule | ceph_state.ErasureCodeProfile


def pools_in(
    rbd: catalogs.RbdPool, ceph: ceph_state.CephState
) -> tier_pools.TierPools:
    """Return the profiles, CRUSH rules and pools of a tier in this cluster.

    :param rbd: pool of the tier.
    :returns: pools with the names of the rules and profiles that they use
        already, which are left out, and missing rules and profiles.
    """
    wanted = tier_pools.pools_of(rbd)
    profiles = {one.name: one for one in wanted.erasure_code_profiles}
    rules = {one.name: one for one in wanted.crush_rules}
    made_profiles: list[ceph_state.ErasureCodeProfile] = []
    made_rules: list[ceph_state.CrushRule] = []
    pools = []
    for pool in wanted.pools:
        rule, profile = rules[pool.name], profiles.get(pool.name)
        name = _free_name(rbd, rule, profile, ceph)
        before = ceph.pools.get(pool.name)
        used, used_profile = _used(before, ceph)
        if used and not _is_alike(used.placing(pool.size), rule):
            used = None
        if used_profile and not (
            profile and _makes_the_same_chunks(used_profile, profile)
        ):
            used_profile = None
        # Ceph creates a rule for erasure code from the profile of its name.
        if profile and not (
            used_profile and (used or name in ceph.crush_rules)
        ):
            made_profiles.append(dataclasses.replace(profile, name=name))
        if used is None:
            made_rules.append(dataclasses.replace(rule, name=name))
        pools.append(
            dataclasses.replace(
                pool,
                crush_rule=used.name if used else name,
                erasure_code_profile=(
                    used_profile.name
                    if used_profile
                    else name
                    if profile
                    else None
                ),
            )
        )
    return tier_pools.TierPools(
        erasure_code_profiles=tuple(made_profiles),
        crush_rules=tuple(made_rules),
        pools=tuple(pools),
    )


def _used(
    pool: ceph_state.Pool | None, ceph: ceph_state.CephState
) -> tuple[ceph_state.CrushRule | None, ceph_state.ErasureCodeProfile | None]:
    """Return the CRUSH rule and the profile of an existing pool."""
    if pool is None:
        return None, None
    return (
        ceph.crush_rules.get(pool.crush_rule),
        ceph.erasure_code_profiles.get(pool.erasure_code_profile or ''),
    )


def profiles_to_read(
    rbd: catalogs.RbdPool, ceph: ceph_state.CephState
) -> frozenset[str]:
    """Return the erasure code profiles that `pools_in` needs to know.

    :param rbd: pool of the tier.
    :param ceph: cluster; once it has the profiles of a first call, a second
        one may name another.
    """
    used = (
        ceph.pools[name].erasure_code_profile
        for name in rbd.pools
        if name in ceph.pools
    )
    wanted = (
        *tier_pools.pools_of(rbd).erasure_code_profiles,
        *pools_in(rbd, ceph).erasure_code_profiles,
    )
    return frozenset({*filter(None, used), *(one.name for one in wanted)})


def _free_name(
    rbd: catalogs.RbdPool,
    rule: ceph_state.CrushRule,
    profile: ceph_state.ErasureCodeProfile | None,
    ceph: ceph_state.CephState,
) -> str:
    """Return the first name that no other object has, or the last name."""
    names = tier_pools.rule_names(rbd, rule.name)
    for name in names:
        others: list[Named | None] = [ceph.crush_rules.get(name)]
        wanted: list[Named] = [rule]
        if profile is not None:
            others.append(ceph.erasure_code_profiles.get(name))
            wanted.append(profile)
        if all(
            other is None or _is_alike(other, one)
            for other, one in zip(others, wanted, strict=True)
        ):
            return name
    return names[-1]


def _makes_the_same_chunks(
    used: ceph_state.ErasureCodeProfile, wanted: ceph_state.ErasureCodeProfile
) -> bool:
    """Return whether the profile of an existing pool is right for it.

    The CRUSH rule of the pool determines the places of chunks, and their size
    has been fixed since its creation: `stripe_width_bytes` of the pool.
    """
    return {'k', 'm', 'plugin', 'technique'}.isdisjoint(
        one.field for one in difference.differences(used, wanted)
    )


def _is_alike(found: Named, wanted: Named) -> bool:
    """Return whether an existing object is as wanted, except for its name."""
    return not difference.differences(found, wanted)


def plan_profiles(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Actions:
    """Yield actions on the erasure code profiles of a cluster, by tier."""
    for tier in catalog.tiers_of(cluster.name):
        for profile in pools_in(tier.rbd, ceph).erasure_code_profiles:
            yield from _unchangeable(
                _profile_key(cluster, profile.name),
                ceph.erasure_code_profiles.get(profile.name),
                profile,
                f'tier {tier.name}',
            )


def plan_rules(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Actions:
    """Yield actions on the CRUSH rules of a cluster, tier by tier."""
    for tier in catalog.tiers_of(cluster.name):
        wanted = pools_in(tier.rbd, ceph)
        for rule in wanted.crush_rules:
            planned = _unchangeable(
                actions.Key(
                    kind=actions.Kind.CRUSH_RULE,
                    cluster=cluster.name,
                    name=rule.name,
                ),
                ceph.crush_rules.get(rule.name),
                rule,
                f'tier {tier.name}',
                frozenset(
                    _profile_key(cluster, profile.name)
                    for profile in wanted.erasure_code_profiles
                    if profile.name == rule.name
                ),
            )
            for action in planned:
                yield dataclasses.replace(
                    action,
                    refusal=actions.joined(
                        filter(None, (action.refusal, _too_new(rule, ceph)))
                    ),
                )


def _too_new(
    rule: ceph_state.CrushRule, ceph: ceph_state.CephState
) -> actions.Refusal | None:
    """Return why a cluster, or its clients, cannot have an MSR rule.

    Clients decode the CRUSH map with all its rules, so an older client would
    lose the whole cluster (CrushWrapper::get_min_required_version).
    """
    if rule.osds_per_failure_domain is None:
        return None
    if ceph.release is not None and ceph.release < MSR_SINCE:
        return actions.Refusal(
            reason=f'the cluster, of Ceph {ceph.release}, does not have '
            'multi-step retry rules for osds_per_failure_domain (Ceph '
            f'{MSR_SINCE})',
            remedy='remove failure_domains and osds_per_failure_domain, or '
            'upgrade the cluster first',
        )
    if (
        ceph.min_compat_client is not None
        and ceph.min_compat_client not in _CLIENTS_WITH_MSR
    ):
        return actions.Refusal(
            reason='the multi-step retry rule for osds_per_failure_domain '
            'would lock out all clients of the cluster older than '
            f'{_CLIENTS_WITH_MSR[0]}, kernel clients included, and the '
            'cluster serves them: require_min_compat_client is '
            f'{ceph.min_compat_client}',
            remedy='check with "ceph features" that there are none, then '
            'run "ceph osd set-require-min-compat-client '
            f'{_CLIENTS_WITH_MSR[0]}"',
        )
    return None


def _profile_key(cluster: catalogs.Cluster, name: str) -> actions.Key:
    return actions.Key(
        kind=actions.Kind.ERASURE_CODE_PROFILE, cluster=cluster.name, name=name
    )


def _unchangeable(
    key: actions.Key,
    before: ceph_state.CrushRule | ceph_state.ErasureCodeProfile | None,
    after: ceph_state.CrushRule | ceph_state.ErasureCodeProfile,
    why: str,
    needs: frozenset[actions.Key] = frozenset(),
) -> collections.abc.Iterator[actions.Action]:
    """Yield an action that creates an object; a change of it is refused."""
    refusal = None
    if before is not None:
        if not difference.differences(before, after):
            return
        refusal = actions.Refusal(
            reason=(
                f'the {key.kind.value} exists with other values, and changing '
                'it would move or endanger the data of pools that use it'
            ),
            remedy=(
                'name another pool in the tiers file, or remove '
                f'the {key.kind.value} by hand if no pool uses it'
            ),
        )
    yield actions.Action(
        key=key,
        before=before,
        after=after,
        why=why,
        needs=needs,
        refusal=refusal,
    )


def check_cluster(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Problems:
    """Yield problems of a cluster without enough failure domains for tiers."""
    for tier in catalog.tiers_of(cluster.name):
        for path, rbd in tier.storages:
            yield from _placement(catalog, tier, path, rbd, ceph)


def _placement(
    catalog: catalogs.Catalog,
    tier: catalogs.CephTier,
    path: catalogs.Path,
    rbd: catalogs.RbdPool,
    ceph: ceph_state.CephState,
) -> list[errors.Problem]:
    classes = ceph.device_classes
    for field in ('device_class', 'primary_device_class'):
        wanted = getattr(rbd, field)
        if wanted is None or wanted in classes:
            continue
        exist = (
            ', '.join(
                f'{name} ({count} OSDs)' for name, count in classes.items()
            )
            or 'none'
        )
        near = spelling.did_you_mean(wanted, classes)
        return [
            errors.Problem(
                where=catalog.source.where((*path, field)),
                found=f'no OSD of cluster {rbd.cluster!r} has device class '
                f'{wanted!r}',
                expected=f'one that exists: {exist}',
                remedy=(
                    f'{near}fix it, or give OSDs the class with "ceph osd '
                    'crush set-device-class"'
                ),
            )
        ]
    if not any(osd.is_below(rbd.crush_root) for osd in ceph.osds):
        return [_without_root(catalog, path, rbd, ceph)]
    kinds = ceph.bucket_types
    for need in _domains_needed(rbd):
        buckets = _buckets(rbd, need, ceph)
        if len(buckets) >= need.domains or (
            # OSDs may be out for an hour, so an existing pool is accepted.
            _is_there(rbd, ceph)
            and len(_buckets(rbd, need, _as_if_in(ceph))) >= need.domains
        ):
            continue
        without_data = _without_data(rbd, need.device_class, ceph)
        return [
            errors.Problem(
                where=catalog.source.where((*path, 'failure_domain')),
                found=f'{len(buckets)} failure domains of type '
                f'{rbd.failure_domain!r} '
                f'{"that can take data, " if without_data else ""}with '
                f'{need} under CRUSH root {rbd.crush_root!r}'
                + (f' ({", ".join(buckets)})' if buckets else '')
                + (f'; {without_data}' if without_data else ''),
                expected=f'at least {need.domains}, {need.purpose} of tier '
                f'{tier.name!r}; bucket types in use: {", ".join(kinds)}',
                remedy='lower size (or k, m), choose a smaller '
                'failure_domain, or add OSDs'
                + (', or give these a weight' if without_data else ''),
            )
        ]
    return list(_both_copies_in_one(catalog, tier, path, rbd, ceph))


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Need:
    """Failure domains that a pool needs."""

    #: Class of the OSDs in them; None for any.
    device_class: str | None
    #: Number of failure domains.
    domains: int
    #: OSDs needed in each of them, for copies or chunks that share it.
    each: int = 1
    #: Bucket type in which no two of these OSDs may be; None for any.
    apart: str | None = None
    #: Purpose, to be followed by the name of a tier.
    purpose: str

    def __str__(self) -> str:
        """Name the OSDs of a failure domain: `at least 2 hdd OSDs`."""
        found = f'{self.device_class or "any"} OSDs'
        if self.apart is not None:
            return (
                f'{found} in at least {self.each} buckets of type '
                f'{self.apart!r}'
            )
        return found if self.each == 1 else f'at least {self.each} {found}'


def _buckets(
    rbd: catalogs.RbdPool, need: _Need, ceph: ceph_state.CephState
) -> list[str]:
    """Return the failure domains of a pool that can take data."""
    osds = ceph.osds_in_buckets(
        kind=rbd.failure_domain,
        root=rbd.crush_root,
        device_class=need.device_class,
        apart=need.apart,
    )
    return sorted(name for name, count in osds.items() if count >= need.each)


def _as_if_in(ceph: ceph_state.CephState) -> ceph_state.CephState:
    """Return the cluster as if CRUSH gave data to each OSD."""
    return dataclasses.replace(
        ceph,
        osds=tuple(dataclasses.replace(osd, no_data='') for osd in ceph.osds),
    )


def _is_there(rbd: catalogs.RbdPool, ceph: ceph_state.CephState) -> bool:
    """Return whether all pools of a tier exist with their place and size."""
    wanted = pools_in(dataclasses.replace(rbd, cache=None), ceph)
    return not wanted.crush_rules and all(
        pool.name in ceph.pools
        and ceph.pools[pool.name].size == pool.size
        and ceph.pools[pool.name].crush_rule == pool.crush_rule
        for pool in wanted.pools
    )


def _without_data(
    rbd: catalogs.RbdPool,
    device_class: str | None,
    ceph: ceph_state.CephState,
) -> str:
    """Describe the OSDs of a pool that get no data from CRUSH, or ''.

    For example: osd.4 has weight 0, osd.5 is out.
    """
    why: dict[str, list[int]] = {}
    for osd in ceph.osds:
        if (
            osd.no_data
            and osd.is_below(rbd.crush_root)
            and device_class in (None, osd.device_class)
        ):
            why.setdefault(osd.no_data, []).append(osd.osd_id)
    return ', '.join(
        f'{spelling.osds(ids)} {reason}' for reason, ids in why.items()
    )


def _domains_needed(
    rbd: catalogs.RbdPool,
) -> collections.abc.Iterator[_Need]:
    """Yield the failure domains that each pool of a tier needs."""
    protection, device_class = rbd.protection, rbd.device_class
    each = protection.per_failure_domain
    if each > 1:
        is_coded = isinstance(protection, catalogs.ErasureCoded)
        yield _Need(
            device_class=device_class,
            domains=protection.failure_domains,
            each=each,
            apart=(
                protection.sub_failure_domain
                if isinstance(protection, catalogs.Replicated)
                else None
            ),
            purpose=f'for the {protection.size} '
            f'{"chunks" if is_coded else "copies"}',
        )
        if isinstance(protection, catalogs.ErasureCoded):
            yield _Need(
                device_class=device_class,
                domains=tier_pools.head_protection(protection).failure_domains,
                purpose='one for each copy of the image headers',
            )
    elif rbd.primary_device_class is not None:
        yield _Need(
            device_class=rbd.primary_device_class,
            domains=1,
            purpose='for the first copy',
        )
        yield _Need(
            device_class=device_class,
            domains=protection.failure_domains - 1,
            purpose='one for each other copy',
        )
    else:
        yield _Need(
            device_class=device_class,
            domains=protection.failure_domains,
            purpose='one for each copy or chunk',
        )


def _shared_domains(
    rule: ceph_state.CrushRule, ceph: ceph_state.CephState
) -> list[str]:
    """Return failure domains where a rule of two classes puts two copies.

    Each part of the rule chooses independently, so in a failure domain with
    OSDs of both classes, the first copy may meet one of the others.
    """
    if rule.root is None or rule.failure_domain is None:
        return []
    ceph = _as_if_in(ceph)
    first, others = (
        ceph.buckets(
            kind=rule.failure_domain, root=rule.root, device_class=name
        )
        for name in (rule.primary_device_class, rule.device_class)
    )
    return sorted(first & others)


def shared_domains_note(
    rule: ceph_state.CrushRule, ceph: ceph_state.CephState
) -> str:
    """Return a note on a new rule with a class for the first copy, or ''.

    :param rule: rule to create.
    """
    if rule.primary_device_class is None:
        return ''
    shared = _shared_domains(rule, ceph)
    if not shared:
        return ''
    shown = ', '.join(shared[:_MOST_SHOWN])
    if len(shared) > _MOST_SHOWN:
        shown += f' and {len(shared) - _MOST_SHOWN} more'
    return (
        f'two copies may lie in one {rule.failure_domain}: {shown} have OSDs '
        f'of both {rule.primary_device_class} and {rule.device_class}; where '
        'one of them is lost, I/O stops below min_size until Ceph has copied '
        'the data'
    )


def _both_copies_in_one(
    catalog: catalogs.Catalog,
    tier: catalogs.CephTier,
    path: catalogs.Path,
    rbd: catalogs.RbdPool,
    ceph: ceph_state.CephState,
) -> kinds.Problems:
    """Yield a problem for both of two copies in one failure domain."""
    if rbd.primary_device_class is None or rbd.protection.size > 2:
        return
    *_, rule = tier_pools.pools_of(
        dataclasses.replace(rbd, cache=None)
    ).crush_rules
    shared = _shared_domains(rule, ceph)
    if shared:
        yield errors.Problem(
            where=catalog.source.where((*path, 'replicated', 'size')),
            found=f'size {rbd.protection.size} of tier {tier.name!r} with '
            f'primary_device_class, where {len(shared)} failure domains of '
            f'type {rbd.failure_domain!r} have OSDs of both classes '
            f'({", ".join(shared[:_MOST_SHOWN])})',
            expected='a size of 3 or more: both copies may lie in one of '
            'them, and would be lost with it',
            remedy='raise size, or keep the classes in failure domains of '
            'their own',
        )


def _without_root(
    catalog: catalogs.Catalog,
    path: catalogs.Path,
    rbd: catalogs.RbdPool,
    ceph: ceph_state.CephState,
) -> errors.Problem:
    """Return the problem of a CRUSH root without OSDs."""
    roots = collections.Counter(
        root for osd in ceph.osds for root in osd.buckets_of('root', root=None)
    )
    exist = ', '.join(
        f'{name} ({count} OSDs)' for name, count in sorted(roots.items())
    )
    return errors.Problem(
        where=catalog.source.where((*path, 'crush_root')),
        found=f'cluster {rbd.cluster!r} has no OSD under CRUSH root '
        f'{rbd.crush_root!r}',
        expected=f'one that has OSDs: {exist or "none"}',
        remedy=f'{spelling.did_you_mean(rbd.crush_root, roots)}fix '
        'crush_root, or link hosts to it with "ceph osd crush link"',
    )


def check_profiles(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield erasure codes that Ceph would refuse."""
    for tier in catalog.ceph_tiers:
        if not isinstance(tier.rbd.protection, catalogs.ErasureCoded):
            continue
        for fault in erasure_code.faults(tier.rbd.protection):
            place = ('tiers', tier.name, 'rbd', 'erasure_coded', fault.key)
            yield errors.Problem(
                where=catalog.source.where(place),
                found=f'{fault.key} of tier {tier.name!r}: {fault.found}',
                expected=fault.expected,
                remedy=fault.remedy,
            )


ERASURE_CODE_PROFILE = kinds.ResourceKind(
    kind=actions.Kind.ERASURE_CODE_PROFILE,
    resource=ceph_state.ErasureCodeProfile,
    state_field='erasure_code_profiles',
    plan=kinds.for_each_cluster(plan_profiles),
    tiers_affected=tier_pools.tiers_affected,
    check=check_profiles,
)
CRUSH_RULE = kinds.ResourceKind(
    kind=actions.Kind.CRUSH_RULE,
    resource=ceph_state.CrushRule,
    state_field='crush_rules',
    plan=kinds.for_each_cluster(plan_rules),
    tiers_affected=tier_pools.tiers_affected,
    check_cluster=check_cluster,
)
