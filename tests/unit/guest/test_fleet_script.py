# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The guest's script for real: processes as guests, a file as start disk.

busybox 1.35 and dash are the two shells it meets: the lab's image, and
Debian with cloud-init.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import testtools

from rally_scenarios.bench import fio_profile
from rally_scenarios.bench import schedule
from rally_scenarios.guest import frames
from rally_scenarios.guest import orders
from rally_scenarios.guest import verdict

RUN = "0123456789abcdef"
RANDWRITE = fio_profile.Pattern(
    name="randwrite-4k", rw="randwrite", bs="4k", iodepth=4)
PROFILE = fio_profile.Profile(
    region_mib=4, ramp_seconds=0, runtime_seconds=1, ioengine="psync")
SHELLS = {"busybox": ["busybox", "sh"], "dash": ["dash"]}


class LocalFleet:
    """Guests that are processes on this machine, sharing one start disk."""

    def __init__(self, folder, tiers, *, plan, ready_seconds=20):
        self.folder = folder
        self.tiers = tiers
        self.plan = plan
        self.start_disk = folder / "start-disk"
        with self.start_disk.open("wb") as disk:
            disk.truncate(1024 ** 2)
        self.orders = orders.FleetOrders(
            run=RUN, guests=len(tiers), schedule=plan, profile=PROFILE,
            start_serial="none", prep_seconds=20,
            ready_seconds=ready_seconds, beacon_seconds=2, lead_seconds=2)
        self.processes = {}

    def console_path(self, number):
        return self.folder / f"console-{number}"

    def start(self, number, *, shell, path=None, target=None):
        text = orders.script(
            self.orders, number=number, tier=self.tiers[number],
            environment=orders.GuestEnvironment(
                console="-", start_device=str(self.start_disk),
                target=target or str(self.folder / f"disk-{number}"),
                work=str(self.folder / f"work-{number}")))
        script = self.folder / f"script-{number}"
        script.write_text(text)
        with self.console_path(number).open("wb") as console:
            self.processes[number] = subprocess.Popen(
                SHELLS[shell] + [str(script)], stdout=console,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={"PATH": path or os.environ["PATH"]},
                start_new_session=True)

    def wait(self):
        for process in self.processes.values():
            process.wait(timeout=90)

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def console(self, number):
        heard = frames.GuestConsole(run=RUN, guest=orders.guest_name(number))
        if number in self.processes:
            heard.feed(
                self.console_path(number).read_text(errors="replace"))
        return heard

    def outcomes(self):
        return [verdict.judge(
            self.console(number), guest=orders.guest_name(number), tier=tier,
            plan=self.plan, late_after_ms=1000)
            for number, tier in enumerate(self.tiers)]


class FleetScriptTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        for program in ("fio", "busybox", "dash"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed (bindep.txt)")
        # Not /tmp: it may be a tmpfs, which refuses O_DIRECT.
        folder = tempfile.mkdtemp(prefix="ctiers-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, folder)
        self.folder = pathlib.Path(folder)

    def fleet(self, tiers, **kwargs):
        plan = schedule.plan(list(dict.fromkeys(tiers)), [RANDWRITE], PROFILE)
        fleet = LocalFleet(self.folder, tiers, plan=plan, **kwargs)
        self.addCleanup(fleet.stop)
        return fleet

    def test_a_fleet_starts_together_tier_after_tier(self):
        """Both shells, two tiers; all guests end with a usable result."""
        fleet = self.fleet(["fast", "fast", "slow", "slow"])
        for number, shell in enumerate(
                ["busybox", "dash", "dash", "busybox"]):
            fleet.start(number, shell=shell)
        fleet.wait()
        outcomes = fleet.outcomes()
        self.assertEqual(
            [(verdict.Verdict.COMPLETE, ())] * 4,
            [(o.verdict, o.reasons) for o in outcomes],
            fleet.console_path(0).read_text(errors="replace"))
        # They share one clock here, so the offset is the method's error.
        for outcome in outcomes:
            self.assertLess(abs(outcome.clock_offset_ms), 300)
            self.assertGreater(outcome.clock_samples, 3)
        fast, slow = (verdict.merged(outcomes, slot)
                      for slot in fleet.plan.slots)
        self.assertEqual((2, 2), (fast.guests, slow.guests))
        self.assertLess(fast.start_skew_ms, 300)
        started_ms = [o.slots[0].measured.started_ms for o in outcomes]
        self.assertAlmostEqual(
            fleet.plan.slot_seconds * 1000,
            min(started_ms[2:]) - min(started_ms[:2]), delta=300)

    def test_a_guest_that_never_boots_does_not_hold_up_the_others(self):
        """The leader waits its time, then starts those that are ready."""
        fleet = self.fleet(["fast"] * 3, ready_seconds=3)
        fleet.start(0, shell="busybox")
        fleet.start(1, shell="busybox")
        fleet.wait()
        outcomes = fleet.outcomes()[:2]
        self.assertEqual([verdict.Verdict.COMPLETE] * 2,
                         [o.verdict for o in outcomes])
        self.assertEqual(
            "2", fleet.console(0).event("LEADING").fields["missing"])
        # The third one comes when it is too late, and says so.
        fleet.start(2, shell="busybox")
        fleet.wait()
        late = fleet.outcomes()[2]
        self.assertEqual(verdict.Verdict.LATE, late.verdict)
        self.assertIn("before we were ready", late.reasons[0])

    def test_a_guest_without_a_usable_disk_is_named_and_can_still_lead(self):
        """Guest 0 cannot prepare; guest 1 measures all the same."""
        fleet = self.fleet(["fast", "fast"])
        fleet.start(0, shell="busybox", target="/proc/no-such-folder/disk")
        fleet.start(1, shell="busybox")
        fleet.wait()
        broken, healthy = fleet.outcomes()
        self.assertEqual(verdict.Verdict.BROKEN, broken.verdict)
        self.assertIn("/proc/no-such-folder", broken.reasons[0])
        self.assertEqual(verdict.Verdict.COMPLETE, healthy.verdict)

    def test_a_fio_that_dies_in_its_slot_is_reported_with_its_last_words(
            self):
        """A fio that prepares, and then fails, on one of two guests."""
        fakes = self.folder / "bin"
        fakes.mkdir()
        fio = fakes / "fio"
        fio.write_text(
            '#!/bin/sh\ncase "$*" in *--name=prep*)\n'
            f'exec {shutil.which("fio")} "$@";; esac\n'
            'echo "fio: the engine fell off" >&2\nexit 7\n')
        fio.chmod(0o755)
        fleet = self.fleet(["fast", "fast"])
        fleet.start(0, shell="dash")
        fleet.start(1, shell="dash",
                    path=f"{fakes}:{os.environ['PATH']}")
        fleet.wait()
        healthy, failed = fleet.outcomes()
        self.assertEqual(verdict.Verdict.COMPLETE, healthy.verdict)
        self.assertEqual(verdict.Verdict.FIO_FAILED, failed.verdict)
        self.assertEqual(
            ("fio ended with 7 on randwrite-4k: fio: the engine fell off",),
            failed.reasons)

    def test_a_guest_killed_in_its_slot_is_lost_and_the_other_kept(self):
        fleet = self.fleet(["fast", "fast"])
        fleet.start(0, shell="busybox")
        fleet.start(1, shell="busybox")
        deadline = time.monotonic() + 60
        while fleet.console(1).event("START") is None:
            self.assertLess(time.monotonic(), deadline, "guest 1 never ran")
            time.sleep(0.05)
        os.killpg(fleet.processes[1].pid, signal.SIGKILL)
        fleet.wait()
        healthy, killed = fleet.outcomes()
        self.assertEqual(verdict.Verdict.COMPLETE, healthy.verdict)
        self.assertEqual(verdict.Verdict.LOST, killed.verdict)
        self.assertEqual(("last heard of at START",), killed.reasons)
