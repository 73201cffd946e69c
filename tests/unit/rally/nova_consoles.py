# SPDX-License-Identifier: Apache-2.0

"""Nova as a reader of consoles sees it; consoles are files.

It forgets what Nova forgets, and says what Nova says when it is not well.
"""

import types

from keystoneauth1 import exceptions as keystone_exceptions
from novaclient import exceptions as nova_exceptions

# nova/virt/libvirt/driver.py MAX_CONSOLE_BYTES
KEPT_BYTES = 100 * 1024


class NovaConsoles:
    """In place of novaclient.

    :ivar paths: {server id: file of its console}
    :ivar unreachable: ids of servers whose console Nova cannot give
    :ivar stopped: ids of servers that are not active any longer
    """

    def __init__(self, paths):
        self.paths = dict(paths)
        self.unreachable = set()
        self.stopped = set()
        self._refusals = 0

    @property
    def servers(self):
        """As novaclient has it."""
        return self

    def get(self, server_id):
        """A server with its status."""
        return types.SimpleNamespace(
            id=server_id,
            status='SHUTOFF' if server_id in self.stopped else 'ACTIVE',
        )

    def get_console_output(self, server_id):
        """The last 100 KiB, as text."""
        if server_id in self.unreachable:
            self._refusals += 1
            if self._refusals % 2:
                raise nova_exceptions.ClientException(503, 'try later')
            raise keystone_exceptions.ConnectFailure('connection refused')
        if not self.paths[server_id].exists():
            raise nova_exceptions.Conflict(409, 'not ready')
        with self.paths[server_id].open('rb') as console:
            size = console.seek(0, 2)
            console.seek(max(0, size - KEPT_BYTES))
            return console.read().decode('utf-8', 'replace')
