# SPDX-License-Identifier: Apache-2.0

"""The test command counts what really ran, and names what failed."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import ddt
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


UNSTABLE = """
import os
import unittest


def fails_once(name):
    if not os.path.exists(name):
        open(name, 'w').close()
        raise AssertionError(f'{name} came late')


class ClassTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fails_once('class')

    def test_one(self):
        pass

    def test_other(self):
        pass


class SampleTestCase(unittest.TestCase):
    def test_passes(self):
        pass

    def test_unstable(self):
        fails_once('answer')
"""
BROKEN = """
import unittest


class BrokenTestCase(unittest.TestCase):
    def test_broken(self):
        open('tries', 'a').write('*')
        self.fail('as it must')
"""

# In place of tox and of lab.sh, neither of which is tested here.
TOX = """#!/bin/sh
echo "tox $3 ${{TESTS_DIR-}}" >>called
repository=.tox/$3
[ "$3" = py3 ] && repository=.
mkdir -p "$repository"
shift 3
[ "${{1-}}" = -- ] && shift
exec {python} -m stestr --repo-url "$repository" \\
    --test-path "${{TESTS_DIR:-./tests}}" run --serial "$@"
"""
LAB = """#!/bin/sh
[ "$1" = status ] || echo "lab.sh $1" >>called
"""
# Up at its second try, or at none.
SLOW_LAB = """#!/bin/sh
[ "$1" = status ] || echo "lab.sh $1" >>called
[ "$1" = up ] || exit 0
echo "mariadb: no answer within 180 s, try $(grep -c up called)"
[ "$(grep -c up called)" = {tries} ]
"""
TEST = """
import unittest


class SampleTestCase(unittest.TestCase):
    def test_it(self):
        pass

    def test_it_not(self):
        pass

    def test_of_ddt_1_a(self):
        pass


class OtherTestCase(SampleTestCase):
    pass
