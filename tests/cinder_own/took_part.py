# SPDX-License-Identifier: Apache-2.0

"""Says in how many of Cinder's own tests our filter and weigher had a say.

A run in which they were not asked passes, and so does one in which they fail:
what they raise is caught at the door. Both show in the logs of the tests of
the last stestr run, which Cinder keeps when OS_DEBUG is 1. Run this with a
Python that has stestr, and the folder that holds .stestr/ as the argument.
"""

import re
import sys

from stestr.repository import file as file_repository
import testtools

# (Cinder's default classes, ours that must have run wherever they all did)
DEFAULTS = (
    (
        {'AvailabilityZoneFilter', 'CapacityFilter', 'CapabilitiesFilter'},
        'TierFilter',
    ),
    (
        {
            'AvailabilityZoneFilter',
            'CapacityFilter',
            'CapabilitiesFilter',
            'CapacityWeigher',
        },
        'TierWeigher',
    ),
)
# One line for each class that Cinder's handlers ran.
RAN = re.compile(r'\b(?:Filter|Weigher) (\w+) returned')
# A background thread reads availability zones from the database and, by RPC,
# from cinder-scheduler. In these tests no scheduler runs, and mocks replace
# the database for moments only, so that the read may fail in any way.
OUR_TROUBLE = re.compile(
    r' (?:WARNING|ERROR|CRITICAL) \[cinder_tiers\b'
    r'(?!\.doors\.volume_types\.backend_zones\] The availability zones of '
    r'backends could not be read \().*'
)


def read_logs(repository_url):
    """The logs of Cinder's tests in the last run: {id of a test: text}.

    A run that was combined of two has each test twice, and so has the answer;
    the id of the other one ends with " again".

    :param repository_url: path of the folder that holds .stestr/
    :raises stestr.repository.abstract.RepositoryNotFound: there is none
    :raises KeyError: it holds no run
    """
    logs = {}

    def add(test):
        if test['id'].startswith('cinder.'):
            name = test['id']
            while name in logs:
                name += ' again'
            logs[name] = '\n'.join(
                detail.as_text()
                for name, detail in test['details'].items()
                if name.startswith('pythonlogging')
            )

    repository = file_repository.RepositoryFactory().open(repository_url)
    result = testtools.StreamToDict(add)
    result.startTestRun()
    try:
        repository.get_test_run(repository.latest_id()).get_test().run(result)
    finally:
        result.stopTestRun()
    return logs


def compare(logs):
    """Where Cinder's defaults ran, and where ours did.

    :param logs: {id of a test: text of its log}
    :returns: {name of a class of ours: (tests in which it should have run,
        tests in which it ran)}
    """
    ran = {test: set(RAN.findall(log)) for test, log in logs.items()}
    return {
        ours: (
            {test for test, classes in ran.items() if defaults <= classes},
            {test for test, classes in ran.items() if ours in classes},
        )
        for defaults, ours in DEFAULTS
    }


def problems_of(logs):
    """What must not be, one sentence each.

    :param logs: {id of a test: text of its log}
    """
    problems = []
    for ours, (expected, found) in compare(logs).items():
        if not expected:
            problems.append(
                f'{ours}: the defaults beside it ran in no test; '
                'was OS_DEBUG=1 set?'
            )
        problems += [
            f'{test}: {ours} did not run' for test in sorted(expected - found)
        ]
    problems += [
        f'{test}:{trouble}'
        for test, log in sorted(logs.items())
        for trouble in OUR_TROUBLE.findall(log)
    ]
    return problems


def main(repository_url):
    logs = read_logs(repository_url)
    for ours, (expected, found) in compare(logs).items():
        print(
            f'{ours} ran in {len(found)} of {len(logs)} tests of Cinder, '
            f'the defaults beside it in {len(expected)}',
            flush=True,
        )
    sys.exit('\n'.join(problems_of(logs)) or None)


if __name__ == '__main__':
    main(sys.argv[1])
