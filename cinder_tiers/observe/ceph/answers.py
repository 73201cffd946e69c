# SPDX-License-Identifier: Apache-2.0

"""Makes one clear failure of an answer of Ceph that is not as known.

Releases, modules and proxies answer in forms that nobody has seen. Each
function that reads a cluster has this net, so that none of them has to look
at each key. Must not know what is read.
"""

import collections.abc
import functools
import typing

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.observe import field_types

#: What an answer in another form raises where it is read.
ERRORS = (AttributeError, LookupError, TypeError, ValueError)
_ASKS = frozenset({'command', 'tell', 'ask_manager'})
_LONG = 200

_Answer = typing.TypeVar('_Answer')
_Rest = typing.ParamSpec('_Rest')


class UnknownAnswer(errors.TiersError):
    """Ceph answered a command in a form that is not known."""


class _Asked:
    """A session that records the commands that are sent.

    :param session: the real session.
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


def in_known_form(
    read: collections.abc.Callable[
        typing.Concatenate[ceph_session.Session, _Rest], _Answer
    ],
) -> collections.abc.Callable[
    typing.Concatenate[ceph_session.Session, _Rest], _Answer
]:
    """Decorates a function that reads a cluster, the session first.

    It raises `UnknownAnswer` in place of what an answer of another form
    raises, or if what it returns is not of the types that it declares.
    """

    # It takes what stands in the place of a session, too.
    read_in_place: collections.abc.Callable[..., _Answer] = read

    @functools.wraps(read)
    def netted(
        session: ceph_session.Session,
        *arguments: _Rest.args,
        **named: _Rest.kwargs,
    ) -> _Answer:
        asked = _Asked(session)
        try:
            found = read_in_place(asked, *arguments, **named)
            if not field_types.fits(_returns(read))(found):
                raise TypeError(f'{str(found)[:_LONG]!r}')
            field_types.check(found)
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


@functools.cache
def _returns(read: collections.abc.Callable[..., object]) -> object:
    return typing.get_type_hints(read).get('return', object)
