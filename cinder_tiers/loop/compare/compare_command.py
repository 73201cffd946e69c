# SPDX-License-Identifier: Apache-2.0

"""`openstack tier compare`: what can be claimed of results side by side."""

import argparse
import collections.abc
import pathlib


from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import values
from cinder_tiers.domain import errors

_COLUMNS = (
    'Result',
    'Tier',
    'Pattern',
    'Quantity',
    'First',
    'Second',
    'Difference',
    'Finding',
    'Reason',
)


class CompareResults(base.StatusLister):
    """Compare result files of benchmark runs.

    With one result, compares its tiers with one of them, within each repeat.
    With several, compares each of the others with the first, tier by tier;
    with --baseline, compares all results named as baseline with all others,
    and each run is one observation. Reports what else differed besides the
    storage, then what can be claimed: better, worse, no relevant difference,
    or that there are too few repeats to tell, and how many would be needed.
    All claims are corrected for multiple comparisons. Reads only files and
    needs no credentials.
    """

    _epilog = """Exit status: 0 nothing is worse; 4 something is worse; 3
something could not be compared, but nothing is worse; 1 an error occurred; 2 a
wrong argument.

Example: openstack tier compare before.json after.json --least-difference 5
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.name_program(parser)
        results.add_files(parser)
        parser.add_argument(
            '--baseline',
            metavar='<result>',
            action='append',
            default=[],
            help=(
                'compare all other results together with this one (may be '
                'repeated; from two results on each side, each run is one '
                'observation)'
            ),
        )
        parser.add_argument(
            '--tier',
            metavar='<tier>[=<tier>]',
            action='append',
            default=[],
            dest='tiers',
            help=(
                'compare only this tier, with the tier after "=" of the other '
                'results if it has another name there (may be repeated)'
            ),
        )
        parser.add_argument(
            '--reference',
            metavar='<tier>',
            type=base.not_empty,
            help=(
                'with one result: the tier that the others are compared with '
                '(default: the first of the run)'
            ),
        )
        results.add_quantities(parser)
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
            help=(
                'report how many repeats would show a difference of '
                'this size (default: 10)'
            ),
        )
        parser.add_argument(
            '--junit',
            metavar='<file>',
            type=base.not_empty,
            help='also write the findings as JUnit XML, for a CI',
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
        # numpy and scipy take a second, which no other command should need.
        try:
            from cinder_tiers.loop.compare import comparison
            from cinder_tiers.loop.compare import junit
        except ImportError as error:
            raise base.CommandFailed(
                f'tier compare needs the extra "rally" of cinder-tiers: '
                f'{error}; install cinder-tiers[rally]'
            ) from error
        if parsed_args.junit:
            results.keep_from_replacing(
                parsed_args.junit,
                [*parsed_args.baseline, *parsed_args.results],
            )
        with base.user_errors():
            found = _compare(parsed_args)
        for each in found.circumstances:
            self.log.warning('%s', cells.printable(each))
        if parsed_args.junit:
            _write(parsed_args.junit, junit.write(found))
        self.exit_status = exit_status.OK
        if found.count(comparison.Finding.NOT_COMPARED):
            self.exit_status = exit_status.UNKNOWN
        if found.count(comparison.Finding.WORSE):
            self.exit_status = exit_status.DIFFERENT
        return _shown(found)


def _compare(parsed_args: argparse.Namespace) -> object:
    from cinder_tiers.loop.compare import comparison

    question = comparison.Question(
        quantities=results.quantities(parsed_args, comparison.QUANTITIES),
        least_difference_percent=parsed_args.least_difference,
        wanted_difference_percent=parsed_args.wanted_difference,
    )
    read = results.read_all([*parsed_args.baseline, *parsed_args.results])
    if len(read) == 1 and not parsed_args.baseline:
        if parsed_args.tiers:
            raise errors.WrongArguments(
                '--tier is for several results; with one, all tiers are'
                ' compared with that of --reference'
            )
        (run,) = read.values()
        return comparison.tiers_of_run(
            run, question, reference=parsed_args.reference
        )
    if parsed_args.reference:
        raise errors.WrongArguments(
            '--reference is for one result; with several, name tiers that'
            ' belong together by --tier'
        )
    tiers = None
    if parsed_args.tiers:
        pairs = [each.partition('=') for each in parsed_args.tiers]
        empty = [
            ''.join(pair)
            for pair in pairs
            if not pair[0] or (pair[1] and not pair[2])
        ]
        if empty:
            raise errors.WrongArguments(
                f'--tier {", ".join(map(repr, empty))}: expected the name of a'
                f' tier, or two of them around "="'
            )
        firsts = [first for first, _, _ in pairs]
        twice = sorted({each for each in firsts if firsts.count(each) > 1})
        if twice:
            raise errors.WrongArguments(
                f'--tier names {", ".join(twice)} twice: expected each tier of'
                f' the first results once; compare it again in a command of'
                f' its own'
            )
        tiers = {first: second or first for first, _, second in pairs}
    if parsed_args.baseline:
        first = parsed_args.baseline
        others = {'': [read[path] for path in parsed_args.results]}
    else:
        first, *rest = parsed_args.results
        first = [first]
        others = {path: [read[path]] for path in rest}
    return comparison.runs(
        [read[path] for path in first], others, question, tiers=tiers
    )


def _write(path: str, text: str) -> None:
    try:
        pathlib.Path(path).write_text(text, encoding='utf-8')
    except OSError as error:
        raise base.CommandFailed(
            f'cannot write {path}: {error.strerror}; name another file'
        ) from error


def _shown(found: object) -> tuple[tuple[str, ...], list[cells.Row]]:
    """Columns and rows; without the column Result where there is one."""
    rows = [
        (
            cells.printable(claim.side),
            cells.printable(
                claim.second_tier
                if claim.first_tier == claim.second_tier
                else f'{claim.second_tier} against {claim.first_tier}'
            ),
            cells.printable(claim.pattern),
            claim.quantity,
            results.Amount((claim.first, claim.unit)),
            results.Amount((claim.second, claim.unit)),
            results.Change(claim),
            claim.finding.value,
            cells.printable(claim.reason),
        )
        for claim in found.claims
    ]
    if any(claim.side for claim in found.claims):
        return _COLUMNS, rows
    return _COLUMNS[1:], [row[1:] for row in rows]
