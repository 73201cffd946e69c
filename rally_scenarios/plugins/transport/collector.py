# SPDX-License-Identifier: Apache-2.0

"""Collecting what guests say: reading again and again until all is there.

How text comes is for a ``transport`` to know, what it means for
``guest.frames``, and how many are read at once for ``readers``.  This is when
to read, when to ask again, and when to stop.

Threads do nothing but wait for guests and for Nova: what they bring is taken
in here, by one thread, in the order of guests.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import time
from typing import Any

from keystoneauth1 import exceptions as keystone_exceptions
from novaclient import exceptions as nova_exceptions
from oslo_log import log as logging

from cinder_tiers.figures.fleet import common_clock
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from rally_scenarios.plugins import few_lines
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import console
from rally_scenarios.plugins.transport import readers as guest_readers

LOG = logging.getLogger(__name__)

# Every so many readings of a guest, its server is looked at.
_LOOK_EVERY = 6
# How long one wait for a reading is, so that a deadline is kept.
_STEP_SECONDS = 0.5
# How long to wait for consoles of guests that are not complete, in the end.
_LAST_WORDS_SECONDS = 60
# Of a guest that does not answer in the end, what is shown of its last text.
_KEPT_CHARS = 4096
# Of a guest, that differ and are told.
_MOST_PROBLEMS = 10
# What guests say when something is wrong.
_TROUBLE = frozenset({'BROKEN', 'LATE', 'FIO-FAILED', 'FAILED'})


def _nothing(_guest: str, _event: frames.Event) -> None:
    """Take in nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Reading:
    """A thread's reading of one guest."""

    #: when it was begun and had, on the host's clock
    began_ms: int
    by_ms: int
    #: None if it could not be had
    text: str | None = None
    #: why not
    problems: tuple[str, ...] = ()
    #: of the server, None if it was not asked for, or not told
    status: str | None = None
    #: what was asked for; None: the guest was only read
    asked: frames.Missing | None = None


