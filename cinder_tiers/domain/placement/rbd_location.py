# SPDX-License-Identifier: Apache-2.0

"""Places where backends of Cinder's RBD driver keep volumes.

Must not know any tier, nor how backends are listed.
"""

import dataclasses
import re

from cinder_tiers.domain.placement import backends

_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Location:
    """Place where a backend of Cinder's RBD driver keeps volumes."""

    fsid: str
    #: cephx user of cinder-volume, without `client.`.
    user: str
    pool: str


def location_of(backend: backends.Backend) -> Location | None:
    """Return the place of a backend's volumes; None for other drivers.

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
