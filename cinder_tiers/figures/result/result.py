# SPDX-License-Identifier: Apache-2.0

"""Result of a run, as one file that can be read years later.

JSON; ``etc/cinder-tiers/result.schema.json`` is its schema.  The version
counts up with every incompatible change; this code reads its own version and
refuses others.  A field that is new within a version is ``record.omitted``, so
that older files can be read.

Every figure has its unit in its name.  An unknown value is null with a reason
next to it, never a default.

This module must not know guests' consoles, Rally, or where files lie.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import functools
import json
import sys
from typing import Any

from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.fleet import precondition as rounds_before
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.stats import intervals
from cinder_tiers.figures.stats import steadiness

VERSION = 7
# Of any value of a second, and of the length of a time.
_MOST = 10**18
_MOST_STEP_MS = 10**9
#: Of a result file: a run of hundreds of guests has some tens of MiB.
MOST_MIB = 512
#: What a volume type's encryption is made of, as Cinder calls it.
ENCRYPTION = ('provider', 'cipher', 'key_size', 'control_location')
PERCENTILES = (50, 90, 95, 99, 99.9)
# Each file says of each of them what it is, or why it is not known.
ENVIRONMENT = (
    'cinder_tiers',
    'rally',
    'rally_openstack',
    'fio',
    'ceph',
    'disk_bus',
    'cache_mode',
    'write_cache',
    'io_scheduler',
    'clone_or_flat',
    'cpu_model',
    'hypervisor',
    'distribution',
    'kernel',
    'steal_percent',
    'ceph_options',
    'qos',
    'cinder',
    'nova',
    'compute',
)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something about the cloud or the run."""

    #: what it is; null if it is not known
    value: str | None
    #: why it is not known; empty if it is
    reason: str = ''

    def __post_init__(self) -> None:
        """Check that there is a value or a reason.

        :raises ValueError: there is neither, or both
        """
        if (self.value is None) != bool(self.reason):
            raise ValueError('a fact has a value, or a reason why not')


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """Completion latencies."""

    #: latency that so many percent did not exceed
    percentiles_ns: Mapping[str, int]
    #: [mean of a bucket in ns, completions], ascending: fio's own buckets, to
    #: be merged with others
    bins: tuple[tuple[int, int], ...]

    def histogram(self) -> histogram.LatencyHistogram:
        """The bins as a value that can be merged.

        :raises ValueError: they are not what they should be
        """
        return histogram.LatencyHistogram(bins=self.bins)


@dataclass(frozen=True, kw_only=True)
class VolumeFigures:
    """Figures of one of several volumes on which a guest works at once."""

    #: its id in Cinder
    volume: str
    #: I/Os per second
    iops: float
    #: bytes per second
    bw_bytes: int
    #: I/Os that were completed
    total_ios: int
    #: latency that 99 percent of them did not exceed
    p99_ns: int


def _check_values(*columns: Sequence[float]) -> None:
    """Check that numbers of a file can be drawn.

    :raises ValueError: one is below 0 or above 10^18
    """
    for values in columns:
        if values and not 0 <= min(values) <= max(values) <= _MOST:
            raise ValueError(
                'a value over time is below 0 or above 10^18: expected it'
                ' between'
            )


def _check_figures(record: object, *names: str) -> None:
    """Check that figures of a file can be used in calculations.

    :param names: names of the fields of the record
    :raises ValueError: names each that is below 0 or above 10^18
    """
    wrong = [
        f'{name} {str(value)[:20]}: expected at least 0, and at most 10^18'
        for name in names
        if (value := getattr(record, name)) is not None
        and not 0 <= value <= _MOST
    ]
    if wrong:
        raise ValueError('; '.join(wrong))


def _check_times(step_ms: int, *columns: Sequence[float]) -> None:
    """Check that values of equal times can be drawn.

    :raises ValueError: they have no such length, or see ``_check_values``
    """
    if not 1 <= step_ms <= _MOST_STEP_MS:
        raise ValueError(
            f'times of {str(step_ms)[:20]} ms: expected 1 to {_MOST_STEP_MS}'
        )
    _check_values(*columns)


