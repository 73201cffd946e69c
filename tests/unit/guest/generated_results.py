# SPDX-License-Identifier: Apache-2.0

"""What guests send of a run of fio, of drawn latencies: as real ones are.

Latencies of single I/Os are drawn, log-normal with a tail, and sorted into
fio's buckets; output and logs of a run are of the same I/Os.
"""

import json

import numpy

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import latency_log

#: When fio noted the wall clock.
ENDED_MS = 1_795_205_040_000
_BUCKETS_NS = numpy.array(
    sorted(
        each
        for each in histogram.fio_buckets().values()
        if each <= histogram.LAST_BUCKET_NS
    )
)
_COARSE = 1 << latency_log.COARSENESS
# Of a submission, which is a part of the total latency.
_SLAT_NS = 20_000


def _drawn(draw, ios, median_ms):
    """Places of buckets: most I/Os near the median, one of 200 far above."""
    found_ns = draw.lognormal(numpy.log(median_ms * 1e6), 0.35, ios)
    slow = draw.random(ios) < 0.005
    found_ns[slow] *= draw.uniform(3, 40, slow.sum())
    return numpy.searchsorted(_BUCKETS_NS, found_ns)


def _moments(values_ns):
    return {
        'min': int(values_ns.min()),
        'max': int(values_ns.max()),
        'mean': float(values_ns.mean()),
        'stddev': float(values_ns.std()),
        'N': len(values_ns),
    }


def _unused():
    nothing = {'min': 0, 'max': 0, 'mean': 0.0, 'stddev': 0.0, 'N': 0}
    return {
        'io_bytes': 0,
        'bw_bytes': 0,
        'iops': 0.0,
        'runtime': 0,
        'total_ios': 0,
        'slat_ns': nothing,
        'clat_ns': nothing,
        'lat_ns': nothing,
    }


def sent(
    jobname, *, direction, block_bytes, iodepth, seconds, median_ms, seed
):
    """What a guest sends of a run: fio's json+, rates, latencies of seconds.

    :param direction: read or write
    :param median_ms: of a latency; how many I/Os there are follows
    """
    draw = numpy.random.default_rng(seed)
    ios = int(0.9 * iodepth * seconds * 1000 / median_ms / 1.1)
    places = _drawn(draw, ios, median_ms)
    values_ns = _BUCKETS_NS[places]
    kept, counts = numpy.unique(values_ns, return_counts=True)
    side = {
        'io_bytes': ios * block_bytes,
        'bw_bytes': ios * block_bytes // seconds,
        'iops': ios / seconds,
        'runtime': seconds * 1000,
        'total_ios': ios,
        'slat_ns': _moments(numpy.full(ios, _SLAT_NS)),
        'clat_ns': {
            **_moments(values_ns),
            'bins': dict(
                zip(map(str, kept.tolist()), counts.tolist(), strict=True)
            ),
        },
        'lat_ns': _moments(values_ns + _SLAT_NS),
    }
    document = {
        'fio version': 'fio-3.33',
        'timestamp': ENDED_MS // 1000,
        'timestamp_ms': ENDED_MS,
        'jobs': [
            {
                'jobname': jobname,
                'error': 0,
                'job options': {
                    'bs': str(block_bytes),
                    'iodepth': str(iodepth),
                    'ioengine': 'libaio',
                },
                'read': _unused(),
                'write': _unused(),
                direction: side,
            }
        ],
    }
    number = {'read': 0, 'write': 1}[direction]
    # Seconds that depend on each other, as those of a busy disk.
    load = numpy.cumsum(draw.normal(0, 0.02, seconds))
    share = numpy.exp(load - load.mean())
    of_seconds = draw.multinomial(ios, share / share.sum())
    ends_ms = ENDED_MS - 1000 * numpy.arange(seconds - 1, -1, -1)
    step = latency_log.step_seconds(seconds, 1)
    lines = ['', '@series']
    lines += [
        f'{end}, {count}, {number}'
        for end, count in zip(ends_ms, of_seconds, strict=True)
    ]
    lines += ['', '@bandwidth']
    lines += [
        f'{end}, {count * block_bytes // 1024}, {number}'
        for end, count in zip(ends_ms, of_seconds, strict=True)
    ]
    lines += ['', '@latencies', str(1000 * step), '']
    begin = 0
    for end in range(step, seconds + 1, step):
        last = begin + of_seconds[end - step : end].sum()
        coarse, counts = numpy.unique(
            places[begin:last] // _COARSE, return_counts=True
        )
        pairs = zip(coarse, counts, strict=True)
        lines.append(
            ' '.join(
                [
                    f'{ENDED_MS - 1000 * (seconds - end)},{number}',
                    *(f'{bucket}:{count}' for bucket, count in pairs),
                ]
            )
        )
        begin = last
    return (json.dumps(document, indent=2) + '\n'.join(lines) + '\n').encode()
