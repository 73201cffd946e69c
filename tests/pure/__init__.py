# SPDX-License-Identifier: Apache-2.0

"""The tests of tox -e pure: stestr looks for tests in one folder only.

Those of ``domain`` and ``figures``, and of each pure file of ``loop`` (see
pyproject.toml) the one at the same path below tests/unit, unless it looks at
that file through others that need more. Run as a program, it writes a regular
expression of them all, for which tests/run.sh asks.
"""

import pathlib
import re
import tomllib
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ('domain', 'figures')
# Tests of pure files that draw a page, run the shell or read a tiers file.
NEED_MORE = (
    'tests.unit.loop.recommend.test_ordered',
    'tests.unit.loop.report.',
    'tests.unit.loop.sweep.test_file_faults',
)


def tests_of_rooms():
    """Modules that test a pure file of a room."""
    with open(TOP / 'pyproject.toml', 'rb') as text:
        globs = tomllib.load(text)['tool']['cinder-tiers']['pure']
    for glob in globs:
        path = pathlib.PurePath(glob)
        if path.parts[:2] == ('cinder_tiers', 'loop'):
            test = pathlib.PurePath(
                'tests', 'unit', *path.parts[1:-1], f'test_{path.name}'
            )
            module = '.'.join(test.with_suffix('').parts)
            if (TOP / test).exists() and not module.startswith(NEED_MORE):
                yield module


def load_tests(loader, tests, pattern):
    """What unittest, and so stestr, calls to find the tests of this folder."""
    for folder in FOLDERS:
        # A loader keeps the top of what it discovered first.
        tests.addTests(
            unittest.TestLoader().discover(
                str(TOP / 'tests' / 'unit' / folder), top_level_dir=str(TOP)
            )
        )
    tests.addTests(loader.loadTestsFromNames(tests_of_rooms()))
    return tests


def regex():
    """Of the ids of these tests, and of no others in tests/unit."""
    names = (*(f'tests.unit.{each}' for each in FOLDERS), *tests_of_rooms())
    return f'^({"|".join(map(re.escape, names))})\\.'


if __name__ == '__main__':
    print(regex())