@dataclass(frozen=True, kw_only=True)
class RatesOverTime:
    """IOPS and bandwidth of equal times, one after another."""

    #: when the first one begins
    begin_ms: int
    #: how long each is
    step_ms: int
    #: means of the times
    iops: tuple[float, ...]
    #: likewise, bytes per second; empty if the guest did not send it
    bw_bytes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        _check_times(self.step_ms, self.iops, self.bw_bytes)


@dataclass(frozen=True, kw_only=True)
class LatencyOverTime:
    """Completion latencies of equal times, one after another."""

    #: when the first one begins
    begin_ms: int
    #: how long each is
    step_ms: int
    #: I/Os that were completed in each
    ios: tuple[int, ...]
    #: latency that 99 percent of them did not exceed, to 3 percent; 0 where
    #: there is none
    p99_ns: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        _check_times(self.step_ms, self.ios, self.p99_ns)
        if len(self.ios) != len(self.p99_ns):
            raise ValueError(
                f'{len(self.ios)} times with I/Os and {len(self.p99_ns)} with'
                f' a p99: expected as many'
            )


# {fields: the record that has them}
_OVER_TIME: dict[frozenset[str], type[RatesOverTime | LatencyOverTime]] = {
    frozenset(field.name for field in dataclasses.fields(kind)): kind
    for kind in (RatesOverTime, LatencyOverTime)
}


@dataclass(frozen=True, kw_only=True)
class GuestFigures:
    """Figures of one guest in one slot, on the common clock.

    The common clock is the leader's, counted from the leader's boot, or wall
    time, counted from the epoch, if the start was by wall time.
    """

    #: its name
    guest: str
    #: complete, late, wrong tier, wrong clock, damaged result, fio failed,
    #: broken or lost; only complete ones are in the slot's figures
    verdict: str
    #: why it is not complete, else empty
    reason: str
    #: when fio was to start; null if no result arrived
    planned_ms: int | None
    #: when fio was started
    started_ms: int | None
    #: when fio had ended
    ended_ms: int | None
    #: I/Os per second
    iops: float | None
    #: bytes per second
    bw_bytes: int | None
    #: I/Os that were completed
    total_ios: int | None
    #: latency that 99 percent of them did not exceed
    p99_ns: int | None
    #: what its CPUs did while fio ran; null if it did not say
    cpu: guest_system.CpuUse | None = None
    #: longest time without a completion, see the slot's steadiness; null
    #: without values of each second
    longest_stall_s: float | None = None
    #: each volume's part of it, in the order in which the guest got them;
    #: null if it works on a single one
    volumes: tuple[VolumeFigures, ...] | None = None
    #: of the seconds, or of longer times where there are more than 60; null
    #: without values of each second, and of guests that no report draws (see
    #: ``guest_times``)
    rates: RatesOverTime | None = None
    #: null if the guest did not send it, and of those likewise
    latency: LatencyOverTime | None = None

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        _check_figures(self, 'iops', 'bw_bytes', 'total_ios', 'p99_ns')


@dataclass(frozen=True, kw_only=True)
class Moments:
    """A kind of latency as fio sums it up, not from histograms."""

    #: of all I/Os of all guests
    mean_ns: float
    #: the longest
    max_ns: int

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        _check_figures(self, 'mean_ns', 'max_ns')


@dataclass(frozen=True, kw_only=True)
class DirectionFigures:
    """Reads, or writes, of all complete guests of a slot."""

    #: sum of the guests'
    iops: float
    #: sum of the guests', bytes per second
    bw_bytes: int
    #: I/Os that were completed
    total_ios: int
    #: their completion latencies; null if there is no other direction, and so
    #: they are those of the slot
    clat: Latencies | None
    #: from the submission of an I/O to its completion
    clat_moments: Moments
    #: from the wish for an I/O to its submission; null for an engine that
    #: submits and waits in one
    slat_moments: Moments | None
    #: from the wish for an I/O to its completion: what an application waits
    lat_moments: Moments

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        _check_figures(self, 'iops', 'bw_bytes', 'total_ios')


@dataclass(frozen=True, kw_only=True)
class SyncFigures:
    """Calls of fdatasync or fsync of all complete guests of a slot."""

    #: how long each took
    lat: Latencies
    #: of these, as fio sums them up
    moments: Moments


