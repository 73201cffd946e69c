# SPDX-License-Identifier: Apache-2.0

"""Reads from Cinder what tiers are made of. Writes nothing.

Must not know where the connection came from.
"""

import collections
import collections.abc
import contextlib
import dataclasses

import keystoneauth1.exceptions
from openstack.block_storage.v3 import type as volume_type_resource
import openstack.connection
import openstack.exceptions
from openstack import resource as resources

from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession

#: What openstacksdk raises when a service is absent or refuses.
API_ERRORS = (
    openstack.exceptions.SDKException,
    keystoneauth1.exceptions.ClientException,
)
#: In place of an id that Cinder's policy withholds.
_HIDDEN = ''


def observe(
    connection: openstack.connection.Connection,
    *,
    named: collections.abc.Container[str] = (),
    access_of_all: bool = False,
) -> cinder_state.CinderState:
    """All volume types, private ones included, QoS specs and quotas.

    Two calls for each page of types, one for each page of QoS specs, and one
    for each private type that is ours or named and for the default quotas.

    :param connection: of an administrator; others do not see extra specs.
    :param named: names of the volume types of the catalog.
    :param access_of_all: whether the projects of private types that are
        neither ours nor named are read, too.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    types = _volume_types(connection, named=named, access_of_all=access_of_all)
    return cinder_state.CinderState(
        volume_types=types,
        qos_specs=_qos_specs(connection),
        quotas=_quotas(connection, types),
    )


def with_use(
    connection: openstack.connection.Connection,
    found: cinder_state.CinderState,
    names: collections.abc.Iterable[str],
) -> cinder_state.CinderState:
    """The same state, and of some volume types whether they have volumes.

    :param connection: of an administrator.
    :param found: what exists.
    :param names: of volume types in it; one call for each, and one for all.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    wanted, types = frozenset(names), dict(found.volume_types)
    if not wanted:
        return found
    with _asking('list volume types'):
        rows = list(connection.block_storage.types(is_public='None'))
    for one in rows:
        if one.name in wanted & types.keys():
            types[one.name] = dataclasses.replace(
                types[one.name], has_volumes=_has_volumes(connection, one)
            )
    return dataclasses.replace(found, volume_types=types)


def read(
    connection: openstack.connection.Connection,
    key: actions.Key,
) -> (
    cinder_state.VolumeType
    | cinder_state.QosSpec
    | cinder_state.TypeQuota
    | None
):
    """One object as it is in effect.

    :param connection: of an administrator.
    :param key: names it.
    :returns: None when it does not exist.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    if key.kind is actions.Kind.QOS_SPEC:
        return _qos_specs(connection, only=key.name).get(key.name)
    if key.kind is actions.Kind.TYPE_QUOTA:
        return _quotas(connection, [key.name])[key.name]
    return _volume_types(connection, only=key.name, named=(key.name,)).get(
        key.name
    )


@contextlib.contextmanager
def _asking(what: str) -> collections.abc.Iterator[None]:
    """Turns errors of the API into an expected failure."""
    try:
        yield
    except API_ERRORS as error:
        raise errors.Unreachable(
            f'Cinder did not {what}: {error}; the user must be an '
            f'administrator of block storage'
        ) from error


def _volume_types(
    connection: openstack.connection.Connection,
    *,
    only: str | None = None,
    named: collections.abc.Container[str],
    access_of_all: bool = False,
) -> dict[str, cinder_state.VolumeType]:
    # Listed even for one: a look-up by name would take a name for an id.
    with _asking('list volume types'):
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
            with _asking(f'list who may use volume type {name}'):
                rows = connection.block_storage.get_type_access(found[name])
            types[name] = dataclasses.replace(
                volume_type,
                projects=frozenset(row['project_id'] for row in rows),
            )
    return types


def _has_volumes(
    connection: openstack.connection.Connection, resource: object
) -> bool:
    with _asking(f'list volumes of volume type {resource.name}'):
        answer = connection.block_storage.get(
            '/volumes',
            params={
                'all_tenants': 'True',
                'volume_type_id': resource.id,
                'limit': '1',
            },
        )
        openstack.exceptions.raise_from_response(answer)
        return bool(answer.json()['volumes'])


def parse_volume_type(resource: object) -> cinder_state.VolumeType:
    """A volume type from the resource of openstacksdk, without projects."""
    return cinder_state.VolumeType(
        name=resource.name,
        description=resource.description or '',
        is_public=bool(resource.is_public),
        extra_specs=dict(resource.extra_specs or {}),
    )


class _TypeWithQos(volume_type_resource.Type):
    """A volume type with what openstacksdk leaves out of it."""

    #: None: it has no QoS spec.
    qos_specs_id = resources.Body('qos_specs_id', default=_HIDDEN)


def _qos_specs(
    connection: openstack.connection.Connection, *, only: str | None = None
) -> dict[str, cinder_state.QosSpec]:
    having: dict[str, set[str]] = collections.defaultdict(set)
    with _asking('list QoS specs'):
        specs = list(connection.block_storage.qos_specs())
        # One list of types, in place of a call for each QoS spec.
        for one in _TypeWithQos.list(
            connection.block_storage, is_public='None'
        ):
            # The others have it because the type of a tier had or has it.
            if type_succession.owner_of(one.name) == one.name:
                having[one.qos_specs_id].add(one.name)
    if _HIDDEN in having:
        raise errors.Unreachable(
            'Cinder does not show which QoS spec a volume type has; its '
            'policy volume_extension:access_types_qos_specs_id must allow it'
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


def _quotas(
    connection: openstack.connection.Connection,
    types: collections.abc.Iterable[str],
) -> dict[str, cinder_state.TypeQuota]:
    with _asking('show the default quotas'):
        answer = connection.block_storage.get('/os-quota-class-sets/default')
        openstack.exceptions.raise_from_response(answer)
        found = answer.json()['quota_class_set']
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
