# SPDX-License-Identifier: Apache-2.0

"""Names of volume types that were, or will be, the type of a tier.

Cinder changes no extra spec of a volume type that has volumes (cinder/api/
contrib/types_extra_specs.py, since 11.0.0), but it renames one. So a tier
whose type has volumes gets a new type: that is made under a standby name, the
old one is retired, and the new one takes its name. The volumes keep the old
one, and with it their backend, limits and quota. Its extra specs still lead
new volumes to that backend, so only projects that may use the tier keep it.
Pure.
"""

import dataclasses
import re

from cinder_tiers.domain.state import cinder as cinder_state

# The tiers file has no type with such a name.
_STANDBY = '{} - new'
_RETIRED = '{} - retired {}'
# Types that older versions retired have a number there.
_PATTERN = re.compile(r'(.+) - (new|retired (?:[1-9]\d*|[0-9a-f]{8}))')
_ID_DIGITS = 8
#: Of the longest name whose type can be retired; Cinder allows 255 characters
#: (cinder/api/schemas/volume_types.py).
MAX_CHARS = 255 - len(_RETIRED.format('', 'x' * _ID_DIGITS))


def standby_name(name: str) -> str:
    """Name of a type until it takes the name of another.

    >>> standby_name('database')
    'database - new'

    :param name: the name that it will have.
    """
    return _STANDBY.format(name)


def retired_name(name: str, type_id: str) -> str:
    """Name of a type when another one has taken its name.

    No other type had, has or will have the name. Cinder keeps the quota usage
    of a project under the name of a volume type when the type is deleted, and
    answers 500 to a rename to a name that has some (quota_usages,
    cinder/volume/volume_types.py: update; seen with 26.0.0).

    >>> retired_name('database', '7c1f0a9e-53b4-4f0e-9a55-0d3c6a8b1e42')
    'database - retired 7c1f0a9e'

    :param name: the name that it had.
    :param type_id: id of the type, a UUID.
    """
    return _RETIRED.format(name, type_id[:_ID_DIGITS])


def successor_of(name: str) -> str | None:
    """The name of the type that took the place of a retired one.

    >>> successor_of('gold - retired 7c1f0a9e'), successor_of('gold - new')
    ('gold', None)

    :param name: name of any volume type.
    :returns: None for a type that is not retired.
    """
    match = _PATTERN.fullmatch(name)
    return match[1] if match and match[2] != 'new' else None


def owner_of(name: str) -> str:
    """The name that a type waits for, had until it was retired, or has.

    >>> owner_of('database - new'), owner_of('database')
    ('database', 'database')

    :param name: name of any volume type.
    """
    match = _PATTERN.fullmatch(name)
    return match[1] if match else name


def is_ready(
    standby: cinder_state.VolumeType, wanted: cinder_state.VolumeType
) -> bool:
    """Whether a type that is called like a standby was made as that.

    Any user may take a standby name: the type may be unmanaged.

    :param standby: has the standby name of the other.
    :param wanted: what it would become.
    """
    return all(
        standby.extra_specs.get(mark) == wanted.extra_specs.get(mark)
        for mark in cinder_state.MARKS
    )


def narrowed(
    retired: cinder_state.VolumeType, successor: cinder_state.VolumeType
) -> cinder_state.VolumeType:
    """A retired type, no more open than the one that took its name.

    :param retired: as it is, whatever its name still is.
    :param successor: the type of the tier, as it should be.
    :returns: the retired type itself when it is not more open; it is never
        opened.
    """
    if successor.is_public:
        return retired
    return dataclasses.replace(
        retired,
        is_public=False,
        projects=successor.projects
        if retired.is_public
        else retired.projects & successor.projects,
    )


def is_superseded(name: str, *, has_tier: bool) -> bool:
    """Whether a type with the mark of a tier is not the type of that tier.

    :param has_tier: whether another type is the tier's already, for types
        in the order of their names.

    >>> is_superseded('gold - retired 7c1f0a9e', has_tier=False)
    True
    >>> is_superseded('database - new', has_tier=False)
    False
    """
    return (
        successor_of(name) is not None or has_tier and owner_of(name) != name
    )
