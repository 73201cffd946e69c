# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Counts the tests of the last stestr run, for tests/run.sh.

The counts come from stestr's own repository, not from anybody's output. Run
it with a Python that has stestr, from the folder that holds .stestr/.
"""

import argparse
import collections
import sys

from stestr.repository import abstract
from stestr.repository import file as file_repository
import testtools

NO_RUN = -1

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


def count(repository_url, run_id):
    """Count the tests of one run by outcome.

    :param repository_url: path of the folder that holds .stestr/
    :param run_id: number of the run
    :returns: {'passed' | 'failed' | 'skipped': number of tests}
    :raises KeyError: the repository has no such run
    """
    counts = collections.Counter()

    def add(test):
        # 'exists' only announces a test.
        if test['status'] != 'exists':
            counts[OUTCOMES[test['status']]] += 1

    repository = file_repository.RepositoryFactory().open(repository_url)
    result = testtools.StreamToDict(add)
    result.startTestRun()
    try:
        repository.get_test_run(run_id).get_test().run(result)
    finally:
        result.stopTestRun()
    return counts


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest='command', required=True)
    commands.add_parser('latest', help='print the number of the last run')
    since = commands.add_parser(
        'since', help='print passed, failed and skipped of a newer run')
    since.add_argument('run', type=int, help='what "latest" printed before')
    options = parser.parse_args(arguments)

    latest = latest_run('.')
    if options.command == 'latest':
        print(latest)
        return
    counts = collections.Counter()
    if latest > options.run:
        counts = count('.', latest)
    print(counts['passed'], counts['failed'], counts['skipped'])


if __name__ == '__main__':
    main(sys.argv[1:])
