# SPDX-License-Identifier: Apache-2.0

"""Reads what a tier sells: its volume types, their QoS specs and volumes.

Two lists and one of volumes for each type of the tier. Writes nothing.
"""

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import qos_specs
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain import limits_by_size
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import sold
from cinder_tiers.domain.state import type_succession
from cinder_tiers.observe.cinder import volumes

_BACK_END = 'back-end'
# Statuses of volumes that cannot be attached: they were not created, or are
# being deleted.
_WITHOUT_STORAGE = frozenset(
    {
        *('error', 'deleting', 'error_deleting'),
        *('error_managing', 'error_managing_deleting'),
    }
)


def observe(
    connection: openstack.connection.Connection, tier: str
) -> tuple[sold.SoldType, ...]:
    """The volume type of a tier, then those that it replaced.

    :param connection: of an administrator.
    :raises errors.TiersError: there is no such volume type, or Cinder does
        not answer, or refuses.
    """
    with openstack_client.asking_as_admin('list volume types and QoS specs'):
        specs = {
            one.id: one for one in qos_specs.list_all(connection.block_storage)
        }
        known = volume_types.list_all(connection.block_storage)
    name = next(
        (
            one.name
            for one in known
            if one.extra_specs.get(cinder_state.NAME) == tier
            and type_succession.owner_of(one.name) == one.name
        ),
        tier,
    )
    found = [
        one
        for one in known
        if name in (one.name, type_succession.successor_of(one.name))
    ]
    if name not in {one.name for one in found}:
        raise errors.TiersError(
            f'Cinder has no volume type {tier!r}: expected that of the tier; '
            'name an applied tier, see "openstack tier list"'
        )
    if not all(one.shows_qos_specs for one in found):
        raise errors.NotVisible(
            'Cinder does not show which QoS spec a volume type has; the '
            'policy volume_extension:access_types_qos_specs_id must allow it'
        )
    return tuple(
        _sold_type(connection, one, specs.get(one.qos_specs_id or ''))
        for one in sorted(found, key=lambda one: (one.name != name, one.name))
    )


def _sold_type(
    connection: openstack.connection.Connection,
    volume_type: volume_types.VolumeType,
    spec: qos_specs.QosSpec | None,
) -> sold.SoldType:
    return sold.SoldType(
        name=volume_type.name,
        specs=spec.specs if spec else {},
        # Cinder makes them for servers; not all drivers make them for images.
        has_by_size=spec is None
        or spec.consumer != _BACK_END
        or volume_type.extra_specs.get(limits_by_size.CAPABILITY)
        == cinder_state.TRUE,
        volumes=tuple(_volumes(connection, volume_type)),
    )


def _volumes(
    connection: openstack.connection.Connection,
    volume_type: volume_types.VolumeType,
) -> list[sold.SoldVolume]:
    with openstack_client.asking_as_admin(
        f'list volumes of volume type {volume_type.name}'
    ):
        return [
            sold.SoldVolume(
                size_gib=row['size'],
                clients=max(1, len(row['attachments'])),
            )
            for row in openstack_client.rows(
                connection.block_storage,
                '/volumes/detail',
                key='volumes',
                links='volumes_links',
                params={
                    'all_tenants': 'True',
                    'volume_type_id': volume_type.id,
                    'limit': volumes.PAGE,
                },
            )
            if row['attachments'] or row['status'] not in _WITHOUT_STORAGE
        ]
