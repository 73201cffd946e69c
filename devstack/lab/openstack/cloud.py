# SPDX-License-Identifier: Apache-2.0
"""What the lab puts into its cloud: users, endpoints, flavor, tagged images.

Runs in the lab's Python environment (it needs openstacksdk), as
``python -m lab.openstack.cloud PART``, of which ``--help`` names the parts,
with the lab's folder in CINDER_TIERS_LAB. Everything is looked up first, so it
may run again.
"""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import hashlib
import pathlib
import sys
import time
from typing import Any

import openstack

from lab import layout
from lab.openstack import conf_files
from lab.openstack import service_conf
from lab.processes import readiness

SERVICES = {
    # name: (type, path below the service's URL)
    'keystone': ('identity', '/v3'),
    'glance': ('image', ''),
    'cinder': ('block-storage', '/v3'),
    'placement': ('placement', ''),
    'neutron': ('network', ''),
    'nova': ('compute', '/v2.1'),
}
FLAVOR = 'cinder-tiers-guest'
#: Image name -> tags: one image for each tier of the sample catalog.
IMAGES = {
    'cinder-tiers-guest': [],
    'cinder-tiers-guest-database': ['database'],
    'cinder-tiers-guest-archive': ['archive'],
}
#: Image and flavor of a guest that is a Debian.
DEBIAN = 'cinder-tiers-debian'
DEBIAN_MEMORY_MIB = 512
#: The network of guests, and its subnet: the administrator's, for all.
NETWORK = 'cinder-tiers-lab'
#: Agents that a network needs: their programs' names in Neutron.
_AGENTS = frozenset(
    ('neutron-macvtap-agent', 'neutron-dhcp-agent', 'neutron-metadata-agent')
)
#: The first addresses of the subnet are this machine's.
_FIRST_GUEST = 10
#: Projects of plain members. Each has one user, of the same name.
PROJECTS = ('tenant', 'other')


def connect(lab: layout.Layout) -> openstack.connection.Connection:
    """Return a connection as the cloud's administrator."""
    return openstack.connect(
        auth_type='password',
        auth_url=lab.url('keystone', '/v3'),
        username='admin',
        password=lab.passwords['admin'],
        project_name='admin',
        user_domain_id='default',
        project_domain_id='default',
        region_name=service_conf.REGION,
    )


def set_up_identity(lab: layout.Layout) -> None:
    """Make service users, endpoints, and projects with a plain member."""
    identity = connect(lab).identity
    roles = {role.name: role for role in identity.roles()}
    projects = {project.name: project for project in identity.projects()}
    for name in ('service', *PROJECTS):
        if name not in projects:
            projects[name] = identity.create_project(
                name=name, domain_id='default'
            )
    users = {user.name: user for user in identity.users()}
    wanted: list[tuple[str, str, tuple[str, ...], str]] = [
        (name, 'service', ('admin', 'service'), lab.passwords['service'])
        for name in SERVICES
        if name != 'keystone'
    ]
    wanted += [
        (name, name, ('member',), lab.passwords['member']) for name in PROJECTS
    ]
    for name, project, role_names, password in wanted:
        if name not in users:
            users[name] = identity.create_user(
                name=name, password=password, domain_id='default'
            )
        for role_name in role_names:
            identity.assign_project_role_to_user(
                projects[project], users[name], roles[role_name]
            )
    _set_up_endpoints(lab, identity)


def _set_up_endpoints(lab: layout.Layout, identity: Any) -> None:
    known = {service.type: service for service in identity.services()}
    existing = {
        (endpoint.service_id, endpoint.interface): endpoint
        for endpoint in identity.endpoints()
    }
    for name, (service_type, path) in SERVICES.items():
        service = known.get(service_type) or identity.create_service(
            name=name, type=service_type
        )
        for interface in ('public', 'internal', 'admin'):
            if (service.id, interface) not in existing:
                identity.create_endpoint(
                    service_id=service.id,
                    interface=interface,
                    url=lab.url(name, path),
                    region_id=service_conf.REGION,
                )


