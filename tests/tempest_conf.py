# SPDX-License-Identifier: Apache-2.0

"""Writes Tempest's configuration for the running lab, for tests/tempest.sh.

Run it with the Python of the lab, which has openstacksdk. What Tempest needs
of credentials is read from the lab's clouds.yaml and is only in the file that
is written here, which only its owner can read. It also asks Cinder whether the
API door is open: a pass with a door that was thought open proves nothing.
"""

import argparse
import configparser
import os
import pathlib
import sys

from openstack.config import loader
from openstack import connection

ADMIN = 'cinder-tiers-lab'
# A volume of the first one is on a tier that its tag chooses, one of the
# second, and a blank one, on the fallback tier.
IMAGE = 'cinder-tiers-guest-database'
OTHER_IMAGE = 'cinder-tiers-guest'
# What has a name like this, "tempest cleanup" removes.
FLAVOR = 'tempest-lab'
PROBE = 'tempest-doors'
# The lab's default type: its volumes are of their image's tier.
FOLLOWS = 'image-tier'
BACKENDS = ('tier-database', 'tier-general')
# Of a lab whose guests have one; and whom they let in by SSH.
NETWORK = 'cinder-tiers-lab'
USER = 'root'
# This machine is in the network itself.
NEIGHBOURS = {
    'project_networks_reachable': True,
    'shared_physical_network': True,
}


def connect(clouds: pathlib.Path) -> connection.Connection:
    """A connection of an administrator of the lab.

    :param clouds: clouds.yaml of the lab
    """
    config = loader.OpenStackConfig(
        config_files=[str(clouds)], load_envvars=False
    )
    return connection.Connection(config=config.get_one(ADMIN))


def image_id(cloud: connection.Connection, name: str) -> str:
    """The id of an image of the lab.

    :raises openstack.exceptions.NotFoundException: it has no such image
    """
    return cloud.image.find_image(name, ignore_missing=False).id


def flavor_id(cloud: connection.Connection) -> str:
    """The id of a flavor with a disk, made at the first time.

    Nova boots guests whose disk is not a volume with no other, and those of
    the lab have none.
    """
    flavor = cloud.compute.find_flavor(FLAVOR)
    if flavor is None:
        flavor = cloud.compute.create_flavor(
            name=FLAVOR, ram=128, vcpus=1, disk=1
        )
    return flavor.id


def api_door_is_open(cloud: connection.Connection) -> bool:
    """Whether a volume of a tagged image gets the type of the image's tier.

    :raises openstack.exceptions.SDKException: no volume can be made
    """
    volume = cloud.block_storage.create_volume(
        name=PROBE, size=1, image_id=image_id(cloud, IMAGE)
    )
    try:
        cloud.block_storage.wait_for_status(
            volume, failures=['error'], interval=1, wait=120
        )
        return volume.volume_type != FOLLOWS
    finally:
        cloud.block_storage.delete_volume(volume)
        cloud.block_storage.wait_for_delete(volume, interval=1, wait=120)


