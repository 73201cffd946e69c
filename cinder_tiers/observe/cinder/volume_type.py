# SPDX-License-Identifier: Apache-2.0

"""Reads volume types from Cinder."""

import collections
import collections.abc
import dataclasses

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
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
            connection, named=scope.named, access_of_all=scope.access_of_all
        )
    }


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.VolumeType | None:
    """A volume type; None when it does not exist."""
    with openstack_client.asking_as_admin(f'show volume type {name}'):
        found = volume_types.find(connection.block_storage, name)
        return found and _with_projects(connection, found)


def read_volume_types(
    connection: openstack.connection.Connection,
    *,
    named: collections.abc.Container[str],
    access_of_all: bool = False,
) -> dict[str, cinder_state.VolumeType]:
    """{name: volume type} of all that exist.

    :param named: names of the volume types of the catalog.
    :param access_of_all: whether the projects of private types that are
        neither ours nor named are read, too.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin('list volume types'):
        found = volume_types.list_all(connection.block_storage)
    types = {one.name: parse_volume_type(one) for one in found}
    for one in found:
        if types[one.name].is_ours or one.name in named or access_of_all:
            whole = _with_projects(connection, one)
            if whole is None:
                del types[one.name]
            else:
                types[one.name] = whole
    return types


def _with_projects(
    connection: openstack.connection.Connection,
    found: volume_types.VolumeType,
) -> cinder_state.VolumeType | None:
    """The type with its projects; None if it was deleted since."""
    parsed = parse_volume_type(found)
    if found.is_public:
        return parsed
    with openstack_client.asking_as_admin(
        f'list the projects with access to volume type {found.name}'
    ):
        try:
            rows = connection.block_storage.get_type_access(found.id)
        except openstack.exceptions.NotFoundException:
            return None
    return dataclasses.replace(
        parsed, projects=frozenset(row['project_id'] for row in rows)
    )


def count_volumes(
    connection: openstack.connection.Connection,
    resource: volume_types.VolumeType,
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
                'volume_type_id': resource.id,
                'limit': '1',
                'with_count': 'True',
            },
            microversion=_COUNT_MICROVERSION,
        )
        return answer.json()['count']


def use_by_project(
    connection: openstack.connection.Connection,
    resource: volume_types.VolumeType,
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
                'volume_type_id': resource.id,
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
