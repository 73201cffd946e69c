# SPDX-License-Identifier: Apache-2.0


"""Whether a tier that is compared with itself is found to be the same.

    python -m benchmarks.self_comparison RESULT.json

takes the result file of one run with many repeats of the same patterns on the
same tier, cuts the repeats into 20 measurements that follow one another, and
gives each of them its 95 % interval, as a run of so few repeats would have
had. If the intervals are right, 95 % of them cover the mean of all repeats.
Prints, for each tier and pattern, how many do.

At the end it compares each three measurements with the next three as
"openstack tier compare" compares runs, all patterns of all tiers together, and
prints how many of these comparisons claim nothing. The order of turns is drawn
anew for every second repeat, so use an even number of repeats for each
measurement.
"""

import argparse
import dataclasses
import json
import pathlib

from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals
from cinder_tiers.loop.compare import comparison

MEASUREMENTS = 20
#: Measurements of each side of a comparison.
OF_SIDE = 3
_COLUMNS = (
    'tier',
    'pattern',
    'figure',
    'repeats',
    'mean',
    'spread %',
    'covered',
    'of',
)


def compared(values, measurements):
    """One tier's repeats of one pattern, as measurements of their own.

    :param values: one for each repeat, in order of time.
    :returns: what is found, by the names of the columns.
    :raises SystemExit: they are fewer than two for each measurement.
    """
    each = len(values) // measurements
    if each < 2:
        raise SystemExit(
            f'{len(values)} repeats for {measurements}'
            f' measurements: expected at least'
            f' {2 * measurements}'
        )
    used = values[: each * measurements]
    groups = [used[at : at + each] for at in range(0, len(used), each)]
    pooled = intervals.estimate_mean(used)
    estimates = [intervals.estimate_mean(group) for group in groups]
    return {
        'repeats': each,
        'mean': pooled.mean,
        'spread %': pooled.spread_percent,
        'covered': sum(
            one.low <= pooled.mean <= one.high for one in estimates
        ),
        'of': measurements,
    }


def rows(result, measurements):
    """A row for each tier, pattern and figure.

    :param result: a ``run_result.RunResult``.
    """
    figures = {
        'IOPS': lambda merged: merged.iops,
        'p99': lambda merged: merged.clat.percentiles_ns['99'],
    }
    return [
        {
            'tier': tier.tier,
            'pattern': pattern.pattern,
            'figure': name,
            **compared(
                [
                    value(slot.merged)
                    for slot in pattern.slots
                    if slot.merged is not None
                ],
                measurements,
            ),
        }
        for tier in result.tiers
        for pattern in tier.patterns
        for name, value in figures.items()
    ]


def cut(result, measurements):
    """The run as runs of fewer repeats, in order of time.

    :param result: a ``run_result.RunResult``.
    """

    def part(at):
        return dataclasses.replace(
            result,
            tiers=tuple(
                dataclasses.replace(
                    tier,
                    patterns=tuple(
                        build.pattern_result(
                            pattern.pattern,
                            pattern.slots[at * each : (at + 1) * each],
                        )
                        for pattern in tier.patterns
                        for each in (len(pattern.slots) // measurements,)
                    ),
                )
                for tier in result.tiers
            ),
        )

    return [part(at) for at in range(measurements)]


def claim_nothing(result, measurements):
    """Comparisons of neighbours: (those without a claim, all, claims each).

    Each side has OF_SIDE measurements.

    :param result: a ``run_result.RunResult``.
    """
    nothing, claims = 0, 0
    parts = cut(result, measurements)
    starts = range(len(parts) - 2 * OF_SIDE + 1)
    for start in starts:
        middle = start + OF_SIDE
        found = comparison.runs(
            parts[start:middle],
            {'': parts[middle : middle + OF_SIDE]},
            comparison.Question(),
        )
        claims = len(found.claims)
        nothing += not any(
            found.count(finding)
            for finding in (
                comparison.DifferenceFinding.BETTER,
                comparison.DifferenceFinding.WORSE,
            )
        )
    return nothing, len(starts), claims


def main():
    """Reads a result file and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('result', type=pathlib.Path)
    parser.add_argument('--measurements', type=int, default=MEASUREMENTS)
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    result = run_result.read(options.result.read_bytes())
    found = rows(result, options.measurements)
    print(' '.join(f'{name:>12}' for name in _COLUMNS))
    for row in found:
        print(
            ' '.join(
                f'{row[name]:>12.4g}'
                if isinstance(row[name], float)
                else f'{row[name]:>12}'
                for name in _COLUMNS
            )
        )
    nothing, pairs, claims = claim_nothing(result, options.measurements)
    print(
        f'{nothing} of {pairs} comparisons of {claims} claims together claim'
        f' nothing ({100 * nothing / pairs:.1f} %)'
    )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
