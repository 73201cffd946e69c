# SPDX-License-Identifier: Apache-2.0


"""Reads from Keystone which projects a catalog means. Writes nothing."""

import collections.abc
import re

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client

#: What an id of a project may look like; other text is not asked for as one.
_ID = re.compile('[0-9A-Za-z_-]{1,64}')


def observe(
    connection: openstack.connection.Connection,
    projects: collections.abc.Iterable[str],
) -> dict[str, frozenset[str]]:
    """The ids of projects, in at most two calls for each.

    :param connection: of a user who may list projects.
    :param projects: names or ids; Keystone is not asked when there are none.
    :returns: {name or id: ids of all projects that have it as their name or
        their id}.
    :raises errors.Unreachable: when Keystone does not answer, or refuses.
    """
    return {name: _ids(connection, name) for name in projects}


def names(
    connection: openstack.connection.Connection,
    ids: collections.abc.Iterable[str],
) -> dict[str, str | None]:
    """The names of projects, in one call for each.

    :param connection: of a user who may show projects.
    :param ids: of the projects; Keystone is not asked when there are none.
    :returns: {id: name, None when there is no such project}.
    :raises errors.Unreachable: when Keystone does not answer, or refuses.
    """
    found: dict[str, str | None] = {}
    for ident in ids:
        found[ident] = None
        if not _ID.fullmatch(ident):
            continue
        try:
            found[ident] = _shown(connection, ident).name
        except openstack.exceptions.NotFoundException:
            continue
        except openstack_client.API_ERRORS as error:
            raise openstack_client.failure(
                error,
                f'Keystone did not show project {ident}, which has access to '
                f'a volume type: {error}',
            ) from error
    return found


def _shown(
    connection: openstack.connection.Connection, ident: str
) -> openstack.identity.v3.project.Project:
    """A project.

    :raises openstack.exceptions.SDKException: Keystone refused, or something
        else answered; openstacksdk makes of a page a project without a name.
    """
    found = connection.identity.get_project(ident)
    if found.name is None:
        raise openstack.exceptions.SDKException(
            f'the answer about project {ident} is not one of Keystone; see '
            'the proxies before it'
        )
    return found


def _ids(
    connection: openstack.connection.Connection, name: str
) -> frozenset[str]:
    try:
        ids = {one.id for one in connection.identity.projects(name=name)}
        if _ID.fullmatch(name):
            try:
                ids.add(_shown(connection, name).id)
            except openstack.exceptions.NotFoundException:
                return frozenset(ids)
    except openstack_client.API_ERRORS as error:
        raise openstack_client.failure(
            error,
            f'Keystone did not look up project {name!r}: {error}; access: '
            'in the tiers file requires a user who may list projects',
        ) from error
    return frozenset(ids)
