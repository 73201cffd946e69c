# SPDX-License-Identifier: Apache-2.0

"""Measure how often a comparison of runs claims a difference that is none.

    python -m benchmarks.false_claims

simulates comparisons of runs with 16 patterns, of which IOPS and p99, or the
p99 of writes and of syncs, are known, and claims of them what "openstack tier
compare" would. Prints, for each noise and number of runs on both sides, and of
history, how many percent of the comparisons of the same storage have any claim
of better or worse; a quarter of them each has 2, 3, 5 and 8 repeats. Then
begins with three runs on each side, and makes as many more as the comparison
asks for, until it claims the difference or asks for no more: prints how many
percent claim anything in that time if there is no difference, and how many
find 10 %: in a single pattern by the claim of it, and in all patterns by the
first claim.
"""

import argparse
import dataclasses
import functools
import json
import math
import pathlib

import numpy
from scipy import special
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
    (3, 7, 0),
    (5, 5, 0),
    (1, 9, 0),
    (1, 1, 17),
)
#: Runs of each side from which the number is asked for.
PILOT = 3
MOST_RUNS = 500


def _run(draw, shape, *, common=0.0, each=0.0):
    """Normal noise: 3 % of each repeat, and that of the whole run.

    :param shape: of runs, quantities, patterns and repeats
    :param common: standard deviation of what all patterns of a run share
    :param each: standard deviation of each pattern of a run
    """
    return (
        draw.normal(0, 0.03, shape)
        + draw.normal(0, common, _own(shape, 0))
        + draw.normal(0, each, _own(shape, 0, 1, 2))
    )


def _own(shape, *axes):
    """The shape of what is one for each of these axes and alike in others."""
    return tuple(
        size if axis in axes else 1 for axis, size in enumerate(shape)
    )


def _correlated(draw, shape):
    """AR(1) with 0.8 from one repeat to the next."""
    found = draw.normal(0, 0.05, shape)
    for repeat in range(1, shape[-1]):
        found[..., repeat] = (
            0.8 * found[..., repeat - 1] + 0.6 * found[..., repeat]
        )
    return found


def _levels(draw, shape, axes, share):
    """A quarter slower, by chance: runs, or repeats, or patterns of runs."""
    return _run(draw, shape) - 0.3 * (draw.random(_own(shape, *axes)) < share)


def _shift(draw, shape, axes):
    """20 % faster from some repeat on, the first one or none included."""
    begin = draw.integers(0, shape[-1] + 1, _own(shape, *axes))
    return _run(draw, shape) + 0.2 * (numpy.arange(shape[-1]) >= begin)


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


def _sync_p99(draw, shape):
    """P99 of syncs as fio counts them, with 5 % between runs.

    As few calls as there may be: of n independent ones the k-th longest has a
    share of Beta(k, n - k + 1) of all below it.
    """
    rank = math.ceil(0.99 * SYNCS)
    found_ms = numpy.interp(
        draw.beta(rank, SYNCS - rank + 1, shape), _SYNC_SHARES, _SYNC_MS
    ) * numpy.exp(draw.normal(0, 0.05, _own(shape, 0)))
    return numpy.log(
        _BUCKETS_NS[numpy.searchsorted(_BUCKETS_NS, 1e6 * found_ms)] / 1e6
    )


