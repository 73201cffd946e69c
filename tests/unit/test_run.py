# SPDX-License-Identifier: Apache-2.0

"""The test command counts what really ran, and names what failed."""

import pathlib
import re
import subprocess
import sys

import fixtures
import testtools

TALLY = pathlib.Path(__file__).resolve().parents[1] / 'tally.py'
RUN = TALLY.with_name('run.sh')

SAMPLE = """
import os
import signal
import unittest

from testtools import content
import testtools


class SampleTestCase(testtools.TestCase):

    def test_passes(self):
        pass

    def test_fails(self):
        self.addDetail('log', content.text_content(
            '\\n'.join(f'line {n}' for n in range(1000))))
        self.fail('as it must')

    @unittest.skip('no')
    def test_is_skipped(self):
        pass

    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_succeeds_unexpectedly(self):
        pass


class SlowTestCase(testtools.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import time
        time.sleep(0.5)

    def test_is_killed_at_its_end(self):
        os.kill(os.getpid(), signal.SIGKILL)
"""
ID = 'test_sample.SampleTestCase.test_'


class TallyTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def tally(self, command, *arguments):
        done = subprocess.run(
            [
                sys.executable,
                str(TALLY),
                command,
                str(self.folder),
                *arguments,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return done.stdout.strip()

    def test_every_outcome_is_counted_once_and_what_failed_is_named(self):
        self.assertEqual('none', self.tally('latest'))
        self.assertEqual('0 0 0', self.tally('counts', 'none'))
        self.folder.joinpath('.stestr.conf').write_text(
            '[DEFAULT]\ntest_path=./\n'
        )
        self.folder.joinpath('test_sample.py').write_text(SAMPLE)
        for more in (('SampleTest',), ('--combine', 'SlowTest')):
            subprocess.run(
                [sys.executable, '-m', 'stestr', 'run', '--serial', *more],
                cwd=self.folder,
                capture_output=True,
            )
        self.assertEqual('2 3 1', self.tally('counts', 'none'))
        last = self.tally('latest')
        self.assertEqual('0 0 0', self.tally('counts', last))
        # The repository begins anew, with the same numbers.
        self.assertEqual('2 3 1', self.tally('counts', f'{last}0'))
        self.assertEqual(
            [
                f'{ID}fails: AssertionError: as it must',
                f'{ID}succeeds_unexpectedly: uxsuccess',
                'test_sample.SlowTestCase.test_is_killed_at_its_end: left no '
                'reason: its process died, see the end of the log',
            ],
            sorted(self.tally('failures', 'none').splitlines()),
        )
        details = self.tally('details', 'none').splitlines()
        self.assertIn('  line 999', details)
        self.assertNotIn('  line 979', details)
        seconds, what = self.tally('slowest', 'none', 'unit').split(' s  ', 1)
        self.assertGreater(float(seconds), 0.5)
        self.assertIn('unit: between tests, before test_sample.Slow', what)


class PartsTestCase(testtools.TestCase):
    def run_sh(self, *arguments):
        return subprocess.run(
            [str(RUN), *arguments], capture_output=True, text=True
        )

    def test_what_is_too_long_for_each_change_is_a_part_and_not_of_all(self):
        usage = self.run_sh('-h')
        self.assertEqual(0, usage.returncode)
        [taken] = re.findall(r'(?s)\n        all\)\n(.*?);;', RUN.read_text())
        for part in ('long', 'tempest', 'releases'):
            self.assertRegex(usage.stdout, rf'(?m)^  {part} ')
            self.assertNotIn(part, taken)

    def test_an_unknown_part_is_refused_before_anything_is_installed(self):
        done = self.run_sh('releases', 'release')
        self.assertEqual((2, ''), (done.returncode, done.stdout))
        self.assertIn("'release'", done.stderr)
