# SPDX-License-Identifier: Apache-2.0

"""The framed lines that guests print, and what may be believed of them.

A console mixes what the guest's script prints with whatever else is printed
there, loses characters, and is cut off at both ends.  So every line carries
its own digest, and a result, which takes many lines, carries one more::

    @ctiers DIGEST RUN GUEST event NUMBER NAME [KEY=VALUE ...] [: TEXT]
    @ctiers DIGEST RUN GUEST data SLOT SEQ/TOTAL PAYLOAD-DIGEST BASE64

DIGEST is the first 16 hexadecimal digits of the SHA-256 of what follows it
(and one space); PAYLOAD-DIGEST the same of the gzip data that the BASE64
parts 1..TOTAL make up, which holds fio's json+ output and what changed over
time behind it (``figures.fio.iops_log``).  (Not POSIX cksum: Debian's
busybox-static has no such applet.)

Everything here is bounded, since a guest may print anything: lines, frames,
events, and what is unpacked.  This module must not know how a console is
read, nor what a schedule is.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
import hashlib
import itertools
import re
import zlib

from cinder_tiers.domain import text as escaping

_MARK = '@ctiers '
_MAX_LINE_CHARS = 800
_MAX_EVENTS = 1000
#: Of a result, unpacked.
MAX_UNPACKED_BYTES = 6 * 1024**2
#: What guests send is packed to a fifth of it, or less: the 22 to 26 bytes of
#: a second of a process have 4 to 5.
PACKED_TO = 1 / 4
# A line has 360 bytes of what is packed.
_MAX_FRAMES_PER_SLOT = 4500
# That are listed as missing, of one slot.
_MAX_MISSING = 400
#: Of all results of a guest, packed, in BASE64: more than a thousand of the
#: usual size.
MAX_KEPT_CHARS = 32 * 1024**2

_FRAME = re.compile(
    r'@ctiers (?P<digest>[0-9a-f]{16}) '
    r'(?P<text>(?P<run>[0-9a-f]+) (?P<guest>\w+) (?P<kind>event|data) '
    r'(?P<number>[0-9]{1,6}) (?P<rest>.*))',
    re.ASCII,
)
_DATA = re.compile(
    r'(?P<seq>[0-9]{1,6})/(?P<total>[0-9]{1,6}) '
    r'(?P<digest>[0-9a-f]{16}) (?P<base64>[A-Za-z0-9+/]+={0,2})',
    re.ASCII,
)
_EVENT = re.compile(
    r'(?P<name>[A-Z-]{1,20})(?P<fields>(?: [a-z]+=[!-~]*)*)'
    r'(?: : (?P<text>[ -~]*))?',
    re.ASCII,
)


class DamagedResult(ValueError):
    """A slot's result did not arrive whole; the message says what is amiss."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something a guest's script says of itself."""

    #: counts up from 1 within a guest
    number: int
    #: BOOT PREPARED ROUND PRECONDITIONED READY BROKEN LEADING GO LATE START
    #: END FIO-FAILED FAILED DONE REPEATED KEPT
    name: str
    #: {key: value} as printed
    fields: dict[str, str] = field(default_factory=dict)
    #: free text, empty when there is none
    text: str = ''

    def integer(self, key: str) -> int | None:
        """A field as a number; None when it is missing or none."""
        found = re.fullmatch(r'-?[0-9]{1,15}', self.fields.get(key, ''))
        return int(found.group()) if found else None


def harmless(text: str) -> str:
    """Text of a guest as it may stand in a report.

    Rally puts outputs and errors unescaped into the script of its HTML
    reports, where ``</script>`` would end it.

    :param text: anything
    :returns: printable characters but ``<``, others as ``?``
    """
    # Rally logs it, too, maybe in a job of a CI system.
    return escaping.printable(
        ''.join(c if c.isprintable() and c != '<' else '?' for c in text)
    )


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Parts of a guest's console known to be missing; false if complete."""

    #: numbers below the highest one heard
    events: tuple[int, ...] = ()
    #: {slot: numbers of its lines, from 1, the first of many; empty: all of
    #: them}
    lines: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether anything is missing."""
        return bool(self.events or self.lines)

    @property
    def count(self) -> int:
        """Number of events and lines; a slot of unknown length counts as 1."""
        return len(self.events) + sum(
            len(lines) or 1 for lines in self.lines.values()
        )


def short_digest(data: bytes) -> str:
    """First 16 hexadecimal digits of the SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()[:16]


