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
    """All volume types, private ones included, QoS specs and quotas.

    Two calls for each page of types, one for each page of QoS specs, and one
    for the default quotas, and for the default types of projects where they
    matter. Several at a time, one for each private type that is ours, named
    or chosen, and for each encryption that is asked for.

    :param connection: of an administrator; others do not see extra specs.
    :param scope: what is read of volume types beside the types themselves.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
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
    """The same state, and of some volume types how many volumes have them.

    :param found: what exists.
    :param names: of volume types in it; one call for each, several at a time.
    :param by_project: whether those of each project are counted as well.
    :param snapshots_of: names of types of which the snapshots of each project
        are counted, too; all snapshots of the cloud are read for that.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
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
    """One object as it is in effect.

    :param key: names it.
    :returns: None when it does not exist.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin(f'show {key}'):
        return registry.CINDER[key.kind].read(connection, key.name)
