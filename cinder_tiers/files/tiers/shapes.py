# SPDX-License-Identifier: Apache-2.0

"""Kinds of values in a tiers file.

A shape defines three things together, so none can drift from the others: the
JSON schema of its values, the value of the catalog for a plain value (`read`),
and the way back (`write`). Input of `read` is valid by the schema, or lacks
invalid parts. Must not know which tiers there are, nor YAML.
"""

import abc
import collections.abc
import dataclasses
import typing

from cinder_tiers.domain.catalog import limits

#: {name: schema} of the shapes that are used in several places.
Definitions = dict[str, dict[str, typing.Any]]
_Attributes = dict[str, typing.Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape(abc.ABC):
    """A kind of value, by default the same in file and catalog."""

    #: Completes "expected ..." of a message.
    expected: str
    #: Name of the definition in the schema; None to repeat it at each use.
    definition: str | None = None

    def schema(self, found: Definitions) -> dict[str, object]:
        """Return the JSON schema (draft 2020-12) of the values.

        :param found: definitions, to which those that the schema refers to are
            added.
        """
        full = {'description': self.expected, **self.rules(found)}
        if self.definition is None:
            return full
        found[self.definition] = full
        return {'$ref': f'#/$defs/{self.definition}'}

    @abc.abstractmethod
    def rules(self, found: Definitions) -> dict[str, object]:
        """Return the schema without its description."""

    def read(self, value: typing.Any) -> typing.Any:
        """Return the value of the catalog; None if a part is missing."""
        return value

    def write(self, value: typing.Any) -> typing.Any:
        """Return the plain value for `read`."""
        return value

    def is_of(self, value: object) -> bool:
        """Return whether this shape writes a value of the catalog."""
        return True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scalar(Shape):
    """A single value, with the keywords of its schema."""

    keywords: collections.abc.Mapping[str, object]

    def rules(self, found: Definitions) -> dict[str, object]:
        """Return the keywords."""
        return dict(self.keywords)


def whole(pattern: str) -> str:
    """Return the pattern of a schema that matches only a whole text."""
    # "$" alone also matches before a last line break.
    return f'^{pattern}$(?!\\n)'


def text_keywords(limit: limits.Text, *other_types: str) -> dict[str, object]:
    """Return the keywords of a schema for texts.

    :param other_types: types that are allowed besides text.
    """
    keywords: dict[str, object] = {
        'type': ['string', *other_types] if other_types else 'string'
    }
    if limit.min_chars:
        keywords['minLength'] = limit.min_chars
    if limit.max_chars is not None:
        keywords['maxLength'] = limit.max_chars
    if limit.pattern is not None:
        keywords['pattern'] = whole(limit.pattern)
    return keywords


def text(limit: limits.Text, *, definition: str | None = None) -> Scalar:
    """Return the shape of a text within a limit."""
    return Scalar(
        expected=limit.expected,
        definition=definition,
        keywords=text_keywords(limit),
    )


def any_text(expected: str) -> Scalar:
    """Return the shape of a text that other rules check."""
    return Scalar(expected=expected, keywords={'type': 'string'})


def number(
    within: limits.Range,
    *,
    kind: str = 'integer',
    more: str = '',
    expected: str | None = None,
    definition: str | None = None,
) -> Scalar:
    """Return the shape of a number within a range.

    :param kind: JSON type: integer or number.
    :param more: end of the expectation, after the range.
    :param expected: expectation that replaces the range and `more`.
    """
    article = 'an' if kind == 'integer' else 'a'
    return Scalar(
        expected=expected
        or f'{article} {kind} from {within.least} to {within.most}{more}',
        definition=definition,
        keywords={
            'type': kind,
            'minimum': within.least,
            'maximum': within.most,
        },
    )


def flag(
    expected: str = 'true or false', *, definition: str | None = None
) -> Scalar:
    """Return the shape of a boolean."""
    return Scalar(
        expected=expected, definition=definition, keywords={'type': 'boolean'}
    )


def word(words: collections.abc.Sequence[str]) -> Scalar:
    """Return the shape of one of some words."""
    *first, last = words
    return Scalar(
        expected=f'{"one of " if len(first) > 1 else ""}{", ".join(first)} '
        f'or {last}',
        keywords={'enum': list(words)},
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Constant(Shape):
    """The only value that a place may have."""

    value: str | int | bool
    #: Value of the catalog when the constant is present.
    means: object = None

    def rules(self, found: Definitions) -> dict[str, object]:
        """Return the value as schema."""
        return {'const': self.value}

    def read(self, value: typing.Any) -> typing.Any:
        """Return the meaning of the value."""
        return self.means

    def write(self, value: typing.Any) -> typing.Any:
        """Return the only value."""
        return self.value


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListOf(Shape):
    """A list of texts, which is a tuple in the catalog."""

    items: Scalar
    unique: bool = True
    min_items: int = 0
    #: Pattern of texts that may replace the list.
    alone: str | None = None
    #: Whether such a text means a list of one; else it means itself.
    alone_is_item: bool = False

    def rules(self, found: Definitions) -> dict[str, object]:
        """Return the rules of the list and of its items."""
        keywords: dict[str, object] = {'type': 'array'}
        if self.alone is not None:
            keywords = {
                'type': ['string', 'array'],
                'pattern': whole(self.alone),
            }
        if self.min_items:
            keywords['minItems'] = self.min_items
        if self.unique:
            keywords['uniqueItems'] = True
        return {**keywords, 'items': self.items.schema(found)}

    def read(self, value: typing.Any) -> typing.Any:
        """Return a tuple of texts, or the text that replaces the list."""
        if isinstance(value, str):
            return (value,) if self.alone_is_item else value
        # An invalid item stays, so that later ones keep their lines.
        return tuple(map(str, value))

    def write(self, value: typing.Any) -> typing.Any:
        """Return a list, or the text that replaces it."""
        return value if isinstance(value, str) else list(value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MapOf(Shape):
    """A mapping of names of one kind to values of another."""

    names: Scalar
    values: Shape
    #: Whether {} is invalid.
    not_empty: bool = False

    def rules(self, found: Definitions) -> dict[str, object]:
        """Return the rules of the names and of the values."""
        return {
            'type': 'object',
            **({'minProperties': 1} if self.not_empty else {}),
            'propertyNames': self.names.schema(found),
            'additionalProperties': self.values.schema(found),
        }

    def read(self, value: typing.Any) -> typing.Any:
        """Return {name: value of the catalog}."""
        return {name: self.values.read(one) for name, one in value.items()}

    def write(self, value: typing.Any) -> typing.Any:
        """Return {name: plain value}."""
        return {name: self.values.write(one) for name, one in value.items()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Shape):
    """A mapping of known names, each with its own kind of value."""

    known: collections.abc.Mapping[str, Shape]
    #: {known name: one sentence for people, in reStructuredText}
    meanings: collections.abc.Mapping[str, str]

    def rules(self, found: Definitions) -> dict[str, object]:
        """Return the rules of each setting."""
        return {
            'type': 'object',
            'additionalProperties': False,
            'properties': self.properties(found),
        }

    def properties(self, found: Definitions) -> dict[str, object]:
        """Return {name: schema of the setting}."""
        return {
            name: {'title': self.meanings[name], **one.schema(found)}
            for name, one in self.known.items()
        }

    def read(self, value: typing.Any) -> typing.Any:
        """Return {name: value of the catalog} of the known settings."""
        return {
            name: self.known[name].read(one)
            for name, one in value.items()
            if name in self.known
        }

    def write(self, value: typing.Any) -> typing.Any:
        """Return {name: plain value}."""
        return {
            name: self.known[name].write(one) for name, one in value.items()
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """A key of the file and an attribute of the catalog."""

    #: None: the keys of the shape, which is `Settings`, are in the same
    #: mapping as the other keys.
    key: str | None
    shape: Shape
    #: None: the catalog does not have it.
    attribute: str | None
    #: One sentence for people, in reStructuredText; empty without a key.
    meaning: str = ''


def field(
    key: str | None,
    shape: Shape,
    meaning: str = '',
    *,
    attribute: str | None = None,
) -> Field:
    """Return a field; by default, the attribute has the name of the key."""
    return Field(
        key=key, shape=shape, attribute=attribute or key, meaning=meaning
    )


def _attributes_of(value: typing.Any) -> _Attributes:
    return {
        one.name: getattr(value, one.name) for one in dataclasses.fields(value)
    }


def _defaults_of(kind: type) -> _Attributes:
    found = {}
    for one in dataclasses.fields(kind):
        if one.default is not dataclasses.MISSING:
            found[one.name] = one.default
        elif one.default_factory is not dataclasses.MISSING:
            found[one.name] = one.default_factory()
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record(Shape):
    """A mapping of known keys: an object of the catalog.

    Values equal to their default are not written.
    """

    kind: type
    fields: tuple[Field, ...]
    #: Required keys.
    required: tuple[str, ...] = ()
    #: Keys of which exactly one is required; they are for one attribute, and
    #: each is for a `kind` of its own.
    one_of: tuple[str, ...] = ()
    #: Whether {} is invalid; then the first field is always written.
    not_empty: bool = False
    #: Attributes that replace missing required ones, so that the rest can be
    #: checked.
    stand_ins: _Attributes = dataclasses.field(default_factory=dict)
    #: Defaults that depend on other attributes, or that `kind` lacks.
    more_defaults: collections.abc.Callable[[_Attributes], _Attributes] = (
        lambda attributes: {}
    )
    #: Function that creates the object from its attributes; None: `kind`.
    make: collections.abc.Callable[..., object] | None = None
    #: Function that returns the arguments of `make` for an object.
    take: collections.abc.Callable[[typing.Any], _Attributes] = _attributes_of

    def rules(self, found: Definitions) -> dict[str, object]:
        """Return the rules of each key, and of the set of keys."""
        keywords: dict[str, object] = {
            'type': 'object',
            'additionalProperties': False,
        }
        if self.not_empty:
            keywords['minProperties'] = 1
        if self.required:
            keywords['required'] = list(self.required)
        if self.one_of:
            keywords['oneOf'] = [{'required': [key]} for key in self.one_of]
        properties: dict[str, typing.Any] = {}
        for one in self.fields:
            if one.key is not None:
                properties[one.key] = {
                    'title': one.meaning,
                    **one.shape.schema(found),
                }
            elif isinstance(one.shape, Settings):
                properties.update(one.shape.properties(found))
        return {**keywords, 'properties': properties}

    def defaults_of(self, attributes: _Attributes) -> _Attributes:
        """Return the attributes that need no key, with their defaults.

        :param attributes: known attributes.
        """
        return {**_defaults_of(self.kind), **self.more_defaults(attributes)}

    def read(self, value: typing.Any, **given: typing.Any) -> typing.Any:
        """Return the object; None if a required part is missing.

        :param given: attributes that the mapping does not have.
        """
        if self.not_empty and not value:
            return None
        attributes = {**self.stand_ins, **given}
        for one in self.fields:
            if one.attribute is None:
                continue
            if one.key is None:
                attributes[one.attribute] = one.shape.read(value)
            elif one.key in value:
                found = one.shape.read(value[one.key])
                if found is not None:
                    attributes[one.attribute] = found
        if any(
            one.key in self.required
            and one.attribute is not None
            and one.attribute not in attributes
            for one in self.fields
        ):
            return None
        make = self.make or self.kind
        return make(**{**self.more_defaults(attributes), **attributes})

    def is_of(self, value: object) -> bool:
        """Return whether the value is an object of `kind`."""
        return isinstance(value, self.kind)

    def write(self, value: typing.Any) -> typing.Any:
        """Return {key: value} of values that differ from their default."""
        attributes = self.take(value)
        defaults = self.defaults_of(attributes)
        written: dict[str, typing.Any] = {}
        for one in self.fields:
            # Without an attribute, the shape knows its only value.
            found = attributes.get(one.attribute) if one.attribute else None
            is_default = (
                one.key not in (*self.required, *self.one_of)
                and one.attribute is not None
                and one.attribute in defaults
                and found == defaults[one.attribute]
            )
            if one.key is None:
                written.update(one.shape.write(found))
            elif not is_default and one.shape.is_of(found):
                written[one.key] = one.shape.write(found)
        if self.not_empty and not written:
            first = self.fields[0]
            if first.key is not None and first.attribute is not None:
                written[first.key] = first.shape.write(
                    attributes[first.attribute]
                )
        return written


@dataclasses.dataclass(frozen=True, kw_only=True)
class Named(MapOf):
    """A mapping of names to records, each with its name as `name`."""

    values: Record
    #: Whether the catalog has a tuple of them; else a mapping by name.
    in_tuple: bool = False

    def read(self, value: typing.Any) -> typing.Any:
        """Return the records, as a mapping or a tuple."""
        found = {
            name: self.values.read(one, name=name)
            for name, one in value.items()
        }
        return tuple(found.values()) if self.in_tuple else found

    def write(self, value: typing.Any) -> typing.Any:
        """Return {name: record as plain values}."""
        pairs = (
            ((one.name, one) for one in value)
            if self.in_tuple
            else value.items()
        )
        return {name: self.values.write(one) for name, one in pairs}
