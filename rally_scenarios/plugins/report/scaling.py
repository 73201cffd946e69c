# SPDX-License-Identifier: Apache-2.0
"""What a matrix shows beyond its slots: more guests, and the disks below.

Tables and charts for Rally's report, beside those of ``report``.  Only
repeats in which all guests of the step are complete are in a figure.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from rally_scenarios.bench.fio import histogram
from rally_scenarios.bench.fleet import disk_estimate
from rally_scenarios.bench.fleet import merge as fleet
from rally_scenarios.bench.fleet import schedule
from rally_scenarios.bench.fleet import verdict
from rally_scenarios.plugins.report import tables as report

SCALING_TABLE_TITLE = 'CinderTiers: what more guests get'
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
DISKS_TABLE_TITLE = 'CinderTiers: what the disks should do, and do'
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

    slot: schedule.Slot
    guests: int
    repeats: int
    complete: tuple[fleet.FleetSlot, ...]

    @property
    def iops(self) -> float | None:
        if not self.complete:
            return None
        return sum(each.iops for each in self.complete) / len(self.complete)

    @property
    def mib_per_second(self) -> float:
        return (
            sum(each.bw_bytes for each in self.complete)
            / len(self.complete)
            / 1024**2
        )

    @property
    def p99_ms(self) -> float:
        merged = histogram.merge(each.clat for each in self.complete)
        return round(merged.percentile_ns(99) / 1e6, 3)


def _cells(
    plan: schedule.Schedule, outcomes: Sequence[verdict.GuestOutcome]
) -> list[_Cell]:
    together: dict[tuple, list[schedule.Slot]] = {}
    for slot in plan.slots:
        together.setdefault((slot.tier, slot.pattern), []).append(slot)
    cells = []
    for slots in together.values():
        guests = sum(
            found.slot == slots[0]
            for outcome in outcomes
            for found in outcome.slots
        )
        merged = [verdict.merged(outcomes, slot) for slot in slots]
        cells.append(
            _Cell(
                slot=slots[0],
                guests=guests,
                repeats=len(slots),
                complete=tuple(
                    each
                    for each in merged
                    if each is not None and each.guests == guests
                ),
            )
        )
    return cells


def _scaling_rows(cells: Sequence[_Cell]) -> list[list]:
    first: dict[tuple, float] = {}
    rows = []
    for cell in cells:
        row = [
            cell.slot.tier,
            cell.slot.name_without_step,
            cell.guests,
            f'{len(cell.complete)} of {cell.repeats}',
        ]
        if not cell.complete:
            rows.append(row + [report.NO_NUMBER] * 5)
            continue
        each = cell.iops / cell.guests
        # The first step that is complete: a later one is its share.
        alone = first.setdefault(tuple(row[:2]), each)
        rows.append(
            row
            + [
                round(cell.iops, 1),
                round(cell.mib_per_second, 2),
                round(each, 1),
                round(100 * each / alone, 1) if alone else report.NO_NUMBER,
                cell.p99_ms,
            ]
        )
    return rows


def _scaling_charts(cells: Sequence[_Cell]) -> list[dict]:
    charts = []
    for name in dict.fromkeys(cell.slot.name_without_step for cell in cells):
        lines: dict[str, list[_Cell]] = {}
        for cell in cells:
            if cell.slot.name_without_step == name and cell.complete:
                lines.setdefault(cell.slot.tier, []).append(cell)
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
                    [tier, [[cell.guests, cell.p99_ms] for cell in line]]
                    for tier, line in lines.items()
                ],
                'label': 'completion latency, ms',
                'axis_label': 'guests',
            },
        ]
    return charts


def _disk_rows(
    cells: Sequence[_Cell], disks: Mapping[str, disk_estimate.Disks]
) -> list[list]:
    rows = []
    for cell in cells:
        below = disks.get(cell.slot.tier)
        expected = below and disk_estimate.estimate_iops(
            below, cell.slot.pattern
        )
        if expected is None:
            continue
        iops = cell.iops
        rows.append(
            [
                cell.slot.tier,
                cell.slot.name_without_step,
                cell.guests,
                below.disks,
                below.iops_per_disk,
                below.replicas,
                below.disk_writes_per_write,
                round(expected, 1),
                *(
                    [report.NO_NUMBER] * 2
                    if iops is None
                    else [round(iops, 1), round(100 * iops / expected, 1)]
                ),
            ]
        )
    return rows


def outputs(
    plan: schedule.Schedule,
    outcomes: Sequence[verdict.GuestOutcome],
    disks: Mapping[str, disk_estimate.Disks],
) -> list[dict]:
    """Tables and charts for ``add_output(complete=)``.

    :param outcomes: of all guests, good and bad
    :param disks: {tier: its disks}, of tiers whose disks are known
    :returns: if guests ran in steps, a table and two charts a pattern; if
        disks are known, a table of the random patterns of their tiers
    """
    in_steps = any(slot.guests is not None for slot in plan.slots)
    if not (in_steps or disks):
        return []
    cells = _cells(plan, outcomes)
    found = []
    if in_steps:
        found = [
            {
                'title': SCALING_TABLE_TITLE,
                'chart_plugin': 'Table',
                'description': 'Means over the repeats in which all guests of'
                ' the step are complete',
                'data': {
                    'cols': list(SCALING_TABLE_COLUMNS),
                    'rows': _scaling_rows(cells),
                },
            },
            *_scaling_charts(cells),
        ]
    rows = _disk_rows(cells, disks)
    if rows:
        found.append(
            {
                'title': DISKS_TABLE_TITLE,
                'chart_plugin': 'Table',
                'description': 'Random patterns only. Expected: disks x IOPS '
                'of'
                ' a disk / disk I/Os of an I/O; a read is one, a'
                ' write is replicas x disk writes of a write',
                'data': {'cols': list(DISKS_TABLE_COLUMNS), 'rows': rows},
            }
        )
    return found
