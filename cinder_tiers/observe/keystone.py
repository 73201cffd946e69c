# SPDX-License-Identifier: Apache-2.0


"""Reads from Keystone which projects a catalog means. Writes nothing."""

import collections.abc
import contextlib
import functools
import typing

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import side_by_side
from cinder_tiers.domain import errors
from cinder_tiers.domain import identifier

_Answer = typing.TypeVar('_Answer')

#: From so many projects on, one list of all is asked for in place of each.
_WORTH_A_LIST = 2


def observe(
    connection: openstack.connection.Connection,
    projects: collections.abc.Iterable[str],
) -> dict[str, frozenset[str]]:
    """Look up the ids of projects, in one call for all that Keystone lists.

    :param connection: connection of a user who may list projects.
    :param projects: names or ids; if empty, Keystone is not called.
    :returns: {name or id: ids of all projects with this name or id}.
    :raises errors.Unreachable: Keystone does not answer, or refuses.
    """
    asked = frozenset(projects)
    found: dict[str, set[str]] = {}
    for ident, name in _listed_for(connection, asked).items():
        for one in {name, ident} & asked:
            found.setdefault(one, set()).add(ident)
    return {
        **{one: frozenset(ids) for one, ids in found.items()},
        # Keystone's database may know another spelling of a name.
        **_of_each(functools.partial(_ids, connection), asked - found.keys()),
    }


def names(
    connection: openstack.connection.Connection,
    ids: collections.abc.Iterable[str],
) -> dict[str, str | None]:
    """Look up the names of projects, in one call for all that it lists.

    :param connection: connection of a user who may list projects, or only show
        them.
    :param ids: ids of the projects; if empty, Keystone is not called.
    :returns: {id: name, or None if the project does not exist}.
    :raises errors.Unreachable: Keystone does not answer, or refuses.
    """
    asked = frozenset(ids)
    listed = _listed_for(connection, asked)
    return {
        **{one: listed[one] for one in asked & listed.keys()},
        **_of_each(
            functools.partial(_name, connection), asked - listed.keys()
        ),
    }


def _of_each(
    ask: collections.abc.Callable[[str], _Answer],
    projects: collections.abc.Iterable[str],
) -> dict[str, _Answer]:
    """Returns {project: answer}, asked side by side."""
    asked = sorted(projects)
    answers = side_by_side.each(ask, asked, at_once=side_by_side.API_AT_ONCE)
    return dict(zip(asked, answers, strict=True))


def _name(
    connection: openstack.connection.Connection, ident: str
) -> str | None:
    """The name of a project; None when there is none."""
    if not identifier.is_id(ident):
        return None
    try:
        return _shown(connection, ident).name
    except openstack.exceptions.NotFoundException:
        return None
    except openstack_client.API_ERRORS as error:
        raise openstack_client.failure(
            error,
            f'Keystone did not show project {ident}, which has access to '
            'a volume type, or has one as its default: '
            f'{openstack_client.why(error)}',
        ) from error


def all_names(
    connection: openstack.connection.Connection,
) -> dict[str, str]:
    """Return {id: name} of all projects, from one list.

    :param connection: connection of a user who may list projects.
    :raises errors.Unreachable: Keystone does not answer, or refuses.
    """
    return _list(connection)[0]


def _listed_for(
    connection: openstack.connection.Connection,
    asked: collections.abc.Collection[str],
) -> dict[str, str]:
    """{id: name} of all projects; none when another call is the shorter way.

    :param asked: names or ids of the projects in question.
    """
    if len(asked) < _WORTH_A_LIST:
        return {}
    try:
        listed, is_whole = _list(connection)
    except errors.Unreachable as error:
        # Who may not list projects may be shown each.
        if isinstance(error, errors.NotVisible) or isinstance(
            error.__cause__, openstack_client.AnswerTooLong
        ):
            return {}
        raise
    # A name may be that of another project beyond the end of the list.
    return listed if is_whole else {}


def _list(
    connection: openstack.connection.Connection,
) -> tuple[dict[str, str], bool]:
    """{id: name} of projects, and whether these are all."""
    with openstack_client.asking('Keystone did not list the projects'):
        answer = openstack_client.request(
            connection.identity, 'GET', '/projects'
        ).json()
        return {
            openstack_client.text(one['id']): openstack_client.text(
                one['name']
            )
            for one in answer['projects']
        }, not answer.get('truncated')


def _shown(
    connection: openstack.connection.Connection, ident: str
) -> openstack.identity.v3.project.Project:
    """A project.

    :raises openstack.exceptions.SDKException: Keystone refused, or something
        else answered; openstacksdk makes of a page a project without a name.
    """
    found = connection.identity.get_project(openstack_client.checked_id(ident))
    if found.name is None or not identifier.is_same(ident, found.id):
        raise openstack.exceptions.SDKException(
            f'the answer about project {ident} is not one of Keystone; see '
            'the proxies before it'
        )
    return found


def ids(
    connection: openstack.connection.Connection, name: str
) -> frozenset[str]:
    """Return the ids of all projects with a text as their name or id.

    :param connection: connection of a user who may list projects.
    :raises openstack.exceptions.SDKException: Keystone refused the request.
    """
    found = {one.id for one in connection.identity.projects(name=name)}
    if identifier.is_id(name):
        with contextlib.suppress(openstack.exceptions.NotFoundException):
            found.add(_shown(connection, name).id)
    return frozenset(found)


def _ids(
    connection: openstack.connection.Connection, name: str
) -> frozenset[str]:
    try:
        return ids(connection, name)
    except openstack_client.API_ERRORS as error:
        raise openstack_client.failure(
            error,
            f'Keystone did not look up project {name!r}: '
            f'{openstack_client.why(error)}; access: and default_for: in the '
            'tiers file require a user who may list projects, by default '
            'with the role admin or reader of the system',
        ) from error
