# SPDX-License-Identifier: Apache-2.0

"""The card of a tier as cells of a table.

Pure. What an operator wrote is escaped as in all cells.
"""

import collections.abc
import dataclasses

from cliff import columns

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.card import lines
from cinder_tiers.domain import record


class Promise(columns.FormattableColumn):
    """The promise of a card: a line for each pattern, a map for programs."""

    def human_readable(self) -> str:
        """`pattern: limit, ...` lines; a dash when there are none."""
        return _text(lines.promised(self._value))

    def machine_readable(self) -> dict[str, dict[str, float]]:
        """{pattern: {limit: value}}"""
        return {
            pattern: dict(limits)
            for pattern, limits in self._value.promise.items()
        }


class MeasuredLines(columns.FormattableColumn):
    """Measured figures: a line for each pattern, a map for programs."""

    def human_readable(self) -> str:
        """When, and what, in short lines; a dash when nothing is known."""
        return _text(
            part
            for line in lines.measured(self._value)
            for part in cells.wrapped(line)
        )

    def machine_readable(self) -> object:
        """`measured` of the schema of cards."""
        return record.plain(self._value.measured)


class WholeCard(columns.FormattableColumn):
    """A card without what the tier is for; for programs, all of it."""

    def human_readable(self) -> str:
        """Lines; a dash when nothing is promised, and nothing known."""
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
