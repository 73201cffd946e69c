# SPDX-License-Identifier: Apache-2.0


"""Whether a tuning finds the value that is better, and claims no other.

    python -m benchmarks.tuning

tunes simulated tiers, of which is known what each value does, again and again:
five options with four values each beside the default. In a flat world none
matters, and at most 5 % of the tunings may propose anything. In the other one,
one value of one option doubles IOPS, whatever the others are, and should be
proposed. The search of "tier tune" (each value once, then TPE of Optuna) is
compared with candidates by chance, with the same budget and the same
confirmation.

Each slot has noise of its own, that of the default too: so the candidates of
one block have that of its default in common, as they have in a cluster.
"""

import argparse
import json
import math
import pathlib
import random
import statistics

from scipy import stats

from cinder_tiers.loop.tune import history
from cinder_tiers.loop.tune import study

TUNINGS = 200
#: In all, with those of the default and of the confirmation.
SLOTS = 52
#: Coefficient of variation of a slot. That of repeats, as sweep_effects has
#: it, is 2.9 % for IOPS and 14 % for p99.
NOISE_PERCENT = 5.0
#: Measured candidates within which the better value must have been tried.
MOST_TRIALS = 25
SPACE = {f'option{place}': 5 for place in range(5)}
_PLANTED_PLACE, _PLANTED_VALUE = 2, 3
_SAMPLERS = {'tune': study.tpe, 'chance': study.by_chance}
_COLUMNS = (
    *('search', 'truth', 'tunings', 'right', 'from %', 'to %', 'wrong'),
    *('missed', 'alone', 'trials'),
)


def _is_planted(candidate):
    return candidate[_PLANTED_PLACE] == _PLANTED_VALUE


def tuned(seed, *, search, is_planted, slots, noise_percent):
    """(what is proposed or None, trials until the better value was tried).

    The trials are None if it was not tried.

    :param search: key of _SAMPLERS
    :param is_planted: whether one value doubles IOPS
    """
    found = study.Study(
        None,
        study.Terms(space=SPACE, seed=seed),
        make_sampler=_SAMPLERS[search],
        covers=search == 'tune',
    )

    def measured(block, candidate):
        # Not for secrets: the world is the same each time.
        draw = random.Random(f'{seed} {block} {candidate}')  # noqa: S311
        truth = math.log(2) if is_planted and _is_planted(candidate) else 0.0
        return truth + draw.gauss(0, math.log1p(noise_percent / 100))

    default = (0,) * len(SPACE)
    spent = 0
    while (block := found.next_block(slots - spent)) is not None:
        spent += block.slots
        found.take(
            block,
            [
                history.Outcome(
                    candidate=each,
                    gain=measured(block.number, each)
                    - measured(block.number, default),
                )
                for each in block.candidates
            ],
            seconds=1.0,
        )
    tried = [_is_planted(each.candidate) for each in found.history.gains]
    best = found.history.proposed
    return (
        best and best.candidate,
        tried.index(True) + 1 if any(tried) else None,
    )


def counted(*, search, is_planted, tunings, slots, noise_percent):
    """What so many tunings propose, by the names of the columns."""
    ends = [
        tuned(
            seed,
            search=search,
            is_planted=is_planted,
            slots=slots,
            noise_percent=noise_percent,
        )
        for seed in range(tunings)
    ]
    proposed = [best for best, _trials in ends if best]
    if is_planted:
        better = [
            best
            for best, trials in ends
            if best and _is_planted(best) and trials <= MOST_TRIALS
        ]
        right, missed = len(better), tunings - len(proposed)
    else:
        better, right, missed = [], tunings - len(proposed), 0
    low, high = stats.binomtest(right, tunings).proportion_ci(method='exact')
    # One that was never tried is later than all that were.
    trials = statistics.median(
        math.inf if each is None else each for _best, each in ends
    )
    return {
        'search': search,
        'truth': 'one doubles' if is_planted else 'no effect',
        'tunings': tunings,
        'right': right,
        'from %': 100 * low,
        'to %': 100 * high,
        'wrong': tunings - right - missed,
        'missed': missed,
        'alone': sum(sum(map(bool, best)) == 1 for best in better),
        'trials': None if math.isinf(trials) else trials,
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
            is_planted=is_planted,
            tunings=options.tunings,
            slots=options.slots,
            noise_percent=options.noise_percent,
        )
        for search in _SAMPLERS
        for is_planted in (False, True)
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
