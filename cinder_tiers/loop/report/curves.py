# SPDX-License-Identifier: Apache-2.0

"""Load curves: latency against the load, with the knee and what is expected.

What a curve says is found by ``loop.headroom``; one that cannot be read is in
the table with its reason.
"""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import itertools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.headroom import curve as load_curve
from cinder_tiers.loop.headroom import load
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows

# Those of syncs where the pattern has some.
_QUANTITIES = ('p99_ms', 'sync_p99_ms')
_COLUMNS = figure.columns(
    'Tier',
    'Pattern',
    'Latency',
    'Load',
    ('Asked IOPS', 0),
    ('IOPS', 1),
    ('95 % from', 1),
    ('95 % to', 1),
    ('Mean ms', 3),
    'Not known because',
)


_Cells = tuple[str | float | None, ...]


def _of_several_steps(result: run_result.RunResult) -> list[tuple[str, str]]:
    steps = collections.Counter(
        (tier.tier, pattern.asked.curve)
        for tier in result.tiers
        for pattern in tier.patterns
        if pattern.asked
    )
    return [each for each in load_curve.names(result) if steps[each] > 1]


def _read(
    result: run_result.RunResult, expected: Mapping[str, float]
) -> tuple[list[load_curve.Curve], list[_Cells]]:
    """Curves of several steps, and a row for each that cannot be read."""
    found: list[load_curve.Curve] = []
    lost: list[_Cells] = []
    for quantity in dict.fromkeys(
        (
            *_QUANTITIES,
            *(expectations.limit(each).quantity for each in expected),
        )
    ):
        for tier, name in _of_several_steps(result):
            try:
                curve = load_curve.of_run(
                    result, tier, name, expectations.quantity(quantity)
                )
            except load_curve.CurveError as error:
                lost.append(
                    (tier, name, quantity, '-', *(None,) * 5, str(error))
                )
                continue
            if curve is not None:
                found.append(curve)
    return found, lost


def _loads(
    curve: load_curve.Curve, expected: Mapping[str, float]
) -> dict[str, load.GuestsLoad]:
    """Return {name: key load} of the curve."""
    found = {
        'knee': load.knee(curve),
        '70 % of the most': load.operating_point(curve),
    }
    for name, bound in expected.items():
        if expectations.limit(name).quantity == curve.quantity.quantity:
            found[f'{name} {bound:g}'] = load.within(curve, bound)
    return found


def _mean_ms(step: load_curve.Step) -> float | None:
    if not step.latencies_ms:
        return None
    return sum(step.latencies_ms) / len(step.latencies_ms)


def _not_told(step: load_curve.Step, saturation: load_curve.Saturation) -> str:
    """Explain what of a step is not known; empty if all is."""
    if saturation is not load_curve.Saturation.CANNOT_TELL:
        return step.reason
    why = (
        'one repeat has no interval'
        if len(step.iops) == 1
        else f'{100 * load_curve.PACED_SHARE:g} % of the load, from which on'
        f' it counts as done, is within the interval'
    )
    return '; '.join(each for each in (why, step.reason) if each)


def _rows(
    curve: load_curve.Curve, expected: Mapping[str, float]
) -> Iterator[_Cells]:
    about = (curve.tier, curve.name, curve.quantity.quantity)
    for step in curve.steps:
        saturation = step.saturation(looks=curve.looks)
        yield (
            *about,
            saturation.value,
            step.asked_iops,
            *report_rows.ends(step.estimate_iops(looks=curve.looks)),
            _mean_ms(step),
            _not_told(step, saturation) or '-',
        )
    for name, found in _loads(curve, expected).items():
        yield (
            *about,
            name,
            None,
            *report_rows.ends(found.iops),
            None,
            found.contradiction or found.reason or '-',
        )


def _undrawn(group: Sequence[load_curve.Curve]) -> str:
    """Explain why no step of a chart without points has a latency."""
    return 'no step has a latency: ' + '; '.join(
        dict.fromkeys(
            f'{curve.tier}: {step.reason}'
            for curve in group
            for step in curve.steps
        )
    )


def _points(curve: load_curve.Curve) -> tuple[tuple[float, float], ...]:
    return tuple(
        (step.estimate_iops().mean, latency)
        for step in curve.steps
        if (latency := _mean_ms(step)) is not None
    )


def _said(curve: load_curve.Curve, expected: Mapping[str, float]) -> str:
    steps = ', '.join(
        f'{report_rows.number(latency)} ms at {report_rows.number(iops)} IOPS'
        for iops, latency in _points(curve)
    )
    loads = ', '.join(
        f'{name} at {report_rows.number(found.iops.mean)} IOPS'
        if found.iops
        else f'{name} not known'
        for name, found in _loads(curve, expected).items()
    )
    return f'{curve.tier} {steps or "no latency"}; {loads}'


