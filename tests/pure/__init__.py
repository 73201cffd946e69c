# SPDX-License-Identifier: Apache-2.0

"""The tests of tox -e pure: stestr looks for tests in one folder only."""

import pathlib
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


def load_tests(loader, tests, pattern):
    """What unittest, and so stestr, calls to find the tests of this folder."""
    for folder in ('domain', 'bench'):
        # A loader keeps the top of what it discovered first.
        tests.addTests(
            unittest.TestLoader().discover(
                str(TOP / 'tests' / 'unit' / folder), top_level_dir=str(TOP)
            )
        )
    return tests
