# SPDX-License-Identifier: Apache-2.0

"""Result files as arguments of commands, and figures in their tables."""

import argparse
import collections.abc
import os
import typing

from cliff import columns

from cinder_tiers.cli import base
from cinder_tiers.cli import values
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.files import read_bounded

if typing.TYPE_CHECKING:
    from cinder_tiers.figures.result import result as run_result

    _Kept = collections.abc.Callable[
        [run_result.RunResult], run_result.RunResult
    ]


#: From this percentage on, more digits mean nothing.
_MANY_PERCENT = 1e5


class Amount(columns.FormattableColumn):
    """A (value, unit): rounded for people, a number for programs."""

    def human_readable(self) -> str:
        """Return text such as 134.2 IOPS; a dash for no value."""
        value, unit = self._value
        return '-' if value is None else f'{value:.4g} {unit}'

    def machine_readable(self) -> float | None:
        """The value."""
        return self._value[0]


class ClaimedChange(columns.FormattableColumn):
    """The difference of a claim with its interval; None for no claim."""

    def human_readable(self) -> str:
        """Return text such as +12.1 % (+9.0 to +15.3); a dash if unknown."""
        claim = self._value
        if claim is None or claim.difference_percent is None:
            return '-'
        difference, low, high = (
            None
            if each is None
            else f'{each:+.1f}'
            if abs(each) < _MANY_PERCENT
            else f'{each:+.1e}'
            for each in (
                claim.difference_percent,
                claim.low_percent,
                claim.high_percent,
            )
        )
        if low is None:
            return f'{difference} %'
        return f'{difference} % ({low} to {high})'

    def machine_readable(self) -> dict[str, object] | None:
        """Return the known figures of the difference."""
        claim = self._value
        if claim is None:
            return None
        return {
            'percent': claim.difference_percent,
            'low_percent': claim.low_percent,
            'high_percent': claim.high_percent,
            'probability': claim.probability,
            'repeats': claim.repeats,
            'is_paired': claim.is_paired,
            'repeats_needed': claim.repeats_needed,
        }


def add_files(
    parser: argparse.ArgumentParser,
    meaning: str = 'result file of a run, see the task argument result_folder',
) -> None:
    """Add one or more result files, as `results`.

    :param meaning: meaning of each file, for the help
    """
    parser.add_argument('results', metavar='<result>', nargs='+', help=meaning)


def files_of(path: str) -> list[str]:
    """Return the result files that a path names.

    :returns: the path of a file; for a folder, the paths of its *.json files,
        sorted by name
    :raises base.CommandFailed: the folder has none, or cannot be read.
    """
    if not os.path.isdir(path):
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise base.CommandFailed(
            f'cannot read {path}: {error.strerror}; name another folder'
        ) from error
    found = [
        os.path.join(path, name) for name in names if name.endswith('.json')
    ]
    if not found:
        raise base.CommandFailed(
            f'{path}: found no file *.json, expected result files; name '
            'another folder'
        )
    return found


def add_sweep(parser: argparse.ArgumentParser, made_by: str) -> None:
    """Add the file of a sweep, as `sweep`.

    :param made_by: command that writes the file, such as "tier sweep"
    """
    parser.add_argument(
        'sweep',
        metavar='<sweep>',
        help=(
            f'sweep.json in the folder of "{made_by} --out"; the results of '
            'the slots are read from the same folder'
        ),
    )


def add_quantities(
    parser: argparse.ArgumentParser, *, default: str = 'iops and p99_ms'
) -> None:
    """Add --quantity and --direction, as `quantities` and `directions`.

    :param default: description of the default quantities, for the help
    """
    parser.add_argument(
        '--quantity',
        metavar='<quantity>',
        type=values.quantity,
        action='append',
        default=[],
        dest='quantities',
        help=(
            f'{expectations.QUANTITIES_EXPECTED} '
            f'(may be repeated; default: {default})'
        ),
    )
    parser.add_argument(
        '--direction',
        choices=expectations.DIRECTIONS,
        action='append',
        default=[],
        dest='directions',
        help=(
            'restrict quantities to reads or to writes (may be repeated; '
            'default: both together)'
        ),
    )


def add_least_difference(
    parser: argparse.ArgumentParser,
    meaning: str = ' (5 is a ratio of 1.05 either way)',
    *,
    default: float = 0.0,
) -> None:
    """Add --least-difference, in percent, as `least_difference`.

    :param meaning: end of the first sentence of the help
    """
    parser.add_argument(
        '--least-difference',
        metavar='<percent>',
        type=values.percent,
        default=default,
        help=(
            f'ignore differences below this percentage{meaning} '
            f'(default: {default:g})'
        ),
    )


