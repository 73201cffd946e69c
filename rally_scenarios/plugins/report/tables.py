# SPDX-License-Identifier: Apache-2.0

"""A fleet's outcomes as tables and charts of Rally's report.

Rally checks outputs against a schema when results are imported again
(rally/common/objects/task.py TASK_SCHEMA): cells are strings or numbers,
never null.  The titles are constants, since ``rally task report --json``
tells tables apart by nothing else.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import re

from rally_scenarios.bench.fleet import merge as fleet
from rally_scenarios.bench.fleet import schedule
from rally_scenarios.bench.fleet import verdict
from rally_scenarios.bench.protocol import frames
from rally_scenarios.bench.result import build as run_result
from rally_scenarios.bench.result import caveat as doubt
from rally_scenarios.bench.stats import intervals as statistics
from rally_scenarios.bench.stats import steadiness
from rally_scenarios.plugins.report import charts as report_charts

DOUBT_TABLE_TITLE = 'CinderTiers: what to read with care'
DOUBT_TABLE_COLUMNS = ('about', 'what was found')
TIER_TABLE_TITLE = 'CinderTiers: what each tier does'
TIER_TABLE_COLUMNS = (
    'tier',
    'pattern',
    'guests',
    'IOPS',
    'MiB/s',
    'p50 ms',
    'p95 ms',
    'p99 ms',
    'p99.9 ms',
    'start skew ms',
    'its error ms',
    'verdict',
)
GUEST_TABLE_TITLE = 'CinderTiers: what each guest did'
GUEST_TABLE_COLUMNS = (
    'guest',
    'tier',
    'pattern',
    'IOPS',
    'p99 ms',
    'start error ms',
    'clock offset ms',
    'its error ms',
    'verdict',
    'reason',
)
REPEAT_TABLE_TITLE = 'CinderTiers: how far the repeats agree'
REPEAT_TABLE_COLUMNS = (
    'tier',
    'pattern',
    'repeats',
    'IOPS, mean',
    '95 % from',
    '95 % to',
    'spread %',
    'verdict',
)
STEADY_TABLE_TITLE = 'CinderTiers: were the tiers steady?'
STEADY_TABLE_COLUMNS = (
    'tier',
    'pattern',
    'window s',
    'IOPS in it',
    'excursion %',
    'slope %',
    'verdict',
)
CONSOLE_TITLE = 'CinderTiers: last words of guests that are not complete'

PERCENTILES = (50, 95, 99, 99.9)
# In place of a number that does not exist; Rally's schema has no null.
NO_NUMBER = '-'
_CONSOLE_LINES = 15
_RESULT_LINE = re.compile(r'@ctiers \w+ \w+ \w+ data ', re.ASCII)


def _or_no_number(value: float | None) -> float | str:
    return NO_NUMBER if value is None else value


def _pattern_name(slot: schedule.Slot, repeats: int) -> str:
    """Which pattern, and if there are several, which repeat of it."""
    if repeats == 1:
        return slot.pattern.name
    return f'{slot.pattern.name} ({slot.repeat} of {repeats})'


def _slot_row(
    slot: schedule.Slot,
    merged: fleet.FleetSlot | None,
    expected: int,
    repeats: int,
) -> list:
    row = [slot.tier, _pattern_name(slot, repeats)]
    if merged is None:
        return row + [0] + [NO_NUMBER] * 8 + [f'0 of {expected} guests']
    complete = merged.guests == expected
    return row + [
        merged.guests,
        round(merged.iops, 1),
        round(merged.bw_bytes / 1024**2, 2),
        *(
            report_charts.in_ms(merged.clat.percentile_ns(p))
            for p in PERCENTILES
        ),
        merged.start_skew_ms,
        _or_no_number(merged.start_skew_error_ms),
        'complete' if complete else f'{merged.guests} of {expected} guests',
    ]


def _guest_row(
    outcome: verdict.GuestOutcome, found: verdict.SlotOutcome, repeats: int
) -> list:
    figures = [NO_NUMBER] * 3
    if found.measured is not None:
        result = found.measured.result
        figures = [
            round(result.iops, 1),
            report_charts.in_ms(result.clat.percentile_ns(99)),
            found.measured.start_error_ms,
        ]
    return [
        outcome.guest,
        outcome.tier,
        _pattern_name(found.slot, repeats),
        *figures,
        _or_no_number(outcome.clock_offset_ms),
        _or_no_number(outcome.clock_error_ms),
        found.verdict.value,
        found.reason,
    ]


def _repeat_rows(
    plan: schedule.Schedule, merged: Mapping, expected: Mapping
) -> list[list]:
    """A row for each tier and pattern; only repeats of all guests count."""
    rows = []
    for first in plan.slots[: len(plan.slots) // plan.repeats]:
        same = [
            slot
            for slot in plan.slots
            if slot.tier == first.tier and slot.pattern == first.pattern
        ]
        iops = [
            merged[slot].iops
            for slot in same
            if merged[slot] is not None
            and merged[slot].guests == expected[slot]
        ]
        row = [first.tier, first.pattern.name, f'{len(iops)} of {len(same)}']
        if not iops:
            rows.append(row + [NO_NUMBER] * 4 + ['no repeat of all guests'])
            continue
        found = statistics.of_repeats(iops)
        rows.append(
            row
            + [
                NO_NUMBER if value is None else round(value, 1)
                for value in (
                    found.mean,
                    found.low,
                    found.high,
                    found.spread_percent,
                )
            ]
            + [
                f'spread over {statistics.SPREAD_LIMIT_PERCENT} %'
                if found.spread_is_wide
                else found.method
            ]
        )
    return rows


def _repeat_table(
    plan: schedule.Schedule, merged: Mapping, expected: Mapping
) -> list[dict]:
    if plan.repeats == 1:
        return []
    return [
        {
            'title': REPEAT_TABLE_TITLE,
            'chart_plugin': 'Table',
            'description': 'Mean over the repeats with its 95 % interval'
            " (Student's t); spread: standard deviation",
            'data': {
                'cols': list(REPEAT_TABLE_COLUMNS),
                'rows': _repeat_rows(plan, merged, expected),
            },
        }
    ]


def _steady_row(
    slot: schedule.Slot,
    repeats: int,
    series: steadiness.FleetSeries | None,
    found: steadiness.Verdict,
) -> list:
    figures = [NO_NUMBER] * 2
    if series is not None and series.total:
        figures = [
            series.window.length_ms / 1000,
            round(
                sum(iops for _ms, iops in series.total) / len(series.total), 1
            ),
        ]
    return [
        slot.tier,
        _pattern_name(slot, repeats),
        *figures,
        *(
            NO_NUMBER if share is None else round(100 * share, 1)
            for share in (found.excursion, found.slope)
        ),
        found.reason,
    ]


def _over_time(
    plan: schedule.Schedule, outcomes: Sequence[verdict.GuestOutcome]
) -> list[dict]:
    """A table and a chart for each pattern, if guests sent their seconds."""
    judged = {
        slot: run_result.together(verdict.complete(outcomes, slot))
        for slot in plan.slots
    }
    if not any(series for series, _found in judged.values()):
        return []
    lines: dict[str, list] = {}
    for slot, (series, _found) in judged.items():
        if series is not None and series.total:
            name = (
                slot.tier
                if plan.repeats == 1
                else (f'{slot.tier} ({slot.repeat} of {plan.repeats})')
            )
            lines.setdefault(slot.pattern.name, []).append(
                [
                    name,
                    [
                        [second, round(iops, 1)]
                        for second, (_ms, iops) in enumerate(
                            series.total, start=1
                        )
                    ],
                ]
            )
    return [
        {
            'title': STEADY_TABLE_TITLE,
            'chart_plugin': 'Table',
            'description': f'In the window in which all guests were measured;'
            f' {steadiness.RULE}',
            'data': {
                'cols': list(STEADY_TABLE_COLUMNS),
                'rows': [
                    _steady_row(slot, plan.repeats, series, found)
                    for slot, (series, found) in judged.items()
                ],
            },
        },
        *(
            {
                'title': f'IOPS over time: {pattern}',
                'chart_plugin': 'Lines',
                'description': 'All guests of the tier together, in the '
                'window in'
                ' which all were measured',
                'data': data,
                'label': 'IOPS',
                'axis_label': 'second',
            }
            for pattern, data in lines.items()
        ),
    ]


def doubt_output(found: Sequence[doubt.Doubt]) -> dict:
    """Why figures should be read with care; says so if there is no reason.

    :param found: as the result file has them
    """
    return {
        'title': DOUBT_TABLE_TITLE,
        'chart_plugin': 'Table',
        'description': 'Reasons why figures of this run may not be what'
        ' they seem',
        'data': {
            'cols': list(DOUBT_TABLE_COLUMNS),
            'rows': [[each.about, each.text] for each in found]
            or [[NO_NUMBER, 'no reason was found']],
        },
    }


def complete_outputs(
    plan: schedule.Schedule, outcomes: Sequence[verdict.GuestOutcome]
) -> list[dict]:
    """Tables and charts of one iteration, for ``add_output(complete=)``.

    :param outcomes: of all guests, good and bad
    :returns: the tier table, a table of the repeats if there are several, two
        charts a pattern (of one tier alone: two for patterns of a kind), if
        guests sent their seconds a table of steadiness and one more chart a
        pattern, and the guest table
    """
    merged = {slot: verdict.merged(outcomes, slot) for slot in plan.slots}
    # Not all guests of a tier have all of its slots.
    expected = {
        slot: sum(
            found.slot == slot
            for outcome in outcomes
            for found in outcome.slots
        )
        for slot in plan.slots
    }
    complete = [
        (slot, found) for slot, found in merged.items() if found is not None
    ]
    return [
        {
            'title': TIER_TABLE_TITLE,
            'chart_plugin': 'Table',
            'description': 'Sums and merged latencies over the guests that are'
            ' complete',
            'data': {
                'cols': list(TIER_TABLE_COLUMNS),
                'rows': [
                    _slot_row(slot, merged[slot], expected[slot], plan.repeats)
                    for slot in plan.slots
                ],
            },
        },
        *_repeat_table(plan, merged, expected),
        *report_charts.charts(complete),
        *_over_time(plan, outcomes),
        # Last, as it is long: a row for each guest and slot.
        {
            'title': GUEST_TABLE_TITLE,
            'chart_plugin': 'Table',
            'description': "Only what is complete is in the tiers' figures",
            'data': {
                'cols': list(GUEST_TABLE_COLUMNS),
                'rows': [
                    _guest_row(outcome, found, plan.repeats)
                    for outcome in outcomes
                    for found in outcome.slots
                ],
            },
        },
    ]


def additive_output(
    plan: schedule.Schedule, outcomes: Sequence[verdict.GuestOutcome]
) -> dict | None:
    """IOPS of each tier and pattern, to follow over iterations.

    :returns: None unless all guests are complete: a trend has no place to
        say that a sum is of fewer guests
    """
    if any(
        outcome.verdict is not verdict.Verdict.COMPLETE for outcome in outcomes
    ):
        return None
    merged = [(slot, verdict.merged(outcomes, slot)) for slot in plan.slots]
    return {
        'title': 'CinderTiers: IOPS',
        'chart_plugin': 'Lines',
        'description': 'All guests of a tier together',
        'label': 'IOPS',
        'data': [
            [
                f'{slot.tier} {_pattern_name(slot, plan.repeats)}',
                round(found.iops, 1),
            ]
            for slot, found in merged
        ],
    }


def console_output(texts: Mapping[str, str]) -> dict:
    """The last console lines of some guests.

    :param texts: {guest name: all of its console that was last read}
    """
    return {
        'title': CONSOLE_TITLE,
        'chart_plugin': 'TextArea',
        'data': [
            f'{guest}: {line}'
            for guest, text in texts.items()
            for line in last_lines(text)
        ],
    }


def last_lines(text: str) -> list[str]:
    """Last lines of a console, printable and short; one that says so if none.

    Lines of results are left out: nobody can read them.

    :param text: anything
    """
    lines = [
        frames.harmless(line.rstrip())
        for line in text.splitlines()
        if line.strip() and not _RESULT_LINE.search(line)
    ]
    return [line[:160] for line in lines[-_CONSOLE_LINES:]] or [
        '(its console is empty)'
    ]