class ResultCollector:
    """Collects the results of all guests of a run.

    :ivar readings: {guest: how often it was read}
    """

    def __init__(
        self,
        *,
        nova: Any,
        run: str,
        guests: Sequence[servers.Guest],
        pause_seconds: float,
        transport: console.Transport | None = None,
        clock: Callable[[], float] = time.monotonic,
        readers: int = guest_readers.READERS,
        pace: guest_readers.RequestPace | None = None,
        last_words_seconds: float = _LAST_WORDS_SECONDS,
        hear_event: Callable[[str, frames.Event], None] = _nothing,
    ) -> None:
        """Create a collector; nothing is read yet.

        :param nova: novaclient, used by several threads
        :param run: nonce of the run
        :param guests: guests to read
        :param pause_seconds: pause between two readings of a guest
        :param transport: transport that reads them, used by several threads;
            None: their consoles
        :param clock: clock of the host in seconds, for the times of readings
        :param readers: number of guests that are read at once
        :param pace: pace of requests to Nova; None: its default
        :param last_words_seconds: how long to wait in the end for silent
            guests
        :param hear_event: called once with each event of a guest
        """
        self._clock = clock
        self._nova = nova
        self._pace = pace or guest_readers.RequestPace(
            guest_readers.REQUESTS_PER_SECOND
        )
        self._transport = transport or console.ConsoleTransport(
            nova, pace=self._pace
        )
        self._readers = guest_readers.Readers(
            [guest.name for guest in guests], readers=readers
        )
        self._pause_seconds = pause_seconds
        self._last_words_seconds = last_words_seconds
        self._guests = {guest.name: guest for guest in guests}
        self._consoles = {
            guest.name: frames.GuestConsole(run=run, guest=guest.name)
            for guest in guests
        }
        self._told: dict[str, int] = {}
        self._lines = few_lines.FewLines()
        self._troubled: set[tuple[str, str]] = set()
        self._hear_event = hear_event
        self._read_began_ms: dict[str, int] = {}
        self._first_seen: dict[
            str, dict[common_clock.Key, common_clock.FirstSeen]
        ] = {name: {} for name in self._guests}
        self._problems: dict[str, set[str]] = {}
        self._dead: set[str] = set()
        self._ended: set[str] = set()
        self._complete: set[str] = set()
        self._leads = False
        # When a guest is to be read next, and what to ask it for then.
        self._due = dict.fromkeys(self._guests, 0.0)
        self._to_ask: dict[str, frames.Missing] = {}
        self.readings = dict.fromkeys(self._guests, 0)
        self._last_text: dict[str, str] = {}
        self._evidence: dict[str, str] = {}

    def console(self, guest: servers.Guest) -> frames.GuestConsole:
        """Return the console of one guest."""
        return self._consoles[guest.name]

    @property
    def first_seen(
        self,
    ) -> dict[str, dict[common_clock.Key, common_clock.FirstSeen]]:
        """{guest: {event of a slot: when it was first seen}}."""
        return self._first_seen

    def evidence(self, guest: servers.Guest) -> str:
        """The guest's console, for who judges it; may be empty."""
        if guest.name not in self._evidence:
            self._evidence[guest.name] = self._transport.evidence(guest)
        return self._evidence[guest.name]

    def close(self) -> None:
        """Let go of what the transport holds, without waiting."""
        self._readers.close()
        self._transport.close()

    def wait_for_leader(self, timeout_seconds: float) -> bool:
        """Read until a guest leads, the first one or who succeeds it.

        :returns: whether one does; False also if all ended or died before
        """
        self._listen(
            lambda: (
                []
                if self._leads
                else [
                    name
                    for name in self._guests
                    if name not in self._dead and name not in self._ended
                ][:1]
            ),
            timeout_seconds,
        )
        if not self._leads:
            self._hear_last_words()
        return self._leads

    @property
    def consoles(self) -> Mapping[str, frames.GuestConsole]:
        """{guest: what is known of it}."""
        return self._consoles

    def collect(
        self,
        timeout_seconds: float,
        is_enough: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read until the results of all living guests are complete.

        :param timeout_seconds: time limit
        :param is_enough: called after each reading; True ends the collection
        """
        self._listen(
            lambda: (
                []
                if is_enough()
                else [
                    name
                    for name in self._guests
                    if name not in self._dead and name not in self._complete
                ]
            ),
            timeout_seconds,
        )
        if not is_enough():
            self._hear_last_words()

    def _hear_last_words(self) -> None:
        """Read what can still be had of guests with missing parts.

        Reads their consoles, too, which may have the last words of guests that
        the transport did not reach.
        """
        left = [
            name
            for name in self._guests
            if self._consoles[name].missing or name not in self._ended
        ]
        self._to_ask = {
            name: self._consoles[name].missing
            for name in left
            if self._transport.can_ask_again and self._consoles[name].missing
        }
        deadline = time.monotonic() + self._last_words_seconds
        while left and time.monotonic() < deadline:
            for name in left:
                if name in self._to_ask:
                    self._start(name)
                else:
                    self._readers.start(
                        name,
                        functools.partial(
                            self._last_reading, self._guests[name]
                        ),
                    )
            for name, future in self._readers.finished(_STEP_SECONDS):
                reading = future.result()
                if isinstance(reading, str):
                    self._evidence[name] = reading
                    self._take_in(name, reading)
                    left.remove(name)
                else:
                    self._hear(name, reading)
        for name in left:
            self._evidence[name] = (
                f'{self._last_text.get(name, "")}\n(server'
                f' {self._guests[name].server_id}: no answer within'
                f' {self._last_words_seconds} s)\n'
            ).lstrip()

    def _last_reading(self, guest: servers.Guest) -> str:
        """Read a guest's console, in a thread."""
        return self._transport.evidence(guest)

    def _listen(
        self, waited_for: Callable[[], list[str]], timeout_seconds: float
    ) -> None:
        deadline = time.monotonic() + timeout_seconds
        while missing := waited_for():
            if time.monotonic() > deadline:
                LOG.warning(
                    'Waited %d s, still nothing from %s',
                    timeout_seconds,
                    ', '.join(missing),
                )
                return
            next_due = self._start_what_is_due()
            for name, future in self._readers.finished(
                min(_STEP_SECONDS, max(0, next_due - time.monotonic()))
            ):
                self._hear(name, future.result())

    def _start_what_is_due(self) -> float:
        """Read whose turn it is, longest due first.

        :returns: when the next one is due that is not being read
        """
        now = time.monotonic()
        idle = sorted(
            (due, place, name)
            for place, (name, due) in enumerate(self._due.items())
            if name not in self._complete
            and not self._readers.is_under_way(name)
        )
        for due, _place, name in idle:
            if due > now:
                return due
            self._start(name)
        return now + _STEP_SECONDS

    def _start(self, name: str) -> None:
        """Read a guest, or ask it again, if there is a place for it."""
        ask = self._to_ask.get(name)
        started = self._readers.start(
            name,
            functools.partial(
                self._read,
                self._guests[name],
                ask,
                look=ask is None
                and self.readings[name] % _LOOK_EVERY == _LOOK_EVERY - 1,
            ),
        )
        if not started:
            return
        self._to_ask.pop(name, None)
        if ask is None:
            self.readings[name] += 1
        else:
            LOG.log(
                self._lines.level('asked again'),
                'Asking %s again for %d events and lines',
                name,
                ask.count,
            )

    def _read(
        self, guest: servers.Guest, ask: frames.Missing | None, *, look: bool
    ) -> _Reading:
        """Read one guest; in a thread, which changes nothing here."""
        began_ms = int(self._clock() * 1000)
        text, problems = None, []
        try:
            if ask is None:
                text = self._transport.read(guest)
            else:
                text = self._transport.ask_again(guest, ask)
        except console.TransportError as error:
            # The next reading may succeed; the deadline ends it otherwise.
            problems.append(str(error))
        by_ms = int(self._clock() * 1000)
        status = None
        if look:
            try:
                self._pace.wait()
                status = self._nova.servers.get(guest.server_id).status
            except (
                nova_exceptions.ClientException,
                keystone_exceptions.ClientException,
            ) as error:
                problems.append(f'server {guest.server_id}: {error}')
            except servers.NO_ANSWER_OF_THE_API:
                problems.append(
                    f'server {guest.server_id}: {servers.NOT_THE_API}'
                )
        return _Reading(
            began_ms=began_ms,
            by_ms=by_ms,
            text=text,
            problems=tuple(problems),
            status=status,
            asked=ask,
        )

    def _hear(self, name: str, reading: _Reading) -> None:
        """Take in what a thread brought, and say what is to be read next."""
        for problem in reading.problems:
            self._say(name, problem)
        if reading.text is not None:
            self._take_in(name, reading.text, reading)
        if reading.status is not None:
            self._note_status(name, reading.status)
        self._due[name] = time.monotonic() + self._pause_seconds
        if (
            reading.text is None
            or not self._transport.can_ask_again
            or name not in self._ended
        ):
            return
        # As long as answers bring some of it.
        missing = self._consoles[name].missing
        if missing and (
            reading.asked is None or missing.count < reading.asked.count
        ):
            self._to_ask[name] = missing
            self._due[name] = 0

    def _say(self, name: str, problem: str) -> None:
        """Once, and not at every reading."""
        # Each request has an id of its own.
        told = problem.partition(' (Request-ID: ')[0]
        known = self._problems.setdefault(name, set())
        if told in known or len(known) >= _MOST_PROBLEMS:
            return
        known.add(told)
        LOG.log(
            self._lines.level(
                'could not be read'
                if name in self._last_text
                # Most have no console before they boot.
                else 'not heard yet'
            ),
            'Could not read %s: %s',
            name,
            problem,
        )

    def _take_in(
        self, name: str, text: str, reading: _Reading | None = None
    ) -> None:
        """Add text to a guest's console.

        :param reading: reading with the text; None: its time is unknown
        """
        console = self._consoles[name]
        console.feed(text)
        self._last_text[name] = text[-_KEPT_CHARS:]
        events = console.events
        if verdict.has_ended(console):
            self._ended.add(name)
        if verdict.is_complete(console):
            self._complete.add(name)
        self._leads = self._leads or console.event('LEADING') is not None
        self._note_times(name, reading)
        for event in events[self._told.get(name, 0) :]:
            self._hear_event(name, event)
            LOG.log(
                self._lines.level(event.name)
                if self._is_trouble(name, event)
                else logging.DEBUG,
                '%s (%s): %s %s %s',
                name,
                self._guests[name].tier,
                event.name,
                ' '.join(f'{k}={v}' for k, v in event.fields.items()),
                event.text,
            )
        self._told[name] = len(events)

    def _is_trouble(self, name: str, event: frames.Event) -> bool:
        """Return whether to report at once: the first event of each kind."""
        if event.name not in _TROUBLE or (name, event.name) in self._troubled:
            return False
        self._troubled.add((name, event.name))
        return True

    def _note_times(self, name: str, reading: _Reading | None) -> None:
        """Note of what is new that it came since the reading before."""
        console, known = self._consoles[name], self._first_seen[name]
        only_read = reading is not None and reading.asked is None
        by_ms = int(self._clock() * 1000) if reading is None else reading.by_ms
        after_ms = self._read_began_ms.get(name) if only_read else None
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
        if name in self._ended:
            self._read_began_ms.pop(name, None)
        elif only_read:
            self._read_began_ms[name] = reading.began_ms

    def _note_status(self, name: str, status: str) -> None:
        if status != 'ACTIVE' and name not in self._dead:
            LOG.log(
                self._lines.level(f'server is {status}', logging.WARNING),
                'Server %s of guest %s is %s',
                self._guests[name].server_id,
                name,
                status,
            )
            self._dead.add(name)
