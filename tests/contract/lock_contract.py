# SPDX-License-Identifier: Apache-2.0

"""What every driver of the lock of `tier apply` must do, as processes see it.

Mixed into a test case for the file driver, and into one for a real service.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

from cinder_tiers.domain import errors
from cinder_tiers.execute import lock as apply_lock

TOP = pathlib.Path(__file__).resolve().parents[2]
# Takes the lock, says so, and keeps it until its standard input ends.
HOLDER = """
from cinder_tiers.execute import lock as apply_lock
import sys
with apply_lock.held(url=sys.argv[1], cloud=sys.argv[2]):
    print('held', flush=True)
    sys.stdin.read()
"""


class LockContract:
    """Tests of a driver.

    The test case gives `url`, and `cloud`, a name that no other uses.
    """

    #: Seconds after which the lock of a killed process is free.
    lease_s = 0.0

    def take(self, wait_s=0.0):
        with apply_lock.held(url=self.url, cloud=self.cloud, wait_s=wait_s):
            pass

    @contextlib.contextmanager
    def other(self, cloud=None):
        """A process that holds the lock."""
        with subprocess.Popen(
            [sys.executable, '-c', HOLDER, self.url, cloud or self.cloud],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            self.assertEqual(b'held\n', process.stdout.readline())
            try:
                yield process
            finally:
                process.kill()

    def test_while_another_holds_it_it_is_refused_at_once(self):
        with self.other():
            began = time.monotonic()
            error = self.assertRaises(errors.TiersError, self.take)
            self.assertLess(time.monotonic() - began, 30)
            self.assertIn('another "tier apply", or a', str(error))
            self.assertIn('--wait', str(error))

    def test_when_the_other_has_ended_it_is_had_at_once(self):
        with self.other() as process:
            process.communicate(timeout=60)
            self.take()

    def test_when_the_other_was_killed_it_is_had(self):
        with self.other() as process:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
            self.take(wait_s=self.lease_s)

    def test_it_waits_as_long_as_it_is_told(self):
        with self.other():
            error = self.assertRaises(errors.TiersError, self.take, wait_s=0.3)
            self.assertIn('after 0.3 s', str(error))

    def test_it_ends_waiting_when_the_other_ends(self):
        with self.other() as process:
            process.stdin.close()
            self.take(wait_s=60)

    def test_another_cloud_has_another_lock(self):
        with self.other(cloud=f'{self.cloud}-elsewhere'):
            self.take()

    def test_it_is_given_back_after_an_error(self):
        with (
            contextlib.suppress(ZeroDivisionError),
            apply_lock.held(url=self.url, cloud=self.cloud),
        ):
            raise ZeroDivisionError
        self.take()
