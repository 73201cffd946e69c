# SPDX-License-Identifier: Apache-2.0

"""How a guest reads its clock, in whatever shell is its /bin/sh."""

import pathlib
import shutil
import subprocess

import ddt
import fixtures
import testtools

WAIT = (
    pathlib.Path(__file__).parents[3] / 'rally_scenarios' / 'guest' / 'wait.sh'
)
SHELLS = [
    [found, *words[1:]]
    for words in (['dash'], ['bash', '--posix'], ['busybox', 'sh'])
    if (found := shutil.which(words[0]))
]


@ddt.ddt
class ClockTest(testtools.TestCase):
    @ddt.data(
        ('0.08 0.01', 80),
        ('0.52 0.30', 520),
        ('0.00 0.00', 0),
        ('7.09 3.00', 7090),
        ('1234567.89 99.00', 1234567890),
    )
    @ddt.unpack
    def test_uptime_is_read_in_ms(self, text, expected):
        """A number that begins with 0 would be octal to a shell."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'uptime').write_text(text + '\n')
        script = f'. {WAIT}; read_clock; echo $((now + 1))'
        for shell in SHELLS:
            done = subprocess.run(
                [*shell, '-c', script],
                env={
                    'PATH': '/usr/bin:/bin',
                    'CT_TIMER_LIST': str(folder / 'none'),
                    'CT_UPTIME': str(folder / 'uptime'),
                    'CT_WORK': str(folder),
                },
                capture_output=True,
                text=True,
            )
            self.assertEqual(
                (str(expected + 1), ''),
                (done.stdout.strip(), done.stderr),
                shell,
            )
