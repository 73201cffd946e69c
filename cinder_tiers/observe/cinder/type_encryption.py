# SPDX-License-Identifier: Apache-2.0

"""Reads the encryption of volume types from Cinder."""

import functools

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import side_by_side
from cinder_tiers.clients import volume_types
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import volume_type as observed_types


def observe(
    connection: openstack.connection.Connection,
    scope: scopes.Scope,
    found: cinder_state.CinderState,
) -> dict[str, object]:
    """The encryptions of the types in question, in a call for each.

    Cinder has no list of them (cinder/api/contrib/volume_type_encryption.py,
    29.0.0), and shows none with a type.
    """
    read = side_by_side.each(
        functools.partial(_read, connection),
        filter(scope.encryption_of, found.volume_types.values()),
        at_once=side_by_side.API_AT_ONCE,
    )
    return {'encryptions': {one.name: one for one in read if one}}


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.TypeEncryption | None:
    """The encryption of a volume type; None when it has none."""
    with openstack_client.asking_as_admin(f'show volume type {name}'):
        found = volume_types.find(connection.block_storage, name)
    if found is None:
        return None
    return _read(connection, observed_types.parse_volume_type(found))


def _read(
    connection: openstack.connection.Connection,
    volume_type: cinder_state.VolumeType,
) -> cinder_state.TypeEncryption | None:
    with openstack_client.asking_as_admin(
        f'show the encryption of volume type {volume_type.name}'
    ):
        try:
            found = openstack_client.request(
                connection.block_storage,
                'GET',
                '/types/{}/encryption',
                volume_type.type_id,
            ).json()
        except openstack.exceptions.NotFoundException:
            return None  # the type was deleted since
    if not found.get('encryption_id'):
        return None
    return cinder_state.TypeEncryption(
        name=volume_type.name,
        provider=found['provider'],
        cipher=found.get('cipher'),
        key_size_bits=found.get('key_size'),
        control_location=found['control_location'],
    )
