# SPDX-License-Identifier: Apache-2.0

"""Expectations of the tests on a cloud, from answers of Cinder's API.

Extra specs are read by the functions that the doors use. Must not import
Tempest.
"""

import collections.abc
import dataclasses
import typing

from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain.state import cinder as cinder_state

_Document = collections.abc.Mapping[str, typing.Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tiers:
    """The volume types that tests ask for, by name."""

    tag: str
    tier_type: str
    fallback_type: str
    following_type: str


class NotTestable(Exception):
    """The cloud lacks something; the text says what, and what to do."""


def find_tiers(
    types: collections.abc.Iterable[_Document],
    given: collections.abc.Mapping[str, str | None],
) -> Tiers:
    """The tiers of a cloud that tests can use.

    :param types: volume types as an admin sees them, with extra specs; none
        if the caller is no admin.
    :param given: {field of `Tiers`: what tempest.conf says, if anything}.
    :raises NotTestable: something is neither given nor found.

    >>> tiers = find_tiers([], {'tag': 'db', 'tier_type': 'fast',
    ...     'fallback_type': 'slow', 'following_type': 'any'})
    >>> tiers.tier_type
    'fast'
    """
    types = list(types)
    found: dict[str, str] = {
        name: value for name, value in given.items() if value
    }
    if ('tag' in found) != ('tier_type' in found):
        raise NotTestable(
            'tempest.conf: [cinder_tiers] has one of tag and tier_type; set '
            'both, or none to have them found'
        )
    read = tier_specs.read_tiers(
        tier_specs.read_type(
            one.get('extra_specs') or {},
            type_id=one['id'],
            name=one['name'],
            projects=None if one.get('is_public', True) else frozenset(),
            description=one.get('description'),
        )
        for one in types
    )
    for reading in read.types.values():
        tier = reading.tier
        if tier is None or tier.projects is not None:
            continue
        if tier.fallback:
            found.setdefault('fallback_type', reading.name)
        elif tier.tags and 'tag' not in found:
            found['tag'] = min(tier.tags)
            found['tier_type'] = reading.name
    for one in types:
        if tier_specs.follows_image(one.get('extra_specs') or {}):
            found.setdefault('following_type', one['name'])
    missing = sorted(
        field.name
        for field in dataclasses.fields(Tiers)
        if field.name not in found
    )
    if missing:
        raise NotTestable(
            f'No volume type is found for {", ".join(missing)}: apply a tiers '
            'file with a tagged tier, a fallback tier and a type of '
            'follow_image_types, or set these options of [cinder_tiers] in '
            'tempest.conf'
        )
    return Tiers(**found)


def backend_names(
    types: collections.abc.Iterable[_Document], name: str
) -> frozenset[str]:
    """Return the values of volume_backend_name that a type allows.

    :param types: volume types with extra specs.
    :param name: name of one of these types.
    :returns: empty if the type names no backend.

    >>> sorted(backend_names([{'name': 'fast', 'extra_specs': {
    ...     'volume_backend_name': '<or> a <or> b'}}], 'fast'))
    ['a', 'b']
    """
    for one in types:
        if one['name'] == name:
            value = one['extra_specs'].get(cinder_state.BACKEND) or ''
            return frozenset(value.replace(cinder_state.OR, ' ').split())
    return frozenset()


def pools_of(
    pools: collections.abc.Iterable[_Document],
    backends: collections.abc.Collection[str],
) -> frozenset[str]:
    """Return the names (host@backend#pool) of the pools of some backends.

    :param pools: answer to `GET scheduler-stats/get_pools?detail=true`.
    :param backends: values of volume_backend_name.

    >>> sorted(pools_of([{'name': 'h@a#p',
    ...     'capabilities': {'volume_backend_name': 'a'}}], ['a']))
    ['h@a#p']
    """
    return frozenset(
        pool['name']
        for pool in pools
        if (pool['capabilities'] or {}).get('volume_backend_name') in backends
    )
