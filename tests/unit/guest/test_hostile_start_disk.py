# SPDX-License-Identifier: Apache-2.0

"""What a hostile guest writes onto the start disk, which all guests share.

The real script on a file, in each shell that is here: nothing of it is run by
another guest, and no shell ends.
"""

import pathlib
import shutil
import subprocess

import ddt
import fixtures
import testtools

from rally_scenarios.guest import next_orders
from rally_scenarios.guest import orders
from tests.unit.guest import test_fleet_script

SECTOR_BYTES = 4096
#: Of the orders of a further run, see keep.sh.
FIRST_UNIT = 64
RUN = test_fleet_script.RUN
#: In place of a number; {file} is made by whoever runs it.
TEXTS = (
    'x[$(touch {file})]',
    'x[`touch {file}`]',
    '$(touch {file})',
    'PATH',
    # Octal, and no octal number.
    '08',
    '9' * 40,
    '-',
    '',
)
SHELLS = sorted(
    name
    for name, command in test_fleet_script.SHELLS.items()
    if shutil.which(command[0])
)


@ddt.ddt
class HostileStartDiskTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.disk = self.folder / 'disk'
        self.made = self.folder / 'made'

    def write(self, record):
        self.disk.write_bytes(
            record.encode().ljust(SECTOR_BYTES, b'\0')
            + bytes(2 * SECTOR_BYTES)
        )

    def run_guest(self, shell, number, commands):
        """What a guest of two prints while it carries out commands."""
        script = self.folder / 'script'
        script.write_text(
            '\n'.join(
                [
                    f'CT_RUN={RUN} CT_INDEX={number} CT_GUEST=g00{number}',
                    f'CT_GUESTS=2 CT_WORK={self.folder} CT_CONSOLE=-',
                    'CT_READY_SECONDS=0 CT_SUCCESSION_SECONDS=9',
                    'CT_EXCHANGES=1 CT_EXCHANGES_SECONDS=1',
                    'CT_ANSWER_SECONDS=1',
                    'CT_TIMER_LIST=/proc/timer_list CT_UPTIME=/proc/uptime',
                    *map(
                        orders.script_file,
                        ('wait.sh', 'delivery.sh', 'start.sh', 'keep.sh'),
                    ),
                    f'start_device={self.disk}',
                    'open_console; read_clock; deadline=$now',
                    commands,
                    'echo "still there"',
                ]
            )
        )
        ran = subprocess.run(
            [*test_fleet_script.SHELLS[shell], str(script)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertFalse(self.made.exists(), ran.stdout + ran.stderr)
        self.assertIn('still there', ran.stdout, ran.stderr)
        return ran.stdout

    @ddt.data(*SHELLS)
    def test_a_start_signal_that_no_leader_wrote_ends_one_guest(self, shell):
        for text in TEXTS:
            text = text.format(file=self.made)
            for times in (f'{text} - 0:0:1,0:0:1', f'5000 - 0:0:1,{text}:0:1'):
                self.write(f'GO {RUN} {times} .\n')
                said = self.run_guest(
                    shell, 1, 'follow; echo "status $?, $offset"'
                )
                self.assertIn('status 1', said, times)
        for times in ('5000 - 0:0:1', '5000', '- .', '5000 - 0:0:1,0:0:1 -'):
            self.write(f'GO {RUN} {times} .\n')
            said = self.run_guest(shell, 1, 'follow; echo "status $?"')
            self.assertIn('status 1', said, times)
            self.assertIn(' FAILED : ', said, times)
        # The bounds of a clock that counts in 10 ms may cross.
        for bounds, offset, error in (
            ('-7:-8:3', -11, r'\d+'),
            ('0:-20:3', -10, '10'),
        ):
            self.write(f'GO {RUN} 5000 - 0:0:1,{bounds} .\n')
            self.assertRegex(
                self.run_guest(
                    shell, 1, 'follow; echo "status $?, $offset, $error"'
                ),
                f'status 0, {offset}, {error}\n',
            )
        self.write(f'GO {RUN} 5000 - 0:0:1,0:-21:3 .\n')
        self.assertIn(
            'the bounds of its clock cross by 21 ms',
            self.run_guest(shell, 1, 'follow; echo "status $?"'),
        )
        self.write(f'GO {RUN} 5000 - 0:0:1,-7:4:1 .\n')
        self.assertIn(
            'status 0, -5',
            self.run_guest(shell, 1, 'follow; echo "status $?, $offset"'),
        )

    @ddt.data(*SHELLS)
    def test_orders_that_are_none_end_no_guest(self, shell):
        for head in ('ORDERS x .', 'ORDERS .', 'ORDERS a 2 b,c . more .'):
            self.disk.write_bytes(
                bytes(FIRST_UNIT * next_orders.UNIT_BYTES)
                + f'{head}\n'.encode().ljust(next_orders.UNIT_BYTES, b'\0')
            )
            said = self.run_guest(
                shell,
                1,
                'set -u; CT_KEEP_KEY=key last_run=; take_orders;'
                ' echo "status $?, $-"',
            )
            self.assertRegex(said, 'status 1, [^f]*\n', head)

    @ddt.data(*SHELLS)
    def test_an_answer_that_is_no_time_is_none(self, shell):
        # Each takes two seconds, for which an answer is waited for.
        for text in (TEXTS[0], *TEXTS[4:6]):
            said = self.run_guest(
                shell,
                0,
                # The other guest: it answers each question.
                f"""
                put_quickly() {{
                    printf '%s' "ANSWER ${{1#ASK }}" >"$CT_WORK/answer"
                    read -r answer_to <"$CT_WORK/answer" || :
                    put_record 0 "${{answer_to% .}} $TEXT ."
                }}
                TEXT='{text.format(file=self.made)}'
                put_record 0 none
                compare_clocks 1; echo "samples $samples"
                """,
            )
            self.assertIn('samples 0', said, text)