def set_up_resources(lab: layout.Layout) -> None:
    """Make the guests' flavor, and the guest image once for each tag.

    :raises TimeoutError: a service of Cinder or Nova does not come up.
    """
    connection = connect(lab)
    wait_for_services(lab, connection)
    if lab.has_network:
        set_up_network(lab, connection)
    if not connection.compute.find_flavor(FLAVOR):
        connection.compute.create_flavor(name=FLAVOR, ram=128, vcpus=1, disk=0)
    _set_quotas(connection)
    arguments = lab.guest_kernel_arguments.read_text(encoding='ascii')
    properties = {
        'kernel_id': _ensure_boot_image(connection, lab.guest_kernel, 'aki'),
        'ramdisk_id': _ensure_boot_image(
            connection, lab.guest_initramfs, 'ari'
        ),
        'os_command_line': arguments.strip(),
    }
    _ensure_images(
        connection,
        IMAGES,
        lab.guest_image,
        lab.stamps / 'images',
        properties,
    )


def _ensure_boot_image(
    connection: openstack.connection.Connection,
    file: pathlib.Path,
    image_format: str,
) -> str:
    """Have a public image of a kernel or a root file system; return its id.

    That of an older guest image stays: volumes that were made of it name it.
    Lists of images do not show them, as they have no tier.

    :param image_format: aki or ari, as Glance and Nova call the two.
    """
    content = file.read_bytes()
    name = f'{file.name} {hashlib.sha256(content).hexdigest()[:16]}'
    found = [
        image
        for hidden in (True, False)
        # of others, who may give theirs any name, an administrator sees all
        for image in connection.image.images(
            name=name,
            is_hidden=hidden,
            owner=connection.current_project_id,
        )
    ]
    for image in found:
        if image.status != 'active':
            connection.image.delete_image(image)
    whole = [image for image in found if image.status == 'active']
    image = (
        whole[0]
        if whole
        else connection.image.create_image(
            name,
            data=content,
            disk_format=image_format,
            container_format=image_format,
            visibility='public',
        )
    )
    if not image.is_hidden:
        connection.image.update_image(image, is_hidden=True)
    return image.id


def set_up_network(
    lab: layout.Layout, connection: openstack.connection.Connection
) -> None:
    """Make the network of guests, and wait until it serves addresses.

    :raises TimeoutError: no DHCP server comes up.
    """
    network = connection.network.find_network(
        NETWORK
    ) or connection.network.create_network(
        name=NETWORK,
        is_shared=True,
        provider_network_type='flat',
        provider_physical_network=service_conf.PHYSICAL_NETWORK,
    )
    if not connection.network.find_subnet(NETWORK, network_id=network.id):
        subnet = lab.guest_subnet
        connection.network.create_subnet(
            name=NETWORK,
            network_id=network.id,
            ip_version=4,
            cidr=str(subnet),
            # nothing is routed: guests and this machine are neighbours
            gateway_ip=None,
            is_dhcp_enabled=True,
            allocation_pools=[
                {
                    'start': str(subnet[_FIRST_GUEST]),
                    'end': str(subnet[-2]),
                }
            ],
        )

    def served() -> list[str]:
        ports = connection.network.ports(
            network_id=network.id, device_owner='network:dhcp'
        )
        return [] if any(port.fixed_ips for port in ports) else ['its DHCP']

    _wait_for(served, 90)


def remove_network(lab: layout.Layout) -> None:
    """Remove the network of guests, if it is there.

    :raises RuntimeError: servers are in it; names them.
    """
    connection = connect(lab)
    network = connection.network.find_network(NETWORK)
    if not network:
        return
    users = sorted(
        {
            port.device_id or port.id
            for port in connection.network.ports(network_id=network.id)
            if port.device_owner != 'network:dhcp'
        }
    )
    if users:
        raise RuntimeError(
            f'servers, or ports, are in the network {NETWORK}: '
            f'{", ".join(users)}. Delete them first.'
        )
    connection.network.delete_network(network)


def set_up_debian_image(lab: layout.Layout) -> None:
    """Make the Debian guest's image, for the fallback tier, and its flavor."""
    connection = connect(lab)
    if not connection.compute.find_flavor(DEBIAN):
        connection.compute.create_flavor(
            name=DEBIAN, vcpus=1, disk=0, ram=DEBIAN_MEMORY_MIB
        )
    _ensure_images(
        connection,
        {DEBIAN: []},
        lab.debian_image,
        lab.stamps / 'debian-image',
        {},
    )


