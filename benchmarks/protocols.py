# SPDX-License-Identifier: Apache-2.0

"""Measure how often what is concluded holds when it is acted upon.

    python -m benchmarks.protocols

simulates storage that does not change, measured again and again with noise of
many kinds, and does with each command what its users do:

- gate: each night of a year one run is compared with nine that were made
  before, or with the last 30; each week three runs with the three before and a
  history. Prints percent of the comparisons that say "worse".
- effects: sweeps of options that do nothing. Prints percent that claim
  anything.
- headroom: a load curve of three repeats, of one run or of several, then a run
  with as many volumes as are promised at least. Prints percent of these runs
  that miss the limit.
- tune: tunings of options that do nothing, and of one that helps only alone
  while all others harm. Prints percent that propose what is no better, and
  percent of the proposals whose gain is not as large as is claimed at least.
"""

import argparse
import functools
import json
import math
import pathlib
import random

import numpy
from scipy import signal
from scipy import special

from benchmarks import false_claims
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.stats import between_runs
from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.headroom import curve as load_curve
from cinder_tiers.loop.headroom import headroom
from cinder_tiers.loop.headroom import load

NIGHTS = 365
REPEATS = 3
#: Of each measurement, beside what it has in common with those near to it.
_OWN = 0.03


def _wandering(draw, count):
    """AR(1) of 0.7, with a standard deviation of 5 %."""
    begin = 100
    noise = draw.normal(0, 0.05 * math.sqrt(1 - 0.7**2), count + begin)
    return signal.lfilter([1], [1, -0.7], noise)[begin:]


def _spells(draw, count):
    """A fifth slower in spells of 20 measurements, on average."""
    return -0.2 * ((draw.random(count) < 1 / 20).cumsum() % 2)


#: {name: draws the logarithms of measurements, one after another}
NOISES = {
    '5 %': lambda draw, count: draw.normal(0, 0.05, count),
    'AR(1)': _wandering,
    'bimodal': lambda draw, count: -0.3 * (draw.random(count) < 0.3),
    'half and half': lambda draw, count: -0.3 * (draw.random(count) < 0.5),
    '1 of 8 slow': lambda draw, count: -0.3 * (draw.random(count) < 1 / 8),
    'spells': _spells,
    'heavy tails': lambda draw, count: 0.03 * draw.standard_t(2.5, count),
    # A guest whose clock is off misses up to 15 % of a measurement.
    'clocks': lambda draw, count: numpy.log1p(-0.15 * draw.random(count)),
    'an outlier': lambda draw, count: (
        -1.1 * (numpy.arange(count) == draw.integers(count))
    ),
    'of one side': lambda draw, count: draw.normal(0, 0.01, count),
    'of some': lambda draw, count: draw.normal(0, 0.01, count),
}
#: Of which each measurement has hardly any noise beside the level it is in.
_TIGHT = {'bimodal': 0.001, 'half and half': 0.001, 'of some': 0.001}
#: Deviation of the new side, or of one treatment in three.
_UNEQUAL = 0.06

#: {gate: (nights between comparisons, runs of the baseline, of the new side,
#: of history, whether the baseline stays)}
GATES = {
    'first 9, 1 new': (1, 9, 1, 0, True),
    'last 30, 1 new': (1, 30, 1, 0, False),
    'last 3, 3 new, 27 before': (7, 3, 3, 27, False),
}


def gate(draw, noise, name, years):
    """Percent of the comparisons of years that say "worse"."""
    every, baseline, new, before, is_fixed = GATES[name]
    first = baseline + before
    worse = []
    for _year in range(years):
        count = first + NIGHTS
        series = NOISES[noise](draw, count)
        if noise == 'of one side':
            series[first:] += draw.normal(0, _UNEQUAL, NIGHTS)
        runs = numpy.moveaxis(
            series[:, None, None, None]
            + draw.normal(
                0,
                0.02,
                (
                    count,
                    false_claims.QUANTITIES,
                    false_claims.PATTERNS,
                    REPEATS,
                ),
            ),
            0,
            2,
        )
        nights = range(first, count - new + 1, every)

        def cut(begin, size, runs=runs, nights=nights):
            return numpy.stack(
                [
                    runs[:, :, begin(night) : begin(night) + size]
                    for night in nights
                ]
            )

        begin = 0 if is_fixed else None
        compared = false_claims.Compared(
            first=cut(
                lambda night, begin=begin, baseline=baseline: (
                    night - baseline if begin is None else begin
                ),
                baseline,
            ),
            second=cut(lambda night: night, new),
            history=cut(lambda night, first=first: night - first, before),
            resolution=1e-4,
        )
        of_all, each = false_claims.judge(compared)
        worse.append(
            (
                of_all.are_claimed(false_claims.SHARES[0]) & (of_all.mean < 0)
            ).any(axis=1)
            | (each.are_claimed(false_claims.SHARES[1]) & (each.mean < 0)).any(
                axis=(1, 2)
            )
        )
    return 100 * float(numpy.concatenate(worse).mean())


