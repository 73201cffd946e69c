# SPDX-License-Identifier: Apache-2.0

"""The script a guest runs: its orders, and the parts of it in this folder.

Orders are shell variables, every value quoted; what is a list is one word a
line, so that the script needs no ``eval`` of foreign text.  This module must
not know how the script reaches the guest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from importlib import resources
import re
import shlex

from cinder_tiers.figures.fio import latency_log
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import precondition as rounds_before
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.stats import rounds
from rally_scenarios.guest import next_orders

_NONCE = re.compile(r'[0-9a-f]{16,32}')
# Nova takes 65535 bytes of user data after base64 (API reference, "Create
# Server"); three quarters of it are left for the script.
_MAX_SCRIPT_BYTES = 49151
# Seconds since the epoch; later ones have more digits than guests reckon with.
_MAX_EPOCH_SECONDS = 10**10 - 1
# The start signal has 4096 bytes; a guest's clock takes 16 of them.
_MAX_GUESTS = 200
# How long the leader begins exchanges with one guest, and waits for an answer:
# where guests are emulated, each takes most of a second.
_EXCHANGES_SECONDS = 6
_ANSWER_SECONDS = 3
# How long fio may take over its own time before it is killed.  More than the
# gap between slots: who overruns it is found late, but is heard.
_OVERTIME_SECONDS = 15
# fio's start and end in a round, and a tier that stalls.
_ROUND_SLACK_SECONDS = 60
# Two of them fit into the 100 KiB that Nova keeps of a console, so that one
# is still there when the next has come.
_COPY_BLOCK_BYTES = 40000
# Of one result; recorded ones have 3 to 7 KiB, and up to 4 more over time.
_RESULT_BYTES = 12288
# Of the latencies of one window and direction, packed; measured: 150 to 250.
# Those of windows that the task does not name are in the above.
_LATENCY_BYTES = 300
# Nova keeps so much of a console.
_CONSOLE_BYTES = 100 * 1024
# Of a result before it is packed: fio's output of both directions of a volume;
# a second of a direction of a process in one log, with up to seven digits; its
# latencies in one window.
_OUTPUT_TEXT_BYTES = 128 * 1024
_SECOND_TEXT_BYTES = 26
_WINDOW_TEXT_BYTES = 800
# What is packed, in framed lines: BASE64, and 100 characters beside 480.
_FRAMED_TO = 1.6
# The last line of a file that a guest does not need.
_LICENCE = '# SPDX-License-Identifier: Apache-2.0\n'


@dataclass(frozen=True, kw_only=True)
class GuestEnvironment:
    """Environment of a guest; the defaults are right for real guests."""

    #: file to print to, ``-`` for standard output; empty: standard output if
    #: it is a terminal, else the first serial port
    console: str = ''
    #: path of the start disk; empty: find it by its serial
    start_device: str = ''
    #: device or file for fio; empty: what the image names in
    #: /etc/cinder-tiers/scratch-device, else a file below /var/tmp
    target: str = ''
    #: folder for temporary files
    work: str = '/run/cinder-tiers'
    #: file with the nanoseconds since the boot, see proc(5)
    timer_list: str = '/proc/timer_list'
    #: file with the seconds since the boot, to 10 ms, for guests that have no
    #: other
    uptime: str = '/proc/uptime'
    #: folder of block devices
    devices: str = '/dev'
    #: folder in which each block device has a folder
    blocks: str = '/sys/block'
    #: file that lists what is mounted
    mounts: str = '/proc/mounts'
    #: how often a guest that is kept looks for orders, in seconds
    look_seconds: int = 5


@dataclass(frozen=True, kw_only=True)
class ClockStart:
    """A start by wall time."""

    #: T0, in seconds since the epoch
    at: int
    #: when it was ordered, on the clock of who orders
    ordered_at: int

    def __post_init__(self) -> None:
        """Check that T0 is ahead.

        :raises ValueError: it is not, or is beyond the year 2286
        """
        if not 0 < self.ordered_at < self.at <= _MAX_EPOCH_SECONDS:
            raise ValueError(
                f'a start at {self.at} that is ordered at {self.ordered_at}:'
                f' expected one after it, up to {_MAX_EPOCH_SECONDS}'
            )


@dataclass(frozen=True, kw_only=True)
class FleetOrders:
    """Orders that all guests of a run have in common."""

    #: nonce of the run, 16 to 32 hexadecimal digits
    run: str
    #: how many there are; guest 0 leads if it can
    guests: int
    #: slots of all tiers
    schedule: schedule.Schedule
    #: how patterns are measured
    profile: fio_pattern.Profile
    #: id of the start volume; empty with a start by clock
    start_serial: str
    #: how long filling the region may take
    prep_seconds: int
    #: how long the leader waits for the others, counted from when its script
    #: began; followers wait twice as long
    ready_seconds: int
    #: how often the leader compares its clock with each guest's, at most
    exchanges: int = 12
    #: from the start signal to T0, at least 3; guests launch fio in it, which
    #: takes long where many are emulated on few cores
    lead_seconds: int = 12
    #: if the leader gives no sign in its time, guest N leads N times so much
    #: later
    succession_seconds: int = 20
    #: how often each guest prints everything, from 1; all but the first time
    #: when the last slot of all tiers is over.  Two: a console loses a line
    #: now and then, seldom the same one twice; and who has heard everything
    #: need not wait for the second
    copies: int = 2
    #: between blocks of a copy; a console must be read at least that often
    copy_pause_seconds: int = 5
    #: whether results are printed, not only kept
    results_on_console: bool = True
    #: a start by wall time; None: by the start volume
    clock: ClockStart | None = None
    #: whether the region is written before it is measured
    fill: bool = True
    #: what is written then until it is steady; None: nothing
    precondition: rounds_before.Precondition | None = None
    #: on how many volumes at once fio works in each guest
    volumes: int = 1
    #: whether guests wait for the orders of further runs, see ``next_orders``
    keep: bool = False
    #: their secret, see ``next_orders.new_key``
    orders_key: str = field(default='', repr=False)
    #: of each so many seconds latencies are counted by themselves; None: as
    #: ``latency_log.step_seconds`` has it
    latency_seconds: int | None = None

    def __post_init__(self) -> None:
        """Check what the guest's script relies on.

        :raises ValueError: the nonce is none, there is no guest or more than
            can be led, nothing is to be printed, there is no start volume
            where it gives the start, or a result would be too long
        """
        if not _NONCE.fullmatch(self.run):
            raise ValueError(
                f'run nonce {self.run!r}: expected 16 to 32 hexadecimal digits'
            )
        if self.guests < 1 or (
            self.clock is None and self.guests > _MAX_GUESTS
        ):
            raise ValueError(
                f'{self.guests} guests: expected 1 to'
                f' {_MAX_GUESTS}, or a start by clock'
            )
        if self.copies < 1 or self.copy_pause_seconds < 1:
            raise ValueError(
                f'{self.copies} copies, {self.copy_pause_seconds} s apart:'
                f' expected at least 1 of each'
            )
        if bool(self.start_serial) == bool(self.clock):
            raise ValueError(
                'expected the serial of a start volume, or a'
                ' start by clock, and not both'
            )
        if self.keep and not self.orders_key:
            raise ValueError(
                'guests that are kept carry out what has a secret: expected a'
                ' key'
            )
        if self.keep and self.clock:
            raise ValueError(
                'guests that are kept get their orders on a start volume:'
                ' expected no start by clock'
            )
        self._check_results()

    @property
    def start_seconds(self) -> int:
        """Maximum seconds from the end of the leader's wait to T0."""
        of_a_guest = _EXCHANGES_SECONDS + _ANSWER_SECONDS
        return (self.guests - 1) * of_a_guest + self.lead_seconds

    @property
    def latency_step_seconds(self) -> int:
        """Length in seconds of the windows in which latencies are counted."""
        return self.latency_seconds or latency_log.step_seconds(
            self.profile.runtime_seconds,
            max(
                slot.pattern.numjobs * self.volumes
                for slot in self.schedule.slots
            ),
        )

    def _series_bytes(self, pattern: fio_pattern.Pattern) -> int:
        """IOPS and bandwidth of each second, before they are packed."""
        return (
            2
            * self.profile.runtime_seconds
            * _SECOND_TEXT_BYTES
            * self._directions_of_processes(pattern)
        )

    def _directions_of_processes(self, pattern: fio_pattern.Pattern) -> int:
        return pattern.numjobs * self.volumes * len(pattern.directions)

    def _windows(self) -> int:
        return -(-self.profile.runtime_seconds // self.latency_step_seconds)

    def _sent_bytes(self, pattern: fio_pattern.Pattern) -> int:
        """Return the size of a result in framed lines, in bytes."""
        found = max(
            self.volumes * _RESULT_BYTES,
            int(self._series_bytes(pattern) * frames.PACKED_TO * _FRAMED_TO),
        )
        if self.latency_seconds:
            found += (
                self._windows()
                * self._directions_of_processes(pattern)
                * _LATENCY_BYTES
            )
        return found

    def _check_results(self) -> None:
        """Check that results can be sent and are taken.

        :raises ValueError: they are too long
        """
        most = frames.MAX_UNPACKED_BYTES - self.volumes * _OUTPUT_TEXT_BYTES
        for pattern in dict.fromkeys(
            slot.pattern for slot in self.schedule.slots
        ):
            size = self._series_bytes(pattern) + (
                self._windows()
                * _WINDOW_TEXT_BYTES
                * self._directions_of_processes(pattern)
            )
            if size > most:
                raise ValueError(
                    f'pattern {pattern.name!r}: what changes over time in'
                    f' {self.profile.runtime_seconds} s of'
                    f' {pattern.numjobs * self.volumes} processes has about'
                    f' {size // 1024} KiB, expected at most'
                    f' {most // 1024} KiB: order fewer seconds or processes,'
                    f' or longer latency_seconds'
                )
            sent = self._sent_bytes(pattern)
            if (
                self.results_on_console
                and self.copies < 2
                and sent > _CONSOLE_BYTES
            ):
                raise ValueError(
                    f'pattern {pattern.name!r}: its result has about'
                    f' {sent // 1024} KiB, of which Nova keeps'
                    f' {_CONSOLE_BYTES // 1024} KiB when it is printed at'
                    f' once, with copies {self.copies}: expected 2 or more,'
                    f' or the transport ssh'
                )
        size = self._most_sent_bytes()
        if size > frames.MAX_KEPT_CHARS:
            raise ValueError(
                f'the results of a guest have about {size / 2**20:.0f} MiB,'
                f' expected at most {frames.MAX_KEPT_CHARS // 2**20} MiB:'
                f' order fewer slots, seconds or processes'
            )

    def _most_sent_bytes(self) -> int:
        """Return the bytes of all results of a guest in the largest tier."""
        return max(
            sum(
                self._sent_bytes(slot.pattern)
                for slot in self.schedule.of_tier(tier)
            )
            for tier in {slot.tier for slot in self.schedule.slots}
        )

    @property
    def copy_seconds(self) -> int:
        """Seconds that guests may print copies after the schedule."""
        blocks = 1 + self._most_sent_bytes() // _COPY_BLOCK_BYTES
        return (self.copies - 1) * blocks * self.copy_pause_seconds


def lead_seconds(launching: int) -> int:
    """Return how long before T0 the start signal is given, in seconds.

    Emulated on two cores, 3 guests launch fio within 3 s, 12 within 7 s.

    :param launching: number of guests that run in the first slot, from 1
    :returns: seconds, 5 to 12
    """
    return min(4 + launching, 12)


def guest_name(number: int) -> str:
    """Return the name of guest ``number`` (from 0) in frames and tables."""
    return f'g{number:03d}'


def _words(argv: Sequence[str]) -> str:
    if any('\n' in word for word in argv):
        raise ValueError(f'a word with a line end cannot be ordered: {argv}')
    return '\n'.join(argv)


def _slot_words(
    slots: Sequence[schedule.Slot], profile: fio_pattern.Profile
) -> str:
    """CT_FIO_N of each slot; a repeat names the variable of the first time.

    A matrix has few patterns and many slots, and user data is short.
    """
    first: dict[fio_pattern.Pattern, int] = {}
    text = ''
    for slot in slots:
        value = f'$CT_FIO_{first.get(slot.pattern)}'
        if slot.pattern not in first:
            first[slot.pattern] = slot.number
            value = shlex.quote(
                _words(fio_pattern.measure_argv(slot.pattern, profile))
            )
        text += f'CT_FIO_{slot.number}={value}\n'
    return text


def _rounds(fleet: FleetOrders) -> dict[str, object]:
    """Return orders for writes before the first turn; see precondition.sh."""
    wanted = fleet.precondition
    if wanted is None:
        return {'CT_ROUNDS': 0}
    return {
        'CT_ROUNDS': wanted.most_rounds,
        'CT_ROUND': _words(
            fio_pattern.round_argv(
                wanted.pattern, fleet.profile, seconds=wanted.round_seconds
            )
        ),
        # What is in flight at the end of a round may take as long again.
        'CT_ROUND_LIMIT': 2 * wanted.round_seconds + _ROUND_SLACK_SECONDS,
        'CT_ROUND_WINDOW': rounds.WINDOW,
        'CT_ROUND_EXCURSION': rounds.EXCURSION_PERCENT,
        'CT_ROUND_SLOPE': rounds.SLOPE_PERCENT,
    }


def _delivery(fleet: FleetOrders) -> dict[str, object]:
    """Return the orders for the delivery of results; see delivery.sh."""
    return {
        'CT_END': fleet.schedule.seconds,
        'CT_COPIES': fleet.copies,
        'CT_COPY_BLOCK': _COPY_BLOCK_BYTES,
        'CT_COPY_PAUSE': fleet.copy_pause_seconds,
        'CT_RESULTS': 'console' if fleet.results_on_console else 'kept',
    }


def _environment_values(environment: GuestEnvironment) -> dict[str, object]:
    return {
        'CT_CONSOLE': environment.console,
        'CT_START_DEVICE': environment.start_device,
        'CT_TARGET': environment.target,
        'CT_DEVICES': environment.devices,
        'CT_BLOCKS': environment.blocks,
        'CT_MOUNTS': environment.mounts,
        'CT_LOOK_SECONDS': environment.look_seconds,
        'CT_WORK': environment.work,
        'CT_TIMER_LIST': environment.timer_list,
        'CT_UPTIME': environment.uptime,
    }


def script_file(name: str) -> str:
    """Return a file of the script without its header.

    :param name: name of a file in this folder
    :raises ValueError: the file lacks the line with its licence, which ends
        the header
    """
    text = (
        resources.files(__package__).joinpath(name).read_text(encoding='ascii')
    )
    _head, licence, body = text.partition(_LICENCE)
    if not licence:
        raise ValueError(f'{name}: expected the line {_LICENCE.strip()!r}')
    return body


def _orders(
    fleet: FleetOrders,
    number: int,
    slots: Sequence[schedule.Slot],
    environment: GuestEnvironment,
    data_serials: Sequence[str],
) -> dict[str, object]:
    """Return the variables in front of the script, without fio's arguments."""
    return {
        'CT_RUN': fleet.run,
        'CT_GUEST': guest_name(number),
        'CT_INDEX': number,
        'CT_GUESTS': fleet.guests,
        'CT_START_BY': 'clock' if fleet.clock else 'volume',
        'CT_START_SERIAL': fleet.start_serial,
        'CT_START_AT': fleet.clock.at if fleet.clock else '',
        'CT_ORDERED_AT': fleet.clock.ordered_at if fleet.clock else '',
        'CT_READY_SECONDS': fleet.ready_seconds,
        'CT_EXCHANGES': fleet.exchanges,
        'CT_EXCHANGES_SECONDS': _EXCHANGES_SECONDS,
        'CT_ANSWER_SECONDS': _ANSWER_SECONDS,
        'CT_LEAD_SECONDS': fleet.lead_seconds,
        'CT_SUCCESSION_SECONDS': fleet.succession_seconds,
        'CT_PREP_LIMIT': fleet.prep_seconds,
        'CT_PREP': _words(
            fio_pattern.fill_argv(fleet.profile) if fleet.fill else ()
        ),
        'CT_OVERTIME': _OVERTIME_SECONDS - schedule.GAP_SECONDS,
        'CT_LATENCY_MS': 1000 * fleet.latency_step_seconds,
        'CT_LATENCY_COARSENESS': latency_log.COARSENESS,
        # Number, beginning and length.
        'CT_SLOTS': ' '.join(
            f'{slot.number}:{slot.begin_seconds}:{slot.seconds}'
            for slot in slots
        ),
        'CT_TARGET_SERIALS': ' '.join(data_serials),
        **_delivery(fleet),
        **_rounds(fleet),
        **_environment_values(environment),
        'CT_KEEP': 'yes' if fleet.keep else 'no',
        **(
            {'CT_KEEP_KEY': next_orders.key_of_guest(fleet.orders_key, number)}
            if fleet.keep
            else {}
        ),
        'CT_WAIT': script_file('wait.sh'),
    }


def script(
    fleet: FleetOrders,
    *,
    number: int,
    tier: str,
    environment: GuestEnvironment,
    position: int = 0,
    data_serials: Sequence[str] = (),
) -> str:
    """Write the whole script of one guest.

    :param number: number of the guest, from 0
    :param tier: tier of the guest, which selects its slots
    :param position: position of the guest in its tier, from 0; selects its
        slots if not all guests run in each
    :param data_serials: ids of the volumes on which fio works at once; empty:
        ``GuestEnvironment.target`` is used
    :raises ValueError: the number is outside the fleet, the guest has no slot,
        or the script is too long for user data
    """
    slots = fleet.schedule.of_guest(tier, position)
    if not 0 <= number < fleet.guests:
        raise ValueError(f'guest {number} of a fleet of {fleet.guests}')
    if not slots:
        raise ValueError(
            f'tier {tier!r} has no slot in the schedule for its'
            f' guest {position}'
        )
    parts = (
        'delivery.sh',
        'facts.sh',
        'fleet_clock.sh' if fleet.clock else 'start.sh',
        'fleet_disk.sh',
        *(('precondition.sh',) if fleet.precondition else ()),
        *(('keep.sh',) if fleet.keep else ()),
        'fleet.sh',
    )
    text = (
        '#!/bin/sh\n'
        + ''.join(
            f'{name}={shlex.quote(str(value))}\n'
            for name, value in _orders(
                fleet, number, slots, environment, data_serials
            ).items()
        )
        + (
            _slot_words(slots, fleet.profile)
            + ''.join(map(script_file, parts))
        )
    )
    if len(text.encode()) > _MAX_SCRIPT_BYTES:
        raise ValueError(
            f'the script of guest {number} has {len(text.encode())} bytes,'
            f' expected at most {_MAX_SCRIPT_BYTES}: order fewer slots'
        )
    return text
