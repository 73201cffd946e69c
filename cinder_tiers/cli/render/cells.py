# SPDX-License-Identifier: Apache-2.0

"""Cells of the tables that the commands show.

Each cell has a form for people and one for programs. Pure. Text of other
people can contain terminal escape sequences, so characters that are not
printable are escaped in each form.
"""

import collections.abc
import re
import textwrap

from cliff import columns

from cinder_tiers.domain import text
from cinder_tiers.domain import units

Row = tuple[object, ...]
#: A table: the titles of its columns, and its rows.
Shown = tuple[tuple[str, ...], collections.abc.Iterable[Row]]

printable = text.printable
printable_lines = text.printable_lines


#: Characters of a line of text in a table, so that a table of a few columns
#: fits where no terminal wraps it.
PARAGRAPH_CHARS = 36
_INDENT = '  '
_CONTINUED = f'\n{_INDENT}'

#: Begin of a text that a spreadsheet computes; in some languages, its programs
#: treat wide characters like the narrow ones.
_FORMULA = re.compile('[-=+@\uff0d\uff1d\uff0b\uff20]')
#: A number, with % and an interval or without, or the dash for none.
_NUMBER = r'[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?'
_NO_FORMULA = re.compile(
    rf'{_NUMBER}(?: ?%)?(?: \({_NUMBER} to {_NUMBER}\))?|-'
)
#: Characters that a shell interprets between double quotes, except for the
#: quote, which cliff escapes.
_OF_SHELL = re.compile(r'[\\$`]')


class Flat(columns.FormattableColumn):
    """A cell for formats without structure: lists and maps become one line."""

    def human_readable(self) -> str:
        """Return the text of the wrapped cell."""
        return self._value.human_readable()

    def machine_readable(self) -> object:
        """Return the value of the wrapped cell, or its text in one line."""
        found = self._value.machine_readable()
        if isinstance(found, dict | list):
            lines = self._value.human_readable().replace(_CONTINUED, ' ')
            return '; '.join(lines.splitlines())
        return found


def _flat(cell: object) -> object:
    return Flat(cell) if isinstance(cell, columns.FormattableColumn) else cell


def inert(text: str) -> str:
    """Return a text that no spreadsheet computes; numbers stay as they are.

    >>> inert('=1+1'), inert('-48.5'), inert('-')
    ("'=1+1", '-48.5', '-')
    """
    is_formula = _FORMULA.match(text) and not _NO_FORMULA.fullmatch(text)
    return f"'{text}" if is_formula else text


class Inert(Flat):
    """A cell of a CSV file."""

    def machine_readable(self) -> object:
        """Returns the flat value, as a string that no spreadsheet computes."""
        return inert(str(super().machine_readable()))


def _in_csv(cell: object) -> object:
    if isinstance(cell, columns.FormattableColumn):
        return Inert(cell)
    return inert(cell) if isinstance(cell, str) else cell


def _in_shell(cell: object) -> object:
    if isinstance(cell, columns.FormattableColumn):
        cell = str(cell.machine_readable())
    if isinstance(cell, str):
        return _OF_SHELL.sub(r'\\\g<0>', cell)
    return cell


#: {format of cliff: function that converts a cell for it}
_OF_FORMAT = {'csv': _in_csv, 'shell': _in_shell, 'value': _flat}


def of_format(row: Row, name: str) -> Row:
    """Return the row as an output format of cliff can show it.

    No CSV cell is a formula, and no shell assignment runs a command.

    :param name: name of the format, such as `csv`.
    """
    return tuple(map(_OF_FORMAT.get(name, lambda cell: cell), row))


class Fields(columns.FormattableColumn):
    """Fields of an object: one per line for people, a map for programs.

    Characters that are not printable are escaped in each format.
    """

    def human_readable(self) -> str:
        """Return `field: value` lines; a dash without fields."""
        lines = [
            f'{printable(name)}: {printable(value_text(value))}'
            for name, value in self._value.items()
        ]
        return '\n'.join(lines) or '-'

    def machine_readable(self) -> dict[str, object]:
        """Return {field: value} with values of JSON."""
        return {
            printable(name): _plain(value)
            for name, value in self._value.items()
        }


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(map(printable, value))
    return printable(value) if isinstance(value, str) else value


def value_text(value: object) -> str:
    """Return the value of a resource for people; a dash for none."""
    if value is None:
        return '-'
    if isinstance(value, frozenset):
        return ', '.join(sorted(value)) or '-'
    return str(value)


class Size(columns.FormattableColumn):
    """A size in bytes: with a unit for people; None if unknown."""

    def human_readable(self) -> str:
        """Return a size such as 1.5 GiB."""
        return (
            'unknown' if self._value is None else units.size_text(self._value)
        )

    def machine_readable(self) -> int | None:
        """The number of bytes."""
        return self._value


def wrapped(line: str) -> list[str]:
    """Return lines of at most PARAGRAPH_CHARS, all but the first indented.

    Only words longer than a line are broken.
    """
    return textwrap.wrap(line, PARAGRAPH_CHARS, subsequent_indent=_INDENT)


class Words(columns.FormattableColumn):
    """Texts: separated by commas for people, a list for programs."""

    def human_readable(self) -> str:
        """Return the texts in one line; a dash without texts."""
        return ', '.join(map(printable, self._value)) or '-'

    def machine_readable(self) -> list[str]:
        """The texts."""
        return [printable(one) for one in self._value]


