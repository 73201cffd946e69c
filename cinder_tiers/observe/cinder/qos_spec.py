# SPDX-License-Identifier: Apache-2.0

"""Reads QoS specs from Cinder, and which volume types have them."""

import collections
import collections.abc

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import qos_specs
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession
from cinder_tiers.observe.cinder import scope as scopes


def observe(
    connection: openstack.connection.Connection,
    scope: scopes.Scope,
    found: cinder_state.CinderState,
) -> dict[str, object]:
    """The QoS specs, those of others included."""
    return {'qos_specs': read_qos_specs(connection)}


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.QosSpec | None:
    """A QoS spec; None when it does not exist."""
    with openstack_client.asking_as_admin(f'show QoS spec {name}'):
        found = qos_specs.find(connection.block_storage, name)
        if found is None:
            return None
        return _state_of(
            found,
            {
                row.name
                for row in connection.block_storage.qos_spec_associations(
                    found.id
                )
            },
        )


def read_qos_specs(
    connection: openstack.connection.Connection,
) -> dict[str, cinder_state.QosSpec]:
    """{name: QoS spec} of all that exist.

    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    having: dict[str | None, set[str]] = collections.defaultdict(set)
    with openstack_client.asking_as_admin('list QoS specs'):
        specs = qos_specs.list_all(connection.block_storage)
        # One list of types, in place of a call for each QoS spec.
        types = volume_types.list_all(connection.block_storage)
    if not all(one.shows_qos_specs for one in types):
        raise errors.NotVisible(
            'Cinder does not show which QoS spec a volume type has; the '
            'policy volume_extension:access_types_qos_specs_id must '
            'allow it'
        )
    for one in types:
        having[one.qos_specs_id].add(one.name)
    return {one.name: _state_of(one, having[one.id]) for one in specs}


def _state_of(
    found: qos_specs.QosSpec, having: collections.abc.Iterable[str]
) -> cinder_state.QosSpec:
    """A QoS spec with its volume types.

    :param having: names of the volume types that have it.
    """
    return cinder_state.QosSpec(
        name=found.name,
        consumer=found.consumer,
        specs=dict(found.specs),
        # The others have it because the type of a tier had or has it.
        volume_types=frozenset(
            name for name in having if type_succession.owner_of(name) == name
        ),
    )
