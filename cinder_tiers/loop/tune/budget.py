# SPDX-License-Identifier: Apache-2.0

"""Division of the slots of a tuning into search and confirmation.

Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math

from cinder_tiers.loop.tune import decision

#: Of one block of the search, beside the default.
CANDIDATES = 3
#: Of one candidate in the search, at most: so often the one that leads is
#: measured before it is believed.
MEASUREMENTS = 3


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Expected use of a number of slots, before any was measured."""

    #: of the search, at most; 0: the slots are too few
    blocks: int
    #: candidates that these measure, at most; some of them again
    candidates: int
    #: slots that are kept for the confirmation, by the usual noise
    reserve: int
    #: combinations of values, with that of the tiers file
    combinations: int

    @property
    def least_slots(self) -> int:
        """Fewest slots with which the search begins."""
        return self.reserve + CANDIDATES + 1


def reserve(
    found: Sequence[decision.Gain],
    *,
    wanted_percent: float,
    least_percent: float,
) -> int:
    """Return the slots reserved for the confirmation during the search.

    :param found: gains found by the search, for their noise
    :param wanted_percent: the gain to detect
    :param least_percent: a smaller gain does not count
    """
    needed = decision.blocks_to_confirm(
        found,
        candidates=1,
        wanted_percent=wanted_percent,
        least_percent=least_percent,
    )
    # A simpler candidate beside the best takes some of its blocks.
    return max(2 * needed, 3 * decision.LEAST_BLOCKS)


def is_search_affordable(slots_left: float, kept: int) -> bool:
    """Return whether the reserve remains after one more block of the search.

    :param kept: slots of `reserve`
    """
    return slots_left >= CANDIDATES + 1 + kept


def outlook(
    slots: float,
    counts: Sequence[int],
    *,
    wanted_percent: float,
    least_percent: float,
) -> Outlook:
    """Return the expected use of slots by a search, for the usual noise.

    :param slots: slots of the whole budget
    :param counts: number of values of each option, with that of the tiers file
    :param wanted_percent: the gain to detect
    :param least_percent: a smaller gain does not count
    """
    kept = reserve(
        (), wanted_percent=wanted_percent, least_percent=least_percent
    )
    combinations = math.prod(counts)
    most = MEASUREMENTS * (combinations - 1)
    blocks = max(0, int((slots - kept) / (CANDIDATES + 1)))
    candidates = min(most, CANDIDATES * blocks)
    return Outlook(
        # A block has one candidate or more, each of them once.
        blocks=min(blocks, most),
        candidates=candidates,
        reserve=kept,
        combinations=combinations,
    )
