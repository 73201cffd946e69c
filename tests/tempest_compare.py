# SPDX-License-Identifier: Apache-2.0

"""Compares the last stestr runs of two folders, for tests/tempest.sh.

Prints what passed, failed and was skipped in each, and each failure. The exit
status is 1 when a test that does not fail in the first run fails in the
second, or did not run there, and when a test fails that is no known failure.
With --without-doors, a run of our own tests with the doors closed: each must
fail that is not listed. The last line has the counts of the last run as
tests/run.sh reads them; a known failure is one of the skipped tests. Run it
with a Python that has stestr and PyYAML.
"""

import argparse
import collections
import dataclasses
import pathlib
import sys

import yaml

import tally

LONGEST_MESSAGE = 400


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """The last run of a folder.

    :param name: of the folder
    :param outcomes: {name of a test: passed, failed or skipped}
    :param messages: {name of a test that failed: why, in a line}
    """

    name: str
    outcomes: dict[str, str]
    messages: dict[str, str]

    def names(self, outcome: str) -> set[str]:
        """The tests with an outcome."""
        return {
            test for test, found in self.outcomes.items() if found == outcome
        }


def name_of(test: dict) -> str:
    """The name of a test without the attributes that Tempest adds.

    :param test: see ``tally.tests_of``
    """
    return test['id'].partition('[')[0]


def message_of(test: dict) -> str:
    """Why a test failed: the last lines of its traceback, as one.

    :param test: see ``tally.tests_of``
    """
    text = '\n'.join(
        content.as_text().strip()
        for name, content in sorted(test['details'].items())
        if name.startswith(('traceback', 'reason'))
    )
    # What was raised is not indented, and may go on for some lines.
    lines = [line.strip() for line in text.splitlines()]
    raised = [
        number
        for number, line in enumerate(lines)
        if line.partition(':')[0].endswith(
            (
                'Error',
                'Exception',
                'Mismatch',
                'NotFound',
                'Forbidden',
                'BadRequest',
                'Conflict',
                'Fault',
                'Unauthorized',
            )
        )
    ]
    last = lines[raised[-1] :] if raised else lines[-1:]
    return ' '.join(last)[:LONGEST_MESSAGE] or test['status']


def read(folder: pathlib.Path) -> Run:
    """The last run of a folder; a run without tests when it has none.

    :param folder: that holds .stestr/
    """
    latest = tally.latest_run(str(folder))
    tests = (
        [] if latest == tally.NO_RUN else tally.tests_of(str(folder), latest)
    )
    return Run(
        name=folder.name,
        outcomes={
            name_of(test): tally.OUTCOMES[test['status']] for test in tests
        },
        messages={
            name_of(test): message_of(test)
            for test in tests
            if tally.OUTCOMES[test['status']] == 'failed'
        },
    )


def worse(before: Run, after: Run) -> set[str]:
    """The tests that fail or do not run only in the later run."""
    return after.names('failed') - before.names('failed') | before.names(
        'passed'
    ) - after.names('passed')


def report(runs: list[Run], known: dict[str, str]) -> list[str]:
    """Lines with the counts of runs, and what failed in them.

    :param runs: one, or two that are compared
    :param known: {name of a test that fails: cause}
    """
    lines = [f'{"doors":8}{"passed":>8}{"failed":>8}{"skipped":>8}']
    for run in runs:
        counts = collections.Counter(run.outcomes.values())
        lines.append(
            f'{run.name:8}'
            + ''.join(
                f'{counts[outcome]:8}'
                for outcome in ('passed', 'failed', 'skipped')
            )
        )
    for test in sorted(set().union(*(run.messages for run in runs))):
        where = [run.name for run in runs if test in run.messages]
        lines.append(f'\nfailed, doors {" and ".join(where)}: {test}')
        if test in known:
            lines.append(f'  known: {known[test]}')
        lines += [
            f'  {run.name}: {run.messages[test]}'
            for run in runs
            if test in run.messages
        ]
    for test in sorted(
        set(known) & set.intersection(*(run.names('passed') for run in runs))
    ):
        lines.append(f'\nknown to fail, and passed: {test}')
    return lines


def prove_nothing(run: Run, known: dict[str, str]) -> int:
    """Print which tests pass without the doors; the exit status.

    :param run: of our own tests, with the doors closed
    :param known: {name of a test that may pass: why}
    """
    failed = {
        test
        for test in run.names('failed')
        # Of these no test ran, or not to its end: they say nothing of a door.
        if not test.startswith(('setUpClass', 'tearDownClass'))
        and run.messages[test] not in tally.OUTCOMES
    }
    broken = run.names('failed') - failed
    wrong = run.names('passed') - set(known) | broken
    for test in sorted(broken):
        print(f'was not tried: {test}\n  {run.messages[test]}')
    for test in sorted(run.names('passed')):
        print(f'passed without the doors: {test}')
        print(f'  {known.get(test, "is not listed: what does it prove?")}')
    for test in sorted(failed):
        print(f'failed without the doors: {test}\n  {run.messages[test]}')
    for test in sorted(set(known) & failed):
        print(f'listed, and failed: {test}')
    passed = len(failed)
    skipped = len(set(run.outcomes) - failed - wrong)
    print(f'\n{passed} passed, {len(wrong)} failed, {skipped} skipped')
    return 1 if wrong or not passed else 0


def counts_line(run: Run, wrong: set[str]) -> str:
    """The line that tests/run.sh adds up.

    :param run: the last one
    :param wrong: its tests that tell against it, those that did not run too
    """
    passed = len(run.names('passed') - wrong)
    skipped = len((run.names('skipped') | run.names('failed')) - wrong)
    return f'{passed} passed, {len(wrong)} failed, {skipped} skipped'


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    lists = arguments.add_mutually_exclusive_group(required=True)
    lists.add_argument(
        '--known',
        type=pathlib.Path,
        action='append',
        help='YAML file: {name of a test that fails: cause}; or several',
    )
    lists.add_argument(
        '--without-doors',
        type=pathlib.Path,
        action='append',
        help='YAML file: {name of a test that passes without them: why}',
    )
    arguments.add_argument(
        'folders',
        type=pathlib.Path,
        nargs='+',
        metavar='folder',
        help='one or two',
    )
    options = arguments.parse_args()
    if len(options.folders) > 2:
        arguments.error('more than two folders')
    known: dict[str, str] = {}
    for listed in options.known or options.without_doors:
        known |= yaml.safe_load(listed.read_text()) or {}
    runs = [read(folder) for folder in options.folders]
    if options.without_doors:
        return prove_nothing(runs[-1], known)
    for line in report(runs, known):
        print(line)
    empty = [run.name for run in runs if not run.names('passed')]
    if empty:
        print(f'\nno test passed, doors {" and ".join(empty)}')
        return 1
    last = runs[-1]
    found = worse(runs[0], last) if len(runs) == 2 else set()
    for test in sorted(found):
        print(
            f'\nworse, doors {last.name}: {test}: '
            f'{last.outcomes.get(test, "did not run")}'
        )
    unlisted = last.names('failed') - set(known) - found
    for test in sorted(unlisted):
        print(f'\nfailed, and is no known failure: {test}')
    wrong = found | unlisted
    if not wrong:
        print(
            f'\ndoors {last.name}: '
            + (
                'every test that passes without the doors passes'
                if len(runs) == 2
                else 'no failure that is not known'
            )
        )
    print(f'\n{counts_line(last, wrong)}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
