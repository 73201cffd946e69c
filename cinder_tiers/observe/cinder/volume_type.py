# SPDX-License-Identifier: Apache-2.0

"""Reads volume types from Cinder."""

import collections.abc
import dataclasses

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.cinder import scope as scopes


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
    return read_volume_types(connection, only=name, named=(name,)).get(name)


def read_volume_types(
    connection: openstack.connection.Connection,
    *,
    only: str | None = None,
    named: collections.abc.Container[str],
    access_of_all: bool = False,
) -> dict[str, cinder_state.VolumeType]:
    """{name: volume type} of all that exist.

    :param only: its name, to read no other.
    :param named: names of the volume types of the catalog.
    :param access_of_all: whether the projects of private types that are
        neither ours nor named are read, too.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    # Listed even for one: a look-up by name would take a name for an id.
    with openstack_client.asking_as_admin('list volume types'):
        found = {
            one.name: one
            for one in connection.block_storage.types(is_public='None')
            if only in (None, one.name)
        }
    types = {name: parse_volume_type(one) for name, one in found.items()}
    for name, volume_type in types.items():
        if not volume_type.is_public and (
            volume_type.is_ours or name in named or access_of_all
        ):
            with openstack_client.asking_as_admin(
                f'list the projects with access to volume type {name}'
            ):
                rows = connection.block_storage.get_type_access(found[name])
            types[name] = dataclasses.replace(
                volume_type,
                projects=frozenset(row['project_id'] for row in rows),
            )
    return types


def has_volumes(
    connection: openstack.connection.Connection, resource: object
) -> bool:
    """Whether a volume of any project has a volume type.

    :param resource: the type, of openstacksdk.
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
            },
        )
        return bool(answer.json()['volumes'])


def parse_volume_type(resource: object) -> cinder_state.VolumeType:
    """A volume type from the resource of openstacksdk, without projects."""
    return cinder_state.VolumeType(
        name=resource.name,
        description=resource.description or '',
        is_public=bool(resource.is_public),
        extra_specs=dict(resource.extra_specs or {}),
    )
