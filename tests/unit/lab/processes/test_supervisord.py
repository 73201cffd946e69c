# SPDX-License-Identifier: Apache-2.0
"""Programs under a real supervisord: start, change, death, orphans."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import fixtures
import testtools

from lab import layout
from lab.processes import lab_processes
from lab.processes import supervisord


def sleeper(name='sleeper', seconds=600, **changes):
    return supervisord.Program(
        name=name, argv=('sleep', str(seconds)), **changes
    )


class SupervisorTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.lab = layout.load_or_create(pathlib.Path(folder.name) / 'lab', {})
        self.supervisor = supervisord.Supervisor(
            self.lab, executable=shutil.which('supervisord')
        )
        self.addCleanup(self.supervisor.stop_daemon)
        self.supervisor.start_daemon()

    def pid(self, name='sleeper'):
        return self.supervisor.state(name).pid

    def wait_for_another_pid(self, old):
        deadline = time.monotonic() + 60
        while self.pid() in (0, old) and time.monotonic() < deadline:
            time.sleep(0.1)
        return self.pid()

    def test_what_runs_unchanged_is_left_alone(self):
        self.supervisor.ensure([sleeper()])
        before = self.pid()
        self.supervisor.ensure([sleeper(), sleeper('other')])
        self.assertEqual(before, self.pid())
        self.assertNotEqual(0, self.pid('other'))

    def test_a_changed_definition_restarts_the_program(self):
        self.supervisor.ensure([sleeper()])
        before = self.pid()
        self.supervisor.ensure([sleeper(environment={'A': 'x%"y'})])
        self.assertNotIn(self.pid(), (0, before))
        environment = pathlib.Path(f'/proc/{self.pid()}/environ').read_bytes()
        self.assertIn(b'A=x%"y', environment.split(b'\0'))

    def test_what_was_killed_comes_back(self):
        self.supervisor.ensure([sleeper()])
        before = self.pid()
        os.kill(before, signal.SIGKILL)
        self.assertNotIn(self.wait_for_another_pid(before), (0, before))

    def test_a_program_that_cannot_run_is_named_with_its_last_words(self):
        problem = self.assertRaises(
            supervisord.SupervisorError,
            self.supervisor.ensure,
            [
                supervisord.Program(
                    name='broken',
                    argv=('sh', '-c', 'echo no such pool: 100%; exit 3'),
                )
            ],
        )
        self.assertIn('broken does not start', str(problem))
        self.assertIn('no such pool: 100%', str(problem))

    def test_a_program_that_is_not_there_is_named(self):
        problem = self.assertRaises(
            supervisord.SupervisorError,
            self.supervisor.ensure,
            [supervisord.Program(name='absent', argv=('/no/such/program',))],
        )
        self.assertIn('absent', str(problem))

    def test_orphans_of_a_killed_supervisor_make_room_for_successors(self):
        self.supervisor.ensure([sleeper()])
        orphan = self.pid()
        daemon = int((self.lab.run / 'supervisord.pid').read_text())
        os.kill(daemon, signal.SIGKILL)
        while self.supervisor.is_up():
            time.sleep(0.05)
        ended = self.supervisor.start_daemon()
        self.assertEqual([orphan], [process.pid for process in ended])
        self.supervisor.ensure([sleeper()])
        self.assertEqual(
            {
                self.pid(),
                int((self.lab.run / 'supervisord.pid').read_text()),
            },
            {
                process.pid
                for process in lab_processes.find_marked(self.lab.root)
            },
        )

    def test_children_of_a_killed_program_make_room_for_their_successors(self):
        self.supervisor.ensure(
            [
                supervisord.Program(
                    name='sleeper', argv=('sh', '-c', 'sleep 600 & wait')
                )
            ]
        )
        parent = self.pid()
        (child,) = (
            process.pid
            for process in lab_processes.find_marked(self.lab.root)
            if process.command == 'sleep 600'
        )
        os.kill(parent, signal.SIGKILL)
        self.wait_for_another_pid(parent)
        ended = self.supervisor.start_daemon()
        self.assertEqual([child], [process.pid for process in ended])
        self.assertEqual([], self.supervisor.start_daemon())

    def test_stopping_leaves_no_process(self):
        self.supervisor.ensure([sleeper(), sleeper('other')])
        self.supervisor.stop_daemon()
        self.assertFalse(self.supervisor.is_up())
        self.assertEqual([], lab_processes.find_marked(self.lab.root))

    def test_a_supervisord_that_hangs_is_said_and_can_be_ended(self):
        self.supervisor.ensure([sleeper()])
        daemon = int((self.lab.run / 'supervisord.pid').read_text())
        os.kill(daemon, signal.SIGSTOP)
        self.addCleanup(self.continue_if_there, daemon)
        impatient = supervisord.Supervisor(self.lab, answer_seconds=0.5)
        error = self.assertRaises(
            supervisord.SupervisorError, impatient.check_up
        )
        self.assertIn('does not answer within 0.5 s', str(error))
        impatient.stop_daemon()
        self.assertEqual([], lab_processes.find_marked(self.lab.root))

    def continue_if_there(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def test_only_the_chosen_programs_are_stopped(self):
        self.supervisor.ensure([sleeper('ceph-a'), sleeper('nova')])
        self.supervisor.stop_all_but('ceph-')
        self.assertEqual('RUNNING', self.supervisor.state('ceph-a').state)
        self.assertEqual('STOPPED', self.supervisor.state('nova').state)

    def test_what_is_forgotten_is_stopped_and_known_no_more(self):
        self.supervisor.ensure([sleeper(), sleeper('other')])
        kept = self.pid('other')
        self.supervisor.remove_programs(['sleeper', 'never-there'])
        self.assertEqual(
            [('other', kept)],
            [(state.name, state.pid) for state in self.supervisor.states()],
        )
        self.supervisor.stop_daemon()
        self.supervisor.start_daemon()
        self.assertEqual(
            ['other'], [state.name for state in self.supervisor.states()]
        )

    def test_another_labs_processes_are_not_ours(self):
        self.supervisor.ensure([sleeper()])
        self.assertEqual(
            [], lab_processes.find_marked(self.lab.root.with_name('another'))
        )

    @testtools.skipUnless(os.geteuid() == 0, 'chroot(2) is for root')
    def test_a_lab_of_that_path_in_another_system_is_another_one(self):
        system = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        lab = self.lab.root.with_name('another')
        shutil.copy('/bin/busybox', system / 'sleep')
        started = subprocess.Popen(
            ['chroot', system, '/sleep', '600'],
            env={**os.environ, lab_processes.MARK: str(lab)},
        )
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        root = pathlib.Path(f'/proc/{started.pid}/root')
        while root.samefile('/'):
            time.sleep(0.01)
        self.assertEqual([], lab_processes.find_marked(lab))
