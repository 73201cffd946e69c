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

"""What fio is asked to do, as data, and the arguments that say so.

A pattern says what an application does to its disk; the profile adds how it
is measured.  The file or device is not named here: only the guest knows it.

Option names and meanings: fio 3.33 HOWTO.  This module must not know guests,
clouds or tiers.
"""

from dataclasses import dataclass
import re

# fio HOWTO, "rw=str": the ones that neither trim nor need a second option.
WORKLOADS = ("read", "write", "randread", "randwrite", "rw", "readwrite",
             "randrw")

# They become words of a shell script, file names and table cells.
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_BLOCK_SIZE = re.compile(r"[1-9][0-9]{0,6}[km]?", re.IGNORECASE)
_ENGINE = re.compile(r"[a-z0-9_]{1,32}")


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """One way of using a disk.

    :ivar name: how tables call it: lower case letters, digits, ``.-``
    :ivar rw: one of ``WORKLOADS``
    :ivar bs: block size as fio spells it: bytes, or a number with k or m
    :ivar iodepth: I/Os in flight per guest, 1 to 1024
    """

    name: str
    rw: str
    bs: str
    iodepth: int

    def __post_init__(self) -> None:
        """Check all fields.

        :raises ValueError: names every wrong field
        """
        wrong = []
        if not _NAME.fullmatch(self.name):
            wrong.append(f"name {self.name!r}: expected up to 40 lower case"
                         f" letters, digits, '.' and '-'")
        if self.rw not in WORKLOADS:
            wrong.append(f"rw {self.rw!r}: expected one of"
                         f" {', '.join(WORKLOADS)}")
        if not _BLOCK_SIZE.fullmatch(self.bs):
            wrong.append(f"bs {self.bs!r}: expected bytes or a number with"
                         f" k or m, such as 4k")
        if not 1 <= self.iodepth <= 1024:
            wrong.append(f"iodepth {self.iodepth}: expected 1 to 1024")
        if wrong:
            raise ValueError(f"pattern {self.name!r}: " + "; ".join(wrong))

    @property
    def bs_bytes(self) -> int:
        """Block size in bytes; fio's k and m are powers of 1024."""
        factor = {"k": 1024, "m": 1024 ** 2}.get(self.bs[-1].lower())
        return int(self.bs[:-1]) * factor if factor else int(self.bs)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How patterns are measured, the same for all of them.

    :ivar region_mib: MiB that each guest fills first and then works on
    :ivar ramp_seconds: run but not counted: caches and, on Ceph, the
        deferred writes that BlueStore takes before the disk's own speed shows
    :ivar runtime_seconds: counted
    :ivar ioengine: fio's engine; an asynchronous one, or iodepth means nothing
    """

    region_mib: int
    ramp_seconds: int
    runtime_seconds: int
    ioengine: str = "libaio"

    def __post_init__(self) -> None:
        """Check all fields.

        :raises ValueError: names every wrong field
        """
        wrong = []
        if self.region_mib < 1:
            wrong.append(f"region_mib {self.region_mib}: expected at least 1")
        if self.ramp_seconds < 0:
            wrong.append(f"ramp_seconds {self.ramp_seconds}: expected at"
                         f" least 0")
        if self.runtime_seconds < 1:
            wrong.append(f"runtime_seconds {self.runtime_seconds}: expected"
                         f" at least 1")
        if not _ENGINE.fullmatch(self.ioengine):
            wrong.append(f"ioengine {self.ioengine!r}: expected the name of"
                         f" an engine of fio")
        if wrong:
            raise ValueError("; ".join(wrong))


def _shared_argv(profile: Profile) -> tuple[str, ...]:
    return (
        "--output-format=json+",
        f"--ioengine={profile.ioengine}",
        # The guest's page cache would answer instead of the tier.
        "--direct=1",
        f"--size={profile.region_mib}m",
    )


def fill_argv(profile: Profile) -> tuple[str, ...]:
    """Arguments of the fio run that writes the whole region once.

    A boot volume is a copy-on-write clone: what was never written lies in the
    images pool, and the first write to it copies a whole object.  Neither
    belongs to the tier.

    :returns: words after ``fio``, without ``--filename``
    """
    return _shared_argv(profile) + (
        "--name=prep",
        "--rw=write",
        "--bs=1m",
        "--iodepth=4",
        # Data that no layer can compress or recognise as zeros.
        "--refill_buffers",
        "--end_fsync=1",
    )


def measure_argv(pattern: Pattern, profile: Profile) -> tuple[str, ...]:
    """Arguments of the fio run that measures one pattern.

    :returns: words after ``fio``, without ``--filename``
    :raises ValueError: one block of the pattern does not fit the region
    """
    if pattern.bs_bytes > profile.region_mib * 1024 ** 2:
        raise ValueError(
            f"pattern {pattern.name!r}: a block of {pattern.bs} does not fit"
            f" a region of {profile.region_mib} MiB")
    return _shared_argv(profile) + (
        f"--name={pattern.name}",
        f"--rw={pattern.rw}",
        f"--bs={pattern.bs}",
        f"--iodepth={pattern.iodepth}",
        "--time_based",
        f"--ramp_time={profile.ramp_seconds}",
        f"--runtime={profile.runtime_seconds}",
        # Else every guest writes the same blocks in the same order, and a
        # random pattern visits no block twice until all were visited.
        "--randrepeat=0",
        "--norandommap",
    )
