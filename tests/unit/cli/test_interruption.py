# SPDX-License-Identifier: Apache-2.0

"""Signals while a person is asked, and afterwards."""

import io
import os
import signal
import types

import testtools

from cinder_tiers.cli import interruption
from cinder_tiers.loop.sweep import sweep_command
from tests.unit.cli import shell


class Interrupted(shell.Terminal):
    """A terminal at which a person presses Ctrl-C, and then answers."""

    def readline(self, *unused):
        os.kill(os.getpid(), signal.SIGINT)
        return 'y\n'


class Asks(sweep_command.SweepTier):
    def announce(self, prepared, *, length=None):
        """Has nothing to say."""


class InterruptionTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        # A job in the background of a script ignores Ctrl-C, one of nohup the
        # end of a terminal.
        for number, handler in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGHUP, signal.SIG_DFL),
        ):
            before = signal.signal(number, handler)
            self.addCleanup(signal.signal, number, before)

    def test_ctrl_c_at_a_question_is_an_answer(self):
        asks = Asks(
            types.SimpleNamespace(stdin=Interrupted(), stderr=io.StringIO()),
            None,
        )
        with interruption.Interrupt('ending', interruption.ENDING) as found:
            self.assertRaises(
                KeyboardInterrupt,
                asks.agree,
                None,
                types.SimpleNamespace(yes=False),
            )
            self.assertFalse(found.came)
            # Later, it is noted again.
            os.kill(os.getpid(), signal.SIGINT)
            self.assertTrue(found.came)

    def test_a_terminal_that_is_gone_may_say_so_twice(self):
        """As bash and the kernel do, of which each sends one."""
        with interruption.Interrupt('ending', interruption.ENDING) as found:
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGHUP)
            self.assertTrue(found.came)
            # Who asks for it still ends it at once.
            self.assertRaises(
                KeyboardInterrupt, os.kill, os.getpid(), signal.SIGINT
            )
        self.assertEqual(signal.SIG_DFL, signal.getsignal(signal.SIGHUP))