class Paragraph(columns.FormattableColumn):
    """A text that may be long: wrapped for people, whole for programs."""

    def human_readable(self) -> str:
        """Return the text in lines of at most PARAGRAPH_CHARS."""
        return textwrap.fill(self.machine_readable(), PARAGRAPH_CHARS)

    def machine_readable(self) -> str:
        """The text."""
        return printable(self._value)


class YesNo(columns.FormattableColumn):
    """A boolean: yes or no for people."""

    def human_readable(self) -> str:
        """`yes` or `no`."""
        return 'yes' if self._value else 'no'

    def machine_readable(self) -> bool:
        """The boolean."""
        return self._value


class Optional(columns.FormattableColumn):
    """A value that may be absent, which is a dash for people."""

    def human_readable(self) -> str:
        """The value as text."""
        return '-' if self._value is None else printable(str(self._value))

    def machine_readable(self) -> object:
        """The value; None when it is absent."""
        return (
            printable(self._value)
            if isinstance(self._value, str)
            else self._value
        )


def rounded(value: float | None) -> float | None:
    """Return a number with one decimal; None stays None."""
    return None if value is None else round(value, 1)


class Specs(columns.FormattableColumn):
    """Extra specs: a line per key for people, a map for programs."""

    def human_readable(self) -> str:
        """Return `key=value` lines; a dash without extra specs."""
        return (
            '\n'.join(
                f'{printable(key)}={printable(str(value))}'
                for key, value in sorted(self._value.items())
            )
            or '-'
        )

    def machine_readable(self) -> dict[str, str]:
        """{key: value}"""
        return {
            printable(key): printable(str(value))
            for key, value in sorted(self._value.items())
        }


class Pools(columns.FormattableColumn):
    """Pools that report to Cinder: a line each for people."""

    def human_readable(self) -> str:
        """Return name and free space of each pool; a dash without pools."""
        return (
            '\n'.join(
                f'{printable(one.name)}: '
                f'{printable(str(one.capabilities.get("free_capacity_gb")))} '
                'of '
                f'{printable(str(one.capabilities.get("total_capacity_gb")))} '
                'GiB free'
                for one in self._value
            )
            or '-'
        )

    def machine_readable(self) -> list[dict[str, object]]:
        """Return {name, free_gib, total_gib} of each; gb is GiB in Cinder."""
        return [
            {
                'name': printable(one.name),
                'free_gib': one.capabilities.get('free_capacity_gb'),
                'total_gib': one.capabilities.get('total_capacity_gb'),
            }
            for one in self._value
        ]


class Expected(columns.FormattableColumn):
    """Limits of fio patterns: a line per pattern, a map for programs."""

    def human_readable(self) -> str:
        """Return `pattern: limit=value, ...` lines; a dash without limits."""
        return (
            '\n'.join(
                f'{printable(pattern)}: '
                + ', '.join(
                    f'{printable(name)}={value}'
                    for name, value in sorted(limits.items())
                )
                for pattern, limits in sorted(self._value.items())
            )
            or '-'
        )

    def machine_readable(self) -> dict[str, dict[str, float]]:
        """{pattern: {limit: value}}"""
        return {
            printable(pattern): dict(sorted(limits.items()))
            for pattern, limits in sorted(self._value.items())
        }


class Prices(columns.FormattableColumn):
    """The prices of a tier: words for people, a map for programs.

    The value is None for a tier without a price.
    """

    def human_readable(self) -> str:
        """Return the monthly prices for a GiB and for 1,000 IOPS."""
        cost = self._value
        if cost is None:
            return '-'
        currency = printable(cost.currency)
        text = f'{cost.per_gib_month:f} {currency} a GiB'
        if cost.per_1000_iops_month is not None:
            text += f', {cost.per_1000_iops_month:f} {currency} for 1,000 IOPS'
        return f'{text}, a month'

    def machine_readable(self) -> dict[str, str | None] | None:
        """Return {key of the tiers file: price as text, with all digits}."""
        cost = self._value
        if cost is None:
            return None
        iops = cost.per_1000_iops_month
        return {
            'currency': printable(cost.currency),
            'per_gib_month': f'{cost.per_gib_month:f}',
            'per_1000_iops_month': None if iops is None else f'{iops:f}',
        }


class Lines(columns.FormattableColumn):
    """Entries of {field: value}: a line each for people, maps for programs.

    The value of the cell is a list of (line, map).
    """

    def human_readable(self) -> str:
        """Return a line for each entry, clipped; a dash without entries."""
        return (
            '\n'.join(text.clipped(printable(line)) for line, _ in self._value)
            or '-'
        )

    def machine_readable(self) -> list[object]:
        """Return a map or a text for each entry."""
        return [_printable_all(entry) for _, entry in self._value]


class Sentence(columns.FormattableColumn):
    """A text that may be long: clipped for people, whole for programs."""

    def human_readable(self) -> str:
        """Return the begin of the text."""
        return text.clipped(printable(self._value))

    def machine_readable(self) -> str:
        """The text."""
        return printable(self._value)


class PresentFields(columns.FormattableColumn):
    """Fields of an object; those without a value are hidden from people."""

    def human_readable(self) -> str:
        """Return `field: value` lines, clipped, of the fields with a value."""
        return '\n'.join(
            f'{name}: {_text(value)}'
            for name, value in self._value.items()
            if value is not None
        )

    def machine_readable(self) -> dict[str, object]:
        """Return {field: value} of all fields."""
        return {
            name: _printable_all(value) for name, value in self._value.items()
        }


def _printable_all(value: object) -> object:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable_all(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_printable_all(entry) for entry in value]
    return value


def _text(value: object) -> str:
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, list | tuple):
        return text.clipped_list(value) or '-'
    return text.clipped(printable(str(value)))
