# SPDX-License-Identifier: Apache-2.0

"""Faults on a time line: IOPS and p99 of a pattern, and when faults were.

What a load did is found by ``loop.fault``; of a pattern that ran while none
began, nothing is shown.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import math
import statistics

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.fault import of_run
from cinder_tiers.loop.fault import response
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows

_STYLES = {None: 0, 'read': 2, 'write': 1, 'trim': 3}
_MOST_POINTS = 600
#: Fewer I/Os of a window have no percentile that is worth a point.
_LEAST_IOS = 100
_COLUMNS = figure.columns(
    'Slot',
    'Pattern',
    'Direction',
    'Fault',
    'Target',
    ('Lasted s', 1),
    ('IOPS before', 1),
    ('IOPS during', 1),
    ('IOPS after', 1),
    ('p99 ms before', 1),
    ('p99 ms during', 1),
    ('p99 ms after', 1),
    ('Longest stall s', 1),
    ('Gets along after s', 0),
    ('Recovered after s', 0),
    ('Healthy after s', 1),
    'Not known because',
)


def _spans(
    answers: Sequence[of_run.Answer], begins_at: float
) -> tuple[figure.AxisSpan, ...]:
    return tuple(
        figure.AxisSpan(
            label=f'{made.name} {made.target}',
            begin=made.began - begins_at,
            end=made.ended - begins_at,
        )
        for made in dict.fromkeys(each.made for each in answers)
    )


def _thinned(values: Sequence[float]) -> tuple[tuple[float, float], ...]:
    step = math.ceil(len(values) / _MOST_POINTS) or 1
    return tuple(
        (float(at), statistics.fmean(values[at : at + step]))
        for at in range(0, len(values), step)
    )


def _iops_lines(slot: run_result.SlotResult) -> Iterator[figure.ChartLine]:
    yield figure.ChartLine(
        label='all',
        style=_STYLES[None],
        points=_thinned([iops for _ms, iops in slot.series]),
    )
    for name, values in (slot.series_of_directions or {}).items():
        yield figure.ChartLine(
            label=name, style=_STYLES.get(name, 4), points=_thinned(values)
        )


def _p99_lines(slot: run_result.SlotResult) -> Iterator[figure.ChartLine]:
    """p99 of each window, at its end, of all guests together."""
    begins_ms = slot.series[0][0]
    found: dict[str, dict[int, list[histogram.LatencyHistogram]]] = {}
    for each in slot.latency_windows or ():
        found.setdefault(each.direction, {}).setdefault(
            each.end_ms, []
        ).append(each.histogram())
    for name, of_ends in found.items():
        points = []
        for end_ms, parts in sorted(of_ends.items()):
            merged = histogram.merge(parts)
            if merged.count >= _LEAST_IOS:
                points.append(
                    (
                        (end_ms - begins_ms) / 1000,
                        merged.percentile_ns(99) / 1e6,
                    )
                )
        yield figure.ChartLine(
            label=name, style=_STYLES.get(name, 4), points=tuple(points)
        )


def _moment(found: response.Moment) -> str:
    if found.after_s is not None:
        return f'after {found.after_s:.0f} s'
    return f'not known: {found.reason}'


def _said(answers: Sequence[of_run.Answer]) -> str:
    return '; '.join(
        f'{each.made.name} {each.made.target}: IOPS'
        f' {_number(each.iops.before.mean)} before,'
        f' {_number(each.iops.during.mean)} during,'
        f' {_number(each.iops.after.mean)} after, recovered'
        f' {_moment(each.iops.recovered)}'
        for each in answers
        if each.iops is not None and each.direction is None
    )


def answers(slots: Sequence[of_run.FaultySlot]) -> Iterator[str]:
    """Yield a sentence for each pattern that a fault affected.

    :param slots: slots in their order
    """
    for slot in slots:
        found = list(of_run.answers(slot.result, slot.made))
        for name in dict.fromkeys(each.run.name for each in found if each.run):
            said = _said(
                [each for each in found if each.run and each.run.name == name]
            )
            if said:
                yield f'Slot {slot.name}, {name}: {said}'


def _number(value: float | None) -> str:
    return '-' if value is None else report_rows.number(value)


def _charts(
    slot: of_run.FaultySlot, answers: Sequence[of_run.Answer]
) -> Iterator[figure.Chart]:
    # By identity: a run is of mappings, too.
    runs = {id(each.run): each.run for each in answers if each.run is not None}
    for run in runs.values():
        mine = [each for each in answers if each.run is run]
        spans = _spans(mine, run.slot.series[0][0] / 1000)
        said = _said(mine)
        lines = tuple(_iops_lines(run.slot))
        yield figure.Chart(
            title=f'Slot {slot.name}, {run.name}: IOPS',
            drawing=figure.LineChart(
                x_title='second', y_title='IOPS', lines=lines, spans=spans
            ),
            alternative=f'IOPS over time, {said}',
        )
        lines = tuple(line for line in _p99_lines(run.slot) if line.points)
        if lines:
            yield figure.Chart(
                title=f'Slot {slot.name}, {run.name}: p99',
                drawing=figure.LineChart(
                    x_title='second',
                    y_title='ms',
                    y_is_log=True,
                    has_marks=True,
                    lines=lines,
                    spans=spans,
                ),
                alternative='p99 of completion latency over time: '
                + '; '.join(
                    f'{line.label} at most'
                    f' {report_rows.number(max(y for _x, y in line.points))}'
                    f' ms'
                    for line in lines
                ),
            )


def _row(
    slot: of_run.FaultySlot, answer: of_run.Answer
) -> tuple[str | float | None, ...]:
    iops, p99 = answer.iops, answer.p99
    reasons = [answer.reason] if answer.reason else []
    if iops is not None:
        reasons += [
            f'{what}: {moment.reason}'
            for what, moment in (
                ('gets along', iops.gets_along),
                ('recovered', iops.recovered),
            )
            if moment.reason
        ]
    if p99 is not None:
        reasons += p99.reasons()
    return (
        slot.name,
        answer.run.name if answer.run else '-',
        (answer.direction or 'all') if answer.run else '-',
        answer.made.name,
        answer.made.target,
        answer.made.ended - answer.made.began,
        *(
            (iops.before.mean, iops.during.mean, iops.after.mean)
            if iops
            else (None,) * 3
        ),
        *(
            (
                p99.before.percentile_ms,
                p99.during.percentile_ms,
                p99.after.percentile_ms,
            )
            if p99
            else (None,) * 3
        ),
        *(
            (
                iops.longest_stall_s,
                iops.gets_along.after_s,
                iops.recovered.after_s,
            )
            if iops
            else (None,) * 3
        ),
        slot.healthy_s.get(answer.made.name),
        '; '.join(reasons) or '-',
    )


def figures(
    slots: Sequence[of_run.FaultySlot],
) -> Iterator[figure.ReportFigure]:
    """Yield time lines of all slots with faults, and their numbers.

    :param slots: slots in their order
    :raises ValueError: a series has gaps
    """
    charts: list[figure.Chart] = []
    rows: list[tuple[str | float | None, ...]] = []
    for slot in slots:
        answers = list(of_run.answers(slot.result, slot.made))
        charts += _charts(slot, answers)
        rows += [_row(slot, each) for each in answers]
    if not rows:
        return
    yield figure.ReportFigure(
        title='Faults',
        dispensable=1,
        caption='IOPS of all guests, second by second, and the p99 of each few'
        ' seconds if the guests sent latencies; a fault lasts as long as the'
        ' field behind the lines. As before is a mean of 10 s that is not more'
        ' than 10 % worse than all before the first fault. The axis of'
        ' latencies is logarithmic.',
        keys=(
            figure.ColourKey(name='all', style=_STYLES[None]),
            figure.ColourKey(name='read', style=_STYLES['read']),
            figure.ColourKey(name='write', style=_STYLES['write']),
        ),
        charts=tuple(charts),
        table=figure.Table(columns=_COLUMNS, rows=tuple(rows)),
    )