#: (options, blocks)
SWEEPS = ((1, 3), (4, 3), (16, 3), (16, 4), (16, 8))


def sweeps(draw, noise, options, blocks, count):
    """Gains of each option: by sweep, block, option and quantity."""
    shape = (count, blocks, options + 1)
    levels = numpy.stack(
        [
            NOISES[noise](draw, blocks * (options + 1))
            for _sweep in range(count)
        ]
    ).reshape(shape)
    # The order within a block is by chance.
    levels = numpy.take_along_axis(
        levels, numpy.argsort(draw.random(shape), axis=2), axis=2
    )
    if noise == 'of one side':
        levels[:, :, 1::3] += draw.normal(
            0, _UNEQUAL, levels[:, :, 1::3].shape
        )
    values = levels[..., None] + draw.normal(
        0, _TIGHT.get(noise, _OWN), (*shape, false_claims.QUANTITIES)
    )
    gains = values[:, :, 1:] - values[:, :, :1]
    if noise == 'of some':
        # Of a quarter, which are of other patterns: both sides have levels.
        some = (count, blocks, math.ceil(options / 4), 1)
        gains[:, :, : some[2]] += 0.3 * (
            draw.integers(2, size=some) - draw.integers(2, size=some)
        )
    return gains


def have_effects(gains):
    """Say of each sweep whether it claims anything.

    As ``comparison.treatments`` does it of one pattern; the unit tests hold
    these against it.
    """
    _count, blocks, options, quantities = gains.shape
    deviations = numpy.maximum(gains.std(axis=1, ddof=1), 1e-12)
    steady = options - between_runs.noisiest_left_out(blocks)
    if steady > 0:
        common = numpy.square(numpy.sort(deviations, axis=1)[:, :steady])
        deviations = numpy.maximum(
            deviations, numpy.sqrt(common.mean(axis=1, keepdims=True))
        )
    distance = abs(gains.mean(axis=1)) / deviations * math.sqrt(blocks)
    found = options * quantities * 2 * special.stdtr(blocks - 1, -distance)
    return (found <= 1 - differences.CONFIDENCE).any(axis=(1, 2))


#: Of a queue of random arrivals, in IOPS.
_SERVED = 400.0
_STEPS = (100, 150, 200, 250, 300, 350, 380)
_LIMIT_MS = 50.0
_VOLUME_IOPS = 10
#: Runs of a curve.
CURVES = (1, 3, 5)
#: Logarithm, of each run.
_BETWEEN_RUNS = 0.03


def _p99_ms(served, asked):
    """M/M/1; what is not served within a minute waits."""
    free = max(served - asked, 0.01 * asked)
    return -1000 * math.log(0.01) / free + 60_000 * max(0, 1 - served / asked)


def _curve(draw, levels):
    """A curve of a run.

    :param levels: logarithms, by repeat and step
    """
    served = _SERVED * numpy.exp(levels)
    return load_curve.Curve(
        tier='general',
        name='x',
        quantity=expectations.quantity('p99_ms'),
        steps=tuple(
            load_curve.Step(
                pattern=f'x.r{asked}',
                asked_iops=asked,
                volume_iops=_VOLUME_IOPS,
                iops=tuple(map(float, numpy.minimum(asked, of_step))),
                latencies_ms=tuple(
                    _p99_ms(each, asked) * draw.lognormal(0, 0.05)
                    for each in of_step.tolist()
                ),
            )
            for asked, of_step in zip(_STEPS, served.T, strict=True)
        ),
        repeats=len(levels),
    )