@dataclass(frozen=True, kw_only=True)
class DirectionEstimates:
    """Reads, or writes, over the repeats of a pattern."""

    #: over the repeats in which all guests are complete
    iops: intervals.Estimate
    #: likewise
    bw_bytes: intervals.Estimate
    #: likewise, of the mean completion latency of each repeat
    clat_mean_ns: intervals.Estimate
    #: likewise, of the mean total latency
    lat_mean_ns: intervals.Estimate
    #: the longest total latency of all of them
    lat_max_ns: int


@dataclass(frozen=True, kw_only=True)
class MergedFigures:
    """Figures of all complete guests of a slot together."""

    #: how many
    guests: int
    #: sum of the guests'
    iops: float
    #: sum of the guests', bytes per second
    bw_bytes: int
    #: all their completion latencies
    clat: Latencies
    #: from the first to the last start
    start_skew_ms: int
    #: in which all of them were measured, or, without values of each second,
    #: in which fio ran on all of them
    window: steadiness.Window
    #: Jain's index of the guests' IOPS, 1 if all got the same; null if none
    #: did an I/O
    fairness: float | None
    #: the true skew is longer by at most this; null if it is not known how
    #: exact the guests' clocks are
    start_skew_error_ms: float | None = None
    #: {read or write: what was}, of those of which there was any; null if
    #: they are not separate
    directions: Mapping[str, DirectionFigures] | None = None
    #: null if a guest has none, or in files of before they were counted
    syncs: SyncFigures | None = record.omitted()

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        _check_figures(self, 'iops', 'bw_bytes')


@dataclass(frozen=True, kw_only=True)
class LatencyWindow:
    """Latencies of a few seconds of a slot, of all complete guests."""

    #: read, write or trim
    direction: str
    #: on the common clock, a whole second: none of the I/Os completed before
    begin_ms: int
    #: likewise: none completed after it
    end_ms: int
    #: [mean of a bucket in ns, completions], ascending; each bucket is four of
    #: fio's own ones
    bins: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        """Check the times, which may come from a file.

        :raises ValueError: it ends before it begins
        """
        if not self.begin_ms < self.end_ms:
            raise ValueError(
                f'latencies from {self.begin_ms} to {self.end_ms} ms: expected'
                f' an end after the beginning'
            )

    def histogram(self) -> histogram.LatencyHistogram:
        """The bins as a value that can be merged.

        :raises ValueError: they are not what they should be
        """
        return histogram.LatencyHistogram(bins=self.bins)


@dataclass(frozen=True, kw_only=True)
class SlotResult:
    """One run of one pattern on one tier."""

    #: place in the schedule, from 0
    number: int
    #: of this pattern, from 1
    repeat: int
    #: all that should have run
    guests: tuple[GuestFigures, ...]
    #: null if no guest is complete
    merged: MergedFigures | None
    #: [begin in ms, IOPS of all complete guests] of each second of the window;
    #: empty if not all of them sent values
    series: tuple[tuple[int, float], ...]
    #: of the series, by the rule of the SNIA PTS
    steadiness: steadiness.Verdict
    #: [begin in ms, bytes per second], likewise
    bw_series: tuple[tuple[int, float], ...] = ()
    #: of all complete guests, merged time by time; null if not all of them
    #: sent it
    latency: LatencyOverTime | None = None
    #: {read or write: IOPS of all complete guests in each second of the
    #: series}; null if there is only one of them
    series_of_directions: Mapping[str, tuple[float, ...]] | None = None
    #: latencies of each few seconds as histograms; null if they were not
    #: wanted, or not all complete guests sent some
    latency_windows: tuple[LatencyWindow, ...] | None = None

    @property
    def measured(self) -> MergedFigures:
        """Return the figures of the complete guests together.

        :raises ValueError: no guest is complete
        """
        if self.merged is None:
            raise ValueError(
                f'repeat {self.repeat}: found no complete guest, expected at'
                f' least one'
            )
        return self.merged

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        _check_figures(self, 'number', 'repeat')
        _check_values(
            *(
                [value for _ms, value in each]
                for each in (self.series, self.bw_series)
            ),
            *(self.series_of_directions or {}).values(),
        )


