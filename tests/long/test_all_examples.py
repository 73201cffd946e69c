# SPDX-License-Identifier: Apache-2.0

"""Properties of the unit tests that are expensive, with all their examples.

They are others each time: the CI of a change tries a share, and the same each
time. They need no lab.
"""

import os
import pathlib
import re
import subprocess
import sys

import ddt
import testtools

import tests

TOP = pathlib.Path(__file__).resolve().parents[2]
#: What modules say that try a share of what there is to try.
OF_SHARES = re.compile(r'\btests\.(?:examples|share|draws)\(|@.*\bgiven\(')
MODULES = sorted(
    '.'.join(path.relative_to(TOP).with_suffix('').parts)
    for path in (TOP / 'tests' / 'unit').rglob('test_*.py')
    if OF_SHARES.search(path.read_text('utf-8'))
)


@ddt.ddt
class AllExamplesTest(testtools.TestCase):
    @ddt.data(*MODULES)
    def test_they_hold(self, module):
        done = subprocess.run(
            [sys.executable, '-m', 'testtools.run', module],
            cwd=TOP,
            env={
                **{
                    name: value
                    for name, value in os.environ.items()
                    if name != 'CI'
                },
                tests.ALL_EXAMPLES: '1',
            },
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_there_are_some(self):
        self.assertGreater(len(MODULES), 3)
