# SPDX-License-Identifier: Apache-2.0

"""What failed of rally-openstack's samples is judged by the doors' part."""

import json
import pathlib
import subprocess
import sys

import fixtures
import testtools

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / 'rally_samples.py'


class JudgeTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.known = self.folder / 'known.yaml'
        self.known.write_text('{}')

    def have(self, doors, **results):
        """Results of a pass: {subtask: why it failed, or empty}."""
        self.folder.joinpath(f'{doors}.json').write_text(json.dumps(results))

    def ask(self, *command):
        """The exit status and the lines."""
        done = subprocess.run(
            [sys.executable, str(SCRIPT), *command, 'lab', 'samples', '.'],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        self.assertEqual('', done.stderr)
        return done.returncode, [
            line for line in done.stdout.splitlines() if line
        ]

    def judge(self):
        return self.ask('judge', '--known', str(self.known))

    def test_a_failure_with_the_doors_alone_is_theirs(self):
        self.have('on', a='', b='no room')
        self.have('off', b='')
        self.known.write_text('b: it is known')
        status, lines = self.judge()
        self.assertEqual(1, status)
        self.assertEqual(
            [
                'failed: b',
                '  known: it is known',
                '  doors on: no room',
                '  doors off: passed',
                '  worse with the doors',
                '1 passed, 1 failed, 0 skipped',
            ],
            lines,
        )

    def test_a_failure_without_the_doors_too_must_be_known(self):
        self.have('on', a='', b='no room')
        self.have('off', b='no room')
        status, lines = self.judge()
        self.assertEqual(1, status)
        self.assertIn('  is no known failure', lines)
        self.known.write_text('b: it is known')
        status, lines = self.judge()
        self.assertEqual(0, status)
        self.assertEqual('1 passed, 0 failed, 1 skipped', lines[-1])

    def test_if_none_passed_it_proves_nothing(self):
        self.have('on', a='no room')
        self.have('off', a='no room')
        self.known.write_text('a: it is known')
        self.assertEqual(1, self.judge()[0])

    def test_what_failed_is_to_be_run_again(self):
        self.have('on', a='')
        self.assertEqual(1, self.ask('failed')[0])
        self.have('on', a='', b='no room')
        self.assertEqual(0, self.ask('failed')[0])
