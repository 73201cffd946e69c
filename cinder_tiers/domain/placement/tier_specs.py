# SPDX-License-Identifier: Apache-2.0

"""Tiers as the extra specs of volume types describe them.

The applied state is only in the volume types: API middleware, filter, `tier
explain` and `tier list` read it with this module, and the source of a
request's type. Must not know how the types were fetched (Cinder's database or
its API).
"""

import collections.abc
import dataclasses
import functools
import typing

from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession
from cinder_tiers.domain import tags

#: Words that Cinder reads as true after `<is>` (oslo_utils.strutils).
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})

#: Extra spec that restricts a volume type to availability zones in Cinder.
ZONES = 'RESKEY:availability_zones'

# Further extra specs of Cinder's own.
_MULTIATTACH = 'multiattach'
_REPLICATION = 'replication_enabled'


def follows_image(extra_specs: collections.abc.Mapping[str, str]) -> bool:
    """Return whether a volume type leaves the choice of tier to the image.

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
    """Return the properties that a volume type gives, as Cinder reads it.

    :param extra_specs: {key: value} of the type.
    :param is_encrypted: whether the type has an encryption, which is not an
        extra spec.

    >>> sorted(one.value for one in features(
    ...     {'multiattach': '<is> True', 'replication_enabled': '<is> 1'}))
    ['multiattach', 'replication']
    """
    found = {decision.Feature.ENCRYPTION} if is_encrypted else set()
    # Only this text counts (cinder/volume/flows/api/create_volume.py).
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
    """Return the availability zones to which a volume type is restricted.

    :param extra_specs: {key: value} of the type.
    :returns: zones; None for all zones; empty if the key has no value, as in
        Cinder (extract_availability_zones_from_volume_type of
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
    type_name: str | None = None,
) -> decision.AppliedTier | None:
    """Return the tier of a volume type, or None if it is not managed.

    :param extra_specs: {key: value} of the type.
    :param projects: ids of the projects that have access to a private type;
        None for a public type.
    :param is_encrypted: whether the type has an encryption.
    :param type_name: name of the type; None if it does not matter.
    :raises ValueError: a value cannot be read; the text says what to do.
    """
    name = extra_specs.get(cinder_state.NAME)
    if not name:
        return None
    return applied_tier(
        name,
        extra_specs,
        projects=projects,
        is_encrypted=is_encrypted,
        type_name=type_name,
    )


def applied_tier(
    name: str,
    extra_specs: collections.abc.Mapping[str, str],
    *,
    projects: frozenset[str] | None,
    is_encrypted: bool = False,
    type_name: str | None = None,
) -> decision.AppliedTier:
    """Return the tier with a given name that a volume type describes.

    :raises ValueError: a value cannot be read; the text says what to do.
    """
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
        is_renamed=type_name not in (None, name),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TypeReading:
    """The tier that a volume type describes."""

    type_id: str
    #: Name of the volume type.
    name: str
    #: Name of the tier in its mark; None for any other type.
    mark: str | None
    #: Set for a type with a mark that can be read.
    tier: decision.AppliedTier | None = None
    #: Reason why it is not the type of its tier, or None.
    problem: str | None = None
    #: Whether an apply created it, and has not opened it yet.
    is_half_made: bool = False

    @property
    def is_marked(self) -> bool:
        """Return whether it is, or was, the complete type of a tier."""
        return self.mark is not None and not self.is_half_made


