# SPDX-License-Identifier: Apache-2.0

"""One figure of one repeat, by the names that expectations have for it.

Pure.  Limits, orders and comparisons are about these figures and no others.
"""

from collections.abc import Sequence
import math

from cinder_tiers.domain.catalog import expectations
from rally_scenarios.bench.result import result as run_result


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
