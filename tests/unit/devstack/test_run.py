# SPDX-License-Identifier: Apache-2.0

"""tests/devstack/run.sh: what of it runs without a container.

Its parts are sourced and called in bash, with real git repositories and real
processes; the run as a whole is its own test.
"""

import os
import pathlib
import shutil
import subprocess

import fixtures
import testtools

TREE = pathlib.Path(__file__).resolve().parents[3]
SCRIPTS = TREE / 'tests/devstack'
PROJECTS = (
    'cinder',
    'devstack',
    'devstack-plugin-ceph',
    'glance',
    'keystone',
    'neutron',
    'nova',
    'placement',
    'requirements',
    'tempest',
)
# What run.sh sets before it sources them.
SOURCED = """
set -u -o pipefail
keep= HERE=$SCRIPTS
. "$SCRIPTS/../processes.sh"
. "$SCRIPTS/../../devstack/machine.sh"
. "$SCRIPTS/container.sh"
. "$SCRIPTS/tree.sh"
"""


class RunTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        for name in ('bash', 'git'):
            if shutil.which(name) is None:
                self.skipTest(f'{name} is not installed (bindep.txt)')
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.state = self.folder / 'state'
        self.mirrors = self.folder / 'mirrors'
        self.mirrors.mkdir()

    def environment(self, **settings):
        return {
            'PATH': os.environ['PATH'],
            'HOME': str(self.folder),
            'GIT_AUTHOR_NAME': 'any',
            'GIT_AUTHOR_EMAIL': 'any@localhost',
            'GIT_COMMITTER_NAME': 'any',
            'GIT_COMMITTER_EMAIL': 'any@localhost',
            'CINDER_TIERS_DEVSTACK': str(self.state),
            **settings,
        }

    def run_script(self, *arguments, script=SCRIPTS / 'run.sh', **settings):
        return subprocess.run(
            ['bash', script, *arguments],
            env=self.environment(**settings),
            capture_output=True,
            text=True,
            timeout=60,
        )

    def call(self, script):
        """Runs a script that has sourced the parts of run.sh."""
        self.state.mkdir(exist_ok=True)
        return subprocess.run(
            ['bash', '-c', SOURCED + script],
            env=self.environment(
                SCRIPTS=str(SCRIPTS),
                STATE=str(self.state),
                MIRRORS=str(self.mirrors),
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def git(self, *arguments, folder):
        done = subprocess.run(
            ['git', *arguments],
            cwd=folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout.strip()

    def make_repository(self, path, bare=True, branch='master'):
        path.mkdir(parents=True)
        self.git('init', '-q', '-b', branch, folder=path)
        (path / 'tracked').write_text('before')
        self.git('add', '--all', folder=path)
        self.git('commit', '-q', '-m', 'first', folder=path)
        if bare:
            for one in list(path.iterdir()):
                if one.name != '.git':
                    one.unlink()
            for one in list((path / '.git').iterdir()):
                one.rename(path / one.name)
            (path / '.git').rmdir()
            self.git('config', 'core.bare', 'true', folder=path)


class ArgumentsTestCase(RunTestCase):
    def test_help_says_what_it_does_and_needs(self):
        for option in ('-h', '--help'):
            done = self.run_script(option)
            self.assertEqual(0, done.returncode)
            for text in (
                'stack again',
                'STAND-IN',
                'CINDER_TIERS_DEVSTACK_MIRRORS',
                'examples:',
                'exit status:',
                *PROJECTS,
            ):
                self.assertIn(text, done.stdout)
        self.assertFalse(self.state.exists())

    def test_a_wrong_argument_is_named(self):
        for arguments, text in (
            (['unstack'], "'unstack'"),
            (['--fast'], "'--fast'"),
            (['stop', 'clean'], 'stop and clean'),
            (['--keep', 'clean'], '--keep is not for clean'),
        ):
            done = self.run_script(*arguments)
            self.assertEqual(2, done.returncode, arguments)
            self.assertIn(text, done.stderr)
        self.assertFalse(self.state.exists())

    def test_a_folder_with_other_files_is_left_alone(self):
        self.state.mkdir()
        (self.state / 'of-someone').write_text('else')
        for arguments in ([], ['clean'], ['stop'], ['enter']):
            done = self.run_script(*arguments)
            self.assertEqual(1, done.returncode, arguments)
            self.assertEqual(
                ['of-someone'], [one.name for one in self.state.iterdir()]
            )

    def test_another_user_than_root_is_refused(self):
        if os.geteuid() == 0:
            self.skipTest('the user is root')
        done = self.run_script()
        self.assertEqual(1, done.returncode)
        self.assertIn('expected 0', done.stderr)
        self.assertFalse(self.state.exists())

    def test_without_mirrors_it_says_so_and_starts_nothing(self):
        if os.geteuid() != 0:
            self.skipTest('the user is not root')
        done = self.run_script()
        self.assertEqual(2, done.returncode)
        self.assertIn('CINDER_TIERS_DEVSTACK_MIRRORS is not set', done.stderr)
        self.assertEqual([], list((self.state / 'logs').iterdir()))

    def test_clean_removes_what_it_made_and_can_be_repeated(self):
        if os.geteuid() != 0:
            self.skipTest('the user is not root')
        self.run_script()
        self.assertTrue(self.state.exists())
        for _ in range(2):
            self.assertEqual(0, self.run_script('clean').returncode)
            self.assertFalse(self.state.exists())


class MirrorsTestCase(RunTestCase):
    def test_each_layout_is_found(self):
        layouts = (
            '{}.git',
            'openstack/{}.git',
            'openstack+{}/repo',
            '{}',
            'openstack/{}',
        )
        for number, project in enumerate(PROJECTS):
            self.make_repository(
                self.mirrors / layouts[number % 5].format(project),
                bare=number < 7,
            )
        done = self.call('check_mirrors && tree_key')
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(PROJECTS) + 1, len(lines))
        for project, line in zip(PROJECTS, lines[:-1], strict=True):
            self.assertRegex(line, f'^{project} [0-9a-f]{{40}}$')

    def test_all_that_is_missing_is_said_at_once(self):
        for project in PROJECTS[2:]:
            self.make_repository(self.mirrors / f'{project}.git')
        self.make_repository(self.mirrors / 'cinder.git', branch='main')
        done = self.call('check_mirrors')
        self.assertEqual(1, done.returncode)
        self.assertIn(
            f'cinder: no branch master in {self.mirrors}/cinder.git',
            done.stdout,
        )
        self.assertIn('devstack: no git repository', done.stdout)
        self.assertIn('openstack/PROJECT.git', done.stdout)

    def test_another_commit_asks_for_another_tree(self):
        for project in PROJECTS:
            self.make_repository(self.mirrors / project, bare=False)
        before = self.call('tree_key').stdout
        self.assertEqual(before, self.call('tree_key').stdout)
        self.git(
            'commit', '-q', '--allow-empty', '-m', 'second',
            folder=self.mirrors / 'nova',
        )  # fmt: skip
        self.assertNotEqual(before, self.call('tree_key').stdout)


class CheckoutTestCase(RunTestCase):
    def test_uncommitted_changes_are_in_it_and_the_checkout_stays(self):
        checkout = self.folder / 'checkout'
        self.make_repository(checkout, bare=False, branch='topic')
        (checkout / '.gitignore').write_text('ignored\n')
        (checkout / 'tracked').write_text('after')
        (checkout / 'new').write_text('new')
        (checkout / 'ignored').write_text('of the user')
        before = self.git('status', '--short', folder=checkout)
        repository = self.folder / 'published'
        done = self.call(f'publish_checkout {checkout} {repository}')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(
            before, self.git('status', '--short', folder=checkout)
        )
        clone = self.folder / 'clone'
        self.git(
            'clone', '-q', '-b', 'main', repository, clone, folder='/'
        )  # fmt: skip
        self.assertEqual('after', (clone / 'tracked').read_text())
        self.assertEqual('new', (clone / 'new').read_text())
        self.assertFalse((clone / 'ignored').exists())


class ProcessesTestCase(RunTestCase):
    def test_a_process_is_ended_by_its_id(self):
        done = self.call("""
            sleep 60 >/dev/null & pid=$!
            remember one "$pid"
            [[ $(remembered one) == "$pid" ]] || exit 3
            end_process one
            wait "$pid"
            [[ $? == 137 ]] || exit 4
            ! remembered one || exit 5
            [[ ! -e $STATE/one.pid ]]
        """)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_another_process_with_that_id_is_left_alone(self):
        done = self.call("""
            sleep 60 >/dev/null & pid=$!
            echo "$pid 1" >"$STATE/one.pid"
            ! remembered one || exit 3
            end_process one
            kill -0 "$pid" || exit 4
            kill "$pid"
            [[ ! -e $STATE/one.pid ]]
        """)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_what_was_never_started_can_be_stopped(self):
        done = self.call('stop_container && power_off')
        self.assertEqual(0, done.returncode, done.stderr)

    def test_without_a_container_no_command_runs_in_it(self):
        done = self.call('inside touch "$STATE/ran"')
        self.assertNotEqual(0, done.returncode)
        self.assertFalse((self.state / 'ran').exists())


class StandInTestCase(RunTestCase):
    def test_the_stand_in_of_cephadm_says_what_it_is(self):
        script = SCRIPTS / 'inside/cephadm-stand-in.sh'
        done = self.run_script('--image', 'any', 'ls', script=script)
        self.assertEqual((0, '[]\n'), (done.returncode, done.stdout))
        self.assertIn('STAND-IN', done.stderr)

    def test_it_refuses_what_it_does_not_know(self):
        script = SCRIPTS / 'inside/cephadm-stand-in.sh'
        for arguments in (
            ['deploy'],
            ['shell', '--', 'ceph', 'orch', 'apply', 'rgw'],
        ):
            done = self.run_script(*arguments, script=script)
            self.assertEqual(22, done.returncode)
            self.assertIn(arguments[-1], done.stderr)
