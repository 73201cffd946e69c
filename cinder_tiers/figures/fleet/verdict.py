# SPDX-License-Identifier: Apache-2.0

"""Verdict on each guest, decided from its console.

Pure: consoles and schedule in, outcomes out.  A guest that did not do all of
its slots properly is never passed over silently: it gets a verdict and the
reason in words.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import enum
from typing import Any

from cinder_tiers.figures.fio import iops_log
from cinder_tiers.figures.fio import latency_log
from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fleet import guest_clock
from cinder_tiers.figures.fleet import guest_facts
from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.fleet import merge
from cinder_tiers.figures.fleet import precondition
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.protocol import frames


class GuestVerdict(enum.Enum):
    """Verdicts on a guest, or on a guest in one slot; worst first."""

    LOST = 'lost'  # its console fell silent
    BROKEN = 'broken'  # could not prepare or take part
    FIO_FAILED = 'fio failed'
    DAMAGED = 'damaged result'
    WRONG_CLOCK = 'wrong clock'  # its times are not the other guests'
    WRONG_TIER = 'wrong tier'  # its volume does not lie where it should
    LATE = 'late'
    COMPLETE = 'complete'


@dataclass(frozen=True, kw_only=True)
class SlotOutcome:
    """Outcome of one guest in one slot."""

    #: the slot
    slot: schedule.Slot
    #: COMPLETE only if ``measured`` may be used
    verdict: GuestVerdict
    #: why it is not complete, else empty
    reason: str = ''
    #: times and result if they arrived whole, even if not COMPLETE
    measured: merge.GuestSlot | None = None


@dataclass(frozen=True, kw_only=True)
class GuestOutcome:
    """Outcome of one guest in the whole run."""

    #: its name
    guest: str
    #: its tier
    tier: str
    #: its slots in order of time
    slots: tuple[SlotOutcome, ...]
    #: its clock minus the leader's; None if unknown
    clock_offset_ms: int | None
    #: how often its clock was compared with the leader's
    clock_samples: int
    #: marked lines of its console that were unusable
    damaged_lines: int
    #: its release, None if it did not say
    kernel: str | None = None
    #: device or file it works on, None if it did not say
    target: str | None = None
    #: see ``guest_clock.GuestClock.error_ms``
    clock_error_ms: float | None = None
    #: why the offset is not known, else empty
    clock_reason: str = ''
    #: what it is, None if it did not say
    system: guest_system.GuestSystem | None = None
    #: T0 on the common clock, as it was given; None if unknown
    start_ms: int | None = None
    #: its uptime minus the common clock; None if unknown
    clock_shift_ms: int | None = None
    #: what it wrote before the first turn; None if it has no round
    preconditioned: precondition.Preconditioned | None = None

    @property
    def verdict(self) -> GuestVerdict:
        """The worst of its slots."""
        found = {outcome.verdict for outcome in self.slots}
        return next(verdict for verdict in GuestVerdict if verdict in found)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Each reason once, in order of time; empty if all is complete."""
        return tuple(
            dict.fromkeys(
                outcome.reason for outcome in self.slots if outcome.reason
            )
        )


_OVER = {
    'LATE': GuestVerdict.LATE,
    'FAILED': GuestVerdict.BROKEN,
    'BROKEN': GuestVerdict.BROKEN,
}


def has_ended(console: frames.GuestConsole) -> bool:
    """Return whether the guest's script has reported its end."""
    return any(console.event(name) for name in ('DONE', 'FAILED', 'LATE'))


def is_complete(console: frames.GuestConsole) -> bool:
    """Return whether further reading cannot bring anything new.

    A guest that did all its slots prints everything again, as often as its
    DONE says; it need not be heard by who has it all.
    """
    if not has_ended(console):
        return False
    done = console.event('DONE')
    copies = (done and done.integer('copies')) or 1
    repeated = [
        event.integer('copy') or 0
        for event in console.events
        if event.name == 'REPEATED'
    ]
    return not console.missing or max(repeated, default=1) >= copies


