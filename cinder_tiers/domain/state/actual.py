# SPDX-License-Identifier: Apache-2.0

"""Existing state that a plan compares with the catalog."""

import collections.abc
import dataclasses

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state


@dataclasses.dataclass(frozen=True, kw_only=True)
class ActualState:
    """Existing state of Cinder, Ceph and Keystone."""

    cinder: cinder_state.CinderState
    #: {name of the cluster in the catalog: its state}.
    ceph: collections.abc.Mapping[str, ceph_state.CephState]
    #: {project in the catalog: ids of matching projects}.
    projects: collections.abc.Mapping[str, frozenset[str]] = dataclasses.field(
        default_factory=dict
    )
