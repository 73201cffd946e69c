# SPDX-License-Identifier: Apache-2.0

"""Many guests' results of one slot as one result.

Rates add up, latencies are merged by their histograms; nothing is averaged.
Guests without a result are not here: who calls must name them.

Times are milliseconds on the common clock: the leader's, counted from the
leader's boot, or wall time, counted from the epoch.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import latency_log
from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fleet import guest_system

# Starts of one slot that are further apart are reported as such.
START_SKEW_LIMIT_MS = 50
# Within what is measured, guests that start S apart do not all run for S: the
# sum of their rates is too high by at most S / the time that is measured. What
# the clocks leave open is reported when that is a quarter of the spread that
# is reported, see intervals.SPREAD_LIMIT_PERCENT.
START_SKEW_LIMIT_SHARE = 0.025


@dataclass(frozen=True, kw_only=True)
class GuestSlot:
    """Result of one guest in one slot."""

    #: its name
    guest: str
    #: when fio was to start
    planned_ms: int
    #: when fio was started
    started_ms: int
    #: when fio had ended
    ended_ms: int
    #: what fio reported, of all volumes together
    result: fio_output.FioResult
    #: IOPS of each second, ((when it began, IOPS), ...); empty if the guest
    #: sent none
    series: Sequence[tuple[int, float]] = ()
    #: likewise bytes per second
    bw_series: Sequence[tuple[int, float]] = ()
    #: its times are wrong by at most this against the leader's clock; None if
    #: that is not known
    clock_error_ms: float | None = None
    #: what became of its CPUs meanwhile; None if it did not say
    cpu: guest_system.CpuUse | None = None
    #: ((id of a volume, what fio reported of it), ...) where fio worked on
    #: several; else empty
    volumes: tuple[tuple[str, fio_output.FioResult], ...] = ()
    #: ((read, write or trim, IOPS of each second of ``series``), ...), of
    #: those that the guest sent
    directions: tuple[tuple[str, Sequence[tuple[int, float]]], ...] = ()
    #: latencies of each few seconds; None if the guest sent none
    latencies: latency_log.GuestLatencies | None = None

    @property
    def start_error_ms(self) -> int:
        """Positive when fio was started after its time."""
        return self.started_ms - self.planned_ms


def start_remark(
    skew_ms: int, error_ms: float | None, measured_ms: int
) -> str:
    """Return the objection to a common start; empty if there is none.

    :param skew_ms: time from the first to the last start
    :param error_ms: the true skew is longer by at most this; None if unknown
    :param measured_ms: time in which all guests were measured; 0 without any
    """
    if error_ms is None:
        return f'started within {skew_ms} ms, with unknown clock error'
    if skew_ms > START_SKEW_LIMIT_MS:
        return f'started within {skew_ms} ms, expected {START_SKEW_LIMIT_MS}'
    most_ms = skew_ms + error_ms
    if most_ms <= max(
        START_SKEW_LIMIT_MS, START_SKEW_LIMIT_SHARE * measured_ms
    ):
        return ''
    remark = (
        f'started within {skew_ms} ms, but with clock error it may be'
        f' {most_ms:g} ms'
    )
    if measured_ms:
        remark += f', {100 * most_ms / measured_ms:.1f} % of the time measured'
    return remark


@dataclass(frozen=True, kw_only=True)
class FleetDirection:
    """Reads, or writes, of all guests of a tier in one slot."""

    #: sum of the guests'
    iops: float
    #: sum of the guests', bytes per second
    bw_bytes: int
    #: sum of the guests'
    total_ios: int
    #: all their completion latencies
    clat: histogram.LatencyHistogram
    #: of these, as fio sums them up
    clat_moments: fio_output.LatencyMoments
    #: all their total latencies
    lat: fio_output.LatencyMoments
    #: all their submission latencies; None if a guest's engine has none
    slat: fio_output.LatencyMoments | None


@dataclass(frozen=True, kw_only=True)
class FleetSlot:
    """Result of all guests of a tier in one slot."""

    #: how many are in the figures
    guests: int
    #: sum of the guests'
    iops: float
    #: sum of the guests', bytes per second
    bw_bytes: int
    #: all their completion latencies
    clat: histogram.LatencyHistogram
    #: from the first to the last start
    start_skew_ms: int
    #: how long all of them ran side by side, 0 if never
    window_ms: int
    #: the true skew is longer by at most this; None if it is not known how
    #: exact a guest's clock is
    start_skew_error_ms: float | None = None
    #: {read or write: what was}, of those of which there was any
    directions: Mapping[str, FleetDirection] = field(default_factory=dict)
    #: calls of fdatasync or fsync; None if a guest has none
    syncs: fio_output.Syncs | None = None


def _start_skew(slots: Sequence[GuestSlot]) -> tuple[int, float | None]:
    """Start skew and its error, both in ms, see ``FleetSlot``."""
    starts_ms = [slot.started_ms for slot in slots]
    skew_ms = max(starts_ms) - min(starts_ms)
    if len(slots) == 1:
        return skew_ms, 0
    found = [
        (slot.started_ms, slot.clock_error_ms)
        for slot in slots
        if slot.clock_error_ms is not None
    ]
    if len(found) < len(slots):
        return skew_ms, None
    last_ms = max(start_ms + error_ms for start_ms, error_ms in found)
    first_ms = min(start_ms - error_ms for start_ms, error_ms in found)
    return skew_ms, last_ms - first_ms - skew_ms


def _directions(slots: Sequence[GuestSlot]) -> dict[str, FleetDirection]:
    found: dict[str, list[fio_output.Direction]] = {}
    for slot in slots:
        for each in slot.result.directions:
            found.setdefault(each.name, []).append(each)
    return {
        name: FleetDirection(
            iops=sum(each.iops for each in of_guests),
            bw_bytes=sum(each.bw_bytes for each in of_guests),
            total_ios=sum(each.total_ios for each in of_guests),
            clat=histogram.merge(each.clat for each in of_guests),
            clat_moments=fio_output.merged_moments(
                [each.clat_moments for each in of_guests]
            ),
            lat=fio_output.merged_moments([each.lat for each in of_guests]),
            slat=fio_output.merged_slat(of_guests),
        )
        for name, of_guests in sorted(found.items())
    }


def merge(slots: Sequence[GuestSlot]) -> FleetSlot:
    """Merge the guests of one slot.

    :param slots: at least one, all of the same slot, no guest twice
    :raises ValueError: there is none, a guest is there twice, or they ran
        different jobs
    """
    if not slots:
        raise ValueError('no guest has a result for this slot')
    names = [slot.guest for slot in slots]
    if len(set(names)) != len(names):
        raise ValueError(f'a guest is there twice: {", ".join(sorted(names))}')
    jobs = {slot.result.jobname for slot in slots}
    if len(jobs) > 1:
        raise ValueError(
            f'results of different jobs cannot be merged:'
            f' {", ".join(sorted(jobs))}'
        )
    skew_ms, skew_error_ms = _start_skew(slots)
    window_ms = min(slot.ended_ms for slot in slots) - max(
        slot.started_ms for slot in slots
    )
    return FleetSlot(
        guests=len(slots),
        iops=sum(slot.result.iops for slot in slots),
        bw_bytes=sum(slot.result.bw_bytes for slot in slots),
        clat=histogram.merge(slot.result.clat for slot in slots),
        start_skew_ms=skew_ms,
        start_skew_error_ms=skew_error_ms,
        window_ms=max(0, window_ms),
        directions=_directions(slots),
        syncs=fio_output.merged_syncs([slot.result.syncs for slot in slots]),
    )
