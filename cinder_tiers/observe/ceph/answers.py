# SPDX-License-Identifier: Apache-2.0

"""Makes one clear failure of an answer of Ceph that is not as known.

Releases, modules and proxies answer in forms that nobody has seen. Each
function that reads a cluster has this net, so that none of them has to look
at each key. Must not know what is read.
"""

import collections.abc
import dataclasses
import functools
import types
import typing

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors

#: What an answer in another form raises where it is read.
ERRORS = (AttributeError, LookupError, TypeError, ValueError)
_ASKS = frozenset({'command', 'tell', 'ask_manager'})
_LONG = 200

_Reader = typing.TypeVar(
    '_Reader', bound=collections.abc.Callable[..., object]
)


class UnknownAnswer(errors.TiersError):
    """Ceph answered a command in a form that is not known."""


class _Asked:
    """A session that keeps which commands were asked.

    :param session: in whose place it stands.
    """

    def __init__(self, session: ceph_session.Session) -> None:
        self._session = session
        self.commands: dict[str, None] = {}

    def __getattr__(self, name: str) -> object:
        """The same of the session."""
        found = getattr(self._session, name)
        if name not in _ASKS:
            return found

        def ask(*arguments: object, **named: object) -> object:
            # The last word that is no number: tell has the id of an OSD first.
            self.commands[next(w for w in arguments if isinstance(w, str))] = (
                None
            )
            return found(*arguments, **named)

        return ask


def in_known_form(read: _Reader) -> _Reader:
    """Decorates a function that reads a cluster, the session first.

    It raises `UnknownAnswer` in place of what an answer of another form
    raises, or if what it returns is not of the types that it declares.
    """

    @functools.wraps(read)
    def netted(
        session: ceph_session.Session, *arguments: object, **named: object
    ) -> object:
        asked = _Asked(session)
        try:
            found = read(asked, *arguments, **named)
            if not _fits(_returns(read))(found):
                raise TypeError(f'{str(found)[:_LONG]!r}')
            check(found)
        except ERRORS as error:
            commands = ', '.join(f'"{one}"' for one in asked.commands)
            raise UnknownAnswer(
                f'Ceph cluster {session.cluster.name!r} answered {commands} '
                f'in a form that is not known: {_said(error)}; expected that '
                'of Ceph 16 to 20: run the command with "ceph ... --format '
                'json", compare "ceph versions", and report both'
            ) from error
        return found

    return netted


def _said(error: Exception) -> str:
    text = str(error)[:_LONG]
    return f'no key {text}' if isinstance(error, KeyError) else text


def check(value: object) -> None:
    """Checks the fields of all dataclasses in a value.

    :raises TypeError: the first that has another type than its field.
    """
    if dataclasses.is_dataclass(value):
        check_fields(
            type(value),
            {name: getattr(value, name) for name in _hints(type(value))},
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

    :param kind: the dataclass.
    :param fields: {name: value}
    :raises TypeError: the first that has another type.
    """
    hints = _hints(kind)
    for name, value in fields.items():
        if not _fits(hints[name])(value):
            raise TypeError(
                f'{name} of {kind.__name__} {fields.get("name", "")} is '
                f'{str(value)[:_LONG]!r}'
            )
        check(value)


@functools.cache
def _returns(read: _Reader) -> object:
    return typing.get_type_hints(read).get('return', object)


@functools.cache
def _hints(kind: type) -> dict[str, object]:
    hints = typing.get_type_hints(kind)
    return {
        field.name: hints[field.name] for field in dataclasses.fields(kind)
    }


@functools.cache
def _fits(hint: object) -> collections.abc.Callable[[object], bool]:
    """Whether a value has a type, collections with what is in them."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        several = [_fits(one) for one in inner]
        return lambda value: any(one(value) for one in several)
    if origin in (collections.abc.Mapping, dict):
        key, of_key = map(_fits, inner)
        return lambda value: (
            isinstance(value, collections.abc.Mapping)
            and all(key(name) and of_key(one) for name, one in value.items())
        )
    if origin is tuple and inner[-1] is not Ellipsis:
        each = [_fits(one) for one in inner]
        return lambda value: (
            len(value) == len(each)
            and all(one(part) for one, part in zip(each, value, strict=True))
        )
    if origin in (tuple, list, set, frozenset):
        of_each = _fits(inner[0])
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
