# SPDX-License-Identifier: Apache-2.0

"""Limits of the disks below a tier, next to the measured figures.

A table for Rally's report, next to those of ``tables``, and like them a view
of the result: no other report knows the disks that a task names.
"""

from collections.abc import Iterator
from collections.abc import Mapping

from cinder_tiers.figures.fleet import disk_estimate
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from rally_scenarios.plugins.report import tables

DISKS_TABLE_TITLE = 'CinderTiers: expected and measured IOPS of the disks'
DISKS_TABLE_COLUMNS = (
    'tier',
    'pattern',
    'guests',
    'disks',
    'IOPS of a disk',
    'replicas',
    'disk writes of a write',
    'IOPS expected',
    'IOPS measured',
    'measured %',
)


def _rows(
    result: run_result.RunResult, disks: Mapping[str, disk_estimate.Disks]
) -> Iterator[list]:
    for tier in result.tiers:
        below = disks.get(tier.tier)
        for found in tier.patterns:
            pattern = result.pattern_of(found)
            expected = below and disk_estimate.estimate_iops(below, pattern)
            if expected is None:
                continue
            iops = trust.estimate(found.slots, 'iops')
            yield [
                tier.tier,
                # As the profile has it: guests are in a column of their own.
                pattern.name,
                len(found.slots[0].guests),
                below.disks,
                below.iops_per_disk,
                below.replicas,
                below.disk_writes_per_write,
                round(expected, 1),
                *(
                    [tables.NO_NUMBER] * 2
                    if iops is None
                    else [
                        round(iops.mean, 1),
                        round(100 * iops.mean / expected, 1),
                    ]
                ),
            ]


def outputs(
    result: run_result.RunResult, disks: Mapping[str, disk_estimate.Disks]
) -> list[dict]:
    """A table for ``add_output(complete=)``.

    :param disks: {tier: its disks}, of tiers of which the task names them
    :returns: the table of the random patterns of these tiers; empty if there
        are none
    """
    rows = list(_rows(result, disks))
    if not rows:
        return []
    return [
        tables.table(
            DISKS_TABLE_TITLE,
            'Random patterns only. Expected: disks x IOPS of a disk / disk'
            ' I/Os of an I/O; a read is one, a write is replicas x disk writes'
            ' of a write',
            DISKS_TABLE_COLUMNS,
            rows,
        )
    ]
