# SPDX-License-Identifier: Apache-2.0

import base64
import dataclasses
import random
import shutil
import subprocess

import ddt
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.protocol import frames
from rally_scenarios.guest import orders
from tests.unit.figures import recorded
from tests.unit.guest import console_text

PROFILE = fio_pattern.Profile(region_mib=8, ramp_seconds=5, runtime_seconds=6)


def pattern(number):
    return fio_pattern.Pattern(
        name=f'p{number}', rw='write', bs='4k', iodepth=1
    )


def fleet(patterns=2, **other):
    return orders.FleetOrders(
        **{
            'run': '0123456789abcdef',
            'guests': 4,
            'profile': PROFILE,
            'schedule': schedule.plan(
                ['database', 'general'],
                [pattern(n) for n in range(patterns)],
                PROFILE,
            ),
            'start_serial': '0f4d7b1e-35a5-4d4f-ae43-07f3db2ac0a5',
            'prep_seconds': 60,
            'ready_seconds': 60,
            **other,
        }
    )


def script(of_fleet=None, *, number=0, tier='database', **environment):
    return orders.script(
        of_fleet or fleet(),
        number=number,
        tier=tier,
        environment=orders.GuestEnvironment(**environment),
    )


def variables(text, names):
    """Values as a shell sees them; the script itself is cut off."""
    text = text[: text.index('\nset -u\n')]
    shown = ''.join(f'\nprintf "%s\\0" "${name}"' for name in names)
    done = subprocess.run(
        ['sh'], input=(text + shown).encode(), check=True, capture_output=True
    )
    return done.stdout.decode().split('\0')[:-1]


