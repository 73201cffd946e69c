# SPDX-License-Identifier: Apache-2.0
"""The link between this machine and guests that have a network.

It is a pair of virtual interfaces. One end has the address at which guests
see this machine. Nova and Neutron make macvtap and macvlan interfaces on the
other, which the kernel removes with it.
"""

import ipaddress
import json

from lab.host import commands
from lab import layout

PACKAGES = ('dnsmasq-base', 'haproxy', 'iproute2')


class GuestLinkError(Exception):
    """Guests cannot have a network on this machine."""


def set_up(lab: layout.Layout) -> str:
    """Make the link, or mend what is there of it.

    :returns: a remark: what it is.
    :raises GuestLinkError: something else on the machine has such addresses.
    :raises lab.host.commands.CommandFailed: ip(8) refuses.
    """
    own = (lab.host_link, lab.guest_link)
    taken = find_conflicts(
        json.loads(commands.run(['ip', '-json', 'address'])),
        json.loads(commands.run(['ip', '-json', 'route'])),
        lab.guest_subnet,
        own,
    )
    if taken:
        raise GuestLinkError(
            f'guests would have addresses of {lab.guest_subnet}, but '
            f'{", ".join(taken)} leads there. Remove that, or make a lab '
            f'with another {layout.PORT_OFFSET_VARIABLE}, which gives its '
            'guests other addresses.'
        )
    if not _exists(lab.host_link) or not _exists(lab.guest_link):
        remove(lab)
        commands.run(
            [
                'ip',
                'link',
                'add',
                lab.host_link,
                'type',
                'veth',
                'peer',
                'name',
                lab.guest_link,
            ]
        )
    for name in own:
        # no addresses of its own making
        commands.run(['ip', 'link', 'set', name, 'addrgenmode', 'none'])
        commands.run(['ip', 'link', 'set', name, 'up'])
    commands.run(
        [
            'ip',
            'address',
            'replace',
            str(lab.host_address),
            'dev',
            lab.host_link,
        ]
    )
    return f'{lab.host_address} on {lab.host_link}'


def remove(lab: layout.Layout) -> None:
    """Remove the link, and the namespaces of DHCP servers behind it.

    :raises lab.host.commands.CommandFailed: ip(8) refuses.
    """
    for name in (lab.host_link, lab.guest_link):
        # the other end goes with the first
        if _exists(name):
            commands.run(['ip', 'link', 'delete', name])
    if not lab.dhcp_folder.exists():
        return
    namespaces = {
        row['name']
        for row in json.loads(
            commands.run(['ip', '-json', 'netns', 'list']) or '[]'
        )
    }
    for network in lab.dhcp_folder.iterdir():
        name = f'qdhcp-{network.name}'
        if name in namespaces:
            commands.run(['ip', 'netns', 'delete', name])


def find_conflicts(
    interfaces: list[dict],
    routes: list[dict],
    subnet: ipaddress.IPv4Network,
    own: tuple[str, ...],
) -> list[str]:
    """Return the interfaces that addresses of a subnet are on, or lead to.

    :param interfaces: of ``ip -json address``.
    :param routes: of ``ip -json route``; the default one is no conflict.
    :param subnet: what is to be free.
    :param own: interfaces that may have it.
    """
    found = {
        interface['ifname']
        for interface in interfaces
        for address in interface.get('addr_info', ())
        if address['family'] == 'inet'
        and _network(f'{address["local"]}/{address["prefixlen"]}').overlaps(
            subnet
        )
    }
    found |= {
        route['dev']
        for route in routes
        if route['dst'] != 'default'
        and 'dev' in route
        and _network(route['dst']).overlaps(subnet)
    }
    return sorted(found - set(own))


def _network(text: str) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(text, strict=False)


def _exists(name: str) -> bool:
    return any(
        interface['ifname'] == name
        for interface in json.loads(
            commands.run(['ip', '-json', 'link', 'show'])
        )
    )
