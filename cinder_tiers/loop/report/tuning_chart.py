# SPDX-License-Identifier: Apache-2.0

"""Search and confirmation of a tuning.

``loop.tune`` finds what can be claimed of a candidate.
"""

from collections.abc import Iterator

from cinder_tiers.figures.stats import differences
from cinder_tiers.loop.report import differences as report_differences
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows
from cinder_tiers.loop.sweep import effects
from cinder_tiers.loop.tune import history as histories
from cinder_tiers.loop.tune import judged
from cinder_tiers.loop.tune import tuning as tunings

_TRIAL_COLUMNS = figure.columns(
    ('Measurement', 0),
    ('Block', 0),
    'Candidate',
    ('Gain %', 1),
    ('Best so far %', 1),
    'Ruled out because',
)
_CANDIDATE_COLUMNS = figure.columns(
    'Candidate',
    'Finding',
    ('Gain %', 1),
    ('95 % from', 1),
    ('95 % to', 1),
    ('Blocks', 0),
    'Reason',
)
_DEFAULT, _MEASURED, _BEST, _UNKNOWN = 0, 1, 2, 7
_STYLES = {
    judged.CandidateFinding.PROPOSED: figure.BETTER,
    judged.CandidateFinding.BETTER: figure.BETTER,
}
_CONFIRMED = (
    judged.CandidateFinding.PROPOSED,
    judged.CandidateFinding.BETTER,
    judged.CandidateFinding.NOT_BETTER,
)


def _trials(
    tuning: tunings.Tuning,
) -> Iterator[tuple[int, int, str, float | None, float | None, str]]:
    """The rows of the search, in the order of its measurements."""
    best: float | None = None
    number = 0
    for block, taken in enumerate(tuning.history.blocks, 1):
        if taken.part is not histories.BlockPurpose.SEARCH:
            continue
        for each in taken.outcomes:
            number += 1
            gain = (
                None if each.gain is None else differences.percent(each.gain)
            )
            if gain is not None and not each.broken:
                best = gain if best is None else max(best, gain)
            yield (
                number,
                block,
                tuning.words(each.candidate),
                gain,
                best,
                '; '.join(each.broken) or '-',
            )


def _search(tuning: tunings.Tuning) -> figure.ReportFigure | None:
    rows = tuple(_trials(tuning))
    measured = [(row[0], row[3]) for row in rows if row[3] is not None]
    best = [(row[0], row[4]) for row in rows if row[4] is not None]
    if not measured:
        return None
    said = '; '.join(
        f'{row[2]} {report_rows.number(row[3])} %'
        for row in rows
        if row[3] is not None
    )
    return figure.ReportFigure(
        title='The search',
        dispensable=0,
        caption='Each measured candidate with its gain in'
        f' {tuning.goal}, to the default of the same block; more is better,'
        ' also of a latency. The best of many measurements looks better than'
        ' it is: nothing is claimed of it. The table has what was ruled out,'
        ' too.',
        keys=(
            figure.ColourKey(name='measured', style=_MEASURED),
            figure.ColourKey(name='best so far', style=_BEST),
        ),
        is_wide=True,
        charts=(
            figure.Chart(
                title=f'Gain in {tuning.goal}',
                drawing=figure.LineChart(
                    x_title='measurement',
                    y_title='gain, %',
                    has_marks=True,
                    lines=(
                        figure.ChartLine(
                            label='measured',
                            style=_MEASURED,
                            points=tuple(measured),
                        ),
                        figure.ChartLine(
                            label='best so far',
                            style=_BEST,
                            points=tuple(best),
                            is_dashed=True,
                        ),
                    ),
                ),
                alternative=f'Gain in {tuning.goal} of each measured'
                f' candidate: {said}',
            ),
        ),
        table=figure.Table(columns=_TRIAL_COLUMNS, rows=rows),
    )


def _bars(found: list[judged.Judged]) -> Iterator[figure.Bar]:
    return report_differences.within_reach(
        [
            figure.Bar(
                label=each.words,
                style=_STYLES.get(each.finding, _UNKNOWN),
                value=effects.in_hundreds(each.gain_percent),
                low=effects.in_hundreds(each.low_percent),
                high=effects.in_hundreds(each.high_percent),
            )
            for each in found
            if each.gain_percent is not None
        ]
    )