@ddt.ddt
class OrdersTest(testtools.TestCase):
    def test_a_guest_is_told_its_own_slots_and_their_fio_words(self):
        text = script(number=3, tier='general')
        found = variables(
            text,
            [
                'CT_INDEX',
                'CT_GUEST',
                'CT_GUESTS',
                'CT_SLOTS',
                'CT_OVERTIME',
                'CT_FIO_2',
            ],
        )
        self.assertEqual(
            ['3', 'g003', '4', '2:30:15 3:45:15', '11'], found[:5]
        )
        self.assertEqual(
            fio_pattern.measure_argv(pattern(0), PROFILE),
            tuple(found[5].split('\n')),
        )
        self.assertNotIn('CT_FIO_0=', text)

    def test_a_repeat_has_the_words_of_the_first_time(self):
        plan = schedule.plan(
            ['a'], [pattern(0), pattern(1)], PROFILE, repeats=3
        )
        found = variables(
            script(fleet(schedule=plan), tier='a'),
            ['CT_SLOTS', 'CT_FIO_1', 'CT_FIO_3', 'CT_FIO_5'],
        )
        self.assertEqual(
            [
                '0:0:15 1:15:15 2:30:15 3:45:15 4:60:15 5:75:15',
                *['\n'.join(fio_pattern.measure_argv(pattern(1), PROFILE))]
                * 3,
            ],
            found,
        )

    def test_a_guest_of_a_later_step_is_told_only_its_steps(self):
        plan = schedule.plan(
            ['a', 'b'], [pattern(0)], PROFILE, repeats=2, guest_steps=[1, 2, 4]
        )
        self.assertEqual(
            ['5:75:15 11:165:15'],
            variables(
                orders.script(
                    fleet(schedule=plan, guests=8),
                    number=7,
                    tier='b',
                    position=3,
                    environment=orders.GuestEnvironment(),
                ),
                ['CT_SLOTS'],
            ),
        )
        self.assertRaises(
            ValueError,
            orders.script,
            fleet(schedule=plan, guests=9),
            number=8,
            tier='b',
            position=4,
            environment=orders.GuestEnvironment(),
        )

    def test_copies_are_printed_when_all_tiers_are_done(self):
        names = ['CT_END', 'CT_COPIES', 'CT_COPY_PAUSE', 'CT_RESULTS']
        self.assertEqual(
            ['60', '2', '5', 'console'], variables(script(), names)
        )
        kept = fleet(copies=1, results_on_console=False)
        self.assertEqual(
            ['60', '1', '5', 'kept'], variables(script(kept), names)
        )
        self.assertEqual((5, 0), (fleet().copy_seconds, kept.copy_seconds))

    def test_copies_of_a_whole_matrix_take_their_time(self):
        plan = schedule.plan(
            ['a'], [pattern(n) for n in range(16)], PROFILE, repeats=9
        )
        # 144 results of 12 KiB in blocks of 40000 bytes.
        self.assertEqual(
            45 * 4, fleet(schedule=plan, copy_pause_seconds=4).copy_seconds
        )

    @ddt.data(
        # processes, seconds, fio's rw
        (1, 86400, 'write'),
        (16, 5400, 'write'),
        (16, 2700, 'randrw'),
        (64, 1200, 'read'),
    )
    @ddt.unpack
    def test_what_is_ordered_comes_whole(self, processes, seconds, rw):
        """Of the longest that are, with values that hardly repeat."""
        plan = self.long_plan(processes, seconds, rw)
        ordered = fleet(schedule=plan, profile=self.long_profile(seconds))
        draw = random.Random(1)
        directions = (0, 1) if rw == 'randrw' else (rw == 'write',)
        logs = '\n'.join(
            f'\n@{name}\n'
            + ''.join(
                f'{1795303800000 + 1000 * second + draw.randrange(3)},'
                f' {draw.randrange(100, 2000000)}, {direction:d}\n'
                for _process in range(processes)
                for second in range(seconds)
                for direction in directions
            )
            for name in ('series', 'bandwidth')
        )
        output = recorded.text('randwrite-4k') + logs.encode()
        lines = console_text.result(0, output)
        heard = frames.GuestConsole(run=console_text.RUN, guest='g000')
        heard.feed(''.join(lines))
        self.assertEqual(output, heard.result(0))
        # All of it once more, in blocks with pauses.
        self.assertGreaterEqual(
            ordered.copy_seconds,
            sum(map(len, lines)) / 40000 * 5 * 0.75,
        )

    @ddt.data(
        (16, 3600, 'randrw', {}),
        (256, 600, 'read', {}),
        (1, 5400, 'randrw', {'latency_seconds': 1}),
    )
    @ddt.unpack
    def test_a_result_that_would_be_too_long_is_refused(
        self, processes, seconds, rw, about
    ):
        error = self.assertRaises(
            ValueError,
            fleet,
            schedule=self.long_plan(processes, seconds, rw),
            profile=self.long_profile(seconds),
            **about,
        )
        self.assertIn("pattern 'long': what changes over time", str(error))
        self.assertIn('order fewer seconds', str(error))

    def test_the_only_print_of_a_long_result_would_be_pushed_out(self):
        long = {
            'schedule': self.long_plan(16, 600, 'randrw'),
            'profile': self.long_profile(600),
        }
        error = self.assertRaises(ValueError, fleet, copies=1, **long)
        self.assertIn('expected 2 or more, or the transport ssh', str(error))
        fleet(copies=1, results_on_console=False, **long)
        fleet(copies=1)

    def test_results_that_together_are_too_long_are_refused(self):
        error = self.assertRaises(
            ValueError,
            fleet,
            schedule=self.long_plan(16, 2400, 'write', repeats=80),
            profile=self.long_profile(2400),
        )
        self.assertIn('the results of a guest have about', str(error))

    @staticmethod
    def long_profile(seconds):
        return dataclasses.replace(PROFILE, runtime_seconds=seconds)

    def long_plan(self, processes, seconds, rw, repeats=1):
        return schedule.plan(
            ['database'],
            [
                fio_pattern.Pattern(
                    name='long', rw=rw, bs='4k', numjobs=processes
                )
            ],
            self.long_profile(seconds),
            repeats=repeats,
        )

    def test_the_whole_matrix_of_a_paper_fits(self):
        """16 patterns 9 times."""
        plan = schedule.plan(
            ['a'], [pattern(n) for n in range(16)], PROFILE, repeats=9
        )
        script(fleet(schedule=plan), tier='a')

    def test_a_start_by_clock_is_told_with_the_part_that_it_needs(self):
        told = script(
            fleet(
                start_serial='',
                clock=orders.ClockStart(at=1795303800, ordered_at=1795303700),
            )
        )
        self.assertEqual(
            ['clock', '1795303800', '1795303700', ''],
            variables(
                told,
                [
                    'CT_START_BY',
                    'CT_START_AT',
                    'CT_ORDERED_AT',
                    'CT_START_SERIAL',
                ],
            ),
        )
        self.assertIn('\nstart_by_clock() {', told)
        self.assertNotIn('\nstart_by_clock() {', script())

    def test_what_is_not_to_be_filled_has_no_words_for_it(self):
        self.assertEqual(
            [''], variables(script(fleet(fill=False)), ['CT_PREP'])
        )

    def test_nothing_in_a_value_is_read_by_the_shell(self):
        hostile = 'x\'; touch /tmp/owned; $(id) `id` "$HOME" \\'
        self.assertEqual(
            [hostile], variables(script(target=hostile), ['CT_TARGET'])
        )

    @ddt.data('sh', 'dash', 'busybox')
    def test_the_script_is_one_that_the_shell_can_parse(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f'{shell} is not installed (bindep.txt)')
        done = subprocess.run(
            [shell, *(['sh'] if shell == 'busybox' else []), '-n'],
            input=script().encode(),
            capture_output=True,
        )
        self.assertEqual((0, b''), (done.returncode, done.stderr))

    def test_it_begins_as_user_data_must_and_fits_novas_limit(self):
        text = script(fleet(patterns=16))
        self.assertTrue(text.startswith('#!/bin/sh\n'))
        self.assertLess(len(base64.b64encode(text.encode())), 65535)

    @ddt.data(
        ({'run': 'no hex'}, {}, 'nonce'),
        ({'guests': 0}, {}, '0 guests'),
        ({'start_serial': ''}, {}, 'not both'),
        ({'clock': orders.ClockStart(at=2, ordered_at=1)}, {}, 'not both'),
        ({'guests': 201}, {}, '201 guests: expected 1 to 200'),
        ({}, {'number': 4}, 'guest 4 of a fleet of 4'),
        ({}, {'tier': 'archive'}, "'archive' has no slot"),
        ({'patterns': 400}, {}, 'order fewer slots'),
        ({'copies': 0}, {}, 'expected at least 1 of each'),
    )
    @ddt.unpack
    def test_orders_that_cannot_be_carried_out_are_refused(
        self, of_fleet, of_script, message
    ):
        error = self.assertRaises(
            ValueError, lambda: script(fleet(**of_fleet), **of_script)
        )
        self.assertIn(message, str(error))
