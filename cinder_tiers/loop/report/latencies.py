# SPDX-License-Identifier: Apache-2.0

"""Completion latencies: how they are distributed, and what they cost."""

from collections.abc import Iterator
from collections.abc import Sequence

from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows

#: Percent of the I/Os that take longer, for which a point is drawn.
_LONGER_PERCENT = (
    *(99.9, 99, 97, 95, 90, 85, 80, 75, 70, 65, 60, 55, 50, 45, 40, 35, 30),
    *(25, 20, 16, 13, 10, 8, 6.3, 5, 4, 3.2, 2.5, 2, 1.6, 1.3, 1, 0.8, 0.63),
    *(0.5, 0.4, 0.32, 0.25, 0.2, 0.16, 0.13, 0.1, 0.05, 0.02, 0.01),
)
_KINDS = frozenset({'long latencies', 'stall', 'guests missing'})


def _points(row: report_rows.Row) -> Iterator[tuple[float, float]]:
    if row.found.clat is None:
        return
    found = row.found.clat.histogram()
    least = trust.least_ios(row.found.slots)
    for percent in _LONGER_PERCENT:
        # Where fewer I/Os took longer, the line is the luck of a few.
        if not figures.has_percentile(least, round(100 - percent, 2)):
            return
        value = report_rows.ms(found.percentile_ns(100 - percent))
        if value:
            yield value, percent


def _said(row: report_rows.Row) -> str:
    median, p99 = (
        report_rows.number(row.percentile_ms(each)) for each in (50, 99)
    )
    return f'{row.label} p50 {median} ms, p99 {p99} ms'


def _distribution(name: str, group: Sequence[report_rows.Row]) -> figure.Chart:
    known = [row for row in group if row.found.clat is not None]
    return figure.Chart(
        title=name,
        drawing=figure.LineChart(
            x_title='completion latency, ms',
            y_title='% of I/Os that took longer',
            x_is_log=True,
            y_is_log=True,
            lines=tuple(
                figure.ChartLine(
                    label=row.label,
                    style=row.style,
                    points=tuple(_points(row)),
                )
                for row in known
            ),
        ),
        alternative=f'Distribution of completion latencies, {name}: '
        + '; '.join(map(_said, known)),
        caveats=report_rows.caveats_of(group, _KINDS),
        undrawn=f'a repeat has fewer than {figures.LEAST_ABOVE} I/Os'
        if known
        else figure.NONE_COMPLETE,
    )


def distributions(rows: Sequence[report_rows.Row]) -> figure.ReportFigure:
    """Return charts of the I/Os above each latency, on logarithmic axes."""
    percentiles = tuple(f'{each:g}' for each in run_result.PERCENTILES)
    return figure.ReportFigure(
        title='Latencies',
        dispensable=2,
        caption='How many of the I/Os took longer than a completion latency:'
        ' read p99 at 1 %, the median at 50 %. The further left, the better.'
        ' A line is of all guests and complete repeats, merged from the'
        ' histograms of fio; the table has the means of the repeats.'
        f' Lines end where fewer than {figures.LEAST_ABOVE} I/Os of a repeat'
        ' took longer.'
        ' Both axes are logarithmic.',
        keys=report_rows.keys(rows),
        charts=report_rows.line_charts(rows, _distribution),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                *((f'p{percent} ms', 3) for percent in percentiles),
            ),
            rows=tuple(
                (
                    row.tier,
                    row.pattern,
                    *map(row.percentile_ms, run_result.PERCENTILES),
                )
                for row in rows
            ),
        ),
    )


def _of_repeats(row: report_rows.Row) -> tuple[tuple[float, float], ...]:
    """(IOPS, p99 in ms) of each complete repeat that has a p99."""
    return tuple(
        (slot.measured.iops, report_rows.ms(p99_ns))
        for slot in figures.complete(row.found.slots)
        if (p99_ns := trust.percentile_ns(slot.measured.clat, 99)) is not None
    )


def _against(name: str, group: Sequence[report_rows.Row]) -> figure.Chart:
    steps: dict[str, list[report_rows.Row]] = {}
    for row in group:
        steps.setdefault(row.tier, []).append(row)
    has_steps = any(
        len({row.guests for row in each}) > 1 for each in steps.values()
    )
    if has_steps:
        lines = [
            figure.ChartLine(
                label=tier,
                style=each[0].style,
                points=tuple(
                    (iops.mean, p99_ms.mean)
                    for row in each
                    if (iops := row.estimate('iops'))
                    and (p99_ms := row.estimate('p99_ms'))
                ),
            )
            for tier, each in steps.items()
        ]
    else:
        lines = [
            figure.ChartLine(
                label=row.label, style=row.style, points=_of_repeats(row)
            )
            for row in group
        ]
    return figure.Chart(
        title=name,
        drawing=figure.LineChart(
            x_title='IOPS',
            y_title='p99, ms',
            x_is_log=True,
            y_is_log=True,
            has_marks=True,
            is_connected=has_steps,
            lines=tuple(lines),
        ),
        alternative=f'p99 of completion latency against IOPS, {name}: '
        + '; '.join(
            f'{line.label} '
            + ', '.join(
                f'{report_rows.number(p99)} ms at {report_rows.number(iops)}'
                for iops, p99 in line.points
            )
            for line in lines
        ),
        undrawn=figure.TOO_FEW_IOS
        if any(figures.complete(row.found.slots) for row in group)
        else figure.NONE_COMPLETE,
        # The steps of one tier are one line.
        keys=()
        if has_steps or len(steps) > 1
        else report_rows.keys_of_chart(group),
    )


def against_iops(rows: Sequence[report_rows.Row]) -> figure.ReportFigure:
    """Return charts of latency against IOPS."""
    return figure.ReportFigure(
        title='Latency against IOPS',
        dispensable=3,
        is_detail=True,
        caption='A point for each complete repeat or, where guests ran in'
        ' steps, for each step, connected in their order. Better is right and'
        ' below. Both axes are logarithmic. The table has the'
        f' {trust.MEAN}.',
        keys=report_rows.keys(rows),
        charts=report_rows.charts(rows, _against),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                ('Guests', 0),
                ('IOPS', 1),
                ('Mean p99 ms', 3),
                ('95 % from', 3),
                ('95 % to', 3),
            ),
            rows=tuple(
                (
                    row.tier,
                    row.pattern,
                    row.guests,
                    report_rows.ends(row.estimate('iops'))[0],
                    *report_rows.ends(row.estimate('p99_ms')),
                )
                for row in rows
            ),
        ),
    )
