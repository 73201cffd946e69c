# SPDX-License-Identifier: Apache-2.0


import dataclasses

import jsonschema
from rally.common.objects import task as task_objects
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.result import build
from rally_scenarios.plugins.report import charts as report_charts
from tests.unit.figures import results

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
PATTERNS = [
    fio_pattern.Pattern(name=name, rw=rw, bs=bs)
    for name, rw, bs in (
        ('write-4k', 'write', '4k'),
        ('write-1m', 'write', '1m'),
        ('randread-4k', 'randread', '4k'),
    )
]


def result(*tiers, repeats=1, without=0, ios=1000):
    """Each slot with 100 IOPS more than the one before, 1 MiB/s each.

    :param without: how many guests are lost in the second pattern
    """
    numbers = iter(range(100))
    slots = {tier: {each.name: [] for each in PATTERNS} for tier in tiers}
    for _repeat in range(repeats):
        for tier in tiers:
            for pattern in PATTERNS:
                number = next(numbers)
                slots[tier][pattern.name].append(
                    results.slot(
                        [100.0 * number],
                        clat_ms=[1 + number] * ios,
                        bw_bytes=2**20 * number,
                        without=without if pattern is PATTERNS[1] else 0,
                    )
                )
    run = results.run(slots)
    return dataclasses.replace(
        run,
        profile=dataclasses.replace(run.profile, patterns=tuple(PATTERNS)),
        tiers=tuple(
            dataclasses.replace(
                tier,
                patterns=tuple(
                    build.pattern_result(each.pattern, each.slots)
                    for each in tier.patterns
                ),
            )
            for tier in run.tiers
        ),
    )


def lines(charts):
    """{title: names of what is drawn}."""
    return {
        chart['title']: [name for name, _points in chart['data']]
        for chart in charts
    }


class ChartsTest(testtools.TestCase):
    def test_several_tiers_are_compared_pattern_by_pattern(self):
        charts = report_charts.charts(result('fast', 'slow'))
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
        charts = report_charts.charts(result('fast', repeats=2))
        self.assertEqual(
            {
                'MiB/s of fast: write': ['write-4k', 'write-1m'],
                'Latency of fast: write': ['write-4k', 'write-1m'],
                'MiB/s of fast: randread': ['randread-4k'],
                'Latency of fast: randread': ['randread-4k'],
            },
            lines(charts),
        )
        # Geometric means of the slots 0 and 3, 1 and 4.
        self.assertEqual('write-4k 0; write-1m 2', charts[0]['description'])

    def test_lines_end_where_few_ios_took_longer(self):
        (line,) = next(
            chart['data']
            for chart in report_charts.charts(result('fast', ios=100))
            if chart['title'] == 'Latency of fast: randread'
        )
        self.assertEqual(90, line[1][-1][0])
        self.assertEqual(
            ['MiB/s of fast: write', 'MiB/s of fast: randread'],
            list(lines(report_charts.charts(result('fast', ios=1)))),
        )

    def test_a_pattern_that_lacks_a_guest_is_in_no_chart(self):
        self.assertEqual(
            ['write-4k'],
            lines(report_charts.charts(result('fast', without=1)))[
                'MiB/s of fast: write'
            ],
        )

    def test_rally_can_import_them_again(self):
        for found in (result('fast'), result('fast', 'slow'), result()):
            jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
                {'additive': [], 'complete': report_charts.charts(found)}
            )
