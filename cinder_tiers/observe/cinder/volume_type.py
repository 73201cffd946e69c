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
_PROJECT_OF_SNAPSHOT = 'os-extended-snapshot-attributes:project_id'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Use:
    """What projects have of a volume type, each {id of a project: how many}.

    As Cinder counts it for the quotas of the type.
    """

    volumes: collections.abc.Mapping[str, int]
    #: Of volumes and snapshots together.
    gib: collections.abc.Mapping[str, int]
    snapshots: collections.abc.Mapping[str, int]


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
    resources: collections.abc.Iterable[volume_types.VolumeType],
) -> dict[str, Use]:
    """What each project has of some volume types.

    The list of snapshots does not tell their types: all of the cloud are read,
    once for all the types.

    :param resources: the types.
    :returns: {name of a type: its use}.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    type_of: dict[str, str] = {}
    volumes: dict[str, collections.Counter[str]] = {}
    gib: dict[str, collections.Counter[str]] = {}
    for one in resources:
        volumes[one.name] = collections.Counter()
        gib[one.name] = collections.Counter()
        with openstack_client.asking_as_admin(
            f'list volumes of volume type {one.name}'
        ):
            for row in _rows(connection, 'volumes', volume_type_id=one.id):
                type_of[row['id']] = one.name
                if row.get(_PROJECT):
                    volumes[one.name][row[_PROJECT]] += 1
                    gib[one.name][row[_PROJECT]] += row.get('size') or 0
    snapshots: dict[str, collections.Counter[str]] = {
        name: collections.Counter() for name in volumes
    }
    if type_of:
        with openstack_client.asking_as_admin('list snapshots'):
            for row in _rows(connection, 'snapshots'):
                name = type_of.get(row['volume_id'])
                if name is not None and row.get(_PROJECT_OF_SNAPSHOT):
                    project = row[_PROJECT_OF_SNAPSHOT]
                    snapshots[name][project] += 1
                    gib[name][project] += row.get('size') or 0
    return {
        name: Use(
            volumes=dict(volumes[name]),
            gib=dict(gib[name]),
            snapshots=dict(snapshots[name]),
        )
        for name in volumes
    }


def _rows(
    connection: openstack.connection.Connection, what: str, **params: str
) -> collections.abc.Iterator[dict]:
    """All volumes, or snapshots, of all projects."""
    return openstack_client.rows(
        connection.block_storage,
        f'/{what}/detail',
        key=what,
        links=f'{what}_links',
        params={'all_tenants': 'True', **params, 'limit': _PAGE},
    )


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
