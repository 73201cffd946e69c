# SPDX-License-Identifier: Apache-2.0

"""An existing cache tier as the `cache` part of a tier.

Pure. A tier whose cache cannot be declared gets no `rbd` at all, because a
plan would remove the cache; the reason is a ValueError.
"""

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference

#: Defaults, which a catalog need not state.
_NOTHING = '0'


def check_alone(ceph: ceph_state.CephState, pool: str) -> None:
    """Reject a pool that is a cache of another pool.

    :raises ValueError: the pool is a cache; the text names the other pool.
    """
    for other in ceph.cache_tiers.values():
        if pool in other.cache_pools:
            raise ValueError(f'pool {pool} is a cache of pool {other.name}')


def check(tier: ceph_state.CacheTier) -> None:
    """Reject a cache that cannot be declared with any settings.

    :raises ValueError: the cache cannot be declared; the text says why.
    """
    what = f'pool {tier.name} has the cache {tier.cache_pool}'
    if len(tier.cache_pools) > 1:
        raise ValueError(f'{what}, and a tiers file can declare one')
    if tier.mode not in cache_tier.SAFE_MODES_BEFORE:
        raise ValueError(
            f'{what} in mode {tier.mode}, and a tiers file can declare only '
            f'{" and ".join(cache_tier.SAFE_MODES_BEFORE)}'
        )
    if not tier.overlay:
        raise ValueError(f'{what}, which clients do not use')


def declared(
    tier: ceph_state.CacheTier, rbd: catalogs.RbdPool
) -> catalogs.Cache:
    """Return a cache as a tiers file declares it.

    :param tier: existing cache, which `check` does not reject.
    :param rbd: pool that holds the cache.
    :raises ValueError: a setting cannot be declared; the text says why.
    """
    return catalogs.Cache(
        rbd=rbd,
        mode=tier.mode,
        stale_reads=tier.mode == cache_tier.READONLY,
        settings={
            name: _setting(name, text)
            for name, text in sorted(tier.settings.items())
            if name in cache_tier.KNOWN
            and text != str(cache_tier.DEFAULTS.get(name, _NOTHING))
        },
    )


def _setting(name: str, text: str) -> catalogs.Value:
    what = f'{name} of the cache is {text}'
    if name in cache_tier.RATIOS:
        return float(text)
    if name in cache_tier.COUNTS:
        bounds = limits.cache_count(name)
        if int(text) > bounds.most:
            raise ValueError(
                f'{what}, and at most {bounds.most} can be declared'
            )
        return int(text)
    if text not in cache_tier.HIT_SET_TYPES:
        raise ValueError(
            f'{what}, and one of '
            f'{", ".join(cache_tier.HIT_SET_TYPES)} can be '
            'declared'
        )
    return text


def check_same(cache: catalogs.Cache, tier: ceph_state.CacheTier) -> None:
    """Reject a cache that a plan would change.

    :param cache: cache as it would be declared.
    :param tier: existing cache.
    :raises ValueError: a field would change; the text has both values.
    """
    for one in difference.differences(
        tier, cache_tier.cache_tier_of(tier.name, cache)
    ):
        raise ValueError(
            f'{one.field} of the cache {tier.cache_pool} is '
            f'{one.before}, and would be {one.after}'
        )
