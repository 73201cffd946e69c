# SPDX-License-Identifier: Apache-2.0

"""Load curves in a report: what is drawn, told and left out."""

import dataclasses

import testtools

from cinder_tiers.loop.report import content as report_content
from cinder_tiers.loop.report import curves
from cinder_tiers.loop.report import html
from tests.unit.figures import results
from tests.unit.loop.headroom import test_curve
from tests.unit.loop.report import page_reader
from tests.unit.loop.report import runs
from tests.unit.loop.report import test_page


class CurvesTestCase(testtools.TestCase):
    """The hockey stick of M/M/1 with 160 IOPS, beside its table."""

    STEPS = (20, 60, 100, 120, 140, 180)

    def run_result(self, sync_times=0):
        def p99_ms(asked):
            return 4605 / (160 - min(asked, 159.8))

        found = results.run({'fast': {}})
        patterns = tuple(
            test_curve.paced(
                'w',
                asked,
                [
                    results.slot(
                        [min(asked, 159.8)],
                        clat_ms=[p99_ms(asked) * factor] * 1000,
                        sync_ms=[sync_times * p99_ms(asked) * factor]
                        * (1000 if sync_times else 0),
                    )
                    for factor in (0.99, 1, 1.01)
                ],
            )
            for asked in self.STEPS
        )
        return dataclasses.replace(
            found,
            tiers=(dataclasses.replace(found.tiers[0], patterns=patterns),),
        )

    def test_a_curve_is_drawn_and_told(self):
        page = page_reader.Page(
            html.page(
                report_content.report(
                    {'a.json': self.run_result()},
                    test_page.QUESTION,
                    {'p99_ms_max': 100.0},
                )
            )
        )
        shown = page.table('Tier', 'Pattern', 'Latency', 'Load')
        by_load = {row['Load']: row for row in shown}
        self.assertEqual(
            {'done', 'saturated', 'knee', '70 % of the most'}
            | {'p99_ms_max 100'},
            set(by_load),
        )
        self.assertEqual('180', by_load['saturated']['Asked IOPS'])
        # 160 - 4605 / 100
        self.assertAlmostEqual(
            113.95, test_page.numbers(by_load['p99_ms_max 100']['IOPS']), 0
        )
        told = [
            alternative
            for alternative, _svg in page.pictures()
            if alternative.startswith('Latency against the load, w, p99:')
        ]
        self.assertIn(
            'On fast, w: p99 within 100 ms up to 114 IOPS (111.7 to 116.2),'
            ' and p99 rises steeply beyond 140 IOPS (120 to 159.8)',
            page.texts,
        )
        self.assertEqual(1, len(told))
        self.assertIn('knee at 140', told[0])
        self.assertIn('p99_ms_max 100 at 114', told[0])

    def test_syncs_have_a_curve_of_their_own(self):
        found = curves.curves(
            self.run_result(sync_times=2), {'sync_p99_ms_max': 100.0}
        )
        self.assertEqual(
            ['w, p99', 'w, sync_p99'],
            [chart.title for chart in found.charts],
        )
        # 160 - 4605 / 50, as a sync takes twice as long.
        self.assertIn(
            'sync_p99_ms_max 100 at 67.9', found.charts[1].alternative
        )

    def test_a_curve_that_cannot_be_read_hides_no_other(self):
        sound = self.run_result()
        lost = dataclasses.replace(
            sound.tiers[0],
            tier='lost',
            patterns=tuple(
                test_curve.paced('w', asked, [results.slot([9.0], without=1)])
                for asked in self.STEPS
            ),
        )
        for tiers in ((lost, *sound.tiers), (*sound.tiers, lost)):
            page = page_reader.Page(
                html.page(
                    report_content.report(
                        {'a.json': dataclasses.replace(sound, tiers=tiers)},
                        test_page.QUESTION,
                        {},
                    )
                )
            )
            shown = page.table('Tier', 'Pattern', 'Latency', 'Load')
            self.assertEqual({'fast', 'lost'}, {row['Tier'] for row in shown})
            (row,) = [row for row in shown if row['Tier'] == 'lost']
            self.assertIn('no repeat has all guests', row['Not known because'])
            self.assertTrue(
                any(
                    alternative.startswith('Latency against the load, w')
                    for alternative, _svg in page.pictures()
                )
            )

    def test_a_curve_of_too_few_ios_says_so(self):
        found = results.run({'fast': {}})
        patterns = tuple(
            test_curve.paced(
                'w', asked, [results.slot([asked], clat_ms=[1] * 160)] * 3
            )
            for asked in self.STEPS
        )
        found = dataclasses.replace(
            found,
            tiers=(dataclasses.replace(found.tiers[0], patterns=patterns),),
        )
        (chart,) = curves.curves(found, {}).charts
        self.assertEqual(0, chart.drawing.marks)
        text = ' '.join(
            page_reader.Page(
                html.page(
                    report_content.report(
                        {'a.json': found}, test_page.QUESTION, {}
                    )
                )
            ).texts
        )
        self.assertIn('no step has a latency: fast: ', text)
        self.assertIn('expected at least 1000 I/Os', text)

    def test_a_load_of_which_it_is_not_told_whether_it_was_done_says_why(self):
        for repeats, why in (
            ((90, 110), '98 % of the load, from which on it counts as done'),
            ((100,), 'one repeat has no interval'),
        ):
            found = results.run({'fast': {}})
            patterns = tuple(
                test_curve.paced(
                    'w',
                    asked,
                    [
                        results.slot([iops], clat_ms=[1] * 1000)
                        for iops in repeats
                    ],
                )
                for asked in (100, 101)
            )
            (tier,) = found.tiers
            table = curves.curves(
                dataclasses.replace(
                    found,
                    tiers=(dataclasses.replace(tier, patterns=patterns),),
                ),
                {},
            ).table
            for row in table.rows[:2]:
                self.assertIn('cannot tell', row)
                self.assertIn(why, row[-1])

    def test_a_result_without_steps_has_no_curve(self):
        self.assertIsNone(curves.curves(runs.run(), {}))
