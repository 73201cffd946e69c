# SPDX-License-Identifier: Apache-2.0
"""What exists in a cloud, as far as a catalog could declare it.

The input of `export`. Must not know how it is read.
"""

import collections.abc
import dataclasses
import re

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state

_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Location:
    """Where a backend of Cinder's RBD driver keeps volumes."""

    fsid: str
    #: cephx user of cinder-volume, without `client.`.
    user: str
    pool: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownCluster:
    """A Ceph cluster that could be asked."""

    #: Its name, and how it was reached.
    cluster: catalogs.Cluster
    fsid: str
    #: With the options of all that `configured` has, and `configured_hosts`.
    ceph: ceph_state.CephState
    #: {device class: {option: value}} that the monitors have for its OSDs.
    configured: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]
    ] = dataclasses.field(default_factory=dict)
    #: {host: {option: value}} likewise, of any name in a mask of a host.
    configured_hosts: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]
    ] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inventory:
    """All that an export is made from."""

    #: With the projects of all private types, managed or not.
    cinder: cinder_state.CinderState
    backends: tuple[backends.Backend, ...]
    clusters: tuple[KnownCluster, ...] = ()
    #: {name of a cluster: why it could not be asked}
    unreached: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )
    #: {id of a project with access to a type: its name, None when Keystone
    #: has no such project}
    projects: collections.abc.Mapping[str, str | None] = dataclasses.field(
        default_factory=dict
    )


def location_of(backend: backends.Backend) -> Location | None:
    """Where a backend keeps volumes; None when it is not Cinder's RBD driver.

    The driver reports CLUSTER:CONF:FSID:USER:POOL (cinder/volume/drivers/
    rbd.py, 29.0.0); only a CONF may hold a colon.

    >>> location_of(backends.Backend(name='h@b#b', capabilities={
    ...     'storage_protocol': 'ceph', 'location_info':
    ...     'ceph:/etc/a.conf:01234567-89ab-cdef-0123-456789abcdef:cinder:v'
    ...     })).pool
    'v'
    """
    location = backend.capabilities.get('location_info')
    if backend.capabilities.get(
        'storage_protocol'
    ) != 'ceph' or not isinstance(location, str):
        return None
    parts = location.rsplit(':', 3)
    if len(parts) != 4 or not _UUID.fullmatch(parts[1]):
        return None
    return Location(fsid=parts[1].lower(), user=parts[2], pool=parts[3])
