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

import base64
import shutil
import subprocess

import ddt
import testtools

from rally_scenarios.bench import fio_profile
from rally_scenarios.bench import schedule
from rally_scenarios.guest import orders

PROFILE = fio_profile.Profile(region_mib=8, ramp_seconds=5,
                              runtime_seconds=6)


def pattern(number):
    return fio_profile.Pattern(name=f"p{number}", rw="write", bs="4k",
                               iodepth=1)


def fleet(patterns=2, **other):
    return orders.FleetOrders(**{
        "run": "0123456789abcdef", "guests": 4, "profile": PROFILE,
        "schedule": schedule.plan(
            ["database", "general"], [pattern(n) for n in range(patterns)],
            PROFILE),
        "start_serial": "0f4d7b1e-35a5-4d4f-ae43-07f3db2ac0a5",
        "prep_seconds": 60, "ready_seconds": 60, **other})


def script(of_fleet=None, *, number=0, tier="database",
           **environment):
    return orders.script(
        of_fleet or fleet(), number=number, tier=tier,
        environment=orders.GuestEnvironment(**environment))


def variables(text, names):
    """Values as a shell sees them; the script itself is cut off."""
    text = text[:text.index("\nset -u\n")]
    shown = "".join(f'\nprintf "%s\\0" "${name}"' for name in names)
    done = subprocess.run(["sh"], input=(text + shown).encode(), check=True,
                          capture_output=True)
    return done.stdout.decode().split("\0")[:-1]


@ddt.ddt
class OrdersTest(testtools.TestCase):

    def test_a_guest_is_told_its_own_slots_and_their_fio_words(self):
        text = script(number=3, tier="general")
        found = variables(text, ["CT_INDEX", "CT_GUEST", "CT_GUESTS",
                                 "CT_SLOTS", "CT_SLOT_SECONDS", "CT_FIO_2"])
        self.assertEqual(["3", "g003", "4", "2 3", "15"], found[:5])
        self.assertEqual(
            fio_profile.measure_argv(pattern(0), PROFILE),
            tuple(found[5].split("\n")))
        self.assertNotIn("CT_FIO_0=", text)

    def test_nothing_in_a_value_is_read_by_the_shell(self):
        hostile = "x'; touch /tmp/owned; $(id) `id` \"$HOME\" \\"
        self.assertEqual([hostile], variables(script(target=hostile),
                                              ["CT_TARGET"]))

    @ddt.data("sh", "dash", "busybox")
    def test_the_script_is_one_that_the_shell_can_parse(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed (bindep.txt)")
        done = subprocess.run(
            [shell, *(["sh"] if shell == "busybox" else []), "-n"],
            input=script().encode(), capture_output=True)
        self.assertEqual((0, b""), (done.returncode, done.stderr))

    def test_it_begins_as_user_data_must_and_fits_novas_limit(self):
        text = script(fleet(patterns=16))
        self.assertTrue(text.startswith("#!/bin/sh\n"))
        self.assertLess(len(base64.b64encode(text.encode())), 65535)

    @ddt.data(
        ({"run": "no hex"}, {}, "nonce"), ({"guests": 0}, {}, "0 guests"),
        ({}, {"number": 4}, "guest 4 of a fleet of 4"),
        ({}, {"tier": "archive"}, "'archive' has no slot"),
        ({"patterns": 400}, {}, "order fewer slots"))
    @ddt.unpack
    def test_orders_that_cannot_be_carried_out_are_refused(
            self, of_fleet, of_script, message):
        error = self.assertRaises(
            ValueError, lambda: script(fleet(**of_fleet), **of_script))
        self.assertIn(message, str(error))
