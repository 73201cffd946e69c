# SPDX-License-Identifier: Apache-2.0

"""tests/release.sh runs each step once for each state of the code."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import fixtures
import testtools

TESTS = pathlib.Path(__file__).resolve().parents[1]

#: In place of tests/run.sh: the real one takes hours.
PARTS = """#!/bin/bash
echo "$*" >>"$RUNS"
[ ! -e "$RUNS.hangs" ] || { echo hangs >>"$RUNS"; sleep 60; echo no; }
[ ! -e "$RUNS.changes" ] || echo >>"$(cat "$RUNS.changes")"
[ ! -e "$RUNS.unstable" ] || cat "$RUNS.unstable"
printf '1 passed, 0 failed,\\t0 "skipped"\\n'
[ ! -e "$RUNS.fails-$1" ]
"""
#: In place of what changes the machine.
MACHINE = """#!/bin/bash
echo "${0##*/} $*${CINDER_TIERS_RELEASES:+ in $CINDER_TIERS_RELEASES}" \\
    >>"$RUNS.machine"
"""
UNSTABLE = """\
UNSTABLE unit: passed when run again:
setUpClass (tests.unit.test_a.ATestCase): AssertionError: late
tests.unit.test_a.BTestCase.test_it: AssertionError: late
UNSTABLE contract: passed when run again:
tests.contract.test_c.CTestCase.test_it: AssertionError: 1 passed, late
"""


class ReleaseTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.tree = self.folder / 'tree'
        for folder in ('tests/long', 'doc/source/contributor'):
            self.tree.joinpath(folder).mkdir(parents=True)
        for name in ('release.sh', 'processes.sh'):
            script = self.tree / 'tests' / name
            script.write_text(TESTS.joinpath(name).read_text())
            script.chmod(0o755)
        self.tree.joinpath('.gitignore').write_text('.tox/\n')
        for name, text in {
            'tests/run.sh': PARTS,
            '.ci/run': MACHINE,
            'devstack/lab.sh': MACHINE,
            'devstack/release.sh': MACHINE,
            'tests/packages/run.sh': MACHINE,
            'code.py': '',
            'tests/long/test_a.py': '',
            'tests/long/test_b.py': '',
            'tests/long/guests.py': '',
        }.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.runs = self.folder / 'runs'
        self.runs.touch()
        self.git('init', '-q')
        self.commit('begin')

    def git(self, *arguments):
        subprocess.run(
            ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *arguments],
            cwd=self.tree,
            check=True,
            capture_output=True,
        )

    def commit(self, subject):
        self.git('add', '-A')
        self.git('commit', '-q', '-m', subject)

    def release(self, *arguments):
        return subprocess.run(
            [self.tree / 'tests' / 'release.sh', *arguments],
            env={
                **os.environ,
                'RUNS': str(self.runs),
                'CINDER_TIERS_DEVSTACK_MIRRORS': '',
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    def ran(self):
        return self.runs.read_text().split()

    def changed(self):
        """Calls of programs that change the machine, one each."""
        return self.folder.joinpath('runs.machine').read_text().splitlines()

    def row(self, step):
        table = self.release('--status').stdout.splitlines()
        [row] = [row for row in table if row.startswith(f'{step},')]
        return row

    def test_what_passed_does_not_run_again_until_the_code_changes(self):
        self.assertIn('"not run"', self.row('ceph18'))
        for _ in range(2):
            done = self.release('ceph18', 'tempest')
            self.assertEqual((0, ''), (done.returncode, done.stderr))
            self.assertEqual(['ceph18', 'tempest'], self.ran())
        self.assertIn(',"passed",', self.row('ceph18'))
        self.assertIn(
            ',"1 passed, 0 failed,0 ""skipped"""', self.row('ceph18')
        )

        self.tree.joinpath('doc', 'page.rst').write_text('Words\n')
        self.commit('doc: add a page')
        self.release('ceph18')
        self.assertEqual(['ceph18', 'tempest'], self.ran())

        self.assertEqual(0, self.release('long-a', 'long-b').returncode)
        self.tree.joinpath('tests/long/test_a.py').write_text('pass\n')
        self.commit('tests: mend a')
        self.assertIn('"passed, of other code"', self.row('long-a'))
        for step in ('long-b', 'ceph18'):
            self.assertIn(',"passed",', self.row(step))
        self.runs.write_text('ceph18 tempest ')

        self.tree.joinpath('code.py').write_text('pass\n')
        self.commit('code: add it')
        self.assertIn('"passed, of other code"', self.row('ceph18'))
        self.release('ceph18')
        self.assertEqual(['ceph18', 'tempest', 'ceph18'], self.ran())

    def test_a_worktree_is_refused(self):
        tree = self.folder / 'beside'
        self.git('worktree', 'add', str(tree))
        self.tree = tree
        done = self.release('ceph18')
        self.assertEqual(1, done.returncode)
        self.assertIn('run it in a clone', done.stderr)
        self.assertEqual([], self.ran())

    def test_the_last_line_is_that_of_the_tests(self):
        parts = self.tree.joinpath('tests/run.sh')
        parts.write_text(
            parts.read_text().replace('[ ! -e', 'echo emptied\n[ ! -e')
        )
        self.commit('tests: say more')
        self.release('ceph18')
        self.assertIn('1 passed, 0 failed,0', self.row('ceph18'))

    def test_the_documentation_belongs_to_the_steps_that_use_it(self):
        steps = ('ci', 'packages-debian', 'ceph18')
        self.assertEqual(0, self.release(*steps).returncode)
        self.release('--table')
        self.commit('doc: add the table')
        for step in steps:
            self.assertIn(',"passed",', self.row(step))
        self.tree.joinpath('doc', 'page.rst').write_text('Words\n')
        self.commit('doc: add a page')
        self.assertIn(',"passed",', self.row('ceph18'))
        for step in ('ci', 'packages-debian'):
            self.assertIn(',"passed, of other code",', self.row(step))

    def test_a_step_while_files_change_is_not_noted(self):
        self.release('--table')
        self.commit('doc: add the table')
        changes = self.folder / 'runs.changes'
        changes.write_text('code.py')
        done = self.release('ceph18', 'tempest')
        self.assertEqual(1, done.returncode)
        self.assertIn('files changed during ceph18', done.stderr)
        self.assertEqual(['ceph18'], self.ran())
        self.assertIn('"not run"', self.row('ceph18'))

        self.git('checkout', 'code.py')
        changes.write_text('doc/source/contributor/release.csv')
        # The table is changed before the second, and after both.
        for step in ('ceph18', 'ceph20'):
            done = self.release(step)
            self.assertEqual((0, ''), (done.returncode, done.stderr))

    def test_what_passed_only_when_run_again_is_named(self):
        self.folder.joinpath('runs.unstable').write_text(UNSTABLE)
        self.assertEqual(0, self.release('ceph18').returncode)
        self.assertIn(',"passed",', self.row('ceph18'))
        self.assertTrue(
            self.row('ceph18').endswith(
                'failed,0 ""skipped""; unstable: '
                'setUpClass (tests.unit.test_a.ATestCase), '
                'tests.unit.test_a.BTestCase.test_it, '
                'tests.contract.test_c.CTestCase.test_it"'
            ),
            self.row('ceph18'),
        )

    def test_what_begins_from_nothing_is_in_a_new_system(self):
        packages = ('wheel-bookworm', 'wheel-trixie', 'debian', 'container')
        done = self.release(
            'demo-trixie', *(f'packages-{name}' for name in packages)
        )
        self.assertEqual(0, done.returncode, done.stderr)
        systems = 'in /var/lib/cinder-tiers-release-systems'
        uses = [
            ('trixie', 'devstack/lab.sh demo'),
            ('bookworm', 'tests/packages/run.sh wheel'),
            ('trixie', 'tests/packages/run.sh wheel'),
            ('trixie', 'tests/packages/run.sh debian'),
        ]
        self.assertEqual(
            [
                f'release.sh {release} {what} {systems}'
                for release, command in uses
                for what in ('--remove', command)
            ],
            [one for one in self.changed() if one.startswith('release.sh')],
        )

    def test_no_lab_of_another_step_is_used(self):
        self.release('long-a', 'long-b', 'tempest')
        first, second = 'tests/long/test_a.py', 'tests/long/test_b.py'
        self.assertEqual([first, second, 'tempest'], self.ran())
        destroy = 'lab.sh destroy --keep-downloads'
        self.assertEqual([destroy] * 2, self.changed())

    def test_a_test_begins_from_a_lab_in_which_none_has_failed(self):
        self.tree.joinpath('tests', 'run.sh').write_text(
            '#!/bin/sh\necho "$1" >>"$RUNS.machine"; [ "$1" = "${1%a.py}" ]\n'
        )
        self.commit('tests: fail')
        self.release('long-b', 'long-a', 'ceph18')
        self.release('long-a')
        destroy = 'lab.sh destroy --keep-downloads'
        first, second = 'tests/long/test_a.py', 'tests/long/test_b.py'
        self.assertEqual(
            [destroy, second, first, 'ceph18', destroy, first],
            self.changed(),
        )

    def test_a_test_that_passed_at_its_second_try_is_one_that_failed(self):
        self.folder.joinpath('runs.unstable').write_text(UNSTABLE)
        self.assertEqual(0, self.release('long-a', 'long-b').returncode)
        self.assertEqual(
            ['lab.sh destroy --keep-downloads'] * 2, self.changed()
        )

    def test_each_file_of_long_tests_is_a_step(self):
        rows = self.release('--status').stdout.splitlines()
        self.assertEqual(
            ['long-a', 'long-b'],
            [row.split(',')[0] for row in rows if row.startswith('long')],
        )

    def test_without_mirrors_of_devstack_nothing_begins(self):
        for steps in ([], ['ceph18', 'devstack']):
            done = self.release(*steps)
            self.assertEqual(2, done.returncode)
            self.assertIn('CINDER_TIERS_DEVSTACK_MIRRORS', done.stderr)
        self.assertEqual([], self.ran())

    def test_each_release_of_cinder_is_tried_on_each_python(self):
        self.tree.joinpath('tests', 'run.sh').write_text(
            '#!/bin/sh\necho "$1" $CINDER_TIERS_TEST_CELLS >>"$RUNS"\n'
        )
        self.commit('tests: show the cells')
        self.release('cinder26')
        cells = [f'cinder26-py{python}' for python in ('311', '312', '313')]
        self.assertEqual(['releases', *cells], self.ran())

    def test_what_failed_is_named_and_runs_again(self):
        fails = self.folder / 'runs.fails-ceph18'
        fails.touch()
        done = self.release('ceph18', 'tempest')
        self.assertEqual(1, done.returncode)
        self.assertIn('"failed (1)"', self.row('ceph18'))
        self.assertIn('"passed"', self.row('tempest'))
        fails.unlink()
        self.assertEqual(0, self.release('ceph18', 'tempest').returncode)
        self.assertEqual(['ceph18', 'tempest', 'ceph18'], self.ran())

    def test_the_table_says_by_status_whether_all_passed(self):
        self.release('ceph18')
        done = self.release('--table')
        self.assertEqual((1, ''), (done.returncode, done.stdout))
        self.assertEqual(self.release('--status').stdout, self.table())

    def table(self):
        return self.tree.joinpath(
            'doc', 'source', 'contributor', 'release.csv'
        ).read_text()

    def test_another_machine_continues_with_the_table_that_is_committed(self):
        self.release('ceph18')
        self.release('--table')
        before = self.table()
        self.commit('doc: add the table')
        shutil.rmtree(self.tree / '.tox')
        self.release('--table')
        self.assertEqual(before, self.table())
        self.release('ceph18', 'tempest')
        self.assertEqual(['ceph18', 'tempest'], self.ran())

        self.tree.joinpath('code.py').write_text('pass\n')
        self.commit('code: add it')
        shutil.rmtree(self.tree / '.tox')
        self.assertIn('"passed, of other code"', self.row('ceph18'))
        self.release('ceph18')
        self.assertEqual(['ceph18', 'tempest', 'ceph18'], self.ran())

    def test_what_passed_elsewhere_is_not_hidden_by_what_ran_here(self):
        tox, here = self.tree / '.tox', self.tree / '.tox' / 'here'
        fails = self.folder / 'runs.fails-ceph20'
        fails.touch()
        self.release('ceph18', 'ceph20')
        fails.unlink()
        self.tree.joinpath('code.py').write_text('pass\n')
        self.commit('code: change it')

        tox.joinpath('release').rename(here)
        self.release('ceph18', 'ceph20')
        self.release('--table')
        elsewhere = self.table()
        self.commit('doc: add the table')
        shutil.rmtree(tox / 'release')
        here.rename(tox / 'release')
        self.assertEqual(elsewhere, self.release('--status').stdout)
        self.assertIn(',"passed",', self.row('ceph20'))

        self.tree.joinpath('code.py').write_text('')
        self.commit('code: change it back')
        self.assertIn(',"passed",', self.row('ceph18'))
        self.assertIn(',"failed (1)",', self.row('ceph20'))

    def test_changes_must_be_committed(self):
        self.tree.joinpath('tests', 'run.sh').write_text('#!/bin/bash\n')
        done = self.release('ceph18')
        self.assertEqual(1, done.returncode)
        self.assertIn('M tests/run.sh', done.stderr)
        self.assertEqual([], self.ran())

    def test_an_interrupted_step_ends_and_is_not_noted(self):
        self.folder.joinpath('runs.hangs').touch()
        with subprocess.Popen(
            [self.tree / 'tests' / 'release.sh', 'ceph18'],
            env={**os.environ, 'RUNS': str(self.runs)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            while 'hangs' not in self.ran():
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(143, process.wait(timeout=30))
        self.assertEqual(['ceph18', 'hangs'], self.ran())
        self.assertIn('"not run"', self.row('ceph18'))

    def test_a_wrong_argument_runs_nothing(self):
        for wrong in (['lnog'], ['--table', 'a'], ['--status', 'ceph18']):
            done = self.release(*wrong)
            self.assertEqual(2, done.returncode, wrong)
        self.assertEqual([], self.ran())
