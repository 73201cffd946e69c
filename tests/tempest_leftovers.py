# SPDX-License-Identifier: Apache-2.0

"""Removes from the lab what "tempest cleanup" leaves, for tests/tempest.sh.

That looks into the projects of Tempest, and a test that is interrupted removes
its project, not what is in it. Run this with the Python of the lab, which has
openstacksdk.
"""

import argparse
from collections.abc import Iterable
import pathlib

from openstack import connection

import tempest_conf

PREFIX = 'tempest-'
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
        if server.name.startswith(PREFIX)
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


def remove_types(cloud: connection.Connection):
    """Remove the volume types and group types of Tempest."""
    store = cloud.block_storage
    for found in store.types(is_public='None'):
        if found.name.startswith(PREFIX):
            store.delete_type(found)
    for found in store.group_types():
        if found.name.startswith(PREFIX):
            store.delete_group_type(found)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        'clouds', type=pathlib.Path, help='clouds.yaml of the lab'
    )
    cloud = tempest_conf.connect(arguments.parse_args().clouds)
    remove_servers(cloud)
    remove_orphans(cloud)
    remove_types(cloud)


if __name__ == '__main__':
    main()