@dataclass(frozen=True, kw_only=True)
class AskedLoad:
    """The load that a paced pattern asked of a tier: a step of a curve."""

    #: the pattern without the step: results of the same curve have the same
    curve: str
    #: I/Os per second, of all guests together
    iops: int
    #: I/Os per second, of each volume that a guest works on
    volume_iops: int

    def __post_init__(self) -> None:
        """Check the numbers, which may come from a file.

        :raises ValueError: one is not possible
        """
        if not 1 <= self.volume_iops <= self.iops <= 10**12:
            raise ValueError(
                f'{self.volume_iops} IOPS of a volume and {self.iops} of all:'
                f' expected at least 1, of all not less, and at most 10^12'
            )


@dataclass(frozen=True, kw_only=True)
class PatternResult:
    """Repeats of one pattern on one tier."""

    #: its name in the profile
    pattern: str
    #: one for each repeat
    slots: tuple[SlotResult, ...]
    #: those in which all guests are complete; only they are in what follows
    complete_repeats: int
    #: over the repeats; null if none is complete
    iops: intervals.Estimate | None
    #: likewise
    bw_bytes: intervals.Estimate | None
    #: likewise, of the merged latencies of each repeat
    p99_ns: intervals.Estimate | None
    #: latencies of these repeats, merged; null if none is complete
    clat: Latencies | None
    #: {read or write: what was}; null if none is complete, or if they are not
    #: separate
    directions: Mapping[str, DirectionEstimates] | None = None
    #: what was asked for; null: as much as could be done
    asked: AskedLoad | None = None
    #: calls of fdatasync or fsync of these repeats, merged; null if none is
    #: complete, or one has none
    sync_lat: Latencies | None = record.omitted()

    def __post_init__(self) -> None:
        """Check the directions, which may come from a file.

        :raises ValueError: one is not in each repeat that it is over
        """
        for slot in self.slots:
            merged = slot.merged
            if merged is None or merged.guests != len(slot.guests):
                continue
            lacking = (self.directions or {}).keys() - (
                merged.directions or {}
            ).keys()
            if lacking:
                raise ValueError(
                    f'directions {", ".join(sorted(lacking))[:40]}: expected'
                    f' those of each complete repeat; repeat {slot.repeat} has'
                    f' {", ".join(merged.directions or ())[:40] or "none"}'
                )


@dataclass(frozen=True, kw_only=True)
class TypeAsMeasured:
    """The one volume type of a tier's volumes, when they were measured.

    What limits and places volumes, and not who may use it.
    """

    #: {key: value}, without those of cinder-tiers, which limit nothing
    extra_specs: Mapping[str, str]
    #: where its QoS specs are enforced: front-end, back-end or both; null: it
    #: has none
    qos_consumer: str | None
    #: {limit: value}; empty without QoS specs
    qos_specs: Mapping[str, str]
    #: {provider, cipher, key_size or control_location: value}; empty: its
    #: volumes are not encrypted
    encryption: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class TierResult:
    """Results of one tier."""

    #: its label
    tier: str
    #: from which its volumes were made, or the guests' boot volumes if what
    #: fio works on was made blank
    image: Fact
    #: what Cinder gave the volumes that fio works on, several if they differ
    volume_types: Fact
    #: in the order of the profile
    patterns: tuple[PatternResult, ...]
    #: QoS specs of its volume types, several if they differ
    qos: Fact | None = None
    #: host@backend#pool of its volumes, several if they differ
    backends: Fact | None = None
    #: null: its volumes have several types or none, or Rally had no
    #: administrator who may read them
    type_as_measured: TypeAsMeasured | None = record.omitted()


@dataclass(frozen=True, kw_only=True)
class PatternRun:
    """A run of a pattern, with its pattern and tier.

    Not a part of the file, but a view of it.
    """

    #: whose guests ran
    tier: TierResult
    #: what they ran
    pattern: PatternResult
    #: this run of it
    slot: SlotResult

    @property
    def name(self) -> str:
        """The pattern and, if it ran more than once, which repeat it is."""
        repeats = len(self.pattern.slots)
        if repeats == 1:
            return self.pattern.pattern
        return f'{self.pattern.pattern} ({self.slot.repeat} of {repeats})'