def add_wanted_difference(
    parser: argparse.ArgumentParser, counted: str
) -> None:
    """Add --wanted-difference, in percent, as `wanted_difference`.

    :param counted: items that would show the difference, such as "blocks"
    """
    parser.add_argument(
        '--wanted-difference',
        metavar='<percent>',
        type=values.positive,
        default=10.0,
        help=(
            f'report how many {counted} would show a difference of this '
            'size (default: 10)'
        ),
    )


def is_latency(limit: expectations.Limit | None) -> bool:
    """Return whether a limit is given and is one of latency."""
    return limit is not None and limit.unit == 'ms'


def _expectation(text: str) -> tuple[str, float]:
    name, _, value = text.partition('=')
    if not is_latency(expectations.find(name)):
        raise argparse.ArgumentTypeError(
            f'{name[:60]!r}: expected a limit of latency, such as p99_ms_max'
        )
    return name, values.positive(value)


def add_expectations(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add --expect, as `expect`: [(limit of latency, its value in ms)].

    :param meaning: begin of the help.
    """
    parser.add_argument(
        '--expect',
        metavar='<limit>=<ms>',
        type=_expectation,
        action='append',
        default=[],
        help=meaning,
    )


def quantities(
    parsed_args: argparse.Namespace, default: collections.abc.Iterable[str]
) -> tuple[str, ...]:
    """Return the quantities of the arguments of `add_quantities`.

    :param default: quantities without --quantity
    """
    return expectations.of_directions(
        parsed_args.quantities or default, parsed_args.directions
    )


def read(path: str, *, has_times: bool = False) -> 'run_result.RunResult':
    """Return the result in a file that a user named.

    :param has_times: whether the result will be drawn, see `run_result.read`
    :raises base.CommandFailed: the file cannot be read, or is not a result
        file.
    """
    from cinder_tiers.figures.result import result as run_result

    try:
        return run_result.read(
            read_bounded.read_whole(path, max_mib=run_result.MOST_MIB),
            has_times=has_times,
        )
    except OSError as error:
        raise base.CommandFailed(
            f'cannot read {path}: {error.strerror}; name another file'
        ) from error
    except record.RecordError as error:
        raise base.CommandFailed(
            *(f'{path}: {line}' for line in errors.lines_of(error))
        ) from error


def is_of_kind(path: str, kind: str, *, max_bytes: int) -> bool:
    """Return whether a file is a JSON object with this "kind".

    An unreadable file is not; the reader of the file reports why.

    :param max_bytes: largest size of such a file; larger ones are not read
    """
    try:
        if os.path.getsize(path) > max_bytes:
            return False
        value = record.parsed(read_bounded.read(path, max_bytes=max_bytes))
    except (OSError, ValueError):
        return False
    return isinstance(value, dict) and value.get('kind') == kind


def keep_from_replacing(output: str, inputs: list[str]) -> None:
    """Keep a command from overwriting a result that it reads.

    A result cannot be made again, and a shell may have expanded it after -o.

    :param output: path to write
    :param inputs: paths to read
    :raises base.CommandFailed: the output is one of the inputs.
    """
    for path in inputs:
        try:
            is_same = os.path.samefile(output, path)
        except OSError:
            continue
        if is_same:
            raise base.CommandFailed(
                f'{output} is a file that is read; name another file to write'
            )


def read_all(
    paths: list[str],
    *,
    has_times: bool = False,
    kept: '_Kept | None' = None,
) -> 'dict[str, run_result.RunResult]':
    """Return {path: its result} of files, each of another run.

    Copies of a run are not further observations.

    :param has_times: whether the results will be drawn, see `run_result.read`
    :param kept: reduces a result to the needed part, before the next is read
    :raises base.CommandFailed: as `read`, or a file is named twice, or several
        are of one run.
    """
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        raise base.CommandFailed(
            f'{", ".join(twice)}: the same file is named twice; name each once'
        )
    found = {}
    for path in paths:
        run = read(path, has_times=has_times)
        # Results are read one by one, so that not all are in memory at once.
        found[path] = run if kept is None else kept(run)
    from cinder_tiers.figures.result import result as run_result

    wrong = run_result.copies({path: run.run for path, run in found.items()})
    if wrong:
        raise base.CommandFailed(*wrong)
    return found
