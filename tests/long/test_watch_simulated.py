# SPDX-License-Identifier: Apache-2.0

"""A month of each load, and planted rises and causes, as watch.rst has them.

A test's details have its table.
"""

import ddt
import testtools
from testtools import content as details

from tests.unit.loop.watch import simulated

DAYS = 30
#: Of each kind of rise.
RISES = 40
#: In windows, by which the beginning of a step may be off.
NEAR = 6
#: Alarms, from the second day on, of a direction.
MOST_A_WEEK = 1.0


@ddt.ddt
class SimulatedTestCase(testtools.TestCase):
    @ddt.data(*simulated.LOADS)
    def test_alarms_of_a_load(self, load):
        values = simulated.levels(load, DAYS * simulated.DAY, seed=1)
        later = [
            seen
            for seen, _ in simulated.alarms(values)
            if seen > simulated.DAY
        ]
        a_week = 7 * len(later) / (DAYS - 1)
        self.addDetail('alarms a week', details.text_content(f'{a_week:.2f}'))
        self.assertLessEqual(a_week, MOST_A_WEEK)

    @ddt.data(*simulated.RISES)
    def test_rises_are_found_and_dated(self, during):
        loads = ('quiet', 'white noise', 'heavy tails', 'AR(1)')
        found = [
            simulated.planted(
                loads[seed % len(loads)], factor=2, during=during, seed=seed
            )
            for seed in range(RISES)
        ]
        seen = sum(each.delay is not None for each in found)
        right = sum(
            each.delay is not None and abs(each.off) <= max(during / 4, NEAR)
            for each in found
        )
        self.addDetail(
            'found and right',
            details.text_content(f'{seen} and {right} of {RISES}'),
        )
        self.assertGreaterEqual(seen, (0.8 if during else 0.95) * RISES)
        self.assertGreaterEqual(right, 0.8 * RISES)

    def test_causes_are_named_first(self):
        found = [
            simulated.blamed(cause, during=during, seed=seed)
            for cause in simulated.CAUSES
            for during in simulated.RISES[:2]
            for seed in range(4)
        ]
        self.addDetail(
            'named first',
            details.text_content(f'{sum(map(bool, found))} of {len(found)}'),
        )
        self.assertGreaterEqual(sum(map(bool, found)), 0.8 * len(found))
