# SPDX-License-Identifier: Apache-2.0

"""Computes sizes of pools from the answer to "ceph df". Pure."""

import collections.abc

_GIB = 2**30


def capacities(
    df: collections.abc.Mapping, *, is_dynamic: bool
) -> dict[str, tuple[float, float]]:
    """Sizes as Cinder's RBD driver computes them for one pool.

    :param df: answer to the command "df" with detail "detail".
    :param is_dynamic: `report_dynamic_total_capacity`.
    :returns: {RADOS pool: (free, total)}, both in GiB.
    """
    return {
        pool['name']: _capacity(
            pool['stats'],
            cluster_bytes=df['stats']['total_bytes'],
            is_dynamic=is_dynamic,
        )
        for pool in df['pools']
    }


def _capacity(
    stats: collections.abc.Mapping, *, cluster_bytes: int, is_dynamic: bool
) -> tuple[float, float]:
    used, free = stats['stored'], stats['max_avail']
    quota = stats['quota_bytes']
    total = cluster_bytes
    if quota:
        total = quota
        free = max(min(quota - used, free), 0)
    if is_dynamic:
        total = free + used
    return round(free / _GIB, 2), round(total / _GIB, 2)
