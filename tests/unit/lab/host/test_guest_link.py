# SPDX-License-Identifier: Apache-2.0
"""Addresses of guests are taken only if nothing on the machine has them."""

import ipaddress

import ddt
import testtools

from lab.host import guest_link

SUBNET = ipaddress.IPv4Network('198.18.20.0/24')
OWN = ('cthost2000', 'ctguest2000')


def interface(name, *addresses):
    """An interface as ip(8) describes it, of addresses with their prefix."""
    found = []
    for each in addresses:
        local, _, length = each.partition('/')
        found.append(
            {
                'family': 'inet6' if ':' in local else 'inet',
                'local': local,
                'prefixlen': int(length),
            }
        )
    return {'ifname': name, 'addr_info': found}


LOOPBACK = interface('lo', '127.0.0.1/8', '::1/128')
DEFAULT = {'dst': 'default', 'gateway': '192.0.2.1', 'dev': 'eth0'}


@ddt.ddt
class ConflictsTest(testtools.TestCase):
    def conflicts(self, interfaces=(), routes=()):
        return guest_link.find_conflicts(
            [LOOPBACK, *interfaces], [DEFAULT, *routes], SUBNET, OWN
        )

    def test_a_machine_with_other_addresses_is_fine(self):
        self.assertEqual(
            [],
            self.conflicts(
                [interface('eth0', '192.0.2.2/24', 'fe80::1/64')],
                [{'dst': '192.0.2.0/24', 'dev': 'eth0'}],
            ),
        )

    def test_what_the_lab_itself_has_is_no_conflict(self):
        self.assertEqual(
            [],
            self.conflicts(
                [interface('cthost2000', '198.18.20.1/24')],
                [{'dst': '198.18.20.0/24', 'dev': 'cthost2000'}],
            ),
        )

    def test_another_lab_beside_it_is_no_conflict(self):
        self.assertEqual(
            [],
            self.conflicts([interface('cthost0', '198.18.0.1/24')]),
        )

    @ddt.data('198.18.20.77/32', '198.18.20.1/24', '198.18.0.1/15')
    def test_an_address_among_those_of_guests_is_found(self, address):
        self.assertEqual(
            ['eth1'], self.conflicts([interface('eth1', address)])
        )

    @ddt.data('198.18.20.77', '198.18.20.128/25', '198.16.0.0/13')
    def test_a_route_to_addresses_of_guests_is_found(self, destination):
        self.assertEqual(
            ['tun0'],
            self.conflicts(routes=[{'dst': destination, 'dev': 'tun0'}]),
        )

    def test_a_route_without_an_interface_is_passed_over(self):
        self.assertEqual(
            [],
            self.conflicts(
                routes=[{'type': 'unreachable', 'dst': '10.0.0.0/8'}]
            ),
        )

    def test_each_is_named_once_and_all_of_them(self):
        self.assertEqual(
            ['eth1', 'tun0'],
            self.conflicts(
                [interface('tun0', '198.18.20.9/24')],
                [
                    {'dst': '198.18.20.0/24', 'dev': 'tun0'},
                    {'dst': '198.18.0.0/15', 'dev': 'eth1'},
                ],
            ),
        )
