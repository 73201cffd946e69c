# SPDX-License-Identifier: Apache-2.0

"""Conversion of frozen dataclasses to plain values and back; their schema.

Type hints define all three, so none can drift from the others. A record may
have int, float, str, bool, unions of these, enums of text, records, ``tuple[X,
...]``, tuples of fixed length, ``frozenset[str]``, ``Mapping[str, X]``, any of
these or None, and ``Any``, which is not checked. On the way back, everything
is checked, and all problems that can be found are reported at once, with their
places.

This module must not know what is recorded.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import functools
import inspect
import json
import math
import re
import types
import typing
from typing import Any

from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling


#: A dataclass with fields that a record may have.
_T = typing.TypeVar('_T')
# A field's comment and its name.
_FIELD = re.compile(r'^((?: *#: .*\n)+) *(\w+):', re.MULTILINE)
# A document of 1 MB can have 200 MB of mistakes.
_MOST_TOLD = 50
_MOST_CHARS = 1000
#: Exceeds all valid integers; no mean of larger ones can be computed.
_BEYOND = 10**100
#: {hint of a number: the types of values that fit it}.
_NUMBERS: dict[object, set[type]] = {int: {int}, float: {int, float}}
_PLAIN = {int: 'integer', float: 'number', str: 'string', bool: 'boolean'}
_OMITTED = 'omitted'


class RecordError(errors.LinesError, ValueError):
    """Values that do not form a record; one line per problem."""


def plain(value: object) -> object:
    """Return a record as dictionaries, lists and JSON scalars."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(found)
            for field in dataclasses.fields(value)
            if (found := getattr(value, field.name)) != field.default
            or _OMITTED not in field.metadata
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return sorted(value) if isinstance(value, frozenset) else value


def omitted(default: object = None) -> Any:
    """Return a field of a dataclass that is omitted while it has its default.

    It may also be missing in input, which may be older than the field.

    :param default: value with the meaning of a missing field
    """
    return dataclasses.field(default=default, metadata={_OMITTED: True})


@functools.cache
def _optional(hint: object) -> tuple[object, bool]:
    """Return (the hint without None, whether None is allowed)."""
    if isinstance(hint, types.UnionType) or (
        typing.get_origin(hint) is typing.Union
    ):
        rest = [
            each for each in typing.get_args(hint) if each is not type(None)
        ]
        if len(rest) == 1:
            return rest[0], True
    return hint, False


def _are_plain_numbers(hint: object, values: Sequence[Any]) -> bool:
    """Return whether all values are finite numbers of a type, in one pass.

    Checking each value takes most of the time of reading a large series.
    """
    kinds = _NUMBERS.get(hint)
    found = set(map(type, values))
    return (
        kinds is not None
        and found <= kinds
        # isfinite() fails for large integers.
        and (
            float not in found
            or all(
                math.isfinite(each) for each in values if type(each) is float
            )
        )
        and (
            int not in found or -_BEYOND < min(values) <= max(values) < _BEYOND
        )
    )


def _are_plain_rows(hint: object, values: list[Any]) -> bool:
    """Return whether a list holds tuples of plain numbers, such as bins."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) is tuple else ()
    return (
        bool(values)
        and bool(kinds)
        and set(map(type, values)) == {list}
        and set(map(len, values)) == {len(kinds)}
        and all(
            _are_plain_numbers(kind, column)
            for kind, column in zip(
                kinds, zip(*values, strict=True), strict=True
            )
        )
    )


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the type hints of a dataclass, which take long to find."""
    return typing.get_type_hints(kind)


