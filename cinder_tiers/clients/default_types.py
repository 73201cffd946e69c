# SPDX-License-Identifier: Apache-2.0

"""Default volume types of projects, in the words of Cinder's API.

openstacksdk asks with 3.67 and not at all where Cinder has only 3.62, which
is the first version with these calls (cinder/api/v3/default_types.py).
"""

import typing

import openstack.block_storage.v3._proxy

from cinder_tiers.clients import openstack as openstack_client

BlockStorage: typing.TypeAlias = openstack.block_storage.v3._proxy.Proxy

_MICROVERSION = '3.62'


def list_all(block_storage: BlockStorage) -> dict[str, str]:
    """{id of a project: id of its default type}, in one call.

    :raises openstack.exceptions.SDKException: Cinder refused it.
    """
    answer = openstack_client.request(
        block_storage, 'GET', '/default-types', microversion=_MICROVERSION
    )
    return {
        openstack_client.text(one['project_id']): openstack_client.text(
            one['volume_type_id']
        )
        for one in answer.json()['default_types']
    }


def set_type(block_storage: BlockStorage, project: str, type_id: str) -> None:
    """Makes a volume type the default type of a project.

    :param project: its id.
    :raises openstack.exceptions.SDKException: Cinder refused it.
    """
    openstack_client.request(
        block_storage,
        'PUT',
        '/default-types/{}',
        project,
        json={
            'default_type': {
                'volume_type': openstack_client.checked_id(type_id)
            }
        },
        microversion=_MICROVERSION,
    )


def unset(block_storage: BlockStorage, project: str) -> None:
    """Leaves a project without a default type of its own.

    :param project: its id; it need not exist any more.
    :raises openstack.exceptions.SDKException: Cinder refused it.
    """
    openstack_client.request(
        block_storage,
        'DELETE',
        '/default-types/{}',
        project,
        microversion=_MICROVERSION,
    )
