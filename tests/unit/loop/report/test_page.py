# SPDX-License-Identifier: Apache-2.0

"""The page of a report: its figures, its size, and that text stays text."""

import base64
import dataclasses
import hashlib
import itertools
import json
import re
from xml.etree import ElementTree

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from cinder_tiers.domain import record
from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import content as report_content
from cinder_tiers.loop.report import curves
from cinder_tiers.loop.report import drawing
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import html
from cinder_tiers.loop.report import intervals
from cinder_tiers.loop.report import rows
import tests
from tests.unit.figures.result import test_trust
from tests.unit.figures import results
from tests.unit.loop.headroom import test_curve
from tests.unit.loop.report import page_reader
from tests.unit.loop.report import runs

QUESTION = comparison.Question()


def text_of(*results):
    return html.page(
        report_content.report(
            {f'{at}.json': each for at, each in enumerate(results)}, QUESTION
        )
    )


def numbers(text):
    """A shown number as a float; a dash is None."""
    return None if text == '-' else float(text.replace(',', ''))


def few_ios(result, ios):
    """The same with so many I/Os in each repeat, of guests and times, too."""

    def latencies(found):
        return found and run_result.latencies(
            histogram.from_counts({found.bins[0][0]: ios - 1, 10**9: 1})
        )

    def slot_with_few(slot):
        return dataclasses.replace(
            slot,
            guests=tuple(
                dataclasses.replace(
                    guest,
                    total_ios=ios // len(slot.guests),
                    latency=None,
                )
                for guest in slot.guests
            ),
            latency=dataclasses.replace(
                slot.latency, ios=(ios // 40,) * len(slot.latency.ios)
            ),
            merged=dataclasses.replace(
                slot.merged,
                clat=latencies(slot.merged.clat),
                directions={
                    name: dataclasses.replace(
                        found, total_ios=ios, clat=latencies(found.clat)
                    )
                    for name, found in slot.merged.directions.items()
                },
            ),
        )

    return dataclasses.replace(
        result,
        doubts=None,
        tiers=tuple(
            dataclasses.replace(
                tier,
                patterns=tuple(
                    build.pattern_result(
                        pattern.pattern,
                        list(map(slot_with_few, pattern.slots)),
                    )
                    for pattern in tier.patterns
                ),
            )
            for tier in result.tiers
        ),
    )


class FiguresTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_result = runs.run()
        cls.text = text_of(cls.run_result)
        cls.page = page_reader.Page(cls.text)

    def patterns(self):
        return [
            (tier, pattern)
            for tier in self.run_result.tiers
            for pattern in tier.patterns
        ]

    def test_figures_of_the_table_are_those_of_the_result(self):
        shown = self.page.table('Tier', 'Pattern', 'IOPS', '95 % from')
        self.assertEqual(len(self.patterns()), len(shown))
        for row, (tier, pattern) in zip(shown, self.patterns(), strict=True):
            self.assertEqual(
                (tier.tier, pattern.pattern, '3 of 3'),
                (row['Tier'], row['Pattern'], row['Complete repeats']),
            )
            iops = trust.estimate(pattern.slots, 'iops')
            for column, digits, value in (
                ('IOPS', 1, iops.mean),
                ('95 % from', 1, iops.low),
                ('95 % to', 1, iops.high),
                ('Spread %', 1, pattern.iops.spread_percent),
                (
                    'MiB/s',
                    2,
                    trust.estimate(pattern.slots, 'mib_per_s').mean,
                ),
                *(
                    (
                        f'p{percent} ms',
                        3,
                        # As in the claims, of the same page.
                        trust.estimate(pattern.slots, f'p{percent}_ms').mean,
                    )
                    for percent in (50, 99)
                ),
            ):
                self.assertEqual(
                    float(f'{value:.{digits}f}'), numbers(row[column]), column
                )

    def profile_row(self, **changed):
        """What the page of a small run says of its profile."""
        small = runs.run(tiers=('one',), patterns=1)
        changed = {
            name: dataclasses.replace(getattr(small, name), **each)
            for name, each in changed.items()
        }
        page = page_reader.Page(text_of(dataclasses.replace(small, **changed)))
        [value] = [
            after
            for title, after in itertools.pairwise(
                text for text in page.texts if text.strip()
            )
            if title == 'Profile'
        ]
        return value

    def test_a_profile_is_shown_with_its_size(self):
        self.assertEqual(
            'meyer2016, size lab, of meyer2016 (table 2)',
            self.profile_row(
                profile={
                    'name': 'meyer2016',
                    'size': named_profile.ProfileSize.LAB,
                    'source': named_profile.Source(
                        paper='meyer2016', where='table 2'
                    ),
                }
            ),
        )

    def test_a_job_file_may_be_called_task(self):
        self.assertEqual(
            'general, size paper, of task (the file)',
            self.profile_row(
                profile={
                    'source': named_profile.Source(
                        paper='task', where='the file'
                    )
                }
            ),
        )

    def test_patterns_that_a_task_lists_have_no_size(self):
        self.assertEqual(
            'none; the task lists its patterns', self.profile_row()
        )

    def test_a_percentile_of_too_few_ios_is_nowhere(self):
        """Of 72 I/Os, p99 is the longest, and says nothing of the next one."""
        with_few = few_ios(runs.run(patterns=1), 72)
        text = text_of(with_few)
        page = page_reader.Page(text)
        for head in (
            ('IOPS', 'p99 ms', 'Read with care'),
            ('p50 ms', 'p90 ms', 'p99 ms'),
            ('Repeat', 'p50 ms', 'p99 ms'),
            ('Direction', 'p99 completion ms'),
            ('Mean p99 ms', 'Guests'),
            ('Guest', 'Longest stall s', 'p99 ms'),
        ):
            for row in page.table(*head):
                self.assertEqual(
                    {'-'},
                    {
                        value
                        for name, value in row.items()
                        if name.startswith(('p99', 'Mean p99'))
                    },
                    head,
                )
        self.assertNotIn('p99 over time', text)
        self.assertIn('needs runtime &gt;= 556 s for p99', text)

    def test_claims_are_those_of_compare(self):
        found = comparison.tiers_of_run(self.run_result, QUESTION)
        shown = self.page.table('Finding', 'Difference %')
        self.assertEqual(
            [
                (
                    f'{claim.second_tier} against {claim.first_tier}',
                    claim.pattern,
                    claim.finding.value,
                    claim.reason,
                    float(f'{claim.difference_percent:.1f}'),
                )
                for claim in found.claims
            ],
            [
                (
                    row['Tier'],
                    row['Pattern'],
                    row['Finding'],
                    row['Reason'],
                    numbers(row['Difference %']),
                )
                for row in shown
            ],
        )
        self.assertIn(
            f'better: {found.count(comparison.DifferenceFinding.BETTER)}',
            self.text,
        )

    def test_differences_are_those_of_the_claims(self):
        found = comparison.tiers_of_run(self.run_result, QUESTION).claims
        rows = self.page.table('What', 'Pattern', 'Finding', 'From')
        # One table a quantity: the first is that of IOPS.
        self.assertEqual(
            [
                (claim.pattern, claim.finding.value)
                for tier in dict.fromkeys(each.second_tier for each in found)
                for claim in found
                if (claim.quantity, claim.second_tier) == ('iops', tier)
            ],
            [(row['Pattern'], row['Finding']) for row in rows],
        )

    def test_no_tier_has_a_colour_of_claims(self):
        for which in (0, 1):
            tiers = {each[which] for each in drawing.PALETTE[: figure.STYLES]}
            for claimed in (figure.BETTER, figure.WORSE):
                self.assertNotIn(drawing.PALETTE[claimed][which], tiers)

    def test_that_one_repeat_proves_nothing_is_told_once(self):
        text = text_of(runs.run(patterns=1, repeats=1))
        self.assertEqual(1, text.count('measured once: a comparison needs 2'))
        self.assertIn('Nothing can be claimed of any of the ', text)
        self.assertNotIn('<th scope="col">Finding', text)

    def test_a_caveat_stands_beside_what_it_doubts(self):
        (stall,) = (
            each for each in self.run_result.doubts if each.about == 'stall'
        )
        self.assertTrue(stall.text.startswith('archive randwrite-4k: '))
        rows = self.page.table('Tier', 'Pattern', 'IOPS', 'Read with care')
        self.assertEqual(
            [('archive', 'randwrite-4k')],
            [
                (row['Tier'], row['Pattern'])
                for row in rows
                if 'stall' in row['Read with care']
            ],
        )
        of_pattern = self.text.split('<h4>randwrite-4k</h4>')[1]
        self.assertIn(
            f'<li>stall: {stall.text}</li>', of_pattern.split('<h4>')[0]
        )

    def test_bars_are_drawn_to_scale(self):
        svg = self.groups('Bars of IOPS, randread-4k')
        widths = [
            float(found[1])
            for node in svg.iter(f'{page_reader.SVG}path')
            if node.get('fill') in dict(drawing.PALETTE)
            and (
                found := re.fullmatch(
                    r'M0,[\d.]+h([\d.]+)v[\d.]+h-\1Z', node.get('d')
                )
            )
        ]
        iops = [tier.patterns[0].iops.mean for tier in self.run_result.tiers]
        self.assertEqual(3, len(widths))
        for width, value in zip(widths, iops, strict=True):
            self.assertAlmostEqual(
                value / iops[0], width / widths[0], delta=0.02
            )

    def groups(self, title):
        """Attribute values of the marks of the first chart of a figure."""
        _alternative, svg, _dark = next(
            each for each in self.page.pictures() if each[0].startswith(title)
        )
        return svg

    def lines_drawn(self, svg):
        """Number of points of each drawn line."""
        colours = dict(drawing.PALETTE)
        found = []
        for parent in svg.iter(f'{page_reader.SVG}g'):
            for node in parent.findall(f'{page_reader.SVG}path'):
                stroke = node.get('stroke', parent.get('stroke'))
                if stroke in colours:
                    found.append(len(re.findall('[ML]', node.get('d'))))
        return found

    def test_each_second_of_each_repeat_is_drawn(self):
        svg = self.groups('IOPS over the seconds')
        self.assertEqual([40] * 9, self.lines_drawn(svg))

    def test_bandwidth_and_p99_of_each_second_are_drawn(self):
        for title, drawn in (
            ('Bandwidth over the seconds', [40] * 9),
            # Of the others, no second has I/Os enough for a p99.
            ('p99 within each repeat', [40] * 3),
        ):
            self.assertEqual(
                drawn, self.lines_drawn(self.groups(title)), title
            )
        (slot, *_) = self.run_result.tiers[0].patterns[0].slots
        row = self.page.table('Repeat', 'Highest MiB/s')[0]
        highest = max(bw_bytes for _ms, bw_bytes in slot.bw_series) / 2**20
        self.assertEqual(
            float(f'{highest:.2f}'), numbers(row['Highest MiB/s'])
        )
        row = next(
            row
            for row in self.page.table('Repeat', 'Highest p99 ms')
            if row['Tier'] == 'database'
        )
        (slot, *_) = self.run_result.tiers[1].patterns[0].slots
        self.assertEqual(
            (
                float(f'{max(slot.latency.p99_ns) / 1e6:.3f}'),
                1 + slot.latency.p99_ns.index(max(slot.latency.p99_ns)),
            ),
            (numbers(row['Highest p99 ms']), numbers(row['in second'])),
        )

    def test_each_guest_is_drawn_over_time(self):
        self.assertEqual(
            [40] * 12, self.lines_drawn(self.groups('IOPS of guests over'))
        )
        rows = self.page.table('Guest', 'Longest stall s')
        self.assertEqual(
            {guest.guest for guest in self.run_result.guests},
            {row['Guest'] for row in rows},
        )

    def test_numbers_beside_an_axis_are_written_as_people_do(self):
        for alternative, svg, _dark in self.page.pictures():
            for node in svg.iter():
                self.assertNotRegex(
                    (node.text or '').strip(), r'^\d+e[+-]\d+$', alternative
                )
        svg = self.groups('Percentiles of completion')
        told = {(node.text or '').strip() for node in svg.iter()}
        self.assertTrue({'1', '2', '3'} <= told, told)
        self.assertNotIn('1.5', told)

    def test_percentiles_of_each_repeat_are_drawn(self):
        svg = self.groups('Percentiles of completion')
        self.assertEqual([3] * 6, self.lines_drawn(svg))

    def test_each_guest_and_each_repeat_is_a_point(self):
        for title, points in (
            ('IOPS of each guest', 12),
            ('p99 of completion latency against', 9),
        ):
            svg = self.groups(title)
            colours = dict(drawing.PALETTE)
            drawn = 0
            for parent in svg.iter(f'{page_reader.SVG}g'):
                for node in parent.findall(f'{page_reader.SVG}path'):
                    drawn += node.get('fill', parent.get('fill')) in colours
            self.assertEqual(points, drawn, title)

    def test_other_tables_have_the_figures_of_the_result(self):
        pattern = self.run_result.tiers[0].patterns[0]
        first = pattern.slots[0]
        row = self.page.table('Excursion %', 'Longest stall s')[0]
        self.assertEqual(
            (40.0, first.steadiness.reason),
            (numbers(row['Seconds']), row['Why']),
        )
        row = self.page.table('Repeat', 'Start skew ms')[0]
        self.assertEqual(
            (
                float(f'{first.merged.iops:.1f}'),
                float(f'{first.merged.fairness:.3f}'),
            ),
            (numbers(row['IOPS']), numbers(row['Fairness'])),
        )
        row = self.page.table('Slowest', 'Fastest')[0]
        last = {guest.guest: guest.iops for guest in pattern.slots[-1].guests}
        self.assertEqual(min(last, key=last.get), row['Slowest'])
        row = self.page.table('Direction', 'Longest total ms')[0]
        found = pattern.directions['read']
        self.assertEqual(
            (
                'read',
                float(f'{trust.estimate(pattern.slots, "iops").mean:.1f}'),
                float(f'{found.lat_max_ns / 1e6:.3f}'),
            ),
            (
                row['Direction'],
                numbers(row['IOPS']),
                numbers(row['Longest total ms']),
            ),
        )
        self.assertEqual(0.02, numbers(row['Mean submission ms']))

    def test_p99_of_a_direction_is_that_of_all_its_repeats(self):
        """Of a single direction, it is p99 of the pattern."""
        rows = self.page.table('Direction', 'p99 completion ms')
        alone = self.page.table('Tier', 'p99.9 ms', 'Read with care')
        for row in rows:
            if row['Pattern'] == 'randrw-4k':
                continue
            (of_pattern,) = (
                each['p99 ms']
                for each in alone
                if (each['Tier'], each['Pattern'])
                == (row['Tier'], row['Pattern'])
            )
            self.assertEqual(of_pattern, row['p99 completion ms'])

    def test_the_dark_picture_differs_in_colours_only(self):
        for _alternative, light, dark in self.page.pictures():
            self.assertEqual(
                [node.text for node in light.iter()],
                [node.text for node in dark.iter()],
            )
            colours = {node.get('fill') for node in dark.iter()}
            self.assertNotIn('#1b1f24', colours)

    def test_every_chart_is_told_in_words_and_as_a_table(self):
        for alternative, _light, _dark in self.page.pictures():
            self.assertRegex(alternative, r'\d')
        names = [name for name, _attributes in self.page.elements]
        self.assertEqual([], self.page.left_open)
        self.assertGreaterEqual(names.count('table'), names.count('figure'))

    def test_nothing_runs_and_nothing_is_loaded(self):
        self.assertNotIn('<script', self.text.lower())
        style = re.search(r'<style>(.*?)</style>', self.text, re.S)[1]
        checksum = base64.b64encode(
            hashlib.sha256(style.encode()).digest()
        ).decode()
        policies = [
            attributes['content']
            for name, attributes in self.page.elements
            if attributes.get('http-equiv') == 'Content-Security-Policy'
        ]
        self.assertEqual(
            [
                "default-src 'none'; img-src data:; style-src"
                f" 'sha256-{checksum}'; base-uri 'none'; form-action 'none'"
            ],
            policies,
        )
        for name, attributes in self.page.elements:
            self.assertNotIn('style', attributes, name)
            self.assertEqual(
                [], [each for each in attributes if each.startswith('on')]
            )
            for each in ('src', 'srcset', 'href'):
                if each in attributes:
                    self.assertRegex(attributes[each], '^(#|data:image/svg)')


@ddt.ddt
class ManyTiersTestCase(testtools.TestCase):
    # Tiers, patterns, and what has a row each.
    @ddt.data((3, 2, 'pattern'), (30, 3, 'tier'), (12, 13, 'pattern'))
    @ddt.unpack
    def test_a_heat_map_has_room_for_its_numbers(self, tiers, patterns, of):
        run = runs.run(
            tiers=tuple(f'tier-{number}' for number in range(tiers)),
            patterns=patterns,
            repeats=1,
            guests=1,
            seconds=2,
        )
        found = intervals.heat_map(rows.rows(run), ())
        for chart in found.charts:
            shades = chart.drawing.shades
            self.assertEqual(tiers * patterns, len(shades))
            self.assertEqual(of == 'tier', shades[0].row == 'tier-0')
            self.assertIn('randread-4k on tier-0 ', chart.alternative)
            # Of a chart beside another one, at 1400 pixels: 620.
            self.assertLess(drawing.draw(chart.drawing).width, 800)

    def test_a_heat_map_paints_what_is_claimed_and_nothing_else(self):
        run = runs.run(patterns=3, factor=1)
        claims = comparison.tiers_of_run(run, QUESTION).claims
        claimed = {
            (claim.quantity, claim.pattern, claim.second_tier): (
                claim.finding.value
            )
            for claim in claims
            if claim.finding
            in (
                comparison.DifferenceFinding.BETTER,
                comparison.DifferenceFinding.WORSE,
            )
        }
        for at in (len(claims), 3, 0):
            kept = [
                dataclasses.replace(
                    claim, finding=comparison.DifferenceFinding.CANNOT_TELL
                )
                if place >= at
                else claim
                for place, claim in enumerate(claims)
            ]
            found = intervals.heat_map(rows.rows(run), kept)
            painted = {
                (quantity, shade.row, shade.column): shade.finding
                for quantity, chart in zip(
                    ('iops', 'p99_ms'), found.charts, strict=True
                )
                for shade in chart.drawing.shades
                if shade.finding
            }
            self.assertEqual(
                {
                    key: value
                    for key, value in claimed.items()
                    if key
                    in {
                        (claim.quantity, claim.pattern, claim.second_tier)
                        for claim in claims[:at]
                    }
                },
                painted,
            )
        fills = {
            node.get('fill')
            for node in ElementTree.fromstring(
                drawing.draw(found.charts[0].drawing).light
            ).iter()
        }
        self.assertNotIn('#7fd1ae', fills)


class FirstLinesTestCase(testtools.TestCase):
    def first_lines(self, *found):
        return text_of(*found).split('<nav')[0]

    def test_the_first_line_answers_with_an_interval(self):
        run = runs.run(tiers=('general', 'database'), patterns=2)
        claim = comparison.tiers_of_run(run, QUESTION).claims[0]
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


class SeveralTestCase(testtools.TestCase):
    def test_results_are_compared_with_the_first(self):
        results = [runs.run(patterns=1), runs.run(patterns=1, factor=2)]
        page = page_reader.Page(text_of(*results))
        found = comparison.runs(results[:1], {'1.json': results[1:]}, QUESTION)
        self.assertIn(found.claims[0].reason, ''.join(page.texts))
        for each in found.circumstances:
            self.assertIn(each, page.texts)
        self.assertIn('0.json', page.texts)
        self.assertIn('1.json', page.texts)

    def test_before_and_after_stand_side_by_side(self):
        results = [runs.run(patterns=2), runs.run(patterns=2, factor=2)]
        page = page_reader.Page(text_of(*results))
        (bars,) = [
            alternative
            for alternative, _light, _dark in page.pictures()
            if alternative.startswith('Bars of IOPS, randread-4k on database')
        ]
        self.assertRegex(bars, '0.json [0-9].*; 1.json [0-9]')
        shown = [
            row['Result']
            for row in page.table('Result', 'Pattern', 'IOPS')
            if row['Pattern'] == 'randread-4k on database'
        ]
        self.assertEqual(['0.json', '1.json'], shown)

    def test_many_charts_are_not_repeated_side_by_side(self):
        run = runs.run(patterns=5, seconds=2)
        self.assertNotIn('side by side', text_of(run, run))

    def test_the_time_is_told_beside_what_it_took(self):
        run = dataclasses.replace(
            runs.run(patterns=1),
            cost=run_result.Cost(
                told=duration.Duration(
                    volumes=18, boot=90, prepare=15, measure=105, delete=36
                ),
                volumes_s=7.5,
                boot_s=36.8,
                prepare_s=42.9,
                measure_s=97.9,
            ),
        )
        self.assertIn(
            'volumes 18 s, 8 s; boot 90 s, 37 s; prepare 15 s, 43 s; start,'
            ' measure and collect 105 s, 98 s; delete 36 s, not known;'
            ' together 264 s, not known (expected from rates assumed for a'
            ' small cloud)',
            page_reader.Page(text_of(run)).texts,
        )

    def test_results_that_have_no_tier_in_common_are_shown(self):
        page = page_reader.Page(
            text_of(
                runs.run(patterns=1, tiers=('one',)),
                runs.run(patterns=1, tiers=('other',)),
            )
        )
        self.assertIn('Nothing could be compared', ''.join(page.texts))
        self.assertLess(2, len(page.pictures()))

    def test_one_tier_is_shown_by_kinds_of_patterns(self):
        page = page_reader.Page(text_of(runs.run(tiers=('one',), patterns=6)))
        self.assertEqual(
            list(runs.KINDS),
            [
                found[1]
                for alternative, _light, _dark in page.pictures()
                if (found := re.match('Bars of IOPS, ([a-z]+):', alternative))
            ],
        )

    def test_steps_of_guests_are_told_apart(self):
        page = page_reader.Page(
            text_of(runs.run(tiers=('one',), patterns=1, steps=(1, 2, 4)))
        )
        (alternative, _light, _dark) = page.pictures()[0]
        self.assertIn('1 guest', alternative)
        self.assertIn('4 guests', alternative)

    def test_each_colour_of_a_chart_of_lines_has_its_name(self):
        for about, named in (
            ({'patterns': 6}, {'randread-4k', 'randread-8k'}),
            (
                {'patterns': 1, 'steps': (1, 2, 4)},
                {'1 guest', '2 guests', '4 guests'},
            ),
        ):
            page = page_reader.Page(text_of(runs.run(tiers=('one',), **about)))
            for chart in (
                'Distribution of completion latencies, randread',
                'IOPS over the seconds of each repeat, randread',
                'Percentiles of completion latency by repeat, randread',
            ):
                ((keys, svg),) = [
                    (keys, light)
                    for keys, (alternative, light, _dark) in zip(
                        page.keys(), page.pictures(), strict=True
                    )
                    if alternative.startswith(chart)
                ]
                self.assertEqual(named, set(keys))
                drawn = {
                    node.get('stroke')
                    for node in svg.iter()
                    if node.get('stroke')
                    in {light for light, _dark in drawing.PALETTE}
                }
                self.assertEqual(
                    {drawing.PALETTE[style][0] for style in keys.values()},
                    drawn,
                    chart,
                )

    def test_the_steps_of_several_tiers_are_charts_of_their_own(self):
        page = page_reader.Page(
            text_of(runs.run(tiers=('one', 'other'), patterns=1, steps=(1, 4)))
        )
        self.assertEqual(
            ['randread-4k, 1 guest', 'randread-4k, 4 guests'],
            [
                found[1]
                for alternative, _light, _dark in page.pictures()
                if (
                    found := re.match(
                        'Distribution of completion latencies, ([^:]+):',
                        alternative,
                    )
                )
            ],
        )

    def test_latencies_and_their_shades_have_no_prefix(self):
        values = (0.2134, 0.85, 1234.5)
        bars = drawing.draw(
            figure.Bars(
                unit='ms',
                bars=tuple(
                    figure.Bar(
                        label=f'bar {value}',
                        style=0,
                        value=value,
                        low=None,
                        high=None,
                    )
                    for value in values
                ),
            )
        )
        shades = drawing.draw(
            figure.HeatMap(
                unit='ms',
                shades=tuple(
                    figure.Shade(row='row', column=f'at {value}', value=value)
                    for value in values
                ),
            )
        )
        dots = drawing.draw(
            figure.Dots(
                unit='ms',
                dots=(figure.Dot(label='dot', style=0, value=0.0004),),
            )
        )
        for picture, told in (
            (bars, {'0.2134', '0.85', '1,235'}),
            (shades, {'0.213', '0.85', '1,230'}),
            (dots, {'0.0004'}),
        ):
            texts = page_reader.texts(picture.light)
            self.assertTrue(told <= set(texts), texts)
            for text in texts:
                self.assertNotRegex(text, r'^[\d.,]+[a-zµ]$')

    def test_what_was_not_measured_is_not_told_as_nothing(self):
        def unknown(slot):
            return dataclasses.replace(
                slot,
                steadiness=dataclasses.replace(
                    slot.steadiness, longest_stall_s=None
                ),
            )

        result = runs.run(tiers=('one',), patterns=1)
        (tier,) = result.tiers
        (pattern,) = tier.patterns
        result = dataclasses.replace(
            result,
            tiers=(
                dataclasses.replace(
                    tier,
                    patterns=(
                        dataclasses.replace(
                            pattern, slots=tuple(map(unknown, pattern.slots))
                        ),
                    ),
                ),
            ),
        )
        (told,) = [
            alternative
            for alternative, _light, _dark in page_reader.Page(
                text_of(result)
            ).pictures()
            if alternative.startswith('IOPS over the seconds')
        ]
        self.assertIn('longest stall not known', told)

    def test_a_pattern_without_a_complete_repeat_has_no_picture(self):
        result = runs.run(tiers=('one',), patterns=1)
        lost = dataclasses.replace(
            result.tiers[0].patterns[0],
            slots=tuple(
                dataclasses.replace(slot, merged=None)
                for slot in result.tiers[0].patterns[0].slots
            ),
            complete_repeats=0,
            iops=None,
            bw_bytes=None,
            p99_ns=None,
            clat=None,
            directions=None,
        )
        result = dataclasses.replace(
            result,
            tiers=(dataclasses.replace(result.tiers[0], patterns=(lost,)),),
        )
        page = page_reader.Page(text_of(result))
        (row,) = page.table('IOPS', '95 % from')
        self.assertEqual(
            ('0 of 3', '-'), (row['Complete repeats'], row['IOPS'])
        )
        self.assertIn('nothing to draw', ''.join(page.texts))


#: Each example draws charts: shrinking one would take minutes.
UNSHRUNK = tests.examples(
    12,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
SMALL = run_result.write(
    runs.run(tiers=('a', 'b'), patterns=1, repeats=2, seconds=30)
)

#: Texts that would be markup, end an attribute or a comment, or that neither
#: HTML nor XML can have.
HOSTILE = strategies.sampled_from(
    [
        '<script>alert(1)</script>',
        '"><img src=x onerror=alert(1)>',
        "' onload='alert(1)",
        '</style><script>alert(1)</script>',
        '</title><script>alert(1)</script>',
        ']]><!--',
        '-->',
        '{{ 7 * 7 }}{% raw %}',
        '&lt;b&gt;&amp;',
        'javascript:alert(1)',
        '\x00\x08\x1b[2J\x7f',
        '\u202egnp.exe',
        '\ud800',
        '\ufffe\uffff',
        'datum.value',
        'x' * 400,
        '',
    ]
) | strategies.text(max_size=40)


#: A result has each of them once, wherever it speaks of them.
NAMES = ('tier', 'guest')
TEXTS = (
    *('text', 'about', 'run', 'ended_at', 'host', 'kernel'),
    *('paper', 'where'),
)


def texts_replaced(value, draw, names):
    """A plain result with other people's texts in all places that take any.

    :param names: {(key, name): what is in its place}; grows
    """
    if isinstance(value, dict):
        replaced = {}
        for key, each in value.items():
            if key in NAMES and isinstance(each, str):
                name = f'{draw(HOSTILE)}{len(names)}'
                replaced[key] = names.setdefault((key, each), name)
            elif key in TEXTS and isinstance(each, str):
                replaced[key] = draw(HOSTILE)
            else:
                replaced[key] = texts_replaced(each, draw, names)
        return replaced
    if isinstance(value, list):
        return [texts_replaced(each, draw, names) for each in value]
    return value


class HostileTestCase(testtools.TestCase):
    @UNSHRUNK
    @hypothesis.given(strategies.data())
    def test_text_of_a_result_stays_text(self, data):
        plain = json.loads(SMALL)
        plain = texts_replaced(plain, data.draw, {})
        plain['environment']['fio'] = {
            'value': data.draw(HOSTILE),
            'reason': '',
        }
        result = run_result.read(json.dumps(plain))
        text = text_of(result)
        page = page_reader.Page(text)
        self.assertNotIn('<script', text.lower())
        self.assertEqual(
            {
                *('html', 'head', 'meta', 'title', 'style', 'body', 'header'),
                *('h1', 'h2', 'h3', 'h4', 'nav', 'ul', 'li', 'a', 'main'),
                *('section', 'p', 'div', 'dl', 'dt', 'dd', 'strong'),
                *('figure', 'figcaption', 'picture', 'source', 'img', 'svg'),
                *('rect', 'details', 'summary', 'table', 'thead', 'tbody'),
                *('tr', 'th', 'td', 'footer'),
            },
            {name for name, _attributes in page.elements}
            | {'strong', 'svg', 'rect', 'li', 'img', 'source', 'picture'},
        )
        self.assertEqual([], page.left_open)
        # What is drawn has no element but those of a static picture.
        for _alternative, light, dark in page.pictures():
            for svg in (light, dark):
                self.assertLessEqual(
                    {node.tag for node in svg.iter()},
                    {
                        page_reader.SVG + name
                        for name in (
                            *('svg', 'g', 'path', 'line', 'rect', 'text'),
                            *('defs', 'clipPath'),
                        )
                    },
                )

    @UNSHRUNK
    @hypothesis.given(
        strategies.floats(allow_nan=False, allow_infinity=False),
        strategies.sampled_from(['mean', 'low', 'high']),
        strategies.integers(0, 10**100 - 1),
    )
    def test_any_number_is_shown(self, value, name, bandwidth):
        plain = json.loads(SMALL)
        found = plain['tiers'][0]['patterns'][0]
        found['iops'][name] = value
        found['bw_bytes']['mean'] = bandwidth
        page = page_reader.Page(text_of(run_result.read(json.dumps(plain))))
        self.assertLess(3, len(page.pictures()))

    @UNSHRUNK
    @hypothesis.given(
        strategies.lists(
            strategies.sampled_from([0, 1, 0.5, 10**18, 1e18, 5e-324, 7.25]),
            max_size=70,
        ),
        strategies.sampled_from([1, 1000, 10**9]),
    )
    def test_any_numbers_over_time_are_shown(self, values, step_ms):
        plain = json.loads(SMALL)
        slots = plain['tiers'][0]['patterns'][0]['slots']
        whole = [int(value) for value in values]
        for slot in slots:
            slot['series'] = slot['bw_series'] = [
                [1000 * at, value] for at, value in enumerate(values)
            ]
            slot['latency'] = {
                'begin_ms': 0,
                'step_ms': step_ms,
                'ios': whole,
                'p99_ns': whole,
            }
            for guest in slot['guests']:
                guest['latency'] = slot['latency']
                guest['rates'] = {
                    'begin_ms': 0,
                    'step_ms': step_ms,
                    'iops': values,
                    'bw_bytes': whole[:1],
                }
        page = page_reader.Page(text_of(run_result.read(json.dumps(plain))))
        self.assertLess(3, len(page.pictures()))

    def test_numbers_over_time_that_cannot_be_drawn_are_refused(self):
        for place, wrong in (
            ('series', [[0, -1]]),
            ('bw_series', [[0, 10**400]]),
            (
                'latency',
                {'begin_ms': 0, 'step_ms': 0, 'ios': [], 'p99_ns': []},
            ),
            (
                'latency',
                {'begin_ms': 0, 'step_ms': 1, 'ios': [1], 'p99_ns': []},
            ),
            (
                'latency',
                {'begin_ms': 0, 'step_ms': 1, 'ios': [1], 'p99_ns': [-1]},
            ),
        ):
            plain = json.loads(SMALL)
            plain['tiers'][0]['patterns'][0]['slots'][0][place] = wrong
            self.assertRaises(
                record.RecordError, run_result.read, json.dumps(plain)
            )

    def test_a_long_label_of_any_characters_is_drawn(self):
        tiers = ['\U0001f5c4' * 40, '\U0001f5c4' * 41, '倉庫' * 20, 'x' * 99]
        page = page_reader.Page(
            text_of(runs.run(tiers=tiers, patterns=1, repeats=2))
        )
        svg = next(
            each[1]
            for each in page.pictures()
            if each[0].startswith('Bars of IOPS')
        )
        labels = [
            node.text
            for node in svg.iter(f'{page_reader.SVG}text')
            if '…' in node.text
        ]
        self.assertEqual(4, len(set(labels)), labels)


class SizeTestCase(testtools.TestCase):
    def test_a_large_run_has_less_than_2_mb(self):
        """One pattern of each kind takes at most its share of 16 patterns."""
        kinds = len(runs.KINDS)
        share = html.MOST_BYTES * kinds // 16
        text = html.page(
            report_content.report(
                {
                    '': runs.run(
                        tiers=runs.TIERS, patterns=kinds, repeats=9, guests=3
                    )
                },
                QUESTION,
            ),
            most_bytes=share,
        )
        self.assertLess(len(text.encode()), share)
        self.assertIn('<h3>Latencies</h3>', text)

    def test_a_page_that_is_too_large_says_what_it_leaves_out(self):
        content = report_content.report(
            {'': runs.run(tiers=('a',), patterns=1)}, QUESTION
        )
        text = html.page(content, most_bytes=1)
        page = page_reader.Page(text)
        self.assertEqual(1, len(page.pictures()))
        self.assertIn('IOPS over time, Fairness: each guest', text)


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
                    QUESTION,
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
            113.95, numbers(by_load['p99_ms_max 100']['IOPS']), 0
        )
        told = [
            alternative
            for alternative, _light, _dark in page.pictures()
            if alternative.startswith('Latency against the load, w, p99:')
        ]
        self.assertIn(
            'On fast, w: p99 within 100 ms up to 114 IOPS, and p99 rises'
            ' steeply beyond 140 IOPS',
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
                        QUESTION,
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
                    for alternative, _light, _dark in page.pictures()
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
                    report_content.report({'a.json': found}, QUESTION, {})
                )
            ).texts
        )
        self.assertIn('no step has a latency: fast: ', text)
        self.assertIn('expected at least 1000 I/Os', text)

    def test_a_result_without_steps_has_no_curve(self):
        self.assertIsNone(curves.curves(runs.run(), {}))
