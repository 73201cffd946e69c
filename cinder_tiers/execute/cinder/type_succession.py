# SPDX-License-Identifier: Apache-2.0

"""A new volume type takes the place of one that has volumes.

See `type_succession` for why. Each step may be repeated, so that what was
cut off is gone on with; until the last two, renames, nothing is different
for users. Who may use the retired type is up to the caller.
"""

import typing

import openstack.block_storage.v3._proxy
import openstack.exceptions

from cinder_tiers.clients import default_types
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import volume_types
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession

BlockStorage: typing.TypeAlias = openstack.block_storage.v3._proxy.Proxy
Type = volume_types.VolumeType

_ENCRYPTION = ('provider', 'control_location', 'cipher', 'key_size')
_QUOTAS = '/os-quota-class-sets/default'


def complete(
    block_storage: BlockStorage, *, old: Type, standby: Type, done: list[str]
) -> None:
    """Gives a type the encryption, QoS spec and default quotas of another.

    Quotas that single projects have of the type stay with the old one, as
    Cinder lists them for one project at a time only.

    :param old: the type that has volumes.
    :param standby: the new type, under its standby name.
    :param done: gets the name of each change that was made.
    """
    _copy_encryption(block_storage, old, standby, done)
    _copy_qos(block_storage, old, standby, done)
    _copy_quotas(block_storage, old, standby, done)


def hand_over(
    block_storage: BlockStorage, *, old: Type, standby: Type, done: list[str]
) -> None:
    """Gives a type the place of another one, which is retired.

    And the projects of which the other is the default type: the new one is
    complete, and open to all that may use the tier.

    :param old: the type that has volumes.
    :param standby: the new type, under its standby name.
    :param done: gets the name of each change that was made.
    """
    for project, type_id in default_types.list_all(block_storage).items():
        if type_id == old.id:
            default_types.set_type(block_storage, project, standby.id)
            done.append(f'default type of project {project}')
    retired = type_succession.retired_name(old.name, old.id)
    name = old.name
    block_storage.update_type(old.id, name=retired)
    done.append(f'name of the old type, now {retired}')
    block_storage.update_type(standby.id, name=name)
    done.append('name of the new type')


def _copy_encryption(
    block_storage: BlockStorage, old: Type, standby: Type, done: list[str]
) -> None:
    had, has = (
        openstack_client.request(
            block_storage, 'GET', '/types/{}/encryption', one.id
        ).json()
        for one in (old, standby)
    )
    if had.get('provider') and not has.get('provider'):
        block_storage.create_type_encryption(
            standby.id,
            **{
                name: had[name]
                for name in _ENCRYPTION
                if had.get(name) is not None
            },
        )
        done.append('encryption of the new type')


def _copy_qos(
    block_storage: BlockStorage, old: Type, standby: Type, done: list[str]
) -> None:
    # openstacksdk's resource of a type does not have it.
    spec = (
        openstack_client.request(block_storage, 'GET', '/types/{}', old.id)
        .json()['volume_type']
        .get('qos_specs_id')
    )
    if spec:
        openstack_client.request(
            block_storage,
            'GET',
            '/qos-specs/{}/associate',
            spec,
            params={'vol_type_id': standby.id},
        )
        done.append('QoS spec of the new type')


def _copy_quotas(
    block_storage: BlockStorage, old: Type, standby: Type, done: list[str]
) -> None:
    found = openstack_client.request(block_storage, 'GET', _QUOTAS).json()[
        'quota_class_set'
    ]
    copied = {
        f'{resource}_{standby.name}': found[f'{resource}_{old.name}']
        for resource in cinder_state.QUOTA_RESOURCES.values()
        if found.get(f'{resource}_{old.name}', cinder_state.UNLIMITED)
        != found.get(f'{resource}_{standby.name}', cinder_state.UNLIMITED)
    }
    if copied:
        openstack_client.request(
            block_storage, 'PUT', _QUOTAS, json={'quota_class_set': copied}
        )
        done.append('default quotas of the new type')
