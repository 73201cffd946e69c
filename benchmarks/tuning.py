# SPDX-License-Identifier: Apache-2.0


"""Whether a tuning finds the value that is better, and claims no other.

    python -m benchmarks.tuning

tunes simulated tiers, of which is known what each value does, again and again:
five options with four values each beside the default. In a flat world none
matters, and at most 5 % of the tunings may propose anything. In the others

- one value of one option doubles IOPS, whatever the others are;
- one value of each option helps, all of them together by 34 %;
- one value helps by 30 % alone, and each change beside another one harms.

What is proposed should be better in truth, and within 10 % of the best. The
search of "tier tune" is compared with Optuna's TPE and with candidates by
chance, with the same budget and the same confirmation.

Each slot has noise of its own, that of the default too: so the candidates of
one block have that of its default in common, as they have in a cluster.
"""

import argparse
import json
import math
import operator
import pathlib
import random
import statistics
import warnings

import optuna
from scipy import stats

from cinder_tiers.loop.tune import history
from cinder_tiers.loop.tune import study

TUNINGS = 200
#: In all, with those of the default and of the confirmation.
SLOTS = 52
#: Coefficient of variation of a slot. That of repeats, as sweep_effects has
#: it, is 2.9 % for IOPS and 14 % for p99.
NOISE_PERCENT = 5.0
SPACE = {f'option{place}': 5 for place in range(5)}
#: A proposal is near the best if it does this share of its IOPS.
NEAR_SHARE = 0.9
_COLUMNS = (
    *('search', 'truth', 'tunings', 'near', 'from %', 'to %', 'missed'),
    *('worse', 'gain %', 'options'),
)


def _tpe(seed):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=8, constant_liar=True
        )


_SAMPLERS = {
    'tune': None,
    'TPE': _tpe,
    'chance': lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def _doubles(candidate, _best):
    return math.log(2) * (candidate[2] == 3)


def _adds_up(candidate, best):
    equal = sum(map(operator.eq, candidate, best))
    return math.log(1.34) * equal / len(best)


def _alone(candidate, best):
    changed = sum(map(bool, candidate))
    if changed == 1 and candidate[0] == best[0]:
        return math.log(1.3)
    return -0.1 * (changed > 1)


#: {world: (logarithm of the gain of a candidate, given the best value of each
#: option, that of the best candidate)}
WORLDS = {
    'no effect': (lambda _candidate, _best: 0.0, 0.0),
    'one doubles': (_doubles, math.log(2)),
    'adds up': (_adds_up, math.log(1.34)),
    'alone': (_alone, math.log(1.3)),
}


def tuned(seed, *, search, truth, slots, noise_percent):
    """(what is proposed or None, logarithm of its gain in truth).

    :param search: key of _SAMPLERS
    :param truth: key of WORLDS
    """
    found = study.Study(
        None,
        study.TuningTerms(space=SPACE, seed=seed),
        make_sampler=_SAMPLERS[search],
    )
    # Not for secrets: the world is the same each time.
    world = random.Random(f'{seed} {truth}')  # noqa: S311
    best_values = tuple(world.randrange(1, count) for count in SPACE.values())

    def gain(candidate):
        return WORLDS[truth][0](candidate, best_values)

    def measured(block, candidate):
        draw = random.Random(f'{seed} {block} {candidate}')  # noqa: S311
        return gain(candidate) + draw.gauss(0, math.log1p(noise_percent / 100))

    default = (0,) * len(SPACE)
    spent = 0
    while (block := found.next_block(slots - spent)) is not None:
        spent += block.slots
        found.take(
            block,
            [
                history.CandidateOutcome(
                    candidate=each,
                    gain=measured(block.number, each)
                    - measured(block.number, default),
                )
                for each in block.candidates
            ],
            seconds=1.0,
        )
    best = found.history.proposed
    return (best.candidate, gain(best.candidate)) if best else (None, 0.0)


def counted(*, search, truth, tunings, slots, noise_percent):
    """What so many tunings propose, by the names of the columns."""
    ends = [
        tuned(
            seed,
            search=search,
            truth=truth,
            slots=slots,
            noise_percent=noise_percent,
        )
        for seed in range(tunings)
    ]
    enough = WORLDS[truth][1] + math.log(NEAR_SHARE)
    near = sum(gain >= enough for _, gain in ends)
    low, high = stats.binomtest(near, tunings).proportion_ci(method='exact')
    changed = [sum(map(bool, best)) for best, _ in ends if best]
    return {
        'search': search,
        'truth': truth,
        'tunings': tunings,
        'near': near,
        'from %': 100 * low,
        'to %': 100 * high,
        'missed': sum(best is None for best, _ in ends),
        # Where nothing has an effect, each proposal is a false claim.
        'worse': sum(best is not None and gain <= 0 for best, gain in ends),
        'gain %': 100
        * statistics.median(map(math.expm1, (g for _, g in ends))),
        'options': statistics.median(changed) if changed else None,
    }


def main():
    """Tunes and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--tunings', type=int, default=TUNINGS)
    parser.add_argument('--slots', type=int, default=SLOTS)
    parser.add_argument('--noise-percent', type=float, default=NOISE_PERCENT)
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    found = [
        counted(
            search=search,
            truth=truth,
            tunings=options.tunings,
            slots=options.slots,
            noise_percent=options.noise_percent,
        )
        for search in _SAMPLERS
        for truth in WORLDS
    ]
    print(' '.join(f'{name:>12}' for name in _COLUMNS))
    for row in found:
        print(
            ' '.join(
                f'{row[name]:>12.4g}'
                if isinstance(row[name], float)
                else f'{row[name] if row[name] is not None else "-":>12}'
                for name in _COLUMNS
            )
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
