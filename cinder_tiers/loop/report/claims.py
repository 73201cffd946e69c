# SPDX-License-Identifier: Apache-2.0

"""Claims on tiers or results, side by side in a table.

``loop.compare`` finds the claims; if a comparison is impossible, the reason is
shown instead, and the rest of the report stays.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from dataclasses import dataclass

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.sweep import effects

_COLUMNS = figure.columns(
    'Result',
    'Tier',
    'Pattern',
    'Quantity',
    # On a narrow screen, what is not among the first is out of sight.
    'Finding',
    ('Difference %', 1),
    ('95 % from', 1),
    ('95 % to', 1),
    ('Baseline', 2),
    ('Compared', 2),
    'Reason',
)


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Claims of a report."""

    #: what is compared with what
    caption: str
    #: what was not the same beside the storage
    circumstances: tuple[str, ...]
    #: (finding, how often), of those that there are
    counts: tuple[tuple[str, int], ...]
    table: figure.Table
    #: why nothing can be claimed, the same of all; empty if there is none
    reason: str = ''
    #: all of them; empty if nothing could be compared
    found: tuple[comparison.Claim, ...] = ()

    @property
    def has_intervals(self) -> bool:
        """Return whether an interval is shown."""
        return bool(self.table.rows) and any(
            claim.low_percent is not None for claim in self.found
        )


def quantity_text(claim: comparison.Claim) -> str:
    """The quantity of a claim with its unit: p99, ms; IOPS; read IOPS."""
    if claim.unit == 'IOPS':
        return claim.quantity.replace('_', ' ').replace('iops', 'IOPS')
    if not claim.unit:
        return claim.quantity
    return f'{claim.quantity.removesuffix(f"_{claim.unit}")}, {claim.unit}'


def _cells(claim: comparison.Claim) -> tuple[str | float | None, ...]:
    return (
        claim.side,
        claim.second_tier
        if claim.first_tier == claim.second_tier
        else f'{claim.second_tier} against {claim.first_tier}',
        claim.pattern,
        quantity_text(claim),
        claim.finding.value,
        claim.difference_percent,
        claim.low_percent,
        claim.high_percent,
        claim.first,
        claim.second,
        claim.reason,
    )


def _claims(
    caption: str, compare: Callable[[], comparison.Comparison]
) -> Claims:
    try:
        found = compare()
    except comparison.ComparisonError as error:
        return Claims(
            caption=f'{caption} Nothing could be compared.',
            circumstances=tuple(str(error).splitlines()),
            counts=(),
            table=figure.Table(columns=_COLUMNS, rows=()),
        )
    return _shown(caption, found)


def _shown(caption: str, found: comparison.Comparison) -> Claims:
    reasons = {claim.reason for claim in found.claims}
    if len(reasons) == 1 and found.count(
        comparison.DifferenceFinding.CANNOT_TELL
    ) == (len(found.claims)):
        # A table that repeats it hides what comes after it.
        return Claims(
            caption=f'{caption} Nothing can be claimed of any of the '
            f'{len(found.claims)} figures.',
            reason=reasons.pop(),
            circumstances=found.circumstances,
            counts=(),
            table=figure.Table(columns=_COLUMNS, rows=()),
            found=found.claims,
        )
    columns: tuple[figure.Column, ...] = _COLUMNS
    rows = [_cells(claim) for claim in found.claims]
    if not any(claim.side for claim in found.claims):
        columns, rows = columns[1:], [row[1:] for row in rows]
    return Claims(
        caption=caption,
        circumstances=found.circumstances,
        counts=tuple(
            (finding.value, found.count(finding))
            for finding in comparison.DifferenceFinding
            if found.count(finding)
        ),
        table=figure.Table(columns=columns, rows=tuple(rows)),
        found=found.claims,
    )


def of_effects(found: effects.Effects, default: str) -> Claims:
    """The treatments of a sweep, each with the default.

    :param default: name of the treatment that changes nothing
    """
    shown = _shown(
        f'Each treatment compared with {default}, within each block.',
        found.comparison,
    )
    counts = collections.Counter(
        each.verdict.value for each in found.unmeasured
    )
    return dataclasses.replace(
        shown,
        circumstances=(*shown.circumstances, *found.left_out),
        counts=(*shown.counts, *counts.items()),
        table=dataclasses.replace(
            shown.table,
            # The sides are treatments.
            columns=tuple(
                figure.Column(title='Treatment')
                if column.title == 'Result'
                else column
                for column in shown.table.columns
            ),
        ),
    )


def of_tiers(
    result: run_result.RunResult, question: comparison.Question
) -> Claims:
    """Return claims on the tiers of one run, each against the first.

    :param result: run of two tiers or more
    :param question: parameters of the comparison
    """
    return _claims(
        f'Each tier compared with {result.tiers[0].tier}, within each repeat.',
        lambda: comparison.tiers_of_run(result, question),
    )


def of_results(
    results: Mapping[str, run_result.RunResult],
    question: comparison.Question,
) -> Claims:
    """Return claims on results, each against the first.

    :param results: {name: result}, two or more
    :param question: parameters of the comparison
    """
    first, *others = results
    return _claims(
        f'Each result compared with {first}, tier by tier.',
        lambda: comparison.runs(
            [results[first]],
            {name: [results[name]] for name in others},
            question,
        ),
    )
