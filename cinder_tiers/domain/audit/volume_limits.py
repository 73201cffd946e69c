# SPDX-License-Identifier: Apache-2.0

"""Comparison of the limits of RBD images with those of volume types.

Cinder's RBD driver writes the limits of a QoS spec to an image when a volume
is created or retyped. It does not do so when the spec changes, it ignores
limits by size, and it writes the burst of all operations to the key of another
limit. Nova also keeps the limits of the consumer front-end from the time when
a server got the volume. Pure. Must not know how images are read.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain import limits_by_size
from cinder_tiers.domain.resources import qos_limits

_OF_IMAGES = ('back-end', 'both')
_OF_SERVERS = ('front-end', 'both')


def _rbd_option(key: str) -> str:
    """Return the option of librbd that a key of a QoS spec sets.

    The options are those of QOS_KEY_MAP (cinder/volume/drivers/rbd.py), except
    for total_iops_sec_max, which that table maps to the option of
    total_bytes_sec_max.

    >>> _rbd_option('total_iops_sec'), _rbd_option('read_bytes_sec_max')
    ('rbd_qos_iops_limit', 'rbd_qos_read_bps_burst')
    """
    direction, what, *rest = key.split('_')
    parts = [
        'rbd_qos',
        *([] if direction == 'total' else [direction]),
        'bps' if what == 'bytes' else what,
        'burst' if rest[-1] == 'max' else 'limit',
    ]
    return '_'.join(parts)


#: {key of a QoS spec: option of an RBD image}
OPTIONS = {key: _rbd_option(key) for key in qos_limits.RBD}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterPool:
    """A pool of a cluster."""

    #: Name of the cluster in the tiers file.
    cluster: str
    pool: str


_Options = collections.abc.Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """A QoS spec: its limits, and its consumer."""

    #: front-end, back-end or both; empty for a spec without limits.
    consumer: str = ''
    #: {key: value}
    specs: _Options = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attached:
    """A server that has a volume."""

    #: Id of the server.
    server: str
    #: {key of OF_SERVERS: value} that Nova got when the volume was attached,
    #: and keeps; None if Cinder did not record it.
    has: _Options | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumeLimits:
    """Current limits of images, and those that their types demand."""

    #: {host@backend#pool: place of its images}, for backends in Ceph that may
    #: have volumes of tiers.
    places: collections.abc.Mapping[str, ClusterPool]
    #: {place: {id of the stored volume: {option of OPTIONS: value}}}, or the
    #: reason why the images could not be read.
    images: collections.abc.Mapping[
        ClusterPool, collections.abc.Mapping[str, _Options] | str
    ]
    #: {id of a volume type: its QoS spec}
    types: collections.abc.Mapping[str, Spec]
    #: {id of a volume: servers that have it}, or the reason why they could not
    #: be read.
    attached: collections.abc.Mapping[str, tuple[Attached, ...]] | str = (
        dataclasses.field(default_factory=dict)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageLimits:
    """The limits of an image."""

    place: ClusterPool
    #: {option: value}
    has: _Options
    #: {option: value to set; None to remove} to get the limits of its type.
    changes: collections.abc.Mapping[str, str | None]


def of_image(spec: Spec, size_gib: int) -> dict[str, str]:
    """Return the limits that a QoS spec gives to the image of a volume.

    >>> of_image(Spec(consumer='back-end', specs={
    ...     'total_iops_sec_per_gb': '4', 'read_iops_sec': '0'}), 10)
    {'rbd_qos_iops_limit': '40'}

    :param spec: the QoS spec of the volume type.
    :param size_gib: size of the volume in GiB.
    :returns: {option: value} without values of 0, which means no limit; empty
        for the consumer front-end.
    :raises ValueError: a limit by size is not an integer; the text names its
        key.
    """
    if spec.consumer not in _OF_IMAGES:
        return {}
    return {
        OPTIONS[key]: value
        for key, value in limits_by_size.of_size(spec.specs, size_gib).items()
        if key in OPTIONS and value.strip('0')
    }


def of_server(spec: Spec, size_gib: int) -> dict[str, str]:
    """Return the limits that a QoS spec gives to a server with a volume.

    >>> of_server(Spec(consumer='front-end', specs={
    ...     'total_iops_sec_per_gb': '4', 'odd_driver_key': '1'}), 10)
    {'total_iops_sec': '40'}

    :param spec: the QoS spec of the volume type.
    :param size_gib: size of the volume in GiB.
    :returns: {key of OF_SERVERS: value}; empty for the consumer back-end.
    :raises ValueError: a limit by size is not an integer; the text names its
        key.
    """
    if spec.consumer not in _OF_SERVERS:
        return {}
    return known_to_servers(limits_by_size.of_size(spec.specs, size_gib))


def known_to_servers(
    limits: collections.abc.Mapping[str, object],
) -> dict[str, str]:
    """Return the limits that Nova passes to libvirt.

    >>> known_to_servers({'total_iops_sec': 40, 'odd_driver_key': '1'})
    {'total_iops_sec': '40'}

    :param limits: {key: value}; Cinder converts some values to numbers.
    """
    return {
        key: str(value)
        for key, value in limits.items()
        if key in qos_limits.OF_SERVERS
    }


def faults_of(spec: Spec) -> list[str]:
    """Describe the limits of a QoS spec that images cannot have.

    >>> faults_of(Spec(consumer='back-end', specs={
    ...     'total_iops_sec': '1e3', 'read_iops_sec_per_gb': '1'}))
    ["total_iops_sec '1e3', expected an integer"]

    :returns: a clause for each limit that librbd or the driver would reject.
    """
    if spec.consumer not in _OF_IMAGES:
        return []
    by_size = {
        fault.key: f'{fault.found}, expected {fault.expected}'
        for fault in qos_limits.faults_by_size(spec.specs)
    }
    return [
        *by_size.values(),
        *(
            f'{key} {value!r}, expected an integer'
            for key, value in spec.specs.items()
            if key in OPTIONS
            and key not in by_size
            and not (
                value
                and value.isascii()
                and value.isdigit()
                and int(value) <= qos_limits.MOST
            )
        ),
    ]


def difference(has: _Options, wanted: _Options) -> dict[str, str | None]:
    """Compute the changes that give an image the wanted limits.

    >>> difference({'rbd_qos_iops_limit': '40'}, {'rbd_qos_bps_limit': '9'})
    {'rbd_qos_bps_limit': '9', 'rbd_qos_iops_limit': None}

    :param has: {option: value} of the image, where 0 is no limit; or {key:
        value} of a server.
    :param wanted: expected values in the same form.
    :returns: {option or key: value to set; None: to remove}, sorted.
    """
    return {
        name: wanted.get(name)
        for name in sorted(has.keys() | wanted.keys())
        if _number(has.get(name)) != _number(wanted.get(name))
    }


def _number(value: str | None) -> object:
    """Return the value as librbd reads it: 040 is 40; None for no limit."""
    if value is None or not value.strip('0'):
        return None
    return int(value) if value.isascii() and value.isdigit() else value
