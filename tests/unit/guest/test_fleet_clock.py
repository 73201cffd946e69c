# SPDX-License-Identifier: Apache-2.0


"""The start by wall time, for real: processes as guests (LocalFleet)."""

import os
import shutil
import time

import ddt
import testtools

from cinder_tiers.figures.fleet import verdict
from rally_scenarios.guest import orders
from tests.unit.guest import test_fleet_script

# As chronyc -c tracking prints it: 12 us off, 2 ms and 0.4 ms to the root.
CHRONYC = """echo "D8EF2300,216.239.35.0,2,1795303741.5,-0.000012,0.000001,\\
0.000002,-3.1,0.001,0.02,0.002000000,0.000400000,64.2,$LEAP"
"""

#: A guest, or two, is ready to start in two of them on an idle machine.
READY_S = 10


def start_in(seconds, *, ordered_before=1):
    now = int(time.time())
    return orders.ClockStart(at=now + seconds, ordered_at=now - ordered_before)


@ddt.ddt
class ClockStartTest(test_fleet_script.LocalFleetCase):
    def fakes(self, **programs):
        """A PATH on which these programs come first."""
        folder = self.folder / 'bin'
        folder.mkdir()
        for name, text in programs.items():
            (folder / name).write_text(f'#!/bin/sh\n{text}\n')
            (folder / name).chmod(0o755)
        return f'{folder}:{os.environ["PATH"]}'

    def go_of(self, path, shell='dash'):
        """GO of a guest alone, and what became of it."""
        fleet = self.fleet(['fast'], clock=start_in(READY_S))
        fleet.start(0, shell=shell, path=path)
        fleet.wait()
        return fleet.console(0).event('GO'), fleet.outcomes()[0]

    def test_guests_start_at_the_wall_time_of_their_orders(self):
        """Without a start disk; one of them has a date of whole seconds."""
        fleet = self.fleet(['fast', 'fast'], clock=start_in(READY_S))
        fleet.start_disk.unlink()
        date = shutil.which('date')
        fleet.start(0, shell='busybox')
        fleet.start(
            1,
            shell='dash',
            path=self.fakes(
                date=f'case "$1" in *N*) echo %N;; *) exec {date} "$@";; esac'
            ),
        )
        fleet.wait()
        outcomes = fleet.outcomes()
        self.assertEqual(
            [(verdict.GuestVerdict.COMPLETE, [], None, 0)] * 2,
            [
                (
                    o.verdict,
                    list(o.reasons),
                    o.clock_offset_ms,
                    o.clock_samples,
                )
                for o in outcomes
            ],
        )
        for outcome in outcomes:
            measured = outcome.slots[0].measured
            # Wall time in ms; the uptime counts in steps of 10 ms.
            self.assertAlmostEqual(
                fleet.orders.clock.at * 1000, measured.planned_ms, delta=20
            )
            self.assertGreaterEqual(measured.start_error_ms, -20)
        real_ms = (self.folder / 'disk-0').stat().st_mtime * 1000
        ended_ms = outcomes[0].slots[0].measured.ended_ms
        self.assertAlmostEqual(real_ms, ended_ms, delta=5000)

    def test_a_shell_can_count_wall_time_or_says_that_it_cannot(self):
        """mksh reckons in 32 bits."""
        shells = sorted(
            name
            for name, argv in test_fleet_script.SHELLS.items()
            if shutil.which(argv[0])
        )
        fleet = self.fleet(['fast'] * len(shells), clock=start_in(2 * READY_S))
        for number, shell in enumerate(shells):
            fleet.start(number, shell=shell)
        fleet.wait()
        self.assertEqual(
            {
                shell: (
                    (
                        verdict.GuestVerdict.BROKEN,
                        'its shell reckons in 32 bits',
                    )
                    if shell == 'mksh'
                    else (verdict.GuestVerdict.COMPLETE, '')
                )
                for shell in shells
            },
            {
                shell: (outcome.verdict, ''.join(outcome.reasons)[:28])
                for shell, outcome in zip(
                    shells, fleet.outcomes(), strict=True
                )
            },
        )

    def test_the_error_of_a_clock_is_chronys_and_that_of_reading_it(self):
        event, outcome = self.go_of(
            self.fakes(chronyc=f'LEAP=Normal\n{CHRONYC}')
        )
        self.assertEqual(
            ('chrony', '1413'), (event.fields['sync'], event.fields['bound'])
        )
        self.assertAlmostEqual(
            1.413 + event.integer('reading') / 1000, outcome.clock_error_ms
        )

    def test_a_date_that_tells_the_last_tick_is_as_right_as_it_says(self):
        """As date of busybox, whose seconds are those of time(2)."""
        path = self.fakes(
            date='case $1 in *N*) echo %N; exit;; esac\n'
            f'ns=$({shutil.which("date")} +%s%N)\n'
            'echo $(((ns - 9000000) / 1000000000))'
        )
        fleet = self.fleet(['fast', 'fast'], clock=start_in(READY_S))
        fleet.start(0, shell='dash', path=path)
        fleet.start(1, shell='dash')
        fleet.wait()
        late, precise = (
            fleet.console(number).event('GO') for number in range(2)
        )
        self.assertLessEqual(
            abs(late.integer('offset') - precise.integer('offset')) * 1000,
            late.integer('reading') + precise.integer('reading'),
        )

    @ddt.data((3, 'COMPLETE'), (10**6, 'BROKEN'))
    @ddt.unpack
    def test_a_clock_that_is_set_is_read_once_more(self, times, outcome):
        """It goes back by an hour each of the first times."""
        count = self.folder / 'count'
        count.write_text('0\n')
        _, found = self.go_of(
            self.fakes(
                date=f'read -r n <{count}; n=$((n + 1)); echo $n >{count}\n'
                f'case $1 in +%N) exec {shutil.which("date")} "$@";; esac\n'
                f'[ $n -le {times} ] || n=0\n'
                f'exec {shutil.which("date")} -d "$n hours ago" "$@"'
            )
        )
        self.assertEqual(verdict.GuestVerdict[outcome], found.verdict)
        self.assertEqual(
            ['its clock was set while it was read, three times']
            if outcome == 'BROKEN'
            else [],
            list(found.reasons),
        )

    def test_a_clock_that_nobody_keeps_is_told(self):
        event, outcome = self.go_of(
            self.fakes(
                chronyc=f"LEAP='Not synchronised'\n{CHRONYC}",
                timedatectl='echo no',
            )
        )
        self.assertEqual(
            ('nobody', '-'), (event.fields['sync'], event.fields['bound'])
        )
        self.assertEqual(
            (
                None,
                'the start was by wall time; no time service keeps its clock',
            ),
            (outcome.clock_error_ms, outcome.clock_reason),
        )

    def test_a_guest_that_is_ready_after_the_start_is_late(self):
        fleet = self.fleet(['fast'], clock=start_in(-2, ordered_before=9))
        fleet.start(0, shell='busybox')
        fleet.wait()
        (outcome,) = fleet.outcomes()
        self.assertEqual(verdict.GuestVerdict.LATE, outcome.verdict)
        self.assertRegex(
            outcome.reasons[0], r'^ready [0-9]+\.[0-9] s after the start'
        )

    def test_a_clock_before_the_orders_is_wrong(self):
        """It would start when the others are long done."""
        fleet = self.fleet(['fast'], clock=start_in(90, ordered_before=-60))
        fleet.start(0, shell='dash')
        fleet.wait()
        (outcome,) = fleet.outcomes()
        self.assertEqual(verdict.GuestVerdict.BROKEN, outcome.verdict)
        self.assertRegex(outcome.reasons[0], '^its clock is [0-9]+ s')

    def test_a_guest_that_cannot_prepare_says_why(self):
        fleet = self.fleet(['fast'], clock=start_in(READY_S))
        fleet.start(0, shell='dash', target='/proc/no-such-folder/disk')
        fleet.wait()
        (outcome,) = fleet.outcomes()
        self.assertEqual(verdict.GuestVerdict.BROKEN, outcome.verdict)
        self.assertIn('/proc/no-such-folder', outcome.reasons[0])


class ClockOrdersTest(testtools.TestCase):
    def test_a_start_that_is_not_ahead_is_refused(self):
        for at, ordered_at in ((5, 5), (4, 5), (10**10, 5), (5, 0)):
            self.assertRaises(
                ValueError, orders.ClockStart, at=at, ordered_at=ordered_at
            )
