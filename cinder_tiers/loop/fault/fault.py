# SPDX-License-Identifier: Apache-2.0

"""Faults that are made while a tier is measured, and what became of them.

Pure. Must not know how a fault is made, nor where it is written down.
"""

import collections.abc
import dataclasses
import enum


class FaultKind(enum.Enum):
    """Kinds of faults."""

    #: An OSD is marked out, so that its data are moved, and in again.
    OSD_OUT = 'osd_out'
    #: An OSD is marked down and kept so, but not out, and comes up again.
    OSD_DOWN = 'osd_down'
    #: All placement groups of a pool are deep-scrubbed.
    DEEP_SCRUB = 'deep_scrub'
    #: What the operator's own commands do.
    COMMAND = 'command'


#: Those that an OSD is chosen for.
OF_OSDS = frozenset({FaultKind.OSD_OUT, FaultKind.OSD_DOWN})

#: When the times of faults are counted from: the start of the command that
#: measures, or the moment that it announces.
COMMAND, ANNOUNCEMENT = 'command', 'announcement'
COUNTS_FROM = (COMMAND, ANNOUNCEMENT)

#: Of an hour, as long as recovery of small clusters takes.
RECOVERY_MINUTES = 60.0
#: In a file.
MOST_FAULTS = 32
_NO_WORDS: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that is made in each slot."""

    name: str
    kind: FaultKind
    #: Seconds after the moment that is counted from.
    at_s: float
    #: Seconds that it lasts; of a deep scrub, at most.
    for_s: float
    #: Id of the OSD; None: one that holds the tier, by chance.
    osd: int | None = None
    #: Of `COMMAND`: words of the commands that begin and end it. No shell
    #: reads them.
    begin: tuple[str, ...] = _NO_WORDS
    end: tuple[str, ...] = _NO_WORDS

    @property
    def ends_s(self) -> float:
        """End of the fault, in seconds after the moment of counting."""
        return self.at_s + self.for_s


@dataclasses.dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults of a file."""

    #: In order of the file.
    faults: tuple[Fault, ...] = ()
    #: `COMMAND` or `ANNOUNCEMENT`.
    counts_from: str = COMMAND
    #: How long health may take to be OK again after the command.
    recovery_minutes: float = RECOVERY_MINUTES


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """A fault, and what it strikes."""

    fault: Fault
    #: Name of the cluster in the tiers file.
    cluster: str
    #: The pool that holds the data of the tier.
    pool: str
    #: None: it strikes no OSD.
    osd: int | None = None

    def __str__(self) -> str:
        """Describe the target for people."""
        if self.fault.kind in OF_OSDS:
            return f'osd.{self.osd}'
        if self.fault.kind is FaultKind.DEEP_SCRUB:
            return f'pool {self.pool}'
        return 'command'

    @property
    def name(self) -> str:
        """Names it in a journal."""
        return f'fault {self.fault.name}: {self}'

    @property
    def is_to_mend(self) -> bool:
        """Return whether the fault must be undone; a scrub ends by itself."""
        return self.fault.kind is not FaultKind.DEEP_SCRUB


@dataclasses.dataclass(frozen=True, kw_only=True)
class Struck:
    """Targets of the faults of a file."""

    #: Name of the cluster in the tiers file.
    cluster: str
    #: By which an operator names it.
    fsid: str
    #: In the order of the file.
    targets: tuple[Target, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FaultRecord:
    """A fault of a slot, and what became of it."""

    name: str
    kind: FaultKind
    #: What it struck, for people.
    target: str
    #: Seconds since the epoch; None: it was not made.
    began: float | None = None
    #: When it was ended; None: that is not known.
    ended: float | None = None
    #: When health was first OK after it had ended; None: it was not, or
    #: another fault had begun.
    healthy: float | None = None
    #: Why it was not made, or not as it should be; '' if it was.
    problem: str = ''


def overlapping(
    faults: collections.abc.Sequence[Fault],
) -> collections.abc.Iterator[tuple[Fault, Fault]]:
    """Faults of OSDs at the same time: one more than was looked at."""
    of_osds = sorted(
        (one for one in faults if one.kind in OF_OSDS),
        key=lambda one: one.at_s,
    )
    for number, one in enumerate(of_osds):
        for other in of_osds[number + 1 :]:
            if other.at_s < one.ends_s:
                yield one, other