def read_type(
    extra_specs: collections.abc.Mapping[str, str],
    *,
    type_id: str,
    name: str,
    projects: frozenset[str] | None,
    is_encrypted: bool = False,
    description: str | None = None,
) -> TypeReading:
    """Return the tier that one type describes, regardless of the others.

    :param extra_specs: {key: value} of the type.
    :param type_id: id of the type.
    :param name: name of the type.
    :param projects: ids of the projects that have access to a private type;
        None for a public type.
    :param is_encrypted: whether the type has an encryption.
    """
    tier, problems = None, []
    mark = extra_specs.get(cinder_state.NAME) or None
    try:
        tier = read_tier(
            extra_specs,
            projects=projects,
            is_encrypted=is_encrypted,
            type_name=name,
        )
    except ValueError as error:
        problems.append(str(error))
    if mark is not None and not backends.selects_backends(extra_specs):
        problems.append(
            f'volume type {name!r} of tier {mark!r} names no backend: '
            f'its extra specs are {_listed(extra_specs)}, expected '
            f'{cinder_state.BACKEND} with the name of a backend; run '
            '"openstack tier apply", or set it with "openstack volume type '
            'set --property"'
        )
    return TypeReading(
        type_id=type_id,
        name=name,
        mark=mark,
        tier=tier,
        problem='; '.join(problems) or None,
        is_half_made=cinder_state.is_half_made(description, projects=projects),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadTiers:
    """The tiers among the volume types."""

    #: {name of a tier: its volume type}, in the order of the types' names.
    types: collections.abc.Mapping[str, TypeReading]
    #: Marked types that are not tiers, because of their `problem`.
    left_out: tuple[TypeReading, ...]
    #: Types that an apply has not opened yet, with that as `problem`.
    half_made: tuple[TypeReading, ...] = ()

    @property
    def tiers(self) -> tuple[decision.AppliedTier, ...]:
        """The tiers, in the order of the names of their types."""
        return tuple(one.tier for one in self.types.values() if one.tier)

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each type that is left out."""
        return tuple(one.problem for one in self.left_out if one.problem)


def read_tiers(
    readings: collections.abc.Iterable[TypeReading],
) -> ReadTiers:
    """Return the tiers of volume types.

    Types that were retired, that wait to take the name of another, or that an
    apply has not opened yet, are not tiers, nor are they left out.

    :param readings: readings of all types, in any order. If several claim to
        be the same tier, regardless of case, the type with the name of the
        tier is it, else the one whose name sorts first. If the type with the
        name of the tier cannot be read, no other type is the tier.
    """
    types: dict[str, TypeReading] = {}
    owners: dict[str, TypeReading] = {}
    left_out = []
    readings = sorted((one for one in readings if one.mark), key=_turn)
    for one in readings:
        mark = one.mark
        if mark is None or not one.is_marked:
            continue
        tier = cinder_state.as_databases_compare(mark)
        if type_succession.is_superseded(one.name, has_tier=mark in types):
            continue
        owner = owners.get(tier)
        # It waits for the name of one that cannot be read.
        if (
            owner is not None
            and owner.problem
            and (type_succession.owner_of(one.name) == owner.name)
        ):
            owner = None
        if one.problem is None and owner is not None:
            one = dataclasses.replace(
                one,
                problem=f'volume type {one.name!r} has the extra spec '
                f'{cinder_state.NAME}={one.mark!r}, and so has '
                f'{owner.name!r}, which is the tier; remove the extra spec '
                f'from {one.name!r} with "openstack volume type unset '
                f'--property {cinder_state.NAME}", or delete that type',
            )
        if one.problem is None:
            types[mark] = one
        else:
            left_out.append(one)
        if one.problem is None or one.name == mark:
            owners.setdefault(tier, one)
    return ReadTiers(
        types=dict(sorted(types.items(), key=lambda item: item[1].name)),
        left_out=tuple(left_out),
        half_made=tuple(
            dataclasses.replace(
                one,
                problem=f'volume type {one.name!r} is closed until '
                '"openstack tier apply" has completed it; run that again if '
                'it was interrupted',
            )
            for one in readings
            if not one.is_marked
        ),
    )


def _turn(one: TypeReading) -> tuple[object, ...]:
    """Return the sort key by which the type named like a tier comes first."""
    alike = cinder_state.as_databases_compare
    return (
        one.name != one.mark,
        alike(one.name) != alike(one.mark or ''),
        one.name,
        one.type_id,
    )


def _listed(extra_specs: collections.abc.Mapping[str, str]) -> str:
    """Return extra specs for a message, which are hostile and may be long."""
    return spelling.listed(
        f'{key!r}={value!r}' for key, value in extra_specs.items()
    )


_Named = typing.TypeVar('_Named')


def first_named(
    asked: collections.abc.Mapping[
        decision.TypeSource, collections.abc.Callable[[], _Named | None]
    ],
) -> tuple[decision.TypeSource, _Named] | None:
    """Return the strongest source that names a volume type, and the type.

    :param asked: {source: function that returns the type it names, if any};
        sources weaker than the result are not called.
    :returns: source and type; None if no type is named.
    """
    for source in decision.TypeSource:
        if source in asked and (named := asked[source]()):
            return source, named
    return None


@functools.lru_cache
def _is_true(value: str | None) -> bool:
    words = (value or '').split()
    if words[:1] == ['<is>']:
        words = words[1:]
    return len(words) == 1 and words[0].lower() in _TRUE
