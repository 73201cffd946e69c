# SPDX-License-Identifier: Apache-2.0

"""The guest's script for real: processes as guests, a file as start disk.

busybox 1.35 and dash are the two shells it meets: the lab's image, and
Debian with cloud-init.
"""

import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import testtools

from cinder_tiers.figures.fio import latency_log
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import merge
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.protocol import frames
from rally_scenarios.guest import orders

RUN = '0123456789abcdef'
RANDWRITE = fio_pattern.Pattern(
    name='randwrite-4k', rw='randwrite', bs='4k', iodepth=4
)
PROFILE = fio_pattern.Profile(
    region_mib=4, ramp_seconds=0, runtime_seconds=1, ioengine='psync'
)
#: How late a start is, and how long anything takes, is the machine's mood:
#: none of these limits is reached by what works.
LATE_AFTER_MS = 30_000
PREP_SECONDS = 120
READY_SECONDS = 60
END_SECONDS = 300
GAP_SECONDS = 8
SHELLS = {
    'busybox': ['busybox', 'sh'],
    'dash': ['dash'],
    'bash': ['bash', '--posix'],
    'ksh93': ['ksh93'],
    'mksh': ['mksh'],
    'yash': ['yash', '--posix'],
    'zsh': ['zsh', '--emulate', 'sh'],
}


class LocalFleet:
    """Guests that are processes on this machine, sharing one start disk."""

    def __init__(
        self,
        folder,
        tiers,
        *,
        plan,
        ready_seconds=READY_SECONDS,
        succession_seconds=4,
        profile=PROFILE,
        clock=None,
        fill=True,
        latency_seconds=None,
        copies=1,
    ):
        """With one copy, guests end when they have told their results.

        With more, they wait for the end of the schedule first.
        """
        self.folder = folder
        self.tiers = tiers
        self.plan = plan
        self.start_disk = folder / 'start-disk'
        with self.start_disk.open('wb') as disk:
            disk.truncate(1024**2)
        self.orders = orders.FleetOrders(
            run=RUN,
            guests=len(tiers),
            schedule=plan,
            profile=profile,
            start_serial='' if clock else 'none',
            prep_seconds=PREP_SECONDS,
            clock=clock,
            fill=fill,
            latency_seconds=latency_seconds,
            ready_seconds=ready_seconds,
            lead_seconds=3,
            succession_seconds=succession_seconds,
            copies=copies,
            copy_pause_seconds=1,
        )
        self.processes = {}

    def console_path(self, number):
        return self.folder / f'console-{number}'

    def position(self, number):
        """Of a guest among those of its tier."""
        return self.tiers[:number].count(self.tiers[number])

    def start(
        self,
        number,
        *,
        shell,
        path=None,
        target=None,
        console='-',
        data_serials=(),
        **environment,
    ):
        text = orders.script(
            self.orders,
            number=number,
            tier=self.tiers[number],
            position=self.position(number),
            data_serials=data_serials,
            environment=orders.GuestEnvironment(
                console=console,
                start_device=str(self.start_disk),
                target=(
                    str(self.folder / f'disk-{number}')
                    if target is None
                    else target
                ),
                work=str(self.folder / f'work-{number}'),
                **environment,
            ),
        )
        script = self.folder / f'script-{number}'
        script.write_text(text)
        with self.console_path(number).open('wb') as output:
            self.processes[number] = subprocess.Popen(
                SHELLS[shell] + [str(script)],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={'PATH': path or os.environ['PATH']},
                start_new_session=True,
            )

    def wait(self):
        for process in self.processes.values():
            process.wait(timeout=END_SECONDS)

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def console(self, number):
        heard = frames.GuestConsole(run=RUN, guest=orders.guest_name(number))
        if number in self.processes:
            heard.feed(self.console_path(number).read_text(errors='replace'))
        return heard

    def outcomes(self, volumes=('',)):
        return [
            verdict.judge(
                self.console(number),
                guest=orders.guest_name(number),
                tier=tier,
                plan=self.plan,
                position=self.position(number),
                late_after_ms=LATE_AFTER_MS,
                volumes=volumes,
            )
            for number, tier in enumerate(self.tiers)
        ]


