# SPDX-License-Identifier: Apache-2.0

"""Measurements of a tuning so far, and their findings.

The command and the report take all findings on a tuning from here.  Pure. Must
not know how candidates are searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import enum
import itertools

from cinder_tiers.loop.tune import decision

#: Fewer blocks give no interval.
_LEAST_BLOCKS = 2


class BlockPurpose(enum.Enum):
    """Purposes of a block."""

    SEARCH = 'search'
    CONFIRM = 'confirm'


class End(enum.Enum):
    """Stages of a tuning."""

    SEARCHING = 'the search is not over'
    UNCONFIRMED = 'too few blocks to confirm anything'
    NOTHING = 'nothing better than the default was found'
    BETTER = 'better than the default, and confirmed'

    @property
    def is_over(self) -> bool:
        """Return whether more time would not say more."""
        return self in (End.NOTHING, End.BETTER)


@dataclass(frozen=True, kw_only=True)
class CandidateOutcome:
    """Outcome of a candidate in a block."""

    #: the place of the value of each option; 0 is that of the tiers file
    candidate: tuple[int, ...]
    #: natural logarithm of how much better it was than the default; null: it
    #: has no sound figure beside the default
    gain: float | None
    #: constraints that it breaks, in words
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A block that is over."""

    #: what it was for
    part: BlockPurpose
    #: seconds that it took
    seconds: float
    #: of its candidates, without the default
    outcomes: tuple[CandidateOutcome, ...]

    @property
    def slots(self) -> int:
        """Number of its measurements, with that of the default.

        A candidate without a figure that breaks a constraint may have been
        refused, and is not counted: slots without work would make others look
        shorter, and more of them affordable.
        """
        if not self.seconds:
            return 0
        return 1 + sum(
            each.gain is not None or not each.broken for each in self.outcomes
        )


@dataclass(frozen=True, kw_only=True)
class History:
    """The blocks of a tuning, and what was decided of them."""

    #: in their order; the first one is block 1
    blocks: tuple[Taken, ...] = ()
    #: candidates to be confirmed; null: the search is not over
    finalists: tuple[tuple[int, ...], ...] | None = None
    #: how many blocks are to confirm them
    planned: int = 0
    #: a smaller gain, in percent, is none
    least_percent: float = 0.0

    @property
    def seconds(self) -> float:
        """Spent on blocks."""
        return float(sum(each.seconds for each in self.blocks))

    @property
    def in_vain(self) -> int:
        """Number of the latest blocks, in a row, without any figure.

        Blocks whose combinations were all refused are passed over: nothing was
        measured.
        """
        measured = [each for each in self.blocks if each.seconds]
        return sum(
            1
            for _ in itertools.takewhile(
                lambda block: all(
                    each.gain is None for each in block.outcomes
                ),
                reversed(measured),
            )
        )

    def _gains(self, part: BlockPurpose) -> tuple[decision.Gain, ...]:
        return tuple(
            decision.Gain(
                candidate=each.candidate, gain=each.gain, block=number
            )
            for number, block in enumerate(self.blocks, 1)
            if block.part is part
            for each in block.outcomes
            if each.gain is not None
        )

    @property
    def gains(self) -> tuple[decision.Gain, ...]:
        """Gains of all measurements of the search, in their order."""
        return self._gains(BlockPurpose.SEARCH)

    @property
    def broken(self) -> dict[decision.Candidate, tuple[str, ...]]:
        """{candidate that breaks a constraint: which, in words}."""
        return {
            each.candidate: each.broken
            for block in self.blocks
            for each in block.outcomes
            if each.broken
        }

    @property
    def confirmed(self) -> dict[decision.Candidate, list[float]]:
        """{candidate to be confirmed: its gains in fresh blocks}."""
        gains = decision.by_candidate(self._gains(BlockPurpose.CONFIRM))
        return {each: gains.get(each, []) for each in self.finalists or ()}

    @property
    def to_confirm(self) -> tuple[decision.Candidate, ...]:
        """Candidates to be confirmed that break no constraint."""
        broken = self.broken
        return tuple(
            each for each in self.finalists or () if each not in broken
        )

    @property
    def blocks_left(self) -> int:
        """Number of blocks that the confirmation still needs."""
        done = sum(each.part is BlockPurpose.CONFIRM for each in self.blocks)
        return max(0, self.planned - done)

    @property
    def confirmations(self) -> tuple[decision.Confirmation, ...]:
        """Results of fresh blocks for the candidates, so far."""
        confirmed = self.confirmed
        return decision.confirm(
            {each: confirmed[each] for each in self.to_confirm},
            least_percent=self.least_percent,
        )

    @property
    def proposed(self) -> decision.Confirmation | None:
        """The candidate to propose; None: there is none, or not yet."""
        # Once, at the end: who looks after each block finds too much.
        if self.blocks_left:
            return None
        return decision.choose(self.confirmations)

    @property
    def may_be_planned(self) -> bool:
        """Return whether more can be planned, as no block was evaluated."""
        return self.planned < _LEAST_BLOCKS

    @property
    def end(self) -> End:
        """Stage that the tuning has reached."""
        if self.finalists is None:
            return End.SEARCHING
        if not self.to_confirm:
            return End.NOTHING
        if self.blocks_left or not any(
            each.difference for each in self.confirmations
        ):
            return End.UNCONFIRMED
        return End.NOTHING if self.proposed is None else End.BETTER

    def check(self, counts: Sequence[int]) -> None:
        """Refuse candidates outside of a space.

        :param counts: number of values of each option, with that of the tiers
            file
        :raises ValueError: a candidate is outside
        """
        found = [
            *(self.finalists or ()),
            *(
                each.candidate
                for block in self.blocks
                for each in block.outcomes
            ),
        ]
        for each in found:
            if len(each) != len(counts) or not all(
                0 <= value < count
                for value, count in zip(each, counts, strict=True)
            ):
                raise ValueError(f'{each} is not a candidate of this space')
