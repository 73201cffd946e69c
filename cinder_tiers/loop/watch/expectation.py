# SPDX-License-Identifier: Apache-2.0

"""Check that a watched tier meets its expected latencies.

The probe does one I/O of 4 KiB at a time at random places. So the limits of
latency apply that ``expect`` has for

* ``probe``, which is for the watch alone; or, for a direction that it has no
  limit of,
* ``randwrite-4k`` for writes and ``randread-4k`` for reads: what a fleet keeps
  many I/Os at a time to, one at a time has to keep to all the more. So a limit
  that is broken here is broken, and one that is met here may still be broken
  under full load.

A percentile is a share: p99 is met if at most one I/O in a hundred is slower.
By chance there are more now and then, so the limit is broken only if as many
are improbable (a binomial test). It is looked at in every window, hence the
small probability. A mean is broken if the whole interval of the means of the
windows is above the limit; the longest, by one I/O.

Pure.
"""

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
import enum
import fractions
import itertools
import math

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import fio_patterns
from cinder_tiers.figures.stats import distributions
from cinder_tiers.figures.stats import intervals
from cinder_tiers.loop.watch import series

#: {direction: pattern of the same I/O by a fleet}
_FLEET = {'write': 'randwrite-4k', 'read': 'randread-4k'}
#: Judged at least, in seconds.
PERIOD_S = 600.0
#: I/Os of a percentile's period, in slow ones that the limit allows: with
#: fewer, a tier that keeps to it could not be distinguished from one that
#: does not (the rule of three).
_LEAST_ALLOWED = 3
#: That a tier which just keeps to a percentile has so many slow I/Os.
LEAST_PROBABILITY = 0.0005
# Windows that a mean's interval rests on.
_LEAST_WINDOWS = 3


class LimitOutcome(enum.Enum):
    """Outcomes of an expectation."""

    MET = 'met'
    BROKEN = 'broken'
    CANNOT_TELL = 'cannot tell'


@dataclass(frozen=True, kw_only=True)
class LimitFinding:
    """A limit, and whether it is met."""

    #: pattern and name, such as ``probe.write_p99_ms_max``
    name: str
    outcome: LimitOutcome
    #: what was found and what the limit is
    text: str
    #: when the first slow window of the period began, seconds since the
    #: epoch; None if the limit is not broken
    since: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Limit:
    name: str
    limit: expectations.Limit
    value_ms: float
    directions: tuple[str, ...]

    def latencies_ms(self, window: series.TierWindow) -> list[float]:
        return [
            each
            for direction in self.directions
            for each in window.latencies_ms(direction)
        ]

    def of_each_window(
        self, windows: Sequence[series.TierWindow]
    ) -> list[list[float]]:
        of_directions = [
            series.latencies_ms(windows, direction)
            for direction in self.directions
        ]
        return [
            list(itertools.chain(*each))
            for each in zip(*of_directions, strict=True)
        ]


def limits(
    expect: expectations.Expectations,
) -> dict[str, float]:
    """The limits of a tier that the watch judges, by their full names.

    :returns: {pattern.limit: milliseconds}
    """
    return {each.name: each.value_ms for each in _limits(expect)}


def _limits(expect: expectations.Expectations) -> Iterator[_Limit]:
    own = list(_of_pattern(expect, fio_patterns.PROBE, series.DIRECTIONS))
    yield from own
    judged = {direction for each in own for direction in each.directions}
    for direction, pattern in _FLEET.items():
        if direction not in judged:
            yield from _of_pattern(expect, pattern, (direction,))


def _of_pattern(
    expect: expectations.Expectations,
    pattern: str,
    directions: tuple[str, ...],
) -> Iterator[_Limit]:
    for name, value in expect.get(pattern, {}).items():
        limit = expectations.find(name)
        if limit is None or limit.unit != 'ms':
            continue
        if limit.direction is not None and limit.direction not in directions:
            continue
        yield _Limit(
            name=f'{pattern}.{name}',
            limit=limit,
            value_ms=float(value),
            directions=(limit.direction,) if limit.direction else directions,
        )


