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

import dataclasses

import testtools

from rally_scenarios.bench import fio_result
from rally_scenarios.bench import fleet
from tests.unit.bench import recorded

RESULT = fio_result.parse(recorded.text("randwrite-4k"),
                          jobname="randwrite-4k")


def guest(name, started_ms, ended_ms, result=RESULT):
    return fleet.GuestSlot(guest=name, planned_ms=1000, started_ms=started_ms,
                           ended_ms=ended_ms, result=result)


class MergeTest(testtools.TestCase):

    def test_rates_add_up_and_the_window_is_what_all_share(self):
        """
        g0  |1000------------8000|
        g1      |1040-----------8200|
        g2    |1010--------7900|
        """
        merged = fleet.merge([guest("g0", 1000, 8000),
                              guest("g1", 1040, 8200),
                              guest("g2", 1010, 7900)])
        self.assertEqual((3, 40, 6860), (merged.guests, merged.start_skew_ms,
                                         merged.window_ms))
        self.assertAlmostEqual(3 * 499.750125, merged.iops)
        self.assertEqual(3 * 2049023, merged.bw_bytes)
        self.assertEqual(3 * 1001, merged.clat.count)
        self.assertEqual(RESULT.clat.percentile_ns(99),
                         merged.clat.percentile_ns(99))

    def test_guests_that_never_ran_side_by_side_share_no_window(self):
        merged = fleet.merge([guest("g0", 1000, 2000),
                              guest("g1", 3000, 4000)])
        self.assertEqual(0, merged.window_ms)

    def test_what_cannot_be_merged_is_refused(self):
        other = dataclasses.replace(RESULT, jobname="write-1m")
        for slots, message in (
                ([], "no guest"),
                ([guest("g0", 1, 2), guest("g0", 1, 2)], "twice"),
                ([guest("g0", 1, 2), guest("g1", 1, 2, other)],
                 "randwrite-4k, write-1m")):
            error = self.assertRaises(ValueError, fleet.merge, slots)
            self.assertIn(message, str(error))

    def test_a_late_start_is_a_positive_error(self):
        self.assertEqual(40, guest("g0", 1040, 2000).start_error_ms)
