# SPDX-License-Identifier: Apache-2.0


"""Whether a sweep finds the effects that there are, and no others.

    python -m benchmarks.sweep_effects

sweeps a simulated cluster, of which is known what each option does, again and
again, and counts what "tier effects" claims: of 16 options that do nothing,
and of 16 of which one doubles IOPS. At most 5 % of the sweeps of the first
kind may claim anything; those of the second should claim the one option and
no other.

The noise is recorded. IOPS of repeats spread by 2.9 % and their p99 by 14 %,
as in the 60 repeats of doc/source/contributor/benchmarks.rst, and latencies
are drawn from those of a fio run (tests/unit/figures/recorded.py), into fio's
buckets. Blocks differ by as much as repeats did with other jobs on the machine
(104 to 152 IOPS), and within a block the cluster becomes faster or slower.
"""

import argparse
import dataclasses
import functools
import json
import math
import pathlib

import numpy
from scipy import stats

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import output
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import effects
from tests.unit.figures import recorded
from tests.unit.figures import results

SWEEPS = 1000
OPTIONS = 16
BLOCKS = 4
_IOPS = 147.5
# Standard deviations, of logarithms.
_OF_REPEATS = 0.029
_OF_TAILS = 0.14
_OF_BLOCKS = 0.095
#: From the first slot of a block to the last one, either way, at most.
_DRIFT = 0.05
#: I/Os of a slot.
_IOS = 4000
_TAIL_PERCENT = 90
_COLUMNS = ('truth', 'sweeps', 'as it is', 'from %', 'to %', 'false', 'missed')


@functools.cache
def _latencies():
    """(ns, share of all I/Os, whether it is of the tail) of a fio run."""
    found = output.parse(
        recorded.text('randwrite-4k-fast'), jobname='randwrite-4k'
    ).clat
    ns, counts = (numpy.array(each) for each in zip(*found.bins, strict=True))
    return (
        ns.astype(float),
        counts / counts.sum(),
        ns > found.percentile_ns(_TAIL_PERCENT),
    )


@functools.cache
def _buckets():
    """fio's buckets in ns, and where each one but the first begins."""
    values = numpy.array(sorted(histogram.fio_buckets().values()))
    return values, (values[1:] + values[:-1]) / 2


def _clat(generator, slowness):
    """Completion latencies of a slot."""
    ns, shares, is_tail = _latencies()
    counts = generator.multinomial(_IOS, shares)
    tail = math.exp(generator.normal(0, _OF_TAILS))
    values, edges = _buckets()
    places = numpy.searchsorted(
        edges, ns * slowness * numpy.where(is_tail, tail, 1.0)
    )
    found = {}
    for place, count in zip(places.tolist(), counts.tolist(), strict=True):
        ns_of_bucket = int(values[place])
        found[ns_of_bucket] = found.get(ns_of_bucket, 0) + count
    return histogram.from_counts(found)


def _run(generator, speed):
    """The result of a slot."""
    noise = math.exp(generator.normal(0, _OF_REPEATS))
    made = results.slot([_IOPS * speed * noise])
    clat = _clat(generator, 1 / (speed * noise))
    return results.run(
        {
            'general': {
                'x': [
                    dataclasses.replace(
                        made,
                        merged=dataclasses.replace(
                            made.merged, clat=run_result.latencies(clat)
                        ),
                    )
                ]
            }
        }
    )


def simulated(seed, *, options, blocks, planted=None):
    """A sweep of options of which all but one do nothing.

    :param seed: of the order and of the noise
    :param planted: name of an option that doubles IOPS; None: there is none
    """
    generator = numpy.random.default_rng(seed)
    sweep = design.Sweep(
        tier='general',
        treatments=tuple(
            design.Treatment(name=f'option-{number}')
            for number in range(options)
        ),
        blocks=blocks,
        seed=seed,
    )
    of_block = {
        block: math.exp(generator.normal(0, _OF_BLOCKS))
        for block in range(1, blocks + 1)
    }
    drift = {block: generator.uniform(-_DRIFT, _DRIFT) for block in of_block}
    slots = []
    for slot in sweep.slots:
        place = (slot.number - 1) % (options + 1) / options
        speed = of_block[slot.block] * (1 + drift[slot.block] * place)
        if slot.treatment == planted:
            speed *= 2
        slots.append(
            effects.ReachedSlot(
                number=slot.number,
                block=slot.block,
                treatment=slot.treatment,
                verdict=effects.SlotVerdict.SOUND,
                run=_run(generator, speed),
            )
        )
    return effects.Swept(
        tier='general',
        default=design.DEFAULT,
        treatments={one.name: frozenset() for one in sweep.treatments},
        blocks=blocks,
        slots=tuple(slots),
    )


def claimed(swept):
    """Treatments and quantities that are found to have an effect."""
    question = comparison.Question(quantities=effects.QUANTITIES)
    return {
        (claim.side, claim.quantity)
        for claim in effects.of_sweep(swept, question).comparison.claims
        if claim.finding
        in (
            comparison.DifferenceFinding.BETTER,
            comparison.DifferenceFinding.WORSE,
        )
    }


def counted(*, sweeps, options, blocks, planted=None, seed=1):
    """What so many sweeps claim, by the names of the columns.

    :param planted: see ``simulated``
    """
    right = false = missed = 0
    for number in range(sweeps):
        found = claimed(
            simulated(
                seed * 10**6 + number,
                options=options,
                blocks=blocks,
                planted=planted,
            )
        )
        is_false = any(treatment != planted for treatment, _name in found)
        is_missed = planted is not None and (planted, 'iops') not in found
        false += is_false
        missed += is_missed
        right += not (is_false or is_missed)
    low, high = stats.binomtest(right, sweeps).proportion_ci(method='exact')
    return {
        'truth': 'one doubles' if planted else 'no effect',
        'sweeps': sweeps,
        'as it is': right,
        'from %': 100 * low,
        'to %': 100 * high,
        'false': false,
        'missed': missed,
    }


def main():
    """Sweeps and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--sweeps', type=int, default=SWEEPS)
    parser.add_argument('--options', type=int, default=OPTIONS)
    parser.add_argument('--blocks', type=int, default=BLOCKS)
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    found = [
        counted(
            sweeps=options.sweeps,
            options=options.options,
            blocks=options.blocks,
            planted=planted,
        )
        for planted in (None, 'option-0')
    ]
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
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
