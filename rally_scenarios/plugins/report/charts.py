# SPDX-License-Identifier: Apache-2.0

"""The charts of a run, as Rally draws them.

A view of the result: nothing is computed here that the result has.  Rally
draws areas and lines over whole numbers only, and has no bars.
"""

from collections.abc import Mapping
from collections.abc import Sequence

from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust


def in_ms(nanoseconds: float) -> float:
    """As it is shown: to 1 us."""
    return round(nanoseconds / 1e6, 3)


def _bars(values: Sequence[tuple[str, float]]) -> list:
    """Bars out of a stacked area, as Rally has no bar chart.

    Every series has all the points; it is zero but over its own bar, which
    takes the units 10 to 90 of a hundred.
    """
    edges = (0, 10, 11, 89, 90)
    xs = [100 * bar + x for bar in range(len(values)) for x in edges]
    return [
        [
            name,
            [
                [x, value if 10 < x - 100 * bar < 90 else 0]
                for x in [*xs, 100 * len(values)]
            ],
        ]
        for bar, (name, value) in enumerate(values)
    ]


def _latencies(
    title: str, patterns: Mapping[str, run_result.PatternResult]
) -> dict:
    """A chart of completion latencies over all repeats, merged.

    :param patterns: {line: pattern with a complete repeat}; one of too few
        I/Os has no line
    """
    clat = {
        name: (found.clat.histogram(), ios)
        for name, found in patterns.items()
        if figures.has_percentile(ios := trust.least_ios(found.slots), 1)
    }
    return {
        'title': title,
        'chart_plugin': 'Lines',
        'description': 'How many ms the given percentage of completions'
        ' did not exceed; all guests of the tier, merged'
        " from fio's histograms",
        'data': [
            [
                name,
                [
                    [percent, in_ms(merged.percentile_ns(percent))]
                    for percent in range(1, 100)
                    if figures.has_percentile(ios, percent)
                ],
            ]
            for name, (merged, ios) in clat.items()
        ],
        'label': 'completion latency, ms',
        'axis_label': 'percentile',
    }


def _bar_chart(
    title: str, values: Sequence[tuple[str, float]], unit: str, what: str
) -> dict:
    """A bar for each of them, and the values as text."""
    return {
        'title': title,
        'description': '; '.join(
            f'{name} {value:g}' for name, value in values
        ),
        'chart_plugin': 'StackedArea',
        'data': _bars(values),
        'label': f'{unit}, all guests of the tier together',
        'axis_label': f'{what} side by side',
    }


def _of_tiers(
    pattern: str, tiers: Mapping[str, run_result.PatternResult]
) -> list[dict]:
    """Two charts of a pattern over all repeats, a bar or a line a tier."""
    iops = [
        (tier, round(trust.estimate(found.slots, 'iops').mean, 2))
        for tier, found in tiers.items()
    ]
    return [
        _bar_chart(f'IOPS of each tier: {pattern}', iops, 'IOPS', 'tiers'),
        _latencies(f'Latency of each tier: {pattern}', tiers),
    ]


def _of_one_tier(
    tier: str,
    workload: str,
    patterns: Mapping[str, run_result.PatternResult],
) -> list[dict]:
    """Two charts of a kind of patterns, a bar or a line a pattern.

    Bandwidth and not IOPS, since block sizes differ.
    """
    bandwidths = [
        (name, round(trust.estimate(found.slots, 'mib_per_s').mean, 2))
        for name, found in patterns.items()
    ]
    return [
        _bar_chart(
            f'MiB/s of {tier}: {workload}', bandwidths, 'MiB/s', 'patterns'
        ),
        _latencies(f'Latency of {tier}: {workload}', patterns),
    ]


def charts(result: run_result.RunResult) -> list[dict]:
    """Charts of a run, for ``add_output(complete=)``.

    :param result: patterns without a complete repeat are in no chart
    :returns: of several tiers, two charts for each pattern, which compare
        tiers; of one tier, two for each kind of patterns, which compare
        patterns
    """
    compares_tiers = len(result.tiers) > 1
    groups: dict[str, dict[str, run_result.PatternResult]] = {}
    for tier in result.tiers:
        for found in tier.patterns:
            if not found.complete_repeats:
                continue
            if compares_tiers:
                group, member = found.pattern, tier.tier
            else:
                group, member = result.pattern_of(found).rw, found.pattern
            groups.setdefault(group, {})[member] = found
    return [
        chart
        for group, members in groups.items()
        for chart in (
            _of_tiers(group, members)
            if compares_tiers
            else _of_one_tier(result.tiers[0].tier, group, members)
        )
        if chart['data']
    ]
