# SPDX-License-Identifier: Apache-2.0

"""The page of a report: its figures, its size, and that text stays text."""

import base64
import dataclasses
import hashlib
import itertools
import re

import testtools

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import content as report_content
from cinder_tiers.loop.report import drawing
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import html
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
        self.assertEqual(1, text.count('measured once: a comparison needs 3'))
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
        _alternative, svg = next(
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
        for alternative, svg in self.page.pictures():
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

    def test_a_picture_has_the_colours_of_a_dark_page(self):
        for alternative, svg in self.page.pictures():
            (style,) = svg.iter(f'{page_reader.SVG}style')
            self.assertTrue(
                style.text.startswith('@media screen and (prefers-color'),
                alternative,
            )
            dark = dict(
                re.findall(
                    r'\[(?:fill|stroke)="(#\w+)"\]{\w+:(#\w+)}', style.text
                )
            )
            shown = {
                node.get(name)
                for node in svg.iter()
                for name in ('fill', 'stroke')
            }
            self.assertEqual('#e6e8eb', dark['#1b1f24'])
            # Of a claim, which is painted, the field stays as it is.
            self.assertLessEqual(
                shown - {None, 'none', 'transparent', *dark},
                {'#c5b8ff', '#ffb0b5', '#010101'},
                alternative,
            )

    def test_every_chart_is_told_in_words_and_as_a_table(self):
        for alternative, _svg in self.page.pictures():
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
            for each in ('src', 'href'):
                if each in attributes:
                    self.assertRegex(attributes[each], '^(#|data:image/svg)')


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
            for alternative, _svg in page.pictures()
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
                for alternative, _svg in page.pictures()
                if (found := re.match('Bars of IOPS, ([a-z]+):', alternative))
            ],
        )

    def test_steps_of_guests_are_told_apart(self):
        page = page_reader.Page(
            text_of(runs.run(tiers=('one',), patterns=1, steps=(1, 2, 4)))
        )
        (alternative, _svg) = page.pictures()[0]
        self.assertIn('1 guest', alternative)
        self.assertIn('4 guests', alternative)

    def test_the_steps_of_several_tiers_are_charts_of_their_own(self):
        page = page_reader.Page(
            text_of(runs.run(tiers=('one', 'other'), patterns=1, steps=(1, 4)))
        )
        self.assertEqual(
            ['randread-4k, 1 guest', 'randread-4k, 4 guests'],
            [
                found[1]
                for alternative, _svg in page.pictures()
                if (
                    found := re.match(
                        'Distribution of completion latencies, ([^:]+):',
                        alternative,
                    )
                )
            ],
        )

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
            for alternative, _svg in page_reader.Page(
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