def _iops(found: load.GuestsLoad) -> str:
    """Write a load, such as 140 IOPS (120 to 160); empty if not known."""
    if found.iops is not None:
        mean, *ends = map(report_rows.number, report_rows.ends(found.iops))
        return f'{mean} IOPS' + (
            f' ({" to ".join(ends)})' if found.iops.low is not None else ''
        )
    if found.at_least_iops is not None:
        return f'at least {report_rows.number(found.at_least_iops)} IOPS'
    return ''


def answers(
    result: run_result.RunResult, expected: Mapping[str, float]
) -> Iterator[str]:
    """A sentence for each curve: what it keeps, and where its knee is.

    :param expected: {limit of latency: its value in ms}
    """
    for curve in _read(result, expected)[0]:
        quantity = curve.quantity.quantity.removesuffix('_ms')
        bounds = [
            bound
            for name, bound in expected.items()
            if expectations.limit(name).quantity == curve.quantity.quantity
        ]
        clauses = []
        for bound in bounds:
            found = load.within(curve, bound)
            words = _iops(found) or f'a load not known: {found.reason}'
            clauses.append(f'{quantity} within {bound:g} ms up to {words}')
        knee = load.knee(curve)
        if words := _iops(knee):
            clauses.append(f'{quantity} rises steeply beyond {words}')
        if not clauses:
            clauses.append(f'no knee of {quantity} found: {knee.reason}')
        yield f'On {curve.tier}, {curve.name}: {", and ".join(clauses)}'


def _lines(
    curve: load_curve.Curve, style: int, expected: Mapping[str, float]
) -> Iterator[figure.ChartLine]:
    points = _points(curve)
    yield figure.ChartLine(label=curve.tier, style=style, points=points)
    if not points:
        return
    latencies = [latency for _iops, latency in points]
    found = _loads(curve, expected)['knee']
    if found.iops is not None:
        yield figure.ChartLine(
            label=f'{curve.tier}, knee',
            style=style,
            points=(
                (found.iops.mean, min(latencies)),
                (found.iops.mean, max(latencies)),
            ),
            is_dashed=True,
        )
    for name, bound in expected.items():
        if expectations.limit(name).quantity == curve.quantity.quantity:
            yield figure.ChartLine(
                label=name,
                style=figure.STYLES - 1,
                points=((points[0][0], bound), (points[-1][0], bound)),
                is_dashed=True,
            )


def _chart(
    title: str,
    group: Sequence[load_curve.Curve],
    styles: Mapping[str, int],
    expected: Mapping[str, float],
) -> figure.Chart:
    return figure.Chart(
        title=title,
        drawing=figure.LineChart(
            x_title='IOPS',
            y_title=f'{group[0].quantity.quantity.removesuffix("_ms")}, ms',
            has_marks=True,
            # Past the knee it grows by as much as the run lasts.
            y_is_log=True,
            lines=tuple(
                line
                for curve in group
                for line in _lines(curve, styles[curve.tier], expected)
            ),
        ),
        alternative=f'Latency against the load, {title}: '
        + '; '.join(_said(curve, expected) for curve in group),
        undrawn=_undrawn(group),
    )


def curves(
    result: run_result.RunResult, expected: Mapping[str, float]
) -> figure.ReportFigure | None:
    """Each curve of a result.

    :param expected: {limit of latency: its value in ms}, which is drawn
    :returns: None if nothing was paced in steps
    """
    found, lost = _read(result, expected)
    if not found and not lost:
        return None
    styles = {
        tier: at % (figure.STYLES - 1)
        for at, tier in enumerate(dict.fromkeys(each.tier for each in found))
    }

    def title(curve: load_curve.Curve) -> str:
        quantity = curve.quantity.quantity.removesuffix('_ms')
        return f'{curve.name}, {quantity}'

    return figure.ReportFigure(
        title='Load curves',
        dispensable=1,
        caption='Latency, on a logarithmic axis, against the IOPS that were'
        ' done, at more and more load, over the repeats in which all guests'
        ' are complete. An upright'
        ' dashed line is the knee, beyond which the latency rises steeply'
        ' (Kneedle); a level one is what is expected. The table has the'
        ' intervals over the repeats, whether each load was done, the knee,'
        ' 70 % of the most that was done, and the highest load within what is'
        ' expected; its means are arithmetic, those of the tables of intervals'
        ' geometric.',
        keys=tuple(
            figure.ColourKey(name=tier, style=style)
            for tier, style in styles.items()
        ),
        charts=tuple(
            _chart(name, tuple(group), styles, expected)
            for name, group in itertools.groupby(
                sorted(found, key=title), key=title
            )
        ),
        table=figure.Table(
            columns=_COLUMNS,
            rows=(
                *(row for curve in found for row in _rows(curve, expected)),
                *lost,
            ),
        ),
    )