class _Reader:
    """Converts plain values to records and collects the problems.

    :param has_defaults: whether a field with a default may be missing
    """

    def __init__(self, *, has_defaults: bool) -> None:
        self.wrong: list[str] = []
        self._has_defaults = has_defaults

    def _refuse(self, value: object, expected: str, place: str) -> None:
        self.wrong.append(
            f'{place or "the document"}: found'
            f' {str(value)[:60]!r}, expected {expected}'
        )

    def read(self, hint: object, value: object, place: str) -> object:
        hint, may_be_none = _optional(hint)
        if value is None and may_be_none:
            return None
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self.record(hint, value, place)
        if hint in _PLAIN:
            return self._simple(hint, value, place)
        if hint is Any:
            return value
        if isinstance(hint, types.UnionType):
            return self._one_of(typing.get_args(hint), value, place)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            names = [each.value for each in hint]
            if value in names:
                return hint(value)
            self._refuse(value, f'one of {", ".join(names)}', place)
            return None
        if typing.get_origin(hint) is tuple:
            return self._tuple(typing.get_args(hint), value, place)
        if typing.get_origin(hint) is frozenset:
            return frozenset(self._tuple((str, ...), value, place) or ())
        return self._mapping(typing.get_args(hint)[1], value, place)

    def _simple(self, kind: type, value: object, place: str) -> Any:
        accepted = (int, float) if kind is float else kind
        if (
            not isinstance(value, accepted)
            or (isinstance(value, bool) and kind is not bool)
            or (isinstance(value, float) and not math.isfinite(value))
        ):
            self._refuse(
                value,
                f'a finite {_PLAIN[kind]}'
                if kind in (int, float)
                else f'a {_PLAIN[kind]}',
                place,
            )
            return None
        if isinstance(value, int) and not -_BEYOND < value < _BEYOND:
            self._refuse(value, 'an integer below 10^100', place)
            return None
        return value

    def _one_of(self, kinds: Sequence[Any], value: object, place: str) -> Any:
        if type(value) in kinds:
            return self._simple(type(value), value, place)
        names = ', '.join(_PLAIN[kind] for kind in kinds)
        self._refuse(value, f'one of {names}', place)
        return None

    def record(self, kind: type, value: object, place: str) -> Any:
        if isinstance(value, kind):
            return value
        if not isinstance(value, dict):
            self._refuse(value, 'an object', place)
            return None
        hints = _hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        omitted = {
            field.name
            for field in dataclasses.fields(kind)
            if _OMITTED in field.metadata
            or (
                self._has_defaults and field.default is not dataclasses.MISSING
            )
        }
        dot = place and f'{place}.'
        before = len(self.wrong)
        for name in sorted(map(str, value.keys() - set(names))):
            # Problems that are not reported need no suggestion.
            near = len(self.wrong) < _MOST_TOLD and (
                spelling.did_you_mean(name, names).strip()
            )
            self._refuse(
                name,
                f'one of {", ".join(names)}{f"; {near}" if near else ""}',
                f'{dot}{name}',
            )
        for name in names:
            if name not in value and name not in omitted:
                self.wrong.append(f'{dot}{name}: it is missing')
        fields = {
            name: self.read(hints[name], value[name], f'{dot}{name}')
            for name in names
            if name in value
        }
        if len(self.wrong) > before:
            return None
        try:
            return kind(**fields)
        except ValueError as error:
            self.wrong.append(f'{place or "the document"}: {error}')
            return None

    def _tuple(
        self, arguments: tuple[Any, ...], value: object, place: str
    ) -> tuple[Any, ...] | None:
        if not isinstance(value, list):
            self._refuse(value, 'a list', place)
            return None
        if arguments[-1] is Ellipsis:
            if _are_plain_numbers(arguments[0], value):
                return tuple(value)
            if _are_plain_rows(arguments[0], value):
                return tuple(map(tuple, value))
            arguments = arguments[:1] * len(value)
        if len(arguments) != len(value):
            self._refuse(value, f'{len(arguments)} elements', place)
            return None
        return tuple(
            self.read(hint, each, f'{place}[{number}]')
            for number, (hint, each) in enumerate(
                zip(arguments, value, strict=True)
            )
        )

    def _mapping(
        self, hint: object, value: object, place: str
    ) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            self._refuse(value, 'an object', place)
            return None
        return {
            key: self.read(hint, each, f'{place}[{key!r}]')
            for key, each in value.items()
        }


def read(kind: type[_T], value: object, *, has_defaults: bool = False) -> _T:
    """Return the record that plain values describe.

    :param kind: dataclass of the record
    :param value: output of ``plain``, or any other input; records in it that
        were read before are taken as they are
    :param has_defaults: whether a field with a default may be missing, as in
        files that people write
    :raises RecordError: the values do not form a record; one line per problem,
        and the number of further ones.
    """
    reader = _Reader(has_defaults=has_defaults)
    found = reader.record(kind, value, '')
    told = [each[:_MOST_CHARS] for each in reader.wrong[:_MOST_TOLD]]
    if len(reader.wrong) > len(told):
        told.append(f'and {len(reader.wrong) - len(told)} more')
    if told:
        raise RecordError(*told)
    return found


