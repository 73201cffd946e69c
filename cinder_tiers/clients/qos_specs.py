# SPDX-License-Identifier: Apache-2.0

"""QoS specs of Cinder: all of them, page by page, or one of a name."""

import collections.abc
import dataclasses
import types
import typing

import openstack.block_storage.v3._proxy

from cinder_tiers.clients import by_name
from cinder_tiers.clients import openstack as openstack_client

BlockStorage: typing.TypeAlias = openstack.block_storage.v3._proxy.Proxy


@dataclasses.dataclass(frozen=True, kw_only=True)
class QosSpec:
    """A QoS spec as Cinder shows it."""

    id: str
    name: str
    consumer: str
    specs: collections.abc.Mapping[str, str]


def list_all(block_storage: BlockStorage) -> list[QosSpec]:
    """List all QoS specs, in one call per page.

    :raises openstack.exceptions.SDKException: Cinder refused the request.
    """
    found = [
        _parse(one)
        for one in openstack_client.rows(
            block_storage,
            '/qos-specs',
            key='qos_specs',
            links='qos_specs_links',
            params={},
        )
    ]
    _BY_NAME.remember(block_storage, found)
    return found


def find(block_storage: BlockStorage, name: str) -> QosSpec | None:
    """The QoS spec of a name; None when there is none.

    :raises openstack.exceptions.SDKException: Cinder refused it.
    """
    return _BY_NAME.find(block_storage, name)


def created(block_storage: BlockStorage, name: str, ident: str) -> None:
    """Takes a QoS spec that was made."""
    _BY_NAME.add(block_storage, name, ident)


def _parse(row: dict) -> QosSpec:
    return QosSpec(
        id=openstack_client.checked_id(row['id']),
        name=openstack_client.text(row['name']),
        consumer=row.get('consumer') or '',
        specs=types.MappingProxyType(row.get('specs') or {}),
    )


_BY_NAME = by_name.ByName[QosSpec](
    list_all=list_all, path='/qos-specs/{}', key='qos_specs', parse=_parse
)