def sections(
    cloud: connection.Connection, folder: pathlib.Path
) -> dict[str, dict[str, object]]:
    """What Tempest must know of the lab.

    :param cloud: of an administrator of the lab
    :param folder: where Tempest keeps locks and its log
    :returns: {section: {option: value}} of tempest.conf
    :raises openstack.exceptions.NotFoundException: the lab has no such image
    """
    flavor = flavor_id(cloud)
    auth = cloud.config.get_auth_args()
    network = cloud.network.find_network(NETWORK)
    return {
        'DEFAULT': {
            'log_dir': folder,
            'log_file': 'tempest.log',
        },
        'oslo_concurrency': {'lock_path': folder / 'locks'},
        'auth': {
            'use_dynamic_credentials': True,
            # No project of the lab can have a network of its own.
            'create_isolated_networks': False,
            'admin_username': auth['username'],
            'admin_password': auth['password'],
            'admin_project_name': auth['project_name'],
            'admin_domain_name': 'Default',
        },
        'identity': {
            'uri_v3': auth['auth_url'],
            'region': cloud.config.get_region_name(),
        },
        'service_available': {
            'cinder': True,
            'glance': True,
            'nova': True,
            'neutron': True,
            'swift': False,
            'horizon': False,
        },
        'validation': validation() if network else {'run_validation': False},
        **({'network': NEIGHBOURS} if network else {}),
        'compute': {
            **({'fixed_network_name': NETWORK} if network else {}),
            'image_ref': image_id(cloud, IMAGE),
            'image_ref_alt': image_id(cloud, OTHER_IMAGE),
            'flavor_ref': flavor,
            'flavor_ref_alt': flavor,
            # No max_microversion: later ones do not start a guest that names
            # no network.
        },
        # No service of the lab keeps keys.
        'compute-feature-enabled': {
            'attach_encrypted_volume': False,
            'volume_multiattach': True,
        },
        'image': {'disk_formats': 'raw,qcow2', 'container_formats': 'bare'},
        'volume': {
            'max_microversion': 'latest',
            'backend_names': ','.join(BACKENDS),
            'storage_protocol': 'ceph',
            'disk_format': 'raw',
            # The RBD driver's name of a snapshot.
            'manage_snapshot_ref': 'source-name,snapshot-%s',
        },
        # cinder-backup is not part of the lab.
        'volume-feature-enabled': {
            'backup': False,
            'clone': True,
            'multi_backend': True,
            'manage_volume': True,
            'manage_snapshot': True,
            'extend_attached_volume': True,
            'volume_revert': True,
            'concurrency_tests': True,
        },
        # The tests of roles in cinder-tempest-plugin.
        'enforce_scope': {'cinder': True},
    }


def validation() -> dict[str, object]:
    """How Tempest reaches guests that have a network."""
    return {
        'run_validation': True,
        # There is no router, so no floating address.
        'connect_method': 'fixed',
        'network_for_ssh': NETWORK,
        'image_ssh_user': USER,
        'image_alt_ssh_user': USER,
        'auth_method': 'keypair',
        # What the guest's dropbear takes.
        'ssh_key_type': 'ecdsa',
        # A pipefail of busybox's shell, and its programs.
        'ssh_shell_prologue': 'set -eu; PATH=$PATH:/sbin:/usr/sbin;',
        # Guests are emulated, on few cores.
        'ping_timeout': 300,
        'ssh_timeout': 300,
        'connect_timeout': 60,
    }


def configuration(
    sections: dict[str, dict[str, object]],
) -> configparser.ConfigParser:
    """Sections of which oslo.config reads each value as it is here.

    It takes a dollar for the name of another option. A percent sign, which a
    password may have, is one to it.
    """
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict(
        {
            section: {
                name: str(value).replace('$', '$$')
                for name, value in options.items()
            }
            for section, options in sections.items()
        }
    )
    return parser


def write_private(path: pathlib.Path, parser: configparser.ConfigParser):
    """Write a configuration file that only its owner can read.

    :param path: of the file; one that is there is replaced
    :param parser: what it says
    """
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), 'w') as file:
        parser.write(file)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        '--doors',
        choices=('on', 'off'),
        required=True,
        help='what is expected of the API middleware',
    )
    arguments.add_argument(
        'clouds', type=pathlib.Path, help='clouds.yaml of the lab'
    )
    arguments.add_argument(
        'folder', type=pathlib.Path, help='where tempest.conf is written'
    )
    options = arguments.parse_args()
    cloud = connect(options.clouds)
    if api_door_is_open(cloud) != (options.doors == 'on'):
        sys.exit(
            f'doors {options.doors}: the API middleware of the lab is '
            'not; look at the files in etc/cinder.d'
        )
    write_private(
        options.folder / 'tempest.conf',
        configuration(sections(cloud, options.folder)),
    )


if __name__ == '__main__':
    main()
