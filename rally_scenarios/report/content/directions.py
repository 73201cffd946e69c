# SPDX-License-Identifier: Apache-2.0

"""Reads and writes apart, where a result tells them apart."""

from collections.abc import Iterator
from collections.abc import Sequence

from rally_scenarios.bench.result import result as run_result
from rally_scenarios.report.content import figure
from rally_scenarios.report.content import rows as report_rows


def _of(
    row: report_rows.Row,
) -> Iterator[tuple[str, run_result.DirectionEstimates]]:
    yield from (row.found.directions or {}).items()


def _chart(name: str, group: Sequence[report_rows.Row]) -> figure.Chart:
    bars = tuple(
        figure.Bar(
            label=f'{row.label}, {direction}',
            style=row.style,
            value=found.iops.mean,
            low=found.iops.low,
            high=found.iops.high,
        )
        for row in group
        for direction, found in _of(row)
    )
    return figure.Chart(
        title=name,
        drawing=figure.Bars(unit='IOPS', bars=bars),
        alternative=f'IOPS of reads and of writes, {name}: '
        + '; '.join(
            f'{bar.label} {report_rows.number(bar.value)}' for bar in bars
        ),
    )


def directions(rows: Sequence[report_rows.Row]) -> figure.Figure | None:
    """IOPS of reads and writes, with a table of their latencies.

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
            report_rows.ms(found.clat_mean_ns.mean),
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
        ' latency leaves out the time in which the guest submits an I/O. Bars'
        ' are of patterns that both read and write.',
        keys=report_rows.keys(mixed),
        charts=tuple(
            _chart(name, group)
            for name, group in report_rows.groups(mixed).items()
        ),
        table=figure.Table(
            columns=(
                figure.Column(title='Tier'),
                figure.Column(title='Pattern'),
                figure.Column(title='Direction'),
                figure.Column(title='IOPS', digits=1),
                figure.Column(title='95 % from', digits=1),
                figure.Column(title='95 % to', digits=1),
                figure.Column(title='MiB/s', digits=2),
                figure.Column(title='Mean completion ms', digits=3),
                figure.Column(title='Mean total ms', digits=3),
                figure.Column(title='Longest total ms', digits=3),
            ),
            rows=cells,
        ),
    )
