# SPDX-License-Identifier: Apache-2.0

"""`openstack tier trend`: where figures of tiers changed over time."""

import argparse
import collections.abc

from cliff import columns

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results

_COLUMNS = (
    'Tier',
    'Pattern',
    'Quantity',
    'Finding',
    'Since',
    'Run',
    'Before',
    'After',
    'Change %',
    'Runs',
    'Runs needed',
    'Left out',
    'Also changed',
)


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


class ShowTrend(base.StatusLister):
    """Find changes over time in the result files of successive runs.

    Each run is one observation. Where a quantity of a pattern changed its
    level, shows when, by how much, and what else differed from the run before.
    A series needs at least nine runs; the more runs there are on each side of
    a change, the sooner it is found, and the more tiers, patterns and
    quantities are compared, the more runs are needed. Lists runs without a
    sound result of a pattern, which are left out. Reads only files and needs
    no credentials.
    """

    _epilog = """Exit status: 0 no quantity is at a worse level than before its
last change; 4 a quantity is at a worse level; 3 there were too few runs to
tell, or the newest has no sound result of a pattern, and nothing is worse; 1
an error occurred; 2 a wrong argument.

Example: openstack tier trend mon.json tue.json wed.json thu.json --changes
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.name_program(parser)
        parser.add_argument(
            'results',
            metavar='<result>',
            nargs='+',
            help='result file of a run; their order does not matter',
        )
        results.add_quantities(parser)
        parser.add_argument(
            '--changes',
            action='store_true',
            help='show only what changed',
        )
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Reads, looks for changes and shows.

        :raises base.CommandFailed: a file cannot be read, or what is
            asked for cannot be found out.
        """
        try:
            from cinder_tiers.loop.compare import comparison
            from cinder_tiers.loop.compare import trend
        except ImportError as error:
            raise base.CommandFailed(
                f'tier trend needs the extra "rally" of cinder-tiers: '
                f'{error}; install cinder-tiers[rally]'
            ) from error
        read = results.read_all(parsed_args.results)
        with base.user_errors():
            found = trend.over_time(
                list(read.values()),
                results.quantities(parsed_args, comparison.QUANTITIES),
            )
        for each in _left_out(found):
            self.log.warning('%s', cells.printable(each))
        last = {
            (level.tier, level.pattern, level.quantity): level.finding
            for level in found
        }
        self.exit_status = exit_status.OK
        if trend.Finding.TOO_FEW_RUNS in last.values() or any(
            level.is_newest_left_out for level in found
        ):
            self.exit_status = exit_status.UNKNOWN
        if trend.Finding.WORSE in last.values():
            self.exit_status = exit_status.DIFFERENT
        needed = [each.runs_needed for each in found if each.runs_needed]
        if needed and parsed_args.changes:
            self.log.warning(
                '%d of the series have too few runs to tell: each needs '
                'at least %d; leave --changes out to show them',
                len(needed),
                needed[0],
            )
        return _COLUMNS, [
            _row(level)
            for level in found
            if level.run or not parsed_args.changes
        ]


def _row(level: object) -> cells.Row:
    return (
        cells.printable(level.tier),
        cells.printable(level.pattern),
        level.quantity,
        level.finding.value,
        cells.printable(level.ended_at),
        cells.printable(level.run),
        results.Amount((level.before, level.unit)),
        results.Amount((level.after, level.unit)),
        None
        if level.difference_percent is None
        else round(level.difference_percent, 1),
        level.runs,
        cells.Optional(level.runs_needed),
        _LeftOut(level.left_out),
        cells.Words(level.changed),
    )


def _left_out(
    found: collections.abc.Iterable[object],
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