def dumps(
    value: object, /, *, indent: int | None = None, **heading: object
) -> str:
    """Return the text of a JSON file of a record.

    :param heading: fields before those of the record, such as version=1
    :raises TypeError: the value is not a dataclass
    :raises ValueError: a number is not finite
    """
    written = plain(value)
    if not isinstance(written, dict):
        raise TypeError(f'found {type(value).__name__}, expected a dataclass')
    text = json.dumps(
        {**heading, **written},
        allow_nan=False,
        indent=indent,
        separators=(',', ': ' if indent else ':'),
    )
    return f'{text}\n'


def _refuse_constant(name: str) -> None:
    """Reject NaN and Infinity, which Python reads though JSON lacks them."""
    raise ValueError(f'found {name}, which JSON does not have')


def parsed(text: str | bytes, /, **hooks: Any) -> Any:
    """Return the plain values of a JSON text from any source.

    NaN and Infinity are accepted unless a hook rejects them.

    :param hooks: hooks of json.loads
    :raises ValueError: the text is not JSON, or nested too deeply
    """
    try:
        return json.loads(text, **hooks)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def loads(kind: type, text: str | bytes, /, **heading: object) -> Any:
    """Return the record of a JSON text from any source.

    :param kind: dataclass of the record
    :param heading: fields that must be there in addition to the record's
    :raises RecordError: the text does not describe the record; one line per
        problem
    """
    try:
        value = parsed(text, parse_constant=_refuse_constant)
        if not isinstance(value, dict):
            raise RecordError('found no object in the document')
        for name, expected in heading.items():
            found = value.pop(name, None)
            if found != expected or isinstance(found, bool):
                raise RecordError(
                    f'{name}: found {str(found)[:60]!r}, expected {expected!r}'
                )
        return read(kind, value)
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(f'a file that is not JSON: {error}') from error


def _descriptions(kind: type) -> dict[str, str]:
    """Return the comment above each field, which only its source has."""
    return {
        name: ' '.join(
            line.strip().removeprefix('#: ') for line in comment.splitlines()
        )
        for comment, name in _FIELD.findall(inspect.getsource(kind))
    }


def _schema(hint: object, found: dict[str, dict]) -> dict[str, Any]:
    hint, may_be_none = _optional(hint)
    if may_be_none:
        return {'anyOf': [_schema(hint, found), {'type': 'null'}]}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint.__name__ not in found:
            found[hint.__name__] = {}
            found[hint.__name__].update(_object(hint, found))
        return {'$ref': f'#/$defs/{hint.__name__}'}
    if hint in _PLAIN:
        return {'type': _PLAIN[hint]}
    if hint is Any:
        return {}
    if isinstance(hint, types.UnionType):
        return {'type': [_PLAIN[kind] for kind in typing.get_args(hint)]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {'enum': [each.value for each in hint]}
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is frozenset:
        return {**_schema(tuple[str, ...], found), 'uniqueItems': True}
    if typing.get_origin(hint) is not tuple:
        return {
            'type': 'object',
            'additionalProperties': _schema(arguments[1], found),
        }
    if arguments[-1] is Ellipsis:
        return {'type': 'array', 'items': _schema(arguments[0], found)}
    return {
        'type': 'array',
        'items': False,
        'minItems': len(arguments),
        'maxItems': len(arguments),
        'prefixItems': [_schema(each, found) for each in arguments],
    }


def _object(kind: type, found: dict[str, dict]) -> dict[str, Any]:
    hints = _hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    texts = _descriptions(kind)
    return {
        'type': 'object',
        'description': (inspect.getdoc(kind) or '').split('\n')[0],
        'properties': {
            name: {
                **({'description': texts[name]} if name in texts else {}),
                **_schema(hints[name], found),
            }
            for name in names
        },
        'required': [
            field.name
            for field in dataclasses.fields(kind)
            if _OMITTED not in field.metadata
        ],
        'additionalProperties': False,
    }


def schema(kind: type) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a record.

    Descriptions are the comments above its fields (``#:``).

    :param kind: dataclass of the record
    """
    found: dict[str, dict] = {}
    top = _object(kind, found)
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        **top,
        '$defs': dict(sorted(found.items())),
    }
