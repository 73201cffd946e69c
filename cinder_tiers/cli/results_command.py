# SPDX-License-Identifier: Apache-2.0

"""Base classes of the commands that read results of measurements."""

import argparse
import collections.abc
import dataclasses
import importlib
import logging
import operator
import types
import typing

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells


#: {title of a column: function that returns the cell of an item}
Table = collections.abc.Mapping[
    str, collections.abc.Callable[[typing.Any], object]
]


def columns(*titles: str) -> Table:
    """Return the table of items whose cells are in the order of the titles."""
    return {
        title: operator.itemgetter(place) for place, title in enumerate(titles)
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Found:
    """Rows that a command shows, and its exit status."""

    table: Table
    #: Items, one for each row.
    items: collections.abc.Iterable[object]
    #: Columns to hide, because they are empty.
    without: collections.abc.Collection[str] = ()
    #: Columns that would make a table for people too wide; people see them
    #: only on request.
    for_programs: collections.abc.Collection[str] = ()
    #: Column of sentences, which are too wide for a table: its cells are
    #: numbers, and each sentence is logged once, below; '' for none.
    said_below: str = ''
    #: Lines to log below the table.
    notes: collections.abc.Iterable[str] = ()
    #: Set when something is not as it should be.
    is_worse: bool = False
    #: Set when something could not be determined.
    is_unknown: bool = False


def load(module: str, *, command: str, extra: str) -> types.ModuleType:
    """Import a module of a command when it is needed.

    Importing numpy and scipy takes a second, which other commands save.

    :param command: name of the command, such as "tier compare".
    :param extra: extra of cinder-tiers with the packages of the module.
    :raises base.CommandFailed: the extra is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise base.CommandFailed(
            f'{command} needs the extra "{extra}" of cinder-tiers: {error}; '
            f'install cinder-tiers[{extra}]'
        ) from error


class ResultsCommand(base.StatusCommand):
    """A command whose module needs the packages of an extra."""

    #: Name of the command, such as "tier compare".
    name: str
    #: The extra of cinder-tiers that installs what `module` imports.
    extra = 'rally'
    #: Name of the module that does the work.
    module: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self.add_arguments(parser)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""
        raise NotImplementedError

    def loaded(self) -> types.ModuleType:
        """Import and return the module of the command.

        :raises base.CommandFailed: the extra is not installed.
        """
        return load(self.module, command=self.name, extra=self.extra)


class ResultsLister(ResultsCommand, base.StatusLister):
    """A command that shows the rows that its module finds.

    `find(command, parsed_args)` of the module returns `Found`.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        """Read the files and return the rows.

        :raises base.CommandFailed: a file cannot be read, or it does not
            contain what was requested.
        """
        with base.user_errors():
            found = self.loaded().find(self, parsed_args)
        if found.is_worse:
            self.exit_status = exit_status.DIFFERENT
        elif found.is_unknown:
            self.exit_status = exit_status.UNKNOWN
        self.notes = found.notes
        without = {*found.without}
        chosen = {*parsed_args.columns, *parsed_args.sort_columns}
        is_for_people = parsed_args.formatter == 'table'
        if is_for_people and not chosen & {*found.for_programs}:
            without.update(found.for_programs)
        table = {
            title: cell
            for title, cell in found.table.items()
            if title not in without
        }
        rows = [
            tuple(_printable(cell(item)) for cell in table.values())
            for item in found.items
        ]
        said = found.said_below
        # With --quiet nothing is logged below.
        if (
            is_for_people
            and said in table
            and (said in parsed_args.columns or not parsed_args.columns)
            and self.log.isEnabledFor(logging.WARNING)
        ):
            place = tuple(table).index(said)
            numbers: dict[object, int] = {}
            for row in rows:
                numbers.setdefault(row[place], len(numbers) + 1)
            rows = [
                (*row[:place], numbers[row[place]], *row[place + 1 :])
                for row in rows
            ]
            self.notes = [
                *(
                    f'{said.lower()} {number}: {text}'
                    for text, number in numbers.items()
                ),
                *found.notes,
            ]
        return tuple(table), rows


def _printable(cell: object) -> object:
    return cells.printable(cell) if isinstance(cell, str) else cell
