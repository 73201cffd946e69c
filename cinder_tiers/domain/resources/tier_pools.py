# SPDX-License-Identifier: Apache-2.0

"""Declarations of a catalog as objects of Ceph.

This module defines all names and sizes. Pure. Must not know what exists.

Names: an RBD tier with pool P has the CRUSH rule P, unless `crush` finds
another one. An erasure coded tier has a replicated pool P with the headers of
the images, and for their data the pool, the CRUSH rule and the erasure code
profile `P-data`, or the names in the tiers file: librbd keeps headers and omap
in a replicated pool (ceph doc/rados/operations/erasure-code.rst, "Erasure
coding with overwrites"). A cache tier in pool C has the CRUSH rule C, and
stands in front of the pool with the data.
"""

import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state

#: Stands for a device class in the name of a rule that takes all of them.
ANY = 'any'


@dataclasses.dataclass(frozen=True, kw_only=True)
class TierPools:
    """The Ceph objects of one RBD tier, each tuple in order of creation."""

    erasure_code_profiles: tuple[ceph_state.ErasureCodeProfile, ...]
    crush_rules: tuple[ceph_state.CrushRule, ...]
    pools: tuple[ceph_state.Pool, ...]


def pools_of(rbd: catalogs.RbdPool) -> TierPools:
    """Return profiles, CRUSH rules and pools of an RBD tier and its cache."""
    own = _own_pools(rbd)
    if rbd.cache is None:
        return own
    cache = _own_pools(rbd.cache.rbd)
    return TierPools(
        erasure_code_profiles=own.erasure_code_profiles,
        crush_rules=own.crush_rules + cache.crush_rules,
        pools=own.pools + cache.pools,
    )


def _own_pools(rbd: catalogs.RbdPool) -> TierPools:
    """Return profiles, CRUSH rules and pools without those of the cache."""
    if isinstance(rbd.protection, catalogs.Replicated):
        return TierPools(
            erasure_code_profiles=(),
            crush_rules=(
                dataclasses.replace(
                    _rule(rbd, name=rbd.pool, kind='replicated'),
                    replicas_per_failure_domain=(
                        rbd.protection.replicas_per_failure_domain
                    ),
                    sub_failure_domain=rbd.protection.sub_failure_domain,
                ),
            ),
            pools=(
                _replicated(rbd, protection=rbd.protection, pg_num=rbd.pg_num),
            ),
        )
    head, data = rbd.pool, rbd.data_pool
    return TierPools(
        erasure_code_profiles=(
            ceph_state.ErasureCodeProfile(
                name=data,
                k=rbd.protection.k,
                m=rbd.protection.m,
                root=rbd.crush_root,
                device_class=rbd.device_class,
                failure_domain=rbd.failure_domain,
                plugin=rbd.protection.plugin,
                technique=rbd.protection.technique,
                stripe_unit_bytes=rbd.protection.stripe_unit_bytes,
                num_failure_domains=rbd.protection.num_failure_domains,
                osds_per_failure_domain=rbd.protection.osds_per_failure_domain,
            ),
        ),
        crush_rules=(
            dataclasses.replace(
                _rule(rbd, name=data, kind='erasure'),
                num_failure_domains=rbd.protection.num_failure_domains,
                osds_per_failure_domain=rbd.protection.osds_per_failure_domain,
            ),
            _rule(rbd, name=head, kind='replicated'),
        ),
        pools=(
            _erasure_coded(rbd, name=data, protection=rbd.protection),
            _replicated(
                rbd,
                protection=head_protection(rbd.protection),
                pg_num=head_pg_num(rbd.pg_num),
                data_pool=data,
            ),
        ),
    )


def rule_names(rbd: catalogs.RbdPool, pool: str) -> tuple[str, ...]:
    """Return names for the CRUSH rule and profile of a pool, the best first.

    The second is used if another object has the first one.

    :param rbd: pool of the tier.
    :param pool: the pool, one of `rbd.pools`.
    """
    places: tuple[str, ...] = (rbd.device_class or ANY, rbd.failure_domain)
    if rbd.primary_device_class is not None:
        places = (rbd.primary_device_class, *places)
    if rbd.crush_root != catalogs.CRUSH_ROOT:
        places = (rbd.crush_root, *places)
    if pool == rbd.data_pool and rbd.protection.per_failure_domain > 1:
        shared = filter(None, _shared_domains(rbd.protection))
        places = (*places, 'x'.join(map(str, shared)))
    return pool, '-'.join((pool, *places))


def _shared_domains(
    protection: catalogs.Replicated | catalogs.ErasureCoded,
) -> tuple[int | str | None, ...]:
    """Return the parameters of a rule for shared failure domains.

    >>> shared = catalogs.Replicated(
    ...     size=4, replicas_per_failure_domain=2, sub_failure_domain='host'
    ... )
    >>> _shared_domains(shared)
    (2, 'host')
    """
    if isinstance(protection, catalogs.ErasureCoded):
        return (
            protection.num_failure_domains,
            protection.osds_per_failure_domain,
        )
    return (
        protection.replicas_per_failure_domain,
        protection.sub_failure_domain,
    )


