# SPDX-License-Identifier: Apache-2.0

"""Known bad practice: what is as declared, and a risk all the same.

Nothing here is a difference from the tiers file, and nothing is changed
because of it. Each piece of advice says what was found, why it is a risk, and
what to do. What does not exist yet, or could not be read, gives none. Pure.
Must not know how advice is shown, nor what it does to an exit status.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import ceph as ceph_state

#: Aspects, one for each practice.
REDUNDANCY = 'redundancy'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Advice:
    """One practice of a tier that is a risk."""

    #: Name of the tier.
    tier: str
    #: One of the aspects of this module.
    aspect: str
    #: {object: what was found}.
    current: collections.abc.Mapping[str, str]
    #: {object: what would be no risk}.
    expected: collections.abc.Mapping[str, str]
    #: Why it is a risk.
    reason: str
    #: What to do, as an imperative.
    remedy: str


def advise(
    catalog: catalogs.Catalog,
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
) -> collections.abc.Iterator[Advice]:
    """Advice on the tiers that are managed.

    :param ceph: {name of a cluster: its state}; tiers of others are passed
        over.
    :returns: tier by tier, in the order of the file.
    """
    for tier in catalog.ours:
        if tier.rbd is None or tier.rbd.cluster not in ceph:
            continue
        yield from _redundancy(tier, ceph[tier.rbd.cluster])


def _redundancy(
    tier: catalogs.Tier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Pools that accept writes which one more failed disk takes away.

    With min_size 1, and with min_size k of an erasure coded pool, a write is
    acknowledged when no disk more than necessary has it (ceph doc/rados/
    operations/pools.rst and erasure-code.rst: min_size k + 1 "to prevent loss
    of writes and data"). A read-only cache holds nothing that the pool behind
    it lacks.
    """
    names = tier.rbd.pools
    if tier.rbd.cache and tier.rbd.cache.mode == cache_tier.READONLY:
        names = tier.rbd.own_pools
    current, expected = {}, {}
    for name in names:
        pool = ceph.pools.get(name)
        if pool is None or pool.min_size is None:
            continue
        enough = _enough_to_read(tier.rbd, pool, ceph)
        if pool.min_size > enough:
            continue
        key = f'pool {name}'
        current[key] = f'size {pool.size}, min_size {pool.min_size}'
        expected[key] = (
            f'min_size {enough + 1} or more'
            if pool.size > enough + 1
            else f'size {enough + 2} or more, min_size {enough + 1} or more'
        )
    if current:
        yield Advice(
            tier=tier.name,
            aspect=REDUNDANCY,
            current=current,
            expected=expected,
            reason=(
                'writes are acknowledged when only as many disks have them '
                'as are needed to read them; if one of these disks fails '
                'before the others have recovered, the writes are lost'
            ),
            remedy=(
                'declare these values in the tiers file and run "openstack '
                'tier plan", which says what consent it needs'
            ),
        )


def _enough_to_read(
    rbd: catalogs.RbdPool,
    pool: ceph_state.Pool,
    ceph: ceph_state.CephState,
) -> int:
    """How many copies or chunks of an object give it back."""
    if pool.erasure_code_profile is None:
        return 1
    profile = ceph.erasure_code_profiles.get(pool.erasure_code_profile)
    if profile is not None:
        return profile.k
    # Only profiles with names of the tiers file are read.
    protection = rbd.protection
    if (
        isinstance(protection, catalogs.ErasureCoded)
        and protection.size == pool.size
    ):
        return protection.k
    return 1
