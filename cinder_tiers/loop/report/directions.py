# SPDX-License-Identifier: Apache-2.0

"""Reads and writes apart, where a result tells them apart."""

from collections.abc import Iterator
from collections.abc import Sequence
import statistics

from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows


def _of(
    row: report_rows.Row,
) -> Iterator[tuple[str, run_result.DirectionEstimates]]:
    yield from (row.found.directions or {}).items()


def _mean(row: report_rows.Row, quantity: str) -> float | None:
    found = row.estimate(quantity)
    return found.mean if found else None


def _bar(
    row: report_rows.Row, direction: str, metric: str
) -> Iterator[figure.Bar]:
    """Yield a bar, or none if there are too few I/Os."""
    found = row.estimate(f'{direction}_{metric}')
    if found is not None:
        yield figure.Bar(
            label=f'{row.label}, {direction}',
            style=row.style,
            value=found.mean,
            low=found.low,
            high=found.high,
        )


def _submission_ms(row: report_rows.Row, direction: str) -> float | None:
    """Mean over the complete repeats; None: it is not apart in one of them."""
    complete = figures.complete(row.found.slots)
    found = [
        moments.mean_ns
        for slot in complete
        for moments in [
            (slot.measured.directions or {})[direction].slat_moments
        ]
        if moments is not None
    ]
    if not found or len(found) < len(complete):
        return None
    return report_rows.ms(statistics.fmean(found))


def _chart(
    name: str,
    bars: Sequence[figure.Bar],
    *,
    what: str,
    unit: str,
) -> figure.Chart:
    return figure.Chart(
        title=f'{name}: {what}',
        drawing=figure.Bars(unit=unit, bars=tuple(bars)),
        alternative=f'{what} of reads and of writes, {name}: '
        + '; '.join(
            f'{bar.label} {report_rows.number(bar.value)}' for bar in bars
        ),
    )


def _charts(
    name: str, group: Sequence[report_rows.Row]
) -> Iterator[figure.Chart]:
    """Yield charts of IOPS, and of the latency for an application."""
    for metric, what, unit in (
        ('iops', 'IOPS', 'IOPS'),
        ('lat_mean_ms', 'mean total latency', 'ms'),
    ):
        yield _chart(
            name,
            [
                bar
                for row in group
                for direction, _estimates in _of(row)
                for bar in _bar(row, direction, metric)
            ],
            what=what,
            unit=unit,
        )


def directions(rows: Sequence[report_rows.Row]) -> figure.ReportFigure | None:
    """IOPS and total latency of reads and of writes, and all their figures.

    :returns: None if the result does not tell them apart
    """
    cells = tuple(
        (
            row.tier,
            row.pattern,
            direction,
            *report_rows.ends(row.estimate(f'{direction}_iops')),
            _mean(row, f'{direction}_mib_per_s'),
            _submission_ms(row, direction),
            _mean(row, f'{direction}_mean_ms'),
            row.percentile_ms(99, direction),
            _mean(row, f'{direction}_lat_mean_ms'),
            report_rows.ms(found.lat_max_ns),
        )
        for row in rows
        for direction, found in _of(row)
    )
    if not cells:
        return None
    mixed = [row for row in rows if len(row.found.directions or ()) > 1]
    return figure.ReportFigure(
        title='Reads and writes',
        dispensable=1,
        is_detail=not mixed,
        caption='Total latency is what an application waits; completion'
        ' latency leaves out the time in which the guest submits an I/O, which'
        ' an engine that submits and waits in one does not tell. A mean is'
        f' the {trust.MEAN}; p99 is of all their I/Os together. Bars, with'
        ' 95 % intervals, are of patterns that both read and write.',
        keys=report_rows.keys(mixed),
        charts=tuple(
            chart
            for name, group in report_rows.groups(mixed).items()
            for chart in _charts(name, group)
        ),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                'Direction',
                ('IOPS', 1),
                ('95 % from', 1),
                ('95 % to', 1),
                ('MiB/s', 2),
                ('Mean submission ms', 3),
                ('Mean completion ms', 3),
                ('p99 completion ms', 3),
                ('Mean total ms', 3),
                ('Longest total ms', 3),
            ),
            rows=cells,
        ),
    )
