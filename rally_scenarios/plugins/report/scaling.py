# SPDX-License-Identifier: Apache-2.0

"""What a matrix shows beyond its slots: more guests, and the disks below.

Tables and charts for Rally's report, beside those of ``tables``, and as they
a view of the result.  Only repeats in which all guests of the step are
complete are in a figure.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import disk_estimate
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from rally_scenarios.plugins.report import charts as report_charts
from rally_scenarios.plugins.report import tables

SCALING_TABLE_TITLE = 'CinderTiers: scaling with guests'
SCALING_TABLE_COLUMNS = (
    'tier',
    'pattern',
    'guests',
    'repeats',
    'IOPS',
    'MiB/s',
    'IOPS of a guest',
    "% of the first step's",
    'p99 ms',
)
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


@dataclass(frozen=True, kw_only=True)
class _Cell:
    """One tier, pattern and number of guests over all repeats."""

    tier: str
    #: as the profile has it: without the step in its name
    pattern: fio_pattern.Pattern
    found: run_result.PatternResult

    @property
    def guests(self) -> int:
        return len(self.found.slots[0].guests)

    @property
    def iops(self) -> float | None:
        found = trust.estimate(self.found.slots, 'iops')
        return found and found.mean

    @property
    def p99_ms(self) -> float | None:
        found_ns = trust.merged_percentile_ns(self.found.slots, 99)
        return None if found_ns is None else report_charts.in_ms(found_ns)


def _cells(result: run_result.RunResult) -> list[_Cell]:
    return [
        _Cell(
            tier=tier.tier, pattern=result.pattern_of(pattern), found=pattern
        )
        for tier in result.tiers
        for pattern in tier.patterns
    ]


def _scaling_rows(cells: Sequence[_Cell]) -> Iterator[list]:
    first: dict[tuple[str, str], float] = {}
    for cell in cells:
        found = cell.found
        row = [
            cell.tier,
            cell.pattern.name,
            cell.guests,
            f'{found.complete_repeats} of {len(found.slots)}',
        ]
        if not found.complete_repeats:
            yield row + [tables.NO_NUMBER] * 5
            continue
        each = cell.iops / cell.guests
        # The first step that is complete: a later one is its share.
        alone = first.setdefault((cell.tier, cell.pattern.name), each)
        yield row + [
            round(cell.iops, 1),
            round(trust.estimate(found.slots, 'mib_per_s').mean, 2),
            round(each, 1),
            round(100 * each / alone, 1) if alone else tables.NO_NUMBER,
            tables.NO_NUMBER if cell.p99_ms is None else cell.p99_ms,
        ]


def _scaling_charts(cells: Sequence[_Cell]) -> list[dict]:
    charts = []
    for name in dict.fromkeys(cell.pattern.name for cell in cells):
        lines: dict[str, list[_Cell]] = {}
        for cell in cells:
            if cell.pattern.name == name and cell.found.complete_repeats:
                lines.setdefault(cell.tier, []).append(cell)
        if not lines:
            continue
        charts += [
            {
                'title': f'IOPS against guests: {name}',
                'chart_plugin': 'Lines',
                'description': 'All running guests of the tier together, mean'
                ' over the repeats',
                'data': [
                    [
                        tier,
                        [[cell.guests, round(cell.iops, 1)] for cell in line],
                    ]
                    for tier, line in lines.items()
                ],
                'label': 'IOPS',
                'axis_label': 'guests',
            },
            {
                'title': f'p99 against guests: {name}',
                'chart_plugin': 'Lines',
                'description': 'Merged over all running guests and repeats',
                'data': [
                    [
                        tier,
                        [
                            [cell.guests, cell.p99_ms]
                            for cell in line
                            if cell.p99_ms is not None
                        ],
                    ]
                    for tier, line in lines.items()
                    if any(cell.p99_ms is not None for cell in line)
                ],
                'label': 'completion latency, ms',
                'axis_label': 'guests',
            },
        ]
    return [chart for chart in charts if chart['data']]


def _disk_rows(
    cells: Sequence[_Cell], disks: Mapping[str, disk_estimate.Disks]
) -> Iterator[list]:
    for cell in cells:
        below = disks.get(cell.tier)
        expected = below and disk_estimate.estimate_iops(below, cell.pattern)
        if expected is None:
            continue
        iops = cell.iops
        yield (
            [
                cell.tier,
                cell.pattern.name,
                cell.guests,
                below.disks,
                below.iops_per_disk,
                below.replicas,
                below.disk_writes_per_write,
                round(expected, 1),
                *(
                    [tables.NO_NUMBER] * 2
                    if iops is None
                    else [round(iops, 1), round(100 * iops / expected, 1)]
                ),
            ]
        )


def outputs(
    result: run_result.RunResult, disks: Mapping[str, disk_estimate.Disks]
) -> list[dict]:
    """Tables and charts for ``add_output(complete=)``.

    :param disks: {tier: its disks}, of tiers of which the task names them
    :returns: if guests ran in steps, a table and two charts a pattern; if
        disks are known, a table of the random patterns of their tiers
    """
    found = []
    if not (result.has_guest_steps or disks):
        return found
    cells = _cells(result)
    if result.has_guest_steps:
        found += [
            tables.table(
                SCALING_TABLE_TITLE,
                f'Each is the {trust.MEAN}',
                SCALING_TABLE_COLUMNS,
                _scaling_rows(cells),
            ),
            *_scaling_charts(cells),
        ]
    rows = list(_disk_rows(cells, disks))
    if rows:
        found.append(
            tables.table(
                DISKS_TABLE_TITLE,
                'Random patterns only. Expected: disks x IOPS of a disk /'
                ' disk I/Os of an I/O; a read is one, a write is replicas x'
                ' disk writes of a write',
                DISKS_TABLE_COLUMNS,
                rows,
            )
        )
    return found
