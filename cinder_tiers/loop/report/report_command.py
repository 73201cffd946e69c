# SPDX-License-Identifier: Apache-2.0

"""`openstack tier report`: results as a page that can be shown."""

import argparse
import pathlib
import typing

from osc_lib.command import command

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import values
from cinder_tiers.files import write_atomic

if typing.TYPE_CHECKING:
    from cinder_tiers.figures.result import result as run_result
    from cinder_tiers.loop.report import content as report


class WriteReport(command.Command):
    """Write a report of result files of benchmark runs.

    One HTML file that needs nothing else: charts, each with its table, what
    can be claimed of tiers or results side by side, why figures should be read
    with care, and what they were measured on. The page runs no script. With
    several results, each of the others is compared with the first. For the
    sweep.json of a sweep, shows what each treatment is worth, and for faults
    what the load did before, during and after them; for the tune.json of a
    tuning, what was searched and confirmed. Reads only files and needs no
    credentials.

    To a file whose name ends in .pdf, or with --type pdf, the same page is
    printed by a Chromium of this host, which reaches no network: that of
    $CINDER_TIERS_CHROMIUM, else one on $PATH.
    """

    _epilog = """Exit status: 0 the report is written; 1 an error occurred; 2 a
wrong argument.

Examples: openstack tier report run.json -o report.html
  openstack tier report before.json after.json -o report.pdf
"""

    auth_required = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.name_program(parser)
        results.add_files(parser)
        parser.add_argument(
            '-o',
            '--output',
            metavar='<file>',
            type=base.not_empty,
            required=True,
            help='file to write; an existing file is replaced',
        )
        parser.add_argument(
            '--type',
            choices=('html', 'pdf'),
            help='format of the file (default: pdf if its name ends in '
            '.pdf, else html)',
        )
        results.add_quantities(parser)
        results.add_expectations(
            parser,
            'draw this limit of latency in load curves, such as p99_ms_max=50 '
            '(may be repeated)',
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
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Reads, draws and writes.

        :raises base.CommandFailed: a file cannot be read or written, or
            what is asked for cannot be shown.
        """
        try:
            from cinder_tiers.loop.report import html
            from cinder_tiers.loop.report import pdf
        except ImportError as error:
            raise base.CommandFailed(
                f'tier report needs the extra "report" of cinder-tiers: '
                f'{error}; install cinder-tiers[report]'
            ) from error
        results.keep_from_replacing(parsed_args.output, parsed_args.results)
        with base.user_errors():
            # What is missing is said before charts are drawn.
            program = pdf.find_program() if _is_pdf(parsed_args) else None
            page = html.page(_report(parsed_args))
            content = pdf.print_page(page, program) if program else page
            write_atomic.write(
                parsed_args.output, content, replace=True, mode=0o666
            )


def _is_pdf(parsed_args: argparse.Namespace) -> bool:
    if parsed_args.type:
        return parsed_args.type == 'pdf'
    return pathlib.Path(parsed_args.output).suffix.lower() == '.pdf'


def _report(parsed_args: argparse.Namespace) -> 'report.Report':
    """What is to be shown, of results, of a sweep or of a tuning.

    :raises base.CommandFailed: a file cannot be read, or a sweep or a
        tuning is named with other files.
    """
    from cinder_tiers.loop.compare import comparison
    from cinder_tiers.loop.report import content as report
    from cinder_tiers.loop.report import guests
    from cinder_tiers.loop.sweep import results_argument as sweep_results

    paths = parsed_args.results
    for path in paths:
        kind = sweep_results.kind_of(path)
        alone = {'sweep': _report_of_sweep, 'tuning': _report_of_tuning}.get(
            str(kind)
        )
        if alone and len(paths) > 1:
            raise base.CommandFailed(
                f'{path} is of a {kind}: expected it to be the only '
                'file; write a separate report of it'
            )
        if alone:
            return alone(parsed_args)
    read = results.read_all(paths, has_times=True, kept=guests.only_drawn)
    return report.report(
        _by_short_name(read),
        comparison.Question(
            quantities=results.quantities(parsed_args, comparison.QUANTITIES),
            least_difference_percent=parsed_args.least_difference,
        ),
        dict(parsed_args.expect),
    )


def _report_of_sweep(parsed_args: argparse.Namespace) -> 'report.Report':
    from cinder_tiers.loop.compare import comparison
    from cinder_tiers.loop.report import content as report
    from cinder_tiers.loop.sweep import effects
    from cinder_tiers.loop.sweep import results_argument as sweep_results

    (path,) = parsed_args.results
    question = comparison.Question(
        quantities=sweep_results.quantities(parsed_args),
        least_difference_percent=parsed_args.least_difference,
    )
    file, swept = sweep_results.read(path)
    results.keep_from_replacing(
        parsed_args.output, sweep_results.result_paths(path, file)
    )
    faulty = sweep_results.faulty_slots(file, swept)
    if faulty and not any(
        slot.run is not None and slot.treatment == swept.default
        for slot in swept.slots
    ):
        raise base.CommandFailed(
            f'{path}: no slot of the default has a sound result; see '
            '"openstack tier response" for what is known of its faults'
        )
    try:
        return report.of_sweep(
            pathlib.Path(path).name,
            swept,
            # With nothing but faults, there is nothing to compare.
            effects.of_sweep(swept, question)
            if swept.treatments or not faulty
            else None,
            summary=sweep_results.summary(file),
            faulty=faulty,
        )
    except ValueError as error:
        raise base.CommandFailed(f'{path}: {error}') from error


def _report_of_tuning(parsed_args: argparse.Namespace) -> 'report.Report':
    from cinder_tiers.loop.report import content as report
    from cinder_tiers.loop.tune import tuning_argument as tune_results

    (path,) = parsed_args.results
    with base.user_errors():
        tuning = tune_results.read(path)
    results.keep_from_replacing(
        parsed_args.output, tune_results.result_paths(path, tuning)
    )
    slots = list(tune_results.sound_slots(path, tuning))
    if not slots:
        raise base.CommandFailed(
            f'{path}: no sound result of its blocks was found; expected '
            'their folders, such as block-0001, beside it'
        )
    return report.of_tuning(pathlib.Path(path).name, tuning, slots)


def _by_short_name(
    read: 'dict[str, run_result.RunResult]',
) -> 'dict[str, run_result.RunResult]':
    """{name of the file, or its path if two have one name: its result}.

    Where files lie on the host of who makes a report is not for its readers.
    """
    names = [pathlib.Path(path).name for path in read]
    if len(set(names)) < len(names):
        return read
    return dict(zip(names, read.values(), strict=True))
