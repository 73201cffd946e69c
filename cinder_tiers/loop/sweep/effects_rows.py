# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier effects`."""

import argparse
import dataclasses

from cliff import columns

from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.sweep import effects
from cinder_tiers.loop.sweep import results_argument


class _Effect(columns.FormattableColumn):
    """A claim as a ratio of which the default is 100, with its interval."""

    def human_readable(self) -> str:
        change = self._value.change_percent
        if change is None:
            return '-'
        effect, low, high = (effects.in_hundreds(each) for each in change)
        return f'{effect:.1f} ({low:.1f} to {high:.1f})'

    def machine_readable(self) -> dict[str, object]:
        claim = self._value
        return {
            **{
                name: effects.in_hundreds(value)
                for name, value in (
                    ('effect', claim.difference_percent),
                    ('low', claim.low_percent),
                    ('high', claim.high_percent),
                )
            },
            'probability': claim.probability,
            'blocks': claim.repeats,
            'blocks_needed': claim.repeats_needed,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class _EffectLine:
    """Content of a row."""

    #: Without any figure, of a treatment that has none.
    claim: comparison.Claim
    finding: comparison.DifferenceFinding | effects.SlotVerdict


_TABLE: results_command.Table = {
    'Treatment': lambda line: line.claim.side,
    'Tier': lambda line: line.claim.second_tier,
    'Pattern': lambda line: line.claim.pattern,
    'Quantity': lambda line: line.claim.quantity,
    'Default': lambda line: results.Amount(
        (line.claim.first, line.claim.unit)
    ),
    'Treated': lambda line: results.Amount(
        (line.claim.second, line.claim.unit)
    ),
    'Effect': lambda line: _Effect(line.claim),
    'Finding': lambda line: line.finding.value,
    'Reason': lambda line: line.claim.reason,
}


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads and compares.

    :raises base.CommandFailed: a file cannot be read.
    :raises comparison.ComparisonError: its results cannot be compared.
    """
    question = comparison.Question(
        quantities=results_argument.quantities(parsed_args),
        least_difference_percent=parsed_args.least_difference,
        wanted_difference_percent=parsed_args.wanted_difference,
    )
    file, swept = results_argument.read(parsed_args.sweep)
    found = effects.of_sweep(swept, question, tiers=parsed_args.tiers or None)
    compared = found.comparison
    shown.warn(results_argument.warnings(file))
    shown.warn(compared.circumstances)
    shown.warn(found.left_out)
    is_of_one_tier = len({each.second_tier for each in compared.claims}) <= 1
    return results_command.Found(
        table=_TABLE,
        items=[
            *(
                _EffectLine(claim=each, finding=each.finding)
                for each in compared.claims
            ),
            *map(_line_of_unmeasured, found.unmeasured),
        ],
        said_below='Reason',
        without={'Tier'} if is_of_one_tier else (),
        is_worse=compared.count(comparison.DifferenceFinding.WORSE) > 0,
        is_unknown=bool(found.unmeasured)
        or compared.count(comparison.DifferenceFinding.NOT_COMPARED) > 0,
    )


def _line_of_unmeasured(one: effects.Unmeasured) -> _EffectLine:
    return _EffectLine(
        claim=comparison.Claim(
            side=one.treatment,
            first_tier='-',
            second_tier='-',
            pattern='-',
            quantity='-',
            unit='',
            finding=comparison.DifferenceFinding.NOT_COMPARED,
            reason=one.reason,
        ),
        finding=one.verdict,
    )
