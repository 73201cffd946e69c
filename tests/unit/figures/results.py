# SPDX-License-Identifier: Apache-2.0

"""Results of runs for tests, made of the figures that a test is about."""

import dataclasses

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals
from cinder_tiers.figures.stats import steadiness

UNKNOWN = run_result.Fact(value=None, reason='nobody asked')
PROFILE = named_profile.NamedProfile(
    name='mine',
    repeats=1,
    patterns=(fio_pattern.Pattern(name='x', rw='read', bs='4k'),),
    source=named_profile.Source(paper='task', where='patterns'),
    method=fio_pattern.Profile(
        region_mib=8, ramp_seconds=5, runtime_seconds=6
    ),
)


def _histogram(clat_ms):
    counts = {}
    for each in clat_ms:
        counts[round(each * 1e6)] = counts.get(round(each * 1e6), 0) + 1
    return histogram.from_counts(counts)


def _moments(values_ms):
    return run_result.Moments(
        mean_ns=1e6 * sum(values_ms) / len(values_ms),
        max_ns=round(1e6 * max(values_ms)),
    )


def direction(iops, clat_ms, *, more_ms=0, bw_bytes=2**20, alone=False):
    """What was read, or written, in a repeat.

    :param iops: of all guests
    :param clat_ms: completion latencies, each of one I/O
    :param more_ms: by which the total latency of each is longer
    :param alone: whether there is no other direction
    """
    return run_result.DirectionFigures(
        iops=iops,
        bw_bytes=bw_bytes,
        total_ios=len(clat_ms),
        clat=None if alone else run_result.latencies(_histogram(clat_ms)),
        clat_moments=_moments(clat_ms),
        slat_moments=None,
        lat_moments=_moments([each + more_ms for each in clat_ms]),
    )


def slot(
    iops,
    *,
    clat_ms=(1,),
    without=0,
    bw_bytes=2**20,
    directions=None,
    sync_ms=(),
):
    """One repeat.

    :param iops: of each complete guest
    :param clat_ms: completion latencies of all guests, each of one I/O
    :param without: how many guests more are lost
    :param directions: {read or write: see ``direction``}; None: not told
    :param sync_ms: how long each call took that made writes durable
    """
    clat = _histogram(clat_ms)
    guests = [
        run_result.GuestFigures(
            guest=f'g{number:03d}',
            verdict='complete',
            reason='',
            planned_ms=0,
            started_ms=0,
            ended_ms=1,
            iops=each,
            bw_bytes=1,
            total_ios=1,
            p99_ns=1,
        )
        for number, each in enumerate(iops)
    ]
    guests += [
        run_result.GuestFigures(
            guest=f'g9{number:02d}',
            verdict='lost',
            reason='silent',
            planned_ms=None,
            started_ms=None,
            ended_ms=None,
            iops=None,
            bw_bytes=None,
            total_ios=None,
            p99_ns=None,
        )
        for number in range(without)
    ]
    merged = iops and run_result.MergedFigures(
        guests=len(iops),
        iops=sum(iops),
        bw_bytes=bw_bytes,
        clat=run_result.latencies(clat),
        start_skew_ms=0,
        start_skew_error_ms=0,
        window=steadiness.Window(start_ms=0, end_ms=1),
        fairness=intervals.fairness(iops) if any(iops) else None,
        directions=directions,
        syncs=run_result.SyncFigures(
            lat=run_result.latencies(_histogram(sync_ms)),
            moments=_moments(sync_ms),
        )
        if sync_ms
        else None,
    )
    return run_result.SlotResult(
        number=0,
        repeat=1,
        guests=tuple(guests),
        merged=merged or None,
        series=(),
        steadiness=steadiness.unknown('not asked'),
    )


def guest(name, tier, verdict='complete', *reasons):
    """A guest in the whole run."""
    return run_result.GuestResult(
        guest=name,
        tier=tier,
        verdict=verdict,
        reasons=reasons,
        clock_offset_ms=0,
        clock_samples=1,
        damaged_lines=0,
        kernel=None,
        target=None,
    )


def run(tiers, *, guests=(), volume_types=None):
    """A run.

    :param tiers: {tier: {pattern: [slots]}}
    :param volume_types: {tier: their names}; by default not known
    """
    types = {
        tier: run_result.Fact(value=name)
        for tier, name in (volume_types or {}).items()
    }
    return run_result.RunResult(
        version=run_result.VERSION,
        run='0123456789abcdef',
        ended_at='2026-11-21T20:00:00+00:00',
        guests_per_tier=1,
        environment=dict.fromkeys(run_result.ENVIRONMENT, UNKNOWN),
        profile=named_profile.from_profile(PROFILE),
        tiers=tuple(
            _tier(tier, patterns, types.get(tier, UNKNOWN))
            for tier, patterns in tiers.items()
        ),
        guests=tuple(guests),
    )


def _tier(tier, patterns, volume_types):
    return run_result.TierResult(
        tier=tier,
        image=UNKNOWN,
        volume_types=volume_types,
        patterns=tuple(
            _pattern(name, slots) for name, slots in patterns.items()
        ),
    )


def _pattern(name, slots):
    return run_result.PatternResult(
        pattern=name,
        complete_repeats=0,
        iops=None,
        bw_bytes=None,
        p99_ns=None,
        clat=None,
        slots=tuple(
            dataclasses.replace(each, number=number, repeat=number + 1)
            for number, each in enumerate(slots)
        ),
    )
