# SPDX-License-Identifier: Apache-2.0

"""Rules for copies and chunks that share failure domains.

All that are in one failure domain are lost with it. So min_size lies between
two bounds: above the upper one, the loss of one failure domain stops all I/O;
below the lower one, a write may be in one failure domain only. Pure. Must not
know what exists in a cluster.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import erasure_code
from cinder_tiers.domain.resources import tier_pools

#: Types of CRUSH buckets that each cluster has, each above those before it
#: (OSDMap::_build_crush_types).
_TYPES = (
    *('osd', 'host', 'chassis', 'rack', 'row', 'pdu', 'pod', 'room'),
    *('datacenter', 'zone', 'region', 'root'),
)
_REPLICAS, _SUB = 'replicas_per_failure_domain', 'sub_failure_domain'


def stops_io(size: int, min_size: int, each: int) -> bool:
    """Return whether the loss of one failure domain stops I/O to a pool.

    >>> stops_io(4, 2, 2), stops_io(4, 3, 2)
    (False, True)

    :param size: number of copies or chunks.
    :param min_size: number that must be available for I/O.
    :param each: number in each failure domain; if it is 1, only `min_size`
        determines how many may be lost.
    """
    return each > 1 and size - each < min_size


def may_hold_all(size: int, min_size: int, each: int) -> bool:
    """Return whether one failure domain may needlessly have a whole write.

    Ceph acknowledges a write that `min_size` copies have. If the other copies
    are missing and these are in one failure domain, the write is lost with it.
    With two failure domains, one has to continue alone when the other is lost,
    else `stops_io`; so a higher min_size is better only with more of them. The
    two sides never write independently: the monitors let only one of them
    continue.

    >>> may_hold_all(6, 2, 2), may_hold_all(6, 3, 2), may_hold_all(4, 2, 2)
    (True, False, False)

    :param size: number of copies.
    :param min_size: number that must be available for I/O.
    :param each: number in each failure domain.
    """
    return each > 1 and min_size <= each and size > 2 * each


def faults(
    rbd: catalogs.RbdPool,
) -> collections.abc.Iterator[erasure_code.ErasureCodeFault]:
    """Yield problems of copies that share failure domains.

    :param rbd: pool; an erasure coded one has no such problem.
    """
    protection = rbd.protection
    if not isinstance(protection, catalogs.Replicated):
        return
    each, sub = (getattr(protection, name) for name in (_REPLICAS, _SUB))
    if each is None and sub is None:
        return
    if each is None or sub is None:
        there, lacking = (_REPLICAS, _SUB) if each else (_SUB, _REPLICAS)
        yield erasure_code.ErasureCodeFault(
            key=there,
            found=f'{each or sub} without {lacking}',
            expected='both, or neither',
            remedy=f'add {lacking}, or remove {there}',
        )
        return
    if protection.size % each or protection.size == each:
        yield erasure_code.ErasureCodeFault(
            key=_REPLICAS,
            found=f'{each} with size {protection.size}',
            expected='a size that is two or more times as large, so that '
            'each failure domain has as many copies',
            remedy=f'fix size or {_REPLICAS}',
        )
    if sub == rbd.failure_domain or (
        {sub, rbd.failure_domain} <= set(_TYPES)
        and _TYPES.index(sub) > _TYPES.index(rbd.failure_domain)
    ):
        yield erasure_code.ErasureCodeFault(
            key=_SUB,
            found=f'{sub!r} with failure_domain {rbd.failure_domain!r}',
            expected='a bucket type below that of failure_domain, of which '
            'each failure domain has several',
            remedy=f'fix {_SUB} or failure_domain',
        )
    if rbd.primary_device_class is not None:
        yield erasure_code.ErasureCodeFault(
            key=_REPLICAS,
            found=f'{each} with primary_device_class',
            expected='one of them: the first copy is chosen apart from the '
            'others, and may lie in any failure domain',
            remedy='remove one of them',
        )


def stopped_by_one(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield tiers whose I/O stops, without loss of data, with one domain.

    They are not problems of the file: no data is lost. Placement groups with
    fewer copies or chunks than min_size serve neither reads nor writes (seen
    on Ceph 20.2.4 with k 4, m 2 and two OSDs in each of three hosts).
    """
    for tier, path, rbd in _shared(catalog):
        protection = rbd.protection
        each = protection.per_failure_domain
        needed = tier_pools.first_min_size(protection)
        left = protection.size - each
        if not stops_io(protection.size, needed, each):
            continue
        if isinstance(protection, catalogs.ErasureCoded):
            key, parts = 'osds_per_failure_domain', 'chunks'
            expected = (
                f'm of at least {each + needed - protection.k} for '
                f'{each} OSDs in each, so that {needed} chunks are left'
            )
            remedy = (
                'raise m, or lower osds_per_failure_domain and raise '
                'failure_domains; or accept it'
            )
        else:
            key, parts = 'min_size', 'copies'
            expected = f'a min_size of at most {left}'
            remedy = 'lower min_size; or accept it'
        yield errors.Problem(
            where=catalog.source.where((*path, key)),
            found=f'the loss of one {rbd.failure_domain} leaves {left} '
            f'of {protection.size} {parts}, fewer than min_size {needed}: I/O '
            f'of tier {tier.name!r} would stop until it is back',
            expected=expected,
            remedy=remedy,
        )


def written_in_one(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield tiers for which one failure domain alone may have a write.

    They are not problems of the file: data is lost only if copies are missing
    during a write and the failure domain is lost before they are back.
    """
    for tier, path, rbd in _shared(catalog):
        protection = rbd.protection
        if isinstance(protection, catalogs.ErasureCoded):
            continue
        each = protection.per_failure_domain
        found = tier_pools.first_min_size(protection)
        # The tiers file accepts explicitly that one disk has a write.
        if protection.unprotected_writes or not may_hold_all(
            protection.size, found, each
        ):
            continue
        yield errors.Problem(
            where=catalog.source.where((*path, 'min_size')),
            found=f'min_size {found} of tier {tier.name!r} with {each} copies '
            f'in each {rbd.failure_domain}: all copies of a write may be in '
            f'one {rbd.failure_domain}, and are lost with it',
            expected=f'a min_size from {each + 1} to {protection.size - each}',
            remedy='raise min_size; or accept it',
        )


def _shared(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[
    tuple[catalogs.Tier, catalogs.Path, catalogs.RbdPool]
]:
    """Yield (tier, place of protection, pool) of shared failure domains."""
    for tier in catalog.tiers:
        for path, rbd in tier.storages:
            key = (
                'erasure_coded'
                if isinstance(rbd.protection, catalogs.ErasureCoded)
                else 'replicated'
            )
            if rbd.protection.per_failure_domain > 1:
                yield tier, (*path, key), rbd
