# SPDX-License-Identifier: Apache-2.0
"""One lab.sh changes a lab; the next waits for it."""

import pathlib
import subprocess
import sys
import tempfile
import threading

import testtools

from lab import layout
from lab import lock

# Another process: locks of one are its own.
HOLD = """
import fcntl, sys
stream = open(sys.argv[1])
fcntl.flock(stream, fcntl.LOCK_EX)
print('locked', flush=True)
sys.stdin.readline()
if len(sys.argv) > 2:
    import pathlib, shutil
    shutil.rmtree(pathlib.Path(sys.argv[1]).parent)
"""


class LockTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='ct', dir='/tmp')
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / 'lab'
        layout.load_or_create(self.root, {})
        self.lines = []
        self.waits = threading.Event()

    def say(self, line):
        self.lines.append(line)
        self.waits.set()

    def other_command(self, *arguments):
        """Start another process that holds the lock, until a line comes."""
        process = subprocess.Popen(
            [
                sys.executable,
                '-c',
                HOLD,
                str(self.root / layout.DESCRIPTION),
                *arguments,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.assertEqual('locked\n', process.stdout.readline())
        return process

    def end_when_waited_for(self, process):
        def end():
            self.waits.wait(60)
            process.stdin.write('\n')
            process.stdin.flush()

        ending = threading.Thread(target=end)
        ending.start()
        self.addCleanup(ending.join)

    def load(self):
        found = layout.load(self.root)
        if found is None:
            raise LookupError('no lab is there')
        return found

    def test_a_free_lab_is_locked_without_a_word(self):
        with lock.hold(self.load, print_line=self.say) as lab:
            self.assertEqual(self.root, lab.root)
            refused = self.assertRaises(
                lock.LabBusyError,
                lock.hold(self.load, longest_wait_s=0).__enter__,
            )
            self.assertIn(str(self.root), str(refused))
        self.assertEqual([], self.lines)

    def test_a_command_waits_for_another_one_and_says_so(self):
        self.end_when_waited_for(self.other_command())
        with lock.hold(self.load, print_line=self.say) as lab:
            self.assertEqual(self.root, lab.root)
        [line] = self.lines
        self.assertIn('waiting until it ends, 30 minutes at most', line)

    def test_a_command_that_does_not_end_is_named(self):
        self.other_command()
        problem = self.assertRaises(
            lock.LabBusyError,
            lock.hold(
                self.load, longest_wait_s=0.3, print_line=self.say
            ).__enter__,
        )
        self.assertIn('Nothing was changed', str(problem))

    def test_a_lab_that_was_destroyed_meanwhile_is_not_there(self):
        self.end_when_waited_for(self.other_command('destroy'))
        self.assertRaises(
            LookupError,
            lock.hold(self.load, print_line=self.say).__enter__,
        )

    def test_a_lab_that_was_destroyed_meanwhile_is_made_again(self):
        before = layout.load(self.root)
        self.end_when_waited_for(self.other_command('destroy'))

        def load():
            return layout.load_or_create(self.root, {})

        with lock.hold(load, print_line=self.say) as lab:
            self.assertNotEqual(before.passwords, lab.passwords)
