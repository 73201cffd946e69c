# SPDX-License-Identifier: Apache-2.0

"""Guests that carry out a second run: real scripts, a file as start disk."""

import dataclasses
import hashlib
import os
import time

import testtools

from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from rally_scenarios.guest import next_orders
from rally_scenarios.guest import orders
from tests.unit.guest import test_fleet_script as script_tests

KEY = next_orders.new_key()
NEXT_RUN = 'fedcba9876543210'
THIRD_RUN = '00112233445566ff'
#: Only what hangs waits so long.
WAIT_SECONDS = 600
#: Guests look for orders so often, and several times before what they do not
#: carry out is taken for not carried out.
LOOK_SECONDS = 1
LOOKS_SECONDS = 4


class KeptFleetTest(script_tests.LocalFleetCase):
    def setUp(self):
        super().setUp()
        self.kept = self.fleet(['fast', 'fast'], ready_seconds=60, copies=2)
        self.kept.orders = dataclasses.replace(
            self.kept.orders, keep=True, orders_key=KEY
        )
        self.blocks = self.folder / 'blocks'
        self.devices = self.folder / 'devices'
        for number, shell in enumerate(['busybox', 'dash']):
            for folder in (self.blocks, self.devices):
                (folder / str(number)).mkdir(parents=True)
            self.kept.start(
                number,
                shell=shell,
                blocks=str(self.blocks / str(number)),
                devices=str(self.devices / str(number)),
                look_seconds=LOOK_SECONDS,
            )

    def heard(self, number, run):
        console = frames.GuestConsole(run=run, guest=orders.guest_name(number))
        console.feed(
            self.kept.console_path(number).read_text(errors='replace')
        )
        return console

    def wait_for(self, name, run):
        deadline = time.monotonic() + WAIT_SECONDS
        while not all(
            self.heard(number, run).event(name) for number in (0, 1)
        ):
            if time.monotonic() > deadline:
                self.fail(
                    f'no {name} of {run}: '
                    + self.kept.console_path(0).read_text(errors='replace')
                )
            time.sleep(0.2)

    def attach(self, number, content, serial='orders'):
        """A disk that one guest gets while it runs, in place of the last."""
        disk = self.blocks / str(number) / 'vdz'
        if disk.exists():
            (disk / 'serial').unlink()
            disk.rmdir()
        (self.devices / str(number) / 'vdz').write_bytes(content)
        disk.mkdir()
        (disk / 'serial').write_text(f'{serial}\n')

    def scripts(self, run):
        fleet = dataclasses.replace(
            self.kept.orders, run=run, fill=True, keep=False
        )
        return [
            orders.script(
                fleet,
                number=number,
                tier='fast',
                position=number,
                environment=orders.GuestEnvironment(
                    console='-',
                    start_device=str(self.kept.start_disk),
                    target=str(self.folder / f'disk-{number}'),
                    work=str(self.folder / f'work-{number}'),
                ),
            )
            for number in (0, 1)
        ]

    def test_a_disk_of_one_guest_starts_another_run_on_all(self):
        self.wait_for('KEPT', script_tests.RUN)
        # Something else than orders is left alone.
        self.attach(0, os.urandom(next_orders.UNIT_BYTES))
        self.attach(
            1,
            next_orders.disk_content(
                NEXT_RUN, self.scripts(NEXT_RUN), key=KEY
            ),
        )
        self.wait_for('DONE', NEXT_RUN)
        # The next disk has the name of that one before anybody looks again.
        self.attach(
            1,
            next_orders.disk_content(
                THIRD_RUN, self.scripts(THIRD_RUN), key=KEY
            ),
            'further-orders',
        )
        self.wait_for('DONE', THIRD_RUN)
        for run in (script_tests.RUN, NEXT_RUN, THIRD_RUN):
            outcomes = [
                verdict.judge(
                    self.heard(number, run),
                    guest=orders.guest_name(number),
                    tier='fast',
                    plan=self.kept.plan,
                    late_after_ms=script_tests.LATE_AFTER_MS,
                    position=number,
                )
                for number in (0, 1)
            ]
            self.assertEqual(
                [(verdict.GuestVerdict.COMPLETE, ())] * 2,
                [(each.verdict, each.reasons) for each in outcomes],
                run,
            )
        # They go on waiting, and do not carry out the same orders again.
        deadline = time.monotonic() + WAIT_SECONDS
        while any(self.copies_of_third_run(number) < 2 for number in (0, 1)):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        time.sleep(LOOKS_SECONDS)
        for number, process in self.kept.processes.items():
            self.assertIsNone(process.poll())
            self.assertEqual(2, self.copies_of_third_run(number))

    def copies_of_third_run(self, number):
        """How often a guest has told it; each run is told twice."""
        told = self.kept.console_path(number).read_text()
        return told.count(f'{THIRD_RUN} g00{number} event 1 ')

    def test_orders_that_are_damaged_are_not_carried_out(self):
        self.wait_for('KEPT', script_tests.RUN)
        content = bytearray(
            next_orders.disk_content(NEXT_RUN, self.scripts(NEXT_RUN), key=KEY)
        )
        content[next_orders.UNIT_BYTES + 5] ^= 1
        content[2 * next_orders.UNIT_BYTES + 5] ^= 1
        self.attach(0, bytes(content))
        time.sleep(LOOKS_SECONDS)
        for number in (0, 1):
            self.assertEqual((), self.heard(number, NEXT_RUN).events)

    def write_orders(self, content):
        """Onto the disk that all guests see, as each of them can."""
        with self.kept.start_disk.open('r+b') as disk:
            disk.seek(64 * next_orders.UNIT_BYTES)
            disk.write(content)

    def test_orders_of_another_guest_are_not_carried_out(self):
        self.wait_for('KEPT', script_tests.RUN)
        made = self.folder / 'made'
        text = f'touch {made}\n'
        unit = text.encode().ljust(next_orders.UNIT_BYTES, b'\n')
        for known in (
            b'',
            f' {NEXT_RUN}\n'.encode(),
            # Its own secret is all that the other guest knows.
            f'{next_orders.key_of_guest(KEY, 1)} {NEXT_RUN}\n'.encode(),
        ):
            digest = hashlib.sha256(known + unit).hexdigest()[:16]
            head = f'ORDERS {NEXT_RUN} 2 {digest},{"0" * 16} .\n'.encode()
            self.write_orders(
                head.ljust(next_orders.UNIT_BYTES, b'\0') + 2 * unit
            )
            time.sleep(LOOKS_SECONDS)
            self.assertFalse(made.exists(), known)
        # What the owner of the fleet orders still is.
        self.write_orders(
            next_orders.disk_content(THIRD_RUN, [text] * 2, key=KEY)
        )
        deadline = time.monotonic() + WAIT_SECONDS
        while not made.exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)


class DiskContentTest(testtools.TestCase):
    def test_each_guest_has_a_unit(self):
        found = next_orders.disk_content('ab', ['first', 'second'], key=KEY)
        self.assertEqual(3 * next_orders.UNIT_BYTES, len(found))
        self.assertTrue(found.startswith(b'ORDERS ab 2 '))
        self.assertEqual(
            b'second', found[2 * next_orders.UNIT_BYTES :].rstrip(b'\n')
        )

    def test_the_largest_fleet_has_room_for_its_digests(self):
        found = next_orders.disk_content('f' * 32, ['x'] * 200, key=KEY)
        head = found.partition(b'\n')[0]
        self.assertLess(len(head), 4096)

    def test_what_does_not_fit_is_refused(self):
        for scripts in ([], ['x' * (next_orders.UNIT_BYTES + 1)]):
            self.assertRaises(
                ValueError, next_orders.disk_content, 'ab', scripts, key=KEY
            )

    def test_each_guest_has_a_secret_of_its_own(self):
        units = {next_orders.key_of_guest(KEY, each) for each in range(200)}
        self.assertEqual(200, len(units))
        self.assertNotIn(KEY, units)
        self.assertNotEqual(next_orders.new_key(), next_orders.new_key())
