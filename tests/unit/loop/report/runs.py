# SPDX-License-Identifier: Apache-2.0

"""Made-up runs for tests of the report, as their scenario writes them."""

import bisect
import dataclasses
import math
import random

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import caveats
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals
from cinder_tiers.figures.stats import steadiness

UNKNOWN = run_result.Fact(value=None, reason='nobody asked')
KINDS = ('randread', 'randwrite', 'read', 'write', 'randrw')
TIERS = ('general', 'database', 'archive', 'scratch')
#: Seconds of the stall that the second pattern of the third tier has.
STALL_SECONDS = 4
_BUCKETS = sorted(histogram.fio_buckets().values())
_SPEEDS = (120, 480, 60, 300)
_IOS = 1500


def _clat(draw, middle_ns):
    counts = {}
    for _number in range(_IOS):
        ns = math.exp(draw.gauss(math.log(middle_ns), 0.7))
        bucket = _BUCKETS[bisect.bisect(_BUCKETS, ns)]
        counts[bucket] = counts.get(bucket, 0) + 1
    return histogram.from_counts(counts)


def _direction(clat, iops, *, alone):
    moments = run_result.Moments(
        mean_ns=math.fsum(ns * count for ns, count in clat.bins) / clat.count,
        max_ns=clat.bins[-1][0],
    )
    return run_result.DirectionFigures(
        iops=iops,
        bw_bytes=round(iops * 4096),
        total_ios=clat.count,
        clat=None if alone else run_result.latencies(clat),
        clat_moments=moments,
        slat_moments=run_result.Moments(mean_ns=2e4, max_ns=90_000),
        lat_moments=moments,
    )


def _slot(draw, *, pattern, tier, speed, place, repeat, guests, seconds):
    iops = [speed * draw.gauss(1, 0.05) for _guest in range(guests)]
    total = sum(iops)
    clat = _clat(draw, 8e9 / speed)
    series = [
        max(0.0, draw.gauss(total, 0.04 * total)) for _ in range(seconds)
    ]
    if tier == 'archive' and pattern.rw == 'randwrite':
        series[20 : 20 + STALL_SECONDS] = [0.0] * STALL_SECONDS
    series = tuple((1000 * at, value) for at, value in enumerate(series))
    latency = run_result.LatencyOverTime(
        begin_ms=0,
        step_ms=1000,
        ios=tuple(round(value) for _ms, value in series),
        p99_ns=tuple(
            round(draw.gauss(1, 0.1) * 3e10 / speed) if value else 0
            for _ms, value in series
        ),
    )
    ways = {
        'randrw': ('read', 'write'),
        'randread': ('read',),
        'read': ('read',),
    }.get(pattern.rw, ('write',))
    return run_result.SlotResult(
        number=place,
        repeat=repeat,
        guests=tuple(
            run_result.GuestFigures(
                guest=f'{tier}-{number:03d}',
                verdict='complete',
                reason='',
                planned_ms=0,
                started_ms=3,
                ended_ms=1000 * seconds,
                iops=each,
                bw_bytes=round(each * 4096),
                total_ios=round(each * seconds),
                p99_ns=clat.percentile_ns(99),
                rates=run_result.RatesOverTime(
                    begin_ms=0,
                    step_ms=1000,
                    iops=tuple(
                        round(value * each / total, 1) for _ms, value in series
                    ),
                    bw_bytes=tuple(
                        round(4096 * value * each / total)
                        for _ms, value in series
                    ),
                ),
                latency=latency,
            )
            for number, each in enumerate(iops)
        ),
        merged=run_result.MergedFigures(
            guests=guests,
            iops=total,
            bw_bytes=round(total * 4096),
            clat=run_result.latencies(clat),
            start_skew_ms=10,
            start_skew_error_ms=1.0,
            window=steadiness.Window(start_ms=0, end_ms=1000 * seconds),
            fairness=intervals.fairness(iops),
            directions={
                way: _direction(clat, total / len(ways), alone=len(ways) == 1)
                for way in ways
            },
        ),
        series=series,
        bw_series=tuple((ms, 4096 * value) for ms, value in series),
        latency=latency,
        steadiness=steadiness.judge(series),
    )


def run(
    *,
    tiers=TIERS[:3],
    patterns=4,
    repeats=3,
    guests=4,
    seconds=40,
    steps=(),
    seed=1,
    factor=1.0,
):
    """A run.

    :param tiers: their names
    :param patterns: how many patterns; the first have one kind each
    :param steps: numbers of guests that each pattern ran with
    :param factor: of all IOPS
    """
    draw = random.Random(seed)
    ordered = [
        fio_pattern.Pattern(
            name=f'{KINDS[number % 5]}-{4 << number // 5}k',
            rw=KINDS[number % 5],
            bs=f'{4 << number // 5}k',
        )
        for number in range(patterns)
    ]
    profile = named_profile.NamedProfile(
        name='general',
        repeats=repeats,
        patterns=tuple(ordered),
        source=named_profile.Source(paper='task', where='patterns'),
        method=fio_pattern.Profile(
            region_mib=1024, ramp_seconds=5, runtime_seconds=seconds
        ),
    )

    def pattern_result(at, tier, place, pattern, step):
        return build.pattern_result(
            f'{pattern.name}.g{step}' if steps else pattern.name,
            [
                _slot(
                    draw,
                    pattern=pattern,
                    tier=tier,
                    speed=factor * _SPEEDS[at % 4] * (1 + place % 4),
                    place=(repeat * patterns + place) * len(tiers) + at,
                    repeat=repeat + 1,
                    guests=step,
                    seconds=seconds,
                )
                for repeat in range(repeats)
            ],
        )

    found = run_result.RunResult(
        version=run_result.VERSION,
        run=f'{seed:016x}',
        ended_at='2026-11-23T18:00:00+00:00',
        environment={
            **dict.fromkeys(run_result.ENVIRONMENT, UNKNOWN),
            'fio': run_result.Fact(value='fio-3.42'),
        },
        profile=named_profile.from_profile(profile),
        guests_per_tier=guests,
        tiers=tuple(
            run_result.TierResult(
                tier=tier,
                image=run_result.Fact(value='debian-13'),
                volume_types=run_result.Fact(value=tier),
                backends=run_result.Fact(value=f'lab@{tier}#{tier}'),
                qos=UNKNOWN,
                patterns=tuple(
                    pattern_result(at, tier, place, pattern, step)
                    for place, pattern in enumerate(ordered)
                    for step in (steps or (guests,))
                ),
            )
            for at, tier in enumerate(tiers)
        ),
        guests=tuple(
            run_result.GuestResult(
                guest=f'{tier}-{number:03d}',
                tier=tier,
                verdict='complete',
                reasons=(),
                clock_offset_ms=0,
                clock_samples=5,
                damaged_lines=0,
                kernel='6.12.0',
                target='/dev/vdb',
            )
            for tier in tiers
            for number in range(guests)
        ),
    )
    return dataclasses.replace(found, doubts=caveats.find_caveats(found))
