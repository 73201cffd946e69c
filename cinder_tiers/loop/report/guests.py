# SPDX-License-Identifier: Apache-2.0

"""Guests beside each other: whether all of a tier got the same."""

from collections.abc import Sequence
import functools

from cinder_tiers.figures.result import guest_times
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows

# Of all charts of a page together.
_MOST_DOTS = 1500
_MOST_POINTS = 6000
_KINDS = frozenset({'steal', 'guest CPU', 'guests missing'})


def _slot(row: report_rows.Row) -> run_result.SlotResult | None:
    """The repeat of which guests are drawn."""
    return guest_times.slot_of(row.found.slots)


def _chart(
    name: str, group: Sequence[report_rows.Row], most: int
) -> figure.Chart:
    dots = tuple(
        figure.Dot(label=row.label, style=row.style, value=iops)
        for row in group
        for iops, _guest in guest_times.some(
            guest_times.by_iops(_slot(row)), most
        )
    )
    words = []
    for row in group:
        ranked = guest_times.by_iops(_slot(row))
        if ranked:
            words.append(
                f'{row.label} from {report_rows.number(ranked[0][0])} to'
                f' {report_rows.number(ranked[-1][0])}'
            )
    return figure.Chart(
        title=name,
        drawing=figure.Dots(unit='IOPS of a guest', dots=dots),
        alternative=f'IOPS of each guest, {name}: ' + '; '.join(words),
        caveats=report_rows.caveats_of(group, _KINDS),
    )


def _cells(row: report_rows.Row) -> tuple[str | float | None, ...]:
    slot = _slot(row)
    ranked = guest_times.by_iops(slot)
    if slot is None or not ranked:
        return (row.tier, row.pattern, *(None,) * 3, '-', None, '-', None)
    (least, slowest), (most, fastest) = ranked[0], ranked[-1]
    return (
        row.tier,
        row.pattern,
        slot.repeat,
        len(ranked),
        slot.measured.fairness,
        slowest.guest,
        least,
        fastest.guest,
        most,
    )


def guests(rows: Sequence[report_rows.Row]) -> figure.ReportFigure | None:
    """IOPS of each guest as points.

    :returns: None if a tier never had more than one guest
    """
    if all(row.guests < 2 for row in rows):
        return None
    most = max(5, _MOST_DOTS // len(rows))
    largest = max(row.guests for row in rows)
    return figure.ReportFigure(
        title='Fairness: each guest',
        dispensable=5,
        is_detail=True,
        caption='A point for each guest, in the last repeat in which all are'
        ' complete. '
        + (
            f'Where there are more than {most}, so many of them, evenly'
            ' spaced by rank, the slowest and the fastest included. '
            if largest > most
            else ''
        )
        + "Fairness is Jain's index: 1 if all got the same, 1/n if one of n"
        ' got everything.',
        keys=report_rows.keys(rows),
        charts=report_rows.charts(rows, functools.partial(_chart, most=most)),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                ('Repeat', 0),
                ('Guests', 0),
                ('Fairness', 3),
                'Slowest',
                ('its IOPS', 1),
                'Fastest',
                ('its IOPS', 1),
            ),
            rows=tuple(map(_cells, rows)),
        ),
    )


def _with_rates(
    row: report_rows.Row,
) -> list[tuple[run_result.GuestFigures, run_result.RatesOverTime]]:
    """Guests that sent their seconds, with these, the slowest first."""
    return [
        (guest, guest.rates)
        for _iops, guest in guest_times.by_iops(_slot(row))
        if guest.rates is not None
    ]


def _guest_line(
    row: report_rows.Row,
    guest: run_result.GuestFigures,
    rates: run_result.RatesOverTime,
) -> figure.ChartLine:
    return figure.ChartLine(
        label=f'{row.label} {guest.guest}',
        style=row.style,
        points=tuple(
            (at * rates.step_ms / 1000, iops)
            for at, iops in enumerate(rates.iops)
        ),
    )


def _over_time_chart(
    name: str, group: Sequence[report_rows.Row], most: int
) -> figure.Chart:
    found = [(row, _with_rates(row)) for row in group]
    return figure.Chart(
        title=name,
        drawing=figure.LineChart(
            x_title='second',
            y_title='IOPS of a guest',
            lines=tuple(
                _guest_line(row, *each)
                for row, ranked in found
                for each in guest_times.some(ranked, most)
            ),
        ),
        alternative=f'IOPS of guests over time, {name}: '
        + '; '.join(
            f'{row.label}, {guest.guest} the'
            f' {which} with {report_rows.number(guest.iops)}'
            for row, ranked in found
            if ranked
            for which, (guest, _rates) in (
                ('slowest', ranked[0]),
                ('fastest', ranked[-1]),
            )
        ),
        caveats=report_rows.caveats_of(group, _KINDS | {'stall'}),
        undrawn='no guest has its IOPS of each second',
    )


def _guest_cells(
    row: report_rows.Row,
    guest: run_result.GuestFigures,
    rates: run_result.RatesOverTime,
) -> tuple[str | float | None, ...]:
    return (
        row.tier,
        row.pattern,
        guest.guest,
        guest.iops,
        min(rates.iops, default=None),
        max(rates.iops, default=None),
        report_rows.mib(guest.bw_bytes),
        report_rows.ms(trust.guest_p99_ns(guest)),
        report_rows.ms(
            max(
                (ns for _at, ns in trust.p99_over_time_ns(guest.latency)),
                default=None,
            )
        ),
        guest.longest_stall_s,
    )


def over_time(rows: Sequence[report_rows.Row]) -> figure.ReportFigure | None:
    """IOPS of single guests over time.

    :returns: None if no guest sent its seconds
    """
    if not any(map(_with_rates, rows)):
        return None
    points = max(
        len(rates.iops) for row in rows for _guest, rates in _with_rates(row)
    )
    most = max(
        2,
        min(
            guest_times.MOST_GUESTS,
            _MOST_POINTS // (len(rows) * max(1, points)),
        ),
    )
    return figure.ReportFigure(
        title='Guests over time',
        dispensable=9,
        is_detail=True,
        caption='A line for each guest, in the last repeat in which all are'
        f' complete; where a tier has more than {most}, so many of them,'
        ' evenly spaced by rank, the slowest and the fastest included.',
        keys=report_rows.keys(rows),
        charts=report_rows.line_charts(
            rows, functools.partial(_over_time_chart, most=most)
        ),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                'Guest',
                ('IOPS', 1),
                ('Lowest IOPS', 1),
                ('Highest IOPS', 1),
                ('MiB/s', 2),
                ('p99 ms', 3),
                ('Highest p99 ms', 3),
                ('Longest stall s', 1),
            ),
            rows=tuple(
                _guest_cells(row, *each)
                for row in rows
                for each in guest_times.some(_with_rates(row), most)
            ),
        ),
    )
