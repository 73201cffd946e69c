# SPDX-License-Identifier: Apache-2.0

"""A cache tier that exists, as the `cache` part of a tier.

Pure. A tier with a cache that cannot be declared has no `rbd` at all, or a
plan would remove the cache: the reason is a ValueError.
"""

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference

#: Defaults, which a catalog need not state.
_NOTHING = '0'


def check_alone(ceph: ceph_state.CephState, pool: str) -> None:
    """Refuses a pool that is a cache of another one, or has several.

    :raises ValueError: with the reason.
    """
    for other in ceph.cache_tiers.values():
        if pool in other.cache_pools:
            raise ValueError(f'pool {pool} is a cache of pool {other.name}')


def check(tier: ceph_state.CacheTier) -> None:
    """Refuses a cache that a tiers file cannot declare, whatever its settings.

    :raises ValueError: with the reason.
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
    """A cache as a tiers file declares it.

    :param tier: as it exists, which `check` does not refuse.
    :param rbd: the pool that holds it.
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
    """Refuses a cache that a plan would change.

    :param cache: as it would be declared.
    :param tier: the cache as it exists.
    :raises ValueError: with what it is.
    """
    for one in difference.differences(
        tier, cache_tier.cache_tier_of(tier.name, cache)
    ):
        raise ValueError(
            f'{one.field} of the cache {tier.cache_pool} is '
            f'{one.before}, and would be {one.after}'
        )
