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

"""The test command counts what really ran, and refuses what it cannot do."""

import pathlib
import subprocess
import sys

import ddt
import fixtures
import testtools

from tests.cinder_own import took_part

TOP = pathlib.Path(__file__).resolve().parents[2]
TALLY = TOP / 'tests' / 'tally.py'

SAMPLE = '''
import unittest


class SampleTestCase(unittest.TestCase):

    def test_passes(self):
        pass

    def test_passes_too(self):
        pass

    def test_fails(self):
        self.fail()

    def test_is_in_error(self):
        raise OSError

    @unittest.skip('no')
    def test_is_skipped(self):
        pass

    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_succeeds_unexpectedly(self):
        pass
'''

KILLED = '''
import os
import signal
import unittest


class KilledTestCase(unittest.TestCase):

    def test_ends_its_worker(self):
        os.kill(os.getpid(), signal.SIGKILL)
'''


class TallyTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.folder.joinpath('.stestr.conf').write_text(
            '[DEFAULT]\ntest_path=./\n')

    def run_here(self, *arguments):
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.folder,
            capture_output=True, text=True)

    def tally(self, *arguments):
        done = self.run_here(str(TALLY), *arguments)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return done.stdout.strip()

    def run_tests(self, name, text, *arguments):
        self.folder.joinpath(name).write_text(text)
        return self.run_here('-m', 'stestr', 'run', *arguments)

    def test_before_the_first_run_there_is_nothing(self):
        self.assertEqual('-1', self.tally('latest'))
        self.assertEqual('0 0 0', self.tally('since', '-1'))

    def test_every_outcome_is_counted_once(self):
        self.run_tests('test_sample.py', SAMPLE)
        self.assertEqual('0', self.tally('latest'))
        self.assertEqual('3 3 1', self.tally('since', '-1'))

    def test_a_run_that_is_not_newer_does_not_count(self):
        self.run_tests('test_sample.py', SAMPLE)
        self.assertEqual('0 0 0', self.tally('since', '0'))

    def test_a_combined_run_counts_both(self):
        self.run_tests('test_sample.py', SAMPLE, 'test_passes$')
        self.run_tests('test_sample.py', SAMPLE, '--combine',
                       'test_passes_too$')
        self.assertEqual('2 0 0', self.tally('since', '-1'))

    def test_a_test_whose_worker_dies_has_failed(self):
        self.run_tests('test_killed.py', KILLED)
        self.assertEqual('0 1 0', self.tally('since', '-1'))
        self.assertIn('test_killed.', self.tally('failures', '-1'))

    def test_what_failed_is_named_with_the_end_of_its_reason(self):
        self.run_tests('test_sample.py', SAMPLE)
        told = self.tally('failures', '-1').splitlines()
        sample = 'test_sample.SampleTestCase.'
        self.assertEqual(
            [f'{sample}test_fails: AssertionError: None',
             f'{sample}test_is_in_error: OSError',
             f'{sample}test_succeeds_unexpectedly: uxsuccess'],
            sorted(told))
        self.assertEqual('', self.tally('failures', '0'))


class TookPartTestCase(testtools.TestCase):
    """A run of Cinder's tests in which ours had no say proves nothing."""

    ASKED = ('DEBUG [cinder.scheduler.base_filter] Filter '
             'AvailabilityZoneFilter returned 2 host(s)\n'
             'DEBUG [cinder.scheduler.base_filter] Filter '
             'CapacityFilter returned 2 host(s)\n'
             'DEBUG [cinder.scheduler.base_filter] Filter '
             'CapabilitiesFilter returned 2 host(s)\n'
             'DEBUG [cinder.scheduler.base_weight] Weigher '
             'CapacityWeigher returned, weigher value is {}\n')
    OURS = ('DEBUG [cinder.scheduler.base_filter] Filter '
            'TierFilter returned 2 host(s)\n'
            'DEBUG [cinder.scheduler.base_weight] Weigher '
            'TierWeigher returned, weigher value is {}\n')

    def test_ours_wherever_the_defaults_were_is_no_problem(self):
        self.assertEqual([], took_part.problems_of(
            {'schedules': self.ASKED + self.OURS, 'does not': ''}))

    def test_zones_that_outlive_the_database_of_a_test_are_no_problem(self):
        said = (' WARNING [cinder_tiers.doors.backend_zones] The availability '
                'zones of backends could not be asked for ({}, request None)')
        for error, count in (('DBNonExistentTable', 0), ('Timeout', 1)):
            self.assertEqual(count, len(took_part.problems_of(
                {'t': self.ASKED + self.OURS + said.format(error)})))

    def test_a_test_in_which_ours_were_left_out_is_named(self):
        self.assertEqual(
            ['out: TierFilter did not run', 'out: TierWeigher did not run'],
            took_part.problems_of(
                {'out': self.ASKED, 'schedules': self.ASKED + self.OURS}))

    def test_no_logs_are_no_proof(self):
        first, second = took_part.problems_of({'silent': ''})
        self.assertIn('was OS_DEBUG=1 set?', first)
        self.assertIn('was OS_DEBUG=1 set?', second)

    def test_what_ours_caught_is_a_problem(self):
        caught = ('2026-11-21 12:00:00,000 ERROR [cinder_tiers.doors.door] '
                  'No tier could be told\n')
        problem, = took_part.problems_of(
            {'hidden': self.ASKED + self.OURS + caught})
        self.assertEqual('hidden: ERROR [cinder_tiers.doors.door] No tier '
                         'could be told', problem)


@ddt.ddt
class RunTestCase(testtools.TestCase):

    def run_it(self, command, *arguments):
        return subprocess.run(
            [str(TOP / command), *arguments], stdin=subprocess.DEVNULL,
            capture_output=True, text=True)

    @ddt.data('tests/run.sh', '.ci/run')
    def test_help_tells_every_part(self, command):
        done = self.run_it(command, '-h')
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        for part in ('style', 'unit', 'pure', 'docs', 'cinder', 'functional',
                     'all'):
            self.assertIn(f'\n  {part} ', done.stdout)

    @ddt.data('tests/run.sh', '.ci/run')
    def test_an_unknown_part_is_refused_before_anything_is_done(self, command):
        done = self.run_it(command, 'style', 'styel')
        self.assertEqual((2, ''), (done.returncode, done.stdout))
        self.assertIn("no part is called 'styel'", done.stderr)
