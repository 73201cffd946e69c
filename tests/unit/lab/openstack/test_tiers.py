# SPDX-License-Identifier: Apache-2.0
"""The lab's file is applied to whatever a test left behind."""

import json
import pathlib
import tempfile

import testtools

from lab.host import commands
from lab import layout
from lab.openstack import tiers

#: Stands for the command of an operator: `plan` prints a file and ends with
#: the status in another one, `apply` keeps its arguments.
PROGRAM = """#!/bin/sh
case "$2" in
plan) cat {folder}/plan.json; exit $(cat {folder}/status);;
apply) shift 2; printf '%s\\n' "$@" > {folder}/applied;;
esac
"""
MARKER = (
    'a volume type archive without the ownership marker (tiers:name) exists'
)


def row(name, *, reason=None, allow=None):
    return {'Object': name, 'Reason': reason, 'Allow': allow}


class ApplyTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.lab = layout.load_or_create(self.folder / 'lab', {})
        program = self.lab.venv / 'bin' / 'openstack'
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(PROGRAM.format(folder=self.folder))
        program.chmod(0o700)

    def applied(self, status, *rows):
        """What `tier apply` gets after a plan."""
        (self.folder / 'plan.json').write_text(json.dumps(rows))
        (self.folder / 'status').write_text(str(status))
        tiers.apply(self.lab)
        return (self.folder / 'applied').read_text().split('\n')[:-1]

    def test_a_type_that_lost_its_marker_is_taken_over(self):
        self.assertEqual(
            ['--allow', 'volume type archive'],
            self.applied(
                5,
                row('volume type new'),
                row(
                    'volume type archive',
                    reason=MARKER,
                    allow='volume type archive',
                ),
            ),
        )

    def test_nothing_else_is_allowed(self):
        for status, rows in (
            (0, []),
            (4, [row('pool a (ceph)')]),
            (5, [row('pool a', reason='it moves data', allow='pool a')]),
            (5, [row('volume type a', reason=MARKER)]),
        ):
            self.assertEqual([''], self.applied(status, *rows))

    def test_a_plan_that_failed_is_told(self):
        self.assertRaises(commands.CommandFailed, self.applied, 1)