def _silence(console: frames.GuestConsole) -> tuple[GuestVerdict, str]:
    """Explain why a guest did not take part, if possible in its words."""
    for name in ('LATE', 'BROKEN', 'FAILED'):
        event = console.event(name)
        if event is not None:
            return _OVER[name], event.text or name.lower()
    if not console.events:
        return GuestVerdict.LOST, 'no output was received from it'
    return GuestVerdict.LOST, f'last reported {console.events[-1].name}'


def _field_of(console: frames.GuestConsole, name: str, key: str) -> str | None:
    event = console.event(name)
    return event.fields.get(key) if event else None


def _event_of(
    console: frames.GuestConsole, name: str, number: int
) -> frames.Event | None:
    return next(
        (
            event
            for event in console.events
            if event.name == name and event.integer('slot') == number
        ),
        None,
    )


# From the end of the last second to fio's exit; under emulation some 100 ms.
_SERIES_OUTSIDE_MS = 3000
# The script kills a fio long before (guest.orders).
_OVERTIME_SECONDS = 60


def _logs(
    sent: iops_log.Sent,
    result: fio_output.FioResult,
    started_ms: int,
    ended_ms: int,
) -> dict[str, Any]:
    """Return the logs of a run, by the fields of ``merge.GuestSlot``.

    fio's logs use the wall clock, everything else the time since boot.  fio
    notes the wall clock when it writes its output, just before it ends: there
    the two are matched, up to the time that fio needs to exit.

    :returns: values on the common clock; empty if the guest sent nothing
    :raises iops_log.LogError: a log is invalid, or does not lie within the run
    """
    directions = iops_log.parse_directions(
        sent.iops, runtime_ms=result.runtime_ms, end_ms=result.timestamp_ms
    )
    if not directions or result.timestamp_ms is None:
        return {}
    bandwidth = iops_log.parse(
        sent.bandwidth,
        runtime_ms=result.runtime_ms,
        end_ms=result.timestamp_ms,
    )
    begins_ms = next(iter(directions.values()))[0][0]
    latencies = latency_log.parse(
        sent.latencies,
        begins_ms=begins_ms,
        runtime_ms=result.runtime_ms,
        total_ios=result.total_ios,
    )
    shift_ms = ended_ms - result.timestamp_ms
    for series in (*directions.values(), bandwidth):
        if series:
            _check_within(
                series[0][0] + shift_ms,
                series[-1][0] + iops_log.STEP_MS + shift_ms,
                started_ms,
                ended_ms,
            )
    if latencies:
        _check_within(
            begins_ms + shift_ms,
            latencies.last_ms + shift_ms,
            started_ms,
            # It is due when its time is over, also if fio ended before.
            ended_ms + latencies.step_ms,
        )
    return {
        'series': _moved(iops_log.total(directions), shift_ms),
        'directions': tuple(
            (name, _moved(series, shift_ms))
            for name, series in directions.items()
        ),
        'bw_series': _moved(bandwidth, shift_ms, times=1024),
        'latencies': latencies and latencies.moved(shift_ms),
    }


def _moved(
    series: Sequence[tuple[int, float]], shift_ms: int, times: int = 1
) -> iops_log.Seconds:
    return iops_log.Seconds(
        series[0][0] + shift_ms if series else 0,
        (value * times for _ms, value in series),
    )


def _check_within(
    first_ms: int, last_ms: int, started_ms: int, ended_ms: int
) -> None:
    """Check that values can be of a run.

    :raises iops_log.LogError: the values lie outside of the run
    """
    if (
        first_ms < started_ms - _SERIES_OUTSIDE_MS
        or last_ms > ended_ms + _SERIES_OUTSIDE_MS
    ):
        raise iops_log.LogError(
            f'values of {first_ms} to {last_ms} ms, but fio ran from'
            f' {started_ms} to {ended_ms} ms'
        )


