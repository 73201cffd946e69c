# SPDX-License-Identifier: Apache-2.0

"""Changes within repeats, and from one repeat to the next."""

from collections.abc import Callable
from collections.abc import Sequence
import functools
import math
import statistics

from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.figures.stats import steadiness
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows

# Of all charts of a page together.
_MOST_POINTS = 6000
_LEAST_POINTS = 20
_KINDS = frozenset({'not steady', 'stall', 'start skew', 'guests missing'})


def _means(
    series: Sequence[tuple[int, float]], step: int
) -> tuple[tuple[float, float], ...]:
    """(second, mean IOPS of so many seconds)."""
    values = [iops for _ms, iops in series]
    return tuple(
        (float(at), statistics.fmean(values[at : at + step]))
        for at in range(0, len(values), step)
    )


def _longest_stall(row: report_rows.Row) -> str:
    known = [
        slot.steadiness.longest_stall_s
        for slot in row.found.slots
        if slot.steadiness.longest_stall_s is not None
    ]
    if not known:
        return 'longest stall not known'
    return f'longest stall {report_rows.number(max(known))} s'


def _seconds_chart(
    name: str, group: Sequence[report_rows.Row], step: int
) -> figure.Chart:
    lines = _repeat_lines(group, lambda slot: _means(slot.series, step))
    return figure.Chart(
        title=name,
        drawing=figure.LineChart(
            x_title='second', y_title='IOPS', lines=lines
        ),
        alternative=f'IOPS over the seconds of each repeat, {name}: '
        + '; '.join(f'{row.label} {_longest_stall(row)}' for row in group),
        caveats=report_rows.caveats_of(group, _KINDS),
        undrawn='no repeat has the IOPS of each second',
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _steady(slot: run_result.SlotResult) -> tuple[str | float | None, ...]:
    found = slot.steadiness
    return (
        len(slot.series) or None,
        _percent(found.excursion),
        _percent(found.slope),
        found.longest_stall_s,
        {True: 'steady', False: 'not steady', None: 'cannot tell'}[
            found.steady
        ],
        found.reason,
    )


def seconds(rows: Sequence[report_rows.Row]) -> figure.ReportFigure | None:
    """IOPS of each second.

    :returns: None if no guests sent their seconds
    """
    lengths = [
        len(slot.series)
        for row in rows
        for slot in row.found.slots
        if slot.series
    ]
    if not lengths:
        return None
    step = _step(lengths)
    return figure.ReportFigure(
        title='IOPS over time',
        dispensable=6,
        is_detail=True,
        caption='All guests of a tier together, in the window in which all of'
        ' them were measured; a line for each repeat. '
        + (f'Each point is the mean of {step} seconds. ' if step > 1 else '')
        + steadiness.RULE,
        keys=report_rows.keys(rows),
        charts=report_rows.line_charts(
            rows, functools.partial(_seconds_chart, step=step)
        ),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                ('Repeat', 0),
                ('Seconds', 0),
                ('Excursion %', 1),
                ('Slope %', 1),
                ('Longest stall s', 1),
                'Verdict',
                'Why',
            ),
            rows=tuple(
                (row.tier, row.pattern, slot.repeat, *_steady(slot))
                for row in rows
                for slot in row.found.slots
            ),
        ),
    )


def _repeat_lines(
    group: Sequence[report_rows.Row],
    points: Callable[[run_result.SlotResult], tuple[tuple[float, float], ...]],
) -> tuple[figure.ChartLine, ...]:
    """A line for each repeat that has points."""
    return tuple(
        figure.ChartLine(
            label=f'{row.label} {slot.repeat}', style=row.style, points=found
        )
        for row in group
        for slot in row.found.slots
        if (found := points(slot))
    )


