# SPDX-License-Identifier: Apache-2.0

"""Limits of RBD images against those of their volume types.

Cinder's RBD driver writes the limits of a QoS spec to an image when a volume
is created or retyped. It never does when the spec changes, and it writes the
burst of all operations to the key of another limit. Pure. Must not know how
images are read.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.resources import qos_limits

_CONSUMERS = ('back-end', 'both')


def _rbd_option(key: str) -> str:
    """The option of librbd that a key of a QoS spec sets.

    Those of QOS_KEY_MAP (cinder/volume/drivers/rbd.py), but for
    total_iops_sec_max, for which it has the option of total_bytes_sec_max.

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
class Place:
    """A pool of a cluster."""

    #: Name of the cluster in the tiers file.
    cluster: str
    pool: str


_Options = collections.abc.Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits that images have, and those that their types give them."""

    #: {host@backend#pool: where its images are}, of backends in Ceph that may
    #: have volumes of tiers.
    places: collections.abc.Mapping[str, Place]
    #: {place: {id that a volume is stored under: {option of OPTIONS: value}}};
    #: in place of the images why they could not be read.
    images: collections.abc.Mapping[
        Place, collections.abc.Mapping[str, _Options] | str
    ]
    #: {id of a volume type: {option: value}}
    types: collections.abc.Mapping[str, _Options]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Found:
    """The limits of an image."""

    place: Place
    #: {option: value}
    has: _Options
    #: {option: value to set; None: to remove} for those of its type.
    changes: collections.abc.Mapping[str, str | None]


def of_spec(
    consumer: str, specs: collections.abc.Mapping[str, str]
) -> dict[str, str]:
    """The limits that a QoS spec gives to RBD images.

    >>> of_spec('back-end', {'total_iops_sec': '40', 'read_iops_sec': '0'})
    {'rbd_qos_iops_limit': '40'}

    :param consumer: the consumer of the spec; front-end gives no limits.
    :param specs: {key: value}
    :returns: {option: value}, without those that are 0, which is no limit.
    """
    if consumer not in _CONSUMERS:
        return {}
    return {
        OPTIONS[key]: value
        for key, value in specs.items()
        if key in OPTIONS and value.strip('0')
    }


def faults_of(wanted: _Options) -> list[str]:
    """The limits that librbd would not take, as `OPTION VALUE`.

    >>> faults_of({'rbd_qos_iops_limit': '1e3', 'rbd_qos_bps_limit': '9'})
    ["rbd_qos_iops_limit '1e3', expected an integer"]
    """
    return [
        f'{option} {value!r}, expected an integer'
        for option, value in wanted.items()
        if not (value.isascii() and value.isdigit())
        or int(value) > qos_limits.MOST
    ]


def difference(has: _Options, wanted: _Options) -> dict[str, str | None]:
    """Compute the changes that give an image the wanted limits.

    >>> difference({'rbd_qos_iops_limit': '40'}, {'rbd_qos_bps_limit': '9'})
    {'rbd_qos_bps_limit': '9', 'rbd_qos_iops_limit': None}

    :param has: {option: value} of the image; 0 is no limit.
    :param wanted: {option: value}
    :returns: {option: value to set; None: to remove}, sorted by option.
    """
    return {
        option: wanted.get(option)
        for option in sorted(OPTIONS.values())
        if _number(has.get(option)) != _number(wanted.get(option))
    }


def _number(value: str | None) -> object:
    """Return the value as librbd reads it: 040 is 40; None: no limit."""
    if value is None or not value.strip('0'):
        return None
    return int(value) if value.isascii() and value.isdigit() else value
