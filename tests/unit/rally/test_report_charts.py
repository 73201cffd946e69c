# SPDX-License-Identifier: Apache-2.0


import jsonschema
from rally.common.objects import task as task_objects
import testtools

from rally_scenarios.bench.fio import histogram
from rally_scenarios.bench.fio import pattern as fio_profile
from rally_scenarios.bench.fleet import merge as fleet
from rally_scenarios.bench.fleet import schedule
from rally_scenarios.plugins.report import charts as report_charts

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
PATTERNS = [
    fio_profile.Pattern(name=name, rw=rw, bs=bs)
    for name, rw, bs in (
        ('write-4k', 'write', '4k'),
        ('write-1m', 'write', '1m'),
        ('randread-4k', 'randread', '4k'),
    )
]
METHOD = fio_profile.Profile(region_mib=64, ramp_seconds=1, runtime_seconds=2)


def slots(*tiers, repeats=1):
    """Each slot with 100 IOPS more than the one before, 1 MiB/s each."""
    plan = schedule.plan(tiers, PATTERNS, METHOD, repeats=repeats)
    return [
        (
            slot,
            fleet.FleetSlot(
                guests=1,
                iops=100.0 * slot.number,
                bw_bytes=2**20 * slot.number,
                clat=histogram.from_counts({1000000 * (1 + slot.number): 9}),
                start_skew_ms=0,
                window_ms=2000,
            ),
        )
        for slot in plan.slots
    ]


def lines(charts):
    """{title: names of what is drawn}."""
    return {
        chart['title']: [name for name, _points in chart['data']]
        for chart in charts
    }


class ChartsTest(testtools.TestCase):
    def test_several_tiers_are_compared_pattern_by_pattern(self):
        charts = report_charts.charts(slots('fast', 'slow'))
        self.assertEqual(
            {
                f'{what} of each tier: {pattern.name}': ['fast', 'slow']
                for pattern in PATTERNS
                for what in ('IOPS', 'Latency')
            },
            lines(charts),
        )
        self.assertEqual('fast 0; slow 300', charts[0]['description'])

    def test_of_one_tier_patterns_of_a_kind_are_compared(self):
        charts = report_charts.charts(slots('fast', repeats=2))
        self.assertEqual(
            {
                'MiB/s of fast: write': ['write-4k', 'write-1m'],
                'Latency of fast: write': ['write-4k', 'write-1m'],
                'MiB/s of fast: randread': ['randread-4k'],
                'Latency of fast: randread': ['randread-4k'],
            },
            lines(charts),
        )
        # Means of the slots 0 and 3, 1 and 4.
        self.assertEqual(
            'write-4k 1.5; write-1m 2.5', charts[0]['description']
        )

    def test_rally_can_import_them_again(self):
        for found in (slots('fast'), slots('fast', 'slow'), []):
            jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
                {'additive': [], 'complete': report_charts.charts(found)}
            )