def _unpack(packed: bytes) -> bytes:
    # 31: a gzip header is required, zlib.h inflateInit2.
    inflater = zlib.decompressobj(wbits=31)
    try:
        text = inflater.decompress(packed, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise DamagedResult(f'not gzip data: {error}') from error
    if inflater.unconsumed_tail:
        raise DamagedResult(f'unpacks to more than {MAX_UNPACKED_BYTES} bytes')
    if not inflater.eof or inflater.unused_data:
        raise DamagedResult('gzip data is truncated or followed by more')
    return text


class GuestConsole:
    """Events and results heard from one guest so far.

    Consoles are read repeatedly and overlap: a known line is passed over, so
    the same text may be fed any number of times.
    """

    def __init__(self, *, run: str, guest: str) -> None:
        """Begin with nothing heard.

        :param run: nonce of the run; lines of other runs do not count
        :param guest: name of the guest whose console this is
        """
        self._run = run
        self._guest = guest
        # Of lines that are known, what tells them from others: a large fleet
        # has some hundred thousand.
        self._known: set[int] = set()
        self._events: dict[int, Event] = {}
        self._parts: dict[int, dict[int, str]] = {}
        self._claims: dict[int, set[tuple[int, str]]] = {}
        self._damaged: set[str] = set()
        self._too_long: dict[int, int] = {}
        self._kept_chars = 0

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the events heard, in the order of their numbers."""
        return tuple(self._events[n] for n in sorted(self._events))

    @property
    def damaged_lines(self) -> int:
        """Return the number of different unusable lines, at most 1000."""
        return len(self._damaged)

    def event(self, name: str) -> Event | None:
        """The first event of that name, None when there was none."""
        return next((e for e in self.events if e.name == name), None)

    @property
    def missing(self) -> Missing:
        """Return the parts that can be requested again.

        Excludes contradictions, such as two results for one slot: no answer
        resolves them.
        """
        ended = [
            event.integer('slot')
            for event in self.events
            if event.name == 'END'
        ]
        lines: dict[int, tuple[int, ...]] = {
            slot: ()
            for slot in ended
            if slot is not None
            and slot not in self._claims
            and slot not in self._too_long
        }
        for slot, claims in self._claims.items():
            if len(claims) == 1:
                ((total, _digest),) = claims
                absent = tuple(
                    itertools.islice(self._absent(slot, total), _MAX_MISSING)
                )
                if absent:
                    lines[slot] = absent
        last = max(self._events, default=0)
        return Missing(
            lines=lines,
            events=tuple(
                number
                for number in range(1, min(last, _MAX_EVENTS))
                if number not in self._events
            ),
        )

    def _absent(self, slot: int, total: int) -> Iterator[int]:
        parts = self._parts[slot]
        return (seq for seq in range(1, total + 1) if seq not in parts)

    def feed(self, text: str) -> None:
        """Take in console text, old and new.

        :param text: any text; what is unusable is counted, not raised
        """
        for line in text.split('\n'):
            start = line.rfind(_MARK)
            if start < 0:
                continue
            line = line[start : start + _MAX_LINE_CHARS].rstrip('\r')
            if hash(line) in self._known or self._take(line):
                continue
            # It may be in the making: then _take forgets it later.
            if len(self._damaged) < _MAX_EVENTS:
                self._damaged.add(line)

    def result(self, slot: int) -> bytes:
        """Return the unpacked result of a slot.

        :raises DamagedResult: the result is missing, incomplete, or does not
            match its checksum
        """
        claims = self._claims.get(slot, set())
        if not claims and slot in self._too_long:
            raise DamagedResult(
                f'it has {self._too_long[slot]} lines: expected at most'
                f' {_MAX_FRAMES_PER_SLOT}'
            )
        if not claims:
            raise DamagedResult('nothing of it arrived')
        if len(claims) > 1:
            raise DamagedResult(
                f'its lines announce {len(claims)} different results'
            )
        ((total, digest),) = claims
        parts = self._parts[slot]
        missing = list(self._absent(slot, total))
        if missing:
            raise DamagedResult(
                f'{len(missing)} of {total} lines are missing, the first is'
                f' line {missing[0]}'
            )
        joined = ''.join(parts[seq] for seq in range(1, total + 1))
        try:
            packed = base64.b64decode(joined, validate=True)
        except binascii.Error as error:
            raise DamagedResult(f'not base64: {error}') from error
        if short_digest(packed) != digest:
            raise DamagedResult(
                f'its digest is {short_digest(packed)}, expected {digest}'
            )
        return _unpack(packed)

    def forget_results(self) -> None:
        """Keep only what the guest said of itself.

        Not before the last of its results was asked for.
        """
        self._parts.clear()
        self._claims.clear()

    def _take(self, line: str) -> bool:
        """Take in one marked line; False when it is unusable."""
        frame = _FRAME.fullmatch(line)
        if (
            frame is None
            or frame['run'] != self._run
            or frame['guest'] != self._guest
            or short_digest(frame['text'].encode('utf-8', 'replace'))
            != frame['digest']
        ):
            return False
        take = (
            self._take_event if frame['kind'] == 'event' else (self._take_data)
        )
        if not take(int(frame['number']), frame['rest']):
            return False
        self._known.add(hash(line))
        # An earlier reading may have ended in the middle of this line.
        self._damaged = {d for d in self._damaged if not line.startswith(d)}
        return True

    def _take_event(self, number: int, rest: str) -> bool:
        found = _EVENT.fullmatch(rest)
        if (
            found is None
            or number in self._events
            or len(self._events) >= _MAX_EVENTS
        ):
            return False
        self._events[number] = Event(
            number=number,
            name=found['name'],
            text=found['text'] or '',
            fields=dict(
                word.split('=', 1) for word in found['fields'].split()
            ),
        )
        return True

    def _take_data(self, slot: int, rest: str) -> bool:
        found = _DATA.fullmatch(rest)
        if found is None:
            return False
        seq, total = int(found['seq']), int(found['total'])
        if not 1 <= seq <= total:
            return False
        if total > _MAX_FRAMES_PER_SLOT:
            if slot in self._too_long or len(self._too_long) >= _MAX_EVENTS:
                return False
            self._too_long[slot] = total
            return True
        if slot not in self._parts and len(self._parts) >= _MAX_EVENTS:
            return False
        self._kept_chars += len(rest)
        if self._kept_chars > MAX_KEPT_CHARS:
            return False
        parts = self._parts.setdefault(slot, {})
        claims = self._claims.setdefault(slot, set())
        if parts.setdefault(seq, found['base64']) != found['base64']:
            # Two different texts for one line, both intact: neither counts.
            claims.add((-1, 'a line arrived in two versions'))
        if len(claims) < 4:
            claims.add((total, found['digest']))
        return True
