# SPDX-License-Identifier: Apache-2.0

"""Reads the default quotas of volume types from Cinder."""

import collections.abc

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
    """The default quotas of the volume types that exist."""
    return {'quotas': read_quotas(connection, found.volume_types)}


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.TypeQuota:
    """The default quota of a volume type; unlimited if Cinder has none."""
    return read_quotas(connection, [name])[name]


def read_quotas(
    connection: openstack.connection.Connection,
    types: collections.abc.Iterable[str],
) -> dict[str, cinder_state.TypeQuota]:
    """{name of a volume type: its default quota}.

    :param types: names of the volume types.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin('show the default quotas'):
        found = openstack_client.request(
            connection.block_storage, 'GET', '/os-quota-class-sets/default'
        ).json()['quota_class_set']
    return {
        name: cinder_state.TypeQuota(
            name=name,
            **{
                field: found.get(f'{resource}_{name}', cinder_state.UNLIMITED)
                for field, resource in cinder_state.QUOTA_RESOURCES.items()
            },
        )
        for name in types
    }
