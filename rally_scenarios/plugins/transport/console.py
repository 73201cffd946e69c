# SPDX-License-Identifier: Apache-2.0

"""Transports of a guest's words to Rally's host; the console is one.

A transport carries text without knowing its meaning;
``figures.protocol.frames`` finds new, damaged and missing parts.  Every guest
has a console, so every transport can show it when a guest is judged.
"""

from typing import Any
from typing import Protocol

from keystoneauth1 import exceptions as keystone_exceptions
from novaclient import exceptions as nova_exceptions

from cinder_tiers.figures.protocol import frames
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import readers


class TransportError(Exception):
    """A guest could not be read this time; says which way was tried."""


class Transport(Protocol):
    """Way to the guests that the collector uses.

    Several threads use it, each for another guest.
    """

    #: whether ``ask_again`` can bring what is missing
    can_ask_again: bool

    def read(self, guest: servers.Guest) -> str:
        """Text of whole or broken lines, new at least; may be empty.

        :raises TransportError: it could not be read; the next reading may
            succeed
        """

    def ask_again(self, guest: servers.Guest, missing: frames.Missing) -> str:
        """Return missing words that the guest kept; may be empty.

        :raises TransportError: the guest could not be asked
        """

    def evidence(self, guest: servers.Guest) -> str:
        """The guest's console, and why it was not to be reached; or empty."""

    def close(self) -> None:
        """Let go of what it holds; it may be used again."""


class ConsoleTransport:
    """Reads consoles through Nova, which every guest has.

    Nova keeps the last 100 KiB of a console (nova/virt/libvirt/driver.py
    MAX_CONSOLE_BYTES), so that it is to be read as the text appears.  Nobody
    can ask through a console: guests print everything twice instead, see
    ``guest.orders.FleetOrders``.

    Threads share the client: novaclient keeps nothing of a request (with its
    timings off, as Rally has them), keystoneauth logs in under a lock and is
    made for concurrent requests (``rate_semaphore`` of its sessions), and
    connections come from a pool.
    """

    can_ask_again = False

    def __init__(
        self, nova: Any, *, pace: readers.RequestPace | None = None
    ) -> None:
        """Create the transport; nothing is read yet.

        :param nova: novaclient
        :param pace: pace of requests to Nova; None: its default
        """
        self._nova = nova
        self._pace = pace or readers.RequestPace(readers.REQUESTS_PER_SECOND)
        self._last: dict[str, str] = {}

    def read(self, guest: servers.Guest) -> str:
        """Return the part of the console that Nova still has.

        :raises TransportError: Nova did not return it
        """
        self._pace.wait()
        try:
            text = self._nova.servers.get_console_output(guest.server_id)
        except (
            nova_exceptions.ClientException,
            keystone_exceptions.ClientException,
        ) as error:
            raise TransportError(
                f'console of server {guest.server_id}: {error}'
            ) from error
        except servers.NO_ANSWER_OF_THE_API as error:
            raise TransportError(
                f'console of server {guest.server_id}: {servers.NOT_THE_API}'
            ) from error
        if not isinstance(text, str):
            raise TransportError(
                f'console of server {guest.server_id}: found'
                f' {type(text).__name__}, expected text'
            )
        self._last[guest.name] = text
        return text

    def ask_again(self, guest: servers.Guest, missing: frames.Missing) -> str:
        """Return nothing: a console cannot be asked."""
        return ''

    def evidence(self, guest: servers.Guest) -> str:
        """The console as it was last read, now if it never was."""
        if guest.name in self._last:
            return self._last[guest.name]
        try:
            return self.read(guest)
        except TransportError as error:
            return f'({error})'

    def close(self) -> None:
        """Do nothing: the console needs no resources."""
