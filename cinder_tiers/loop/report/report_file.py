# SPDX-License-Identifier: Apache-2.0

"""The file that `openstack tier report` writes."""

import argparse
import pathlib

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.figures.result import guest_times
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import content
from cinder_tiers.loop.report import html
from cinder_tiers.loop.report import pdf
from cinder_tiers.loop.sweep import effects
from cinder_tiers.loop.sweep import results_argument as sweep_results
from cinder_tiers.loop.tune import tuning_argument as tune_results


def write(parsed_args: argparse.Namespace) -> None:
    """Reads, draws and writes.

    :raises base.CommandFailed: a file cannot be read.
    :raises errors.LinesError: what is asked for cannot be shown, printed or
        written.
    """
    results.keep_from_replacing(parsed_args.output, parsed_args.results)
    # What is missing is said before charts are drawn.
    program = pdf.find_program() if _is_pdf(parsed_args) else None
    page = html.page(report(parsed_args))
    write_atomic.write(
        parsed_args.output,
        pdf.print_page(page, program) if program else page,
        replace=True,
        mode=0o666,
    )


def _is_pdf(parsed_args: argparse.Namespace) -> bool:
    if parsed_args.type:
        return parsed_args.type == 'pdf'
    return pathlib.Path(parsed_args.output).suffix.lower() == '.pdf'


def report(parsed_args: argparse.Namespace) -> content.Report:
    """Return the report of results, of a sweep or of a tuning.

    :raises base.CommandFailed: a file cannot be read, or a sweep or a
        tuning is named with other files.
    """
    paths = parsed_args.results
    for what, is_it, alone in (
        ('sweep', sweep_results.is_sweep, _report_of_sweep),
        ('tuning', tune_results.is_tuning, _report_of_tuning),
    ):
        found = [path for path in paths if is_it(path)]
        if found and len(paths) > 1:
            raise base.CommandFailed(
                f'{found[0]} is of a {what}: expected it to be the only '
                'file; write a separate report of it'
            )
        if found:
            return alone(parsed_args)
    read = results.read_all(paths, has_times=True, kept=guest_times.only_drawn)
    return content.report(
        _by_short_name(read),
        comparison.Question(
            quantities=results.quantities(parsed_args, comparison.QUANTITIES),
            least_difference_percent=parsed_args.least_difference,
        ),
        dict(parsed_args.expect),
    )


def _report_of_sweep(parsed_args: argparse.Namespace) -> content.Report:
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
        return content.of_sweep(
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


def _report_of_tuning(parsed_args: argparse.Namespace) -> content.Report:
    (path,) = parsed_args.results
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
    return content.of_tuning(pathlib.Path(path).name, tuning, slots)


def _by_short_name(
    read: dict[str, run_result.RunResult],
) -> dict[str, run_result.RunResult]:
    """{name of the file, or its path if two have one name: its result}.

    Where files lie on the host of who makes a report is not for its readers.
    """
    names = [pathlib.Path(path).name for path in read]
    if len(set(names)) < len(names):
        return read
    return dict(zip(names, read.values(), strict=True))
