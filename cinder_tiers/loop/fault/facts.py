# SPDX-License-Identifier: Apache-2.0

"""Facts of a cluster that show whether a fault may endanger it. Pure."""

import collections.abc
import dataclasses

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages

OK = 'HEALTH_OK'
#: Flags of an OSD, or of all, that keep it from what a fault needs.
KEEPING = frozenset({'noup', 'nodown', 'noin', 'noout'})
#: Set while an OSD is kept down, so that it neither comes up nor is marked
#: out.
KEPT_DOWN = frozenset({'noup', 'noout'})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Health:
    """Health of a cluster."""

    #: HEALTH_OK, HEALTH_WARN or HEALTH_ERR.
    status: str
    #: Codes of its checks, such as OSD_DOWN.
    checks: tuple[str, ...] = ()
    #: {state: placement groups}, of those that are not active and clean.
    unclean: collections.abc.Mapping[str, int] = dataclasses.field(
        default_factory=dict
    )

    @property
    def is_ok(self) -> bool:
        """Return whether the cluster is healthy, with nothing to recover."""
        return self.status == OK and not self.unclean

    def __str__(self) -> str:
        """Describe the health for people."""
        found = [
            *self.checks,
            *(
                f'{count} placement groups {state}'
                for state, count in self.unclean.items()
            ),
        ]
        return f'{self.status}{": " if found else ""}{", ".join(found)}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdStatus:
    """State of an OSD at a moment."""

    is_up: bool
    #: 1: in; 0: out; between: data are kept off it.
    weight: float
    #: Of its own, such as noout.
    flags: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdPool:
    """A pool that has data on an OSD."""

    name: str
    #: Copies, or chunks.
    size: int
    min_size: int
    #: Copies, or chunks, from which the data can be read: 1, or k.
    least: int
    #: None: not known.
    rule: ceph_state.CrushRule | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """A cluster, before a fault."""

    fsid: str
    health: Health
    #: Of the whole cluster, such as nodeep-scrub.
    flags: frozenset[str]
    #: {id: OSD}
    osds: collections.abc.Mapping[int, OsdStatus]
    #: Their places in the CRUSH tree.
    places: tuple[ceph_state.Osd, ...]
    usage: usages.ClusterUsage | usages.Unknown
    #: {pool: flags}, of the pools of the tier.
    pool_flags: collections.abc.Mapping[str, frozenset[str]]
    #: OSDs that have data of the tier.
    holders: frozenset[int]
    #: {OSD: pools with data on it}, of the OSDs that were asked for.
    pools_on: collections.abc.Mapping[int, tuple[OsdPool, ...]] = (
        dataclasses.field(default_factory=dict)
    )
    #: OSDs to which pg-upmap-items map placement groups.
    upmapped: frozenset[int] = frozenset()
    #: {OSD: what Ceph says against stopping it}; likewise.
    not_to_stop: collections.abc.Mapping[int, str] = dataclasses.field(
        default_factory=dict
    )
