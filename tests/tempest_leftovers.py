# SPDX-License-Identifier: Apache-2.0

"""Removes from the lab what "tempest cleanup" leaves, for tests/tempest.sh.

That looks into the projects of Tempest, and a test that is interrupted removes
its project, not what is in it. Nor can it delete the image of a volume that
was cloned: see remove_kept_volumes. The exit status is 1 if something of
Tempest is still there, which is printed. Run this with the Python of the lab,
which has openstacksdk and librbd.
"""

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import pathlib
import sys

from openstack import connection
from openstack import exceptions
from openstack import resource
import rados
import rbd

import tempest_conf

PREFIX = 'tempest-'
# How Cinder's RBD driver renames a volume that was deleted and has clones.
KEPT = '.deleted'
WAIT_SECONDS = 120


def wait_until_gone(proxy, resources: Iterable):
    """Wait until resources that are being deleted are gone.

    :param proxy: of openstacksdk, for the service that has them
    :raises openstack.exceptions.SDKException: one is still there
    """
    for found in resources:
        proxy.wait_for_delete(found, interval=1, wait=WAIT_SECONDS)


def remove_servers(cloud: connection.Connection):
    """Remove the servers of Tempest, of whichever project."""
    servers = [
        server
        for server in cloud.compute.servers(all_projects=True)
        if is_of_tempest(server)
    ]
    for server in servers:
        cloud.compute.delete_server(server)
    wait_until_gone(cloud.compute, servers)


def remove_orphans(cloud: connection.Connection):
    """Remove the volumes of projects that are gone, with all that is of them.

    Not all have a name that tells where they are from.
    """
    store = cloud.block_storage
    # In this order: a project that is made meanwhile is seen.
    volumes = list(store.volumes(all_projects=True))
    projects = {project.id for project in cloud.identity.projects()}
    orphans = [
        volume for volume in volumes if volume.project_id not in projects
    ]
    groups = {volume.group_id for volume in orphans} - {None}
    of_groups = [
        snapshot
        for snapshot in store.group_snapshots(all_projects=True)
        if snapshot.group_id in groups
    ]
    for snapshot in of_groups:
        store.delete_group_snapshot(snapshot)
    wait_until_gone(store, of_groups)
    ids = {volume.id for volume in orphans}
    snapshots = [
        snapshot
        for snapshot in store.snapshots(all_projects=True)
        if snapshot.volume_id in ids
    ]
    for snapshot in snapshots:
        store.delete_snapshot(snapshot)
    wait_until_gone(store, snapshots)
    for group in groups:
        store.delete_group(group, delete_volumes=True)
    for volume in orphans:
        if volume.group_id is None:
            store.delete_volume(volume, force=True)
    wait_until_gone(store, orphans)


def has_children(image: rbd.Image) -> bool:
    """Whether a clone of one of its snapshots is left."""
    for snapshot in list(image.list_snaps()):
        # By id: no name leads to one that was removed while it had clones.
        try:
            image.set_snap_by_id(snapshot['id'])
        except rbd.ImageNotFound:
            continue  # Ceph has removed it with its last clone.
        children = list(image.list_children())
        image.set_snap(None)
        if children:
            return True
    return False


def remove_kept_volumes(ceph_conf: pathlib.Path):
    """Remove the volumes that Cinder deleted and its RBD driver kept.

    A volume that was cloned is renamed, for its clone needs it. The driver of
    Cinder 29 leaves the snapshot below the clone when it removes the clone,
    so that the volume stays, and Glance cannot delete the image below it.

    :param ceph_conf: of the lab
    :raises rbd.Error: one cannot be removed
    """
    with rados.Rados(conffile=str(ceph_conf)) as cluster:
        for pool in cluster.list_pools():
            with cluster.open_ioctx(pool) as ioctx:
                # A clone of a clone is removed first, its parent afterwards.
                while any(remove_kept(ioctx, name) for name in kept(ioctx)):
                    pass
        # There are images whose volume was cloned, and volumes whose snapshot
        # was.
        for pool in cluster.list_pools():
            with cluster.open_ioctx(pool) as ioctx:
                while empty_trash(ioctx):
                    pass


def kept(ioctx: rados.Ioctx) -> list[str]:
    """The volumes of a pool that were deleted and are kept."""
    return [name for name in rbd.RBD().list(ioctx) if name.endswith(KEPT)]


