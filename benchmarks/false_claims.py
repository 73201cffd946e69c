# SPDX-License-Identifier: Apache-2.0

"""Measure how often a comparison of runs claims a difference that is none.

    python -m benchmarks.false_claims

simulates comparisons of runs with 16 patterns, of which IOPS and p99, or the
p99 of writes and of syncs, are known, and claims of them what "openstack tier
compare" would. Prints, for each noise and number of runs on both sides, and of
history, how many percent of the comparisons of the same storage have any claim
of better or worse; a quarter of them each has 2, 3, 5 and 8 repeats. Then
prints how many percent of true differences of 10 % are found with as many runs
as a comparison of three on each side asks for: in a single pattern by the
claim of it, and in all patterns by the first claim.
"""

import argparse
import json
import math
import pathlib

import numpy
from scipy import stats

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.stats import between_runs
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.compare import comparison

PATTERNS = 16
QUANTITIES = 2
TEN_PERCENT = differences.logarithm(10)
#: Claims that are made together: the first ones, and those of each pattern.
SHARES = between_runs.claims_together(QUANTITIES, QUANTITIES * PATTERNS)
REPEATS = (2, 3, 5, 8)
#: (runs of the first side, of the second, of history)
SIDES = (
    (1, 1, 0),
    (2, 2, 0),
    (3, 3, 0),
    (2, 5, 0),
    (5, 5, 0),
    (1, 9, 0),
    (1, 1, 17),
)
#: Runs of each side from which the number is asked for.
PILOT = 3
MOST_RUNS = 500


def _run(draw, repeats, *, common=0.0, each=0.0):
    """Normal noise: 3 % of each repeat, and that of the whole run.

    :param common: standard deviation of what all patterns of a run share
    :param each: standard deviation of each pattern of a run
    """
    return (
        draw.normal(0, 0.03, (QUANTITIES, PATTERNS, repeats))
        + draw.normal(0, common)
        + draw.normal(0, each, (QUANTITIES, PATTERNS, 1))
    )


def _correlated(draw, repeats):
    """AR(1) with 0.8 from one repeat to the next."""
    found = draw.normal(0, 0.05, (QUANTITIES, PATTERNS, repeats))
    for repeat in range(1, repeats):
        found[..., repeat] = (
            0.8 * found[..., repeat - 1] + 0.6 * found[..., repeat]
        )
    return found


def _levels(draw, repeats, shape, share):
    """A quarter slower, by chance: runs, or repeats, or patterns of runs."""
    return _run(draw, repeats) - 0.3 * (draw.random(shape) < share)


def _shift(draw, repeats, patterns):
    """20 % faster from some repeat on, the first one or none included."""
    begin = draw.integers(0, repeats + 1, (1, patterns, 1))
    return _run(draw, repeats) + 0.2 * (numpy.arange(repeats) >= begin)


def _quantiles_ms():
    """Latencies of syncs: log-normal, and one of 150 ten times as long."""
    grid_ms = numpy.geomspace(0.1, 5000, 20_000)

    def below(median_ms, sigma):
        return stats.norm.cdf(numpy.log(grid_ms / median_ms) / sigma)

    return below(3, 0.35) * (149 / 150) + below(30, 0.6) / 150, grid_ms


_SYNC_SHARES, _SYNC_MS = _quantiles_ms()
#: In each repeat; of fewer, a result has no p99.
SYNCS = figures.ios_needed(99)
_BUCKETS_NS = numpy.array(
    sorted(
        each
        for each in histogram.fio_buckets().values()
        if each <= histogram.LAST_BUCKET_NS
    )
)


def _sync_p99(draw, repeats):
    """P99 of syncs as fio counts them, with 5 % between runs.

    As few calls as there may be: of n independent ones the k-th longest has a
    share of Beta(k, n - k + 1) of all below it.
    """
    shape = (QUANTITIES, PATTERNS, repeats)
    rank = math.ceil(0.99 * SYNCS)
    found_ms = numpy.interp(
        draw.beta(rank, SYNCS - rank + 1, shape), _SYNC_SHARES, _SYNC_MS
    ) * numpy.exp(draw.normal(0, 0.05))
    return numpy.log(
        _BUCKETS_NS[numpy.searchsorted(_BUCKETS_NS, 1e6 * found_ms)] / 1e6
    )


#: {name: draws the logarithms of a run, by quantity, pattern and repeat}
NOISES = {
    'repeats 3 %': _run,
    'runs 5 %': lambda draw, repeats: _run(draw, repeats, common=0.05),
    'runs 10 %': lambda draw, repeats: _run(draw, repeats, common=0.1),
    'patterns 5 %': lambda draw, repeats: _run(draw, repeats, each=0.05),
    'AR(1) repeats': _correlated,
    'bimodal repeats': lambda draw, repeats: _levels(
        draw, repeats, (1, 1, repeats), 0.3
    ),
    'bimodal runs': lambda draw, repeats: _levels(
        draw, repeats, (1, 1, 1), 0.5
    ),
    '1 of 8 runs slow': lambda draw, repeats: _levels(
        draw, repeats, (1, 1, 1), 0.125
    ),
    'bimodal patterns': lambda draw, repeats: _levels(
        draw, repeats, (QUANTITIES, PATTERNS, 1), 0.3
    ),
    'shift of all': lambda draw, repeats: _shift(draw, repeats, 1),
    'shift of each': lambda draw, repeats: _shift(draw, repeats, PATTERNS),
    'heavy tails': lambda draw, repeats: (
        _run(draw, repeats)
        + 0.03 * draw.standard_t(2.5, (QUANTITIES, PATTERNS, 1))
    ),
    'sync p99': _sync_p99,
}
#: What cannot be distinguished, see ``figures.resolution``.
RESOLUTIONS = {'sync p99': figures.BUCKET_WIDTH}


