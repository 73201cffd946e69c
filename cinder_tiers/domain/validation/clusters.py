# SPDX-License-Identifier: Apache-2.0

"""Whether the clusters can hold what the catalog asks of them.

Pure. Looked at before anything is planned, so that nothing is changed when a
tier could not be completed.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cache_rules
from cinder_tiers.domain.resources import host_osd_options
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import ceph as ceph_state


def check(
    catalog: catalogs.Catalog,
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
) -> tuple[errors.Problem, ...]:
    """All that the clusters lack.

    :param ceph: {name of the cluster: its state}, for each cluster in use.
    :returns: in the order of the file; empty when all can be made.
    """
    problems: list[errors.Problem] = []
    for cluster in catalog.clusters_in_use:
        cluster_state = ceph[cluster.name]
        problems.extend(_images_pool(catalog, cluster, cluster_state))
        problems.extend(
            host_osd_options.check_cluster(catalog, cluster, cluster_state)
        )
        for tier in catalog.tiers_of(cluster.name):
            for path, rbd in tier.storages:
                problems.extend(
                    _placement(catalog, tier, path, rbd, cluster_state)
                )
            problems.extend(
                cache_rules.check_tier(catalog, tier, cluster_state)
            )
            problems.extend(_osd_options(catalog, tier, cluster_state))
    return tuple(problems)


def _images_pool(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> list[errors.Problem]:
    if not cluster.images_pool or cluster.images_pool in ceph.pools:
        return []
    near = spelling.did_you_mean(cluster.images_pool, ceph.pools)
    return [
        errors.Problem(
            where=catalog.source.where(
                ('clusters', cluster.name, 'images_pool')
            ),
            found=f'cluster {cluster.name!r} has no pool '
            f'{cluster.images_pool!r}',
            expected='the pool in which Glance keeps images',
            remedy=f'{near}correct it, create the pool for Glance first, or '
            f'leave images_pool out when Glance does not use the cluster',
        )
    ]


def _placement(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    path: catalogs.Path,
    rbd: catalogs.RbdPool,
    ceph: ceph_state.CephState,
) -> list[errors.Problem]:
    classes = ceph.device_classes
    if rbd.device_class is not None and rbd.device_class not in classes:
        exist = (
            ', '.join(
                f'{name} ({count} OSDs)' for name, count in classes.items()
            )
            or 'none'
        )
        near = spelling.did_you_mean(rbd.device_class, classes)
        return [
            errors.Problem(
                where=catalog.source.where((*path, 'device_class')),
                found=f'no OSD of cluster {rbd.cluster!r} has device class '
                f'{rbd.device_class!r}',
                expected=f'one that exists: {exist}',
                remedy=f'{near}correct it, or give OSDs the class with '
                f'"ceph osd crush set-device-class"',
            )
        ]
    buckets = ceph.buckets(
        kind=rbd.failure_domain,
        root=tier_pools.ROOT,
        device_class=rbd.device_class,
    )
    needed = rbd.protection.failure_domains
    if len(buckets) >= needed:
        return []
    kinds = sorted({kind for osd in ceph.osds for kind in osd.location})
    return [
        errors.Problem(
            where=catalog.source.where((*path, 'failure_domain')),
            found=f'{len(buckets)} failure domains of type '
            f'{rbd.failure_domain!r} with {rbd.device_class or "any"} '
            f'OSDs under '
            f'CRUSH root {tier_pools.ROOT!r}'
            + (f' ({", ".join(sorted(buckets))})' if buckets else ''),
            expected=f'at least {needed}, one for each copy or chunk of tier '
            f'{tier.name!r}; bucket types in use: {", ".join(kinds)}',
            remedy='lower size (or k, m), choose a smaller failure_domain, or '
            'add OSDs',
        )
    ]


def _osd_options(
    catalog: catalogs.Catalog, tier: catalogs.Tier, ceph: ceph_state.CephState
) -> list[errors.Problem]:
    if tier.rbd is None:
        return []
    path = ('tiers', tier.name, 'rbd', 'osd_options')
    return osd_options.problems(
        tier.rbd.osd_options,
        ceph.option_schemas,
        where=lambda name: catalog.source.where((*path, name)),
    )
