# SPDX-License-Identifier: Apache-2.0

"""Verdict on a watched tier: problems, their begin, and circumstances.

Pure.
"""

import bisect
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
import enum
import itertools
import math
import statistics

import numpy

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import circumstances
from cinder_tiers.loop.watch import expectation
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import usual

#: An I/O that has no completion for so long is said to hang, in seconds.
HANGS_S = 10.0
#: A greater latency that has lasted so long is what the tier now has; only an
#: expectation still says that it is too great.
REMEMBERED_S = 3600.0
#: But it is said of as many windows at least: a change is found in the 14th
#: one on the new level, which is later than that if there are few in an hour.
REMEMBERED_WINDOWS = 2 * change.SHORT


class TierState(enum.Enum):
    """States of a tier, the worst first."""

    HANGS = 'hangs'
    FAILS = 'fails'
    BROKEN = 'expectation broken'
    SLOWER = 'slower'
    UNKNOWN = 'cannot tell'
    SOUND = 'as expected'


@dataclass(frozen=True, kw_only=True)
class TierVerdict:
    """Verdict on a tier at the end of its latest window."""

    state: TierState
    #: when it began, seconds since the epoch; None if nothing is wrong
    since: float | None = None
    #: what was found, a sentence for each thing
    reasons: tuple[str, ...] = ()
    #: what else changed at that time, nearest first
    circumstances: tuple[str, ...] = ()
    #: whether each expectation is met
    findings: tuple[expectation.LimitFinding, ...] = ()


def added(
    kept: series.Series,
    window: series.TierWindow,
    expect: expectations.Expectations,
    *,
    least_percent: float = change.LEAST_PERCENT,
) -> tuple[series.Series, TierVerdict]:
    """Return a series with one more window, and the verdict on the tier.

    :param kept: series of the tier so far
    :param window: the latest window; if the clock was set back before it,
        later entries of the series are dropped
    :param least_percent: minimum increase of a latency to report
    """
    kept = _until(kept, window.began_at)
    windows = (*kept.windows, window)[-series.MOST_WINDOWS :]
    changed = replace(kept, windows=windows)
    for direction in series.DIRECTIONS:
        changed = _compared(changed, direction, least_percent)
    findings = expectation.judge(expect, windows)
    changed = replace(
        changed,
        changes=changed.changes[-series.MOST_CHANGES :],
        broken_since={
            each.name: kept.broken_since.get(each.name, each.since)
            for each in findings
            if each.since is not None
        },
    )
    return changed, verdict(changed, findings, least_percent=least_percent)


def _until(kept: series.Series, moment: float) -> series.Series:
    """Return the entries of a series before a moment.

    With later ones, a tier would be slower "since" a future time until that
    has passed, and changes until then would be missed.

    :param moment: seconds since the epoch
    """
    return replace(
        kept,
        windows=tuple(each for each in kept.windows if each.began_at < moment),
        changes=tuple(each for each in kept.changes if each.since < moment),
        broken_since={
            name: since
            for name, since in kept.broken_since.items()
            if since < moment
        },
        hours=tuple(
            each for each in kept.hours or () if each.number * 3600 < moment
        ),
    )


def _compared(
    kept: series.Series, direction: str, least_percent: float
) -> series.Series:
    """A series with what its latest window says of reads or writes."""
    last = kept.last_change(direction)
    measured = [
        (window.began_at, level)
        for window in kept.windows
        if (level := window.level(direction)) is not None
    ]
    now = kept.windows[-1].began_at
    if not measured or measured[-1][0] != now:
        return kept
    began_at = [moment for moment, _ in measured]
    first = 0 if last is None else bisect.bisect_left(began_at, last.since)
    if len(began_at) - first < change.LEAST_WINDOWS:
        return kept
    levels = numpy.array([level for _, level in measured])
    hours = kept.hours or ()
    found = usual.unusual(
        hours,
        direction=direction,
        began_at=began_at,
        levels=levels,
        first=first,
        least_percent=least_percent,
    )
    if found is not None:
        since = began_at[found.index]
        one = series.LevelChange(
            direction=direction,
            since=since,
            before_ms=math.exp(found.before),
            after_ms=math.exp(found.after),
            circumstances=circumstances.around(kept.windows, since, until=now),
            found_at=now,
        )
        kept = replace(kept, changes=(*kept.changes, one))
    return replace(
        kept,
        hours=usual.noted(
            hours, direction=direction, moment=now, levels=levels
        ),
    )