def simulate(draw, noise, runs, repeats, *, change=0.0):
    """The figures of a comparison: of each quantity, those of each pattern.

    :param noise: a key of NOISES
    :param runs: (of the first side, of the second, of history)
    :param change: logarithm of the true ratio of the second side to the
        first, one for each pattern or the same for all
    """
    first, second, history = (
        numpy.exp([NOISES[noise](draw, repeats) for _run in range(count)])
        for count in runs
    )
    second *= numpy.exp(numpy.reshape(change, (-1, 1)))

    def of(side, quantity, pattern):
        return {
            str(number): values
            for number, values in enumerate(
                side[:, quantity, pattern].tolist() if len(side) else ()
            )
        }

    return [
        [
            between_runs.Figures(
                first=of(first, quantity, pattern),
                second=of(second, quantity, pattern),
                history=of(history, quantity, pattern),
                resolution=RESOLUTIONS.get(noise, 1e-4),
            )
            for pattern in range(PATTERNS)
        ]
        for quantity in range(QUANTITIES)
    ]


def judge(found):
    """The differences of a quantity: (of all patterns, of each).

    As ``loop.compare.comparison`` has them; the unit tests compare both.
    """
    return between_runs.together(found).difference, (
        between_runs.with_common_noise([each.difference for each in found])
    )


def is_claimed(difference, share):
    """Say whether a difference is claimed to be better or worse."""
    return share * difference.p_differs() <= 1 - differences.CONFIDENCE


def has_claim(found):
    """Say whether a comparison claims anything.

    :param found: as ``simulate`` returns them
    :returns: (whether a first claim does, whether any claim does)
    """
    judged = [judge(of_quantity) for of_quantity in found]
    of_all = any(is_claimed(first, SHARES[0]) for first, _each in judged)
    return of_all, of_all or any(
        is_claimed(each, SHARES[1])
        for _first, patterns in judged
        for each in patterns
    )


def false_claims(draw, noise, runs, repeats, comparisons):
    """Percent of comparisons of the same storage that claim something."""
    if not between_runs.can_differ(*runs):
        return 0.0
    return (
        100
        * sum(
            has_claim(simulate(draw, noise, runs, repeats))[1]
            for _comparison in range(comparisons)
        )
        / comparisons
    )


def found_changes(draw, noise, repeats, comparisons):
    """Count the changes of 10 % that are found with the runs asked for.

    :returns: two rows, for a change of one pattern and for one of all: the
        percentage found, the mean number of runs that the pilots asked for,
        and the percentage of pilots that asked for at most MOST_RUNS
    """
    one = numpy.zeros(PATTERNS)
    one[0] = TEN_PERCENT
    seen, asked = ([], []), ([], [])
    for _comparison in range(comparisons):
        pilot = judge(simulate(draw, noise, (PILOT, PILOT, 0), repeats)[0])
        for which, difference, change in (
            (0, pilot[1][0], one),
            (1, pilot[0], TEN_PERCENT),
        ):
            needed = differences.repeats_needed(
                difference,
                wanted=TEN_PERCENT,
                claims=SHARES[1 - which],
                power=comparison.POWER_OF_FIRST
                if which
                else differences.POWER,
            )
            if needed is None or needed > MOST_RUNS:
                continue
            needed = max(PILOT, needed)
            asked[which].append(needed)
            found = judge(
                simulate(
                    draw, noise, (needed, needed, 0), repeats, change=change
                )[0]
            )
            seen[which].append(
                is_claimed(found[0], SHARES[0])
                if which
                else is_claimed(found[1][0], SHARES[1])
            )
    return [
        {
            'found': 100 * sum(each) / len(each) if each else 0.0,
            'runs': sum(runs) / len(runs) if each else None,
            'asked': 100 * len(each) / comparisons,
        }
        for each, runs in zip(seen, asked, strict=True)
    ]


def main():
    """Prints both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--comparisons', type=int, default=2000)
    parser.add_argument(
        '--pilots', type=int, default=200, help='comparisons for the power'
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument('--seed', type=int, default=20261129)
    options = parser.parse_args()
    draw = numpy.random.default_rng(options.seed)
    values = {'false': {}, 'found': {}}
    print(f'{"false claims, %":18}', *(f'{_words(runs):>8}' for runs in SIDES))
    for noise in NOISES:
        values['false'][noise] = row = {
            _words(runs): {
                repeats: false_claims(
                    draw,
                    noise,
                    runs,
                    repeats,
                    options.comparisons // len(REPEATS),
                )
                for repeats in REPEATS
            }
            for runs in SIDES
        }
        print(
            f'{noise:18}',
            *(f'{mean(by_repeats):8.1f}' for by_repeats in row.values()),
            flush=True,
        )
    print('\n+10 % found, %        of one pattern (runs)   of all (runs)')
    for noise in NOISES:
        row = found_changes(draw, noise, 3, options.pilots)
        values['found'][noise] = row
        print(
            f'{noise:18}',
            *(
                f'{each["found"]:12.0f} ({each["runs"] or 0:5.1f}'
                f' of {each["asked"]:.0f} %)'
                for each in row
            ),
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(values, indent=2), 'utf-8')


def mean(by_repeats):
    """Percent of false claims with all numbers of repeats.

    :param by_repeats: {number of repeats: percent}
    """
    return sum(by_repeats.values()) / len(by_repeats)


def _words(runs):
    first, second, history = runs
    return f'{first}v{second}' + (f'+{history}' if history else '')


if __name__ == '__main__':
    main()
