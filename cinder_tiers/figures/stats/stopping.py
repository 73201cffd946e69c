# SPDX-License-Identifier: Apache-2.0

"""Rule for ending repeats: an interval is narrow, or the limit is reached.

Whoever looks at an interval after each repeat and stops as soon as it is
narrow stops too often where a few repeats are alike by chance: simulated, the
ordinary 95 % interval then contains the truth in 90 to 92 % of runs, and two
such runs of the same storage differ at 5 % in 9 to 12 %.  So

* there are few looks, planned before: after 4 repeats, then after a quarter
  more, an even number of them each time, since of each two repeats every tier
  is before every other one once (``fleet.schedule``);
* intervals of such a run, those that stop it and those that are reported, are
  Student's at 97.5 %: simulated, with true deviations from a fifth to three
  times of the wanted width and up to 20 repeats, they contain the truth in at
  least 95 % of runs; and
* the probabilities of a comparison are multiplied by the number of planned
  looks (Bonferroni: whatever made a run stop, it is one of so many results).

What stops is the width alone and never the mean, so the mean has no bias
(of normal values, mean and deviation are independent).

Must not know what the values are of.
"""

from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
import math

from cinder_tiers.figures.stats import intervals

#: Before the first look; fewer show next to nothing of the noise.
LEAST_REPEATS = 4
MOST_REPEATS = 100
_GROWTH = 1.25


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """Rule that ends the repeats."""

    #: half of each interval of IOPS, in percent of the mean, at most
    interval_percent: float
    #: likewise of p99; None: it does not matter
    p99_interval_percent: float | None = None
    #: then they end, however wide intervals are
    most_repeats: int = 12

    def __post_init__(self) -> None:
        """Check all fields.

        :raises ValueError: names every wrong field
        """
        wrong = [
            f'{name} {value:g}: expected more than 0 and less than 100'
            for name, value in (
                ('interval_percent', self.interval_percent),
                ('p99_interval_percent', self.p99_interval_percent),
            )
            if value is not None and not 0 < value < 100
        ]
        if not LEAST_REPEATS < self.most_repeats <= MOST_REPEATS:
            wrong.append(
                f'most_repeats {self.most_repeats}: expected'
                f' {LEAST_REPEATS + 1} to {MOST_REPEATS}; with'
                f' {LEAST_REPEATS} repeats or fewer, name their number in'
                f' repeats'
            )
        if wrong:
            raise ValueError(f'stop_when: {"; ".join(wrong)}')

    @property
    def looks(self) -> tuple[int, ...]:
        """Repeats after which there is a look; the last is most_repeats."""
        found = [LEAST_REPEATS]
        while found[-1] < self.most_repeats:
            more = math.ceil(found[-1] * _GROWTH)
            found.append(min(more + more % 2, self.most_repeats))
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class RepeatSeries:
    """Figures of the repeats so far, of which one interval is made."""

    #: what they are, such as ``general randwrite-4k: IOPS``
    name: str
    #: one of each repeat
    values: tuple[float, ...]
    #: half of the interval in percent of the mean, at most
    limit_percent: float
    #: relative width of what cannot be told apart
    resolution: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Wide:
    """An interval that is wider than it is to be."""

    #: of the series
    name: str
    #: half of it in percent of the mean; infinite if it is not known
    half_percent: float
    #: what it is to be, at most
    limit_percent: float

    def __str__(self) -> str:
        if math.isinf(self.half_percent):
            return f'{self.name}: no interval'
        return (
            f'{self.name}: +-{self.half_percent:.1f} %, expected at most'
            f' +-{self.limit_percent:g} %'
        )


def _half_percent(series: RepeatSeries, looks: int) -> float:
    if not series.values:
        return math.inf
    found = intervals.estimate_mean(series.values, looks=looks)
    if found.high is None or not found.mean > 0:
        return math.inf
    # Repeats in one bucket scatter by what cannot be seen.
    least = series.resolution / math.sqrt(12) / math.sqrt(found.values)
    return 100 * max(
        (found.high - found.mean) / found.mean,
        least * intervals.quantile(found.values - 1, looks=looks),
    )


def wide(series: Iterable[RepeatSeries], *, looks: int) -> Sequence[Wide]:
    """Return the intervals that are too wide, the widest first.

    :param series: all series to which the rule applies
    :param looks: number of planned looks
    """
    found = [
        Wide(
            name=each.name,
            half_percent=_half_percent(each, looks),
            limit_percent=each.limit_percent,
        )
        for each in series
    ]
    return sorted(
        (each for each in found if each.half_percent > each.limit_percent),
        key=lambda each: -each.half_percent / each.limit_percent,
    )
