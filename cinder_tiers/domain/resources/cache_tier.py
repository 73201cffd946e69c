# SPDX-License-Identifier: Apache-2.0

"""The part of a plan that is about cache tiers.

A cache is put in front of a pool when neither side can hold data that the
other does not know. All else - another mode, another cache, none - needs the
cache to be flushed while no client writes, which is left to an operator. Pure.
"""

import collections.abc
import shlex

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_settings
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference

#: Objects of a pool for RBD without an image: its options (rbd_info).
_OBJECTS_WITHOUT_IMAGES = 1


def make(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    """What separates the cache tiers of a cluster from the catalog.

    Pools of no tier of the catalog may have any cache.
    """
    tiers = catalog.tiers_of(cluster.name)
    for tier in tiers:
        for pool in tier.rbd.own_pools:
            yield from _in_front_of(pool, tier, catalog, cluster, ceph)
    known = {pool for tier in tiers for pool in tier.rbd.own_pools}
    for tier in tiers:
        for pool in tier.rbd.own_pools:
            for other in _fronted_by(pool, ceph):
                if other.name not in known:
                    yield actions.Action(
                        key=_key(cluster, other.name),
                        before=other,
                        after=None,
                        why=f'tier {tier.name}',
                        refusal=actions.Refusal(
                            reason=f'pool {pool} is a cache of pool '
                            f'{other.name}',
                            remedy='name another pool in the catalog, or '
                            + _removal(other),
                        ),
                    )


def _key(
    cluster: catalogs.Cluster,
    name: str,
    kind: actions.Kind = actions.Kind.CACHE_TIER,
) -> actions.Key:
    return actions.Key(kind=kind, cluster=cluster.name, name=name)


def _fronted_by(
    pool: str, ceph: ceph_state.CephState
) -> list[ceph_state.CacheTier]:
    """The cache tiers of other pools that a pool is a cache of."""
    return [
        one for one in ceph.cache_tiers.values() if pool in one.cache_pools
    ]


def _in_front_of(
    pool: str,
    tier: catalogs.Tier,
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    before = ceph.cache_tiers.get(pool)
    after = (
        tier_pools.cache_tier_of(tier.rbd)
        if pool == tier.rbd.data_pool
        else None
    )
    if after is None:
        if before is not None:
            yield actions.Action(
                key=_key(cluster, pool),
                before=before,
                after=None,
                why=f'tier {tier.name} declares no cache',
                refusal=actions.Refusal(
                    reason='what is in the cache must be flushed while no '
                    'client writes',
                    remedy=f'declare the cache, or {_removal(before)}',
                ),
            )
        return
    if before is not None and not difference.differences(before, after):
        return
    why = f'tier {tier.name}'
    if before is None:
        why += f'; I/O of {pool} goes through {after.cache_pool}'
    yield actions.Action(
        key=_key(cluster, pool),
        before=before,
        after=after,
        why=why,
        needs=frozenset(
            {
                _key(cluster, pool, actions.Kind.POOL),
                _key(cluster, after.cache_pool, actions.Kind.POOL),
                _key(
                    cluster,
                    f'client.{cluster.cinder_user}',
                    actions.Kind.CEPHX_USER,
                ),
            }
        ),
        refusal=(
            _no_addition(after, ceph)
            or _locked_out(tier, catalog, cluster, ceph)
            if before is None
            else _no_change(before, after, ceph)
        ),
    )


def _no_addition(
    after: ceph_state.CacheTier, ceph: ceph_state.CephState
) -> actions.Refusal | None:
    """Why a pool cannot become a cache."""
    cache = after.cache_pool
    elsewhere = 'name another pool in the catalog'
    for other in _fronted_by(cache, ceph):
        return actions.Refusal(
            reason=f'pool {cache} is already a cache of pool {other.name}',
            remedy=f'{elsewhere}, or {_removal(other)}',
        )
    if cache in ceph.cache_tiers:
        return actions.Refusal(
            reason=f'pool {cache} has a cache tier of its own, '
            f'{ceph.cache_tiers[cache].cache_pool}',
            remedy=elsewhere,
        )
    objects = ceph.objects_in.get(cache, 0)
    if objects:
        return actions.Refusal(
            reason=f'pool {cache} holds {objects} objects, which would be '
            f'served as if they were of pool {after.name}',
            remedy=f'{elsewhere}, or remove the pool by hand when nobody '
            f'needs them',
        )
    return None


def _locked_out(
    tier: catalogs.Tier,
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> actions.Refusal | None:
    """Whether clients that run would be refused by the OSDs of the cache.

    A client keeps the capabilities that it began with until its ticket is
    renewed; meanwhile its I/O fails with EPERM (seen with v16.2.15).
    """
    user = ceph.users.get(f'client.{cluster.cinder_user}')
    objects = ceph.objects_in.get(tier.rbd.pool, 0)
    if user is None or objects <= _OBJECTS_WITHOUT_IMAGES:
        return None
    grant = tier_pools.grant_of(tier.rbd.cache.rbd.pool)
    if cephx_user.union(user.caps, {'osd': (grant,)}) == user.caps:
        return None
    wanted = cephx_user.union(
        user.caps, tier_pools.grants_of(catalog, cluster)
    )
    command = ' '.join(
        (
            'ceph auth caps',
            user.name,
            *(
                f'{daemon} {shlex.quote(text)}'
                for daemon, text in sorted(wanted.items())
            ),
        )
    )
    return actions.Refusal(
        reason=f'pool {tier.rbd.pool} holds images, and the I/O of clients '
        f'that run would fail until they hear of the grant for pool '
        f'{tier.rbd.cache.rbd.pool}',
        remedy=f"run '{command}' now, and apply when each client has "
        f'renewed its ticket, after auth_service_ticket_ttl (an hour)',
    )


def _no_change(
    before: ceph_state.CacheTier,
    after: ceph_state.CacheTier,
    ceph: ceph_state.CephState,
) -> actions.Refusal | None:
    """Why a cache that is there cannot become what is declared."""
    if before.cache_pool != after.cache_pool:
        return actions.Refusal(
            reason=f'pool {before.name} has another cache already, '
            f'{before.cache_pool}',
            remedy=f'declare what exists, or {_removal(before)}',
        )
    if before.mode not in (
        *cache_settings.SAFE_MODES_BEFORE[after.mode],
        cache_settings.NO_MODE,
    ):
        return actions.Refusal(
            reason=f'a cache cannot go from mode {before.mode} to '
            f'{after.mode} without being emptied',
            remedy=f'declare what exists, or {_removal(before)}',
        )
    objects = ceph.objects_in.get(after.cache_pool, 0)
    is_used = before.overlay and before.mode != cache_settings.NO_MODE
    if objects and not is_used:
        return actions.Refusal(
            reason=f'clients did not use the cache, and pool '
            f'{after.cache_pool} holds {objects} objects that may be '
            f'older than those in pool {after.name}',
            remedy=f'when those in {after.name} are the right ones, '
            + _removal(before, flush=False),
        )
    return None


def _removal(tier: ceph_state.CacheTier, *, flush: bool = True) -> str:
    """What to do by hand to be rid of a cache.

    :param flush: whether what clients wrote may be in the cache only.
    """
    commands = []
    for pool in tier.cache_pools:
        if flush and tier.mode not in (
            cache_settings.READONLY,
            cache_settings.NO_MODE,
        ):
            commands += [
                f'ceph osd tier cache-mode {pool} proxy',
                f'rados -p {pool} cache-flush-evict-all',
            ]
    if tier.overlay:
        commands.append(f'ceph osd tier remove-overlay {tier.name}')
    for pool in tier.cache_pools:
        commands += [
            f'ceph osd tier remove {tier.name} {pool}',
            f'ceph osd pool delete {pool} {pool} '
            f'--yes-i-really-really-mean-it',
        ]
    return 'with all clients stopped, run ' + ', '.join(
        f'"{one}"' for one in commands
    )
