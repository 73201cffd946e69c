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

import shutil
import subprocess
import tempfile

import ddt
import testtools

from rally_scenarios.bench import fio_profile
from rally_scenarios.bench import schedule

SMALL = fio_profile.Pattern(name="randwrite-4k", rw="randwrite", bs="4k",
                            iodepth=16)
LARGE = fio_profile.Pattern(name="write-1m", rw="write", bs="1m", iodepth=4)
PROFILE = fio_profile.Profile(region_mib=8, ramp_seconds=5,
                              runtime_seconds=6)


class ScheduleTest(testtools.TestCase):

    def test_tiers_take_turns_and_never_overlap(self):
        plan = schedule.plan(["database", "general"], [SMALL, LARGE], PROFILE)
        self.assertEqual(
            [(0, "database", "randwrite-4k"), (1, "database", "write-1m"),
             (2, "general", "randwrite-4k"), (3, "general", "write-1m")],
            [(s.number, s.tier, s.pattern.name) for s in plan.slots])
        self.assertEqual(15, plan.slot_seconds)
        self.assertEqual(60, plan.seconds)
        self.assertEqual((2, 3),
                         tuple(s.number for s in plan.of_tier("general")))
        self.assertEqual((), plan.of_tier("archive"))

    def test_nothing_to_measure_and_names_twice_are_refused(self):
        for tiers, patterns, message in (
                ([], [SMALL], "no tier"), (["a"], [], "no pattern"),
                (["a", "b", "a"], [SMALL], "tier named twice: a"),
                (["a"], [SMALL, SMALL], "pattern named twice: randwrite")):
            error = self.assertRaises(ValueError, schedule.plan, tiers,
                                      patterns, PROFILE)
            self.assertIn(message, str(error))


@ddt.ddt
class ProfileTest(testtools.TestCase):

    @ddt.data(
        {"name": "Rand Write"}, {"name": ""}, {"name": "a;b"},
        {"rw": "trim"}, {"rw": "randwrite\n--filename=/dev/vda"},
        {"bs": "0"}, {"bs": "4kk"}, {"bs": "4k --x"}, {"bs": ""},
        {"iodepth": 0}, {"iodepth": 2000})
    def test_a_senseless_pattern_is_refused(self, wrong):
        right = {"name": "randwrite-4k", "rw": "randwrite", "bs": "4k",
                 "iodepth": 16}
        fio_profile.Pattern(**right)
        error = self.assertRaises(ValueError, fio_profile.Pattern,
                                  **{**right, **wrong})
        self.assertIn(next(iter(wrong)), str(error))

    def test_all_wrong_fields_are_named_at_once(self):
        error = self.assertRaises(
            ValueError, fio_profile.Pattern, name="X", rw="y", bs="z",
            iodepth=0)
        for field in ("name", "rw", "bs", "iodepth"):
            self.assertIn(field + " ", str(error))

    @ddt.data({"region_mib": 0}, {"ramp_seconds": -1},
              {"runtime_seconds": 0}, {"ioengine": "libaio --x"})
    def test_a_senseless_profile_is_refused(self, wrong):
        right = {"region_mib": 8, "ramp_seconds": 0, "runtime_seconds": 1}
        self.assertRaises(ValueError, fio_profile.Profile,
                          **{**right, **wrong})

    @ddt.data(("4k", 4096), ("1m", 1048576), ("512", 512), ("8K", 8192))
    @ddt.unpack
    def test_block_sizes_are_powers_of_1024(self, bs, expected):
        self.assertEqual(expected, fio_profile.Pattern(
            name="x", rw="read", bs=bs, iodepth=1).bs_bytes)

    def test_a_block_larger_than_the_region_is_refused(self):
        self.assertRaises(
            ValueError, fio_profile.measure_argv,
            fio_profile.Pattern(name="x", rw="read", bs="16m", iodepth=1),
            PROFILE)

    @ddt.data(None, SMALL, LARGE)
    def test_fio_itself_accepts_the_arguments(self, pattern):
        """fio checks its options with --parse-only."""
        if shutil.which("fio") is None:
            self.skipTest("fio is not installed (bindep.txt)")
        argv = (fio_profile.fill_argv(PROFILE) if pattern is None
                else fio_profile.measure_argv(pattern, PROFILE))
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ["fio", "--parse-only", f"--filename={folder}/f", *argv],
                capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
