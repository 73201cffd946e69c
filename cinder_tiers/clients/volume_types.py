# SPDX-License-Identifier: Apache-2.0

"""Volume types of Cinder: all of them, page by page, or one of a name.

openstacksdk follows pages by a link that Cinder spells otherwise
(`volume_type_links`, cinder/api/v3/views/types.py), and so lists the first
1,000 only (osapi_max_limit).
"""

import collections.abc
import dataclasses
import types
import typing

import openstack.block_storage.v3._proxy

from cinder_tiers.clients import by_name
from cinder_tiers.clients import openstack as openstack_client

BlockStorage: typing.TypeAlias = openstack.block_storage.v3._proxy.Proxy


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumeType:
    """A volume type as Cinder shows it."""

    id: str
    name: str
    description: str
    is_public: bool
    #: Empty, too, when Cinder's policy withholds them.
    extra_specs: collections.abc.Mapping[str, str]
    #: None: it has no QoS spec.
    qos_specs_id: str | None
    #: Whether Cinder's policy shows `qos_specs_id`.
    shows_qos_specs: bool


def list_all(
    block_storage: BlockStorage, *, is_public: str = 'None'
) -> list[VolumeType]:
    """List volume types, in one call per page.

    :param is_public: 'None': all; 'False': only private ones; 'True': only
        public ones. Only an administrator may choose.
    :raises openstack.exceptions.SDKException: Cinder refused the request.
    """
    found = [
        _parse(one)
        for one in openstack_client.rows(
            block_storage,
            '/types',
            key='volume_types',
            links='volume_type_links',
            params={'is_public': is_public},
        )
    ]
    if is_public == 'None':
        _BY_NAME.remember(block_storage, found)
    return found


def find(
    block_storage: BlockStorage, name: str, *, is_sure: bool = False
) -> VolumeType | None:
    """Find a volume type by its name; None if it does not exist.

    :param is_sure: whether to list all types for an unknown name, even if they
        were listed a moment ago.
    :raises openstack.exceptions.SDKException: Cinder refused the request.
    """
    return _BY_NAME.find(block_storage, name, is_sure=is_sure)


def create(block_storage: BlockStorage, **attributes: object) -> VolumeType:
    """Creates a volume type, as openstacksdk does.

    :param attributes: name, is_public, description and extra_specs.
    :raises openstack.exceptions.SDKException: Cinder refused it.
    """
    made = block_storage.create_type(**attributes)
    _BY_NAME.add(block_storage, made.name, made.id)
    return VolumeType(
        id=openstack_client.checked_id(made.id),
        name=made.name,
        description=made.description or '',
        is_public=bool(made.is_public),
        extra_specs=types.MappingProxyType(dict(made.extra_specs or {})),
        qos_specs_id=None,
        shows_qos_specs=False,
    )


def _parse(row: dict) -> VolumeType:
    return VolumeType(
        id=openstack_client.checked_id(row['id']),
        name=openstack_client.text(row['name']),
        description=row.get('description') or '',
        is_public=bool(row['is_public']),
        extra_specs=types.MappingProxyType(row.get('extra_specs') or {}),
        qos_specs_id=row.get('qos_specs_id'),
        shows_qos_specs='qos_specs_id' in row,
    )


_BY_NAME = by_name.ByName[VolumeType](
    list_all=list_all, path='/types/{}', key='volume_type', parse=_parse
)
