# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier repeats`."""

import argparse

from cliff import columns

from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.domain import errors
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import repeats


class _Seconds(columns.FormattableColumn):
    """A time: rounded for people, in seconds for programs."""

    def human_readable(self) -> str:
        if self._value is None:
            return '-'
        return duration.in_words(self._value)

    def machine_readable(self) -> int | None:
        return self._value


_TABLE: results_command.Table = {
    'Tier': lambda need: (
        f'{need.tier} against {need.reference}'
        if need.reference
        else need.tier or '-'
    ),
    'Pattern': lambda need: need.pattern or '-',
    'Quantity': lambda need: need.quantity or '-',
    'Noise %': lambda need: cells.rounded(need.variation_percent),
    'Repeats': lambda need: need.repeats,
    'Repeats for none': lambda need: need.repeats_for_none,
    'Takes': lambda need: _Seconds(need.seconds),
    'Reason': lambda need: need.reason,
}


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads and plans.

    :raises base.CommandFailed: the file cannot be read.
    :raises errors.WrongArguments: they do not go together.
    :raises comparison.ComparisonError: the result has no such tiers.
    """
    run = parsed_args.result and results.read(parsed_args.result)
    between = repeats.Between(
        parsed_args.between
        or ('tiers' if run and len(run.tiers) > 1 else 'runs')
    )
    found = _needs(parsed_args, run, between)
    if between is repeats.Between.RUNS:
        shown.warn(
            [
                'between runs: the noise is that of repeats of one fleet, and '
                'does not know how another fleet on the same storage would '
                'differ'
            ]
        )
    shown.warn([_summary(found, parsed_args)])
    return results_command.Found(
        table=_TABLE,
        items=found.needs,
        is_unknown=found.repeats is None,
    )


def _needs(
    parsed_args: argparse.Namespace,
    run: run_result.RunResult | None,
    between: repeats.Between,
) -> repeats.Needs:
    question = comparison.Question(
        quantities=results.quantities(parsed_args, comparison.QUANTITIES),
        least_difference_percent=parsed_args.least_difference,
        wanted_difference_percent=parsed_args.difference,
        power=parsed_args.power,
    )
    if parsed_args.reference and between is repeats.Between.RUNS:
        raise errors.WrongArguments(
            '--reference is for a comparison between tiers'
        )
    if parsed_args.variation is not None:
        if (
            parsed_args.reference
            or parsed_args.quantities
            or parsed_args.directions
        ):
            raise errors.WrongArguments(
                '--reference, --quantity and --direction choose from the noise'
                ' of a result; with --variation, say by --claims how many are'
                ' compared'
            )
        return repeats.of_variation(
            parsed_args.variation,
            question,
            between=between,
            claims=parsed_args.claims,
            run=run,
        )
    if parsed_args.claims != 1:
        raise errors.WrongArguments(
            '--claims requires --variation; with a result file, the '
            'claims are counted'
        )
    if run is None:
        raise errors.WrongArguments(
            'the noise is not known: name a result file of an earlier '
            'run, or give --variation'
        )
    return repeats.of_run(
        run, question, between=between, reference=parsed_args.reference
    )


def _summary(found: repeats.Needs, parsed_args: argparse.Namespace) -> str:
    """All claims together in one line."""
    wanted = f'to see {parsed_args.difference:g} %'
    if found.claims > 1:
        wanted += f' in each of {found.claims} claims'
    if found.repeats is None:
        unknown = sum(need.repeats is None for need in found.needs)
        return (
            f'{wanted}: not known, {unknown} of {len(found.needs)} have no '
            f'number; see their reasons'
        )
    seconds = _Seconds(found.seconds).human_readable()
    return (
        f'{wanted}: {found.repeats} repeats'
        + ('' if found.seconds is None else f', {seconds}')
        + f' (with a probability of {100 * parsed_args.power:g} % for each)'
    )
