# SPDX-License-Identifier: Apache-2.0

"""The first lines of a report: what was found, of what."""

import dataclasses

import testtools

from cinder_tiers.loop.compare import comparison
from tests.unit.figures.result import test_trust
from tests.unit.loop.report import runs
from tests.unit.loop.report import test_page


class FirstLinesTestCase(testtools.TestCase):
    def first_lines(self, *found):
        return test_page.text_of(*found).split('<nav')[0]

    def test_the_first_line_answers_with_an_interval(self):
        run = runs.run(tiers=('general', 'database'), patterns=2)
        claim = comparison.tiers_of_run(run, test_page.QUESTION).claims[0]
        self.assertIs(comparison.DifferenceFinding.BETTER, claim.finding)
        self.assertIn(
            f'<h1>4k random reads: database does'
            f' {1 + claim.difference_percent / 100:.1f} times general'
            f' ({1 + claim.low_percent / 100:.1f} to'
            f' {1 + claim.high_percent / 100:.1f})</h1>',
            self.first_lines(run),
        )

    def test_the_faster_tier_is_told_first(self):
        run = runs.run(tiers=('database', 'general'), patterns=1)
        swapped = dataclasses.replace(run, tiers=run.tiers[::-1])
        self.assertRegex(
            self.first_lines(swapped),
            '<h1>4k random reads: general does 4.[0-9] times database',
        )

    def test_results_are_told_by_their_names(self):
        self.assertRegex(
            self.first_lines(
                runs.run(tiers=('one',), patterns=1),
                runs.run(tiers=('one',), patterns=1, factor=3),
            ),
            '<h1>Cannot tell 0.json and 1.json apart</h1>\\s*<ul'
            ' class="answers">\\s*<li>Reason: one run each: cannot tell a'
            ' change of the storage from a change between runs; three runs',
        )

    def test_a_single_tier_has_its_figure(self):
        self.assertRegex(
            self.first_lines(runs.run(tiers=('one',), patterns=1)),
            '<h1>4k random reads: one does [0-9.]+ IOPS [(][0-9.]+ to',
        )

    def test_of_steps_the_last_is_told(self):
        found = self.first_lines(runs.run(patterns=1, steps=(1, 2, 4)))
        self.assertIn('<h1>4k random reads, 4 guests: database does', found)
        self.assertNotIn('2 guests', found)

    def test_one_repeat_is_told_in_the_first_lines(self):
        found = self.first_lines(runs.run(patterns=1, repeats=1))
        self.assertIn(
            '<h1>Cannot tell general, database and archive apart</h1>', found
        )
        self.assertIn('Reason: measured once', found)
        self.assertIn('Read with care</strong>: one repeat', found)
        self.assertNotIn('caveats none', found)

    def test_green_is_only_what_is_all_known(self):
        known = test_trust.run()
        self.assertIn('caveats none', self.first_lines(known))
        self.assertNotIn(
            'caveats none',
            self.first_lines(dataclasses.replace(known, ceph=None)),
        )

    def test_what_was_measured_comes_first(self):
        run = runs.run(tiers=('one',), patterns=5)
        run = dataclasses.replace(run, task='My task')
        found = self.first_lines(run)
        for text in (
            'My task · 2026-11-23 18:00 UTC · 4 guests of each tier · 3'
            ' repeats of 40 s · fio-3.42',
            '4k random reads and writes (50 % reads)',
            'libaio',
            '1,024',
        ):
            self.assertIn(text, found)
