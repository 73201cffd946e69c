# SPDX-License-Identifier: Apache-2.0

"""All simulations of what commands conclude, whose truth is known.

    python -m tests.long.simulations

prints their tables, which doc/source/contributor/benchmarks.rst and
doc/source/admin/watch.rst sum up, and the processor time of each. They need no
lab, and about ten minutes.
"""

import resource
import subprocess
import sys

PROGRAMMES = (
    'benchmarks.false_claims',
    'benchmarks.protocols',
    'tests.long.test_trend_simulated',
    'tests.long.test_watch_simulated',
)


def _seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    """Ends with the first programme that fails."""
    for programme in PROGRAMMES:
        before = _seconds()
        print(f'\n{programme}', flush=True)  # noqa: T201
        subprocess.run([sys.executable, '-m', programme], check=True)
        print(f'{_seconds() - before:.0f} s')  # noqa: T201
    print(f'all: {_seconds():.0f} s')  # noqa: T201


if __name__ == '__main__':
    main()