@dataclass(frozen=True, kw_only=True)
class GuestResult:
    """Result of one guest in the whole run."""

    #: its name
    guest: str
    #: its tier
    tier: str
    #: the worst of its slots
    verdict: str
    #: each once, in order of time
    reasons: tuple[str, ...]
    #: its clock minus the leader's; null if unknown
    clock_offset_ms: int | None
    #: how often its clock was compared with the leader's
    clock_samples: int
    #: marked lines of its console that were unusable
    damaged_lines: int
    #: its release; null if the guest did not say
    kernel: str | None
    #: device or file it worked on; null if the guest did not say
    target: str | None
    #: half of the interval in which the offset lies, or, where the start was
    #: by wall time, the error of its wall clock; null if unknown
    clock_error_ms: float | None = None
    #: why the offset is not known; empty if it is
    clock_reason: str = ''
    #: of the server, as Nova names it to a project: the same for two guests on
    #: the same host; null if Nova did not say
    host: str | None = None
    #: what it is; null if the guest did not say
    system: guest_system.GuestSystem | None = None
    #: what it worked on, in Ceph; null if Ceph was not asked, or does not have
    #: it
    image: ceph_result.CephImage | None = None
    #: what it wrote before the first turn; null if it wrote no rounds
    preconditioned: rounds_before.Preconditioned | None = None


