# SPDX-License-Identifier: Apache-2.0

"""Which tiers an action is for.

Ceph's objects do not say so: an option of OSDs or a grant may be for several
tiers. Pure.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state


def of(catalog: catalogs.Catalog, action: actions.Action) -> tuple[str, ...]:
    """Names of the tiers that an action is for, in the order of the file.

    :returns: empty when it is for none, or for a whole cluster.
    """
    key = action.key
    if key.kind is actions.Kind.QOS_SPEC:
        return tuple(
            tier.name
            for tier in catalog.tiers
            if tier_pools.qos_spec_name(tier.name) == key.name
        )
    if key.cluster is None:
        return tuple(
            tier.name for tier in catalog.tiers if tier.name == key.name
        )
    tiers = catalog.tiers_of(key.cluster)
    if key.kind is actions.Kind.OSD_OPTIONS:
        return tuple(
            tier.name
            for tier in tiers
            if tier.rbd.osd_options and tier.rbd.device_class == key.name
        )
    if key.kind is actions.Kind.PRIMARY_AFFINITY:
        return tuple(
            tier.name
            for tier in tiers
            if tier.rbd.primary_affinity is not None
            and tier.rbd.device_class == key.name
        )
    if key.kind is actions.Kind.HOST_OSD_OPTIONS:
        return ()
    if key.kind is actions.Kind.CEPHX_USER:
        held = action.before.caps if action.before else None
        return tuple(
            tier.name
            for tier in tiers
            if held is None or _lacks(catalog, tier, held)
        )
    pools = {key.name}
    if isinstance(action.before, ceph_state.CacheTier):
        pools.update(action.before.cache_pools)
    return tuple(
        tier.name
        for tier in tiers
        if not pools.isdisjoint(
            name
            for pool in tier.rbd.pools
            for name in tier_pools.rule_names(tier.rbd, pool)
        )
    )


def _lacks(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    held: collections.abc.Mapping[str, str],
) -> bool:
    """Whether the user of cinder-volume lacks what a tier needs."""
    alone = dataclasses.replace(catalog, tiers=(tier,))
    return held != cephx_user.union(
        held, tier_pools.grants_of(alone, catalog.clusters[tier.rbd.cluster])
    )
