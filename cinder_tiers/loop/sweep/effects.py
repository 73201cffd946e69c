# SPDX-License-Identifier: Apache-2.0

"""Effect of each treatment of a sweep, against the default of its block.

Pure.  ``comparison.treatments`` compares treatments, so the rule is that of
all comparisons.  This module adds the specifics of a sweep: a treatment that
was not in effect has a verdict and no figure, and an effect is a ratio, with
the default at 100.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import enum
from typing import TypeVar

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison

#: Of all I/Os of a pattern.
OF_ALL = ('iops', 'mib_per_s', 'p50_ms', 'p99_ms')
#: Compared unless others are named, as far as a pattern has them and one does
#: not say what another one does; see ``comparison.treatments``.
QUANTITIES = (
    *OF_ALL,
    *expectations.of_directions(OF_ALL, expectations.DIRECTIONS),
)
_Percent = TypeVar('_Percent', float, None, float | None)
#: Of the default.
HUNDRED = 100.0


class SlotVerdict(enum.Enum):
    """Verdicts on a slot of a sweep."""

    SOUND = 'sound'
    NOT_IN_EFFECT = 'not in effect'
    CHANGED = 'changed while it was measured'
    #: its command failed, or left no result
    NO_RESULT = 'no sound result'


@dataclass(frozen=True, kw_only=True)
class ReachedSlot:
    """A slot of a sweep that was reached."""

    number: int
    block: int
    #: name of the treatment, or of the default
    treatment: str
    verdict: SlotVerdict
    #: why it is not sound; else empty
    reason: str = ''
    #: None: it is not sound
    run: run_result.RunResult | None = None


@dataclass(frozen=True, kw_only=True)
class Swept:
    """A sweep with its results."""

    tier: str
    #: name of the treatment that changes nothing
    default: str
    #: {treatment, without the default: fields of patterns that it varies}, in
    #: the order of the sweep file
    treatments: Mapping[str, frozenset[str]]
    #: how many were planned
    blocks: int
    slots: tuple[ReachedSlot, ...]

    def runs(self, treatment: str) -> dict[int, run_result.RunResult]:
        """{block: its run}, of the sound slots of a treatment."""
        return {
            slot.block: slot.run
            for slot in self.slots
            if slot.treatment == treatment and slot.run is not None
        }


@dataclass(frozen=True, kw_only=True)
class Unmeasured:
    """A treatment without any figure."""

    treatment: str
    verdict: SlotVerdict
    #: why, of the first slot with the verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class Effects:
    """Claims on a sweep."""

    #: the side of each claim is its treatment
    comparison: comparison.Comparison
    #: in the order of the sweep file
    unmeasured: tuple[Unmeasured, ...]
    #: slots that no claim uses, of treatments that have figures, or whose
    #: result another slot has as well; a line each
    left_out: tuple[str, ...]


def in_hundreds(percent: _Percent) -> _Percent:
    """A change in percent as a ratio of which the default is 100.

    None stays None.

    >>> in_hundreds(44.5)
    144.5
    """
    return None if percent is None else HUNDRED + percent


def of_sweep(
    swept: Swept,
    question: comparison.Question,
    *,
    tiers: Sequence[str] | None = None,
) -> Effects:
    """Compare each treatment with the default, within blocks.

    All claims of the sweep are corrected for each other.

    :param tiers: tiers to compare; None: all that are in all runs
    :raises comparison.ComparisonError: no slot of the default, or of any
        treatment, is sound; or see ``comparison.treatments``
    """
    default = swept.runs(swept.default)
    if not default:
        raise comparison.ComparisonError(
            f'no slot of {swept.default} has a sound result, so there is'
            f' nothing to compare with'
        )
    treated = []
    unmeasured = []
    for name, varied in swept.treatments.items():
        runs = swept.runs(name)
        if default.keys() & runs.keys():
            treated.append(
                comparison.SweptTreatment(name=name, runs=runs, varied=varied)
            )
        else:
            unmeasured.append(_unmeasured(swept, name))
    return Effects(
        comparison=comparison.treatments(
            default, treated, question, tiers=tiers
        )
        if treated
        else comparison.Comparison(circumstances=(), claims=()),
        unmeasured=tuple(unmeasured),
        left_out=(
            *_copies(swept),
            *_left_out(swept, {each.name for each in treated}),
        ),
    )


def _copies(swept: Swept) -> Iterator[str]:
    """Sentences on slots whose results are copies.

    They are not left out: a simulation with known results copies files.
    """
    slots = [each for each in swept.slots if each.run is not None]
    for number, slot in enumerate(slots):
        same = next(
            (each for each in slots[:number] if each.run == slot.run), None
        )
        if same is not None:
            yield (
                f'the result of slot {slot.number} is a copy of that of slot'
                f' {same.number}: expected a run of its own; it is counted'
                f' as one, so the intervals are too narrow'
            )


def _unmeasured(swept: Swept, treatment: str) -> Unmeasured:
    slots = [each for each in swept.slots if each.treatment == treatment]
    # That an option is not in effect says most of it.
    for verdict in (
        SlotVerdict.NOT_IN_EFFECT,
        SlotVerdict.CHANGED,
        SlotVerdict.NO_RESULT,
    ):
        for slot in slots:
            if slot.verdict is verdict:
                return Unmeasured(
                    treatment=treatment, verdict=verdict, reason=slot.reason
                )
    return Unmeasured(
        treatment=treatment,
        verdict=SlotVerdict.NO_RESULT,
        reason=f'no block has a sound result of it and of {swept.default}'
        if slots
        else 'the sweep ended before its first slot',
    )


def _left_out(swept: Swept, used: set[str]) -> Iterator[str]:
    for slot in swept.slots:
        if slot.verdict is not SlotVerdict.SOUND and slot.treatment in (
            swept.default,
            *used,
        ):
            yield (
                f'block {slot.block} of {slot.treatment} is not used:'
                f' {slot.verdict.value}: {slot.reason}'
            )
