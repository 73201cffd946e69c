# SPDX-License-Identifier: Apache-2.0

"""The card of a tier as cells of a table.

Pure. What an operator wrote is escaped as in all cells.
"""

import collections.abc
import dataclasses
import itertools

from cliff import columns

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain import record


class Promise(columns.FormattableColumn):
    """The promise of a card: a line for each pattern, a map for programs."""

    def human_readable(self) -> str:
        """`pattern: limit, ...` lines; a dash when there are none."""
        return '\n'.join(_promised(self._value)) or '-'

    def machine_readable(self) -> dict[str, dict[str, float]]:
        """{pattern: {limit: value}}"""
        return {
            pattern: dict(limits)
            for pattern, limits in self._value.promise.items()
        }


class Measured(columns.FormattableColumn):
    """What was measured: a line for each pattern, a map for programs."""

    def human_readable(self) -> str:
        """When, and what; a dash when nothing is known."""
        return '\n'.join(_measured(self._value)) or '-'

    def machine_readable(self) -> object:
        """`measured` of the schema of cards."""
        return record.plain(self._value.measured)


class Whole(columns.FormattableColumn):
    """A card without what the tier is for; for programs, all of it."""

    def human_readable(self) -> str:
        """Lines; a dash when nothing is promised, and nothing known."""
        lines = [
            *(f'promise {line}' for line in _promised(self._value)),
            *_measured(self._value),
        ]
        return '\n'.join(lines) or '-'

    def machine_readable(self) -> object:
        """As the schema of cards has it, with the purpose escaped."""
        return record.plain(
            dataclasses.replace(
                self._value, purpose=cells.printable(self._value.purpose)
            )
        )


def _promised(card: cards.Card) -> collections.abc.Iterator[str]:
    for pattern, limits in card.promise.items():
        texts = ', '.join(
            descriptions.limit_text(name, value)
            for name, value in limits.items()
        )
        yield f'{cells.printable(pattern)}: {texts}'


def _measured(card: cards.Card) -> collections.abc.Iterator[str]:
    measured = card.measured
    if measured is None:
        if card.not_measured_since is not None:
            yield f'not measured since {card.not_measured_since}'
        return
    release = (
        ''
        if measured.ceph_release is None
        else f' on Ceph {measured.ceph_release}'
    )
    yield f'measured {measured.ended_at}{release}'
    for (pattern, runs), figures in itertools.groupby(
        measured.figures, key=lambda one: (one.pattern, one.runs)
    ):
        texts = ', '.join(map(descriptions.figure_text, figures))
        yield f'{pattern} ({runs} runs): {texts}'
