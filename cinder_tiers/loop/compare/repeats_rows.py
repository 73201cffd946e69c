# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier repeats`."""

import argparse
from collections.abc import Sequence

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


def _table(between: repeats.Between) -> results_command.Table:
    counted = {
        repeats.Between.TIERS: 'Repeats',
        repeats.Between.RUNS: 'Runs',
    }[between]
    return {
        'Tier': lambda need: (
            f'{need.tier} against {need.reference}'
            if need.reference
            else need.tier or '-'
        ),
        'Pattern': lambda need: need.pattern or '-',
        'Quantity': lambda need: need.quantity or '-',
        'Noise %': lambda need: cells.rounded(need.variation_percent),
        counted: lambda need: need.repeats,
        f'{counted} for none': lambda need: need.repeats_for_none,
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
    runs = list(
        results.read_all(
            [
                path
                for each in parsed_args.results
                for path in results.files_of(each)
            ]
        ).values()
    )
    runs.sort(key=lambda run: run.ended_at)
    between = repeats.Between(
        parsed_args.between
        or ('tiers' if len(runs) == 1 and len(runs[0].tiers) > 1 else 'runs')
    )
    found = _needs(parsed_args, runs, between)
    shown.warn([_summary(found, parsed_args, between)])
    return results_command.Found(
        table=_table(between),
        items=found.needs,
        is_unknown=found.repeats is None,
    )


def _needs(
    parsed_args: argparse.Namespace,
    runs: Sequence[run_result.RunResult],
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
            run=runs[-1] if runs else None,
        )
    if parsed_args.claims != 1:
        raise errors.WrongArguments(
            '--claims requires --variation; with a result file, the '
            'claims are counted'
        )
    if not runs:
        raise errors.WrongArguments(
            'the noise is not known: name a result file of an earlier '
            'run, or give --variation'
        )
    if between is repeats.Between.RUNS:
        return repeats.of_runs(runs, question)
    if len(runs) > 1:
        raise errors.WrongArguments(
            f'{len(runs)} results: expected one, to compare its tiers; name'
            f' one, or use --between runs'
        )
    return repeats.of_run(runs[0], question, reference=parsed_args.reference)


def _summary(
    found: repeats.Needs,
    parsed_args: argparse.Namespace,
    between: repeats.Between,
) -> str:
    """Summarize all claims in one line."""
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
        f'{wanted}: {found.repeats} '
        + (
            'runs of each side'
            if between is repeats.Between.RUNS
            else 'repeats'
        )
        + ('' if found.seconds is None else f', {seconds}')
        + f' (with a probability of {100 * parsed_args.power:g} % for each)'
    )