"""
FILES = (
    'unit/test_a',
    'unit/cli/deep/test_b',
    'unit/cli/test_b',
    'unit/cli/test_b_more',
    'unit/domain/test_c',
    'contract/test_d',
    'functional/test_e',
    'hours/test_f',
    'cinder_own/test_scheduler',
)


@ddt.ddt
class SelectedTestCase(testtools.TestCase):
    """The real script, in a tree of few tests."""

    def setUp(self):
        super().setUp()
        self.tree = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name in FILES:
            self.add(f'tests/{name}.py', TEST)
            for folder in pathlib.Path('tests', name).parents:
                self.add(f'{folder}/__init__.py', '')
        self.add('tests/unit/cli/shell.py', TEST)
        self.add('tests/cases/plan.yaml', '')
        for script in (RUN, RUN.with_name('processes.sh'), TALLY):
            self.tree.joinpath('tests', script.name).symlink_to(script)
        [needs] = re.findall(
            r'(?m)^readonly RUNNER_NEEDS=\((.*)\)$', RUN.read_text()
        )
        self.add('.tox/runner/installed', ' '.join(shlex.split(needs)))
        self.add('.tox/runner/bin/tox', TOX.format(python=sys.executable))
        self.add(
            '.tox/runner/bin/python', f'#!/bin/sh\nexec {sys.executable} "$@"'
        )
        self.add('.tox/runner/bin/bindep', '#!/bin/sh\necho bindep >>called\n')
        self.add('devstack/lab.sh', LAB)

    def add(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_sh(self, *arguments):
        """The end of tests/run.sh, and what it called of tox and the lab."""
        done = subprocess.run(
            [str(self.tree / 'tests' / 'run.sh'), *arguments],
            capture_output=True,
            text=True,
            env=os.environ | {'CINDER_TIERS_LAB': str(self.tree / 'lab')},
        )
        called = self.tree / 'called'
        lines = called.read_text().splitlines() if called.exists() else []
        return done, [line.strip() for line in lines]

    @ddt.data(
        ('tests/unit/cli/test_b.py', 6, 'tox py3 ./tests/unit/cli'),
        ('tests.unit.cli.test_b', 6, 'tox py3 ./tests/unit/cli'),
        ('tests/unit/cli/', 18, 'tox py3 ./tests/unit/cli'),
        (
            'tests.unit.test_a.SampleTestCase',
            3,
            'tox py3 ./tests/unit',
        ),
        (
            'tests.unit.test_a.SampleTestCase.test_it',
            1,
            'tox py3 ./tests/unit',
        ),
        (
            'tests.unit.test_a.OtherTestCase.test_of_ddt',
            1,
            'tox py3 ./tests/unit',
        ),
    )
    @ddt.unpack
    def test_the_tests_that_are_named_run(self, argument, count, call):
        done, called = self.run_sh(argument)
        self.assertEqual(
            f'{count} passed, 0 failed, 0 skipped',
            done.stdout.splitlines()[-1],
            done.stdout + done.stderr,
        )
        self.assertEqual(0, done.returncode)
        self.assertEqual(['bindep', call], called)

    def test_a_pure_one_needs_no_package_of_the_distribution(self):
        done, called = self.run_sh(
            str(self.tree / 'tests/unit/domain/test_c.py')
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertEqual(['tox pure'], called)

    def test_beside_the_pure_part_unit_runs_no_test_of_it(self):
        pure = RUN.with_name('pure') / '__init__.py'
        self.add('tests/pure/__init__.py', pure.read_text())
        self.add(
            'pyproject.toml',
            '[tool.cinder-tiers]\npure = ["cinder_tiers/loop/fault/fault.py"]',
        )
        for name in ('fault', 'fault_command'):
            self.add(f'tests/unit/loop/fault/test_{name}.py', TEST)
        for folder in ('figures', 'loop', 'loop/fault'):
            self.add(f'tests/unit/{folder}/__init__.py', '')
        done, _called = self.run_sh('unit', 'pure')
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        ran = {
            part: (self.tree / f'.tox/results/{part}.log').read_text()
            for part in ('unit', 'pure')
        }
        for module, parts in (
            ('loop.fault.test_fault', ['pure']),
            ('domain.test_c', ['pure']),
            ('loop.fault.test_fault_command', ['unit', 'pure']),
        ):
            self.assertEqual(
                parts,
                [part for part in ran if f'{module}.S' in ran[part]],
                module,
            )

    def test_several_run_once_for_each_part_and_the_lab_is_brought_up(self):
        done, called = self.run_sh(
            'tests.unit.cli.deep',
            'tests/unit/cli/test_b.py',
            'tests/unit/cli/test_b.py',
            'tests.unit.domain',
            'tests.functional.test_e.SampleTestCase.test_it',
        )
        self.assertEqual(
            '19 passed, 0 failed, 0 skipped',
            done.stdout.splitlines()[-1],
            done.stdout,
        )
        self.assertEqual(
            [
                'bindep',
                'lab.sh down',
                'lab.sh up',
                'tox functional',
                'tox pure',
                'tox py3 ./tests/unit/cli',
            ],
            sorted(called),
        )

    def test_a_lab_that_is_not_up_in_time_is_brought_up_again(self):
        self.add('devstack/lab.sh', SLOW_LAB.format(tries=2))
        done, called = self.run_sh('tests/functional/test_e.py')
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertIn('s, once more\nmariadb: no answer', done.stdout)
        self.assertEqual(2, called.count('lab.sh up'))

    def test_a_lab_of_an_earlier_run_that_does_not_come_up_is_made_anew(self):
        self.add('lab/lab.json', '{}')
        self.add('devstack/lab.sh', SLOW_LAB.format(tries=2))
        done, called = self.run_sh('tests/functional/test_e.py')
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertEqual(
            ['lab.sh up', 'lab.sh destroy', 'lab.sh up', 'lab.sh down'],
            [call for call in called if call.startswith('lab.sh')],
        )

    def test_the_reason_why_no_lab_came_up_is_behind_what_failed(self):
        self.add('devstack/lab.sh', SLOW_LAB.format(tries='none'))
        done, called = self.run_sh('tests/functional/test_e.py')
        self.assertEqual(1, done.returncode)
        self.assertEqual(2, called.count('lab.sh up'))
        self.assertEqual(
            [
                'FAILED functional: none ran, devstack/lab.sh up: status 1',
                'mariadb: no answer within 180 s, try 1',
                'mariadb: no answer within 180 s, try 2',
                '0 passed, 0 failed, 0 skipped',
            ],
            done.stdout.splitlines()[-4:],
        )

    def test_a_part_that_is_named_too_runs_as_a_whole(self):
        done, called = self.run_sh(
            'tests/unit/cli', 'unit', 'tests/cinder_own'
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertEqual(
            ['bindep', 'tox cinder-tests', 'tox py3'], sorted(called)
        )

    @ddt.data(
        'release',
        '',
        'README.rst',
        'tests',
        'tests/cases',
        'tests/hours/test_f.py',
        'tests/unit/test_none.py',
        'tests/unit/cli/shell.py',
        'tests.unit.test_a.NoTestCase',
        'tests.unit.test_a.SampleTestCase.test_none',
        'tests.cinder_own.test_scheduler.SampleTestCase',
    )
    def test_what_is_neither_a_part_nor_has_tests_is_refused(self, wrong):
        done, called = self.run_sh('style', wrong)
        self.assertEqual((2, '', []), (done.returncode, done.stdout, called))
        self.assertIn(f"'{wrong}' is neither", done.stderr)
        self.assertIn('\nexpected: ', done.stderr)

    def test_what_passes_when_run_again_is_named_and_counts_as_passed(self):
        self.add('tests/unit/test_a.py', UNSTABLE)
        done, called = self.run_sh('tests/unit/test_a.py')
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(
            [
                'UNSTABLE unit: passed when run again:',
                'setUpClass (tests.unit.test_a.ClassTestCase): '
                'AssertionError: class came late',
                'tests.unit.test_a.SampleTestCase.test_unstable: '
                'AssertionError: answer came late',
                '4 passed, 0 failed, 0 skipped',
            ],
            done.stdout.splitlines()[-4:],
        )
        self.assertEqual(['bindep', *['tox py3 ./tests/unit'] * 2], called)

    def test_what_passes_when_run_again_in_another_debian_is_named(self):
        lines = [
            'UNSTABLE contract: passed when run again:',
            'tests.contract.test_d.SampleTestCase.test_it: Error: 1 passed,',
            '2 passed, 0 failed, 0 skipped',
        ]
        self.add(
            'devstack/release.sh',
            "#!/bin/sh\ncat <<'END'\nbegins\n" + '\n'.join(lines) + '\nEND\n',
        )
        done, _ = self.run_sh('ceph18')
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(lines, done.stdout.splitlines()[-3:])

    def test_what_fails_again_has_failed(self):
        self.add('tests/unit/test_a.py', UNSTABLE)
        self.add('tests/unit/test_b.py', BROKEN)
        done, _ = self.run_sh('tests/unit/test_a.py', 'tests/unit/test_b.py')
        self.assertEqual(1, done.returncode)
        self.assertEqual('**', (self.tree / 'tries').read_text())
        self.assertIn('FAILED unit: 1 of its tests:\n', done.stdout)
        self.assertIn('UNSTABLE unit: ', done.stdout)
        self.assertEqual(
            '4 passed, 1 failed, 0 skipped', done.stdout.splitlines()[-1]
        )

    def test_many_failures_are_no_accident(self):
        for name in 'abcd':
            self.add(f'tests/unit/broken/test_{name}.py', BROKEN)
        self.add('tests/unit/broken/__init__.py', '')
        done, _ = self.run_sh('tests/unit/broken')
        self.assertEqual(1, done.returncode)
        self.assertEqual('****', (self.tree / 'tries').read_text())
        self.assertEqual(
            '0 passed, 4 failed, 0 skipped', done.stdout.splitlines()[-1]
        )

    def test_an_empty_argument_is_not_all_parts(self):
        done, called = self.run_sh('')
        self.assertEqual((2, []), (done.returncode, called))
