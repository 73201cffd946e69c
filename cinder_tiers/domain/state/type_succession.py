# SPDX-License-Identifier: Apache-2.0

"""Names of former and future volume types of a tier.

Cinder does not change extra specs of a volume type with volumes
(cinder/api/contrib/types_extra_specs.py, since 11.0.0), but it can rename the
type. So a tier whose type has volumes gets a new type: it is created with a
standby name, the old type is retired, and the new one takes its name. The
volumes keep the old type, and with it their backend, limits and quota. Its
extra specs still lead new volumes to that backend, so only projects that may
use the tier keep access to it. Pure.
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
#: Maximum length of a name whose type can be retired; Cinder allows 255
#: characters (cinder/api/schemas/volume_types.py).
MAX_CHARS = 255 - len(_RETIRED.format('', 'x' * _ID_DIGITS))


def standby_name(name: str) -> str:
    """Return the name of a type until it takes the name of another.

    >>> standby_name('database')
    'database - new'

    :param name: final name of the type.
    """
    return _STANDBY.format(name)


def retired_name(name: str, type_id: str) -> str:
    """Return the name of a type after another one has taken its name.

    The name is unique for all time. Cinder keeps the quota usage of a project
    under the name of a deleted volume type, and answers 500 to a rename to a
    name that has some (quota_usages, cinder/volume/volume_types.py: update;
    seen with 26.0.0).

    >>> retired_name('database', '7c1f0a9e-53b4-4f0e-9a55-0d3c6a8b1e42')
    'database - retired 7c1f0a9e'

    :param name: former name of the type.
    :param type_id: id of the type, a UUID.
    """
    return _RETIRED.format(name, type_id[:_ID_DIGITS])


def successor_of(name: str) -> str | None:
    """Return the name of the type that replaced a retired one.

    >>> successor_of('gold - retired 7c1f0a9e'), successor_of('gold - new')
    ('gold', None)

    :param name: name of any volume type.
    :returns: name; None for a type that is not retired.
    """
    match = _PATTERN.fullmatch(name)
    return match[1] if match and match[2] != 'new' else None


def owner_of(name: str) -> str:
    """Return the tier's type name of a standby, retired or current type.

    >>> owner_of('database - new'), owner_of('database')
    ('database', 'database')

    :param name: name of any volume type.
    """
    match = _PATTERN.fullmatch(name)
    return match[1] if match else name


def is_ready(
    standby: cinder_state.VolumeType, wanted: cinder_state.VolumeType
) -> bool:
    """Return whether a type with a standby name was created as standby.

    Any administrator may use a standby name for an unmanaged type.

    :param standby: existing type with the standby name.
    :param wanted: type that it would become.
    """
    return all(
        standby.extra_specs.get(mark) == wanted.extra_specs.get(mark)
        for mark in cinder_state.MARKS
    )


def narrowed(
    retired: cinder_state.VolumeType, successor: cinder_state.VolumeType
) -> cinder_state.VolumeType:
    """Return a retired type, not more open than its successor.

    :param retired: existing type, under its old or its retired name.
    :param successor: declared type of the tier.
    :returns: the type, which is never opened; unchanged if it is not more
        open.
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
    """Return whether a type with a tier's mark is not the tier's type.

    :param has_tier: whether another type already is the tier's, for types in
        the order of their names.

    >>> is_superseded('gold - retired 7c1f0a9e', has_tier=False)
    True
    >>> is_superseded('database - new', has_tier=False)
    False
    """
    return (
        successor_of(name) is not None or has_tier and owner_of(name) != name
    )
