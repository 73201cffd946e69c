# SPDX-License-Identifier: Apache-2.0

"""What a tier reaches again and again is usual."""

import math

import testtools

from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import usual


class UsualTestCase(testtools.TestCase):
    HOUR = 472_000

    def is_usual(self, *ago, level=2.0, lowest=1.0, span=change.SHORT):
        hours = tuple(
            series.Hour(
                direction='write',
                number=self.HOUR - each,
                highest_ms=math.exp(2.0),
                lasting_ms=math.exp(1.0),
                lowest_ms=math.exp(lowest),
            )
            for each in sorted(ago, reverse=True)
        )
        return usual.is_usual(
            hours,
            direction='write',
            since=self.HOUR * 3600.0,
            moment=self.HOUR * 3600.0,
            level=level,
            span=span,
        )

    def test_what_three_hours_of_a_day_had_is_usual(self):
        self.assertTrue(self.is_usual(2, 4, 6))
        self.assertFalse(self.is_usual(2, 4))
        self.assertFalse(self.is_usual(2, 4, 30))
        self.assertFalse(self.is_usual(2, 4, 6, level=2.5))

    def test_what_three_hours_had_all_the_time_is_not(self):
        # The afternoon of a tier that is slow by day says nothing of a night.
        self.assertFalse(self.is_usual(2, 4, 6, lowest=1.9))

    def test_minutes_are_no_quarter_of_an_hour(self):
        self.assertFalse(self.is_usual(2, 4, 6, span=change.LONG))
        self.assertTrue(
            self.is_usual(2, 4, 6, level=1.0, lowest=0.5, span=change.LONG)
        )

    def test_what_this_hour_of_another_day_had_is_usual(self):
        for ago in (23, 24, 25, 7 * 24):
            self.assertTrue(self.is_usual(ago), ago)
        for ago in (1, 12, 22, 26):
            self.assertFalse(self.is_usual(ago), ago)

    def test_a_week_is_kept(self):
        hours = ()
        for number in range(500):
            hours = usual.noted(
                hours,
                direction='write',
                moment=number * 3600.0,
                levels=[1.0],
            )
        self.assertEqual(series.OLDEST_HOUR + 1, len(hours))
