# SPDX-License-Identifier: Apache-2.0
"""The complete run of all faults, and the table of its results.

``python -m tests.functional.faults --table doc/source/admin/faults.csv``, with
the lab up. Each fault meets as many creates with doors as without.
"""

import argparse
import collections
from collections.abc import Iterator
import csv
import pathlib
import sys

from tests.functional import faults_cloud
from tests.functional import faults_injected
from tests.functional import faults_run
from tests.functional import glance_proxy

HEADINGS = (
    'Fault',
    'cinder-tiers in',
    'Creates',
    'Failed: on',
    'off',
    'Longest wait for the answer (s): on',
    'off',
    'for the volume (s): on',
    'off',
    'in the API middleware (s)',
    'in the scheduler filter (s)',
    'On their own tier',
)
#: Faults that the scheduler door meets alone, too: those that lie in wait
#: for the one that asks Glance.
_FOR_SCHEDULER = frozenset(
    (
        'Glance frozen',
        'token revoked',
        'tiers changed',
        *(
            f'Glance {said}, to cinder-tiers only'
            for said in (
                'answers 401',
                'answers 404',
                'answers 500',
                'answers garbage',
                'never answers',
                'answers late',
            )
        ),
    )
)
_SIDES = {'both': 'API and scheduler', 'scheduler': 'scheduler only'}


def main(arguments: list[str] | None = None) -> int:
    """Run; return 0 if the doors made nothing worse.

    :param arguments: of the command; None for those of this process.
    """
    options = _parser().parse_args(arguments)
    chosen = [
        fault
        for fault in faults_injected.FAULTS
        if not options.fault or fault.name in options.fault
    ]
    cloud = faults_cloud.Cloud()
    runs: dict[tuple[str, str], faults_run.Run] = {}
    with (
        glance_proxy.GlanceProxy(cloud.glance_url) as proxy,
        cloud.as_it_was(),
        cloud.no_limit(),
    ):
        for fault, doors in _in_order(chosen, options.doors):
            run = faults_run.run(cloud, proxy, fault, doors, options.creates)
            runs[fault.name, doors] = run
            print(_say(run), flush=True)
            if options.table:  # what was measured is not lost by a later run
                _write(options.table, chosen, runs)
    worse = [
        problem
        for fault in chosen
        for doors in _SIDES
        if (fault.name, doors) in runs
        for problem in faults_run.problems(
            fault, runs[fault.name, doors], _off(fault, runs)
        )
    ]
    print('\n'.join(worse) or 'The doors made nothing worse.')
    return 1 if worse else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m tests.functional.faults', description=__doc__
    )
    parser.add_argument(
        '--creates',
        type=int,
        default=100,
        metavar='N',
        help='creates of volumes in each run (100)',
    )
    parser.add_argument(
        '--fault',
        action='append',
        metavar='NAME',
        choices=[one.name for one in faults_injected.FAULTS],
        help='run this fault only; may be repeated',
    )
    parser.add_argument(
        '--doors',
        action='append',
        choices=('both', 'scheduler', 'off'),
        help='run this side only; may be repeated',
    )
    parser.add_argument(
        '--table',
        type=pathlib.Path,
        metavar='FILE',
        help='where to write the results, as CSV',
    )
    return parser


def _in_order(
    faults: list[faults_injected.Fault],
    sides: list[str] | None,
) -> Iterator[tuple[faults_injected.Fault, str]]:
    """Yield what to run, with few changes of Cinder's configuration."""
    for doors in ('off', 'both', 'scheduler'):
        if sides and doors not in sides:
            continue
        for fault in sorted(
            faults, key=lambda one: (one.through_proxy, one.is_cold)
        ):
            if not (
                doors == 'off'
                and fault.only_doors
                or doors == 'scheduler'
                and fault.name not in _FOR_SCHEDULER
            ):
                yield fault, doors


def _off(
    fault: faults_injected.Fault,
    runs: dict[tuple[str, str], faults_run.Run],
) -> faults_run.Run | None:
    """Return how Cinder alone fared."""
    return runs.get(('no fault' if fault.only_doors else fault.name, 'off'))


def _say(run: faults_run.Run) -> str:
    lines = [
        (
            f'{run.fault}, doors {run.doors}: {len(run.failures)} '
            f'of {len(run.creates)} creates failed; longest wait for an '
            f'answer {run.longest_post_s:.1f} s, for a '
            f'volume {run.longest_volume_s:.0f} s, at the API '
            f'middleware {run.longest_door_s("api"):.1f} s, at the scheduler '
            f'door {run.longest_door_s("scheduler"):.1f} s; {_at_home(run)} '
            f'on their own tier; {run.faulty_answers} faulty answers'
        )
    ]
    alike = collections.Counter(
        (one.kind, one.http_status, one.status, one.answer[:160])
        for one in run.failures
    )
    lines += [
        f'  {number} x {kind}: {http_status} {status} {answer}'
        for (kind, http_status, status, answer), number in alike.items()
    ]
    return '\n'.join(lines)


def _at_home(run: faults_run.Run) -> int:
    return sum(create.is_on_own_tier for create in run.creates)


def _write(
    table: pathlib.Path,
    faults: list[faults_injected.Fault],
    runs: dict[tuple[str, str], faults_run.Run],
) -> None:
    with table.open('w', newline='') as stream:
        writer = csv.writer(stream, lineterminator='\n')
        writer.writerow(HEADINGS)
        for fault in faults:
            off = _off(fault, runs)
            for doors, said in _SIDES.items():
                on = runs.get((fault.name, doors))
                if on is None or off is None:
                    continue
                writer.writerow(
                    (
                        fault.name,
                        said,
                        len(on.creates),
                        len(on.failures),
                        len(off.failures),
                        f'{on.longest_post_s:.1f}',
                        f'{off.longest_post_s:.1f}',
                        f'{on.longest_volume_s:.0f}',
                        f'{off.longest_volume_s:.0f}',
                        f'{on.longest_door_s("api"):.1f}',
                        f'{on.longest_door_s("scheduler"):.1f}',
                        _at_home(on),
                    )
                )


if __name__ == '__main__':
    sys.exit(main())
