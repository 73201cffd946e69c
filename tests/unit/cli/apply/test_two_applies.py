# SPDX-License-Identifier: Apache-2.0

"""Two `tier apply` at once, as processes, with a real Cinder API.

The first is stopped in the middle of its work, which no wait can give.
"""

import json
import pathlib
import signal
import socket
import tempfile
import urllib.parse

import ddt
import testtools

from tests.unit.cli import processes
from tests.unit.cli import shell
from tests.worlds import cinder_api

TIERS = 'version: 1\ntiers:\n  t0:\n    fallback: true\n    backend: b0\n' + (
    ''.join(
        f'  t{number}:\n    tags: [t{number}]\n    priority: {number}\n'
        f'    backend: b{number}\n'
        for number in range(1, 30)
    )
)


@ddt.ddt
class TwoAppliesTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        # nohup has what it starts ignore SIGHUP, and a process hands that on.
        self.addCleanup(
            signal.signal,
            signal.SIGHUP,
            signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        self.api = cinder_api.CinderApi()
        self.addCleanup(self.api.stop)
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.catalog = folder / 'tiers.yaml'
        self.catalog.write_text(TIERS, 'utf-8')
        self.locks = f'file://{folder}/locks'

    def start(self):
        """Starts an apply, and stops it after its first action."""
        process = self.enterContext(
            processes.started(
                *self.api.arguments_of('admin'),
                'tier',
                'apply',
                '--catalog',
                str(self.catalog),
                CINDER_TIERS_COORDINATION_URL=self.locks,
            )
        )
        self.addCleanup(process.kill)
        self.assertEqual(
            'create volume type t0: done\n', process.stderr.readline()
        )
        process.send_signal(signal.SIGSTOP)
        return process

    def run_tier(self, command, *arguments):
        return shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            command,
            '--catalog',
            str(self.catalog),
            '-f',
            'json',
            *arguments,
            CINDER_TIERS_COORDINATION_URL=self.locks,
        )

    def planned(self):
        return len(json.loads(self.run_tier('plan').stdout))

    def test_the_second_is_refused_until_the_first_is_killed(self):
        first = self.start()
        left = self.planned()
        self.assertTrue(0 < left < 30, left)
        second = self.run_tier('apply')
        self.assertEqual((1, ''), (second.status, second.stdout))
        self.assertIn('another "tier apply", or a', second.stderr)
        self.assertIn(f'process {first.pid}', second.stderr)
        self.assertEqual(left, self.planned())
        first.kill()
        first.wait()
        second = self.run_tier('apply')
        self.assertEqual(0, second.status, second.stderr)
        self.assertEqual(0, self.planned())

    def test_no_server_is_shelved_while_another_command_may_do_it(self):
        """A server that is locked later was locked by a killed process."""
        first = self.start()
        second = self.run_tier('repair', '--shelve', '--yes')
        self.assertEqual((1, ''), (second.status, second.stdout))
        self.assertIn(f'process {first.pid}', second.stderr)
        self.assertIn('repair --shelve, is running', second.stderr)

    def test_who_is_stopped_in_a_request_keeps_nobody_waiting(self):
        """As above, where the first has connected and has sent nothing."""
        address = urllib.parse.urlsplit(self.api.url)
        self.enterContext(
            socket.create_connection((address.hostname, address.port))
        )
        self.assertEqual(30, self.planned())

    def test_the_second_waits_when_it_is_told_to(self):
        first = self.start()
        first.send_signal(signal.SIGCONT)
        second = self.run_tier('apply', '--wait', '300')
        self.assertEqual((0, []), (second.status, json.loads(second.stdout)))
        self.assertEqual(0, first.wait())

    @ddt.data('SIGINT', 'SIGTERM', 'SIGHUP')
    def test_a_signal_ends_the_action_and_begins_no_other(self, name):
        """Ctrl-C, a CI that cancels, a terminal that is gone."""
        first = self.start()
        first.send_signal(signal.Signals[name])
        first.send_signal(signal.SIGCONT)
        said = first.stderr.read()
        self.assertEqual(130, first.wait(), said)
        self.assertIn('after the action that is running', said)
        self.assertIn('apply was interrupted', said)
        self.assertIn('actions were done', said)
        self.assertNotIn('Traceback', said)
        self.assertTrue(0 < self.planned() < 30)
        self.assertEqual(0, self.run_tier('apply').status)
        self.assertEqual(0, self.planned())

    def test_who_reads_no_more_does_not_stop_an_apply(self):
        first = self.start()
        first.stderr.close()
        first.send_signal(signal.SIGCONT)
        self.assertEqual(0, first.wait())
        self.assertEqual(0, self.planned())

    def test_a_wait_that_is_no_time_is_refused(self):
        for text in ('-1', 'nan', 'inf', 'x'):
            ran = self.run_tier('apply', '--wait', text)
            self.assertEqual((2, ''), (ran.status, ran.stdout))
            self.assertIn('--wait', ran.stderr)
