# SPDX-License-Identifier: Apache-2.0

"""Sweeps as rows of a table.

Pure. Must not know where its arguments came from, nor how cliff prints.
"""

import collections.abc

from cinder_tiers.cli.render import cells
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import kept as keeping
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record

SLOT_COLUMNS = ('Slot', 'Block', 'Treatment', 'Changes', 'Guest')
RECORD_COLUMNS = (
    'Slot',
    'Block',
    'Treatment',
    'Verdict',
    'Reason',
    'Exit status',
    'Result',
)
BACK_COLUMNS = ('Value', 'Before', 'Found', 'Outcome', 'Reason')
OPEN_COLUMNS = ('Value', 'Before', 'Now', 'State')

#: A value that was not set.
NOT_SET = 'not set'


def slot_rows(
    prepared: preparation.Prepared,
) -> collections.abc.Iterator[cells.Row]:
    """Yield the slots of a prepared sweep, under SLOT_COLUMNS."""
    treatments = {one.name: one for one in prepared.sweep.all_treatments}
    for slot in prepared.sweep.slots:
        yield (
            slot.number,
            slot.block,
            cells.printable(slot.treatment),
            cells.Words(preparation.differing(prepared.plans[slot.treatment])),
            cells.Fields(
                {
                    name: design.text(value)
                    for name, value in treatments[slot.treatment].guest.items()
                }
            ),
        )


def record_row(one: record.SlotRecord) -> cells.Row:
    """A slot that is over, under RECORD_COLUMNS."""
    return (
        one.slot.number,
        one.slot.block,
        cells.printable(one.slot.treatment),
        one.verdict.value,
        cells.printable_lines(one.reason),
        cells.Optional(
            None if one.measured is None else str(one.measured.exit_status)
        ),
        cells.Optional(one.measured and one.measured.result_file),
    )


def back_row(
    name: str,
    before: str | None,
    found: str | None,
    outcome: str,
    reason: str,
) -> cells.Row:
    """A value from before, under BACK_COLUMNS."""
    return (
        cells.printable(name),
        value(before),
        value(found),
        outcome,
        cells.printable_lines(reason),
    )


def open_row(
    name: str, before: str | None, now: str | None, stand: keeping.Stand
) -> cells.Row:
    """A value of an open journal, under OPEN_COLUMNS."""
    return cells.printable(name), value(before), value(now), stand.value


def value(text: str | None) -> str:
    """A value for people; `not set` for none."""
    return NOT_SET if text is None else cells.printable(text)