def _times_ms(
    event: frames.Event, slot: schedule.Slot, *, shift_ms: int, start_ms: int
) -> tuple[int, int, int]:
    """Return the planned start, real start and end of an END event.

    :param shift_ms: shift of the guest's clock
    :param start_ms: T0 on the leader's clock
    :raises frames.DamagedResult: the script cannot have printed such times: it
        plans by T0 and the schedule, and ends after it began
    """
    times = [
        time - shift_ms
        for key in ('planned', 'real', 'end')
        if (time := event.integer(key)) is not None
    ]
    if len(times) == 3:
        planned, real, end = times
        if (
            planned == start_ms + slot.begin_seconds * 1000
            and 0 <= real <= end
        ):
            return planned, real, end
    raise frames.DamagedResult(
        f'its times: found {event.fields} with the offset {shift_ms},'
        f' expected a start {slot.begin_seconds} s after {start_ms} ms,'
        f' and an end'
    )


def _measured(
    guest: str,
    times_ms: tuple[int, int, int],
    slot: schedule.Slot,
    clock: guest_clock.GuestClock,
    of_volumes: Mapping[str, fio_output.FioResult],
    sent: iops_log.Sent,
    cpu: guest_system.CpuUse | None,
) -> merge.GuestSlot:
    """Return a guest's result on the common clock.

    :raises frames.DamagedResult: fio reports a longer runtime
    :raises iops_log.LogError: a log is invalid
    """
    planned_ms, started_ms, ended_ms = times_ms
    result = fio_output.together(list(of_volumes.values()))
    if result.runtime_ms > ended_ms - started_ms + _SERIES_OUTSIDE_MS:
        raise frames.DamagedResult(
            f'fio says that it ran {result.runtime_ms} ms, but it was started'
            f' and ended within {ended_ms - started_ms} ms'
        )
    # What ends so late is in no window, and a long series costs memory.
    overruns = (
        ended_ms > planned_ms + (slot.seconds + _OVERTIME_SECONDS) * 1000
    )
    return merge.GuestSlot(
        guest=guest,
        planned_ms=planned_ms,
        started_ms=started_ms,
        ended_ms=ended_ms,
        result=result,
        clock_error_ms=clock.error_ms,
        cpu=cpu,
        volumes=tuple(of_volumes.items()) if len(of_volumes) > 1 else (),
        **({} if overruns else _logs(sent, result, started_ms, ended_ms)),
    )


def _lateness(
    measured: merge.GuestSlot, slot_ms: int, late_after_ms: int
) -> str:
    """Explain why a result is outside of its slot's window; empty if not."""
    if abs(measured.start_error_ms) > late_after_ms:
        return (
            f'started {measured.start_error_ms} ms after its time,'
            f' expected at most {late_after_ms}'
        )
    overrun_ms = measured.ended_ms - measured.planned_ms - slot_ms
    if overrun_ms > 0:
        return f'ended {overrun_ms} ms into the next slot'
    return ''