@dataclass(frozen=True, kw_only=True)
class Caveat:
    """A reason to read the figures of a run with care."""

    #: the kind of reason, in a word or two
    about: str
    #: what was found, of whom
    text: str


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """Reason why the repeats ended, if their number was not fixed."""

    #: half of each 95 % interval of IOPS, in percent of the mean, at most
    interval_percent: float
    #: likewise of p99; null: it did not matter
    p99_interval_percent: float | None
    #: repeats, at most
    most_repeats: int
    #: looks at the intervals that were planned; for so many they are adjusted
    most_looks: int
    #: looks that there were
    looks: int
    #: repeats that count
    repeats: int
    #: whether all intervals are narrow enough
    is_narrow: bool
    #: why the repeats ended
    reason: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Duration of a run, and its estimate."""

    #: in seconds, at most where the run may end early
    told: duration.Duration
    #: until all volumes were there
    volumes_s: float
    #: until all servers were requested and had their disks
    boot_s: float
    #: from then until a guest gave the start; null for a start by wall time,
    #: where it is in the next
    prepare_s: float | None
    #: from then until all results were there
    measure_s: float
    #: of ``prepare_s``, the longest that a guest filled its region; null if
    #: no guest said it
    fill_s: float | None = None
    #: of ``prepare_s``, the longest that a guest wrote rounds before the first
    #: turn; null if no guest said it
    rounds_s: float | None = None
    #: of ``measure_s``, from the first turn to the end of the last; null if no
    #: result arrived
    turns_s: float | None = None
    #: until servers and volumes were gone; null if the run ended before
    delete_s: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        :raises ValueError: see ``duration.check_amounts``
        """
        duration.check_amounts(self)

    @property
    def took_seconds(self) -> float:
        """Return the sum of all parts except deleting."""
        return (
            self.volumes_s
            + self.boot_s
            + (self.prepare_s or 0)
            + self.measure_s
        )


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Result of one run of a fleet."""

    #: of this format
    version: int
    #: its nonce, hexadecimal
    run: str
    #: when it was written, ISO 8601, UTC
    ended_at: str
    #: versions and settings that a figure depends on
    environment: Mapping[str, Fact]
    #: what was run
    profile: named_profile.ProfileUsed
    #: how many guests each tier had
    guests_per_tier: int
    #: in the order of the task; when each ran is in its slots
    tiers: tuple[TierResult, ...]
    #: all of them, good and bad
    guests: tuple[GuestResult, ...]
    # The format has caveats under this name.
    #: why figures should be read with care; empty if no reason was found, null
    #: in files that were not asked
    doubts: tuple[Caveat, ...] | None = None
    #: the cluster below the tiers; null if the task names none
    ceph: ceph_result.CephWatch | None = None
    #: with which the order of turns was drawn; null: it is that of the task
    seed: int | None = None
    #: why the repeats ended; null if their number was fixed
    stopping: Stopping | None = None
    #: null: it was not measured
    cost: Cost | None = None
    #: what guests were to write until it is steady, before the first turn;
    #: null: nothing but their regions
    precondition: rounds_before.Precondition | None = None
    #: whether all tiers ran a pattern at the same time
    side_by_side: bool = False
    #: which run of its guests this is; from 2 on, they were kept
    run_of_fleet: int = 1
    #: that IOPS and numbers of I/Os are of those that were completed, and not
    #: of those that were submitted
    iops_of_completions: bool = True
    #: title of the task that ran it; null: it is not known
    task: str | None = record.omitted()

    def __post_init__(self) -> None:
        """Check the version and that nothing of the environment is missing.

        :raises ValueError: names what is wrong
        """
        if self.version != VERSION:
            raise ValueError(f'version {self.version}, expected {VERSION}')
        missing = sorted(set(ENVIRONMENT) - self.environment.keys())
        if missing:
            raise ValueError(f'environment lacks {", ".join(missing)}')

    @property
    def runs(self) -> tuple[PatternRun, ...]:
        """Each run of each pattern on each tier.

        Repeat by repeat, and in the order of the task within each; when they
        ran, their slots say.
        """
        return tuple(
            # Stable, so that tiers and patterns keep their order.
            sorted(
                (
                    PatternRun(tier=tier, pattern=pattern, slot=slot)
                    for tier in self.tiers
                    for pattern in tier.patterns
                    for slot in pattern.slots
                ),
                key=lambda run: run.slot.repeat,
            )
        )

    @property
    def looks(self) -> int:
        """Looks at intervals that were planned to end repeats; 1: none."""
        return self.stopping.most_looks if self.stopping else 1

    @property
    def has_guest_steps(self) -> bool:
        """Return whether each pattern ran with rising numbers of guests.

        Such a pattern has a name for each step, see
        ``schedule.pattern_of_step``.
        """
        names = {pattern.name for pattern in self.profile.patterns}
        return any(
            pattern.pattern not in names
            for tier in self.tiers
            for pattern in tier.patterns
        )

    @property
    def guest_steps(self) -> tuple[int, ...]:
        """Return the numbers of guests of the steps; empty without steps."""
        if not self.has_guest_steps:
            return ()
        return tuple(
            sorted(
                {
                    int(pattern.pattern.rpartition('.g')[2])
                    for tier in self.tiers
                    for pattern in tier.patterns
                }
            )
        )

    def pattern_of(self, result: PatternResult) -> fio_pattern.Pattern:
        """Return the pattern of the profile, regardless of its step.

        :raises ValueError: the profile does not have it
        """
        name = result.pattern
        if self.has_guest_steps:
            name = name.rpartition('.g')[0]
        for pattern in self.profile.patterns:
            if pattern.name == name:
                return pattern
        raise ValueError(f'pattern {result.pattern} is not in the profile')


def latencies(clat: histogram.LatencyHistogram) -> Latencies:
    """A histogram as it is written.

    :param clat: not empty
    :raises ValueError: it is empty
    """
    return Latencies(
        percentiles_ns={f'{p:g}': clat.percentile_ns(p) for p in PERCENTILES},
        bins=clat.bins,
    )


def published() -> str:
    """The JSON schema of the version that is written, as published."""
    found = record.schema(RunResult)
    found['title'] = f'cinder-tiers result, version {VERSION}'
    found['properties']['version']['const'] = VERSION
    return json.dumps(found, indent=2) + '\n'


def write(result: RunResult) -> str:
    """The text of the file."""
    return (
        json.dumps(
            record.plain(result), allow_nan=False, separators=(',', ':')
        )
        + '\n'
    )


def _read_times(
    found: dict[str, object],
) -> dict[str, object] | RatesOverTime | LatencyOverTime:
    """An object of a file, as the record if it is a sound one of them.

    As they are met: all of a large fleet as plain values are half of the
    memory that it takes to read it.
    """
    kind = _OVER_TIME.get(frozenset(found))
    if kind is None:
        return found
    try:
        return record.read(kind, found)
    except ValueError:
        # Whoever reads the whole file says what is wrong, and where.
        return found


def _without_times(found: dict[str, object]) -> dict[str, object] | None:
    """An object of a file; None if it is a sound one of ``_OVER_TIME``."""
    return found if _read_times(found) is found else None


def _kept_times() -> dict[str, Callable[[Any], Any]]:
    """Return the arguments of `record.parsed` that keep values over time.

    Most of millions of numbers are some thousands, each of which is kept once.
    """
    return {
        'object_hook': _read_times,
        'parse_int': functools.lru_cache(2**16)(int),
        'parse_float': functools.lru_cache(2**16)(float),
    }


def copies(runs: Mapping[str, str]) -> list[str]:
    """Find files that are results of the same run.

    :param runs: {name of a file: nonce of its run}
    :returns: a sentence for each such run
    """
    files: dict[str, list[str]] = {}
    for name, run in runs.items():
        files.setdefault(run, []).append(name)
    return [
        f'{", ".join(same)}: are results of the same run {run}: expected'
        f' different runs; name one of these files'
        for run, same in files.items()
        if len(same) > 1
    ]


def read(text: str | bytes, *, has_times: bool = True) -> RunResult:
    """Read a file of our version.

    :param has_times: whether rates and latencies over time of guests and slots
        are kept: only charts need them, and they take most of the memory of a
        large fleet's result
    :raises record.RecordError: it is not a result file, has another version,
        or contradicts its format; names all problems
    """
    try:
        value = record.parsed(
            text,
            **(
                _kept_times() if has_times else {'object_hook': _without_times}
            ),
        )
    except ValueError as error:
        raise record.RecordError(
            f'not JSON: {error}; expected the whole result file of a run: name'
            f' another one'
        ) from error
    if not isinstance(value, dict) or 'version' not in value:
        raise record.RecordError(
            'no result file: expected an object with a version; name the'
            ' result file of a run'
        )
    version = value['version']
    if type(version) is not int or version != VERSION:
        raise record.RecordError(
            f'version {str(version)[:20]!r}: this code reads version'
            f' {VERSION}: read it with the cinder-tiers that wrote it, or'
            f' measure again'
        )
    try:
        found = record.read(RunResult, value)
        _check_once(found)
        for tier in found.tiers:
            for pattern in tier.patterns:
                _check(pattern)
    except ValueError as error:
        raise record.RecordError(*errors.lines_of(error)) from error
    return found


def _check_once(run: RunResult) -> None:
    """No tier, pattern, repeat or guest of a repeat may stand twice.

    It would count twice: an interval would be narrower than what was measured.

    :raises ValueError: some do
    """
    listed: list[tuple[str, Iterable[object]]] = [
        ('tier', (tier.tier for tier in run.tiers)),
        (
            'pattern of the profile',
            (each.name for each in run.profile.patterns),
        ),
    ]
    for tier in run.tiers:
        listed.append(
            (f'tier {tier.tier}: pattern', (p.pattern for p in tier.patterns))
        )
        for pattern in tier.patterns:
            place = f'tier {tier.tier}: pattern {pattern.pattern}: '
            listed += [
                (f'{place}repeat', (slot.repeat for slot in pattern.slots)),
                *(
                    (
                        f'{place}repeat {slot.repeat}: guest',
                        (guest.guest for guest in slot.guests),
                    )
                    for slot in pattern.slots
                ),
            ]
    wrong = [
        f'{what} {value} stands {count} times: expected once'
        for what, values in listed
        for value, count in collections.Counter(values).items()
        if count > 1
    ]
    if wrong:
        raise ValueError('; '.join(wrong))


def _check(pattern: PatternResult) -> None:
    """Check that dependent values match.

    Percentiles must match their bins, and all directions must have the seconds
    of the series.

    :raises ValueError: they do not match
    """
    for slot in pattern.slots:
        for name, values in (slot.series_of_directions or {}).items():
            if len(values) != len(slot.series):
                raise ValueError(
                    f'{pattern.pattern}: {len(values)} seconds of {name} in a'
                    f' series of {len(slot.series)}'
                )
        for window in slot.latency_windows or ():
            window.histogram()
    merged = [slot.merged for slot in pattern.slots if slot.merged]
    for clat in (
        pattern.clat,
        pattern.sync_lat,
        *(each.clat for each in merged),
        *(each.syncs.lat for each in merged if each.syncs),
        *(
            found.clat
            for each in merged
            for found in (each.directions or {}).values()
        ),
    ):
        if clat is not None and latencies(clat.histogram()) != clat:
            raise ValueError(
                f'{pattern.pattern}: its percentiles are not those of its bins'
            )


if __name__ == '__main__':
    sys.stdout.write(published())
