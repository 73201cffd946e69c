# SPDX-License-Identifier: Apache-2.0

"""Record of a slot of a sweep. Pure."""

import dataclasses
import enum

from cinder_tiers.loop.fault import fault as fault_values
from cinder_tiers.loop.sweep import design


class TreatmentVerdict(enum.Enum):
    """Verdicts on a treatment: in effect while it was measured, or not."""

    IN_EFFECT = 'in effect'
    #: So nothing was measured.
    NOT_IN_EFFECT = 'not in effect'
    #: It was in effect at the beginning only, so the figure is not used.
    CHANGED = 'changed while it was measured'
    #: Or not as it should be; so the figure is not used.
    FAULT_NOT_MADE = 'fault not made'


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasuredSlot:
    """Record of a measurement."""

    #: Of the command; negative: the signal that ended it.
    exit_status: int
    #: Path of the file with the result; None: there is none.
    result_file: str | None
    #: What became of the faults that were to be made meanwhile.
    faults: tuple[fault_values.FaultRecord, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class SlotRecord:
    """A slot, and what became of it."""

    slot: design.TreatmentSlot
    verdict: TreatmentVerdict
    #: Why the treatment was not in effect; '' when it was.
    reason: str = ''
    #: None: nothing was measured.
    measured: MeasuredSlot | None = None
    #: UTC, as 2026-11-23T20:00:00Z.
    started: str
    ended: str

    @property
    def is_sound(self) -> bool:
        """Return whether the slot's result may be compared."""
        return (
            self.verdict is TreatmentVerdict.IN_EFFECT
            and self.measured is not None
            and self.measured.exit_status == 0
        )
