# SPDX-License-Identifier: Apache-2.0

"""`openstack tier trend` of runs of which the truth is known.

Of 30 runs of a job each night, each deviates by 5 % and is correlated with the
one before. ``python -m tests.long.test_trend_simulated`` prints the table.
"""

import math

import ddt
import numpy
from scipy import signal
import testtools
from testtools import content as details

from cinder_tiers.loop.compare import trend
from tests.unit.loop.compare import test_trend

RUNS = 30
DEVIATION = 0.05
COMMANDS = 100
#: {correlation: share of commands}
MOST_FALSE = {0: 0.05, 0.3: 0.1, 0.6: 0.1}
#: Of the runs, before a change and after it.
LEAST_APART = 6


def levels(draw, correlation):
    scale = DEVIATION * math.sqrt(1 - correlation**2)
    noise = draw.normal(0, scale, RUNS + 100)
    return signal.lfilter([1], [1, -correlation], noise)[100:]


def findings(values):
    found = trend.over_time(
        test_trend.runs(*(1000 * numpy.exp(values))), ['iops']
    )
    return [each.finding for each in found]


def false_changes(correlation):
    """Count the commands that find a change where there is none."""
    draw = numpy.random.default_rng([40, round(100 * correlation)])
    return sum(
        not {trend.TrendFinding.WORSE, trend.TrendFinding.BETTER}.isdisjoint(
            findings(levels(draw, correlation))
        )
        for _command in range(COMMANDS)
    )


def found_changes():
    """Count the commands that find runs slower by a fifth."""
    draw = numpy.random.default_rng(41)
    found = 0
    for _command in range(COMMANDS):
        values = levels(draw, 0)
        place = draw.integers(LEAST_APART, RUNS - LEAST_APART)
        values[place:] -= math.log(1.2)
        found += trend.TrendFinding.WORSE in findings(values)
    return found


@ddt.ddt
class SimulatedTrendTestCase(testtools.TestCase):
    def said(self, share):
        self.addDetail('share', details.text_content(f'{share:.1%}'))

    # Of runs that each begin anew, no more than one of twenty.
    @ddt.data(*MOST_FALSE.items())
    @ddt.unpack
    def test_runs_without_a_change(self, correlation, most):
        false = false_changes(correlation)
        self.said(false / COMMANDS)
        self.assertLessEqual(false / COMMANDS, most)

    def test_a_change_by_a_fifth_is_found(self):
        found = found_changes()
        self.said(found / COMMANDS)
        self.assertGreaterEqual(found / COMMANDS, 0.8)


def main():
    """Prints percent of commands."""
    shares = {
        f'false with a correlation of {correlation}': false_changes(
            correlation
        )
        for correlation in MOST_FALSE
    }
    shares['slower by a fifth, and found'] = found_changes()
    for name, count in shares.items():
        print(f'    {name}: {100 * count / COMMANDS:.0f} %')  # noqa: T201


if __name__ == '__main__':
    main()
