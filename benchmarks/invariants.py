# SPDX-License-Identifier: Apache-2.0

"""Whether the invariants of placement hold, over many examples.

    python -m benchmarks.invariants --examples 10000

tries the property of tests/unit/invariants on so many examples, drawn anew
by hypothesis in each run (or from a `--seed`), and prints how far it is.
Whatever breaks an invariant is made as small as it can be and printed; the
search goes on for other ones. The exit status is 1 if there was any. Takes
about 0.1 s for each example and processor.
"""

import argparse
import json
import pathlib
import sys
import time

import hypothesis

import tests.unit.invariants  # noqa: F401 - tells Cinder how to run
from tests.unit.invariants import cloud as clouds
from tests.unit.invariants import example as examples


class Progress:
    """What was tried so far, on one line at a time."""

    def __init__(self, wanted):
        """Nothing was tried yet.

        :param wanted: how many examples there are to be
        """
        self.tried = 0
        self._wanted = wanted
        self._started = self._said = time.monotonic()

    @property
    def rate(self):
        """Examples per second."""
        return self.tried / (time.monotonic() - self._started)

    def count(self):
        """One more; says so from time to time."""
        self.tried += 1
        if time.monotonic() - self._said > 10:
            self._said = time.monotonic()
            print(
                f'{self.tried} of {self._wanted} examples, '
                f'{self.rate:.1f} per second',
                flush=True,
            )


class Broken(Exception):
    """An example broke an invariant."""


def search(cloud, count, seed, progress, known):
    """The smallest example that breaks an invariant, or None.

    :param cloud: Cloud
    :param count: examples to try
    :param seed: of the examples
    :param progress: Progress
    :param known: {kind of problem: example}, not to be looked for again
    :returns: example and its problems
    """
    found = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    @hypothesis.given(examples.EXAMPLES)
    def holds(example):
        progress.count()
        problems = [
            problem
            for problem in examples.problems_of(cloud, example)
            if kind_of(example, problem) not in known
        ]
        # While it shrinks: the same kind, or it would become another one.
        if found:
            problems = [
                problem
                for problem in problems
                if kind_of(example, problem)
                == kind_of(found[-1][0], found[-1][1][0])
            ]
        if problems:
            found.append((example, problems))
            raise Broken

    try:
        holds()
    except Broken:
        return found[-1]
    return None


def kind_of(example, problem):
    """What counterexamples have in common of which one is reported.

    :param example: Example
    :param problem: a sentence of the judge on it
    """
    rule, step, what, *_rest = problem.split()
    return (
        f'{rule} {step} {what}, fault {example.fault}, fallback '
        f'{example.world.fallback}'
    )


def main():
    """Tries all examples and prints what it found."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--examples', type=int, default=10000)
    parser.add_argument(
        '--seed', type=int, default=int(time.time()), help='of the examples'
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    progress, known, number = Progress(options.examples), {}, 0
    print(f'{options.examples} examples of seed {options.seed}', flush=True)
    with clouds.Cloud() as cloud:
        while progress.tried < options.examples:
            found = search(
                cloud,
                options.examples - progress.tried,
                options.seed + number,
                progress,
                known,
            )
            number += 1
            if found is None:
                break
            example, problems = found
            known[kind_of(example, problems[0])] = {
                'example': repr(example),
                'problems': problems,
            }
            print('\n'.join((repr(example), *problems)), flush=True)
    print(
        f'{progress.tried} examples, {progress.rate:.1f} per second, '
        f'{len(known) or "no"} counterexample{"s" * (len(known) > 1)}'
    )
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    'examples': progress.tried,
                    'per_s': progress.rate,
                    'broken': known,
                },
                indent=2,
            ),
            'utf-8',
        )
    return 1 if known else 0


if __name__ == '__main__':
    sys.exit(main())
