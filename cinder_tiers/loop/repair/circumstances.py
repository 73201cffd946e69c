# SPDX-License-Identifier: Apache-2.0

"""Reads what a repair depends on beside the volumes. Writes nothing."""

import collections.abc
import dataclasses
import math

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import qos_specs
from cinder_tiers.clients import side_by_side
from cinder_tiers.clients import volume_types
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import cinder
from cinder_tiers.loop.repair import repair
from cinder_tiers.observe.cinder import type_encryption
from cinder_tiers.observe.cinder import volumes
from cinder_tiers.observe import visible_cloud

#: As storage protocol: of the RBD driver, and of those that do not say it.
_MAY_BE_CEPH = ('ceph', 'unknown', '', None)


def observe(
    connection: openstack.connection.Connection,
    limits: volume_limits.VolumeLimits | None,
    *,
    residency: audit_volumes.Residency | None = None,
    places: collections.abc.Mapping[str, volume_limits.ClusterPool]
    | None = None,
) -> repair.Circumstances:
    """Read the facts on which Cinder's answer to a repair depends.

    :param limits: limits of the images; None: limits are not repaired.
    :param residency: residency of volumes; None: clones are not flattened.
    :param places: places of images; given with `residency`.
    :raises errors.TiersError: Cinder does not answer or refuses.
    """
    storage = connection.block_storage
    with openstack_client.asking_as_admin('list snapshots and QoS specs'):
        types = volume_types.list_all(storage)
        specs = {
            one.id: repair.QosSpec(spec_id=one.id, consumer=one.consumer)
            for one in qos_specs.list_all(storage)
        }
        backends = visible_cloud.list_backends(connection)
        return repair.Circumstances(
            with_snapshots=frozenset(
                row['volume_id']
                for row in openstack_client.rows(
                    storage,
                    '/snapshots',
                    key='snapshots',
                    links='snapshots_links',
                    params={'all_tenants': 'True', 'limit': volumes.PAGE},
                )
            ),
            qos={
                one.name: specs[one.qos_specs_id]
                for one in types
                if one.qos_specs_id in specs
            },
            free_gib={
                one.name: _free_gib(one.capabilities) for one in backends
            },
            fsids={
                one.name: fsid
                for one in backends
                if (fsid := _fsid(one.capabilities))
            },
            limits=limits,
            residency=residency,
            places=places or {},
            types=visible_cloud.observe_types(connection).types,
            not_ceph=frozenset(
                one.name
                for one in backends
                if one.capabilities.get('storage_protocol') not in _MAY_BE_CEPH
            ),
            backend_names={
                one.name: name
                for one in backends
                if isinstance(
                    name := one.capabilities.get(cinder.BACKEND), str
                )
            },
        )


def with_encryptions(
    connection: openstack.connection.Connection,
    around: repair.Circumstances,
    steps: collections.abc.Iterable[repair.RepairStep],
) -> repair.Circumstances:
    """Add the encryptions of the volume types that steps replace and give.

    Cinder is asked for each of these types, and for no others.

    :param steps: steps that were planned without these encryptions.
    :raises errors.TiersError: Cinder does not answer.
    """
    names = {
        name
        for one in steps
        if one.retype_to
        for name in (one.volume.type_name, one.retype_to)
    }

    def read(
        name: str, type_id: str
    ) -> tuple[str, cinder.TypeEncryption | str | None]:
        try:
            return name, type_encryption.of_type(connection, name, type_id)
        except errors.NotVisible as error:
            return name, str(error)

    return dataclasses.replace(
        around,
        encryptions={
            name: found
            for name, found in side_by_side.each(
                lambda one: read(one.name, one.type_id),
                [one for one in around.types if one.name in names],
                at_once=side_by_side.API_AT_ONCE,
            )
            if found
        },
    )


def _free_gib(capabilities: collections.abc.Mapping[str, object]) -> float:
    free = capabilities.get('free_capacity_gb')
    return free if isinstance(free, int | float) else math.inf


def _fsid(capabilities: collections.abc.Mapping[str, object]) -> str | None:
    """Read it as the RBD driver of Cinder does (migrate_volume, 29.0.0)."""
    place = str(capabilities.get('location_info')).split(':')
    # cluster:conf:FSID:user:pool
    is_known = len(place) == 5 and place[2] != 'None'
    return place[2] if is_known else None
