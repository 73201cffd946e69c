# SPDX-License-Identifier: Apache-2.0

"""`openstack tier effects`: what each treatment of a sweep is worth."""

import argparse
import collections.abc

from cliff import columns

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import values
from cinder_tiers.loop.sweep import results_argument

_COLUMNS = (
    'Treatment',
    'Tier',
    'Pattern',
    'Quantity',
    'Default',
    'Treated',
    'Effect',
    'Finding',
    'Reason',
)


class _Effect(columns.FormattableColumn):
    """A claim as a ratio of which the default is 100, with its interval."""

    def human_readable(self) -> str:
        found = self.machine_readable()
        if found['effect'] is None:
            return '-'
        return '{effect:.1f} ({low:.1f} to {high:.1f})'.format(**found)

    def machine_readable(self) -> dict[str, object]:
        from cinder_tiers.loop.sweep import effects

        claim = self._value
        return {
            **{
                name: None if value is None else effects.in_hundreds(value)
                for name, value in (
                    ('effect', claim and claim.difference_percent),
                    ('low', claim and claim.low_percent),
                    ('high', claim and claim.high_percent),
                )
            },
            'probability': claim and claim.probability,
            'blocks': claim.repeats if claim else 0,
            'blocks_needed': claim and claim.repeats_needed,
        }


class ShowEffects(base.StatusLister):
    """Show what each treatment of a sweep is worth.

    Compares each treatment with the default of the same block, in the results
    that a sweep left beside its sweep.json. An effect is a ratio of which the
    default is 100, with its 95 % interval. Says what can be claimed of it:
    better, worse, no relevant difference, or that the blocks are too few to
    determine it, and how many would be needed. A treatment that was not in
    effect has that as its finding, and no figure. All claims are corrected for
    their number. Reads only files and needs no credentials.
    """

    _epilog = """Exit status: 0 nothing is worse than the default; 4 something
is worse; 3 something was not compared or not in effect, and nothing is worse;
1 an error occurred; 2 a wrong argument.

Example: openstack tier effects results/sweep.json --least-difference 5
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.name_program(parser)
        parser.add_argument(
            'sweep',
            metavar='<sweep>',
            help=(
                'sweep.json in the folder of "tier sweep --out"; the results '
                'of the slots are read from the same folder'
            ),
        )
        parser.add_argument(
            '--tier',
            metavar='<tier>',
            action='append',
            default=[],
            dest='tiers',
            help=(
                'compare only this tier of the results (may be repeated; '
                'default: all that each result has)'
            ),
        )
        results.add_quantities(
            parser,
            default=(
                'IOPS, p50 and p99, bandwidth where block sizes vary, and of '
                'a mix each direction'
            ),
        )
        parser.add_argument(
            '--least-difference',
            metavar='<percent>',
            type=values.percent,
            default=0.0,
            help=(
                'a smaller difference is not relevant, as a factor either '
                'way: 5 is from -4.8 to +5 (default: 0)'
            ),
        )
        parser.add_argument(
            '--wanted-difference',
            metavar='<percent>',
            type=values.positive,
            default=10.0,
            help='report how many blocks would show a difference of this '
            'size (default: 10)',
        )
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Reads, compares and shows.

        :raises base.CommandFailed: a file cannot be read, or what is
            asked for cannot be compared.
        """
        try:
            from cinder_tiers.loop.compare import comparison
            from cinder_tiers.loop.sweep import effects
        except ImportError as error:
            raise base.CommandFailed(
                f'tier effects needs the extra "rally" of cinder-tiers: '
                f'{error}; install cinder-tiers[rally]'
            ) from error
        with base.user_errors():
            question = comparison.Question(
                quantities=results_argument.quantities(parsed_args),
                least_difference_percent=parsed_args.least_difference,
                wanted_difference_percent=parsed_args.wanted_difference,
            )
            file, swept = results_argument.read(parsed_args.sweep)
            found = effects.of_sweep(
                swept, question, tiers=parsed_args.tiers or None
            )
        for each in (
            *results_argument.warnings(file),
            *found.comparison.circumstances,
            *found.left_out,
        ):
            self.log.warning('%s', cells.printable(each))
        self.exit_status = exit_status.OK
        if found.unmeasured or found.comparison.count(
            comparison.Finding.NOT_COMPARED
        ):
            self.exit_status = exit_status.UNKNOWN
        if found.comparison.count(comparison.Finding.WORSE):
            self.exit_status = exit_status.DIFFERENT
        return _shown(found)


def _shown(found: object) -> tuple[tuple[str, ...], list[cells.Row]]:
    """Columns and rows; without the column Tier where there is one."""
    claims = found.comparison.claims
    rows = [
        (
            cells.printable(claim.side),
            cells.printable(claim.second_tier),
            cells.printable(claim.pattern),
            claim.quantity,
            results.Amount((claim.first, claim.unit)),
            results.Amount((claim.second, claim.unit)),
            _Effect(claim),
            claim.finding.value,
            cells.printable(claim.reason),
        )
        for claim in claims
    ] + [
        (
            cells.printable(one.treatment),
            '-',
            '-',
            '-',
            results.Amount((None, '')),
            results.Amount((None, '')),
            _Effect(None),
            one.verdict.value,
            cells.printable(one.reason),
        )
        for one in found.unmeasured
    ]
    if len({claim.second_tier for claim in claims}) > 1:
        return _COLUMNS, rows
    place = _COLUMNS.index('Tier')
    return (
        _COLUMNS[:place] + _COLUMNS[place + 1 :],
        [row[:place] + row[place + 1 :] for row in rows],
    )
