# SPDX-License-Identifier: Apache-2.0

"""What a tuning finds, in worlds whose truth is known.

Five options with four values each beside the default. In a flat world none
matters; in the other one, one value doubles IOPS. The search of the command
(each value once, then Optuna's TPE) against one by chance, with the same
budget.

    python -m benchmarks.tuning [RUNS] [NOISE_PERCENT]
"""

import math
import random
import sys

from rally_scenarios.bench.tune import decision
from rally_scenarios.tune import study

SPACE = {f'option{place}': 5 for place in range(5)}
SLOTS = 52
MOST_TRIALS = 25


def run(seed, *, planted, make_sampler, noise):
    """(what is proposed or None, trials until the planted value was tried).

    :param noise: of one side of a block, as a logarithm
    """
    found = study.Study(
        None,
        study.Terms(space=SPACE, seed=seed),
        make_sampler=make_sampler,
        covers=make_sampler is study.tpe,
    )

    def gain(block, candidate):
        # Not for secrets: the world is the same each time.
        draw = random.Random(f'{seed} {block} {candidate}')  # noqa: S311
        truth = math.log(2) if planted and candidate[2] == 3 else 0.0
        return truth + draw.gauss(0, noise * math.sqrt(2))

    spent = 0
    while (block := found.next_block(SLOTS - spent)) is not None:
        spent += block.slots
        found.take(
            block,
            {
                each: study.Outcome(gain=gain(block.number, each))
                for each in block.candidates
            },
            seconds=1.0,
        )
    tried = [each.candidate[2] == 3 for each in found.gains]
    best = decision.choose(found.confirmations)
    return (
        best and best.candidate,
        tried.index(True) + 1 if any(tried) else None,
        len(tried),
    )


def main(runs=200, noise_percent=5):
    noise = math.log1p(noise_percent / 100)
    for name, make_sampler in (
        ('tpe', study.tpe),
        ('chance', study.by_chance),
    ):
        for planted in (False, True):
            ends = [
                run(
                    seed,
                    planted=planted,
                    make_sampler=make_sampler,
                    noise=noise,
                )
                for seed in range(runs)
            ]
            proposed = [best for best, _first, _trials in ends if best]
            right = [
                best
                for best, first, _trials in ends
                if planted and best and best[2] == 3 and first <= MOST_TRIALS
            ]
            simple = [best for best in right if sum(map(bool, best)) == 1]
            print(
                f'{name}, {"planted" if planted else "flat"}, noise'
                f' {noise_percent} %, {runs} runs: proposed {len(proposed)},'
                f' right {len(right)}, of these alone {len(simple)}; most'
                f' trials {max(trials for *_, trials in ends)}',
                flush=True,
            )


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
