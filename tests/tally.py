# SPDX-License-Identifier: Apache-2.0

"""Counts the tests of the last stestr run, for tests/run.sh.

The counts come from stestr's own repository, not from anybody's output. Run
it with a Python that has stestr, from the folder that holds .stestr/.
"""

import argparse
import collections
from collections.abc import Iterator
import itertools
import sys

from stestr.repository import abstract
from stestr.repository import file as file_repository
import testtools

NO_RUN = -1
# Who has only the end of a log must find every name in it.
LONGEST_REASON = 600
MOST_NAMED = 20
FRAME = (' ', '"')

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


def latest_run(repository_url):
    """Number of the last run.

    :param repository_url: path of the folder that holds .stestr/
    :returns: a number that grows with each run; NO_RUN when there is none
    """
    try:
        repository = file_repository.RepositoryFactory().open(repository_url)
        return repository.latest_id()
    except (abstract.RepositoryNotFound, KeyError):
        return NO_RUN


def tests_of(repository_url, run_id) -> list[dict]:
    """Every test of a run, as testtools' StreamToDict describes it.

    :param repository_url: path of the folder that holds .stestr/
    :param run_id: number of the run
    :returns: with "id", "status" (a key of OUTCOMES) and "details"
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


def failed_tests(tests: list[dict]) -> Iterator[str]:
    """Which tests failed, in a line each, with the end of the reason.

    The whole reasons are in the log of the run.

    :param tests: see ``tests_of``
    :returns: lines; of more than MOST_NAMED tests the last says how many
    """
    failed = [test for test in tests if OUTCOMES[test['status']] == 'failed']
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
        yield f'{test["id"]}: {end[-LONGEST_REASON:] or test["status"]}'
    if len(failed) > MOST_NAMED:
        yield f'and {len(failed) - MOST_NAMED} more'


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest='command', required=True)
    commands.add_parser('latest', help='print the number of the last run')
    for name, what in (
        ('since', 'passed, failed and skipped'),
        ('failures', 'what failed, a line each'),
    ):
        newer = commands.add_parser(name, help=f'print {what} since a run')
        newer.add_argument('run', type=int, help='what "latest" printed then')
    options = parser.parse_args(arguments)

    latest = latest_run('.')
    if options.command == 'latest':
        print(latest)
        return
    tests = tests_of('.', latest) if latest > options.run else []
    if options.command == 'failures':
        for line in failed_tests(tests):
            print(line)
        return
    counts = collections.Counter(OUTCOMES[test['status']] for test in tests)
    print(counts['passed'], counts['failed'], counts['skipped'])


if __name__ == '__main__':
    main(sys.argv[1:])
