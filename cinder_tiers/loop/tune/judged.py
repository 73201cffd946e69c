# SPDX-License-Identifier: Apache-2.0

"""Finding of a tuning on each of its candidates.  Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
import enum
import statistics

from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.tune import decision
from cinder_tiers.loop.tune import tuning as tunings


class CandidateFinding(enum.Enum):
    """Findings on a candidate."""

    PROPOSED = 'proposed'
    BETTER = 'better'
    NOT_BETTER = 'not better'
    CONFIRMING = 'being confirmed'
    RULED_OUT = 'ruled out'
    SEARCHED = 'searched'


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A candidate, and what was found of it."""

    #: what it changes
    words: str
    #: in which it has a figure, of the part that the finding rests on
    blocks: int
    #: in percent; None: it has no figure
    gain_percent: float | None
    #: interval of the gain; None: there is none, or it is not confirmed
    low_percent: float | None = None
    high_percent: float | None = None
    finding: CandidateFinding
    #: why, or what to know of it
    reason: str


def _confirmed(tuning: tunings.Tuning) -> Iterator[Judged]:
    history = tuning.history
    proposed = history.proposed
    for each in history.confirmations:
        blocks = len(history.confirmed[each.candidate])
        words = tuning.words(each.candidate)
        found = each.difference
        if history.blocks_left or found is None:
            # To say more before all blocks are measured finds too much.
            yield Judged(
                words=words,
                blocks=blocks,
                gain_percent=None,
                finding=CandidateFinding.CONFIRMING,
                reason=f'{blocks} of {history.planned} blocks have a figure '
                'of it',
            )
            continue
        low, high = found.interval_percent()
        yield Judged(
            words=words,
            blocks=blocks,
            gain_percent=found.percent,
            low_percent=low,
            high_percent=high,
            finding=CandidateFinding.PROPOSED
            if proposed and proposed.candidate == each.candidate
            else CandidateFinding.BETTER
            if each.is_better
            else CandidateFinding.NOT_BETTER,
            reason=f'{differences.CONFIDENCE:.0%} interval; corrected '
            f'probability {each.probability:.2g}',
        )


def candidates(tuning: tunings.Tuning) -> tuple[Judged, ...]:
    """Each candidate: first those to confirm, then as they were searched."""
    history = tuning.history
    found = list(_confirmed(tuning))
    found += [
        Judged(
            words=tuning.words(candidate),
            blocks=0,
            gain_percent=None,
            finding=CandidateFinding.RULED_OUT,
            reason='; '.join(broken),
        )
        for candidate, broken in history.broken.items()
    ]
    found += [
        Judged(
            words=tuning.words(candidate),
            blocks=len(gains),
            gain_percent=differences.percent(statistics.fmean(gains)),
            finding=CandidateFinding.SEARCHED,
            reason='not confirmed: the best of many looks better than it is',
        )
        for candidate, gains in decision.by_candidate(history.gains).items()
        if candidate not in history.broken
    ]
    return tuple(found)
