# SPDX-License-Identifier: Apache-2.0
"""Processes of a lab are ended, and never others that have their ids."""

import dataclasses
import signal
import subprocess

import testtools

from lab.processes import lab_processes


class StopTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.child = subprocess.Popen(
            ['sleep', '600'],
            env={lab_processes.MARK: f'/{self.id()}', 'PATH': '/bin:/usr/bin'},
        )
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)
        # Until it has started sleep it has no environment of its own.
        found = []
        while not found:
            found = lab_processes.find_marked(f'/{self.id()}')
        [self.process] = found

    def test_one_that_was_given_the_id_since_is_left_alone(self):
        before = dataclasses.replace(
            self.process, started=self.process.started - 1
        )
        lab_processes.stop([before], grace_seconds=0.1)
        self.assertIsNone(self.child.poll())

    def test_what_was_found_is_ended(self):
        lab_processes.stop([self.process])
        self.assertEqual(-signal.SIGTERM, self.child.wait())
