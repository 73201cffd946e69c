# SPDX-License-Identifier: Apache-2.0

"""Sections of the monitors' configuration for some of the OSDs.

A mask names a device class, a bucket of the CRUSH tree, or both: class:ssd,
host:host-a, rack:r1/class:ssd. The section of one OSD is its name, osd.3.
Pure. Must not know any option.
"""

import collections.abc

from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import ceph as ceph_state

_CLASS = 'class'
_OF_ONE = 'osd.'


def osds_of(
    mask: str, osds: collections.abc.Iterable[ceph_state.Osd]
) -> tuple[int, ...]:
    """Return the ids of the given OSDs that a section applies to."""
    if mask.startswith(_OF_ONE):
        return tuple(
            osd.osd_id for osd in osds if mask == f'{_OF_ONE}{osd.osd_id}'
        )
    parts = [part.partition(':')[::2] for part in mask.split('/')]
    return tuple(
        osd.osd_id
        for osd in osds
        if all(
            (osd.device_class if kind == _CLASS else osd.location.get(kind))
            == name
            for kind, name in parts
        )
    )


def is_declarable(mask: str) -> bool:
    """Return whether a catalog can have the options of a section.

    >>> is_declarable('host:a'), is_declarable('host:a/class:ssd')
    (True, False)
    """
    return '/' not in mask and mask.startswith((f'{_CLASS}:', 'host:'))


def _precedes(mask: str, other: str) -> bool:
    """Return whether a section overrides one of a class or host, or may.

    The section of one OSD overrides all others; then the smaller bucket, then
    the class (get_precision in src/mon/ConfigMap.cc). Between two for the same
    bucket, it depends on their order.
    """
    return (
        mask.startswith(_OF_ONE)
        or other.startswith(f'{_CLASS}:')
        or mask.startswith(f'{other}/')
    )


def taking_precedence(
    mask: str,
    name: str,
    value: str,
    configured: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]
    ],
    osds: collections.abc.Iterable[ceph_state.Osd],
) -> collections.abc.Iterator[str]:
    """Yield clauses on sections that override a value for some OSDs.

    :param mask: mask of a device class or a host.
    :param value: value to set for the mask.
    :param configured: {mask or osd.N: {option: value}}
    :param osds: OSDs of the mask.
    """
    osds = list(osds)
    for other, options in sorted(configured.items()):
        if other == mask or not _precedes(other, mask):
            continue
        found = osds_of(other, osds)
        if found and name in options and options[name] != value:
            yield (
                f'{name} stays {options[name]} for {spelling.osds(found)}: '
                f'the section {other} takes precedence; run "ceph config rm '
                f'{other if other.startswith(_OF_ONE) else f"osd/{other}"} '
                f'{name}" if it is not needed'
            )
