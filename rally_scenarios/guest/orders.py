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

"""The script a guest runs: its orders, then ``fleet.sh``.

Orders are shell variables, every value quoted; what is a list is one word a
line, so that the script needs no ``eval`` of foreign text.  This module must
not know how the script reaches the guest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
import re
import shlex

from rally_scenarios.bench import fio_profile
from rally_scenarios.bench import schedule

_NONCE = re.compile(r"[0-9a-f]{16,32}")
# Nova takes 65535 bytes of user data after base64 (API reference, "Create
# Server"); three quarters of it are left for the script.
_MAX_SCRIPT_BYTES = 49151
# How long fio may take over its own time before it is killed.  More than the
# gap between slots: who overruns it is found late, but is heard.
_OVERTIME_SECONDS = 15


@dataclass(frozen=True, kw_only=True)
class GuestEnvironment:
    """What a guest finds; the defaults are right for real guests.

    :ivar console: file to print to, ``-`` for standard output; empty: standard
        output if it is a terminal, else the first serial port
    :ivar start_device: path of the start disk; empty: find it by its serial
    :ivar target: device or file for fio; empty: what the image names in
        /etc/cinder-tiers/scratch-device, else a file below /var/tmp
    :ivar work: folder for temporary files
    :ivar uptime: file with the seconds since the boot, to 10 ms
    """

    console: str = ""
    start_device: str = ""
    target: str = ""
    work: str = "/run/cinder-tiers"
    uptime: str = "/proc/uptime"


@dataclass(frozen=True, kw_only=True)
class FleetOrders:
    """What all guests of a run have in common.

    :ivar run: nonce of the run, 16 to 32 hexadecimal digits
    :ivar guests: how many there are; guest 0 leads
    :ivar schedule: slots of all tiers
    :ivar profile: how patterns are measured
    :ivar start_serial: id of the start volume
    :ivar prep_seconds: how long filling the region may take
    :ivar ready_seconds: how long the leader waits for the others, counted
        from when its script began; followers wait twice as long
    :ivar beacon_seconds: how long the leader sends its clock
    :ivar lead_seconds: from the start signal to T0
    """

    run: str
    guests: int
    schedule: schedule.Schedule
    profile: fio_profile.Profile
    start_serial: str
    prep_seconds: int
    ready_seconds: int
    beacon_seconds: int = 3
    lead_seconds: int = 2

    def __post_init__(self) -> None:
        """Check what the guest's script relies on.

        :raises ValueError: the nonce is none, or there is no guest
        """
        if not _NONCE.fullmatch(self.run):
            raise ValueError(f"run nonce {self.run!r}: expected 16 to 32"
                             f" hexadecimal digits")
        if self.guests < 1:
            raise ValueError(f"{self.guests} guests: expected at least 1")


def guest_name(number: int) -> str:
    """How guest ``number`` (from 0) is called in frames and tables."""
    return f"g{number:03d}"


def _words(argv: Sequence[str]) -> str:
    if any("\n" in word for word in argv):
        raise ValueError(f"a word with a line end cannot be ordered: {argv}")
    return "\n".join(argv)


def script(fleet: FleetOrders, *, number: int, tier: str,
           environment: GuestEnvironment) -> str:
    """Write the whole script of one guest.

    :param number: of the guest, from 0; the leader is 0
    :param tier: the tier it belongs to: chooses its slots
    :raises ValueError: the number is none of the fleet's, the tier has no
        slot, or the script is too long for user data
    """
    slots = fleet.schedule.of_tier(tier)
    if not 0 <= number < fleet.guests:
        raise ValueError(f"guest {number} of a fleet of {fleet.guests}")
    if not slots:
        raise ValueError(f"tier {tier!r} has no slot in the schedule")
    profile = fleet.profile
    values = {
        "CT_RUN": fleet.run,
        "CT_GUEST": guest_name(number),
        "CT_INDEX": number,
        "CT_GUESTS": fleet.guests,
        "CT_START_SERIAL": fleet.start_serial,
        "CT_READY_SECONDS": fleet.ready_seconds,
        "CT_BEACON_SECONDS": fleet.beacon_seconds,
        "CT_LEAD_SECONDS": fleet.lead_seconds,
        "CT_PREP_LIMIT": fleet.prep_seconds,
        "CT_PREP": _words(fio_profile.fill_argv(profile)),
        "CT_SLOT_SECONDS": fleet.schedule.slot_seconds,
        "CT_SLOT_LIMIT": (profile.ramp_seconds + profile.runtime_seconds
                          + _OVERTIME_SECONDS),
        "CT_SLOTS": " ".join(str(slot.number) for slot in slots),
        "CT_CONSOLE": environment.console,
        "CT_START_DEVICE": environment.start_device,
        "CT_TARGET": environment.target,
        "CT_WORK": environment.work,
        "CT_UPTIME": environment.uptime,
    }
    for slot in slots:
        values[f"CT_FIO_{slot.number}"] = _words(
            fio_profile.measure_argv(slot.pattern, profile))
    body = resources.files(__package__).joinpath("fleet.sh").read_text(
        encoding="ascii")
    text = "#!/bin/sh\n" + "".join(
        f"{name}={shlex.quote(str(value))}\n"
        for name, value in values.items()) + body
    if len(text.encode()) > _MAX_SCRIPT_BYTES:
        raise ValueError(
            f"the script of guest {number} has {len(text.encode())} bytes,"
            f" expected at most {_MAX_SCRIPT_BYTES}: order fewer slots")
    return text
