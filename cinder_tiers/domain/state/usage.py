# SPDX-License-Identifier: Apache-2.0

"""Usage of a Ceph cluster.

Must not know how it is read, nor how a plan uses it.
"""

import collections.abc
import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class PoolUsage:
    """Usage of a pool."""

    #: Bytes that clients have written, without copies.
    stored_bytes: int
    #: RADOS objects, without copies.
    objects: int
    #: Bytes of all copies or chunks on the OSDs.
    used_bytes: int
    #: Bytes that clients may still write before the first OSD is full.
    max_avail_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdUsage:
    """Usage of an OSD."""

    #: 0 for an OSD that is out of the cluster.
    total_bytes: int
    used_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterUsage:
    """Usage of a cluster; ratios from 0 to 1."""

    #: Keyed by name. A new pool may be absent for some seconds.
    pools: collections.abc.Mapping[str, PoolUsage]
    #: Keyed by OSD id.
    osds: collections.abc.Mapping[int, OsdUsage]
    #: Ratio of an OSD at which Ceph warns.
    nearfull_ratio: float
    #: Ratio of an OSD at which it accepts no moving data.
    backfillfull_ratio: float
    #: Ratio of an OSD at which it and its pools accept no writes.
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
