# SPDX-License-Identifier: Apache-2.0

"""Reads the encryption of volume types from Cinder."""

import collections.abc

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import side_by_side
from cinder_tiers.clients import volume_types
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.cinder import scope as scopes


def observe(
    connection: openstack.connection.Connection,
    scope: scopes.Scope,
    found: cinder_state.CinderState,
) -> dict[str, object]:
    """The encryptions of the types in question, in a call for each."""
    return {
        'encryptions': of_types(
            connection,
            {
                one.name: one.type_id
                for one in found.volume_types.values()
                if one.type_id and scope.encryption_of(one)
            },
        )
    }


def of_types(
    connection: openstack.connection.Connection,
    types: collections.abc.Mapping[str, str],
) -> dict[str, cinder_state.TypeEncryption]:
    """Read the encryptions of volume types, in a call for each.

    Cinder has no list of them (cinder/api/contrib/volume_type_encryption.py,
    29.0.0), and shows none with a type.

    :param types: {name: id}.
    :returns: {name: encryption} of those that have one.
    """
    read = side_by_side.each(
        lambda one: of_type(connection, *one),
        types.items(),
        at_once=side_by_side.API_AT_ONCE,
    )
    return {one.name: one for one in read if one}


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.TypeEncryption | None:
    """The encryption of a volume type; None when it has none."""
    with openstack_client.asking_as_admin(f'show volume type {name}'):
        found = volume_types.find(connection.block_storage, name)
    if found is None:
        return None
    return of_type(connection, name, found.id)


def of_type(
    connection: openstack.connection.Connection, name: str, type_id: str
) -> cinder_state.TypeEncryption | None:
    """The encryption of a volume type; None when it has none.

    :raises errors.NotVisible: Cinder refuses it to the user.
    """
    with openstack_client.asking_as_admin(
        f'show the encryption of volume type {name}'
    ):
        try:
            found = openstack_client.request(
                connection.block_storage,
                'GET',
                '/types/{}/encryption',
                type_id,
            ).json()
        except openstack.exceptions.NotFoundException:
            return None  # the type was deleted since
    if not found.get('encryption_id'):
        return None
    return cinder_state.TypeEncryption(
        name=name,
        provider=found['provider'],
        cipher=found.get('cipher'),
        key_size_bits=found.get('key_size'),
        control_location=found['control_location'],
    )
