# SPDX-License-Identifier: Apache-2.0


"""What it costs to read and compare two result files of a large fleet.

    python -m benchmarks.result_compare

writes two result files of a fleet, each guest's figures and series and each
repeat's histogram in them, and runs "tier compare" on them, in a process of
its own. Prints the size of a file, seconds of wall clock and of processor
time, the peak of resident memory, and what was found: one run each shows
nothing.
"""

import argparse
import collections
import json
import pathlib
import random
import resource
import tempfile
import time

from benchmarks import new_process
from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import steadiness
from cinder_tiers.loop.compare import comparison

_UNKNOWN = run_result.Fact(value=None, reason='generated')
_RUNTIME_SECONDS = 300
#: Of a guest, as a result has them of so long a run.
_TIMES = 60
_STEP_MS = 1000 * _RUNTIME_SECONDS // _TIMES
#: Buckets of a histogram; real ones of many I/Os have some hundreds.
_BINS = 400


def generated_run(*, guests, patterns, repeats, seed):
    """A run of one tier, as its scenario would have written it."""
    draw = random.Random(seed)  # noqa: S311
    buckets = sorted(histogram.fio_buckets().values())
    profile = named_profile.NamedProfile(
        name='generated',
        repeats=repeats,
        patterns=tuple(
            fio_pattern.Pattern(name=f'p{number}', rw='randread', bs='4k')
            for number in range(patterns)
        ),
        source=named_profile.LISTED_BY_TASK,
        method=fio_pattern.Profile(
            region_mib=1024, ramp_seconds=5, runtime_seconds=_RUNTIME_SECONDS
        ),
    )

    def slot(number, repeat):
        iops = [draw.gauss(500, 15) for _guest in range(guests)]
        clat = histogram.from_counts(
            {
                ns: draw.randint(1, 5000)
                for ns in draw.sample(buckets[1000:2000], _BINS)
            }
        )
        return run_result.SlotResult(
            number=number,
            repeat=repeat,
            guests=tuple(
                run_result.GuestFigures(
                    guest=f'g{place:03d}',
                    verdict='complete',
                    reason='',
                    planned_ms=0,
                    started_ms=0,
                    ended_ms=_RUNTIME_SECONDS * 1000,
                    iops=each,
                    bw_bytes=round(each * 4096),
                    total_ios=round(each * _RUNTIME_SECONDS),
                    p99_ns=10**6,
                    rates=run_result.RatesOverTime(
                        begin_ms=0,
                        step_ms=_STEP_MS,
                        iops=tuple(
                            round(draw.gauss(each, 15), 1)
                            for _time in range(_TIMES)
                        ),
                        bw_bytes=tuple(
                            round(4096 * draw.gauss(each, 15))
                            for _time in range(_TIMES)
                        ),
                    ),
                    latency=run_result.LatencyOverTime(
                        begin_ms=0,
                        step_ms=_STEP_MS,
                        ios=tuple(
                            draw.randint(2000, 3000) for _time in range(_TIMES)
                        ),
                        p99_ns=tuple(
                            draw.choice(buckets[1000:2000])
                            for _time in range(_TIMES)
                        ),
                    ),
                )
                for place, each in enumerate(iops)
            ),
            merged=run_result.MergedFigures(
                guests=guests,
                iops=sum(iops),
                bw_bytes=round(sum(iops) * 4096),
                clat=run_result.latencies(clat),
                start_skew_ms=10,
                window=steadiness.Window(
                    start_ms=0, end_ms=_RUNTIME_SECONDS * 1000
                ),
                fairness=1.0,
            ),
            series=tuple(
                (second * 1000, draw.gauss(sum(iops), 100.0))
                for second in range(_RUNTIME_SECONDS)
            ),
            bw_series=tuple(
                (second * 1000, 4096 * draw.gauss(sum(iops), 100.0))
                for second in range(_RUNTIME_SECONDS)
            ),
            steadiness=steadiness.unknown('generated'),
        )

    return run_result.RunResult(
        version=run_result.VERSION,
        run=f'{seed:016x}',
        ended_at='2026-11-23T00:00:00+00:00',
        environment=dict.fromkeys(run_result.ENVIRONMENT, _UNKNOWN),
        profile=named_profile.from_profile(profile),
        guests_per_tier=guests,
        tiers=(
            run_result.TierResult(
                tier='general',
                image=_UNKNOWN,
                volume_types=_UNKNOWN,
                patterns=tuple(
                    build.pattern_result(
                        pattern.name,
                        [
                            slot(repeat * patterns + place, repeat + 1)
                            for repeat in range(repeats)
                        ],
                    )
                    for place, pattern in enumerate(profile.patterns)
                ),
            ),
        ),
        guests=(),
    )


def measure(paths):
    """The cost of one comparison, in this process.

    :param paths: of two result files
    :returns: {what: number or text}
    """
    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    first, second = (
        run_result.read(pathlib.Path(path).read_bytes(), has_times=False)
        for path in paths
    )
    found = comparison.runs([first], {'': [second]}, comparison.Question())
    wall_s = time.perf_counter() - started_s
    cpu_s = time.process_time() - started_cpu_s
    return {
        'wall_s': wall_s,
        'cpu_s': cpu_s,
        'peak_mib': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        'findings': collections.Counter(
            f'{claim.quantity} {claim.finding.value}' for claim in found.claims
        ),
    }


def parse(arguments):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--guests', type=int, default=100)
    parser.add_argument('--patterns', type=int, default=16)
    parser.add_argument('--repeats', type=int, default=9)
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument('--in-this-process', nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main():
    """Measures in a new process, and prints a table."""
    options = parse(None)
    if options.in_this_process:
        print(json.dumps(measure(options.in_this_process)))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for seed in (1, 2):
            run = generated_run(
                guests=options.guests,
                patterns=options.patterns,
                repeats=options.repeats,
                seed=seed,
            )
            path = pathlib.Path(folder) / f'{seed}.json'
            path.write_text(run_result.write(run))
            paths.append(path)
        size_mib = paths[0].stat().st_size / 1024**2
        found = new_process.measure(
            'benchmarks.result_compare', '--in-this-process', *paths
        )
    if options.json:
        options.json.write_text(json.dumps({'size_mib': size_mib, **found}))
    print(
        f'2 files of {size_mib:.1f} MiB: {options.guests} guests,'
        f' {options.patterns} patterns, {options.repeats} repeats'
    )
    print(
        f'{found["wall_s"]:.2f} s wall, {found["cpu_s"]:.2f} s CPU,'
        f' {found["peak_mib"]:.0f} MiB'
    )
    for finding, count in sorted(found['findings'].items()):
        print(f'{finding}: {count}')


if __name__ == '__main__':
    main()
