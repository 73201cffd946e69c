# SPDX-License-Identifier: Apache-2.0

"""Tiers as the extra specs of volume types say them.

The applied state lives in the volume types and nowhere else: this module is
how a door reads it. Must not know how the types were fetched (Cinder's
database or its API).
"""

import collections.abc
import functools

from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain import tags

#: What Cinder takes for true after `<is>` (oslo_utils.strutils).
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})

#: By which Cinder restricts a volume type to some availability zones.
ZONES = 'RESKEY:availability_zones'

# More extra specs of Cinder's own.
_MULTIATTACH = 'multiattach'
_REPLICATION = 'replication_enabled'


def follows_image(extra_specs: collections.abc.Mapping[str, str]) -> bool:
    """Whether a volume type leaves the choice of the tier to the image.

    :param extra_specs: {key: value} of the type.

    >>> follows_image({'tiers:follow_image': '<is> True'})
    True
    """
    return _is_true(extra_specs.get(cinder_state.FOLLOW_IMAGE))


def features(
    extra_specs: collections.abc.Mapping[str, str],
    *,
    is_encrypted: bool = False,
) -> frozenset[decision.Feature]:
    """What a volume type gives to its volumes, as Cinder reads it.

    :param extra_specs: {key: value} of the type.
    :param is_encrypted: whether the type has an encryption; no extra spec
        says so.

    >>> sorted(one.value for one in features(
    ...     {'multiattach': '<is> True', 'replication_enabled': '<is> 1'}))
    ['multiattach', 'replication']
    """
    found = {decision.Feature.ENCRYPTION} if is_encrypted else set()
    # Nothing but this text (cinder/volume/flows/api/create_volume.py).
    if extra_specs.get(_MULTIATTACH) == cinder_state.TRUE:
        found.add(decision.Feature.MULTIATTACH)
    # As is_boolean_str of cinder/volume/volume_utils.py.
    words = (extra_specs.get(_REPLICATION) or '').split()
    if len(words) == 2 and words[0] == '<is>' and words[1].lower() in _TRUE:
        found.add(decision.Feature.REPLICATION)
    return frozenset(found)


def zones(
    extra_specs: collections.abc.Mapping[str, str],
) -> frozenset[str] | None:
    """Availability zones to which a volume type is restricted.

    :param extra_specs: {key: value} of the type.
    :returns: None for all zones; none at all when the key has no value, as
        in Cinder (extract_availability_zones_from_volume_type of
        cinder/volume/volume_utils.py).

    >>> sorted(zones({'RESKEY:availability_zones': 'az1, az2'}))
    ['az1', 'az2']
    """
    if ZONES not in extra_specs:
        return None
    return frozenset(
        zone.strip() for zone in (extra_specs[ZONES] or '').split(',') if zone
    )


def read_tier(
    extra_specs: collections.abc.Mapping[str, str],
    *,
    projects: frozenset[str] | None,
    is_encrypted: bool = False,
) -> decision.AppliedTier | None:
    """The tier that a volume type is, or None when it is not ours.

    :param extra_specs: {key: value} of the type.
    :param projects: ids of the projects that have access to a private type;
        None for a public type.
    :param is_encrypted: whether the type has an encryption.
    :raises ValueError: a value cannot be read; the text says what to do.
    """
    name = extra_specs.get(cinder_state.NAME)
    if not name:
        return None
    text = extra_specs.get(cinder_state.PRIORITY, '0')
    try:
        priority = int(text)
    except (TypeError, ValueError):
        raise ValueError(
            f'volume type of tier {name!r}: {cinder_state.PRIORITY} is '
            f'{text!r}, expected an integer; run "openstack tier apply" to '
            'set it again'
        ) from None
    return decision.AppliedTier(
        name=name,
        tags=tags.parse_tags(extra_specs.get(cinder_state.TAGS) or ''),
        priority=priority,
        fallback=_is_true(extra_specs.get(cinder_state.FALLBACK)),
        overflow=extra_specs.get(cinder_state.OVERFLOW) or None,
        projects=projects,
        offers=features(extra_specs, is_encrypted=is_encrypted),
        type_zones=zones(extra_specs),
    )


@functools.lru_cache
def _is_true(value: str | None) -> bool:
    words = (value or '').split()
    if words[:1] == ['<is>']:
        words = words[1:]
    return len(words) == 1 and words[0].lower() in _TRUE