def _step(lengths: Sequence[int]) -> int:
    """Return the number of values that a point averages."""
    most = max(_LEAST_POINTS, _MOST_POINTS // len(lengths))
    return math.ceil(max(lengths) / most)


def _mib_points(
    slot: run_result.SlotResult, step: int
) -> tuple[tuple[float, float], ...]:
    return tuple(
        (at, report_rows.mib(each))
        for at, each in _means(slot.bw_series, step)
    )


def _bandwidth_chart(
    name: str, group: Sequence[report_rows.Row], step: int
) -> figure.Chart:
    lines = _repeat_lines(group, functools.partial(_mib_points, step=step))
    return figure.Chart(
        title=name,
        drawing=figure.LineChart(
            x_title='second', y_title='MiB/s', lines=lines
        ),
        alternative=f'Bandwidth over the seconds of each repeat, {name}: '
        + _from_to(lines, 'MiB/s'),
        caveats=report_rows.caveats_of(group, _KINDS),
        undrawn='no repeat has the bandwidth of each second',
    )


def _from_to(lines: Sequence[figure.ChartLine], unit: str) -> str:
    """Lowest and highest of each line, in words."""
    words = []
    for line in lines:
        values = [y for _x, y in line.points]
        words.append(
            f'{line.label} from {report_rows.number(min(values))} to'
            f' {report_rows.number(max(values))} {unit}'
        )
    return '; '.join(words)


def bandwidth(rows: Sequence[report_rows.Row]) -> figure.ReportFigure | None:
    """Bandwidth of each second.

    :returns: None if no guests sent it
    """
    found = [
        (row, slot)
        for row in rows
        for slot in row.found.slots
        if slot.bw_series
    ]
    if not found:
        return None
    step = _step([len(slot.bw_series) for _row, slot in found])
    return figure.ReportFigure(
        title='Bandwidth over time',
        dispensable=8,
        is_detail=True,
        caption='All guests of a tier together; a line for each repeat.'
        + (f' Each point is the mean of {step} seconds.' if step > 1 else ''),
        keys=report_rows.keys(rows),
        charts=report_rows.line_charts(
            rows, functools.partial(_bandwidth_chart, step=step)
        ),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                ('Repeat', 0),
                ('Seconds', 0),
                ('Lowest MiB/s', 2),
                ('Mean MiB/s', 2),
                ('Highest MiB/s', 2),
            ),
            rows=tuple(
                (
                    row.tier,
                    row.pattern,
                    slot.repeat,
                    len(slot.bw_series),
                    *(
                        report_rows.mib(summed(values))
                        for summed in (min, statistics.fmean, max)
                    ),
                )
                for row, slot in found
                for values in ([value for _ms, value in slot.bw_series],)
            ),
        ),
    )


def _p99_points(
    latency: run_result.LatencyOverTime | None,
) -> tuple[tuple[float, float], ...]:
    """(second in which a time ends, p99 in ms), of times with enough I/Os."""
    if latency is None:
        return ()
    return tuple(
        ((at + 1) * latency.step_ms / 1000, report_rows.ms(p99_ns))
        for at, p99_ns in trust.p99_over_time_ns(latency)
    )


def _latency_chart(
    name: str, group: Sequence[report_rows.Row]
) -> figure.Chart:
    lines = _repeat_lines(group, lambda slot: _p99_points(slot.latency))
    return figure.Chart(
        title=name,
        drawing=figure.LineChart(
            x_title='second',
            y_title='p99 ms',
            y_is_log=True,
            lines=lines,
        ),
        alternative=f'p99 within each repeat, {name}: '
        + _from_to(lines, 'ms'),
        caveats=report_rows.caveats_of(group, _KINDS | {'long latencies'}),
        undrawn='no time of a repeat has the'
        f' {figures.ios_needed(99)} I/Os that a p99 needs',
    )


