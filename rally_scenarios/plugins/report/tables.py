# SPDX-License-Identifier: Apache-2.0

"""A run's result as tables of Rally's report.

A view of the result: nothing is computed here that the result has.  Rally
checks outputs against a schema when results are imported again
(rally/common/objects/task.py TASK_SCHEMA): cells are strings or numbers,
never null.  The titles are constants, since ``rally task report --json``
distinguishes tables by nothing else.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

from cinder_tiers.figures.result import guest_times
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust

CAVEAT_TABLE_TITLE = 'CinderTiers: caveats'
CAVEAT_TABLE_COLUMNS = ('about', 'what was found')
#: Of the table that ``rally_scenarios.plugins.results.reference`` writes.
RESULT_TABLE_TITLE = 'CinderTiers: the result file'
RESULT_TABLE_COLUMNS = ('run', 'file on the host of Rally', 'SHA-256')
TIER_TABLE_TITLE = 'CinderTiers: figures of each tier'
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
GUEST_TABLE_TITLE = 'CinderTiers: figures of each guest'
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
# The page of Rally has all of them in its source.
_MOST_GUEST_ROWS = 500
_MOST_ROWS_OF_TURN = 20
PERCENTILES = (50, 95, 99, 99.9)
# In place of a number that does not exist; Rally's schema has no null.
NO_NUMBER = '-'


def _or_no_number(value: float | None) -> float | str:
    return NO_NUMBER if value is None else value


def _in_ms(nanoseconds: float | None) -> float | str:
    """Return milliseconds; no number for a percentile of too few I/Os."""
    return NO_NUMBER if nanoseconds is None else round(nanoseconds / 1e6, 3)


def table(
    title: str,
    description: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[float | str]],
) -> dict:
    """A table for ``add_output(complete=)``."""
    return {
        'title': title,
        'chart_plugin': 'Table',
        'description': description,
        'data': {
            'cols': list(columns),
            'rows': [list(row) for row in rows],
        },
    }


def _tier_row(run: run_result.PatternRun) -> list:
    merged, expected = run.slot.merged, len(run.slot.guests)
    row = [run.tier.tier, run.name]
    if merged is None:
        return row + [0] + [NO_NUMBER] * 8 + [f'0 of {expected} guests']
    return row + [
        merged.guests,
        round(merged.iops, 1),
        round(merged.bw_bytes / 1024**2, 2),
        *(
            _in_ms(trust.percentile_ns(merged.clat, percent))
            for percent in PERCENTILES
        ),
        merged.start_skew_ms,
        _or_no_number(merged.start_skew_error_ms),
        'complete'
        if merged.guests == expected
        else f'{merged.guests} of {expected} guests',
    ]


def _shown_guests(
    slot: run_result.SlotResult, *, all_of_them: bool
) -> Iterable[run_result.GuestFigures]:
    """Return the guests; of many: the incomplete, slowest and fastest ones."""
    if all_of_them:
        return slot.guests
    ranked = guest_times.by_iops(slot)
    ends = {guest.guest for _iops, guest in (*ranked[:1], *ranked[-1:])}
    return [
        each
        for each in slot.guests
        if each.verdict != 'complete' or each.guest in ends
    ][:_MOST_ROWS_OF_TURN]


def _guest_rows(result: run_result.RunResult) -> Iterator[list]:
    """A row for each guest and slot, guest by guest."""
    rows = sum(len(run.slot.guests) for run in result.runs)
    of_guest: dict[str, list] = {}
    for run in result.runs:
        for found in _shown_guests(
            run.slot, all_of_them=rows <= _MOST_GUEST_ROWS
        ):
            of_guest.setdefault(found.guest, []).append((run, found))
    for guest in result.guests:
        for run, found in of_guest.get(guest.guest, ()):
            figures = [NO_NUMBER] * 3
            if found.started_ms is not None:
                figures = [
                    round(found.iops, 1),
                    _in_ms(trust.guest_p99_ns(found)),
                    found.started_ms - found.planned_ms,
                ]
            yield [
                guest.guest,
                guest.tier,
                run.name,
                *figures,
                _or_no_number(guest.clock_offset_ms),
                _or_no_number(guest.clock_error_ms),
                found.verdict,
                found.reason,
            ]


def _caveats(result: run_result.RunResult) -> dict:
    """List the reasons to read figures with care, or say that none exist."""
    return table(
        CAVEAT_TABLE_TITLE,
        'Reasons why figures of this run may not be what they seem',
        CAVEAT_TABLE_COLUMNS,
        [[each.about, each.text] for each in trust.caveats(result)]
        or [[NO_NUMBER, 'no caveats']],
    )


def complete_outputs(result: run_result.RunResult) -> list[dict]:
    """Tables of one iteration, for ``add_output(complete=)``.

    :returns: the table of caveats, the tier table and the guest table; all
        else is in ``openstack tier report``
    """
    return [
        _caveats(result),
        table(
            TIER_TABLE_TITLE,
            'Sums and merged latencies over the guests that are complete. '
            + trust.why_dashes(result),
            TIER_TABLE_COLUMNS,
            [_tier_row(run) for run in result.runs],
        ),
        # Last, as it is long: a row for each guest and slot.
        table(
            GUEST_TABLE_TITLE,
            'Only complete results count towards the figures of a tier. Of'
            f' more than {_MOST_GUEST_ROWS} rows those are shown that are not'
            ' complete, and the slowest and fastest guest of each turn, at'
            f' most {_MOST_ROWS_OF_TURN} of a turn',
            GUEST_TABLE_COLUMNS,
            _guest_rows(result),
        ),
    ]


def additive_output(result: run_result.RunResult) -> dict | None:
    """IOPS of each tier and pattern, to follow over iterations.

    :returns: None unless all guests are complete: a trend has no place to
        say that a sum is of fewer guests
    """
    if any(guest.verdict != 'complete' for guest in result.guests):
        return None
    return {
        'title': 'CinderTiers: IOPS',
        'chart_plugin': 'Lines',
        'description': 'All guests of a tier together',
        'label': 'IOPS',
        'data': [
            [f'{run.tier.tier} {run.name}', round(run.slot.merged.iops, 1)]
            for run in result.runs
        ],
    }
