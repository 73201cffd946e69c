# SPDX-License-Identifier: Apache-2.0

"""Counts the tests of the last stestr runs, for tests/run.sh.

Of a test that ran again, the last outcome counts. The counts come from
stestr's own repository, not from anybody's output. Run it with a Python that
has stestr.
"""

import argparse
import collections
from collections.abc import Iterator
import datetime
import itertools
import pathlib
import re
import sys

from stestr.repository import abstract
from stestr.repository import file as file_repository
import testtools

NO_RUN = -1
#: More failed tests than that are no accident.
MOST_REPEATED = 3
# Whoever has only the end of a log must find every name in it.
LONGEST_REASON = 600
MOST_NAMED = 20
MOST_SLOWEST = 10
#: What is shown of a failed test: its last lines.
MOST_DETAILED = 10
TRACEBACK_LINES = 40
OTHER_LINES = 20
LONGEST_LINE = 400
FRAME = (' ', '"')
NO_REASON = 'left no reason: its process died, see the end of the log'

# As unittest names it where setUpClass or tearDownClass raises.
FIXTURE = re.compile(r'(?:setUp|tearDown)Class \((.+)\)')

# testtools' StreamToDict gives a test that was started and never ended (its
# worker died) the status 'inprogress', or 'unknown' when even less is known.
OUTCOMES = {
    'success': 'passed',
    'xfail': 'passed',
    'fail': 'failed',
    'uxsuccess': 'failed',
    'inprogress': 'failed',
    'unknown': 'failed',
    'skip': 'skipped',
}


def latest_run(repository_url: str) -> int:
    """Number of the last run.

    :param repository_url: path of the folder that holds .stestr/
    :returns: NO_RUN when there is none
    """
    try:
        repository = file_repository.RepositoryFactory().open(repository_url)
        return repository.latest_id()
    except (abstract.RepositoryNotFound, KeyError):
        return NO_RUN


def mark_of(repository_url: str, run_id: int) -> str:
    """What tells a run from all others, also from those of before.

    tox may have removed the repository, whose numbers then begin anew.

    :param repository_url: path of the folder that holds .stestr/
    :param run_id: number of the run, or NO_RUN
    """
    if run_id == NO_RUN:
        return 'none'
    file = pathlib.Path(repository_url, '.stestr', str(run_id))
    return f'{run_id}-{file.stat().st_mtime_ns}'


def tests_of(repository_url: str, run_id: int) -> list[dict]:
    """Every test of a run, as testtools' StreamToDict describes it.

    :param repository_url: path of the folder that holds .stestr/
    :param run_id: number of the run
    :returns: with "id", "status" (a key of OUTCOMES), "tags", "timestamps"
        and "details"
    :raises KeyError: the repository has no such run
    """
    found = []
    repository = file_repository.RepositoryFactory().open(repository_url)
    result = testtools.StreamToDict(found.append)
    result.startTestRun()
    try:
        repository.get_test_run(run_id).get_test().run(result)
    finally:
        result.stopTestRun()
    # 'exists' only announces a test.
    return [test for test in found if test['status'] != 'exists']


def runs_since(repository_url: str, mark: str) -> list[list[dict]]:
    """The tests of each run behind a marked one, the oldest first.

    :param repository_url: path of the folder that holds .stestr/
    :param mark: of ``mark_of``; of a run that is gone, all are behind it
    """
    found: list[list[dict]] = []
    for run_id in range(latest_run(repository_url), NO_RUN, -1):
        if mark_of(repository_url, run_id) == mark:
            break
        found.insert(0, tests_of(repository_url, run_id))
    return found


def merged(runs: list[list[dict]]) -> list[dict]:
    """The tests of several runs, each with its last outcome.

    A fixture of a class that failed has no outcome of its own when the tests
    of the class run again.

    :param runs: the oldest first
    """
    last = {
        test['id']: test
        for number, tests in enumerate(runs, 1)
        for test in tests
        if number == len(runs) or not FIXTURE.fullmatch(test['id'])
    }
    return list(last.values())


def is_failed(test: dict) -> bool:
    """Whether a test has failed.

    :param test: see ``tests_of``
    """
    return OUTCOMES[test['status']] == 'failed'


def failed_first(runs: list[list[dict]]) -> list[dict]:
    """The tests that failed in the first of several runs, and not at last.

    :param runs: the oldest first
    """
    still = {test['id'] for test in merged(runs) if is_failed(test)}
    return [test for test in merged(runs[:1]) if test['id'] not in still]


def to_repeat(tests: list[dict]) -> list[str]:
    """Regular expressions of the failed tests, to run them again.

    :param tests: see ``tests_of``
    :returns: nothing where more than MOST_REPEATED failed, or where a process
        died, whose other tests did not run
    """
    failed = list(filter(is_failed, tests))
    if len(failed) > MOST_REPEATED or any(
        test['status'] in ('inprogress', 'unknown') for test in failed
    ):
        return []
    return [
        f'^{re.escape(match[1])}\\.'
        if (match := FIXTURE.fullmatch(test['id']))
        else f'^{re.escape(test["id"])}$'
        for test in failed
    ]


