# SPDX-License-Identifier: Apache-2.0

"""The first lines of a report: what was found, of what."""

import dataclasses
import re

import testtools

from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import answers
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

    def test_of_many_tiers_the_first_line_tells_a_few(self):
        found = self.first_lines(
            runs.run(
                tiers=[f'tier-{at}' for at in range(9)], patterns=1, guests=1
            )
        )
        first = re.search('<h1>(.*)</h1>', found)[1]
        self.assertEqual(4, len(first.split('; ')), first)
        self.assertTrue(first.endswith('; 5 more are in the tables below'))
        self.assertNotIn('cannot tell', first.split('; ')[0])

    def test_that_tiers_had_one_order_is_told_once(self):
        text = test_page.text_of(
            runs.run(tiers=('a', 'b', 'c'), patterns=1, seconds=2, guests=1)
        )
        self.assertEqual(1, text.count('in each repeat: a part of their'))
        self.assertIn('<li>b, c ran after a in each repeat', text)

    def test_what_was_not_measured_is_not_told_as_a_comparison(self):
        run = runs.run(tiers=('one', 'other'), patterns=1, seconds=2)
        lost = dataclasses.replace(run.tiers[1], patterns=())
        text = test_page.text_of(
            dataclasses.replace(run, tiers=(run.tiers[0], lost))
        )
        self.assertNotIn('intervals hold together', text)
        self.assertNotIn('cannot tell other and one apart', text)

    def test_tiers_that_hardly_differ_are_not_told_as_the_same(self):
        claim = dataclasses.replace(
            comparison.tiers_of_run(
                runs.run(tiers=('a', 'b'), patterns=1), test_page.QUESTION
            ).claims[0],
            finding=comparison.DifferenceFinding.CANNOT_TELL,
            difference_percent=0.1,
            low_percent=-0.4,
            high_percent=0.4,
        )
        (told,) = answers.answers(
            {'x': runs.run(tiers=('a', 'b'), patterns=1)}, [claim], 'iops'
        )
        self.assertIn('(0.996 to 1.004 times)', told)

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
            'My task · 2026-11-23 18:00 UTC · 4 guests of one · 3'
            ' repeats of 40 s · fio-3.42',
            '4k random reads and writes (50 % reads)',
            'libaio',
            '1,024',
        ):
            self.assertIn(text, found)

    def test_the_load_that_is_asked_for_is_told(self):
        run = runs.run(tiers=('one',), patterns=1)
        (pattern,) = run.profile.patterns
        paced = dataclasses.replace(pattern, rate_iops=30)
        run = dataclasses.replace(
            run, profile=dataclasses.replace(run.profile, patterns=(paced,))
        )
        table = answers.measured(run)[1]
        self.assertEqual(
            '4k random reads, 30 IOPS asked of each volume', table.rows[0][1]
        )
