# SPDX-License-Identifier: Apache-2.0

"""Schedule of tiers and patterns.

Tiers share disks, network and the hosts' cores, so they take turns: every
slot belongs to one tier and one pattern, slots follow one another, and within
a slot all guests of the tier start together.  Tiers that share no disk may be
measured side by side: the slots of all tiers with a pattern then begin at the
same time.  The whole schedule is in every guest's orders before it boots; only
its beginning, T0, is agreed later.

A fleet may be measured in steps: of the guests of a tier, which all boot once,
the first few run while the others stay idle.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import itertools
import random

from cinder_tiers.figures.fio import pattern as fio_pattern

# fio's own start and end (under emulation 1 to 2 s), the result on its way
# home, and what is still in flight then.  A fio that needs longer runs into
# the next slot, and shows.  Many guests on few cores need more.
GAP_SECONDS = 4
_OF_IT_FOR_IN_FLIGHT_SECONDS = 2
#: How long before its time guests launch fio (``early`` of guest/fleet.sh): a
#: gap must not be shorter.
LAUNCH_SECONDS = 3
# librbd's rbd_cache_max_dirty: what fsync has to write out at the end.
_WRITE_CACHE_BYTES = 24 * 1024**2

# A small store of hard disks, all guests together; assumed unless a task says
# otherwise.
TIER_MIB_PER_SECOND = 10
_TIER_IOPS = 100


# A pattern and how many guests run it; None: all.
_Item = tuple[fio_pattern.Pattern, int | None]


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A tier's turn with a pattern."""

    #: position in the schedule, from 0
    number: int
    #: name of the tier whose guests run
    tier: str
    #: what they run
    pattern: fio_pattern.Pattern
    #: when it begins, from T0
    begin_seconds: int
    #: when the next one may begin, from its own beginning
    seconds: int
    #: how often they have run it by then, from 1
    repeat: int = 1
    #: how many of the tier's guests run, the first ones; None: all
    guests: int | None = None


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The sequence of turns, of one tier at a time or of all at once."""

    #: in order of time, at least one, ``slots[n].number == n``; those of a
    #: pattern that begin at the same time are as long
    slots: tuple[Slot, ...]
    #: how often each tier runs each pattern
    repeats: int = 1
    #: with which the order of turns was drawn; None: it is that of the task
    seed: int | None = None
    #: whether all tiers run a pattern at the same time
    side_by_side: bool = False

    @property
    def seconds(self) -> int:
        """Seconds from T0 to the end of the last slot."""
        return self.slots[-1].begin_seconds + self.slots[-1].seconds

    def up_to(self, repeat: int) -> 'Schedule':
        """The turns of the first repeats.

        :param repeat: the last of them, at least 1
        """
        return dataclasses.replace(
            self,
            repeats=min(repeat, self.repeats),
            slots=tuple(slot for slot in self.slots if slot.repeat <= repeat),
        )

    def of_tier(self, tier: str) -> tuple[Slot, ...]:
        """The slots of one tier; empty when it has none."""
        return tuple(slot for slot in self.slots if slot.tier == tier)

    def of_guest(self, tier: str, position: int) -> tuple[Slot, ...]:
        """Return the slots in which one guest runs.

        :param position: position of the guest in its tier, from 0
        """
        return tuple(
            slot
            for slot in self.of_tier(tier)
            if slot.guests is None or position < slot.guests
        )


def gap_seconds(
    pattern: fio_pattern.Pattern,
    *,
    guests: int,
    ramp_seconds: int,
    tier_mib_per_second: int,
    least_seconds: int = GAP_SECONDS,
) -> int:
    """Return how much longer a slot is than fio's ordered runtime.

    fio waits for I/Os that are in flight at its end, and counts from the first
    completion after the ramp: with many large blocks in flight and a slow
    tier, both take longer than a run.  So does fsync at the end, which writes
    out the cache of each volume.

    :param guests: number of guests that run at once, times the volumes of each
    :param ramp_seconds: time that fio runs but does not count
    :param tier_mib_per_second: large writes that the tier accepts from all
        guests together, at least 1
    :param least_seconds: minimum, when nothing large is in flight
    """
    drain_seconds = max(
        -(
            -guests
            * pattern.in_flight_bytes
            // (tier_mib_per_second * 1024**2)
        ),
        -(-guests * pattern.iodepth * pattern.numjobs // _TIER_IOPS),
    )
    in_flight_seconds = drain_seconds + max(0, drain_seconds - ramp_seconds)
    if pattern.end_fsync:
        in_flight_seconds += -(
            -guests * _WRITE_CACHE_BYTES // (tier_mib_per_second * 1024**2)
        )
    return least_seconds + max(
        0, in_flight_seconds - _OF_IT_FOR_IN_FLIGHT_SECONDS
    )


def pattern_of_step(
    pattern: fio_pattern.Pattern, guests: int
) -> fio_pattern.Pattern:
    """Return the pattern under its name for a number of guests.

    The unique name, such as ``randwrite-4k.g12``, comes back with fio's
    result, so that results of two steps cannot be confused.

    :param guests: at least 1
    :raises ValueError: the name would be too long
    """
    return dataclasses.replace(pattern, name=f'{pattern.name}.g{guests}')


def _check(
    tiers: Sequence[str],
    patterns: Sequence[fio_pattern.Pattern],
    repeats: int,
    guest_steps: Sequence[int],
) -> None:
    """Refuse what is not a matrix.

    :raises ValueError: as ``plan`` says
    """
    for what, names in (
        ('tier', list(tiers)),
        ('pattern', [p.name for p in patterns]),
    ):
        if not names:
            raise ValueError(f'no {what} to measure: expected at least one')
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f'{what} named twice: {", ".join(twice)}')
    if repeats < 1:
        raise ValueError(f'{repeats} repeats: expected at least 1')
    rising = list(guest_steps) == sorted(set(guest_steps))
    if not rising or any(step < 1 for step in guest_steps):
        raise ValueError(
            f'guest_steps {list(guest_steps)}: expected numbers of guests'
            f' from 1, each more than the one before'
        )


def _orders(
    tiers: Sequence[str],
    in_turn: Sequence[_Item],
    repeats: int,
    seed: int | None,
    side_by_side: bool,
) -> Iterator[tuple[int, tuple[str, ...], _Item]]:
    """(repeat, tiers that run at once, what they run), in order of time."""
    # Not for secrets: the same seed must give the same order again.
    draw = None if seed is None else random.Random(seed)  # noqa: S311
    tiers, in_turn = list(tiers), list(in_turn)
    for repeat in range(1, repeats + 1):
        if draw is not None and repeat % 2:
            draw.shuffle(tiers)
            draw.shuffle(in_turn)
        elif draw is not None:
            # So that of two repeats each has its turn before the other once.
            tiers.reverse()
            in_turn.reverse()
        at_once = [tuple(tiers)] if side_by_side else [(t,) for t in tiers]
        yield from (
            (repeat, group, item)
            for group, item in itertools.product(at_once, in_turn)
        )


def plan(
    tiers: Sequence[str],
    patterns: Sequence[fio_pattern.Pattern],
    profile: fio_pattern.Profile,
    repeats: int = 1,
    guest_steps: Sequence[int] = (),
    guests_per_tier: int = 1,
    tier_mib_per_second: int = TIER_MIB_PER_SECOND,
    least_gap_seconds: int = GAP_SECONDS,
    seed: int | None = None,
    volumes_per_guest: int = 1,
    side_by_side: bool = False,
) -> Schedule:
    """Schedule all patterns of one tier, then of the next, and so on.

    After all turns, the next repeat begins: slow changes, such as a cache that
    fills or a neighbour that comes and goes, then show as a difference between
    repeats and not between tiers or patterns.

    With a seed, the order of tiers and that of patterns is drawn for each odd
    repeat, and reversed for the next, so that an effect of one turn on the
    next is not taken for a property of the tier that always has it: a repeat
    is a block of a randomised block design, and in each two repeats every tier
    is before every other one once.

    Side by side, a pattern is the turn of all tiers; only the order of
    patterns is drawn.

    :param tiers: names, each once, at least one
    :param patterns: patterns with unique names, at least one
    :param profile: profile whose times give, with the gap, the length of a
        slot
    :param repeats: number of repeats, at least 1
    :param guest_steps: numbers of guests of the tier, ascending, with which
        each pattern runs in turn, renamed as in ``pattern_of_step``; empty:
        once, with all
    :param guests_per_tier: number of guests that run if there are no steps
    :param volumes_per_guest: number of volumes on which each of them works at
        once
    :param tier_mib_per_second: see ``gap_seconds``
    :param least_gap_seconds: see ``gap_seconds``
    :param seed: None: tiers and patterns in the order given, in each repeat
    :param side_by_side: whether all tiers run at once; they must share no disk
    :raises ValueError: no tier, no pattern, no repeat, a name twice, steps
        that do not rise from 1, or side by side with a single tier
    """
    _check(tiers, patterns, repeats, guest_steps)
    if side_by_side and len(tiers) < 2:
        raise ValueError(
            f'side_by_side with the tier {tiers[0]!r} alone: expected at least'
            f' two tiers, or leave side_by_side out'
        )
    in_turn: list[_Item] = [(pattern, None) for pattern in patterns]
    if guest_steps:
        in_turn = [
            (pattern_of_step(pattern, guests), guests)
            for pattern in patterns
            for guests in guest_steps
        ]
    slots: list[Slot] = []
    begin_seconds = 0
    for repeat, group, (pattern, guests) in _orders(
        tiers, in_turn, repeats, seed, side_by_side
    ):
        seconds = (
            pattern.startdelay_seconds
            + profile.ramp_seconds
            + profile.runtime_seconds
            + gap_seconds(
                pattern,
                guests=(guests or guests_per_tier) * volumes_per_guest,
                ramp_seconds=profile.ramp_seconds,
                tier_mib_per_second=tier_mib_per_second,
                least_seconds=least_gap_seconds,
            )
        )
        slots.extend(
            Slot(
                number=number,
                tier=tier,
                pattern=pattern,
                repeat=repeat,
                guests=guests,
                begin_seconds=begin_seconds,
                seconds=seconds,
            )
            for number, tier in enumerate(group, start=len(slots))
        )
        begin_seconds += seconds
    return Schedule(
        slots=tuple(slots),
        repeats=repeats,
        seed=seed,
        side_by_side=side_by_side,
    )
