# SPDX-License-Identifier: Apache-2.0

"""What is wrong with a watched tier, since when, and what cannot be said."""

import dataclasses
import random
import re

import ddt
import testtools

from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series
from tests.unit.loop.watch import test_series


class SeldomTestCase(testtools.TestCase):
    """Windows that do not follow one another at once."""

    def test_a_slower_tier_is_reported_however_seldom_it_is_measured(self):
        for gap_s in (20, 900, 3600, 86400):
            kept, said = (
                series.Series(tier='database', pools=('tier-database',)),
                [],
            )
            for number in range(66):
                kept, verdict = judgement.added(
                    kept,
                    test_series.window(
                        number,
                        began_at=test_series.BEGAN + gap_s * number,
                        write_ms=5.0 if number < 30 else 50.0,
                    ),
                    {},
                )
                said.append(verdict.state)
            # It is found in the fourteenth window.
            self.assertEqual(
                [judgement.TierState.SLOWER] * 10, said[43:53], gap_s
            )
            # In the end, it is what the tier has.
            self.assertEqual(
                judgement.TierState.SLOWER
                if gap_s == 20
                else judgement.TierState.SOUND,
                said[-1],
                gap_s,
            )

    def test_the_day_before_a_pause_is_not_judged(self):
        expect = {'probe': {'p99_ms_max': 20.0}}
        day = 86400 / series.WINDOW_S
        yesterday = [
            test_series.window(number, write_ms=50.0) for number in range(40)
        ]
        today = [
            test_series.window(day + number, write_ms=1.0)
            for number in range(40)
        ]
        for count in range(30, 41):
            _kept, verdict = test_series.watched(
                [*yesterday, *today[:count]], expect=expect
            )
            self.assertNotEqual(
                judgement.TierState.BROKEN, verdict.state, verdict.reasons
            )


@ddt.ddt
class CameBackTestCase(testtools.TestCase):
    """A tier is slower as long as it is, for an hour at most."""

    def verdicts(self, *levels):
        """Of each window: (state, first reason).

        :param levels: (windows, median of writes in ms), one after another
        """
        draw = random.Random(5)
        kept = series.Series(tier='database', pools=('tier-database',))
        found = []
        values = [ms for count, ms in levels for _ in range(count)]
        for number, ms in enumerate(values):
            kept, verdict = judgement.added(
                kept,
                test_series.window(
                    number,
                    write_ms=tuple(
                        ms * draw.lognormvariate(0, 0.1) for _ in range(10)
                    ),
                ),
                {},
            )
            found.append((verdict.state, ''.join(verdict.reasons[:1])))
        return found

    @ddt.data(14, 15, 18, 30)
    def test_what_came_back_is_not_slower(self, slow):
        found = self.verdicts((60, 10), (slow, 30), (100, 10))
        states = [state for state, _ in found]
        self.assertIn(judgement.TierState.SLOWER, states[60 : 60 + slow])
        # As many windows say that it has come back as said that it rose.
        self.assertNotIn(judgement.TierState.SLOWER, states[60 + slow + 5 :])

    def test_what_came_back_in_part_is_still_slower(self):
        found = self.verdicts((60, 10), (20, 40), (80, 20))
        state, reason = found[-1]
        self.assertEqual(judgement.TierState.SLOWER, state)
        self.assertRegex(
            reason,
            r'^the median latency of a write went from (9|10)\S* to '
            r'(19|20|21)\S* ms$',
        )
        self.assertEqual(
            {judgement.TierState.SLOWER}, {state for state, _ in found[74:]}
        )

    def test_of_two_rises_the_latest_that_is_left_is_said(self):
        found = self.verdicts((60, 10), (40, 20), (30, 45), (30, 20))
        said = [
            [round(float(ms)) for ms in re.findall(r'[\d.]+', reason)]
            for _, reason in (found[90], found[125], found[-1])
        ]
        for expected, actual in zip(
            ((10, 20), (20, 45), (10, 20)), said, strict=True
        ):
            for one, other in zip(expected, actual, strict=True):
                self.assertAlmostEqual(one, other, delta=2)

    def test_a_rise_after_it_came_back_is_a_rise_of_its_own(self):
        found = self.verdicts((60, 10), (20, 40), (40, 10), (20, 40))
        self.assertNotIn(
            judgement.TierState.SLOWER, {state for state, _ in found[85:118]}
        )
        self.assertEqual(judgement.TierState.SLOWER, found[-1][0])


class SetClockTestCase(testtools.TestCase):
    """The clock was ahead, and is set back by 200 windows."""

    EXPECT = {'probe': {'write_p99_ms_max': 8.0}}
    AHEAD = [
        *map(test_series.window, range(300, 390)),
        *[
            test_series.window(number, write_ms=10.0)
            for number in range(390, 410)
        ],
    ]
    RIGHT = [*map(test_series.window, range(210, 270))]

    def test_nothing_is_since_a_time_to_come(self):
        _, ahead = test_series.watched(self.AHEAD, self.EXPECT)
        self.assertEqual(judgement.TierState.BROKEN, ahead.state)
        kept, verdict = test_series.watched(
            self.AHEAD + self.RIGHT, self.EXPECT
        )
        self.assertEqual(judgement.TierState.SOUND, verdict.state)
        self.assertEqual(tuple(self.RIGHT), kept.windows)
        self.assertEqual(((), {}), (kept.changes, dict(kept.broken_since)))

    def test_a_change_is_found_at_once(self):
        slow = [
            test_series.window(number, write_ms=12.0)
            for number in range(270, 290)
        ]
        _, verdict = test_series.watched(self.AHEAD + self.RIGHT + slow)
        self.assertEqual(
            (judgement.TierState.SLOWER, slow[0].began_at),
            (verdict.state, verdict.since),
        )

    def test_a_second_leaves_all_windows_that_were_before(self):
        late = dataclasses.replace(
            test_series.window(20),
            began_at=test_series.window(20).began_at - 1.0,
        )
        kept, _ = test_series.watched(
            [*map(test_series.window, range(20)), late]
        )
        self.assertEqual(21, len(kept.windows))
