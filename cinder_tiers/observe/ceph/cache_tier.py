# SPDX-License-Identifier: Apache-2.0

"""Reads the cache tiers of a Ceph cluster. Writes nothing."""

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import ceph as ceph_state

_ADD = ['osd', 'tier', 'add']
#: Id of the pool where there is none (src/osd/osd_types.h).
_NO_POOL = -1


def observe(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """The cache tiers, and what matters where the catalog declares one.

    :returns: fields of `ceph_state.CephState`.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    fields: dict[str, object] = {'cache_tiers': of_all_pools(session)}
    if any(
        tier.rbd.cache
        for tier in catalog.tiers_of(session.cluster.name)
        if tier.rbd
    ):
        known = session.command('get_command_descriptions')
        fields['has_cache_tiering'] = any(
            one['sig'][: len(_ADD)] == _ADD for one in known.values()
        )
        fields['objects_in'] = {
            one['name']: one['stats']['objects']
            for one in session.command('df')['pools']
        }
    return fields


def read(
    session: ceph_session.Session, name: str
) -> ceph_state.CacheTier | None:
    """The cache tier in front of a pool; None when it has none."""
    return of_all_pools(session).get(name)


def of_all_pools(
    session: ceph_session.Session,
) -> dict[str, ceph_state.CacheTier]:
    """{pool: the cache tier in front of it}, of each that has one.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    return parse(session.command('osd pool ls', detail='detail'))


def parse(dumped: list[dict]) -> dict[str, ceph_state.CacheTier]:
    """The cache tiers of `osd pool ls detail`."""
    by_id = {pool['pool_id']: pool for pool in dumped}
    found = {}
    for pool in dumped:
        caches = sorted(
            (by_id[one] for one in pool['tiers']),
            key=lambda one: one['pool_name'],
        )
        if not caches:
            continue
        # Clients use one of them at most.
        first = by_id.get(pool['read_tier'], caches[0])
        found[pool['pool_name']] = ceph_state.CacheTier(
            name=pool['pool_name'],
            mode=first['cache_mode'],
            cache_pool=ceph_state.CacheTier.SEVERAL.join(
                one['pool_name'] for one in caches
            ),
            overlay=pool['read_tier'] != _NO_POOL,
            settings=cache_tier.observed(first),
        )
    return found