def latency(rows: Sequence[report_rows.Row]) -> figure.ReportFigure | None:
    """p99 of short times within each repeat.

    :returns: None if no guests sent it
    """
    found = [
        (row, slot, slot.latency)
        for row in rows
        for slot in row.found.slots
        if slot.latency and _p99_points(slot.latency)
    ]
    if not found:
        return None
    return figure.ReportFigure(
        title='p99 over time',
        dispensable=7,
        is_detail=True,
        caption='p99 of completion latency of all guests of a tier together,'
        ' in short times within each repeat; a line for each repeat. To 3 %,'
        ' since fio counts coarser there. A time without'
        f' {figures.ios_needed(99)} I/Os, as a p99 needs, has no point.'
        ' The axis of latencies is logarithmic.',
        keys=report_rows.keys(rows),
        charts=report_rows.line_charts(rows, _latency_chart),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                ('Repeat', 0),
                ('Each time s', 0),
                ('Fewest I/Os in one', 0),
                ('Lowest p99 ms', 3),
                ('Median p99 ms', 3),
                ('Highest p99 ms', 3),
                ('in second', 0),
            ),
            rows=tuple(
                (
                    row.tier,
                    row.pattern,
                    slot.repeat,
                    sent.step_ms / 1000,
                    min(sent.ios),
                    *(
                        choose([y for _x, y in points])
                        for choose in (min, statistics.median, max)
                    ),
                    max(points, key=lambda point: point[1])[0],
                )
                for row, slot, sent in found
                for points in (_p99_points(sent),)
            ),
        ),
    )


def _repeats_chart(
    name: str, group: Sequence[report_rows.Row]
) -> figure.Chart:
    lines = tuple(
        figure.ChartLine(
            label=f'{row.label} p{percent}',
            style=row.style,
            is_dashed=percent == 50,
            points=tuple(
                (float(slot.repeat), report_rows.ms(found_ns))
                for slot in figures.complete(row.found.slots)
                if (
                    found_ns := trust.percentile_ns(
                        slot.measured.clat, percent
                    )
                )
                is not None
            ),
        )
        for row in group
        for percent in (50, 99)
    )
    return figure.Chart(
        title=name,
        drawing=figure.LineChart(
            x_title='repeat',
            y_title='ms',
            y_is_log=True,
            has_marks=True,
            lines=lines,
        ),
        alternative=f'Percentiles of completion latency by repeat, {name}: '
        + '; '.join(
            f'{line.label} '
            + ', '.join(report_rows.number(y) for _x, y in line.points)
            + ' ms'
            for line in lines
            if line.points
        ),
    )


def repeats(rows: Sequence[report_rows.Row]) -> figure.ReportFigure | None:
    """p50 and p99 of each repeat.

    :returns: None if nothing was repeated
    """
    if all(len(row.found.slots) < 2 for row in rows):
        return None
    return figure.ReportFigure(
        title='Percentiles over the repeats',
        dispensable=4,
        is_detail=True,
        caption='p99 (solid) and p50 (dashed) of completion latency in each'
        ' repeat in which all guests are complete. The axis of latencies is'
        ' logarithmic.',
        keys=report_rows.keys(rows),
        charts=report_rows.line_charts(rows, _repeats_chart),
        table=figure.Table(
            columns=figure.columns(
                *report_rows.NAMES,
                ('Repeat', 0),
                ('IOPS', 1),
                ('p50 ms', 3),
                ('p99 ms', 3),
                ('Start skew ms', 0),
                ('Fairness', 3),
            ),
            rows=tuple(
                (
                    row.tier,
                    row.pattern,
                    slot.repeat,
                    *(
                        (
                            slot.merged.iops,
                            *(
                                report_rows.ms(
                                    trust.percentile_ns(
                                        slot.merged.clat, percent
                                    )
                                )
                                for percent in (50, 99)
                            ),
                            slot.merged.start_skew_ms,
                            slot.merged.fairness,
                        )
                        if slot.merged
                        else (None,) * 5
                    ),
                )
                for row in rows
                for slot in row.found.slots
            ),
        ),
    )
