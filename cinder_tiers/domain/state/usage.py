# SPDX-License-Identifier: Apache-2.0

"""Usage of a Ceph cluster.

Must not know how it is read, nor how a plan uses it.
"""

import collections.abc
import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class PoolUsage:
    """Usage of a pool."""

    #: What clients have written, one copy of it.
    stored_bytes: int
    #: RADOS objects, one copy of each.
    objects: int
    #: What all copies, or all chunks, take on the OSDs.
    used_bytes: int
    #: What clients may still write before the first OSD is full.
    max_avail_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdUsage:
    """Usage of an OSD."""

    #: 0 for one that is out of the cluster.
    total_bytes: int
    used_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterUsage:
    """Usage of a cluster; ratios from 0 to 1."""

    #: Keyed by name. A pool of the last seconds may be absent.
    pools: collections.abc.Mapping[str, PoolUsage]
    #: Keyed by OSD id.
    osds: collections.abc.Mapping[int, OsdUsage]
    #: Of an OSD: from here on Ceph warns.
    nearfull_ratio: float
    #: Of an OSD: from here on it takes no data that moves.
    backfillfull_ratio: float
    #: Of an OSD: from here on it takes no writes, nor do its pools.
    full_ratio: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unknown:
    """Usage of a cluster or a pool that could not be determined."""

    reason: str


def of_pool(usage: ClusterUsage | Unknown, name: str) -> PoolUsage | Unknown:
    """Return the usage of a pool of a cluster."""
    if isinstance(usage, Unknown):
        return usage
    return usage.pools.get(name) or Unknown(
        reason='Ceph has no statistics of it'
    )