def tiers_with_pool(
    catalog: catalogs.Catalog, cluster: str, names: frozenset[str]
) -> tuple[str, ...]:
    """Return the tiers that have a pool, CRUSH rule or profile.

    :param cluster: name of the cluster.
    :param names: names of pools, rules or profiles, of which one must match.
    :returns: names of tiers in the order of the file.
    """
    return tuple(
        tier.name
        for tier in catalog.tiers_of(cluster)
        if not names.isdisjoint(
            name
            for pool in tier.rbd.pools
            for name in rule_names(tier.rbd, pool)
        )
    )


def tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    """Return the tiers with the pool, CRUSH rule or profile of an action."""
    return tiers_with_pool(
        catalog, action.key.of_cluster, frozenset({action.key.name})
    )


def head_protection(protection: catalogs.ErasureCoded) -> catalogs.Replicated:
    """Return the copies of the image headers of an erasure coded tier.

    They survive the loss of as many failure domains as the data; there are at
    least three, Ceph's default.

    >>> head_protection(catalogs.ErasureCoded(k=4, m=3)).size
    4
    """
    return catalogs.Replicated(size=max(3, protection.domains_to_lose + 1))


def first_min_size(
    protection: catalogs.Replicated | catalogs.ErasureCoded,
) -> int:
    """Return the min_size of a new pool, unless the tiers file has one.

    It is Ceph's own (half of the copies, rounded up, and k + 1: OSDMonitor,
    prepare_pool_size, v16.2.15), except for two copies and for m = 1: there
    Ceph would accept writes that one more failed disk loses.

    >>> [first_min_size(catalogs.Replicated(size=n)) for n in (1, 2, 3, 5)]
    [1, 2, 2, 3]
    >>> first_min_size(catalogs.ErasureCoded(k=4, m=2))
    5
    """
    if protection.min_size is not None:
        return protection.min_size
    if isinstance(protection, catalogs.ErasureCoded):
        return protection.least_min_size
    half = protection.size - protection.size // 2
    return max(half, protection.least_min_size)


def head_pg_num(pg_num: int | None) -> int | None:
    """Return a quarter of the data pool's number: headers are few and small.

    :param pg_num: number of the data pool; None if Ceph chooses it.

    >>> head_pg_num(128)
    32
    """
    return pg_num and min(pg_num, max(8, pg_num // 4))


def _rule(
    rbd: catalogs.RbdPool, *, name: str, kind: str
) -> ceph_state.CrushRule:
    return ceph_state.CrushRule(
        name=name,
        kind=kind,
        root=rbd.crush_root,
        device_class=rbd.device_class,
        failure_domain=rbd.failure_domain,
        primary_device_class=rbd.primary_device_class,
    )


def _replicated(
    rbd: catalogs.RbdPool,
    *,
    protection: catalogs.Replicated,
    pg_num: int | None,
    data_pool: str | None = None,
) -> ceph_state.Pool:
    return ceph_state.Pool(
        name=rbd.pool,
        kind='replicated',
        size=protection.size,
        min_size=protection.min_size,
        first_min_size=first_min_size(protection),
        least_min_size=protection.least_min_size,
        pg_num=pg_num,
        pg_autoscale_mode=_autoscale_mode(pg_num),
        crush_rule=rbd.pool,
        rbd_default_data_pool=data_pool,
        options={} if data_pool else _options(rbd),
        rbd_options={
            name: rbd_option_text(value)
            for name, value in rbd.rbd_options.items()
        },
    )


def _erasure_coded(
    rbd: catalogs.RbdPool, *, name: str, protection: catalogs.ErasureCoded
) -> ceph_state.Pool:
    return ceph_state.Pool(
        name=name,
        kind='erasure',
        size=protection.size,
        min_size=protection.min_size,
        first_min_size=first_min_size(protection),
        least_min_size=protection.least_min_size,
        pg_num=rbd.pg_num,
        pg_autoscale_mode=_autoscale_mode(rbd.pg_num),
        crush_rule=name,
        erasure_code_profile=name,
        stripe_width_bytes=(
            protection.stripe_unit_bytes
            and protection.stripe_unit_bytes * protection.k
        ),
        ec_overwrites=True,
        options=_options(rbd),
    )


def _options(rbd: catalogs.RbdPool) -> dict[str, str]:
    return {
        name: pool_options.normal(name, value)
        for name, value in rbd.options.items()
    }


def rbd_option_text(value: catalogs.Value) -> str:
    """Return a librbd option in the form of `rbd config pool set`.

    >>> rbd_option_text(True), rbd_option_text(33554432)
    ('true', '33554432')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _autoscale_mode(pg_num: int | None) -> str | None:
    # Otherwise the autoscaler would change the declared number.
    return None if pg_num is None else 'off'
