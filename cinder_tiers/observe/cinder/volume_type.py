# SPDX-License-Identifier: Apache-2.0

"""Reads volume types from Cinder."""

import collections
import collections.abc
import dataclasses
import typing

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import side_by_side
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.cinder import scope as scopes

#: Of Cinder's API: the first that counts what it lists.
_COUNT_MICROVERSION = '3.45'
_PAGE = 1000
#: (field of a row with the project, policy that shows it)
_PROJECT_OF_VOLUME = (
    'os-vol-tenant-attr:tenant_id',
    'volume_extension:volume_tenant_attribute',
)
_PROJECT_OF_SNAPSHOT = (
    'os-extended-snapshot-attributes:project_id',
    'volume_extension:extended_snapshot_attributes',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Use:
    """Use of a volume type by projects; each field is {project id: number}.

    Counted like Cinder counts it for the quotas of the type.
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
            connection, named=scope.named, access_of=scope.access_of
        )
    }


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.VolumeType | None:
    """A volume type; None when it does not exist."""
    with openstack_client.asking_as_admin(f'show volume type {name}'):
        found = volume_types.find(connection.block_storage, name)
        if found is None:
            return None
        return _with_projects(connection, parse_volume_type(found))


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
            rows = connection.block_storage.get_type_access(
                openstack_client.checked_id(found.type_id)
            )
        except openstack.exceptions.NotFoundException:
            return None
    return dataclasses.replace(
        found, projects=frozenset(row['project_id'] for row in rows)
    )


def count_volumes(
    connection: openstack.connection.Connection,
    resource: cinder_state.VolumeType,
) -> int:
    """Count the volumes of all projects with a volume type.

    :raises errors.Unreachable: Cinder does not answer, or refuses.
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
    resources: collections.abc.Iterable[cinder_state.VolumeType],
    *,
    snapshots_of: collections.abc.Container[str] = (),
) -> dict[str, Use]:
    """Read each project's use of some volume types.

    The list of snapshots does not report their types: the snapshots of the
    whole cloud are read, once for all types.

    :param snapshots_of: names of the types whose snapshots are counted.
    :returns: {name of a type: its use}.
    :raises errors.Unreachable: Cinder does not answer, or refuses.
    :raises errors.NotVisible: Cinder does not show the projects.
    """
    volumes = dict(
        side_by_side.each(
            lambda one: (one.name, _volumes(connection, one)),
            resources,
            at_once=side_by_side.API_AT_ONCE,
        )
    )
    type_of = {
        row.volume_id: name
        for name, rows in volumes.items()
        if name in snapshots_of
        for row in rows
    }
    snapshots: dict[str, list[_VolumeRow]] = {name: [] for name in volumes}
    if type_of:
        with openstack_client.asking_as_admin('list snapshots'):
            for row in _rows(
                connection,
                '/snapshots/detail',
                'volume_id',
                _PROJECT_OF_SNAPSHOT,
            ):
                if row.volume_id in type_of:
                    snapshots[type_of[row.volume_id]].append(row)
    return {
        name: Use(
            volumes=collections.Counter(row.project for row in rows),
            snapshots=collections.Counter(
                row.project for row in snapshots[name]
            ),
            gib=_gib_of((*rows, *snapshots[name])),
        )
        for name, rows in volumes.items()
    }


def _gib_of(rows: collections.abc.Iterable['_VolumeRow']) -> dict[str, int]:
    found: collections.Counter[str] = collections.Counter()
    for row in rows:
        found[row.project] += row.size_gib
    return dict(found)


class _VolumeRow(typing.NamedTuple):
    """Columns of a volume, or of a snapshot of one, that are counted."""

    volume_id: str
    project: str
    size_gib: int


def _volumes(
    connection: openstack.connection.Connection,
    resource: cinder_state.VolumeType,
) -> list[_VolumeRow]:
    if resource.type_id is None:
        # Without one, Cinder would list all volumes.
        raise ValueError(f'volume type {resource.name} has no id')
    with openstack_client.asking_as_admin(
        f'list volumes of volume type {resource.name}'
    ):
        return list(
            _rows(
                connection,
                '/volumes/detail',
                'id',
                _PROJECT_OF_VOLUME,
                volume_type_id=resource.type_id,
            )
        )


def _rows(
    connection: openstack.connection.Connection,
    path: str,
    volume_id: str,
    project: tuple[str, str],
    **params: str,
) -> collections.abc.Iterator[_VolumeRow]:
    """Yield the volumes, or snapshots, of all projects.

    :param volume_id: name of the field with the id of the volume.
    :param project: name of the field with the project, and the policy that
        shows it.
    :raises errors.NotVisible: Cinder does not show that field.
    """
    what = path.split('/')[1]
    field, policy = project
    for row in openstack_client.rows(
        connection.block_storage,
        path,
        key=what,
        links=f'{what}_links',
        params={'all_tenants': 'True', **params, 'limit': _PAGE},
    ):
        if field not in row:
            raise errors.NotVisible(
                f'Cinder does not show the projects of {what}: the policy '
                f'{policy} must permit it'
            )
        yield _VolumeRow(row[volume_id], row[field], row['size'])


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