def verdict(
    kept: series.Series,
    findings: Sequence[expectation.LimitFinding],
    *,
    least_percent: float = change.LEAST_PERCENT,
) -> TierVerdict:
    """Return the verdict on a tier at the end of its latest window.

    :param kept: series with at least one window
    :param least_percent: see ``added``
    """
    wrong = sorted(_wrong(kept, findings, least_percent), key=_rank)
    if wrong:
        since = wrong[0][1]
        return TierVerdict(
            state=wrong[0][0],
            since=since,
            reasons=tuple(text for _, _, text in wrong),
            circumstances=_named(kept, since),
            findings=tuple(findings),
        )
    unknown = [
        f'{each.name}: {each.text}'
        for each in findings
        if each.outcome is expectation.LimitOutcome.CANNOT_TELL
    ]
    least = change.LEAST_BEFORE + change.SHORT
    if len(kept.windows) < least:
        unknown.append(
            f'{len(kept.windows)} windows: a change of the latency is seen '
            f'from {least} on'
        )
    return TierVerdict(
        state=TierState.UNKNOWN if unknown else TierState.SOUND,
        reasons=tuple(unknown),
        findings=tuple(findings),
    )


def _is_remembered(kept: series.Series, found: series.LevelChange) -> bool:
    """Return whether a change is still said."""
    after = sum(window.began_at >= found.since for window in kept.windows)
    last_said = max(found.since, found.found_at or 0.0)
    return (
        kept.windows[-1].began_at - last_said <= REMEMBERED_S
        or after <= REMEMBERED_WINDOWS
    )


def _rank(wrong: tuple[TierState, float, str]) -> int:
    return list(TierState).index(wrong[0])


def _named(kept: series.Series, since: float) -> tuple[str, ...]:
    """Return the circumstances recorded with a change, or those seen now."""
    for each in kept.changes:
        if each.since == since:
            return each.circumstances
    return circumstances.around(kept.windows, since)


def _rise(
    kept: series.Series, direction: str, least_percent: float
) -> series.LevelChange | None:
    """The latest greater latency that a tier still has.

    What rose and fell again by a part is still greater than before it rose.
    What came back need not be a change of its own: a level of a few minutes is
    too short to be one side of a change.

    :returns: None without one within the time that is remembered
    """
    # By half of what makes a change: each window has noise of its own.
    least = math.log1p(least_percent / 100) / 2

    def is_above(level: float, rise: series.LevelChange) -> bool:
        return level - math.log(max(rise.before_ms, 1e-3)) >= least

    rises: list[series.LevelChange] = []
    for each in sorted(kept.changes, key=lambda change_: change_.since):
        if each.direction != direction or not _is_remembered(kept, each):
            continue
        after = math.log(max(each.after_ms, 1e-3))
        rises = [rise for rise in rises if is_above(after, rise)]
        if each.is_worse:
            rises.append(each)
        elif rises:
            rises[-1] = replace(rises[-1], after_ms=each.after_ms)
    levels = itertools.islice(
        (
            level
            for window in reversed(kept.windows)
            if (level := window.level(direction)) is not None
        ),
        change.LEAST_WINDOWS,
    )
    if not rises or not (latest := list(levels)):
        return None
    present = statistics.median(latest)
    return next(
        (rise for rise in reversed(rises) if is_above(present, rise)), None
    )


def _wrong(
    kept: series.Series,
    findings: Sequence[expectation.LimitFinding],
    least_percent: float,
) -> Iterator[tuple[TierState, float, str]]:
    """(state, since when, sentence) of each thing that is wrong."""
    last = kept.windows[-1]
    if last.pending_s >= HANGS_S:
        yield (
            TierState.HANGS,
            last.began_at + series.WINDOW_S - last.pending_s,
            f'a {last.pending} has no completion for {last.pending_s:.0f} s',
        )
    if last.failed:
        yield (
            TierState.FAILS,
            last.began_at,
            f'{last.failed} I/Os of the last window ended with an error',
        )
    for each in findings:
        if each.outcome is expectation.LimitOutcome.BROKEN:
            yield (
                TierState.BROKEN,
                kept.broken_since[each.name],
                f'{each.name}: {each.text}',
            )
    for direction in series.DIRECTIONS:
        rise = _rise(kept, direction, least_percent)
        if rise is not None:
            yield (
                TierState.SLOWER,
                rise.since,
                f'the median latency of a {direction} went from '
                f'{rise.before_ms:.3g} to {rise.after_ms:.3g} ms',
            )