def promises(draw, noise, runs, count):
    """(percent of curves that promise room, of these whose next run fails)."""
    shape = (runs + 1, REPEATS, len(_STEPS))
    kept = []
    for _curve_number in range(count):
        levels = NOISES[noise](draw, math.prod(shape)).reshape(shape)
        levels = levels + draw.normal(0, _BETWEEN_RUNS, (runs + 1, 1, 1))
        if noise == 'of one side':
            levels[-1] += draw.normal(0, _UNEQUAL, shape[1:])
        found = headroom.headroom(
            load.within(
                load_curve.joined([_curve(draw, one) for one in levels[:-1]]),
                _LIMIT_MS,
            ),
            in_use_iops=0,
            volume_iops=_VOLUME_IOPS,
        )
        if found.finding is headroom.RoomFinding.ROOM:
            asked = found.at_least * _VOLUME_IOPS
            served = _SERVED * numpy.exp(levels[-1, :, 0])
            kept.append(
                numpy.median([_p99_ms(one, asked) for one in served])
                <= _LIMIT_MS
            )
    failed = 100 - 100 * float(numpy.mean(kept)) if kept else 0.0
    return 100 * len(kept) / count, failed


#: Worlds of ``benchmarks.tuning``.
WORLDS = ('no effect', 'alone')


def tuned(noise, truth, seed):
    """(gain of the proposal, what is claimed of it at least) or None."""
    # The pure part has no Optuna.
    from benchmarks import tuning
    from cinder_tiers.loop.tune import history
    from cinder_tiers.loop.tune import study

    draw = numpy.random.default_rng([seed, *noise.encode()])
    slots = tuning.SLOTS
    levels = NOISES[noise](draw, slots) + draw.normal(
        0, _TIGHT.get(noise, _OWN), slots
    )
    found = study.Study(None, study.TuningTerms(space=tuning.SPACE, seed=seed))
    # Not for secrets: the world is the same each time.
    world = random.Random(f'{seed} {truth}')  # noqa: S311
    best = tuple(world.randrange(1, count) for count in tuning.SPACE.values())

    def gain(candidate):
        return tuning.WORLDS[truth][0](candidate, best)

    spent = 0
    while (block := found.next_block(slots - spent)) is not None:
        default, *others = spent + draw.permutation(block.slots)
        if noise == 'of one side':
            levels[others] += draw.normal(0, _UNEQUAL, len(others))
        found.take(
            block,
            [
                history.CandidateOutcome(
                    candidate=each,
                    gain=float(gain(each) + levels[place] - levels[default]),
                )
                for each, place in zip(block.candidates, others, strict=True)
            ],
            seconds=1.0,
        )
        spent += block.slots
    proposed = found.history.proposed
    if proposed is None:
        return None
    return gain(proposed.candidate), differences.logarithm(
        proposed.difference.interval_percent()[0]
    )


def proposals(noise, truth, count):
    """Percent of tunings: (propose, a loser, less than the interval)."""
    found = [
        each
        for seed in range(count)
        if (each := tuned(noise, truth, seed)) is not None
    ]
    return tuple(
        100 * number / count
        for number in (
            len(found),
            sum(gain <= 0 for gain, _low in found),
            sum(gain < low for gain, low in found),
        )
    )


def main():
    """Prints a table of each protocol."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--years', type=int, default=5)
    parser.add_argument('--sweeps', type=int, default=2000)
    parser.add_argument('--curves', type=int, default=300)
    parser.add_argument('--tunings', type=int, default=20)
    parser.add_argument('--noises', nargs='+', default=list(NOISES))
    parser.add_argument('--seed', type=int, default=20261130)
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    draw = numpy.random.default_rng(options.seed)
    protocols = {
        **{
            f'gate, {name}': functools.partial(
                gate, draw, name=name, years=options.years
            )
            for name in GATES
        },
        **{
            f'effects of {treatments}, {blocks} blocks': (
                lambda noise, size=(treatments, blocks): (
                    100
                    * float(
                        have_effects(
                            sweeps(draw, noise, *size, options.sweeps)
                        ).mean()
                    )
                )
            )
            for treatments, blocks in SWEEPS
        },
        **{
            f'headroom, runs: {runs} (promise, fail)': functools.partial(
                promises, draw, runs=runs, count=options.curves
            )
            for runs in CURVES
        },
        **{
            f'tune, {truth} (propose, loser, less)': functools.partial(
                proposals, truth=truth, count=options.tunings
            )
            for truth in WORLDS
            if options.tunings
        },
    }
    values = {}
    for name, measure in protocols.items():
        values[name] = {
            noise: measure(noise=noise) for noise in options.noises
        }
        print(name)
        for noise, found in values[name].items():
            several = found if isinstance(found, tuple) else (found,)
            print(
                f'    {noise:14}',
                *(f'{each:6.1f}' for each in several),
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(values, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
