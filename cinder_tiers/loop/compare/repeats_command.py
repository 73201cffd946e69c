# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repeats`: how many a wanted difference needs."""

import argparse
import collections.abc

from cliff import columns

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import values
from cinder_tiers.domain import errors

_COLUMNS = (
    'Tier',
    'Pattern',
    'Quantity',
    'Noise %',
    'Repeats',
    'Repeats for none',
    'Takes',
    'Reason',
)


class _Seconds(columns.FormattableColumn):
    """A time: rounded for people, in seconds for programs."""

    def human_readable(self) -> str:
        if self._value is None:
            return '-'
        from cinder_tiers.figures.fleet import duration

        return duration.in_words(self._value)

    def machine_readable(self) -> int | None:
        return self._value


class PlanRepeats(base.StatusLister):
    """Estimate how many repeats a run needs to show a difference.

    Takes the noise from the repeats of an earlier run, or from --variation.
    For each pattern and quantity, shows how many repeats would show the
    difference if there is one, and how long such a run would take. Corrects
    for multiple comparisons, as "tier compare" will do with the result. Reads
    only a file and needs no credentials.
    """

    _epilog = """Exit status: 0 each number of repeats is known; 3 one is not,
such as that of a pattern with a single repeat; 1 an error occurred; 2 a wrong
argument.

Example: openstack tier repeats run.json --difference 10 --quantity iops
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.name_program(parser)
        parser.add_argument(
            'result',
            metavar='<result>',
            nargs='?',
            help=(
                'result file of a former run of the task, with two repeats or '
                'more; may be left out with --variation'
            ),
        )
        parser.add_argument(
            '--difference',
            metavar='<percent>',
            type=values.positive,
            default=10.0,
            help='the difference that the run should show (default: 10)',
        )
        parser.add_argument(
            '--least-difference',
            metavar='<percent>',
            type=values.percent,
            default=0.0,
            help=(
                'a smaller difference is not relevant, as in "tier compare"; '
                'also says how many repeats show that there is none '
                '(default: 0)'
            ),
        )
        parser.add_argument(
            '--power',
            metavar='<probability>',
            type=values.power,
            default=0.8,
            help='probability of finding the difference if there is one '
            '(default: 0.8)',
        )
        parser.add_argument(
            '--between',
            choices=('tiers', 'runs'),
            help=(
                'compare tiers of one run, within each repeat, or each tier '
                'with itself in another run (default: tiers if the result has '
                'several, else runs)'
            ),
        )
        parser.add_argument(
            '--reference',
            metavar='<tier>',
            help=(
                'between tiers: the one that the others are compared with '
                '(default: the first of the run)'
            ),
        )
        parser.add_argument(
            '--variation',
            metavar='<percent>',
            type=values.variation,
            help=(
                'standard deviation of the repeats in percent of their mean, '
                'in place of that of the result; between tiers, without what '
                'tiers have in common in a repeat'
            ),
        )
        parser.add_argument(
            '--claims',
            metavar='<number>',
            type=values.number_of_claims,
            default=1,
            help=(
                'with --variation: how many patterns and quantities are to be '
                'compared together (default: 1)'
            ),
        )
        results.add_quantities(parser)
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Reads, plans and shows.

        :raises base.CommandFailed: the file cannot be read, or what is
            asked for cannot be planned.
        """
        # numpy and scipy take a second, which no other command should need.
        try:
            from cinder_tiers.loop.compare import comparison  # noqa: F401
        except ImportError as error:
            raise base.CommandFailed(
                f'tier repeats needs the extra "rally" of cinder-tiers: '
                f'{error}; install cinder-tiers[rally]'
            ) from error
        with base.user_errors():
            found, is_between_runs = _needs(parsed_args)
        if is_between_runs:
            self.log.warning(
                'between runs: the noise is that of repeats of one fleet, and '
                'does not know how another fleet on the same storage would '
                'differ'
            )
        self.log.warning('%s', _summary(found, parsed_args))
        self.exit_status = (
            exit_status.UNKNOWN if found.repeats is None else exit_status.OK
        )
        return _COLUMNS, [_row(need) for need in found.needs]


def _needs(parsed_args: argparse.Namespace) -> tuple[object, bool]:
    """(what is needed, whether it is between runs)."""
    from cinder_tiers.loop.compare import comparison
    from cinder_tiers.loop.compare import repeats

    question = comparison.Question(
        quantities=results.quantities(parsed_args, comparison.QUANTITIES),
        least_difference_percent=parsed_args.least_difference,
        wanted_difference_percent=parsed_args.difference,
        power=parsed_args.power,
    )
    run = parsed_args.result and results.read(parsed_args.result)
    between = repeats.Between(
        parsed_args.between
        or ('tiers' if run and len(run.tiers) > 1 else 'runs')
    )
    is_between_runs = between is repeats.Between.RUNS
    if parsed_args.reference and is_between_runs:
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
        return (
            repeats.of_variation(
                parsed_args.variation,
                question,
                between=between,
                claims=parsed_args.claims,
                run=run,
            ),
            is_between_runs,
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
    return (
        repeats.of_run(
            run, question, between=between, reference=parsed_args.reference
        ),
        is_between_runs,
    )


def _summary(found: object, parsed_args: argparse.Namespace) -> str:
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


def _row(need: object) -> cells.Row:
    return (
        cells.printable(
            f'{need.tier} against {need.reference}'
            if need.reference
            else need.tier or '-'
        ),
        cells.printable(need.pattern or '-'),
        need.quantity or '-',
        None
        if need.variation_percent is None
        else round(need.variation_percent, 1),
        need.repeats,
        need.repeats_for_none,
        _Seconds(need.seconds),
        cells.printable(need.reason),
    )
