# SPDX-License-Identifier: Apache-2.0

"""Access to the guests of a run, and what servers need for it.

The console needs nothing.  For SSH, servers get a network and a key pair from
Rally's own contexts; only the key of this run is ever used.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Annotated
from typing import Any
from typing import Literal

from oslo_log import log as logging
from rally.task import scenario as task_scenario
import typing_extensions

from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import console as console_transport
from rally_scenarios.plugins.transport import readers
from rally_scenarios.plugins.transport import ssh

LOG = logging.getLogger(__name__)

_CONSOLE_COPIES = 2
# Of a thread that reads: a console through Nova takes a tenth of a second or
# less.
_SECONDS_PER_CONSOLE = 0.2
_LEAST_COPY_PAUSE_SECONDS = 5
# Nine times as many threads, if guests hang: see readers.Readers.
_MOST_READERS = 32


class TransportArgs(typing_extensions.TypedDict, closed=True):
    """Delivery of results.

    kind: console, or ssh;
    copies: how often guests print everything (console);
    user: user of the guests who accepts the key pair of the context (ssh);
    port: port of the guests' sshd, 22 by default (ssh);
    network: name or id of one of the project's networks (ssh), else the first;
    orders: how guests get their orders (ssh): by config-drive, the default, or
    from the metadata service;
    floating_network: network of floating addresses, if guests need one (ssh);
    readers: number of guests that are read at once, 8 by default;
    requests_per_second: limit for requests to Nova, 50 by default.
    """

    kind: Literal['console', 'ssh']
    copies: typing_extensions.NotRequired[
        Annotated[int, task_scenario.Field(ge=1)]
    ]
    user: typing_extensions.NotRequired[str]
    port: typing_extensions.NotRequired[
        Annotated[int, task_scenario.Field(ge=1, le=65535)]
    ]
    network: typing_extensions.NotRequired[str]
    floating_network: typing_extensions.NotRequired[str]
    orders: typing_extensions.NotRequired[Literal['config-drive', 'metadata']]
    readers: typing_extensions.NotRequired[
        Annotated[int, task_scenario.Field(ge=1, le=_MOST_READERS)]
    ]
    requests_per_second: typing_extensions.NotRequired[
        Annotated[int, task_scenario.Field(ge=1)]
    ]


_KEYS_OF = {
    'console': {'copies', 'readers', 'requests_per_second'},
    'ssh': {
        'user',
        'port',
        'network',
        'floating_network',
        'orders',
        'readers',
        'requests_per_second',
    },
}


def check(given: Mapping[str, Any] | None) -> None:
    """Check the argument transport of a task.

    :param given: the argument transport
    :raises ValueError: a key is missing, or belongs to the other kind
    """
    if given is None:
        return
    foreign = sorted(set(given) - {'kind'} - _KEYS_OF[given['kind']])
    if foreign:
        raise ValueError(
            f'transport {given["kind"]!r} with {", ".join(foreign)}: expected'
            f' at most {", ".join(sorted(_KEYS_OF[given["kind"]]))}'
        )
    if given['kind'] == 'ssh' and not given.get('user'):
        raise ValueError(
            "transport 'ssh' without 'user': name the user of the image "
            'who can log in with the key pair, such as debian'
        )


def copies(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return how often guests print what, as in ``orders.FleetOrders``.

    :param given: the argument transport; None: the console
    """
    if given and given['kind'] == 'ssh':
        # It can be asked again; and a console that only has events holds
        # those of a whole matrix.
        return {'copies': 1, 'results_on_console': False}
    return {'copies': (given or {}).get('copies', _CONSOLE_COPIES)}


