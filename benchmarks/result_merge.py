# SPDX-License-Identifier: Apache-2.0


"""What it costs to read and merge the results of a large fleet.

    python -m benchmarks.result_merge

reads json+ outputs as guests send them, checks them, and merges each pattern
over all guests and runs, by the code of the scenario, in a process of its
own. The outputs are generated from recorded ones: same text, other counts.
Prints seconds of wall clock and of processor time, and the peak of resident
memory. All results stay in memory to the end, as they do in the scenario.
"""

import argparse
import json
import pathlib
import random
import resource
import time

from benchmarks import new_process
from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fleet import merge

RECORDED = (
    pathlib.Path(__file__).resolve().parents[1]
    / 'tests'
    / 'unit'
    / 'figures'
    / 'data'
)
# Texts of each pattern that differ; more would only be more to hold.
_VARIANTS = 8


def variant(document, generator):
    """A recorded output with other counts, as consistent as a real one."""
    changed = json.loads(json.dumps(document))
    job = changed['jobs'][0]
    for name in ('read', 'write'):
        side = job[name]
        bins = side['clat_ns'].get('bins', {})
        for bucket in bins:
            bins[bucket] *= generator.randint(1, 9)
        # All blocks of a recording have one size.
        block = side['io_bytes'] // max(1, side['clat_ns'].get('N', 0))
        count = side['total_ios'] = sum(bins.values())
        side['io_bytes'] = count * block
        side['bw_bytes'] = round(
            side['io_bytes'] / max(1, side['runtime']) * 1000
        )
        side['clat_ns']['N'] = count
        if count:
            side['clat_ns']['mean'] = (
                sum(int(ns) * each for ns, each in bins.items()) / count
            )
        side['iops'] = side['total_ios'] / max(1, side['runtime']) * 1000
    return json.dumps(changed, indent=2).encode()


def texts(files, patterns):
    """[(job name, variants of its output), ...], one for each pattern."""
    generator = random.Random(1)  # noqa: S311
    documents = [json.loads(file.read_bytes()) for file in files]
    return [
        (
            document['jobs'][0]['jobname'],
            [variant(document, generator) for _variant in range(_VARIANTS)],
        )
        for document in (
            documents[number % len(documents)] for number in range(patterns)
        )
    ]


def measure(*, files, guests, patterns, runs):
    """The cost of one merge, in this process.

    :returns: {what: number}
    """
    generated = texts(files, patterns)
    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    kept = []
    total_bytes = bins = ios = 0
    for jobname, variants in generated:
        slots = []
        for number in range(guests * runs):
            text = variants[number % len(variants)]
            total_bytes += len(text)
            slots.append(
                merge.GuestSlot(
                    guest=str(number),
                    planned_ms=0,
                    started_ms=0,
                    ended_ms=1000,
                    result=fio_output.parse(text, jobname=jobname),
                )
            )
        merged = merge.merge(slots)
        ios += merged.clat.count
        kept.append((slots, merged, merged.clat.percentile_ns(99.9)))
    wall_s = time.perf_counter() - started_s
    cpu_s = time.process_time() - started_cpu_s
    bins = sum(
        len(slot.result.clat.bins) for slots, *_rest in kept for slot in slots
    )
    outputs = guests * patterns * runs
    return {
        'outputs': outputs,
        'kib_each': total_bytes / outputs / 1024,
        'bins_each': bins / outputs,
        'ios': ios,
        'wall_s': wall_s,
        'cpu_s': cpu_s,
        'peak_mib': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def parse(arguments):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--guests', type=int, default=100)
    parser.add_argument('--patterns', type=int, default=16)
    parser.add_argument('--runs', type=int, default=9)
    parser.add_argument(
        '--outputs',
        type=pathlib.Path,
        nargs='+',
        metavar='FILE',
        default=sorted(RECORDED.glob('*.json')),
        help='recorded json+ outputs, by default those of the tests',
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument(
        '--in-this-process', action='store_true', help=argparse.SUPPRESS
    )
    return parser.parse_args(arguments)


def main():
    """Measures in a new process, and prints a table."""
    options = parse(None)
    if options.in_this_process:
        print(
            json.dumps(
                measure(
                    files=options.outputs,
                    guests=options.guests,
                    patterns=options.patterns,
                    runs=options.runs,
                )
            )
        )
        return
    found = new_process.measure(
        'benchmarks.result_merge',
        '--in-this-process',
        '--guests',
        options.guests,
        '--patterns',
        options.patterns,
        '--runs',
        options.runs,
        '--outputs',
        *options.outputs,
    )
    print(
        f'{"outputs":>8} {"KiB each":>9} {"bins each":>10} {"wall s":>7} '
        f'{"cpu s":>7} {"peak MiB":>9}'
    )
    print(
        f'{found["outputs"]:>8} {found["kib_each"]:>9.1f} '
        f'{found["bins_each"]:>10.0f} {found["wall_s"]:>7.2f} '
        f'{found["cpu_s"]:>7.2f} {found["peak_mib"]:>9.1f}'
    )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
