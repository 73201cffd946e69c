# SPDX-License-Identifier: Apache-2.0

"""Collecting what guests say: reading again and again until all is there.

How text comes is for a ``transport`` to know, what it means for
``guest.frames``.  This is when to read, when to ask again, and when to stop.
"""

from collections.abc import Callable
from collections.abc import Sequence
import time
from typing import Any

from keystoneauth1 import exceptions as keystone_exceptions
from novaclient import exceptions as nova_exceptions
from oslo_log import log as logging
from rally.common import utils as rally_utils

from rally_scenarios.bench.fleet import common_clock
from rally_scenarios.bench.fleet import verdict
from rally_scenarios.bench.protocol import frames
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import console

LOG = logging.getLogger(__name__)

# Every so many readings, servers of guests that are not done are looked at.
_LOOK_EVERY = 6


class ResultCollector:
    """Collects the results of all guests of a run."""

    def __init__(
        self,
        *,
        nova: Any,
        run: str,
        guests: Sequence[servers.Guest],
        pause_seconds: float,
        transport: console.Transport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with nothing read.

        :param nova: novaclient
        :param run: nonce of the run
        :param guests: whom to hear
        :param pause_seconds: between two readings of all guests
        :param transport: how to read them; None: their consoles
        :param clock: the host's, in seconds, to note when guests were read
        """
        self._clock = clock
        self._nova = nova
        self._transport = transport or console.ConsoleTransport(nova)
        self._pause_seconds = pause_seconds
        self._guests = tuple(guests)
        self._consoles = {
            guest.name: frames.GuestConsole(run=run, guest=guest.name)
            for guest in guests
        }
        self._told: dict[str, int] = {}
        self._read_began_ms: dict[str, int] = {}
        self._first_seen: dict[
            str, dict[common_clock.Key, common_clock.FirstSeen]
        ] = {}
        self._problems: dict[str, str] = {}
        self._dead: set[str] = set()

    def console(self, guest: servers.Guest) -> frames.GuestConsole:
        """What is known of one guest."""
        return self._consoles[guest.name]

    @property
    def first_seen(
        self,
    ) -> dict[str, dict[common_clock.Key, common_clock.FirstSeen]]:
        """{guest: {event of a slot: when it was first seen}}."""
        return self._first_seen

    def evidence(self, guest: servers.Guest) -> str:
        """The guest's console, for who judges it; may be empty."""
        return self._transport.evidence(guest)

    def close(self) -> None:
        """Let go of what the transport holds."""
        self._transport.close()

    def wait_for_leader(self, timeout_seconds: float) -> bool:
        """Read until a guest leads, the first one or who succeeds it.

        :returns: whether one does; False also if all ended or died before
        """

        def leads() -> bool:
            return any(
                console.event('LEADING') for console in self._consoles.values()
            )

        def waited_for() -> list[servers.Guest]:
            return (
                []
                if leads()
                else [
                    guest
                    for guest in self._guests
                    if guest.name not in self._dead
                    and not verdict.has_ended(self.console(guest))
                ][:1]
            )

        self._listen(waited_for, timeout_seconds)
        if not leads():
            self._read_what_is_missing()
        return leads()

    def collect(self, timeout_seconds: float) -> None:
        """Read until the results of all guests that live are complete.

        :param timeout_seconds: after that, return the guests that are missing
        """
        self._listen(
            lambda: [
                guest
                for guest in self._guests
                if guest.name not in self._dead
                and not self._is_complete(guest)
            ],
            timeout_seconds,
        )
        self._read_what_is_missing()

    def _read_what_is_missing(self) -> None:
        """What else can be had of those of whom something is missing.

        Their consoles, too: where the transport did not reach them, these may
        have their last words.
        """
        for guest in self._guests:
            if self.console(guest).missing or not verdict.has_ended(
                self.console(guest)
            ):
                self._ask_again(guest)
                self._take_in(guest, self.evidence(guest))

    def _is_complete(self, guest: servers.Guest) -> bool:
        return verdict.is_complete(self.console(guest))

    def _listen(
        self,
        waited_for: Callable[[], list[servers.Guest]],
        timeout_seconds: float,
    ) -> None:
        deadline = time.monotonic() + timeout_seconds
        readings = 0
        while waited_for():
            if time.monotonic() > deadline:
                LOG.warning(
                    'Waited %d s, still nothing from %s',
                    timeout_seconds,
                    ', '.join(guest.name for guest in waited_for()),
                )
                return
            readings += 1
            for guest in self._guests:
                if self._is_complete(guest):
                    continue
                self._read(guest)
                if verdict.has_ended(self.console(guest)):
                    self._ask_again(guest)
                if readings % _LOOK_EVERY == 0:
                    self._look(guest)
            rally_utils.interruptable_sleep(self._pause_seconds)

    def _read(self, guest: servers.Guest) -> None:
        began_ms = int(self._clock() * 1000)
        try:
            text = self._transport.read(guest)
        except console.TransportError as error:
            # The next reading may succeed; the deadline ends it otherwise.
            self._say(guest, str(error))
            return
        self._take_in(guest, text, began_ms)

    def _ask_again(self, guest: servers.Guest) -> None:
        """Ask for what is missing as long as answers bring some of it."""
        missing = self.console(guest).missing
        while missing and self._transport.can_ask_again:
            LOG.info(
                'Asking %s again for %d events and lines',
                guest.name,
                missing.count,
            )
            try:
                text = self._transport.ask_again(guest, missing)
            except console.TransportError as error:
                self._say(guest, str(error))
                return
            self._take_in(guest, text)
            before, missing = missing, self.console(guest).missing
            if missing.count >= before.count:
                return

    def _say(self, guest: servers.Guest, problem: str) -> None:
        """Once, and not at every reading."""
        # Each request has an id of its own.
        told = problem.partition(' (Request-ID: ')[0]
        if self._problems.get(guest.name) != told:
            LOG.info('Could not read %s: %s', guest.name, problem)
        self._problems[guest.name] = told

    def _take_in(
        self, guest: servers.Guest, text: str, began_ms: int | None = None
    ) -> None:
        """Add to what is known.

        :param began_ms: when reading it began, unless it was asked for again
        """
        console = self.console(guest)
        console.feed(text)
        self._note_times(guest.name, began_ms)
        for event in console.events[self._told.get(guest.name, 0) :]:
            LOG.info(
                '%s (%s): %s %s %s',
                guest.name,
                guest.tier,
                event.name,
                ' '.join(f'{k}={v}' for k, v in event.fields.items()),
                event.text,
            )
        self._told[guest.name] = len(console.events)

    def _note_times(self, guest: str, began_ms: int | None) -> None:
        """Note of what is new that it came since the reading before."""
        console, known = (
            self._consoles[guest],
            self._first_seen.setdefault(guest, {}),
        )
        by_ms = int(self._clock() * 1000)
        after_ms = None if began_ms is None else self._read_began_ms.get(guest)
        for event in console.events:
            key = event.name, event.integer('slot')
            if key[1] is not None and key not in known:
                known[key] = common_clock.FirstSeen(
                    after_ms=after_ms,
                    by_ms=by_ms,
                    said_ms=event.integer(
                        'end' if event.name == 'END' else 'at'
                    ),
                )
        # What comes after a guest is done was said before, and missed.
        if verdict.has_ended(console):
            self._read_began_ms.pop(guest, None)
        elif began_ms is not None:
            self._read_began_ms[guest] = began_ms

    def _look(self, guest: servers.Guest) -> None:
        try:
            status = self._nova.servers.get(guest.server_id).status
        except (
            nova_exceptions.ClientException,
            keystone_exceptions.ClientException,
        ) as error:
            self._say(guest, f'server {guest.server_id}: {error}')
            return
        if status != 'ACTIVE' and guest.name not in self._dead:
            LOG.warning(
                'Server %s of guest %s is %s',
                guest.server_id,
                guest.name,
                status,
            )
            self._dead.add(guest.name)
