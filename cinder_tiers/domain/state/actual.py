# SPDX-License-Identifier: Apache-2.0

"""All that a plan is compared with."""

import collections.abc
import dataclasses

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state


@dataclasses.dataclass(frozen=True, kw_only=True)
class ActualState:
    """All that a plan is compared with."""

    cinder: cinder_state.CinderState
    #: {name of the cluster in the catalog: its state}.
    ceph: collections.abc.Mapping[str, ceph_state.CephState]
    #: {project as the catalog names it: ids of all that are meant by it}.
    projects: collections.abc.Mapping[str, frozenset[str]] = dataclasses.field(
        default_factory=dict
    )