def _judge_slot(
    guest: str,
    console: frames.GuestConsole,
    slot: schedule.Slot,
    clock: guest_clock.GuestClock,
    late_after_ms: int,
    volumes: Sequence[str],
) -> SlotOutcome:
    failed = _event_of(console, 'FIO-FAILED', slot.number)
    if failed is not None:
        return SlotOutcome(
            slot=slot,
            verdict=GuestVerdict.FIO_FAILED,
            reason=f'fio ended with {failed.integer("rc")} on'
            f' {slot.pattern.name}: {failed.text}',
        )
    ended = _event_of(console, 'END', slot.number)
    if ended is None or clock.shift_ms is None or clock.start_ms is None:
        verdict, reason = _silence(console)
        if verdict is GuestVerdict.LOST and console.event('DONE'):
            verdict = GuestVerdict.DAMAGED
            reason = (
                'its times were not received, although it reported that it'
                ' is done'
            )
        return SlotOutcome(slot=slot, verdict=verdict, reason=reason)
    try:
        times_ms = _times_ms(
            ended, slot, shift_ms=clock.shift_ms, start_ms=clock.start_ms
        )
        sent = iops_log.split(console.result(slot.number))
        results = fio_output.parse_each(
            sent.output,
            jobname=slot.pattern.name,
            ordered=slot.pattern,
            jobs=len(volumes),
        )
        measured = _measured(
            guest,
            times_ms,
            slot,
            clock,
            dict(zip(volumes, results, strict=True)),
            sent,
            guest_facts.cpu_use(ended, guest_facts.system(console)),
        )
    except (
        frames.DamagedResult,
        fio_output.ResultError,
        iops_log.LogError,
    ) as error:
        return SlotOutcome(
            slot=slot,
            verdict=GuestVerdict.DAMAGED,
            reason=f'result of {slot.pattern.name}: {error}',
        )
    lateness = _lateness(measured, slot.seconds * 1000, late_after_ms)
    if lateness:
        return SlotOutcome(
            slot=slot,
            verdict=GuestVerdict.LATE,
            measured=measured,
            reason=f'{slot.pattern.name} {lateness}',
        )
    return SlotOutcome(
        slot=slot, verdict=GuestVerdict.COMPLETE, measured=measured
    )


def judge(
    console: frames.GuestConsole,
    *,
    guest: str,
    tier: str,
    plan: schedule.Schedule,
    late_after_ms: int,
    position: int = 0,
    volumes: Sequence[str] = ('',),
) -> GuestOutcome:
    """Decide the outcome of one guest.

    :param console: text heard from the guest
    :param plan: schedule of all tiers
    :param late_after_ms: a start that deviates by more does not count
    :param position: position of the guest in its tier, from 0
    :param volumes: ids of the volumes on which fio works, in the order of the
        guest's orders; the id of a single one may be unknown
    """
    clock = guest_clock.parse_go_event(console.event('GO'))
    slots = [
        _judge_slot(guest, console, slot, clock, late_after_ms, volumes)
        for slot in plan.of_guest(tier, position)
    ]
    return GuestOutcome(
        guest=guest,
        tier=tier,
        damaged_lines=console.damaged_lines,
        clock_offset_ms=clock.offset_ms,
        clock_samples=clock.samples,
        clock_error_ms=clock.error_ms,
        clock_reason=clock.reason,
        start_ms=clock.start_ms,
        clock_shift_ms=clock.shift_ms,
        kernel=_field_of(console, 'BOOT', 'kernel'),
        target=_field_of(console, 'PREPARED', 'target'),
        system=guest_facts.system(console),
        preconditioned=precondition.told(console),
        slots=tuple(
            dataclasses.replace(found, reason=frames.harmless(found.reason))
            for found in slots
        ),
    )


#: A guest, and what it did in one slot.
OfGuest = tuple[GuestOutcome, SlotOutcome]


def by_slot(outcomes: Sequence[GuestOutcome]) -> dict[int, list[OfGuest]]:
    """{number of a slot: what each of its guests did}.

    Of a large fleet, to look for those of a slot each time takes minutes.
    """
    found: dict[int, list[OfGuest]] = {}
    for outcome in outcomes:
        for each in outcome.slots:
            found.setdefault(each.slot.number, []).append((outcome, each))
    return found


def complete(of_guests: Sequence[OfGuest]) -> list[merge.GuestSlot]:
    """Return the results of the guests that are complete in a slot.

    :param of_guests: all guests of the slot, from ``by_slot``
    """
    return [
        found.measured
        for _outcome, found in of_guests
        if found.verdict is GuestVerdict.COMPLETE
        and found.measured is not None
    ]