def _ensure_images(
    connection: openstack.connection.Connection,
    wanted: Mapping[str, list[str]],
    file: pathlib.Path,
    stamp: pathlib.Path,
    properties: Mapping[str, str],
) -> None:
    """Make public images of one file; retire those of an older file.

    :param wanted: name -> tags.
    :param file: raw disk; its stamp lies beside it.
    :param stamp: holds the stamp of the file that is in the cloud.
    :param properties: of each image, besides its disk bus.
    """
    digest = file.with_name(f'{file.name}.stamp').read_text()
    current = stamp.exists() and stamp.read_text() == digest
    for name, tags in wanted.items():
        image = connection.image.find_image(name)
        if image and not current:
            _retire_image(connection, image)
            image = None
        if not image:
            image = connection.create_image(
                name,
                filename=str(file),
                disk_format='raw',
                container_format='bare',
                wait=True,
                visibility='public',
                tags=tags,
                hw_disk_bus='virtio',
                **properties,
            )
        _set_tags(connection, image, tags)
    stamp.write_text(digest)


def _retire_image(
    connection: openstack.connection.Connection, image: Any
) -> None:
    try:
        connection.image.delete_image(image)
    except openstack.exceptions.ConflictException:
        # Volumes are clones of it: it stays, under another name.
        connection.image.update_image(
            image,
            name=f'{image.name} until {image.id}',
            visibility='private',
        )
        _set_tags(connection, image, ())


def _set_tags(
    connection: openstack.connection.Connection,
    image: Any,
    tags: Iterable[str],
) -> None:
    # The SDK would patch single places of the list, which Glance refuses.
    for tag in set(image.tags).difference(tags):
        connection.image.remove_tag(image, tag)
    for tag in set(tags).difference(image.tags):
        connection.image.add_tag(image, tag)


def wait_for_services(
    lab: layout.Layout,
    connection: openstack.connection.Connection,
    timeout_seconds: float = readiness.LIMIT_SECONDS,
) -> None:
    """Wait until Cinder's scheduler knows each backend, and Nova is up.

    So are the agents of Neutron, if guests have a network. Neutron serves its
    ports from then on, too. Cinder's list of services would not do: after a
    restart it shows for a minute what was up before.

    :raises TimeoutError: something is missing; names it.
    """
    # Its first query must not be for ports: neutron 29 answers 500 until
    # another one has configured its mappers.
    list(connection.network.networks())

    def find_missing() -> list[str]:
        ready = {
            pool.name.partition('@')[2].partition('#')[0]
            for pool in connection.block_storage.backend_pools()
        }
        ready |= {
            service.binary
            for service in connection.compute.services()
            if service.state == 'up' and service.status == 'enabled'
        }
        wanted = {
            *conf_files.enabled_backends(lab),
            'nova-conductor',
            'nova-scheduler',
            'nova-compute',
        }
        if lab.has_network:
            wanted |= _AGENTS
            ready |= {
                agent.binary
                for agent in connection.network.agents()
                if agent.is_alive
            }
        return sorted(wanted - ready)

    _wait_for(find_missing, timeout_seconds)


def _wait_for(
    find_missing: Callable[[], list[str]], timeout_seconds: float
) -> None:
    deadline = time.monotonic() + timeout_seconds
    while missing := find_missing():
        if time.monotonic() > deadline:
            raise TimeoutError(
                f'not up after {timeout_seconds:.0f} s: {", ".join(missing)}'
            )
        time.sleep(0.5)


def _set_quotas(connection: openstack.connection.Connection) -> None:
    for project in (*PROJECTS, 'admin'):
        found = connection.identity.find_project(project)
        connection.block_storage.update_quota_set(
            found.id, volumes=200, gigabytes=1000, snapshots=100
        )
        connection.compute.update_quota_set(
            found.id, instances=50, cores=100, ram=20000
        )


def main() -> int:
    """Run one part of the set-up; return the exit status."""
    parts = {
        'identity': set_up_identity,
        'resources': set_up_resources,
        'debian-image': set_up_debian_image,
        'no-network': remove_network,
        'services': lambda lab: wait_for_services(lab, connect(lab)),
    }
    parser = argparse.ArgumentParser(prog='lab.openstack.cloud')
    parser.add_argument('part', choices=tuple(parts))
    part = parser.parse_args().part
    lab = layout.load(layout.chosen_root())
    if lab is None:
        print(
            f'{layout.chosen_root()}: no lab is there; run devstack/lab.sh up',
            file=sys.stderr,
        )
        return 1
    parts[part](lab)
    return 0


if __name__ == '__main__':
    sys.exit(main())
