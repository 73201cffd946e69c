# SPDX-License-Identifier: Apache-2.0

"""Reads QoS specs from Cinder, and which volume types have them."""

import collections
import collections.abc

from openstack.block_storage.v3 import type as volume_type_resource
import openstack.connection
import openstack.exceptions
from openstack import resource as resources

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession
from cinder_tiers.observe.cinder import scope as scopes

#: In place of an id that Cinder's policy withholds.
_HIDDEN = ''


class _TypeWithQos(volume_type_resource.Type):
    """A volume type with what openstacksdk leaves out of it."""

    #: None: it has no QoS spec.
    qos_specs_id = resources.Body('qos_specs_id', default=_HIDDEN)


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
    return read_qos_specs(connection, only=name).get(name)


def read_qos_specs(
    connection: openstack.connection.Connection, *, only: str | None = None
) -> dict[str, cinder_state.QosSpec]:
    """{name: QoS spec} of all that exist.

    :param only: its name, to read no other.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    having: dict[str, set[str]] = collections.defaultdict(set)
    with openstack_client.asking_as_admin('list QoS specs'):
        specs = list(connection.block_storage.qos_specs())
        # One list of types, in place of a call for each QoS spec.
        for one in _TypeWithQos.list(
            connection.block_storage, is_public='None'
        ):
            # The others have it because the type of a tier had or has it.
            if type_succession.owner_of(one.name) == one.name:
                having[one.qos_specs_id].add(one.name)
    if _HIDDEN in having:
        raise errors.NotVisible(
            'Cinder does not show which QoS spec a volume type has; the '
            'policy volume_extension:access_types_qos_specs_id must '
            'allow it'
        )
    return {
        one.name: cinder_state.QosSpec(
            name=one.name,
            consumer=one.consumer or '',
            specs=dict(one.specs or {}),
            volume_types=frozenset(having[one.id]),
        )
        for one in specs
        if only in (None, one.name)
    }