def _said(each: judged.Judged) -> str:
    value, low, high = (
        report_rows.number(effects.in_hundreds(percent))
        for percent in (each.gain_percent, each.low_percent, each.high_percent)
    )
    return f'{each.words} {value}, from {low} to {high}, {each.finding.value}'


def _confirmation(tuning: tunings.Tuning) -> figure.ReportFigure:
    found = judged.candidates(tuning)
    confirmed = [each for each in found if each.finding in _CONFIRMED]
    charts: tuple[figure.Chart, ...] = ()
    if confirmed:
        charts = (
            figure.Chart(
                title=f'Gain in {tuning.goal}, on fresh blocks',
                drawing=figure.Bars(
                    unit='default = 100, more is better',
                    reference=effects.HUNDRED,
                    bars=(
                        figure.Bar(
                            label='default',
                            style=_DEFAULT,
                            value=effects.HUNDRED,
                        ),
                        *_bars(confirmed),
                    ),
                ),
                alternative=f'Gain in {tuning.goal}, default 100: '
                + '; '.join(map(_said, confirmed)),
            ),
        )
    return figure.ReportFigure(
        title='The confirmation',
        dispensable=0,
        caption='What looked best in the search, measured beside the default'
        ' in blocks of their own, which the search has not seen. The line over'
        ' the end of a bar is the 95 % interval of that gain alone, drawn to'
        ' at most twice the longest bar; its colour says what can be claimed'
        ' beside the others. The table has all candidates.',
        keys=(
            figure.ColourKey(name='default', style=_DEFAULT),
            figure.ColourKey(
                name='better', style=_STYLES[judged.CandidateFinding.PROPOSED]
            ),
            figure.ColourKey(name='not better', style=_UNKNOWN),
        )
        if charts
        else (),
        is_wide=True,
        charts=charts,
        table=figure.Table(
            columns=_CANDIDATE_COLUMNS,
            rows=tuple(
                (
                    each.words,
                    each.finding.value,
                    each.gain_percent,
                    each.low_percent,
                    each.high_percent,
                    each.blocks,
                    each.reason,
                )
                for each in found
            ),
        ),
    )


def figures(tuning: tunings.Tuning) -> Iterator[figure.ReportFigure]:
    """Yield the confirmation, which is what counts, and then the search."""
    yield _confirmation(tuning)
    search = _search(tuning)
    if search is not None:
        yield search


def summary(tuning: tunings.Tuning) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a tuning and its end, as (name, value)."""
    proposed = tuning.history.proposed
    return (
        ('Tuning of tier', tuning.tier),
        ('Goal', tuning.goal),
        ('End', tuning.history.end.value),
        ('Proposed', tuning.words(proposed.candidate) if proposed else '-'),
        (
            'Time',
            f'{tuning.history.seconds / 60:,.0f} of'
            f' {tuning.budget_s / 60:,.0f} min, in'
            f' {len(tuning.history.blocks)} blocks',
        ),
        ('A smaller gain is none', f'{tuning.history.least_percent:g} %'),
        ('Seed', str(tuning.seed)),
        *(
            (
                f'Option {each.name}',
                f'{", ".join(each.values)}; in the tiers file: '
                f'{each.default or "not set"}',
            )
            for each in tuning.options
        ),
    )


def answer(tuning: tunings.Tuning) -> str:
    """Return the result of a tuning, in a sentence."""
    for each in judged.candidates(tuning):
        if each.finding is judged.CandidateFinding.PROPOSED:
            gain, low, high = (
                report_rows.number(percent)
                for percent in (
                    each.gain_percent,
                    each.low_percent,
                    each.high_percent,
                )
            )
            return (
                f'{tuning.tier}: {each.words} is {gain} % better in'
                f' {tuning.goal} than the tiers file ({low} to {high} %)'
            )
    return f'{tuning.tier}, {tuning.goal}: {tuning.history.end.value}'
