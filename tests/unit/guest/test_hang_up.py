# SPDX-License-Identifier: Apache-2.0

"""A console that is hung up while the guest's script has it open.

systemd hangs up a serial console when it starts a getty on it: what was open
before cannot be written to any more, and has to be opened again. Closing the
other end of a pseudo-terminal does the same to a process.
"""

import os
import pathlib
import time

import ddt

from cinder_tiers.figures.fleet import verdict
from tests.unit.guest import test_fleet_script


@ddt.ddt
class HangUpTest(test_fleet_script.LocalFleetCase):
    @ddt.data('busybox', 'dash')
    def test_what_is_told_after_a_hang_up_is_heard(self, shell):
        terminal, end = os.openpty()
        console = self.folder / 'console'
        console.symlink_to(os.ttyname(end))
        fleet = self.fleet(['fast'])
        later = fleet.console_path(0)
        fleet.start(0, shell=shell, console=str(console))
        before = self.read_until(terminal, b' READY')
        # The next one to open the console finds a file.
        console.unlink()
        console.symlink_to(later)
        os.close(end)
        os.close(terminal)
        fleet.wait()
        pathlib.Path(later).write_bytes(before + later.read_bytes())
        (outcome,) = fleet.outcomes()
        self.assertEqual(
            (verdict.GuestVerdict.COMPLETE, ()),
            (outcome.verdict, outcome.reasons),
        )

    def read_until(self, terminal, text):
        heard = b''
        deadline = time.monotonic() + 60
        while text not in heard:
            self.assertLess(time.monotonic(), deadline, heard)
            heard += os.read(terminal, 4096)
        return heard + b'\n'
