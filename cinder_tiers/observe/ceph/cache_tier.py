# SPDX-License-Identifier: Apache-2.0

"""Reads the cache tiers of a Ceph cluster. Writes nothing."""

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph import usage

_ADD = ['osd', 'tier', 'add']


@answers.in_known_form
def observe(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """The cache tiers, and what matters where one is or shall be.

    :returns: fields of `ceph_state.CephState`.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    dumped = session.command('osd pool ls', detail='detail')
    existing = cache_tier.of_pools(dumped)
    fields: dict[str, object] = {'cache_tiers': existing}
    pools = [tier.rbd for tier in catalog.tiers_of(session.cluster.name)]
    is_declared = any(one.cache for one in pools)
    if is_declared:
        known = session.command('get_command_descriptions')
        fields['has_cache_tiering'] = any(
            one['sig'][: len(_ADD)] == _ADD for one in known.values()
        )
    if is_declared or any(
        pool in existing for one in pools for pool in one.own_pools
    ):
        fields['objects_in'] = {
            one['name']: one['stats']['objects']
            for one in usage.df(session, {one['pool_name'] for one in dumped})[
                'pools'
            ]
        }
    return fields


def read(
    session: ceph_session.Session, name: str
) -> ceph_state.CacheTier | None:
    """The cache tier in front of a pool; None when it has none."""
    return of_all_pools(session).get(name)


@answers.in_known_form
def of_all_pools(
    session: ceph_session.Session,
) -> dict[str, ceph_state.CacheTier]:
    """{pool: the cache tier in front of it}, of each that has one.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    return cache_tier.of_pools(session.command('osd pool ls', detail='detail'))
