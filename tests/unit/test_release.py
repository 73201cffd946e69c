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
printf '1 passed, 0 failed,\\t0 "skipped"\\n'
[ ! -e "$RUNS.fails-$1" ]
"""


class ReleaseTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.tree = self.folder / 'tree'
        for folder in ('tests', 'doc/source/contributor'):
            self.tree.joinpath(folder).mkdir(parents=True)
        for name in ('release.sh', 'processes.sh'):
            script = self.tree / 'tests' / name
            script.write_text(TESTS.joinpath(name).read_text())
            script.chmod(0o755)
        self.tree.joinpath('.gitignore').write_text('.tox/\n')
        parts = self.tree / 'tests' / 'run.sh'
        parts.write_text(PARTS)
        parts.chmod(0o755)
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
            env={**os.environ, 'RUNS': str(self.runs)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def ran(self):
        return self.runs.read_text().split()

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

        self.tree.joinpath('code.py').write_text('pass\n')
        self.commit('code: add it')
        self.assertIn('"passed, of other code"', self.row('ceph18'))
        self.release('ceph18')
        self.assertEqual(['ceph18', 'tempest', 'ceph18'], self.ran())

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
