# SPDX-License-Identifier: Apache-2.0

"""Check that values have the types that their dataclasses declare.

Must not know where they were read.
"""

import collections.abc
import dataclasses
import functools
import types
import typing

_LONG = 200


def check(value: object) -> None:
    """Checks the fields of all dataclasses in a value.

    :raises TypeError: the first that has another type than its field.
    """
    if dataclasses.is_dataclass(value):
        kind: type = type(value)
        check_fields(
            kind, {name: getattr(value, name) for name in _hints(kind)}
        )
    elif isinstance(value, collections.abc.Mapping):
        for one in value.values():
            check(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            check(one)


def check_fields(
    kind: type, fields: collections.abc.Mapping[str, object]
) -> None:
    """Checks some fields of a dataclass, and those of dataclasses in them.

    :param fields: {name: value}
    :raises TypeError: the first that has another type.
    """
    hints = _hints(kind)
    for name, value in fields.items():
        if not fits(hints[name])(value):
            raise TypeError(
                f'{name} of {kind.__name__} {fields.get("name", "")} is '
                f'{str(value)[:_LONG]!r}'
            )
        check(value)


@functools.cache
def _hints(kind: type) -> dict[str, object]:
    hints = typing.get_type_hints(kind)
    return {
        field.name: hints[field.name] for field in dataclasses.fields(kind)
    }


@functools.cache
def fits(hint: object) -> collections.abc.Callable[[object], bool]:
    """Return a check whether a value, and the items in it, have a type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        several = [fits(one) for one in inner]
        return lambda value: any(one(value) for one in several)
    if origin in (collections.abc.Mapping, dict):
        key, of_key = map(fits, inner)
        return lambda value: (
            isinstance(value, collections.abc.Mapping)
            and all(key(name) and of_key(one) for name, one in value.items())
        )
    if origin is tuple and inner[-1] is not Ellipsis:
        each = [fits(one) for one in inner]
        return lambda value: (
            isinstance(value, tuple | list)
            and len(value) == len(each)
            and all(one(part) for one, part in zip(each, value, strict=True))
        )
    if origin in (tuple, list, set, frozenset):
        of_each = fits(inner[0])
        return lambda value: (
            isinstance(value, origin) and all(map(of_each, value))
        )
    if hint is float:
        return lambda value: type(value) in (int, float)
    if hint is int:
        return lambda value: type(value) is int
    kind = origin or hint
    if not isinstance(kind, type):
        return lambda value: True
    return lambda value: isinstance(value, kind)
