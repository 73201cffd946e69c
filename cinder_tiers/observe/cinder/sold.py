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
from cinder_tiers.observe import visible_cloud

_BACK_END = 'back-end'


def observe(
    connection: openstack.connection.Connection, tier: str
) -> tuple[sold.SoldType, ...]:
    """The volume type of a tier, then those that it replaced.

    :raises errors.TiersError: there is no such volume type, or Cinder does
        not answer, or refuses.
    """
    known, specs = _list(connection)
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
    return tuple(
        sold.SoldType(
            name=one.name,
            limits=_limits(one, specs),
            volumes=tuple(_volumes(connection, one)),
        )
        for one in sorted(found, key=lambda one: (one.name != name, one.name))
    )


def limits(
    connection: openstack.connection.Connection,
) -> dict[str, sold.Limits]:
    """{id of a volume type: its limits}, of all volume types.

    :raises errors.TiersError: Cinder does not answer, or refuses.
    """
    known, specs = _list(connection)
    return {one.id: _limits(one, specs) for one in known}


def _list(
    connection: openstack.connection.Connection,
) -> tuple[list[volume_types.VolumeType], dict[str, qos_specs.QosSpec]]:
    with openstack_client.asking_as_admin('list volume types and QoS specs'):
        specs = {
            one.id: one for one in qos_specs.list_all(connection.block_storage)
        }
        known = volume_types.list_all(connection.block_storage)
    if not all(one.shows_qos_specs for one in known):
        raise errors.NotVisible(
            'Cinder does not show which QoS spec a volume type has; the '
            'policy volume_extension:access_types_qos_specs_id must allow it'
        )
    return known, specs


def _limits(
    volume_type: volume_types.VolumeType,
    specs: dict[str, qos_specs.QosSpec],
) -> sold.Limits:
    spec = specs.get(volume_type.qos_specs_id or '')
    return sold.Limits(
        specs=spec.specs if spec else {},
        # Cinder makes them for servers; not all drivers make them for images.
        has_by_size=spec is None
        or spec.consumer != _BACK_END
        or volume_type.extra_specs.get(limits_by_size.CAPABILITY)
        == cinder_state.TRUE,
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
                clients=clients,
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
            if not visible_cloud.is_migration_target(row)
            and (
                clients := sold.clients(row['status'], len(row['attachments']))
            )
        ]
