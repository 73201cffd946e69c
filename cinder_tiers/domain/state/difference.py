# SPDX-License-Identifier: Apache-2.0

"""Differences of an object to its declared state.

Both are values of one type, so a difference is a plain comparison of fields.
Metadata of a field excludes it. Must not know any kind of object.
"""

import collections.abc
import dataclasses
import types
import typing

#: Metadata of a field that is not compared if the declared value is None.
NONE_IS_ANY = types.MappingProxyType({'none_is_any': True})
ABSENT_IS_ANY = types.MappingProxyType({'absent_is_any': True})
IS_NOTE = types.MappingProxyType({'is_note': True})


class Resource(typing.Protocol):
    """Any value of `domain/state`: a frozen dataclass with a name."""

    # Attribute that marks a dataclass.
    __dataclass_fields__: typing.ClassVar[
        dict[str, dataclasses.Field[typing.Any]]
    ]

    @property
    def name(self) -> str:
        """Name of the object; read-only, as in a frozen dataclass."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Difference:
    """A field that differs from its declared value."""

    #: Name of the field, with a dot and a key for a field that is a mapping.
    field: str
    #: Both None when absent.
    before: object
    after: object


def fields_of(resource: Resource) -> dict[str, object]:
    """Return the fields of a resource; each key of a mapping is a field.

    :returns: {field or field.key: value}, without the name of the resource
        and without notes.

    >>> from cinder_tiers.domain.state import ceph
    >>> fields_of(ceph.CephxUser(name='client.a', caps={'mon': 'allow r'}))
    {'caps.mon': 'allow r'}
    """
    result: dict[str, object] = {}
    for field in dataclasses.fields(resource):
        value = getattr(resource, field.name)
        if field.metadata.get('is_note'):
            continue
        if isinstance(value, collections.abc.Mapping):
            result.update(
                {f'{field.name}.{key}': value[key] for key in sorted(value)}
            )
        elif field.name != 'name':
            result[field.name] = value
    return result


def set_fields_of(resource: Resource | None) -> dict[str, object]:
    """Return the fields of a resource that have a value; 0 is a value.

    >>> from cinder_tiers.domain.state import cinder
    >>> set_fields_of(cinder.TypeQuota(name='a', volumes=0))
    {'volumes': 0, 'size_gib': -1, 'snapshots': -1}

    :param resource: resource; None has no fields.
    """
    if resource is None:
        return {}
    return {
        name: value
        for name, value in fields_of(resource).items()
        if not (value is None or value is False or value in ('', frozenset()))
    }


def texts_of(resource: Resource) -> dict[str, str | None]:
    """Return the fields of a resource as texts.

    >>> from cinder_tiers.domain.state import cinder
    >>> texts_of(
    ...     cinder.QosSpec(
    ...         name='q',
    ...         consumer='both',
    ...         specs={},
    ...         volume_types=frozenset({'b', 'a'}),
    ...     )
    ... )
    {'consumer': 'both', 'volume_types': 'a, b'}
    """
    return {
        name: text_of(value) for name, value in fields_of(resource).items()
    }


def text_of(value: object) -> str | None:
    """Return the value of a field as a text; None stays None."""
    if isinstance(value, frozenset):
        return ', '.join(sorted(value))
    return None if value is None else str(value)


def differences(
    before: Resource,
    after: Resource,
) -> tuple[Difference, ...]:
    """Return the differences of a resource to its declared state.

    :param before: existing resource.
    :param after: declared resource. A field that may be left to the service is
        not compared if it is None, nor is an absent key of such a mapping.
    :returns: differences in the order of the fields; empty if they are equal.
    """
    free = {
        field.name
        for field in dataclasses.fields(after)
        if field.metadata.get('none_is_any')
        and getattr(after, field.name) is None
    }
    old, new = fields_of(before), fields_of(after)
    loose = tuple(
        f'{field.name}.'
        for field in dataclasses.fields(after)
        if field.metadata.get('absent_is_any')
    )
    free |= {
        name for name in old if name.startswith(loose) and name not in new
    }
    return tuple(
        Difference(field=name, before=old.get(name), after=new.get(name))
        for name in dict.fromkeys((*old, *new))
        if name not in free and old.get(name) != new.get(name)
    )
