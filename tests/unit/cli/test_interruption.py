# SPDX-License-Identifier: Apache-2.0

"""Signals while a person is asked, and afterwards."""

import io
import os
import signal
import types

import testtools

from cinder_tiers.cli import interruption
from cinder_tiers.cli import sweep
from tests.unit.cli import shell


class Interrupted(shell.Terminal):
    """A terminal at which a person presses Ctrl-C, and then answers."""

    def readline(self, *unused):
        os.kill(os.getpid(), signal.SIGINT)
        return 'y\n'


class Asks(sweep.SweepTier):
    def announce(self, prepared, *, length=None):
        """Has nothing to say."""


class InterruptionTestCase(testtools.TestCase):
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
