# SPDX-License-Identifier: Apache-2.0

"""IOPS of each pattern on each tier, with their intervals, and a heat map."""

from collections.abc import Collection
from collections.abc import Sequence
import math

from cinder_tiers.figures.result import trust
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows

_COLUMNS = figure.columns(
    *report_rows.NAMES,
    ('Guests', 0),
    'Complete repeats',
    ('IOPS', 1),
    ('95 % from', 1),
    ('95 % to', 1),
    ('Spread %', 1),
    ('MiB/s', 2),
    ('p50 ms', 3),
    ('p99 ms', 3),
    ('p99.9 ms', 3),
    'Read with care',
)
_PERCENTILES = (50, 99, 99.9)

#: Tiers side by side in a heat map; of more, its text would be too small.
_MOST_COLUMNS = 6


def _cells(
    row: report_rows.Row, of_all: Collection[str]
) -> tuple[str | float | None, ...]:
    found, iops = row.found, row.estimate('iops')
    bandwidth = row.estimate('mib_per_s')
    return (
        row.tier,
        row.pattern,
        row.guests,
        f'{found.complete_repeats} of {len(found.slots)}',
        *report_rows.ends(iops),
        iops.spread_percent if iops else None,
        bandwidth.mean if bandwidth else None,
        *map(row.percentile_ms, _PERCENTILES),
        ', '.join(each for each in row.kinds if each not in of_all) or '-',
    )


def _said(bar: figure.Bar) -> str:
    text = f'{bar.label} {report_rows.number(bar.value)}'
    if bar.low is None or bar.high is None:
        return f'{text}, no interval'
    return (
        f'{text}, from {report_rows.number(bar.low)} to'
        f' {report_rows.number(bar.high)}'
    )


def _chart(name: str, group: Sequence[report_rows.Row]) -> figure.Chart:
    bars = tuple(
        figure.Bar(
            label=row.label,
            style=row.style,
            value=iops.mean,
            low=iops.low,
            high=iops.high,
        )
        for row in group
        if (iops := row.estimate('iops')) is not None
    )
    return figure.Chart(
        title=name,
        drawing=figure.Bars(unit='IOPS', bars=bars),
        alternative=f'Bars of IOPS, {name}: '
        + ('; '.join(map(_said, bars)) or 'no repeat is complete'),
        caveats=report_rows.caveats_of(group),
    )


def figures(
    rows: Sequence[report_rows.Row], why_dashes: str
) -> figure.ReportFigure:
    """IOPS as bars, and the figures that most readers look for as a table.

    :param why_dashes: see ``trust.why_dashes``
    """
    of_all = set[str]()
    if len(rows) > 1:
        of_all = set.intersection(*(set(row.kinds) for row in rows))
    return figure.ReportFigure(
        title='IOPS with their intervals',
        dispensable=0,
        caption=f'All guests of a tier together. A bar is the {trust.MEAN};'
        " the line over its end is the 95 % interval of that mean (Student's"
        ' t of logarithms), and is missing where there is a single repeat.'
        ' Each chart has its own axis. Latencies in the table are completion'
        f' latencies, by the same mean; what to read with care in all rows is'
        f' not repeated in it. {why_dashes}'.rstrip(),
        keys=report_rows.keys(rows),
        charts=report_rows.charts(rows, _chart),
        table=figure.Table(
            columns=_COLUMNS,
            rows=tuple(_cells(row, of_all) for row in rows),
        ),
    )


def _findings(
    rows: Sequence[report_rows.Row],
    claims: Sequence[comparison.Claim],
    quantity: str,
) -> list[str]:
    """Return the claim on each row: better, worse or empty."""
    found = {
        (claim.second_tier, claim.pattern): claim.finding.value
        for claim in claims
        if claim.quantity == quantity
        and claim.finding
        in (
            comparison.DifferenceFinding.BETTER,
            comparison.DifferenceFinding.WORSE,
        )
    }
    return [found.get((row.tier, row.pattern), '') for row in rows]


def _map(
    rows: Sequence[report_rows.Row],
    *,
    title: str,
    unit: str,
    values: Sequence[float | None],
    findings: Sequence[str],
    tiers_are_rows: bool,
) -> figure.Chart:
    shades = tuple(
        figure.Shade(
            row=row.tier if tiers_are_rows else row.pattern,
            column=row.pattern if tiers_are_rows else row.tier,
            value=value,
            finding=finding,
        )
        for row, value, finding in zip(rows, values, findings, strict=True)
        if value is not None and math.isfinite(value)
    )
    return figure.Chart(
        title=title,
        drawing=figure.HeatMap(unit=unit, shades=shades),
        alternative=f'{title} by pattern and tier: '
        + '; '.join(
            f'{shade.column if tiers_are_rows else shade.row} on'
            f' {shade.row if tiers_are_rows else shade.column}'
            f' {report_rows.number(shade.value)} {unit}'
            + (f', {shade.finding}' if shade.finding else '')
            for shade in shades
        ),
        undrawn=figure.TOO_FEW_IOS
        if any(row.estimate('iops') for row in rows)
        else figure.NONE_COMPLETE,
    )


def _means(
    rows: Sequence[report_rows.Row], quantity: str
) -> list[float | None]:
    return [report_rows.ends(row.estimate(quantity))[0] for row in rows]


def heat_map(
    rows: Sequence[report_rows.Row], claims: Sequence[comparison.Claim]
) -> figure.ReportFigure | None:
    """Return a heat map of tiers and patterns.

    :param claims: claims on its tiers; uncertain ones are not painted
    :returns: None if a single tier or a single pattern ran, for which the
        intervals show everything
    """
    tiers = len({row.tier for row in rows})
    if tiers < 2 or len({row.pattern for row in rows}) < 2:
        return None
    tiers_are_rows = tiers > max(
        _MOST_COLUMNS, len({row.pattern for row in rows})
    )
    iops = _means(rows, 'iops')
    p99 = _means(rows, 'p99_ms')
    return figure.ReportFigure(
        title='Which tier is good at what',
        dispensable=1,
        caption='Painted is what can be claimed: better (+) or worse (-)'
        f' than {rows[0].tier}. What is not painted cannot be told'
        f' from it, or is {rows[0].tier} itself. A field is the {trust.MEAN}.',
        is_wide=True,
        is_detail=True,
        charts=(
            _map(
                rows,
                title='IOPS',
                unit='IOPS',
                values=iops,
                findings=_findings(rows, claims, 'iops'),
                tiers_are_rows=tiers_are_rows,
            ),
            _map(
                rows,
                title='p99 of completion latency, ms',
                unit='ms',
                values=p99,
                findings=_findings(rows, claims, 'p99_ms'),
                tiers_are_rows=tiers_are_rows,
            ),
        ),
        table=figure.Table(
            columns=figure.columns(
                'Pattern',
                'Tier',
                ('IOPS', 1),
                ('p99 ms', 3),
            ),
            rows=tuple(
                (row.pattern, row.tier, each_iops, each_p99)
                for row, each_iops, each_p99 in zip(
                    rows, iops, p99, strict=True
                )
            ),
        ),
    )
