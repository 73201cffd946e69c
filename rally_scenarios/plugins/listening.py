# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Reading the guests' consoles through Nova as the text appears.

Nova keeps the last 100 KiB of a console (nova/virt/libvirt/driver.py
MAX_CONSOLE_BYTES), so it is read again and again, and what was new is added
to what is known.  This is the transport: what the text means is for
``guest.frames`` to say.
"""

from collections.abc import Callable
from collections.abc import Sequence
import time
from typing import Any

from novaclient import exceptions as nova_exceptions
from oslo_log import log as logging
from rally.common import utils as rally_utils

from rally_scenarios.guest import frames
from rally_scenarios.guest import verdict
from rally_scenarios.plugins import cloud_guests

LOG = logging.getLogger(__name__)

# Every so many readings, servers of guests that are not done are looked at.
_LOOK_EVERY = 6


class Listener:
    """Ears for all guests of a run."""

    def __init__(self, *, nova: Any, run: str,
                 guests: Sequence[cloud_guests.Guest],
                 pause_seconds: float) -> None:
        """Begin with nothing heard.

        :param nova: novaclient
        :param run: nonce of the run
        :param guests: whose consoles to read; the first one leads
        :param pause_seconds: between two readings of all consoles
        """
        self._nova = nova
        self._pause_seconds = pause_seconds
        self._guests = tuple(guests)
        self._heard = {guest.name: frames.GuestConsole(
            run=run, guest=guest.name) for guest in guests}
        self._told: dict[str, int] = {}
        self._dead: set[str] = set()
        self.texts: dict[str, str] = {}

    def heard(self, guest: cloud_guests.Guest) -> frames.GuestConsole:
        """What is known of one guest."""
        return self._heard[guest.name]

    def listen_for_start(self, timeout_seconds: float) -> bool:
        """Read consoles until the leader gave the start.

        :returns: whether it did; False also if it ended or died before
        """
        leader = self._guests[0]
        heard = self.heard(leader)

        def waited_for():
            settled = (heard.event("LEADING") or verdict.has_ended(heard)
                       or leader.name in self._dead)
            return [] if settled else [leader]
        self._listen(waited_for, timeout_seconds)
        return heard.event("LEADING") is not None

    def listen_to_end(self, timeout_seconds: float) -> None:
        """Read consoles until all guests that live have ended.

        :param timeout_seconds: after that, return whoever is missing
        """
        self._listen(
            lambda: [guest for guest in self._guests
                     if guest.name not in self._dead
                     and not verdict.has_ended(self.heard(guest))],
            timeout_seconds)

    def _listen(self, waited_for: Callable[[], list[cloud_guests.Guest]],
                timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        readings = 0
        while waited_for():
            if time.monotonic() > deadline:
                LOG.warning("Waited %d s, still nothing from %s",
                            timeout_seconds,
                            ", ".join(guest.name for guest in waited_for()))
                return
            readings += 1
            for guest in self._guests:
                if verdict.has_ended(self.heard(guest)):
                    continue
                self._read(guest)
                if readings % _LOOK_EVERY == 0:
                    self._look(guest)
            rally_utils.interruptable_sleep(self._pause_seconds)

    def _read(self, guest: cloud_guests.Guest) -> None:
        try:
            text = self._nova.servers.get_console_output(guest.server_id)
        except nova_exceptions.ClientException as error:
            # The next reading may succeed; the deadline ends it otherwise.
            LOG.info("Could not read the console of %s: %s", guest.name,
                     error)
            return
        self.texts[guest.name] = text
        heard = self.heard(guest)
        heard.feed(text)
        for event in heard.events[self._told.get(guest.name, 0):]:
            LOG.info("%s (%s): %s %s %s", guest.name, guest.tier, event.name,
                     " ".join(f"{k}={v}" for k, v in event.fields.items()),
                     event.text)
        self._told[guest.name] = len(heard.events)

    def _look(self, guest: cloud_guests.Guest) -> None:
        status = self._nova.servers.get(guest.server_id).status
        if status != "ACTIVE":
            LOG.warning("Server %s of guest %s is %s", guest.server_id,
                        guest.name, status)
            self._dead.add(guest.name)
