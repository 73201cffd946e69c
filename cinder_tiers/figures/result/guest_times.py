# SPDX-License-Identifier: Apache-2.0

"""Selection of the guests whose values over time are kept.

The values of all guests in all repeats would be nearly all of the file of a
large fleet, and are not needed: a report draws a dozen guests of a tier, in
one repeat of each pattern.  Merged values of all guests are in every repeat.
"""

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
from typing import TypeVar

from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result

#: Of a tier, in a repeat.
MOST_GUESTS = 12
_Each = TypeVar('_Each')


def slot_of(
    slots: Sequence[run_result.SlotResult],
) -> run_result.SlotResult | None:
    """The last repeat in which all guests are complete; None: in none."""
    complete = figures.complete(slots)
    return complete[-1] if complete else None


def by_iops(
    slot: run_result.SlotResult | None,
) -> list[tuple[float, run_result.GuestFigures]]:
    """(IOPS, guest) of those that have IOPS, the slowest first."""
    if slot is None:
        return []
    known = [
        (guest.iops, guest) for guest in slot.guests if guest.iops is not None
    ]
    return sorted(known, key=lambda each: each[0])


def some(found: Sequence[_Each], most: int) -> Sequence[_Each]:
    """Return some of many, evenly by rank, with the first and the last.

    :param most: at least 2
    """
    if len(found) <= most:
        return found
    last = len(found) - 1
    return [found[round(at * last / (most - 1))] for at in range(most)]


def guests_of(slot: run_result.SlotResult) -> frozenset[str]:
    """Names of the guests of a repeat that are drawn."""
    return frozenset(
        guest.guest for _iops, guest in some(by_iops(slot), MOST_GUESTS)
    )


def only_drawn(run: run_result.RunResult) -> run_result.RunResult:
    """Return a run without values over time of guests that are not drawn.

    :param run: run that may have them for all guests in all repeats, like
        files of earlier versions
    """

    def drawn(pattern: run_result.PatternResult) -> run_result.PatternResult:
        kept = slot_of(pattern.slots)
        return dataclasses.replace(
            pattern,
            slots=tuple(
                _without_times(slot, guests_of(slot) if slot is kept else ())
                for slot in pattern.slots
            ),
        )

    return dataclasses.replace(
        run,
        tiers=tuple(
            dataclasses.replace(
                tier, patterns=tuple(map(drawn, tier.patterns))
            )
            for tier in run.tiers
        ),
    )


def _without_times(
    slot: run_result.SlotResult, kept: Collection[str]
) -> run_result.SlotResult:
    return dataclasses.replace(
        slot,
        guests=tuple(
            guest
            if guest.guest in kept
            else dataclasses.replace(guest, rates=None, latency=None)
            for guest in slot.guests
        ),
    )
