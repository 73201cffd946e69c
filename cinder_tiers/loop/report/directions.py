# SPDX-License-Identifier: Apache-2.0

"""Reads and writes apart, where a result tells them apart."""

from collections.abc import Iterator
from collections.abc import Sequence
import statistics

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows


def _of(
    row: report_rows.Row,
) -> Iterator[tuple[str, run_result.DirectionEstimates]]:
    yield from (row.found.directions or {}).items()


def _p99_ms(row: report_rows.Row, direction: str) -> float | None:
    """Of the completions of all complete repeats, merged."""
    found = [
        # Of a single direction, it is the slot's.
        slot.merged.directions[direction].clat or slot.merged.clat
        for slot in figures.complete(row.found.slots)
    ]
    if not found:
        return None
    return report_rows.ms(
        histogram.merge(each.histogram() for each in found).percentile_ns(99)
    )


def _submission_ms(row: report_rows.Row, direction: str) -> float | None:
    """Mean over the complete repeats; None: it is not apart in one of them."""
    found = [
        slot.merged.directions[direction].slat_moments
        for slot in figures.complete(row.found.slots)
    ]
    if not found or None in found:
        return None
    return report_rows.ms(statistics.fmean(each.mean_ns for each in found))


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
    """What was done, and what an application waited for it."""
    found = [
        (f'{row.label}, {direction}', row.style, estimates)
        for row in group
        for direction, estimates in _of(row)
    ]
    yield _chart(
        name,
        [
            figure.Bar(
                label=label,
                style=style,
                value=each.iops.mean,
                low=each.iops.low,
                high=each.iops.high,
            )
            for label, style, each in found
        ],
        what='IOPS',
        unit='IOPS',
    )
    yield _chart(
        name,
        [
            figure.Bar(
                label=label,
                style=style,
                value=report_rows.ms(each.lat_mean_ns.mean),
                low=report_rows.ms(each.lat_mean_ns.low),
                high=report_rows.ms(each.lat_mean_ns.high),
            )
            for label, style, each in found
        ],
        what='mean total latency',
        unit='ms',
    )


def directions(rows: Sequence[report_rows.Row]) -> figure.Figure | None:
    """IOPS and total latency of reads and of writes, and all their figures.

    :param rows: of a run
    :returns: None if the result does not tell them apart
    """
    cells = tuple(
        (
            row.tier,
            row.pattern,
            direction,
            found.iops.mean,
            found.iops.low,
            found.iops.high,
            report_rows.mib(found.bw_bytes.mean),
            _submission_ms(row, direction),
            report_rows.ms(found.clat_mean_ns.mean),
            _p99_ms(row, direction),
            report_rows.ms(found.lat_mean_ns.mean),
            report_rows.ms(found.lat_max_ns),
        )
        for row in rows
        for direction, found in _of(row)
    )
    if not cells:
        return None
    mixed = [row for row in rows if len(row.found.directions or ()) > 1]
    return figure.Figure(
        title='Reads and writes',
        dispensable=1,
        caption='Total latency is what an application waits; completion'
        ' latency leaves out the time in which the guest submits an I/O, which'
        ' an engine that submits and waits in one does not tell. Means are'
        ' over the repeats in which all guests are complete; p99 is of all'
        ' their I/Os together. Bars, with 95 % intervals, are of patterns that'
        ' both read and write.',
        keys=report_rows.keys(mixed),
        charts=tuple(
            chart
            for name, group in report_rows.groups(mixed).items()
            for chart in _charts(name, group)
        ),
        table=figure.Table(
            columns=(
                *report_rows.NAMES,
                figure.Column(title='Direction'),
                figure.Column(title='IOPS', digits=1),
                figure.Column(title='95 % from', digits=1),
                figure.Column(title='95 % to', digits=1),
                figure.Column(title='MiB/s', digits=2),
                figure.Column(title='Mean submission ms', digits=3),
                figure.Column(title='Mean completion ms', digits=3),
                figure.Column(title='p99 completion ms', digits=3),
                figure.Column(title='Mean total ms', digits=3),
                figure.Column(title='Longest total ms', digits=3),
            ),
            rows=cells,
        ),
    )
