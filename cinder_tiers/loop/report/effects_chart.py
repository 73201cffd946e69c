# SPDX-License-Identifier: Apache-2.0

"""Effect of each treatment of a sweep: bars, with the default at 100.

Like the papers that change one option at a time. ``loop.compare`` defines
effects, and finds whether one can be claimed.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import operator

from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import claims as report_claims
from cinder_tiers.loop.report import differences
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import rows as report_rows
from cinder_tiers.loop.sweep import effects

_COLUMNS = figure.columns(
    'Treatment',
    'Tier',
    'Pattern',
    # On a narrow screen, what is not among the first is out of sight.
    'Finding',
    ('Effect', 1),
    ('95 % from', 1),
    ('95 % to', 1),
    ('Default', 2),
    ('Treated', 2),
    ('Blocks', 0),
    ('Blocks needed', 0),
    'Reason',
)
_DEFAULT = 0
_KEYS = (
    figure.ColourKey(name='default', style=_DEFAULT),
    *differences.CLAIMED,
    figure.ColourKey(
        name='no effect can be claimed', style=differences.UNKNOWN
    ),
)


def _cells(claim: comparison.Claim) -> tuple[str | float | None, ...]:
    return (
        claim.side,
        claim.second_tier,
        claim.pattern,
        claim.finding.value,
        effects.in_hundreds(claim.difference_percent),
        effects.in_hundreds(claim.low_percent),
        effects.in_hundreds(claim.high_percent),
        claim.first,
        claim.second,
        claim.repeats,
        claim.repeats_needed,
        claim.reason,
    )


def _unmeasured_cells(
    one: effects.Unmeasured,
) -> tuple[str | float | None, ...]:
    figures = (None,) * (len(_COLUMNS) - 5)
    return (
        one.treatment,
        None,
        None,
        one.verdict.value,
        *figures,
        one.reason,
    )


def _said(claim: comparison.Claim) -> str:
    if claim.difference_percent is None:
        return f'{claim.side} {claim.finding.value}'
    effect, low, high = (
        report_rows.number(effects.in_hundreds(value))
        for value in (
            claim.difference_percent,
            claim.low_percent,
            claim.high_percent,
        )
    )
    return (
        f'{claim.side} {effect}, from {low} to {high}, {claim.finding.value}'
    )


def _chart(
    name: str,
    quantity: str,
    default: str,
    claims: Sequence[comparison.Claim],
    unmeasured: Sequence[effects.Unmeasured],
) -> figure.Chart:
    return figure.Chart(
        title=name,
        drawing=figure.Bars(
            unit=f'{quantity}, {default} = 100',
            bars=(
                figure.Bar(
                    label=default,
                    style=_DEFAULT,
                    value=effects.HUNDRED,
                ),
                *differences.bars(
                    [
                        each
                        for each in claims
                        if each.difference_percent is not None
                    ],
                    operator.attrgetter('side'),
                ),
            ),
            reference=effects.HUNDRED,
        ),
        alternative=f'Effects on {quantity}, {name}, {default} 100: '
        + '; '.join(
            (
                *map(_said, claims),
                *(
                    f'{one.treatment} {one.verdict.value}'
                    for one in unmeasured
                ),
            )
        ),
        caveats=(
            *(
                f'{claim.side}: {claim.finding.value}: {claim.reason}'
                for claim in claims
                if claim.difference_percent is None
            ),
            *(
                f'{one.treatment}: {one.verdict.value}: {one.reason}'
                for one in unmeasured
            ),
        ),
    )


def figures(
    found: effects.Effects, default: str
) -> Iterator[figure.ReportFigure]:
    """Yield a figure for each quantity, with a chart for each pattern.

    :param default: name of the treatment that changes nothing
    """
    claims = found.comparison.claims
    several = len({claim.second_tier for claim in claims}) > 1
    for place, quantity in enumerate(
        dict.fromkeys(claim.quantity for claim in claims)
    ):
        charts: dict[str, list[comparison.Claim]] = {}
        for claim in claims:
            if claim.quantity == quantity:
                name = claim.pattern
                if several:
                    name = f'{name} on {claim.second_tier}'
                charts.setdefault(name, []).append(claim)
        of_quantity = [each for group in charts.values() for each in group]
        title = report_claims.quantity_text(of_quantity[0])
        yield figure.ReportFigure(
            title=f'Effects on {title}',
            dispensable=place,
            caption='A bar is the ratio of a treatment to the default of the'
            f' same block; {default} is 100, the dashed line. The line over'
            ' its end is the 95 % interval of that ratio alone, drawn to at'
            ' most twice the longest bar; its colour says what can be claimed'
            ' beside all other claims of the sweep. A treatment that was not'
            ' in effect has no bar.',
            keys=_KEYS,
            charts=tuple(
                _chart(name, title, default, group, found.unmeasured)
                for name, group in charts.items()
            ),
            table=figure.Table(
                columns=_COLUMNS,
                rows=(
                    *map(_cells, of_quantity),
                    *map(_unmeasured_cells, found.unmeasured),
                ),
            ),
        )
