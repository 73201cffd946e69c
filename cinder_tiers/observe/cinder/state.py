# SPDX-License-Identifier: Apache-2.0

"""Reads from Cinder what tiers are made of. Writes nothing.

Must not know where the connection came from, nor any kind of resource.
"""

import collections.abc
import dataclasses
import typing

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import side_by_side
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import volume_type as observed_types
from cinder_tiers.observe import field_types
from cinder_tiers.observe import registry

#: Fields of the state that are compared with numbers; Cinder's database may
#: have nothing where others have a text.
_OF_NUMBERS = frozenset({'quotas', 'encryptions'})


def observe(
    connection: openstack.connection.Connection,
    scope: scopes.Scope,
) -> cinder_state.CinderState:
    """Read all volume types, including private ones, QoS specs and quotas.

    Makes two calls for each page of types, one for each page of QoS specs, one
    for the default quotas, and one for the default types of projects where
    they matter; and, several at a time, one for each private type that is
    ours, named or chosen, and for each encryption in the scope.

    :param connection: connection of an administrator; others do not see extra
        specs.
    :param scope: details to read in addition to the volume types.
    :raises errors.Unreachable: Cinder does not answer, or refuses.
    """
    found = cinder_state.CinderState(volume_types={})
    for kind, one in registry.CINDER.items():
        with openstack_client.asking_as_admin(f'show each {kind.value}'):
            fields: dict[str, typing.Any] = one.observe(
                connection, scope, found
            )
            for name in _OF_NUMBERS & fields.keys():
                field_types.check(fields[name])
        found = dataclasses.replace(found, **fields)
    return found


def with_use(
    connection: openstack.connection.Connection,
    found: cinder_state.CinderState,
    names: collections.abc.Iterable[str],
    *,
    by_project: bool = False,
    snapshots_of: collections.abc.Container[str] = (),
) -> cinder_state.CinderState:
    """Return the state with the number of volumes of some volume types.

    :param found: the state without these numbers.
    :param names: names of volume types in it; one call for each, several at a
        time.
    :param by_project: whether to count the volumes of each project as well.
    :param snapshots_of: names of types whose snapshots are counted for each
        project; this reads all snapshots of the cloud.
    :raises errors.Unreachable: Cinder does not answer, or refuses.
    """
    wanted = frozenset(names)

    def counted(one: cinder_state.VolumeType) -> cinder_state.VolumeType:
        return dataclasses.replace(
            one, volumes=observed_types.count_volumes(connection, one)
        )

    types = {
        one.name: one
        for one in side_by_side.each(
            counted,
            (
                one
                for one in found.volume_types.values()
                if one.name in wanted and one.type_id
            ),
            at_once=side_by_side.API_AT_ONCE,
        )
    }
    if by_project:
        use = observed_types.use_by_project(
            connection,
            [one for one in types.values() if one.volumes],
            snapshots_of=snapshots_of,
        )
        for name, one in use.items():
            types[name] = dataclasses.replace(
                types[name],
                volumes_of=one.volumes,
                gib_of=one.gib,
                snapshots_of=one.snapshots,
            )
    return dataclasses.replace(
        found, volume_types={**found.volume_types, **types}
    )


def read(
    connection: openstack.connection.Connection, key: actions.Key
) -> actions.Resource | None:
    """Read one object as it is in effect.

    :param key: key of the object.
    :returns: None if it does not exist.
    :raises errors.Unreachable: Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin(f'show {key}'):
        return registry.CINDER[key.kind].read(connection, key.name)