class LocalFleetCase(testtools.TestCase):
    """Has a folder for a local fleet, and the programs that guests use."""

    def setUp(self):
        super().setUp()
        for program in ('fio', 'busybox', 'dash'):
            if shutil.which(program) is None:
                self.skipTest(f'{program} is not installed (bindep.txt)')
        # Not /tmp: it may be a tmpfs, which refuses O_DIRECT.
        folder = tempfile.mkdtemp(prefix='ctiers-', dir='/var/tmp')
        self.addCleanup(shutil.rmtree, folder)
        self.folder = pathlib.Path(folder)

    def fleet(
        self,
        tiers,
        profile=PROFILE,
        guest_steps=(),
        pattern=RANDWRITE,
        **kwargs,
    ):
        plan = schedule.plan(
            list(dict.fromkeys(tiers)),
            [pattern],
            profile,
            guest_steps=guest_steps,
            least_gap_seconds=GAP_SECONDS,
        )
        fleet = LocalFleet(
            self.folder, tiers, plan=plan, profile=profile, **kwargs
        )
        self.addCleanup(fleet.stop)
        return fleet


class FleetScriptTest(LocalFleetCase):
    def test_a_fleet_starts_together_tier_after_tier(self):
        """Both shells, two tiers; all guests end with a usable result."""
        fleet = self.fleet(['fast', 'fast', 'slow', 'slow'], copies=2)
        for number, shell in enumerate(['busybox', 'dash', 'dash', 'busybox']):
            fleet.start(number, shell=shell)
        fleet.wait()
        outcomes = fleet.outcomes()
        self.assertEqual(
            [(verdict.GuestVerdict.COMPLETE, ())] * 4,
            [(o.verdict, o.reasons) for o in outcomes],
            fleet.console_path(0).read_text(errors='replace'),
        )
        # They share one clock here: the true offset is 0.
        for outcome in outcomes:
            self.assertLessEqual(
                abs(outcome.clock_offset_ms), outcome.clock_error_ms
            )
            self.assertLessEqual(outcome.clock_samples, 12)
        self.assertTrue(all(o.clock_samples for o in outcomes[1:]))
        fast, slow = (
            merge.merge(verdict.complete(of_guests))
            for _slot, of_guests in sorted(verdict.by_slot(outcomes).items())
        )
        self.assertEqual((2, 2), (fast.guests, slow.guests))
        started_ms = [o.slots[0].measured.started_ms for o in outcomes]
        self.assertLess(max(started_ms[:2]), min(started_ms[2:]))
        self.assert_none_starts_early(outcomes)

        # What both say of one machine is the same.
        first, second = (outcome.system for outcome in outcomes[:2])
        self.assertEqual(first, second)
        self.assertEqual(os.cpu_count(), first.cpus)
        for outcome in outcomes:
            self.assertGreater(outcome.slots[0].measured.cpu.busy_percent, 0)

    def assert_none_starts_early(self, outcomes):
        """But for the error of its clock, and a step of it."""
        for outcome in outcomes:
            for found in outcome.slots:
                self.assertGreaterEqual(
                    found.measured.start_error_ms,
                    -outcome.clock_error_ms - 1,
                    found,
                )

    def test_a_clock_that_counts_in_10_ms_has_a_larger_error(self):
        """Comparisons can bound it to half a step, and no better."""
        fleet = self.fleet(['fast', 'fast'])
        fleet.start(0, shell='dash')
        fleet.start(1, shell='busybox', timer_list='/no/such/file')
        fleet.wait()
        coarse = fleet.outcomes()[1]
        self.assertEqual(
            (verdict.GuestVerdict.COMPLETE, ()),
            (coarse.verdict, coarse.reasons),
        )
        self.assertLessEqual(
            abs(coarse.clock_offset_ms), coarse.clock_error_ms
        )
        self.assertGreaterEqual(coarse.clock_error_ms, 5)

    def test_every_process_of_fio_starts_at_the_gate(self):
        """fio's own delay comes on top, and is in the guest's time."""
        fleet = self.fleet(
            ['fast'],
            pattern=dataclasses.replace(
                RANDWRITE, numjobs=2, startdelay_seconds=2
            ),
        )
        fleet.start(0, shell='busybox')
        fleet.wait()
        (outcome,) = fleet.outcomes()
        self.assertEqual(
            (verdict.GuestVerdict.COMPLETE, 0),
            (outcome.verdict, outcome.damaged_lines),
        )
        console = fleet.console_path(0).read_text()
        self.assertEqual(2, console.splitlines().count('@start 0'))
        measured = outcome.slots[0].measured
        self.assert_none_starts_early([outcome])
        # 2 s of delay and one of measuring; the clock counts in ms.
        self.assertGreaterEqual(
            measured.ended_ms - measured.planned_ms, 3000 - 1
        )

    def test_a_guest_is_idle_until_its_step(self):
        fleet = self.fleet(['fast', 'fast'], guest_steps=[1, 2])
        fleet.start(0, shell='busybox')
        fleet.start(1, shell='dash')
        fleet.wait()
        outcomes = fleet.outcomes()
        self.assertEqual(
            [['randwrite-4k.g1', 'randwrite-4k.g2'], ['randwrite-4k.g2']],
            [
                [found.measured.result.jobname for found in outcome.slots]
                for outcome in outcomes
            ],
        )
        alone, both = (
            merge.merge(verdict.complete(of_guests))
            for _slot, of_guests in sorted(verdict.by_slot(outcomes).items())
        )
        self.assertEqual((1, 2), (alone.guests, both.guests))
        self.assert_none_starts_early(outcomes)

    def test_guests_tell_what_they_did_in_each_second(self):
        """fio's clock and the guest's meet; the ramp is not told."""
        fleet = self.fleet(
            ['fast', 'fast'],
            profile=dataclasses.replace(
                PROFILE, ramp_seconds=1, runtime_seconds=3
            ),
        )
        fleet.start(0, shell='busybox')
        fleet.start(1, shell='dash')
        fleet.wait()
        for outcome in fleet.outcomes():
            measured = outcome.slots[0].measured
            # fio does not always tell the last second.
            self.assertIn(len(measured.series), (1, 2, 3))
            begin_ms = measured.series[0][0]
            end_ms = measured.series[-1][0] + 1000
            self.assertTrue(
                measured.started_ms + 900
                <= begin_ms
                < end_ms
                <= measured.ended_ms,
                (measured, begin_ms, end_ms),
            )
            told = sum(iops for _ms, iops in measured.series)
            self.assertTrue(0 < told < 1.2 * 3 * measured.result.iops, told)
            # 4 KiB each, and fio rounds both to whole numbers.
            self.assertEqual(len(measured.series), len(measured.bw_series))
            for (_ms, iops), (_at, bw_bytes) in zip(
                measured.series, measured.bw_series, strict=True
            ):
                self.assertAlmostEqual(
                    iops, bw_bytes / 4096, delta=2 + 0.02 * iops
                )
            counted = latency_log.in_equal_times(measured.latencies)
            self.assertEqual(1000, counted.step_ms)
            self.assertIn(len(counted.times), (1, 2, 3))
            ios = sum(time.count for time in counted.times)
            self.assertTrue(0 < ios <= 1.1 * measured.result.clat.count, ios)
            bins = measured.result.clat.bins
            for time_ in counted.times:
                if time_.count:
                    self.assertTrue(
                        0.9 * bins[0][0]
                        <= time_.percentile_ns(99)
                        <= 1.1 * bins[-1][0]
                    )

    def test_guests_tell_latencies_of_each_few_seconds(self):
        fleet = self.fleet(
            ['fast', 'fast'],
            profile=dataclasses.replace(
                PROFILE, ramp_seconds=1, runtime_seconds=4
            ),
            latency_seconds=2,
        )
        fleet.start(0, shell='busybox')
        fleet.start(1, shell='dash')
        fleet.wait()
        for outcome in fleet.outcomes():
            measured = outcome.slots[0].measured
            latencies = measured.latencies
            self.assertEqual(2000, latencies.step_ms)
            self.assertIn(len(latencies.windows), (1, 2), outcome.reasons)
            self.assertEqual(
                measured.series[0][0], latencies.windows[0].begin_ms
            )
            self.assertLessEqual(
                latencies.windows[-1].end_ms, measured.ended_ms
            )
            counted = sum(each.clat.count for each in latencies.windows)
            # All but those after the last window.
            self.assertTrue(
                0.3 * measured.result.total_ios
                < counted
                <= 1.1 * measured.result.total_ios,
                (counted, measured.result.total_ios),
            )

    def test_a_guest_that_never_boots_does_not_hold_up_the_others(self):
        """The leader waits its time, then starts those that are ready."""
        fleet = self.fleet(['fast'] * 3, ready_seconds=8)
        fleet.start(0, shell='busybox')
        fleet.start(1, shell='busybox')
        fleet.wait()
        outcomes = fleet.outcomes()[:2]
        self.assertEqual(
            [verdict.GuestVerdict.COMPLETE] * 2, [o.verdict for o in outcomes]
        )
        self.assertEqual(
            '2', fleet.console(0).event('LEADING').fields['missing']
        )
        # The third one comes when it is too late, and says so.
        fleet.start(2, shell='busybox')
        fleet.wait()
        late = fleet.outcomes()[2]
        self.assertEqual(verdict.GuestVerdict.LATE, late.verdict)
        self.assertIn('before we were ready', late.reasons[0])

    def test_if_the_first_never_boots_the_next_one_leads(self):
        fleet = self.fleet(['fast'] * 3, ready_seconds=10)
        fleet.start(1, shell='busybox')
        fleet.start(2, shell='dash')
        fleet.wait()
        self.assertEqual(
            [verdict.GuestVerdict.COMPLETE] * 2,
            [o.verdict for o in fleet.outcomes()[1:]],
        )
        self.assertEqual(
            '0', fleet.console(1).event('LEADING').fields['missing']
        )
        self.assertIsNone(fleet.console(2).event('LEADING'))
        # The first one comes when it is too late, and does not lead again.
        fleet.start(0, shell='busybox')
        fleet.wait()
        self.assertEqual(
            verdict.GuestVerdict.LATE, fleet.outcomes()[0].verdict
        )
        self.assertIsNone(fleet.console(0).event('LEADING'))

    def test_a_guest_that_answers_slowly_holds_up_the_start_for_seconds(self):
        """The leader takes what it knows then; results are waited for so long.

        Twelve emulated guests took 107 s, and their results came too late.
        """
        fleet = self.fleet(['fast', 'fast'])
        asked, is_given = [], False
        with fleet.start_disk.open('r+b', buffering=0) as disk:

            def write(sector, text):
                disk.seek(4096 * sector)
                disk.write(f'{text}\n'.encode().ljust(4096, b'\0'))

            write(2, f'READY {RUN} 1 .')
            fleet.start(0, shell='dash')
            deadline = time.monotonic() + END_SECONDS
            while not is_given:
                self.assertLess(time.monotonic(), deadline, asked)
                disk.seek(0)
                match disk.read(4096).decode('ascii').split():
                    case ['ASK', _, '1', at, *_] if at not in asked:
                        time.sleep(2.5)
                        asked.append(at)
                        write(0, f'ANSWER {RUN} 1 {at} {at} .')
                    case ['GO', *_]:
                        is_given = True
                    case _:
                        time.sleep(0.05)
        # They began within 6 s, and each took 2.5.
        self.assertIn(len(asked), (1, 2, 3))

    def test_a_guest_without_a_usable_disk_is_named_and_can_still_lead(self):
        """Guest 0 cannot prepare; guest 1 measures all the same."""
        fleet = self.fleet(['fast', 'fast'])
        fleet.start(0, shell='busybox', target='/proc/no-such-folder/disk')
        fleet.start(1, shell='busybox')
        fleet.wait()
        broken, healthy = fleet.outcomes()
        self.assertEqual(verdict.GuestVerdict.BROKEN, broken.verdict)
        self.assertIn('/proc/no-such-folder', broken.reasons[0])
        self.assertEqual(verdict.GuestVerdict.COMPLETE, healthy.verdict)

    def test_a_fio_that_dies_in_its_slot_is_reported_with_its_last_words(self):
        """A fio that prepares, and then fails, on one of two guests."""
        fakes = self.folder / 'bin'
        fakes.mkdir()
        fio = fakes / 'fio'
        fio.write_text(
            '#!/bin/sh\ncase "$*" in *--name=prep*)\n'
            f'exec {shutil.which("fio")} "$@";; esac\n'
            'echo "fio: the engine fell off" >&2\nexit 7\n'
        )
        fio.chmod(0o755)
        fleet = self.fleet(['fast', 'fast'])
        fleet.start(0, shell='dash')
        fleet.start(1, shell='dash', path=f'{fakes}:{os.environ["PATH"]}')
        fleet.wait()
        healthy, failed = fleet.outcomes()
        self.assertEqual(verdict.GuestVerdict.COMPLETE, healthy.verdict)
        self.assertEqual(verdict.GuestVerdict.FIO_FAILED, failed.verdict)
        self.assertEqual(
            ('fio ended with 7 on randwrite-4k: fio: the engine fell off',),
            failed.reasons,
        )

    def test_a_guest_killed_in_its_slot_is_lost_and_the_other_kept(self):
        fleet = self.fleet(
            ['fast', 'fast'],
            profile=dataclasses.replace(PROFILE, runtime_seconds=4),
        )
        fleet.start(0, shell='busybox')
        fleet.start(1, shell='busybox')
        deadline = time.monotonic() + 60
        while fleet.console(1).event('START') is None:
            self.assertLess(time.monotonic(), deadline, 'guest 1 never ran')
            time.sleep(0.05)
        os.killpg(fleet.processes[1].pid, signal.SIGKILL)
        fleet.wait()
        healthy, killed = fleet.outcomes()
        self.assertEqual(verdict.GuestVerdict.COMPLETE, healthy.verdict)
        self.assertEqual(verdict.GuestVerdict.LOST, killed.verdict)
        self.assertEqual(('last reported START',), killed.reasons)
