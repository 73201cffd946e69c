# SPDX-License-Identifier: Apache-2.0

"""A run's result as tables and charts of Rally's report.

A view of the result: nothing is computed here that the result has.  Rally
checks outputs against a schema when results are imported again
(rally/common/objects/task.py TASK_SCHEMA): cells are strings or numbers,
never null.  The titles are constants, since ``rally task report --json``
distinguishes tables by nothing else.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import statistics

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals
from cinder_tiers.figures.stats import steadiness
from rally_scenarios.plugins.report import charts

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
DIRECTION_TABLE_TITLE = 'CinderTiers: reads and writes'
DIRECTION_TABLE_COLUMNS = (
    'tier',
    'pattern',
    'direction',
    'IOPS',
    'MiB/s',
    'mean total ms',
    'mean submission ms',
    'mean completion ms',
    'p99 completion ms',
    'longest total ms',
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
REPEAT_TABLE_TITLE = 'CinderTiers: agreement of repeats'
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
STEADY_TABLE_TITLE = 'CinderTiers: steady state'
STEADY_TABLE_COLUMNS = (
    'tier',
    'pattern',
    'window s',
    'IOPS in it',
    'excursion %',
    'slope %',
    'longest stall s',
    'verdict',
)

PERCENTILES = (50, 95, 99, 99.9)
# In place of a number that does not exist; Rally's schema has no null.
NO_NUMBER = '-'


def _or_no_number(value: float | None) -> float | str:
    return NO_NUMBER if value is None else value


def _rounded(value: float | None, digits: int = 1) -> float | str:
    return NO_NUMBER if value is None else round(value, digits)


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
            charts.in_ms(merged.clat.percentiles_ns[f'{percent:g}'])
            for percent in PERCENTILES
        ),
        merged.start_skew_ms,
        _or_no_number(merged.start_skew_error_ms),
        'complete'
        if merged.guests == expected
        else f'{merged.guests} of {expected} guests',
    ]


def _direction_rows(run: run_result.PatternRun) -> Iterator[list]:
    """A row for what was read, and one for what was written."""
    merged = run.slot.merged
    if merged is None:
        return
    for name, found in (merged.directions or {}).items():
        # Of a single direction, it is the slot's.
        clat = found.clat or merged.clat
        yield [
            run.tier.tier,
            run.name,
            name,
            round(found.iops, 1),
            round(found.bw_bytes / 1024**2, 2),
            charts.in_ms(found.lat_moments.mean_ns),
            # An engine that submits and waits in one does not tell.
            _or_no_number(
                found.slat_moments and charts.in_ms(found.slat_moments.mean_ns)
            ),
            charts.in_ms(found.clat_moments.mean_ns),
            charts.in_ms(clat.percentiles_ns['99']),
            charts.in_ms(found.lat_moments.max_ns),
        ]
    if merged.syncs is not None:
        mean_ms = charts.in_ms(merged.syncs.moments.mean_ns)
        yield [
            run.tier.tier,
            run.name,
            'sync',
            *[NO_NUMBER] * 2,
            mean_ms,
            NO_NUMBER,
            mean_ms,
            charts.in_ms(merged.syncs.lat.percentiles_ns['99']),
            charts.in_ms(merged.syncs.moments.max_ns),
        ]


def _directions(result: run_result.RunResult) -> list[dict]:
    """A table of reads and writes, if the result separates them."""
    rows = [row for run in result.runs for row in _direction_rows(run)]
    if not rows:
        return []
    return [
        table(
            DIRECTION_TABLE_TITLE,
            'Total latency is what an application waits; completion latency'
            ' leaves out the time in which the guest submits an I/O',
            DIRECTION_TABLE_COLUMNS,
            rows,
        )
    ]


def _guest_rows(result: run_result.RunResult) -> Iterator[list]:
    """A row for each guest and slot, guest by guest."""
    of_guest: dict[str, list] = {}
    for run in result.runs:
        for found in run.slot.guests:
            of_guest.setdefault(found.guest, []).append((run, found))
    for guest in result.guests:
        for run, found in of_guest.get(guest.guest, ()):
            figures = [NO_NUMBER] * 3
            if found.started_ms is not None:
                figures = [
                    round(found.iops, 1),
                    charts.in_ms(found.p99_ns),
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


def _repeat_row(run: run_result.PatternRun) -> list:
    """The repeats of a pattern; only those of all guests count."""
    pattern = run.pattern
    row = [
        run.tier.tier,
        pattern.pattern,
        f'{pattern.complete_repeats} of {len(pattern.slots)}',
    ]
    found = pattern.iops
    if found is None:
        return row + [NO_NUMBER] * 4 + ['no repeat of all guests']
    return [
        *row,
        _rounded(found.mean),
        _rounded(found.low),
        _rounded(found.high),
        _rounded(found.spread_percent),
        f'spread over {intervals.SPREAD_LIMIT_PERCENT} %'
        if found.spread_is_wide
        else found.method,
    ]


def _repeats(result: run_result.RunResult) -> list[dict]:
    """A table with a row for each tier and pattern, if there are repeats."""
    if result.profile.repeats == 1:
        return []
    return [
        table(
            REPEAT_TABLE_TITLE,
            'Mean over the repeats with its 95 % interval'
            " (Student's t); spread: standard deviation",
            REPEAT_TABLE_COLUMNS,
            [_repeat_row(run) for run in result.runs if run.slot.repeat == 1],
        )
    ]


def _steady_row(run: run_result.PatternRun) -> list:
    slot, figures = run.slot, [NO_NUMBER] * 2
    if slot.series:
        figures = [
            slot.merged.window.length_ms / 1000,
            round(statistics.fmean(iops for _ms, iops in slot.series), 1),
        ]
    found = slot.steadiness
    return [
        run.tier.tier,
        run.name,
        *figures,
        *(
            _rounded(None if share is None else 100 * share)
            for share in (found.excursion, found.slope)
        ),
        _rounded(found.longest_stall_s),
        found.reason,
    ]


def _over_time(result: run_result.RunResult) -> list[dict]:
    """A table and a chart for each pattern, if guests sent their seconds."""
    runs = result.runs
    lines: dict[str, list] = {}
    for run in runs:
        if run.slot.series:
            repeats = len(run.pattern.slots)
            lines.setdefault(run.pattern.pattern, []).append(
                [
                    run.tier.tier
                    if repeats == 1
                    else f'{run.tier.tier} ({run.slot.repeat} of {repeats})',
                    [
                        [second, round(iops, 1)]
                        for second, (_ms, iops) in enumerate(
                            run.slot.series, start=1
                        )
                    ],
                ]
            )
    if not lines:
        return []
    return [
        table(
            STEADY_TABLE_TITLE,
            'In the window in which all guests were measured;'
            f' {steadiness.RULE}',
            STEADY_TABLE_COLUMNS,
            [_steady_row(run) for run in runs],
        ),
        *(
            {
                'title': f'IOPS over time: {pattern}',
                'chart_plugin': 'Lines',
                'description': 'All guests of the tier together, in the'
                ' window in which all were measured',
                'data': data,
                'label': 'IOPS',
                'axis_label': 'second',
            }
            for pattern, data in lines.items()
        ),
    ]


def _caveats(result: run_result.RunResult) -> dict:
    """Why figures should be read with care; says so if there is no reason."""
    return table(
        CAVEAT_TABLE_TITLE,
        'Reasons why figures of this run may not be what they seem',
        CAVEAT_TABLE_COLUMNS,
        [[each.about, each.text] for each in result.doubts or ()]
        or [[NO_NUMBER, 'no caveats']],
    )


def complete_outputs(result: run_result.RunResult) -> list[dict]:
    """Tables and charts of one iteration, for ``add_output(complete=)``.

    :returns: the table of caveats, the tier table, a table of reads and
        writes if they are separate, a table of the repeats if
        there are several, two charts a pattern (of one tier alone: two for
        patterns of a kind), if guests sent their seconds a table of
        steadiness and one more chart a pattern, and the guest table
    """
    return [
        _caveats(result),
        table(
            TIER_TABLE_TITLE,
            'Sums and merged latencies over the guests that are complete',
            TIER_TABLE_COLUMNS,
            [_tier_row(run) for run in result.runs],
        ),
        *_directions(result),
        *_repeats(result),
        *charts.charts(result),
        *_over_time(result),
        # Last, as it is long: a row for each guest and slot.
        table(
            GUEST_TABLE_TITLE,
            'Only complete results count towards the figures of a tier',
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
