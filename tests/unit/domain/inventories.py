# SPDX-License-Identifier: Apache-2.0
"""What exists, as an export sees it, for tests."""

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.state import action as actions

FSID = '01234567-89ab-cdef-0123-456789abcdef'


def rbd_backend(name, pool, *, user='cinder', fsid=FSID, host='node'):
    """A backend of Cinder's RBD driver, as the scheduler knows it."""
    return backends.Backend(
        name=f'{host}@{name}#{name}',
        capabilities={
            'volume_backend_name': name,
            'storage_protocol': 'ceph',
            'location_info': f'ceph:/etc/ceph/ceph.conf:{fsid}:{user}:{pool}',
        },
    )


def other_backend(name):
    """A backend of another driver; its location looks like one of Ceph."""
    return backends.Backend(
        name=f'node@{name}#{name}',
        capabilities={
            'volume_backend_name': name,
            'storage_protocol': 'unknown',
            'location_info': 'LVMVolumeDriver:node:vg:thin:0',
        },
    )


def backends_of(catalog):
    """The backends that serve the tiers of a catalog."""
    return tuple(
        rbd_backend(tier.backend, tier.rbd.pool)
        if tier.rbd
        else other_backend(tier.backend)
        for tier in catalog.tiers
        if tier.backend
    )


def of_world(world, known_backends=(), *, projects=None, cinder_user='admin'):
    """An inventory of a world in memory.

    :param projects: {id: name}
    :param cinder_user: what the cluster was named with, to be found out.
    """
    actual = world.observe()
    return inventory.Inventory(
        cinder=actual.cinder,
        backends=tuple(known_backends),
        projects=projects or {},
        clusters=(
            inventory.KnownCluster(
                cluster=catalogs.Cluster(name='ceph', cinder_user=cinder_user),
                fsid=FSID,
                ceph=actual.ceph['ceph'],
                configured={
                    key.name: one.values
                    for key, one in world.objects.items()
                    if key.kind is actions.Kind.OSD_OPTIONS
                },
                configured_hosts={
                    key.name: one.values
                    for key, one in world.objects.items()
                    if key.kind is actions.Kind.HOST_OSD_OPTIONS
                },
            ),
        ),
    )
