# SPDX-License-Identifier: Apache-2.0

"""Cards of tiers as cells of a table.

Pure. Text of an operator is escaped as in all cells.
"""

import collections.abc
import dataclasses

from cliff import columns

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.card import lines
from cinder_tiers.domain import record


class Promise(columns.FormattableColumn):
    """Promise of a card: a line per pattern for people, a map for programs."""

    def human_readable(self) -> str:
        """Return `pattern: limit, ...` lines; a dash without a promise."""
        return _text(lines.promised(self._value))

    def machine_readable(self) -> dict[str, dict[str, float]]:
        """{pattern: {limit: value}}"""
        return {
            pattern: dict(limits)
            for pattern, limits in self._value.promise.items()
        }


class MeasuredLines(columns.FormattableColumn):
    """Measured figures: a line per pattern for people, a map for programs."""

    def human_readable(self) -> str:
        """Return the date and the figures; a dash without a measurement."""
        return _text(
            part
            for line in lines.measured(self._value)
            for part in cells.wrapped(line)
        )

    def machine_readable(self) -> object:
        """Return `measured` of the schema of cards."""
        return record.plain(self._value.measured)


class WholeCard(columns.FormattableColumn):
    """A card: promise and figures for people, all of it for programs."""

    def human_readable(self) -> str:
        """Return lines without the purpose; a dash for an empty card."""
        return _text(
            [
                *(f'promise {line}' for line in lines.promised(self._value)),
                *lines.measured(self._value),
            ]
        )

    def machine_readable(self) -> object:
        """Return the card as its schema has it, with the purpose escaped."""
        return record.plain(
            dataclasses.replace(
                self._value, purpose=cells.printable(self._value.purpose)
            )
        )


def _text(found: collections.abc.Iterable[str]) -> str:
    return '\n'.join(map(cells.printable, found)) or '-'