class GuestAccess:
    """The way to the guests of one run.

    :ivar pace: of requests to Nova
    :ivar server_options: see ``servers.create_server``
    """

    def __init__(
        self,
        given: Mapping[str, Any] | None,
        *,
        context: Mapping[str, Any],
        nova: Any,
        neutron: Any,
    ) -> None:
        """Find what Rally's contexts made.

        :param given: the argument transport; None: the console
        :param nova: novaclient
        :param neutron: Rally's ``NeutronService``; used for floating
            addresses only
        :raises servers.FleetError: names every context that is missing
        :raises ValueError: see ``check``
        """
        check(given)
        self._given = given or {'kind': 'console'}
        self._nova = nova
        self._neutron = neutron
        self._addresses: list[str] = []
        self.pace = readers.RequestPace(self._requests_per_second)
        self.server_options: dict[str, Any] = dict(servers.NO_NETWORK)
        if self._by_ssh:
            self._use_contexts(context)

    @property
    def readers(self) -> int:
        """Number of guests that are read at once."""
        return self._given.get('readers', readers.READERS)

    @property
    def _requests_per_second(self) -> int:
        return self._given.get(
            'requests_per_second', readers.REQUESTS_PER_SECOND
        )

    @property
    def _by_ssh(self) -> bool:
        return self._given['kind'] == 'ssh'

    def _use_contexts(self, context: Mapping[str, Any]) -> None:
        user = context.get('user', {})
        networks = context.get('tenant', {}).get('networks', [])
        wanted = self._given.get('network')
        usable = [
            network
            for network in networks
            if wanted in (None, network['name'], network['id'])
        ]
        missing = []
        if 'keypair' not in user:
            missing.append('no key pair: add the context keypair')
        if not usable:
            names = ', '.join(network['name'] for network in networks)
            missing.append(
                f"no network {wanted or ''}: expected one of the project's,"
                f' which are: {names or "none"}; add the context network, or'
                f' existing_network'
            )
        if missing:
            raise servers.FleetError(f"transport 'ssh': {'; '.join(missing)}")
        self._key = ssh.private_key(user['keypair']['private'])
        self._network = usable[0]['name']
        self.server_options = {
            'nics': [{'net-id': usable[0]['id']}],
            'key_name': user['keypair']['name'],
        }
        if self._given.get('orders') == 'metadata':
            self.server_options['config_drive'] = False
        if user.get('secgroup'):
            self.server_options['security_groups'] = [user['secgroup']['name']]

    def delivery(self, *, guests: int, pause_seconds: float) -> dict[str, Any]:
        """Return the fields of delivery for ``orders.FleetOrders``.

        :param guests: number of guests that are read
        :param pause_seconds: pause between two readings of a guest
        """
        if self._by_ssh:
            return copies(self._given)
        seconds_per_console = max(
            _SECONDS_PER_CONSOLE / self.readers, 1 / self._requests_per_second
        )
        return {
            **copies(self._given),
            'copy_pause_seconds': max(
                _LEAST_COPY_PAUSE_SECONDS,
                math.ceil(2 * (pause_seconds + guests * seconds_per_console)),
            ),
        }

    def transport(
        self, guests: Sequence[servers.Guest]
    ) -> console_transport.Transport:
        """The way to guests whose servers are active.

        :raises servers.FleetError: a server has no address
        """
        console = console_transport.ConsoleTransport(
            self._nova, pace=self.pace
        )
        if not self._by_ssh:
            return console
        return ssh.SshTransport(
            key=self._key,
            console=console,
            logins={
                guest.name: ssh.Login(
                    host=self._address(guest),
                    user=self._given['user'],
                    port=self._given.get('port', 22),
                )
                for guest in guests
            },
        )

    def _address(self, guest: servers.Guest) -> str:
        floating_network = self._given.get('floating_network')
        if floating_network:
            return self._floating_address(guest, floating_network)
        found = self._nova.servers.get(guest.server_id).addresses.get(
            self._network, []
        )
        # IPv4 first, as Rally's own scenarios do.
        for address in sorted(found, key=lambda each: each['version']):
            return address['addr']
        raise servers.FleetError(
            f'server {guest.server_id} has no address in the network'
            f' {self._network}'
        )

    def _floating_address(
        self, guest: servers.Guest, floating_network: str
    ) -> str:
        ports = self._neutron.list_ports(device_id=guest.server_id)
        if not ports:
            raise servers.FleetError(
                f'server {guest.server_id} has no port to bind a floating'
                f' address to'
            )
        made = self._neutron.create_floatingip(
            floating_network=floating_network, port_id=ports[0]['id']
        )
        self._addresses.append(made['id'])
        LOG.info(
            'Guest %s has the floating address %s',
            guest.name,
            made['floating_ip_address'],
        )
        return made['floating_ip_address']

    def delete(self) -> None:
        """Give floating addresses back; what cannot be is logged."""
        for address in self._addresses:
            try:
                self._neutron.delete_floatingip(address)
            except servers.REQUEST_FAILED as error:
                LOG.warning(
                    'The floating address %s is left: %s', address, error
                )
