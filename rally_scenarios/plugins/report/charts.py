# SPDX-License-Identifier: Apache-2.0

"""The charts of a run, as Rally draws them.

Rally draws areas and lines over whole numbers only, and has no bars.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import statistics

from rally_scenarios.bench.fio import histogram
from rally_scenarios.bench.fleet import merge as fleet
from rally_scenarios.bench.fleet import schedule


def in_ms(nanoseconds: int) -> float:
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
    title: str, found: Mapping[str, Sequence[fleet.FleetSlot]]
) -> dict:
    """A chart of completion latencies over all repeats, merged.

    :param found: {line: slots}
    """
    clat = {
        name: histogram.merge(each.clat for each in slots)
        for name, slots in found.items()
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
                ],
            ]
            for name, merged in clat.items()
        ],
        'label': 'completion latency, ms',
        'axis_label': 'percentile',
    }


def _mean(values: Iterable[float]) -> float:
    return round(statistics.fmean(values), 2)


def _bar_chart(
    title: str, values: Sequence[tuple[str, float]], unit: str, what: str
) -> dict:
    """A bar for each of them, and the values in words."""
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
    pattern: str, tiers: Mapping[str, Sequence[fleet.FleetSlot]]
) -> list[dict]:
    """Two charts of a pattern over all repeats, a bar or a line a tier."""
    iops = [
        (tier, _mean(each.iops for each in found))
        for tier, found in tiers.items()
    ]
    return [
        _bar_chart(f'IOPS of each tier: {pattern}', iops, 'IOPS', 'tiers'),
        _latencies(f'Latency of each tier: {pattern}', tiers),
    ]


def _of_one_tier(
    tier: str, workload: str, patterns: Mapping[str, Sequence[fleet.FleetSlot]]
) -> list[dict]:
    """Two charts of a kind of patterns, a bar or a line a pattern.

    Bandwidth and not IOPS, since block sizes differ.
    """
    bandwidths = [
        (name, _mean(each.bw_bytes / 1024**2 for each in found))
        for name, found in patterns.items()
    ]
    return [
        _bar_chart(
            f'MiB/s of {tier}: {workload}', bandwidths, 'MiB/s', 'patterns'
        ),
        _latencies(f'Latency of {tier}: {workload}', patterns),
    ]


def charts(
    slots: Sequence[tuple[schedule.Slot, fleet.FleetSlot]],
) -> list[dict]:
    """Charts of a run, for ``add_output(complete=)``.

    :param slots: in order of time, with the figures of the guests that are
        complete
    :returns: of several tiers, two charts for each pattern, which compare
        tiers; of one tier, two for each kind of patterns, which compare
        patterns
    """
    groups: dict[str, dict[str, list[fleet.FleetSlot]]] = {}
    tiers = {slot.tier for slot, _found in slots}
    for slot, found in slots:
        if len(tiers) > 1:
            group, member = slot.pattern.name, slot.tier
        else:
            group, member = slot.pattern.rw, slot.pattern.name
        groups.setdefault(group, {}).setdefault(member, []).append(found)
    if len(tiers) > 1:
        return [
            chart
            for pattern, found in groups.items()
            for chart in _of_tiers(pattern, found)
        ]
    return [
        chart
        for workload, found in groups.items()
        for chart in _of_one_tier(*tiers, workload, found)
    ]
