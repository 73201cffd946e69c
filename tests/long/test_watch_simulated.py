# SPDX-License-Identifier: Apache-2.0

"""Three weeks of each load after its first day, planted rises and causes.

``python -m tests.long.test_watch_simulated`` prints the table
that doc/source/admin/watch.rst sums up.
"""

import ddt
import testtools
from testtools import content as details

from tests.unit.loop.watch import simulated

WEEKS = 3
#: Rises of a kind that are planted beside a load.
RISES = 3
RISES_OF_ORDINARY = 8
#: In windows, by which the beginning of a step may be off.
NEAR = 6
#: Alarms of a direction, from the second day on: of one a week, there are more
#: than six in three weeks in 3 of 100.
MOST_A_WEEK = 6 / WEEKS
#: With each cause and kind of rise.
BLAMED = 4


def alarms_of(load):
    """(alarms of the first day, alarms a week after it)."""
    values = simulated.levels(
        load, (7 * WEEKS + 1) * simulated.DAY, seed=len(load)
    )
    seen = [seen for seen, _ in simulated.alarms(values)]
    first = sum(each <= simulated.DAY for each in seen)
    return first, (len(seen) - first) / WEEKS


def rises_of(load, during, count):
    """(found, found with the right time) of rises to twice the latency."""
    # What has no rhythm of a day is judged by what was kept of eight hours.
    day = 0.5 if load in simulated.ORDINARY else 1
    found = [
        each
        for seed in range(count)
        if (
            each := simulated.planted(
                load,
                factor=2,
                during=during,
                seed=1000 + seed,
                at=round(day * simulated.DAY),
            )
        ).delay
        is not None
    ]
    near = max(during / 4, NEAR)
    return len(found), sum(abs(each.off) <= near for each in found)


def blamed():
    """Of each planted cause and kind of rise, whether it is named first."""
    return [
        bool(simulated.blamed(cause, during=during, seed=seed))
        for cause in simulated.CAUSES
        for during in simulated.RISES[:2]
        for seed in range(BLAMED)
    ]


@ddt.ddt
class SimulatedTestCase(testtools.TestCase):
    def said(self, text):
        self.addDetail('found', details.text_content(text))

    @ddt.data(*simulated.LOADS)
    def test_alarms_of_a_load(self, load):
        first, later = alarms_of(load)
        self.said(f'{first} on the first day, then {later:.2f} a week')
        self.assertLessEqual(later, MOST_A_WEEK)
        if load in ('half-hourly job', 'hourly job'):
            self.assertEqual(0, later)

    @ddt.data(*simulated.RISES)
    def test_rises_are_found_and_dated(self, during):
        seen = right = 0
        for load in simulated.ORDINARY:
            found = rises_of(load, during, RISES_OF_ORDINARY)
            seen, right = seen + found[0], right + found[1]
        count = RISES_OF_ORDINARY * len(simulated.ORDINARY)
        self.said(f'{seen} found and {right} right of {count}')
        self.assertGreaterEqual(seen, (0.8 if during else 0.95) * count)
        self.assertGreaterEqual(right, 0.8 * count)

    def test_causes_are_named_first(self):
        found = blamed()
        self.said(f'{sum(found)} of {len(found)}')
        self.assertGreaterEqual(sum(found), 0.8 * len(found))


def main():
    """Prints a row of the table for each load as it is done."""
    for load in simulated.LOADS:
        first, later = alarms_of(load)
        count = RISES_OF_ORDINARY if load in simulated.ORDINARY else RISES
        rises = []
        for during in simulated.RISES:
            seen, right = rises_of(load, during, count)
            rises.append(
                f'{100 * seen / count:.0f} ({100 * right / count:.0f})'
            )
        row = [load, str(first), f'{later:.1f}', *rises]
        print('   ' + ', '.join(row), flush=True)  # noqa: T201
    found = blamed()
    print(f'named first: {sum(found)} of {len(found)}')  # noqa: T201


if __name__ == '__main__':
    main()
