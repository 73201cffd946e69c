# SPDX-License-Identifier: Apache-2.0

"""Fleet and consoles in Rally's report.

The task shows how its guests were made, and the result their outcomes;
consoles are evidence, which no result contains.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import re

from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.result import cost as result_cost
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.report import tables

FLEET_TABLE_TITLE = 'CinderTiers: guests of each tier'
FLEET_TABLE_COLUMNS = (
    'tier',
    'guests',
    'fio works on',
    'volume types',
    'before',
    'compute hosts',
    'common clock',
)
COST_TITLE = 'CinderTiers: expected and actual time'
COST_COLUMNS = ('part', 'expected s', 'actual s')
CONSOLE_TITLE = 'CinderTiers: console tail of incomplete guests'
_CONSOLE_LINES = 15
# In a large fleet all may be incomplete.
_MOST_CONSOLES = 20
_RESULT_LINE = re.compile(r'@ctiers \w+ \w+ \w+ data ', re.ASCII)


def _hosts(guests: Sequence[run_result.GuestResult]) -> int | str:
    """Describe the number of guests' hosts, if known for all of them."""
    found = {guest.host for guest in guests}
    return tables.NO_NUMBER if None in found else len(found)


def _clock(
    shape: fleet_shape.GuestShape, guests: Sequence[run_result.GuestResult]
) -> str:
    """Describe the clock of the guests' times, and its error."""
    if not shape.by_clock:
        return "the leader's, over the start volume"
    complete = [guest for guest in guests if guest.verdict == 'complete']
    if not complete:
        return 'wall clock; no guest is complete'
    unknown = [guest for guest in complete if guest.clock_error_ms is None]
    if unknown:
        return (
            f'wall clock; clock error unknown for {len(unknown)} of'
            f' {len(complete)} guests: {unknown[0].guest}:'
            f' {unknown[0].clock_reason}'
        )
    return (
        'wall clock; clock error at most'
        f' {max(each.clock_error_ms for each in complete):.1f} ms'
    )


def _rounds(
    result: run_result.RunResult, guests: Sequence[run_result.GuestResult]
) -> str:
    """Describe the writes before the first turn, without the region."""
    if result.precondition is None:
        return ''
    found = [each.preconditioned for each in guests if each.preconditioned]
    counts = [len(each.rounds_kib) for each in found] or [0]
    steady = sum(each.is_steady for each in found)
    pattern = result.precondition.pattern
    return (
        f', then {min(counts)} to {max(counts)} rounds of'
        f' {result.precondition.round_seconds} s {pattern.rw} {pattern.bs};'
        f' {steady} of {len(guests)} guests steady'
    )


def output(
    shape: fleet_shape.GuestShape, result: run_result.RunResult
) -> dict:
    """A table for ``add_output(complete=)``."""
    rows = []
    for tier in result.tiers:
        guests = [each for each in result.guests if each.tier == tier.tier]
        rows.append(
            [
                tier.tier,
                len(guests),
                shape.made_from(tier.tier),
                tier.volume_types.value or tier.volume_types.reason,
                shape.filled + _rounds(result, guests),
                _hosts(guests),
                _clock(shape, guests),
            ]
        )
    return tables.table(
        FLEET_TABLE_TITLE,
        'Start skew is measured by the common clock',
        FLEET_TABLE_COLUMNS,
        rows,
    )


def cost_output(cost: run_result.Cost) -> dict:
    """Return the table of estimated and actual durations."""
    parts = result_cost.parts(cost)
    return tables.table(
        COST_TITLE,
        f'Expected from {result_cost.source(cost.told)}',
        COST_COLUMNS,
        [
            [
                each.name,
                each.told,
                tables.NO_NUMBER
                if each.taken is None
                else round(each.taken, 1),
            ]
            for each in (*parts, result_cost.together(parts))
        ],
    )


def console_output(texts: Mapping[str, str]) -> dict:
    """The last console lines of some guests.

    :param texts: {guest name: all of its console that was last read}
    """
    shown = list(texts)[:_MOST_CONSOLES]
    left = list(texts)[_MOST_CONSOLES:]
    return {
        'title': CONSOLE_TITLE,
        'chart_plugin': 'TextArea',
        'data': [
            f'{guest}: {line}'
            for guest in shown
            for line in last_lines(texts[guest])
        ]
        + ([f'not shown: {", ".join(left)}'] if left else []),
    }


def last_lines(text: str) -> list[str]:
    """Last lines of a console, printable and short; one that says so if none.

    Lines of results are left out: they are not readable.

    :param text: anything
    """
    lines = [
        frames.harmless(line.rstrip())
        for line in text.splitlines()
        if line.strip() and not _RESULT_LINE.search(line)
    ]
    return [line[:160] for line in lines[-_CONSOLE_LINES:]] or [
        '(the console is empty)'
    ]
