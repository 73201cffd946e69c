# SPDX-License-Identifier: Apache-2.0

"""Reads from Cinder what tiers are made of. Writes nothing.

Must not know where the connection came from, nor any kind of resource.
"""

import collections.abc
import dataclasses

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import volume_types
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
    for each private type that is ours or named, for the default quotas, for
    each encryption that is asked for, and for the default types of projects
    where they matter.

    :param connection: of an administrator; others do not see extra specs.
    :param scope: what is read of volume types beside the types themselves.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    found = cinder_state.CinderState(volume_types={})
    for kind, one in registry.CINDER.items():
        with openstack_client.asking_as_admin(f'show each {kind.value}'):
            fields = one.observe(connection, scope, found)
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
) -> cinder_state.CinderState:
    """The same state, and of some volume types how many volumes have them.

    :param connection: of an administrator.
    :param found: what exists.
    :param names: of volume types in it; one call for each, and one for all.
    :param by_project: whether what each project has, its snapshots included,
        is counted as well.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    wanted, types = frozenset(names), dict(found.volume_types)
    if not wanted:
        return found
    with openstack_client.asking_as_admin('list volume types'):
        rows = volume_types.list_all(connection.block_storage)
    rows = [one for one in rows if one.name in wanted & types.keys()]
    for one in rows:
        types[one.name] = dataclasses.replace(
            types[one.name],
            volumes=observed_types.count_volumes(connection, one),
        )
    if by_project:
        used = [one for one in rows if types[one.name].volumes]
        use = observed_types.use_by_project(connection, used)
        for name, found_use in use.items():
            types[name] = dataclasses.replace(
                types[name],
                volumes_of=found_use.volumes,
                gib_of=found_use.gib,
                snapshots_of=found_use.snapshots,
            )
    return dataclasses.replace(found, volume_types=types)


def read(
    connection: openstack.connection.Connection, key: actions.Key
) -> actions.Resource | None:
    """One object as it is in effect.

    :param connection: of an administrator.
    :param key: names it.
    :returns: None when it does not exist.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    with openstack_client.asking_as_admin(f'show {key}'):
        return registry.CINDER[key.kind].read(connection, key.name)
