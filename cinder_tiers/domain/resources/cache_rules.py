# SPDX-License-Identifier: Apache-2.0

"""What must hold of the cache tiers of a catalog, and of their cluster.

Pure, and total like `catalog_rules`, of which `check` is a part; `check_tier`
is a part of `cluster_rules`.
"""

import collections.abc
import itertools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cache_settings
from cinder_tiers.domain.state import ceph as ceph_state


def check(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """All problems between the settings of caches."""
    for tier in catalog.tiers:
        if tier.rbd is None or tier.rbd.cache is None:
            continue
        for name, found, expected, remedy in _found(tier.rbd.cache):
            yield errors.Problem(
                where=catalog.source.where(
                    ('tiers', tier.name, 'rbd', 'cache', name)
                ),
                found=f'cache of tier {tier.name!r}: {found}',
                expected=expected,
                remedy=remedy,
            )


def _found(
    cache: catalogs.Cache,
) -> collections.abc.Iterator[tuple[str, str, str, str]]:
    """(key, what was found, what is right, what to do) of each problem."""
    if (cache.mode == cache_settings.READONLY) != cache.stale_reads:
        yield (
            'mode',
            f'mode {cache.mode}'
            f'{" with" if cache.stale_reads else " without"} '
            f'stale_reads: true',
            'both readonly and stale_reads, or neither: what is in such a '
            'cache is not refreshed by writes, so it must be asked for in '
            'words',
            'remove stale_reads'
            if cache.stale_reads
            else 'use writeback, or add stale_reads: true for images that are '
            'never written to',
        )
    if cache.mode == cache_settings.WRITEBACK and not cache.settings.get(
        'target_max_bytes'
    ):
        yield (
            'target_max_bytes',
            'no target_max_bytes',
            'a number of bytes above 0; without it nothing is flushed or '
            'evicted until the OSDs are full',
            'set it to what the OSDs of the cache can hold, copies not '
            'counted',
        )
    ratios = [
        (name, cache.settings[name])
        for name in cache_settings.RATIOS
        if name in cache.settings
    ]
    for (lower, low), (higher, high) in itertools.pairwise(ratios):
        if low > high:
            yield (
                higher,
                f'{higher} {high} is below {lower} {low}',
                f'{low} or more',
                'raise it',
            )


def check_tier(
    catalog: catalogs.Catalog, tier: catalogs.Tier, ceph: ceph_state.CephState
) -> list[errors.Problem]:
    """Whether the cluster of a tier can put a cache in front of it."""
    if tier.rbd is None or tier.rbd.cache is None or ceph.has_cache_tiering:
        return []
    return [
        errors.Problem(
            where=catalog.source.where(('tiers', tier.name, 'rbd', 'cache')),
            found=f'the monitors of cluster {tier.rbd.cluster!r} have no '
            'command '
            f'"osd tier add"',
            expected='a release of Ceph with cache tiers',
            remedy='remove cache, and choose a faster device_class for the '
            'tier '
            'or put the DB and WAL of its OSDs on flash',
        )
    ]
