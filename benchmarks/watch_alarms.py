# SPDX-License-Identifier: Apache-2.0


"""How often "tier watch" reports a change that is none, and how soon one is.

    python -m benchmarks.watch_alarms

simulates series of windows of 20 s, of tiers on which nothing changes but
their load, and counts the windows in which a change is found; and series in
which the latency doubles, as when the disks of a saturated tier become half as
fast, and counts those in which it is found within five minutes, and said to
have begun within two minutes of when it did.

The level of a series wanders by --deviation percent, correlated by
--correlation from one window to the next, and in a window of a hundred a burst
begins, of up to a minute, that is up to eight times as slow.
"""

import argparse
import json
import math
import pathlib

from scipy import stats

from tests.unit.loop.watch import test_change as worlds

SERIES = 20
WINDOWS = 500
CHANGES = 200
#: Windows before the change, and after which it must be known.
BEFORE, WITHIN = 60, 15
#: Windows by which the beginning may be off.
_NEAR = 6
_COLUMNS = ('truth', 'of', 'found', 'share %', 'from %', 'to %')


def _row(truth, of, found):
    low, high = stats.binomtest(found, of).proportion_ci(method='exact')
    return {
        'truth': truth,
        'of': of,
        'found': found,
        'share %': 100 * found / of,
        'from %': 100 * low,
        'to %': 100 * high,
    }


def counted(*, series, windows, changes, **world):
    """The rows of the table.

    :param series: of which nothing changes, how many
    :param windows: of each of them
    :param changes: series in which the latency doubles, how many
    :param world: see ``worlds.series``
    """
    false = sum(
        len(worlds.alarms(worlds.series(seed, windows, **world)))
        for seed in range(series)
    )
    in_time = near = 0
    for seed in range(changes):
        values = worlds.series(10**6 + seed, BEFORE + WITHIN, **world)
        values[BEFORE:] += math.log(2)
        found = [each for each in worlds.alarms(values) if each[0] > BEFORE]
        in_time += bool(found)
        near += any(abs(index - BEFORE) <= _NEAR for _seen, index in found)
    return [
        _row('no change, windows', series * windows, false),
        _row('doubles, in 5 min', changes, in_time),
        _row('and since when', changes, near),
    ]


def main():
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--series', type=int, default=SERIES)
    parser.add_argument('--windows', type=int, default=WINDOWS)
    parser.add_argument('--changes', type=int, default=CHANGES)
    parser.add_argument('--deviation', type=float, default=15.0)
    parser.add_argument('--correlation', type=float, default=0.7)
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    found = counted(
        series=options.series,
        windows=options.windows,
        changes=options.changes,
        deviation=options.deviation / 100,
        correlation=options.correlation,
    )
    print(' '.join(f'{name:>18}' for name in _COLUMNS))
    for row in found:
        print(
            ' '.join(
                f'{row[name]:>18.3g}'
                if isinstance(row[name], float)
                else f'{row[name]:>18}'
                for name in _COLUMNS
            )
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
