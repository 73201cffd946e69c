# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier trend`."""

import argparse
import collections.abc

from cliff import columns

from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import trend


class _LeftOut(columns.FormattableColumn):
    """Runs without a figure: their number for people, all for programs."""

    def human_readable(self) -> str:
        return str(len(self._value)) if self._value else '-'

    def machine_readable(self) -> list[dict[str, str]]:
        return [
            {
                'run': cells.printable(each.run),
                'ended_at': cells.printable(each.ended_at),
                'reason': each.reason,
            }
            for each in self._value
        ]


_TABLE: results_command.Table = {
    'Tier': lambda level: level.tier,
    'Pattern': lambda level: level.pattern,
    'Quantity': lambda level: level.quantity,
    'Finding': lambda level: level.finding.value,
    'Since': lambda level: level.ended_at,
    'Run': lambda level: level.run,
    'Before': lambda level: results.Amount((level.before, level.unit)),
    'After': lambda level: results.Amount((level.after, level.unit)),
    'Change %': lambda level: cells.rounded(level.difference_percent),
    'Runs': lambda level: level.runs,
    'Runs needed': lambda level: cells.Optional(level.runs_needed),
    'Left out': lambda level: _LeftOut(level.left_out),
    'Also changed': lambda level: cells.Words(level.changed),
}

#: Told below a table for people.
_SAID_BELOW = ('Run', 'Runs needed', 'Left out', 'Also changed')


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads, and looks for changes.

    :raises base.CommandFailed: a file cannot be read.
    :raises comparison.ComparisonError: the runs are not of one series.
    """
    read = results.read_all(parsed_args.results)
    found = trend.over_time(
        list(read.values()),
        results.quantities(parsed_args, comparison.QUANTITIES),
    )
    shown.warn(_left_out(found))
    shown.warn(_wandering(found))
    needed = [each.runs_needed for each in found if each.runs_needed]
    if needed and parsed_args.changes:
        shown.warn(
            [
                f'{len(needed)} of the series have too few runs to tell: each '
                f'needs at least {needed[0]}; leave --changes out to show them'
            ]
        )
    last = {
        (level.tier, level.pattern, level.quantity): level.finding
        for level in found
    }
    shown_levels = [
        level for level in found if level.run or not parsed_args.changes
    ]
    return results_command.Found(
        table=_TABLE,
        items=shown_levels,
        for_programs=_SAID_BELOW,
        notes=_notes(shown_levels) if parsed_args.formatter == 'table' else (),
        is_worse=trend.TrendFinding.WORSE in last.values(),
        is_unknown=trend.TrendFinding.TOO_FEW_RUNS in last.values()
        or any(level.is_newest_left_out or level.wanders for level in found),
    )


def _notes(
    levels: collections.abc.Iterable[trend.Level],
) -> collections.abc.Iterator[str]:
    """Tell each run with which a level changed, and each lack of runs."""
    for level in levels:
        place = f'{level.quantity} of {level.pattern} on {level.tier}'
        if level.run:
            also = ', '.join(level.changed) or 'nothing else that is recorded'
            yield f'{place}: since run {level.run}; with it changed {also}'
        elif level.runs_needed:
            yield (
                f'{place}: {level.runs} of at least {level.runs_needed} runs '
                'that are needed'
            )


def _left_out(
    found: list[trend.Level],
) -> collections.abc.Iterator[str]:
    """A line for each run and pattern, whatever the quantity, and why."""
    reasons = {
        (level.tier, level.pattern, each): None
        for level in found
        for each in level.left_out
    }
    for tier, pattern, each in reasons:
        yield (
            f'run {each.run}, ended at {each.ended_at}, is left out of '
            f'{pattern} on {tier}: {each.reason}'
        )


def _wandering(
    found: list[trend.Level],
) -> collections.abc.Iterator[str]:
    for level in found:
        if level.wanders:
            yield (
                f'{level.quantity} of {level.pattern} on {level.tier}: the '
                f'level changed no more than it may by itself, as each run is '
                f'like the one before; more runs would tell'
            )
