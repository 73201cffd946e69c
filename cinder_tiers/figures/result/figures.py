# SPDX-License-Identifier: Apache-2.0

"""Figures of a repeat, by the names used in expectations.

Pure.  Limits, orders and comparisons are about these figures and no others.
"""

from collections.abc import Sequence
import fractions
import math

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.result import result as run_result

#: Completions above a percentile, in each repeat: with less, where it lies is
#: the luck of a few I/Os (its relative error is about 1 / sqrt of them).
LEAST_ABOVE = 10
#: What a run lacks of which a pattern has no sound result.
NONE_COMPLETE = 'no repeat in which all guests are complete'
# From one of fio's buckets to the next, see ``fio.histogram``.
BUCKET_WIDTH = 1 / 64


def complete(
    slots: Sequence[run_result.SlotResult],
) -> list[run_result.SlotResult]:
    """The repeats in which all guests are complete."""
    return [
        slot
        for slot in slots
        if slot.merged is not None and slot.merged.guests == len(slot.guests)
    ]


def is_about(
    limit: expectations.Limit,
    run: run_result.RunResult,
    pattern: run_result.PatternResult,
) -> bool:
    """Return whether a limit applies to a pattern: reads have no writes.

    :param limit: limit of any quantity
    :param run: run with the pattern; a pattern that its profile does not name
        may do anything, but has no syncs if none was counted
    """
    if limit.direction is None:
        return True
    try:
        found = run.pattern_of(pattern)
    except ValueError:
        return limit.direction != expectations.SYNC or any(
            slot.merged and slot.merged.syncs for slot in pattern.slots
        )
    if limit.direction == expectations.SYNC:
        return found.writes_per_sync is not None
    return limit.direction in found.directions


def _directions(
    merged: run_result.MergedFigures, limit: expectations.Limit
) -> list[run_result.DirectionFigures]:
    """Return the directions to which a limit applies."""
    return [
        figures
        for name, figures in (merged.directions or {}).items()
        if limit.direction in (None, name)
    ]


def clat_of(
    merged: run_result.MergedFigures, limit: expectations.Limit
) -> run_result.Latencies | None:
    """Completion latencies that a limit is about; None: there are none."""
    if limit.direction is None:
        return merged.clat
    if limit.direction == expectations.SYNC:
        return merged.syncs.lat if merged.syncs else None
    found = _directions(merged, limit)
    # The only direction has those of all, which are not written twice.
    return (found[0].clat or merged.clat) if found else None


def _ios(merged: run_result.MergedFigures, limit: expectations.Limit) -> int:
    """Return the number of I/Os to which a limit applies."""
    clat = clat_of(merged, limit)
    return clat.histogram().count if clat else 0


def _total_latency_ms(
    merged: run_result.MergedFigures, limit: expectations.Limit
) -> float | None:
    found = [each for each in _directions(merged, limit) if each.total_ios]
    if not found:
        return None
    if limit.metric == 'lat_longest_ms':
        return max(each.lat_moments.max_ns for each in found) / 1e6
    return _mean_ms([(each.lat_moments, each.total_ios) for each in found])


def _mean_ms(found: Sequence[tuple[run_result.Moments, int]]) -> float:
    """Return the mean latency in ms, weighted by I/Os."""
    return (
        math.fsum(moments.mean_ns * ios for moments, ios in found)
        / sum(ios for _moments, ios in found)
        / 1e6
    )


def _throughput(
    merged: run_result.MergedFigures, limit: expectations.Limit
) -> float | None:
    """IOPS or MiB/s; 0 if there was no I/O of the direction."""
    found = [merged] if limit.direction is None else _directions(merged, limit)
    if not found and merged.directions is None:
        return None
    if limit.metric == 'iops':
        return math.fsum(each.iops for each in found)
    return sum(each.bw_bytes for each in found) / 1024**2


def _share(percent: float) -> fractions.Fraction:
    """Return the complement of a percentage, exactly: 99.9 is not binary."""
    return 1 - fractions.Fraction(str(percent)) / 100


def ios_needed(percent: float) -> int:
    """I/Os of which enough are above a percentile to say where it lies.

    >>> ios_needed(99), ios_needed(99.9), ios_needed(50)
    (1000, 10000, 20)
    """
    return math.ceil(LEAST_ABOVE / _share(percent))


def has_percentile(ios: int, percent: float) -> bool:
    """Return whether a number of I/Os suffices for a percentile.

    :param ios: I/Os of one repeat, of all guests together or of one guest
    :param percent: 1 or more, less than 100
    """
    return ios >= ios_needed(percent)


def _iops_of_time(slot: run_result.SlotResult, percent: float) -> float | None:
    """IOPS that so many percent of the seconds reached; None without any."""
    if not slot.series:
        return None
    ascending = sorted(iops for _begin_ms, iops in slot.series)
    return ascending[math.floor(len(ascending) * _share(percent))]


