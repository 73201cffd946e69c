# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Reads from Cinder what tiers are made of. Writes nothing.

Must not know where the connection came from.
"""

import collections.abc
import contextlib
import dataclasses

import keystoneauth1.exceptions
import openstack.connection
import openstack.exceptions

from cinder_tiers.domain import actions
from cinder_tiers.domain import errors
from cinder_tiers.domain import state

#: What openstacksdk raises when a service is absent or refuses.
API_ERRORS = (openstack.exceptions.SDKException,
              keystoneauth1.exceptions.ClientException)


def observe(connection: openstack.connection.Connection) -> state.CinderState:
    """All volume types, private ones included, QoS specs and quotas.

    One call for each page of types and of QoS specs, and one for each private
    type of ours, each QoS spec and the default quotas.

    :param connection: of an administrator; others do not see extra specs.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    types = _volume_types(connection)
    return state.CinderState(volume_types=types,
                             qos_specs=_qos_specs(connection),
                             quotas=_quotas(connection, types))


def read(connection: openstack.connection.Connection, key: actions.Key,
         ) -> state.VolumeType | state.QosSpec | state.TypeQuota | None:
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
    return _volume_types(connection, only=key.name).get(key.name)


@contextlib.contextmanager
def _asking(what: str) -> collections.abc.Iterator[None]:
    """Turns errors of the API into an expected failure."""
    try:
        yield
    except API_ERRORS as error:
        raise errors.Unreachable(
            f'Cinder did not {what}: {error}; the user must be an '
            f'administrator of block storage') from error


def _volume_types(connection: openstack.connection.Connection, *,
                  only: str | None = None) -> dict[str, state.VolumeType]:
    # Listed even for one: a look-up by name would take a name for an id.
    with _asking('list volume types'):
        found = {
            one.name: one
            for one in connection.block_storage.types(is_public='None')
            if only in (None, one.name)}
    types = {name: parse_volume_type(one) for name, one in found.items()}
    for name, volume_type in types.items():
        if volume_type.is_ours and not volume_type.is_public:
            with _asking(f'list who may use volume type {name}'):
                rows = connection.block_storage.get_type_access(found[name])
            types[name] = dataclasses.replace(
                volume_type,
                projects=frozenset(row['project_id'] for row in rows))
    return types


def parse_volume_type(resource: object) -> state.VolumeType:
    """A volume type from the resource of openstacksdk, without projects."""
    return state.VolumeType(
        name=resource.name, description=resource.description or '',
        is_public=bool(resource.is_public),
        extra_specs=dict(resource.extra_specs or {}))


def _qos_specs(connection: openstack.connection.Connection, *,
               only: str | None = None) -> dict[str, state.QosSpec]:
    block_storage = connection.block_storage
    with _asking('list QoS specs'):
        return {
            one.name: state.QosSpec(
                name=one.name, consumer=one.consumer or '',
                specs=dict(one.specs or {}), volume_types=frozenset(
                    row.name
                    for row in block_storage.qos_spec_associations(one)))
            for one in block_storage.qos_specs() if only in (None, one.name)}


def _quotas(connection: openstack.connection.Connection,
            types: collections.abc.Iterable[str],
            ) -> dict[str, state.TypeQuota]:
    with _asking('show the default quotas'):
        answer = connection.block_storage.get('/os-quota-class-sets/default')
        openstack.exceptions.raise_from_response(answer)
        found = answer.json()['quota_class_set']
    return {name: state.TypeQuota(name=name, **{
        field: found.get(f'{resource}_{name}', state.UNLIMITED)
        for field, resource in state.QUOTA_RESOURCES.items()})
        for name in types}