#: {name: draws the logarithms of runs, by quantity, pattern and repeat}
NOISES = {
    'repeats 3 %': _run,
    'runs 5 %': functools.partial(_run, common=0.05),
    'runs 10 %': functools.partial(_run, common=0.1),
    'patterns 5 %': functools.partial(_run, each=0.05),
    'AR(1) repeats': _correlated,
    'bimodal repeats': functools.partial(_levels, axes=(0, 3), share=0.3),
    'bimodal runs': functools.partial(_levels, axes=(0,), share=0.5),
    '1 of 8 runs slow': functools.partial(_levels, axes=(0,), share=0.125),
    'bimodal patterns': functools.partial(_levels, axes=(0, 1, 2), share=0.3),
    'shift of all': functools.partial(_shift, axes=(0,)),
    'shift of each': functools.partial(_shift, axes=(0, 2)),
    'heavy tails': lambda draw, shape: (
        _run(draw, shape) + 0.03 * draw.standard_t(2.5, _own(shape, 0, 1, 2))
    ),
    'fifty I/Os': lambda draw, shape: numpy.log(
        numpy.round(50 * numpy.exp(_run(draw, shape, common=0.05)))
    ),
    'noise of one side': functools.partial(_run, common=0.02, each=0.02),
    'sync p99': _sync_p99,
}
#: What cannot be distinguished, see ``figures.resolution``.
RESOLUTIONS = {'sync p99': figures.BUCKET_WIDTH, 'fifty I/Os': 1 / 50}
#: How much less the second side varies; the first one, if it has more runs.
QUIETER = {'noise of one side': 3.0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compared:
    """The logarithms of many comparisons.

    Each side by comparison, quantity, pattern, run and repeat.
    """

    first: numpy.ndarray
    second: numpy.ndarray
    history: numpy.ndarray
    resolution: float

    def with_more(self, other):
        """These runs, and those of others that were made after them."""
        return dataclasses.replace(
            self,
            first=numpy.concatenate((self.first, other.first), axis=3),
            second=numpy.concatenate((self.second, other.second), axis=3),
        )


def simulate(draw, noise, runs, repeats, *, comparisons=1, change=0.0):
    """Comparisons of two storages that differ by as much.

    :param noise: a key of NOISES
    :param runs: (of the first side, of the second, of history)
    :param change: logarithm of the true ratio of the second side to the
        first, one for each pattern or the same for all
    """

    def side(count):
        shape = (comparisons * count, QUANTITIES, PATTERNS, repeats)
        found = NOISES[noise](draw, shape)
        return numpy.moveaxis(
            found.reshape(comparisons, count, *shape[1:]), 1, 3
        )

    first, second, history = map(side, runs)
    if runs[0] > runs[1]:
        first = first / QUIETER.get(noise, 1.0)
    elif runs[0] > 1:
        second = second / QUIETER.get(noise, 1.0)
    return Compared(
        first=first,
        second=second + numpy.reshape(change, (-1, 1, 1)),
        history=history,
        resolution=RESOLUTIONS.get(noise, 1e-4),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Differences:
    """As ``differences.LogDifference``, of many comparisons."""

    mean: numpy.ndarray
    error: numpy.ndarray
    deviation: numpy.ndarray
    #: of the side that has fewer
    runs: int
    freedom: float
    resolution: float

    def probabilities(self, share):
        """Of such means without a difference, among so many claims."""
        found = 2 * special.stdtr(self.freedom, -abs(self.mean) / self.error)
        return numpy.where(
            abs(self.mean) <= self.resolution,
            1.0,
            numpy.minimum(1.0, share * found),
        )

    def are_claimed(self, share):
        """Say whether each is claimed to be better or worse."""
        return self.probabilities(share) <= 1 - differences.CONFIDENCE

    def one(self, place):
        """The difference at a place, as the product has it."""
        return differences.LogDifference(
            mean=float(self.mean[place]),
            error=float(self.error[place]),
            freedom=self.freedom,
            deviation=float(self.deviation[place]),
            is_paired=False,
            repeats=self.runs,
            resolution=self.resolution,
        )


def judge(found):
    """The differences of comparisons: (of all patterns, of each pattern).

    By comparison, quantity, and pattern. As ``figures.stats.between_runs``
    has them of one comparison; the unit tests hold these against it.
    """
    of_all = _differences(
        dataclasses.replace(
            found,
            first=found.first.mean(axis=2),
            second=found.second.mean(axis=2),
            history=found.history.mean(axis=2),
        )
    )
    each = _differences(found)
    least = (
        each.deviation.max(axis=2, keepdims=True)
        if each.runs == 1
        else numpy.sqrt(numpy.square(each.deviation).mean(2, keepdims=True))
    )
    least = numpy.maximum(each.deviation, least)
    return of_all, dataclasses.replace(
        each,
        error=each.error * least / each.deviation,
        deviation=least,
    )


def _differences(found):
    sides = [found.first, found.second, found.history]
    counts = [side.shape[-2] for side in sides]
    repeats = found.first.shape[-1]
    means = [side.mean(axis=-1) for side in sides]
    squares = [
        count * each.var(axis=-1) if count else 0.0
        for each, count in zip(means, counts, strict=True)
    ]
    between = sum(squares) / sum(count - 1 for count in counts if count)
    variance = numpy.maximum(between, max(found.resolution**2 / 12, 1e-24))
    if repeats > 1:
        within = sum(side.var(axis=-1, ddof=1).sum(axis=-1) for side in sides)
        variance = numpy.maximum(variance, within / sum(counts) / repeats)
    ones, others = (
        each / (count - 1) if min(counts[:2]) > 1 else variance
        for each, count in zip(squares[:2], counts[:2], strict=True)
    )
    return Differences(
        mean=means[1].mean(axis=-1) - means[0].mean(axis=-1),
        error=numpy.sqrt(
            numpy.maximum(
                variance / counts[0] + variance / counts[1],
                ones / counts[0] + others / counts[1],
            )
        ),
        deviation=numpy.sqrt(numpy.maximum(2 * variance, ones + others)),
        runs=min(counts[:2]),
        # As of so many runs of any figures.
        freedom=between_runs.of_runs(
            *([[1.0]] * count for count in counts[:2]),
            history=[[1.0]] * counts[2],
            resolution=found.resolution,
        ).freedom,
        resolution=found.resolution,
    )


def have_claims(found):
    """Say of each comparison whether it claims anything."""
    of_all, each = judge(found)
    return of_all.are_claimed(SHARES[0]).any(axis=1) | each.are_claimed(
        SHARES[1]
    ).any(axis=(1, 2))


def false_claims(draw, noise, runs, repeats, comparisons):
    """Percent of comparisons of the same storage that claim something."""
    if not between_runs.can_differ(*runs):
        return 0.0
    return 100 * float(
        have_claims(
            simulate(draw, noise, runs, repeats, comparisons=comparisons)
        ).mean()
    )


def followed(draw, noise, repeats, comparisons, *, change=0.0, of_all=True):
    """Compare as someone who makes as many runs as the comparison asks for.

    From PILOT runs on, and with more and more of them, until it claims the
    difference or asks for no more.

    :param change: see ``simulate``
    :param of_all: that of all patterns is asked for, or that of the first one
    :returns: percent of comparisons that claim what is asked for; percent
        that claim anything at any time; and the mean number of runs of a side
        in the end
    """
    power = comparison.POWER_OF_FIRST if of_all else differences.POWER
    share = SHARES[0 if of_all else 1]
    seen, false, runs = 0, 0, 0
    for _comparison in range(comparisons):
        found = simulate(
            draw, noise, (PILOT, PILOT, 0), repeats, change=change
        )
        has_claim = False
        while True:
            judged = judge(found)[0 if of_all else 1]
            place = (0, 0) if of_all else (0, 0, 0)
            has_claim = has_claim or bool(have_claims(found)[0])
            if judged.are_claimed(share)[place]:
                seen += 1
                break
            needed = differences.repeats_needed(
                judged.one(place),
                wanted=TEN_PERCENT,
                claims=share,
                power=power,
            )
            more = (needed or MOST_RUNS) - judged.runs
            if more <= 0 or judged.runs + more > MOST_RUNS:
                break
            found = found.with_more(
                simulate(draw, noise, (more, more, 0), repeats, change=change)
            )
        false += has_claim
        runs += judged.runs
    return (
        100 * seen / comparisons,
        100 * false / comparisons,
        runs / comparisons,
    )


def main():
    """Prints both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--comparisons', type=int, default=2000)
    parser.add_argument(
        '--followed',
        type=int,
        default=200,
        help='comparisons that are followed until they ask for no more',
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument('--seed', type=int, default=20261129)
    options = parser.parse_args()
    draw = numpy.random.default_rng(options.seed)
    values = {'false': {}, 'followed': {}}
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
    one = numpy.zeros(PATTERNS)
    one[0] = TEN_PERCENT
    print(
        f'\n{"followed, %":18}     false',
        '    +10 % of one (runs)    of all (runs)',
    )
    for noise in NOISES:
        none, of_one, of_all = (
            followed(draw, noise, 3, count * options.followed, **arguments)
            for count, arguments in (
                (5, {}),
                (1, {'change': one, 'of_all': False}),
                (1, {'change': TEN_PERCENT}),
            )
        )
        values['followed'][noise] = {
            'false': none[1],
            'one': {'found': of_one[0], 'runs': of_one[2]},
            'all': {'found': of_all[0], 'runs': of_all[2]},
        }
        print(
            f'{noise:18}{none[1]:10.1f}',
            *(
                f'{found:16.0f} ({runs:5.1f})'
                for found, _false, runs in (of_one, of_all)
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