def failed_tests(tests: list[dict]) -> Iterator[str]:
    """Which tests failed, in a line each, with the end of the reason.

    :param tests: see ``tests_of``
    :returns: lines; of more than MOST_NAMED tests the last says how many
    """
    failed = list(filter(is_failed, tests))
    for test in failed[:MOST_NAMED]:
        reasons = [
            content.as_text().strip()
            for name, content in sorted(test['details'].items())
            if name.startswith(('traceback', 'reason'))
        ]
        # What comes behind the last frame is the message, of any length.
        message = ''.join(reasons[-1:]).rpartition('\n  File ')[2]
        end = ' '.join(
            itertools.chain.from_iterable(
                line.split()
                for line in itertools.dropwhile(
                    lambda line: line.startswith(FRAME), message.splitlines()
                )
            )
        )
        silent = 'uxsuccess' if test['status'] == 'uxsuccess' else NO_REASON
        yield f'{test["id"]}: {end[-LONGEST_REASON:] or silent}'
    if len(failed) > MOST_NAMED:
        yield f'and {len(failed) - MOST_NAMED} more'


def details_of_failed(tests: list[dict]) -> Iterator[str]:
    """What the first MOST_DETAILED failed tests left, the end of each part.

    :param tests: see ``tests_of``
    :returns: lines; no traceback has more than TRACEBACK_LINES of them, and
        nothing else, such as a log, more than OTHER_LINES
    """
    failed = list(filter(is_failed, tests))
    for test in failed[:MOST_DETAILED]:
        yield f'-- {test["id"]}'
        for name, content in sorted(test['details'].items()):
            if content.content_type.type != 'text':
                continue
            lines = content.as_text().strip().splitlines()
            most = (
                TRACEBACK_LINES
                if name.startswith('traceback')
                else OTHER_LINES
            )
            if len(lines) > most:
                name += f', the last {most} of {len(lines)} lines'
            if lines:
                yield f'{name}:'
            for line in lines[-most:]:
                yield f'  {line[:LONGEST_LINE]}'


def slowest(tests: list[dict]) -> list[tuple[float, str]]:
    """(seconds, what) of the slowest tests and of the time between them.

    Between two tests of a worker its classes are torn down and set up.

    :param tests: see ``tests_of``
    :returns: MOST_SLOWEST pairs, or fewer; the slowest first
    """
    took = []
    ended: dict[frozenset[str], datetime.datetime] = {}
    for test in sorted(
        (test for test in tests if None not in test['timestamps']),
        key=lambda test: test['timestamps'][0],
    ):
        begin, end = test['timestamps']
        took.append(((end - begin).total_seconds(), test['id']))
        worker = frozenset(test['tags'])
        if worker in ended:
            took.append(
                (
                    (begin - ended[worker]).total_seconds(),
                    f'between tests, before {test["id"]}',
                )
            )
        ended[worker] = end
    return sorted(took, reverse=True)[:MOST_SLOWEST]


def main(arguments: list[str]) -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest='command', required=True)
    for name, what in (
        ('latest', 'a mark of the last run'),
        ('counts', 'how many passed, failed and were skipped since a run'),
        ('failures', 'what failed since a run, a line each'),
        ('details', 'what the failed tests left'),
        ('again', 'regular expressions of a few failed tests, or nothing'),
        ('unstable', 'what failed first and passed in the last run'),
        ('slowest', 'the slowest tests since a run'),
    ):
        command = commands.add_parser(name, help=f'print {what}')
        command.add_argument('repository', help='folder that has .stestr')
        if name != 'latest':
            command.add_argument('run', help='what "latest" printed before')
        if name == 'slowest':
            command.add_argument('part', help='is printed in each line')
    options = parser.parse_args(arguments)

    if options.command == 'latest':
        print(mark_of(options.repository, latest_run(options.repository)))
        return
    runs = runs_since(options.repository, options.run)
    tests = merged(runs)
    if options.command == 'counts':
        counts = collections.Counter(
            OUTCOMES[test['status']] for test in tests
        )
        print(counts['passed'], counts['failed'], counts['skipped'])
    elif options.command == 'slowest':
        for seconds, what in slowest(tests):
            print(f'{seconds:7.1f} s  {options.part}: {what}')
    else:
        lines = {
            'failures': failed_tests,
            'details': details_of_failed,
            'again': to_repeat,
            'unstable': lambda _: failed_tests(failed_first(runs)),
        }[options.command]
        for line in lines(tests):
            print(line)


if __name__ == '__main__':
    main(sys.argv[1:])
