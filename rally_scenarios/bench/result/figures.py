# SPDX-License-Identifier: Apache-2.0

"""One figure of one repeat, by the names that expectations have for it.

Pure.  Limits, orders and comparisons are about these figures and no others.
"""

from collections.abc import Sequence
import fractions
import math

from cinder_tiers.domain.catalog import expectations
from rally_scenarios.bench.result import result as run_result

# Completions above a percentile, in each repeat: with less, where it lies is
# the luck of a few I/Os (its relative error is about 1 / sqrt of them).
_LEAST_ABOVE = 10
# From one of fio's buckets to the next, see ``fio.histogram``.
_BUCKET_WIDTH = 1 / 64


def complete(
    slots: Sequence[run_result.SlotResult],
) -> list[run_result.SlotResult]:
    """The repeats in which all guests are complete."""
    return [
        slot
        for slot in slots
        if slot.merged is not None and slot.merged.guests == len(slot.guests)
    ]


def quantity(name: str) -> expectations.Limit | None:
    """What is meant by ``iops``, ``mib_per_s``, ``mean_ms``, ``p99_ms``.

    :returns: as a limit of it, which knows the unit and which way is better;
        None if there is none, or if it is not one figure of all guests
    """
    if name in ('guest_iops', 'fairness'):
        return None
    return expectations.find(f'{name}_min') or expectations.find(f'{name}_max')


def figure(
    slot: run_result.SlotResult, limit: expectations.Limit
) -> float | None:
    """The limited quantity of a repeat, in the unit of the limit.

    :param slot: in which a guest is complete
    :returns: None if it has no such figure
    """
    merged = slot.merged
    if limit.percent is not None:
        return merged.clat.histogram().percentile_ns(limit.percent) / 1e6
    if limit.quantity == 'guest_iops':
        choose = min if limit.is_least else max
        return choose(guest.iops for guest in slot.guests)
    if limit.quantity == 'mean_ms':
        bins = merged.clat.bins
        return (
            math.fsum(ns * count for ns, count in bins)
            / sum(count for _ns, count in bins)
            / 1e6
        )
    return {
        'iops': merged.iops,
        'fairness': merged.fairness,
        'mib_per_s': merged.bw_bytes / 1024**2,
    }[limit.quantity]


def too_few_ios(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> str:
    """Why a percentile rests on too few I/Os; empty if it does not.

    :param slots: in which all guests are complete, at least one
    :param limit: of any quantity
    """
    if limit.percent is None:
        return ''
    least = min(slot.merged.clat.histogram().count for slot in slots)
    # As written: 99.9 has no exact binary fraction.
    share = 1 - fractions.Fraction(str(limit.percent)) / 100
    above = math.floor(least * share)
    if above >= _LEAST_ABOVE:
        return ''
    needed = math.ceil(_LEAST_ABOVE / share)
    return (
        f'a repeat has {least} I/Os, of which {above} are above'
        f' p{limit.percent:g}: expected at least {needed} I/Os'
    )


def resolution(
    slots: Sequence[run_result.SlotResult], limit: expectations.Limit
) -> float:
    """Relative width of what cannot be distinguished.

    :param slots: in which all guests are complete, at least one
    :param limit: of any quantity
    """
    if limit.unit == 'ms':
        return _BUCKET_WIDTH
    # One I/O more or less was counted.
    return 1 / min(slot.merged.clat.histogram().count for slot in slots)
