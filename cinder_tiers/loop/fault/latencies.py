# SPDX-License-Identifier: Apache-2.0

"""Percentiles of latency before, during and after a fault.

Latencies are those of windows of a few seconds (``result.LatencyWindow``). A
window belongs to the time before the faults if it ends before the first one
begins; to the time after a fault if it begins after its end and ends before
the next fault begins; and to the fault if it overlaps it.  Histograms are
merged, percentiles never averaged.

This module must not know what the fault was, nor where windows came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.fault import response

PERCENT = 99.0


@dataclass(frozen=True, kw_only=True)
class LatencyPart:
    """Latencies of a part of a run."""

    #: I/Os that were counted
    ios: int
    #: the percentile; None of too few I/Os
    percentile_ms: float | None


@dataclass(frozen=True, kw_only=True)
class FaultLatencies:
    """The percentile before, during and after a fault."""

    before: LatencyPart
    during: LatencyPart
    after: LatencyPart

    def reasons(self, percent: float = PERCENT) -> tuple[str, ...]:
        """Explain why parts are not known, a text for each."""
        return tuple(
            f'p{percent:g} {name}: {part.ios} I/Os, expected at least'
            f' {figures.ios_needed(percent)}'
            for name, part in (
                ('before', self.before),
                ('during', self.during),
                ('after', self.after),
            )
            if part.percentile_ms is None
        )


def _part(
    windows: Sequence[run_result.LatencyWindow], percent: float
) -> LatencyPart:
    merged = histogram.merge(each.histogram() for each in windows)
    ios = merged.count
    return LatencyPart(
        ios=ios,
        percentile_ms=merged.percentile_ns(percent) / 1e6
        if ios >= figures.ios_needed(percent)
        else None,
    )


def around_each(
    windows: Sequence[run_result.LatencyWindow],
    spans: Sequence[response.Span],
    percent: float = PERCENT,
) -> tuple[FaultLatencies, ...]:
    """Return the percentile around each of several faults.

    :param windows: windows of the requested directions, in any order
    :param spans: spans of the faults, on the clock of the windows in seconds,
        in any order
    :param percent: percentile, greater than 0, less than 100
    :returns: latencies in the order of the spans
    """
    first_s = min(
        (each.began_at - each.clock_error_s for each in spans),
        default=math.inf,
    )
    before = _part(
        [each for each in windows if each.end_ms / 1000 <= first_s], percent
    )
    found = []
    for span in spans:
        begin_s = span.began_at - span.clock_error_s
        end_s = span.ended_at + span.clock_error_s
        next_s = min(
            (
                each.began_at - each.clock_error_s
                for each in spans
                if each.began_at > span.began_at
            ),
            default=math.inf,
        )
        found.append(
            FaultLatencies(
                before=before,
                during=_part(
                    [
                        each
                        for each in windows
                        if each.begin_ms / 1000 < end_s
                        and each.end_ms / 1000 > begin_s
                    ],
                    percent,
                ),
                after=_part(
                    [
                        each
                        for each in windows
                        if each.begin_ms / 1000 >= end_s
                        and each.end_ms / 1000 <= next_s
                    ],
                    percent,
                ),
            )
        )
    return tuple(found)
