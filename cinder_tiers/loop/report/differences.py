# SPDX-License-Identifier: Apache-2.0

"""Differences that claims are about: a bar a pattern, the first side is 100.

What can be claimed is found by ``loop.compare``.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import operator

from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import claims as report_claims
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows
from cinder_tiers.loop.sweep import effects

UNKNOWN = 7
STYLES = {
    comparison.DifferenceFinding.WORSE: figure.WORSE,
    comparison.DifferenceFinding.BETTER: figure.BETTER,
}
#: What the colours of claims stand for.
CLAIMED = (
    figure.ColourKey(
        name='better', style=STYLES[comparison.DifferenceFinding.BETTER]
    ),
    figure.ColourKey(
        name='worse', style=STYLES[comparison.DifferenceFinding.WORSE]
    ),
)
_KEYS = (
    *CLAIMED,
    figure.ColourKey(name='no difference can be claimed', style=UNKNOWN),
)
#: An interval from few repeats may be so wide that bars could not be seen.
_MOST_OF_LONGEST_BAR = 2
_COLUMNS = figure.columns(
    'What',
    'Pattern',
    'Finding',
    ('Baseline = 100', 1),
    ('From', 1),
    ('To', 1),
)


def _pair(claim: comparison.Claim) -> str:
    """Return the name of a comparison, as title of a chart."""
    tiers = claim.second_tier
    if claim.first_tier != claim.second_tier:
        tiers = f'{claim.second_tier} against {claim.first_tier}'
    return f'{claim.side}: {tiers}' if claim.side else tiers


def within_reach(bars: Sequence[figure.Bar]) -> Iterator[figure.Bar]:
    """Bars in hundreds, with intervals that leave them room in a chart."""
    longest = _MOST_OF_LONGEST_BAR * max(
        [effects.HUNDRED, *(bar.value for bar in bars)]
    )
    for bar in bars:
        yield dataclasses.replace(
            bar, high=None if bar.high is None else min(longest, bar.high)
        )


def bars(
    claims: Sequence[comparison.Claim],
    label: Callable[[comparison.Claim], str],
) -> Iterator[figure.Bar]:
    """Yield a bar for each claim: the ratio of the second side to the first.

    :param claims: claims; those without an interval have no bar
    :param label: returns the label of a bar
    """
    return within_reach(
        [
            figure.Bar(
                label=label(claim),
                style=STYLES.get(claim.finding, UNKNOWN),
                value=value,
                low=low,
                high=high,
            )
            for claim in claims
            if (change := claim.change_percent)
            for value, low, high in [map(effects.in_hundreds, change)]
        ]
    )


def _cells(claim: comparison.Claim) -> tuple[str | float | None, ...]:
    return (
        _pair(claim),
        claim.pattern,
        claim.finding.value,
        effects.in_hundreds(claim.difference_percent),
        effects.in_hundreds(claim.low_percent),
        effects.in_hundreds(claim.high_percent),
    )


def _said(claim: comparison.Claim) -> str:
    effect, low, high = (
        report_rows.number(effects.in_hundreds(value))
        for value in claim.change_percent or (None,) * 3
    )
    return (
        f'{claim.pattern} {effect}, from {low} to {high},'
        f' {claim.finding.value}'
    )


def _chart(
    name: str, quantity: str, claims: Sequence[comparison.Claim]
) -> figure.Chart:
    return figure.Chart(
        title=name,
        drawing=figure.Bars(
            unit=f'{quantity}, baseline = 100',
            bars=tuple(bars(claims, operator.attrgetter('pattern'))),
            reference=effects.HUNDRED,
        ),
        alternative=f'{quantity} of {name}, the baseline is 100: '
        + '; '.join(map(_said, claims)),
    )


def figures(
    claims: Sequence[comparison.Claim],
) -> tuple[figure.ReportFigure, ...]:
    """Return a figure for each quantity with a known difference.

    :param claims: claims of a report; those without a difference are not drawn
    """
    known = [claim for claim in claims if claim.change_percent]
    made = []
    for quantity in dict.fromkeys(claim.quantity for claim in known):
        pairs: dict[str, list[comparison.Claim]] = {}
        for claim in known:
            if claim.quantity == quantity:
                pairs.setdefault(_pair(claim), []).append(claim)
        of_quantity = [each for found in pairs.values() for each in found]
        title = report_claims.quantity_text(of_quantity[0])
        made.append(
            figure.ReportFigure(
                title=f'Differences of {title}',
                dispensable=0,
                caption='A bar is what is compared in percent of its baseline,'
                ' the dashed line at 100. The line over its end is the 95 %'
                ' interval, of all bars together, drawn to at most twice the'
                ' longest bar or the baseline.',
                keys=_KEYS,
                charts=tuple(
                    _chart(name, title, found) for name, found in pairs.items()
                ),
                table=figure.Table(
                    columns=_COLUMNS, rows=tuple(map(_cells, of_quantity))
                ),
            )
        )
    return tuple(made)