def remove_kept(ioctx: rados.Ioctx, name: str) -> bool:
    """Remove a volume that was kept; whether nothing depended on it."""
    with rbd.Image(ioctx, name) as image:
        if has_children(image):
            return False
        remove_snapshots(image)
    rbd.RBD().remove(ioctx, name)
    return True


def remove_snapshots(image: rbd.Image):
    """Remove the snapshots of an image, which have no clones."""
    for snapshot in list(image.list_snaps()):
        if snapshot['namespace'] == rbd.RBD_SNAP_NAMESPACE_TYPE_TRASH:
            with contextlib.suppress(rbd.ImageNotFound):
                image.remove_snap_by_id(snapshot['id'])
            continue
        if image.is_protected_snap(snapshot['name']):
            image.unprotect_snap(snapshot['name'])
        image.remove_snap(snapshot['name'])


def empty_trash(ioctx: rados.Ioctx) -> bool:
    """Remove what is in the trash of a pool and has no clones.

    :returns: whether something was removed: a clone in the trash goes first,
        its parent the next time
    """
    some = False
    for found in list(rbd.RBD().trash_list(ioctx)):
        with rbd.Image(ioctx, image_id=found['id']) as image:
            if has_children(image):
                continue
            remove_snapshots(image)
        with contextlib.suppress(rbd.ImageHasSnapshots, rbd.ImageBusy):
            rbd.RBD().trash_remove(ioctx, found['id'])
            some = True
    return some


def remove_images(cloud: connection.Connection):
    """Remove the images of Tempest; one that is in use stays.

    Those of projects that are gone, too: not all have a name that tells where
    they are from.
    """
    images = list(cloud.image.images())
    projects = {project.id for project in cloud.identity.projects()}
    for image in images:
        if is_of_tempest(image) or image.owner_id not in projects:
            with contextlib.suppress(exceptions.ConflictException):
                cloud.image.delete_image(image)


def is_of_tempest(found: resource.Resource) -> bool:
    """Whether the name tells so."""
    return (found.name or '').startswith(PREFIX)


def remove_types(cloud: connection.Connection):
    """Remove volume types, group types and QoS specs of Tempest."""
    store = cloud.block_storage
    for found in store.types(is_public='None'):
        if is_of_tempest(found):
            store.delete_type(found)
    for found in store.group_types():
        if is_of_tempest(found):
            store.delete_group_type(found)
    for found in store.qos_specs():
        if is_of_tempest(found):
            store.delete_qos_spec(found)


def remaining(
    cloud: connection.Connection, ceph_conf: pathlib.Path
) -> Iterator[str]:
    """What is still there of Tempest, a line each.

    :param ceph_conf: of the lab
    """
    store = cloud.block_storage
    for kind, found in (
        ('server', cloud.compute.servers(all_projects=True)),
        ('volume', store.volumes(all_projects=True)),
        ('snapshot', store.snapshots(all_projects=True)),
        ('group', store.groups(all_projects=True)),
        ('group snapshot', store.group_snapshots(all_projects=True)),
        ('volume type', store.types(is_public='None')),
        ('group type', store.group_types()),
        ('QoS specs', store.qos_specs()),
        ('image', cloud.image.images()),
        ('flavor', cloud.compute.flavors(is_public='None')),
        ('project', cloud.identity.projects()),
        ('user', cloud.identity.users()),
    ):
        for one in found:
            if is_of_tempest(one):
                yield f'{kind} {one.name} ({one.id})'
    with rados.Rados(conffile=str(ceph_conf)) as cluster:
        for pool in cluster.list_pools():
            with cluster.open_ioctx(pool) as ioctx:
                for name in kept(ioctx):
                    yield f'RBD image {pool}/{name}'
                for found in rbd.RBD().trash_list(ioctx):
                    yield f'RBD image in the trash: {pool}/{found["name"]}'


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        'clouds', type=pathlib.Path, help='clouds.yaml of the lab'
    )
    arguments.add_argument(
        'ceph_conf', type=pathlib.Path, help='ceph.conf of the lab'
    )
    options = arguments.parse_args()
    cloud = tempest_conf.connect(options.clouds)
    remove_servers(cloud)
    remove_orphans(cloud)
    remove_kept_volumes(options.ceph_conf)
    remove_images(cloud)
    remove_types(cloud)
    left = list(remaining(cloud, options.ceph_conf))
    for line in left:
        print(f'still there: {line}')
    return 1 if left else 0


if __name__ == '__main__':
    sys.exit(main())
