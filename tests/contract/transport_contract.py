# SPDX-License-Identifier: Apache-2.0

"""What every transport must do, and what a fleet heard through it comes to.

Mixed into a test case for the console and into one for SSH.
"""

import dataclasses
import os
import pathlib
import shutil
import signal
import tempfile
import threading
import time

from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from rally_scenarios.guest import orders
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import collector
from rally_scenarios.plugins.transport import console as console_transport
from tests.unit.guest import console_text
from tests.unit.guest import test_fleet_script
from tests.unit.rally import nova_consoles

RUN = console_text.RUN
OUTPUT = bytes(range(256)) * 40


class TransportContract:
    """Tests of a transport.

    The test case gives `transport(guests)`, `told(guest)`: the file that it
    reads, `cut_off(guest)` and `reconnect(guest)`; and, of the orders,
    `copies` and `results_on_console`.
    """

    def setUp(self):
        super().setUp()
        # Not /tmp: it may be a tmpfs, which refuses O_DIRECT.
        folder = tempfile.mkdtemp(prefix='ctiers-', dir='/var/tmp')
        self.addCleanup(shutil.rmtree, folder)
        self.folder = pathlib.Path(folder)
        self.guests = [
            servers.Guest(
                name=orders.guest_name(number),
                tier='fast',
                server_id=f'server-{number}',
                position=number,
            )
            for number in range(4)
        ]
        self.nova = nova_consoles.NovaConsoles(
            {guest.server_id: self.console(guest) for guest in self.guests}
        )

    def console(self, guest):
        return self.folder / f'console-{guest.position}'

    def work(self, guest):
        folder = self.folder / f'work-{guest.position}'
        folder.mkdir(exist_ok=True)
        return folder

    def tell(self, guest, text):
        """As the guest's script does, word by word."""
        with self.told(guest).open('a') as file:
            file.write(text)

    def damage(self, guest, *marks):
        """Overwrite a little of the first line that has each mark."""
        path = self.told(guest)
        text = path.read_bytes()
        for mark in marks:
            at = text.index(mark.encode()) + len(mark)
            text = text[:at] + b'#?#' + text[at + 3 :]
        with path.open('r+b') as file:
            file.write(text)

    def listener(self, transport):
        found = collector.ResultCollector(
            nova=self.nova,
            run=RUN,
            guests=self.guests,
            pause_seconds=0.1,
            transport=transport,
        )
        self.addCleanup(found.close)
        return found

    def test_words_come_as_they_are_told_also_in_halves(self):
        guest = self.guests[0]
        transport = self.transport(self.guests)
        heard = frames.GuestConsole(run=RUN, guest=guest.name)
        lines = ''.join(console_text.whole_run([(3, 0, OUTPUT)]))
        for at in range(0, len(lines), 2000):
            self.tell(guest, lines[at : at + 2000])
            heard.feed(transport.read(guest))
        self.assertEqual(OUTPUT, heard.result(3))
        self.assertEqual(
            (7, 0, frames.Missing()),
            (len(heard.events), heard.damaged_lines, heard.missing),
        )
        self.assertEqual(
            [],
            [
                line
                for line in transport.read(guest).split()
                if line not in lines
            ],
        )

    def test_who_is_cut_off_is_named_and_heard_later(self):
        guest = self.guests[0]
        transport = self.transport(self.guests)
        self.tell(guest, console_text.event(1, 'BOOT'))
        self.assertIn('BOOT', transport.read(guest))
        self.cut_off(guest)
        self.tell(guest, console_text.event(2, 'READY'))
        error = self.assertRaises(
            console_transport.TransportError, transport.read, guest
        )
        self.assertIn(self.address(guest), str(error))
        self.reconnect(guest)
        self.assertIn('READY', self.read_soon(transport, guest))

    def read_soon(self, transport, guest):
        deadline = time.monotonic() + 20
        while True:
            try:
                return transport.read(guest)
            except console_transport.TransportError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def start_fleet(self):
        plan = schedule.plan(
            ['fast'], [test_fleet_script.RANDWRITE], test_fleet_script.PROFILE
        )
        fleet = test_fleet_script.LocalFleet(
            self.folder, ['fast'] * 4, plan=plan
        )
        fleet.orders = dataclasses.replace(
            fleet.orders,
            copies=self.copies,
            copy_pause_seconds=1,
            results_on_console=self.results_on_console,
        )
        self.addCleanup(fleet.stop)
        for guest, shell in zip(
            self.guests, ('dash', 'busybox') * 2, strict=True
        ):
            fleet.start(guest.position, shell=shell)
        return fleet

    def wait_for(self, fleet, guest, name):
        deadline = time.monotonic() + 180
        while fleet.console(guest.position).event(name) is None:
            self.assertLess(
                time.monotonic(), deadline, f'{guest.name} never said {name}'
            )
            time.sleep(0.05)

    def test_a_fleet_comes_home_through_loss_damage_and_death(self):
        """The real script as four guests, three of which have bad luck."""
        for program in ('fio', 'busybox', 'dash'):
            if shutil.which(program) is None:
                self.skipTest(f'{program} is not installed (bindep.txt)')
        _healthy, lost_for_a_while, damaged, killed = self.guests
        self.cut_off(damaged)
        fleet = self.start_fleet()
        results = self.listener(self.transport(self.guests))
        listening_on = threading.Thread(
            target=lambda: (
                results.wait_for_leader(180) and results.collect(180)
            )
        )
        listening_on.start()
        self.addCleanup(listening_on.join)
        self.wait_for(fleet, lost_for_a_while, 'READY')
        self.cut_off(lost_for_a_while)
        self.wait_for(fleet, killed, 'START')
        os.killpg(fleet.processes[killed.position].pid, signal.SIGKILL)
        self.wait_for(fleet, damaged, 'DONE')
        self.damage(damaged, ' data 0 1/', ' END slot')
        self.reconnect(damaged)
        self.reconnect(lost_for_a_while)
        time.sleep(1)
        self.nova.stopped.add(killed.server_id)
        listening_on.join()
        outcomes = [
            verdict.judge(
                results.console(guest),
                guest=guest.name,
                tier='fast',
                plan=fleet.plan,
                late_after_ms=2000,
                position=guest.position,
            )
            for guest in self.guests
        ]
        self.assertEqual(
            [('complete', ())] * 3 + [('lost', ('last reported START',))],
            [(found.verdict.value, found.reasons) for found in outcomes],
            self.told(damaged).read_text(errors='replace'),
        )
        self.assertEqual(
            [0, 0, 2, 0], [found.damaged_lines for found in outcomes]
        )
        self.assertIn('PREPARED', results.evidence(killed))
