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

"""What became of each guest, decided from what was heard of it.

Pure: consoles and schedule in, outcomes out.  A guest that did not do all of
its slots properly is never passed over in silence: it gets a verdict and the
reason in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import enum

from rally_scenarios.bench import fio_result
from rally_scenarios.bench import fleet
from rally_scenarios.bench import schedule
from rally_scenarios.guest import frames


class Verdict(enum.Enum):
    """What to say of a guest, or of a guest in one slot; worst first."""

    LOST = "lost"                  # its console fell silent
    BROKEN = "broken"              # could not prepare or take part
    FIO_FAILED = "fio failed"
    DAMAGED = "damaged result"
    LATE = "late"
    COMPLETE = "complete"


@dataclass(frozen=True, kw_only=True)
class SlotOutcome:
    """One guest in one slot.

    :ivar slot: the slot
    :ivar verdict: COMPLETE only if ``measured`` may be used
    :ivar reason: why it is not complete, else empty
    :ivar measured: times and result if they arrived whole, even if LATE
    """

    slot: schedule.Slot
    verdict: Verdict
    reason: str = ""
    measured: fleet.GuestSlot | None = None


@dataclass(frozen=True, kw_only=True)
class GuestOutcome:
    """One guest in the whole run.

    :ivar guest: its name
    :ivar tier: its tier
    :ivar slots: its slots in order of time
    :ivar clock_offset_ms: its clock minus the leader's; None if unknown
    :ivar clock_samples: beacons it set its clock by
    :ivar damaged_lines: marked lines of its console that were unusable
    """

    guest: str
    tier: str
    slots: tuple[SlotOutcome, ...]
    clock_offset_ms: int | None
    clock_samples: int
    damaged_lines: int

    @property
    def verdict(self) -> Verdict:
        """The worst of its slots."""
        found = {outcome.verdict for outcome in self.slots}
        return next(verdict for verdict in Verdict if verdict in found)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Each reason once, in order of time; empty if all is complete."""
        return tuple(dict.fromkeys(
            outcome.reason for outcome in self.slots if outcome.reason))


_OVER = {"LATE": Verdict.LATE, "FAILED": Verdict.BROKEN,
         "BROKEN": Verdict.BROKEN}


def has_ended(console: frames.GuestConsole) -> bool:
    """Whether the guest's script said its last word."""
    return any(console.event(name) for name in ("DONE", "FAILED", "LATE"))


def _silence(console: frames.GuestConsole) -> tuple[Verdict, str]:
    """Why a guest did not take part: its own word, or the lack of it."""
    for name in ("LATE", "BROKEN", "FAILED"):
        event = console.event(name)
        if event is not None:
            return _OVER[name], event.text or name.lower()
    if not console.events:
        return Verdict.LOST, "nothing was heard of it"
    return Verdict.LOST, f"last heard of at {console.events[-1].name}"


def _event_of(console, name, number):
    return next((event for event in console.events if event.name == name
                 and event.integer("slot") == number), None)


def _measured(guest, event, offset, result) -> fleet.GuestSlot | None:
    """Times of an END event on the leader's clock; None if one is missing."""
    times = [event.integer(key) for key in ("planned", "real", "end")]
    if None in times:
        return None
    planned_ms, started_ms, ended_ms = (
        (time - offset) * 10 for time in times)
    return fleet.GuestSlot(
        guest=guest, planned_ms=planned_ms, started_ms=started_ms,
        ended_ms=ended_ms, result=result)


def _lateness(measured, slot_ms, late_after_ms) -> str:
    """Why a result does not belong to its slot's window, or empty."""
    if abs(measured.start_error_ms) > late_after_ms:
        return (f"started {measured.start_error_ms} ms after its time,"
                f" expected at most {late_after_ms}")
    overrun_ms = measured.ended_ms - measured.planned_ms - slot_ms
    if overrun_ms > 0:
        return f"ended {overrun_ms} ms into the next slot"
    return ""


def _judge_slot(guest, console, slot, offset, slot_ms, late_after_ms
                ) -> SlotOutcome:
    failed = _event_of(console, "FIO-FAILED", slot.number)
    if failed is not None:
        return SlotOutcome(
            slot=slot, verdict=Verdict.FIO_FAILED,
            reason=f"fio ended with {failed.integer('rc')} on"
                   f" {slot.pattern.name}: {failed.text}")
    ended = _event_of(console, "END", slot.number)
    if ended is None or offset is None:
        verdict, reason = _silence(console)
        if verdict is Verdict.LOST and console.event("DONE"):
            verdict = Verdict.DAMAGED
            reason = "its times did not arrive, though it says it is done"
        return SlotOutcome(slot=slot, verdict=verdict, reason=reason)
    try:
        result = fio_result.parse(console.result(slot.number),
                                  jobname=slot.pattern.name)
    except (frames.DamagedResult, fio_result.ResultError) as error:
        return SlotOutcome(slot=slot, verdict=Verdict.DAMAGED,
                           reason=f"result of {slot.pattern.name}: {error}")
    measured = _measured(guest, ended, offset, result)
    if measured is None:
        return SlotOutcome(slot=slot, verdict=Verdict.DAMAGED,
                           reason=f"times of {slot.pattern.name}: found"
                                  f" {ended.fields}")
    lateness = _lateness(measured, slot_ms, late_after_ms)
    if lateness:
        return SlotOutcome(slot=slot, verdict=Verdict.LATE,
                           measured=measured,
                           reason=f"{slot.pattern.name} {lateness}")
    return SlotOutcome(slot=slot, verdict=Verdict.COMPLETE,
                       measured=measured)


def judge(console: frames.GuestConsole, *, guest: str, tier: str,
          plan: schedule.Schedule, late_after_ms: int) -> GuestOutcome:
    """Decide what became of one guest.

    :param console: all that was heard of it
    :param plan: slots of all tiers
    :param late_after_ms: a start further from its time does not count
    """
    go = console.event("GO")
    offset = go.integer("offset") if go else None
    samples = go.integer("samples") if go else None
    return GuestOutcome(
        guest=guest, tier=tier, damaged_lines=console.damaged_lines,
        clock_offset_ms=None if offset is None else offset * 10,
        clock_samples=samples or 0,
        slots=tuple(_judge_slot(guest, console, slot, offset,
                                plan.slot_seconds * 1000, late_after_ms)
                    for slot in plan.of_tier(tier)))


def merged(outcomes: Sequence[GuestOutcome], slot: schedule.Slot
           ) -> fleet.FleetSlot | None:
    """One slot's figures over the guests that are complete in it.

    :returns: None if no guest is
    """
    usable = [found.measured for outcome in outcomes
              for found in outcome.slots
              if found.slot == slot and found.verdict is Verdict.COMPLETE]
    return fleet.merge(usable) if usable else None