def judge(
    expect: expectations.Expectations, windows: Sequence[series.TierWindow]
) -> list[LimitFinding]:
    """Judge whether each limit is met now.

    :param windows: windows in order of time; the latest one ends now
    :returns: empty if no limit applies to latencies of the probe's I/Os
    """
    return [_judged(each, windows) for each in _limits(expect)]


def _judged(
    limit: _Limit, windows: Sequence[series.TierWindow]
) -> LimitFinding:
    if limit.limit.percent is not None:
        return _percentile(limit, windows)
    period = _period(limit, windows, least=0)
    if limit.limit.metric == 'lat_longest_ms':
        found = [
            each for some in limit.of_each_window(period) for each in some
        ]
        if not found:
            return _cannot_tell(limit, 'no I/O was done')
        return _finding(
            limit,
            period,
            is_broken=max(found) > limit.value_ms,
            text=f'the longest took {max(found):.4g} ms',
        )
    means = [
        sum(found) / len(found)
        for found in limit.of_each_window(period)
        if found
    ]
    if len(means) < _LEAST_WINDOWS:
        return _cannot_tell(limit, f'{len(means)} windows')
    estimate = intervals.estimate_mean(means)
    return _finding(
        limit,
        period,
        is_broken=estimate.low is not None and estimate.low > limit.value_ms,
        text=(
            f'mean {estimate.mean:.4g} ms ({estimate.low:.4g} to'
            f' {estimate.high:.4g})'
        ),
    )


def _percentile(
    limit: _Limit, windows: Sequence[series.TierWindow]
) -> LimitFinding:
    # As written: 99.9 has no exact binary fraction.
    share = 1 - fractions.Fraction(str(limit.limit.percent)) / 100
    least = math.ceil(_LEAST_ALLOWED / share)
    period = _period(limit, windows, least=least)
    found = [each for some in limit.of_each_window(period) for each in some]
    slow = sum(each > limit.value_ms for each in found)
    text = f'{slow} of {len(found)} took longer'
    probability = distributions.binomial_at_least(
        slow, len(found), float(share)
    )
    if slow and probability < LEAST_PROBABILITY:
        return _finding(limit, period, is_broken=True, text=text)
    if len(found) < least:
        return _cannot_tell(
            limit, f'{text}; expected at least {least} I/Os to tell'
        )
    return _finding(limit, period, is_broken=False, text=text)


def _period(
    limit: _Limit, windows: Sequence[series.TierWindow], *, least: int
) -> Sequence[series.TierWindow]:
    """The latest windows: some minutes, and with so many I/Os."""
    ios = 0
    counts = [len(each) for each in limit.of_each_window(windows)]
    for place in range(len(windows) - 1, -1, -1):
        age_s = windows[-1].began_at - windows[place].began_at
        # After a pause, those before it may be of another day.
        if age_s > PERIOD_S and ios >= least:
            return windows[place + 1 :]
        ios += counts[place]
        if age_s >= PERIOD_S - series.WINDOW_S and ios >= least:
            return windows[place:]
    return windows


def _finding(
    limit: _Limit,
    period: Sequence[series.TierWindow],
    *,
    is_broken: bool,
    text: str,
) -> LimitFinding:
    slow = [
        window.began_at
        for window in period
        if any(each > limit.value_ms for each in limit.latencies_ms(window))
    ]
    return LimitFinding(
        name=limit.name,
        outcome=LimitOutcome.BROKEN if is_broken else LimitOutcome.MET,
        text=f'{text}; limit {limit.value_ms:g} ms',
        since=slow[0] if is_broken and slow else None,
    )


def _cannot_tell(limit: _Limit, text: str) -> LimitFinding:
    return LimitFinding(
        name=limit.name,
        outcome=LimitOutcome.CANNOT_TELL,
        text=f'{text}; limit {limit.value_ms:g} ms',
    )
