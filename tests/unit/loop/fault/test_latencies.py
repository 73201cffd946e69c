# SPDX-License-Identifier: Apache-2.0

"""What a fault did to a percentile of latency."""

import testtools

from cinder_tiers.loop.fault import latencies
from tests.unit.loop.fault import test_response


class LatenciesTestCase(testtools.TestCase):
    """A percentile around faults, by windows of five seconds."""

    def around(self, found, *spans):
        return latencies.around_each(
            found, [test_response.span(*each) for each in spans]
        )

    def percentiles(self, found):
        return tuple(
            part.percentile_ms
            for part in (found.before, found.during, found.after)
        )

    def test_each_part_has_its_windows(self):
        known = test_response.windows(
            (12, 10, 200), (4, 500, 200), (12, 20, 200)
        )
        (found,) = self.around(known, (60, 80))
        self.assertIsNone(found.during.percentile_ms)
        self.assertEqual((10, None, 20), self.percentiles(found))
        self.assertEqual(
            (2400, 800, 2400),
            (found.before.ios, found.during.ios, found.after.ios),
        )
        self.assertEqual(
            ('p99 during: 800 I/Os, expected at least 1000',),
            found.reasons(),
        )

    def test_a_window_that_touches_the_fault_is_of_the_fault(self):
        known = test_response.windows(
            (12, 10, 400), (4, 500, 400), (12, 20, 400)
        )
        (found,) = self.around(known, (58, 81))
        self.assertEqual((10, 500, 20), self.percentiles(found))
        self.assertEqual(
            (11 * 400, 6 * 400, 11 * 400),
            (found.before.ios, found.during.ios, found.after.ios),
        )

    def test_clocks_that_may_be_off_widen_the_fault(self):
        known = test_response.windows((40, 10, 400))
        (found,) = latencies.around_each(
            known, [test_response.span(60, 80, clock_error_s=6)]
        )
        self.assertEqual(
            (10 * 400, 8 * 400, 22 * 400),
            (found.before.ios, found.during.ios, found.after.ios),
        )

    def test_after_ends_where_the_next_fault_begins(self):
        known = test_response.windows(
            *((12, 10, 300), (4, 500, 300), (8, 20, 300)),
            *((4, 700, 300), (8, 30, 300)),
        )
        second, first = self.around(known, (120, 140), (60, 80))
        self.assertEqual((10, 500, 20), self.percentiles(first))
        self.assertEqual((10, 700, 30), self.percentiles(second))

    def test_no_windows_are_no_percentiles(self):
        (found,) = self.around((), (0, 1))
        self.assertEqual((None,) * 3, self.percentiles(found))
        self.assertEqual(3, len(found.reasons()))
        self.assertEqual((), self.around(test_response.windows((1, 1, 1))))