def figure(
    slot: run_result.SlotResult, limit: expectations.Limit
) -> float | None:
    """Return the limited quantity of a repeat, in the unit of the limit.

    :param slot: a slot with a complete guest
    :returns: None if the figure does not exist: no I/O had a latency or could
        be shared, or the result lacks it (``not_told``)
    """
    if limit.time_percent is not None:
        return _iops_of_time(slot, limit.time_percent)
    if limit.metric == 'guest_iops':
        known = [each.iops for each in slot.guests if each.iops is not None]
        if len(known) < len(slot.guests):
            return None
        return min(known) if limit.is_least else max(known)
    merged = slot.measured
    if limit.metric in ('iops', 'mib_per_s'):
        return _throughput(merged, limit)
    if limit.metric in ('lat_mean_ms', 'lat_longest_ms'):
        return _total_latency_ms(merged, limit)
    if limit.metric == 'fairness':
        return merged.fairness
    clat = clat_of(merged, limit)
    if clat is None:
        return None
    if limit.percent is not None:
        return clat.histogram().percentile_ns(limit.percent) / 1e6
    if limit.direction == expectations.SYNC and merged.syncs:
        return merged.syncs.moments.mean_ns / 1e6
    told = [each for each in _directions(merged, limit) if each.total_ios]
    if told:
        # By fio itself: its buckets end somewhere, see ``histogram``.
        return _mean_ms([(each.clat_moments, each.total_ios) for each in told])
    return (
        math.fsum(ns * count for ns, count in clat.bins)
        / sum(count for _ns, count in clat.bins)
        / 1e6
    )


def of_complete(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> list[float]:
    """The limited quantity of each repeat in which all guests are complete.

    :returns: none if one of these has no such figure
    """
    found = [figure(slot, limit) for slot in complete(slots)]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else []


def not_told(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> str:
    """Explain why a result lacks a quantity; empty if it may have it.

    :param slots: slots in which all guests are complete
    :param limit: limit of any quantity
    """
    if limit.time_percent is not None:
        if all(slot.series for slot in slots):
            return ''
        return 'the result does not have the IOPS of each second of all guests'
    if limit.metric == 'guest_iops':
        if all(each.iops is not None for s in slots for each in s.guests):
            return ''
        return 'the result does not have the IOPS of each guest'
    if limit.direction == expectations.SYNC:
        if all(slot.measured.syncs for slot in slots):
            return ''
        return (
            'the result has no latencies of syncs: expected one of a pattern'
            ' with fdatasync or fsync, measured since they are counted'
        )
    needs_directions = limit.direction or limit.metric.startswith('lat_')
    if needs_directions and any(
        slot.measured.directions is None for slot in slots
    ):
        return (
            'the result does not tell reads from writes, and has no total'
            ' latency: expected one of a job without unified_rw_reporting'
        )
    return ''


def too_long_for_fio(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> str:
    """Explain why a figure may be larger than shown; empty if it is not.

    :param slots: slots with the figure in which all guests are complete
    :param limit: limit of any quantity
    """
    if limit.percent is None:
        return ''
    for slot in slots:
        merged = slot.measured
        clat = clat_of(merged, limit)
        moments = [each.clat_moments for each in _directions(merged, limit)]
        if limit.direction == expectations.SYNC and merged.syncs:
            moments = [merged.syncs.moments]
        longest_ns = max((each.max_ns for each in moments), default=0)
        if (
            clat
            and longest_ns > histogram.MOST_NS
            and clat.bins[-1][0] == histogram.LAST_BUCKET_NS
            and clat.histogram().percentile_ns(limit.percent)
            == histogram.LAST_BUCKET_NS
        ):
            return (
                f'fio counts all above {histogram.MOST_NS / 1e9:.1f} s in one'
                f' bucket, and the longest was {longest_ns / 1e9:.1f} s'
            )
    return ''


def nothing_done(limit: expectations.Limit) -> str:
    """A sentence: there was no I/O of the kind that a limit is about."""
    return {
        None: 'no I/O was done',
        'read': 'nothing was read',
        'write': 'nothing was written',
        expectations.SYNC: 'nothing was synced',
    }[limit.direction]


def too_few_ios(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> str:
    """Explain why a figure is based on too few I/Os; empty if it is not.

    A percentile needs some I/Os above it.  For one direction of a mix, any
    figure needs some: it may be a small part of all I/Os.  IOPS reached in a
    share of the seconds need enough seconds that one may be left out.

    :param slots: at least one, with the figure, in which all guests are
        complete
    :param limit: limit of any quantity
    """
    if limit.time_percent is not None:
        found = min(len(slot.series) for slot in slots)
        needed = math.ceil(1 / _share(limit.time_percent))
        if found >= needed:
            return ''
        return (
            f'a repeat has {found} s, of which none is beyond'
            f' {limit.time_percent:g} %: expected at least {needed} s'
        )
    if limit.percent is None and limit.direction is None:
        return ''
    what = f'{limit.direction}s' if limit.direction else 'I/Os'
    least = min(_ios(slot.measured, limit) for slot in slots)
    if limit.percent is None:
        if least >= LEAST_ABOVE:
            return ''
        return f'a repeat has {least} {what}: expected at least {LEAST_ABOVE}'
    if has_percentile(least, limit.percent):
        return ''
    return (
        f'a repeat has {least} {what}, of which'
        f' {math.floor(least * _share(limit.percent))} are above'
        f' p{limit.percent:g}: expected at least'
        f' {ios_needed(limit.percent)} {what}'
    )


def resolution(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> float:
    """Return the relative width of differences that cannot be seen.

    Total latencies have no buckets, but the same width applies to them: a
    cautious claim needs no finer one.

    :param slots: at least one, in which all guests are complete
    :param limit: limit of any quantity
    """
    if limit.unit == 'ms':
        return BUCKET_WIDTH
    # One I/O more or less was counted.
    return 1 / min(_ios(slot.measured, limit) or 1 for slot in slots)
