# SPDX-License-Identifier: Apache-2.0

"""Reads volume types from Cinder."""

import collections
import collections.abc
import dataclasses

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import side_by_side
from cinder_tiers.clients import volume_types
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.cinder import scope as scopes

#: Of Cinder's API: the first that counts what it lists.
_COUNT_MICROVERSION = '3.45'
_PAGE = 1000
_PROJECT = 'os-vol-tenant-attr:tenant_id'


def observe(
    connection: openstack.connection.Connection,
    scope: scopes.Scope,
    found: cinder_state.CinderState,
) -> dict[str, object]:
    """The volume types, private ones included."""
    return {
        'volume_types': read_volume_types(
            connection, named=scope.named, access_of=scope.access_of
        )
    }


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.VolumeType | None:
    """A volume type; None when it does not exist."""
    with openstack_client.asking_as_admin(f'show volume type {name}'):
        found = volume_types.find(connection.block_storage, name)
        return found and _with_projects(connection, parse_volume_type(found))


def read_volume_types(
    connection: openstack.connection.Connection,
    *,
    named: collections.abc.Container[str],
    access_of: scopes.Choice,
) -> dict[str, cinder_state.VolumeType]:
    """{name: volume type} of all that exist.

    :param named: names of the volume types of the catalog.
    :param access_of: chooses types that are neither ours nor named of which
        the projects are read, too, if they are private.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin('list volume types'):
        found = volume_types.list_all(connection.block_storage)
    types = {one.name: parse_volume_type(one) for one in found}
    asked = {
        one.name
        for one in types.values()
        if one.is_ours or one.name in named or access_of(one)
    }
    return {
        one.name: one
        for one in side_by_side.each(
            lambda one: (
                _with_projects(connection, one)
                if one.name in asked and not one.is_public
                else one
            ),
            types.values(),
            at_once=side_by_side.API_AT_ONCE,
        )
        if one is not None
    }


def _with_projects(
    connection: openstack.connection.Connection,
    found: cinder_state.VolumeType,
) -> cinder_state.VolumeType | None:
    """The type with its projects; None if it was deleted since."""
    if found.is_public:
        return found
    with openstack_client.asking_as_admin(
        f'list the projects with access to volume type {found.name}'
    ):
        try:
            rows = connection.block_storage.get_type_access(found.type_id)
        except openstack.exceptions.NotFoundException:
            return None
    return dataclasses.replace(
        found, projects=frozenset(row['project_id'] for row in rows)
    )


def count_volumes(
    connection: openstack.connection.Connection,
    resource: cinder_state.VolumeType,
) -> int:
    """How many volumes of all projects have a volume type.

    :param resource: the type.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin(
        f'list volumes of volume type {resource.name}'
    ):
        answer = openstack_client.request(
            connection.block_storage,
            'GET',
            '/volumes',
            params={
                'all_tenants': 'True',
                'volume_type_id': resource.type_id,
                'limit': '1',
                'with_count': 'True',
            },
            microversion=_COUNT_MICROVERSION,
        )
        return answer.json()['count']


def use_by_project(
    connection: openstack.connection.Connection,
    resource: cinder_state.VolumeType,
) -> tuple[dict[str, int], dict[str, int]]:
    """What each project has of a volume type: volumes, and their GiB.

    :param resource: the type.
    :returns: twice {id of a project: how many}.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin(
        f'list volumes of volume type {resource.name}'
    ):
        rows = openstack_client.rows(
            connection.block_storage,
            '/volumes/detail',
            key='volumes',
            links='volumes_links',
            params={
                'all_tenants': 'True',
                'volume_type_id': resource.type_id,
                'limit': _PAGE,
            },
        )
        volumes: collections.Counter[str] = collections.Counter()
        gib: collections.Counter[str] = collections.Counter()
        for row in rows:
            if row.get(_PROJECT):
                volumes[row[_PROJECT]] += 1
                gib[row[_PROJECT]] += row.get('size') or 0
        return dict(volumes), dict(gib)


def parse_volume_type(
    found: volume_types.VolumeType,
) -> cinder_state.VolumeType:
    """A volume type, without projects."""
    return cinder_state.VolumeType(
        name=found.name,
        description=found.description,
        is_public=found.is_public,
        extra_specs=dict(found.extra_specs),
        type_id=found.id,
    )
