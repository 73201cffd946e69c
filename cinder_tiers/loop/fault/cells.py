# SPDX-License-Identifier: Apache-2.0

"""Faults of slots as rows of a table.

Pure. Must not know where its arguments came from, nor how cliff prints.
"""

import collections.abc
import datetime

from cinder_tiers.cli.render import cells
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record

PLAN_COLUMNS = (
    'Slot',
    'Block',
    'Treatment',
    'Fault',
    'Kind',
    'Target',
    'At s',
    'For s',
)
RECORD_COLUMNS = (
    'Slot',
    'Block',
    'Treatment',
    'Verdict',
    'Fault',
    'Target',
    'Began',
    'Lasted s',
    'Healthy after s',
    'Problem',
)


def plan_rows(
    prepared: preparation.Prepared,
) -> collections.abc.Iterator[cells.Row]:
    """Yield the rows of the plan, under PLAN_COLUMNS."""
    for slot in prepared.sweep.slots:
        for target in prepared.struck.targets if prepared.struck else ():
            yield (
                slot.number,
                slot.block,
                cells.printable(slot.treatment),
                cells.printable(target.fault.name),
                target.fault.kind.value,
                cells.printable(str(target)),
                target.fault.at_s,
                target.fault.for_s,
            )


def record_rows(
    one: record.SlotRecord,
) -> collections.abc.Iterator[cells.Row]:
    """A slot that is over, under RECORD_COLUMNS.

    Health is counted from the end of a fault. A slot in which no fault came
    so far has one row.
    """
    slot = (
        one.slot.number,
        one.slot.block,
        cells.printable(one.slot.treatment),
        one.verdict.value,
    )
    made = one.measured.faults if one.measured else ()
    if not made:
        yield (*slot, *[cells.Optional(None)] * 5, cells.printable(one.reason))
    for fault in made:
        yield (
            *slot,
            cells.printable(fault.name),
            cells.printable(fault.target),
            cells.Optional(_moment(fault.began)),
            cells.Optional(_seconds(fault.began, fault.ended)),
            cells.Optional(_seconds(fault.ended, fault.healthy)),
            cells.printable_lines(fault.problem),
        )


def _moment(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime(
        '%Y-%m-%dT%H:%M:%SZ'
    )


def _seconds(begin: float | None, end: float | None) -> float | None:
    """Return the seconds from one moment to another."""
    if begin is None or end is None:
        return None
    return round(end - begin, 1)
