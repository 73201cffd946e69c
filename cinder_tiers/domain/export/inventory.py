# SPDX-License-Identifier: Apache-2.0
"""State of a cloud that a catalog could declare.

It is the input of `export`. Must not know how it is read.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownCluster:
    """A Ceph cluster that could be read."""

    #: Name of the cluster, and its connection.
    cluster: catalogs.Cluster
    fsid: str
    #: Includes all options in `configured` and `configured_hosts`.
    ceph: ceph_state.CephState
    #: {device class: {option: value}} that the monitors have for its OSDs.
    configured: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]
    ] = dataclasses.field(default_factory=dict)
    #: {host: {option: value}} for masks of hosts, by any name.
    configured_hosts: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]
    ] = dataclasses.field(default_factory=dict)
    #: {mask: {option: value}} of masks that a catalog cannot have.
    configured_elsewhere: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]
    ] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inventory:
    """The input of an export."""

    #: Includes the projects of all private types, managed or not.
    cinder: cinder_state.CinderState
    backends: tuple[backends.Backend, ...]
    clusters: tuple[KnownCluster, ...] = ()
    #: {name of a cluster: reason why it could not be read}
    unreached: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )
    #: {id of a project with access to a type: its name; None if Keystone has
    #: no such project}
    projects: collections.abc.Mapping[str, str | None] = dataclasses.field(
        default_factory=dict
    )
