# SPDX-License-Identifier: Apache-2.0


"""Conversion of a guest's times to the common clock, from its event GO.

With a start by volume the common clock is the leader's, counted from its boot,
and guests measured how far theirs are from it.  With a start by wall time it
is wall time, and a guest knows only its own.

Pure; ``fleet.sh`` and ``fleet_clock.sh`` print the event.
"""

from dataclasses import dataclass

from cinder_tiers.figures.protocol import frames

_KEPT = {
    'chrony': 'chrony keeps its clock',
    'timedatectl': 'timedatectl says that its clock is kept, not how well',
    'kernel': 'its kernel says that its clock is kept, not how well',
    'nobody': 'no time service keeps its clock',
}
_UNKNOWN = 'it could not find out who keeps its clock'


@dataclass(frozen=True, kw_only=True)
class GuestClock:
    """Relation of a guest's clock to the common clock."""

    #: its uptime minus the common clock; None: it did not say
    shift_ms: int | None
    #: its clock minus the leader's; None if unknown
    offset_ms: int | None
    #: comparisons of its clock with the leader's
    samples: int
    #: half of the interval in which the shift lies; None if unknown
    error_ms: float | None
    #: why the offset is unknown; empty if it is known
    reason: str
    #: T0 on the common clock, as it was given; None if unknown
    start_ms: int | None = None


def parse_go_event(event: frames.Event | None) -> GuestClock:
    """Parse what a guest reported of its clock.

    :param event: its event GO, or None
    """
    shift_ms, error_ms, samples, start_ms = (
        event.integer(key) if event else None
        for key in ('offset', 'error', 'samples', 'start')
    )
    if (
        event is None
        or shift_ms is None
        or samples is None
        or start_ms is None
        or min(samples, start_ms) < 0
    ):
        return GuestClock(
            shift_ms=None,
            offset_ms=None,
            samples=0,
            error_ms=None,
            reason='it did not say that it saw the start',
        )
    if event.fields.get('by') != 'clock':
        return GuestClock(
            shift_ms=shift_ms,
            offset_ms=shift_ms,
            samples=samples,
            error_ms=None if error_ms is None or error_ms < 0 else error_ms,
            reason='',
            start_ms=start_ms,
        )
    parts_us = [
        part
        for key in ('reading', 'bound')
        if (part := event.integer(key)) is not None and part >= 0
    ]
    kept = _KEPT.get(event.fields.get('sync', ''), _UNKNOWN)
    return GuestClock(
        shift_ms=shift_ms,
        offset_ms=None,
        samples=0,
        start_ms=start_ms,
        error_ms=sum(parts_us) / 1000 if len(parts_us) == 2 else None,
        reason=f'the start was by wall time; {kept}',
    )
