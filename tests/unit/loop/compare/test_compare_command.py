# SPDX-License-Identifier: Apache-2.0

"""`openstack tier compare`, run by the real shell on real result files."""

import csv
import dataclasses
import hashlib
import json
import pathlib
import tempfile
from xml.etree import ElementTree

import testtools

from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import shell
from tests.unit.figures import results
from tests.unit.loop.compare import test_comparison

MANY_MS = (1,) * 1990 + (5,) * 10


class CompareTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, **iops_of_tiers):
        """The result file of another run for each name."""
        run = results.run(
            {
                tier: {
                    'x': [
                        results.slot([each], clat_ms=MANY_MS) for each in iops
                    ]
                }
                for tier, iops in iops_of_tiers.items()
            }
        )
        return self.write(name, run)

    def side(self, name, *iops, run=None):
        """A folder with three results of one storage."""
        (self.folder / name).mkdir()
        for share in (1, 1.01, 0.99):
            path = f'{name}/{share}.json'
            if run is None:
                self.file(path, general=[share * each for each in iops])
            else:
                self.write(path, run)
        return str(self.folder / name)

    def write(self, name, run):
        nonce = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
        path = self.folder / name
        path.write_text(
            run_result.write(dataclasses.replace(run, run=nonce[:16]))
        )
        return str(path)

    def compare(self, *arguments):
        return shell.openstack('tier', 'compare', *arguments)

    def findings(self, ran):
        return [
            (row['Tier'], row['Quantity'], row['Finding'])
            for row in json.loads(ran.stdout)
        ]

    def test_a_worse_result_has_a_status_of_its_own(self):
        before = self.side('before', 100, 101, 99)
        after = self.side('after', 50, 51, 49)
        ran = self.compare(before, after, '-f', 'json')
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertEqual(
            [
                ('general', 'iops', 'worse'),
                ('general', 'p99_ms', 'cannot tell'),
            ],
            self.findings(ran),
        )
        change = json.loads(ran.stdout)[0]['Difference']
        self.assertAlmostEqual(-50, change['percent'], delta=0.5)
        self.assertLess(change['low_percent'], change['high_percent'])
        # Of p99, nothing is shown without a least relevant difference.
        for words, expected in (
            ((), 3),
            (('--quantity', 'iops'), 0),
            (('--least-difference', '5'), 0),
        ):
            self.assertEqual(
                expected, self.compare(after, before, *words).status
            )

    def test_one_run_each_is_never_green(self):
        before = self.file('before.json', general=(100, 101, 99))
        for name, iops in (('slow', 50), ('same', 100), ('fast', 200)):
            after = self.file(f'{name}.json', general=(iops, iops + 1))
            ran = self.compare(before, after, '--least-difference', '90')
            self.assertEqual(3, ran.status, ran.stderr)
            # Once, and not in each row.
            self.assertEqual(1, ran.stderr.count('one run each: cannot tell'))
            for line in ran.stdout.splitlines():
                self.assertLessEqual(len(line), 120)

    def test_a_history_shows_how_much_runs_vary(self):
        (self.folder / 'past').mkdir()
        for iops in range(92, 109):
            self.file(f'past/{iops}.json', general=(iops, iops))
        before = self.file('before.json', general=(100, 101))
        for name, iops, expected in (('a', 50, 4), ('b', 100, 0)):
            after = self.file(f'{name}.json', general=(iops, iops + 1))
            ran = self.compare(
                *(before, after, '--history', str(self.folder / 'past')),
                *('--least-difference', '30'),
            )
            self.assertEqual(expected, ran.status, ran.stdout)

    def test_a_folder_is_one_side(self):
        before = self.side('before', 100, 101)
        ran = self.compare(before)
        self.assertEqual(2, ran.status)
        self.assertIn('holds 3 results: expected two sides', ran.stderr)
        (self.folder / 'empty').mkdir()
        ran = self.compare(before, str(self.folder / 'empty'))
        self.assertEqual(1, ran.status)
        self.assertIn('found no file *.json', ran.stderr)
        self.assertEqual(1, self.compare(before, before).status)

    def test_reads_and_writes_of_a_mix_apart(self):
        paths = [
            self.side(name, run=test_comparison.mix((100, 101, 99), writes))
            for name, writes in (('a', (200, 202, 198)), ('b', (100, 101, 99)))
        ]
        both = ('--direction', 'read', '--direction', 'write')
        for words in (
            ('--quantity', 'iops', *both),
            ('--quantity', 'read_iops', '--quantity', 'write_iops'),
        ):
            ran = self.compare(*paths, *words, '-f', 'json')
            self.assertEqual(4, ran.status, ran.stderr)
            self.assertEqual(
                [
                    ('general', 'read_iops', 'cannot tell'),
                    ('general', 'write_iops', 'worse'),
                ],
                self.findings(ran),
            )
        self.assertEqual(2, self.compare(*paths, '--direction', 'up').status)

    def test_people_see_the_interval_and_what_it_would_take(self):
        before = self.side('before', 100, 110, 90)
        after = self.side('after', 103, 92, 112)
        ran = self.compare(
            before, after, '--quantity', 'iops', '--max-width', '200'
        )
        self.assertEqual(3, ran.status)
        self.assertRegex(ran.stdout, r'[+-]\d\.\d % \([+-]\d+\.\d to')
        self.assertIn('reason 1: to see 10 %', ran.stderr)

    def test_a_result_without_a_complete_repeat_is_no_success(self):
        before = self.file('before.json', general=(100, 101, 99))
        lost = self.write(
            'lost.json', test_comparison.one_tier(100, 100, without=1)
        )
        ran = self.compare(before, lost, '-f', 'json')
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertEqual(
            {'not compared'},
            {row['Finding'] for row in json.loads(ran.stdout)},
        )

    def test_the_tiers_of_one_result(self):
        run = self.file(
            'run.json', general=(100, 101, 99), gold=(200, 203, 197)
        )
        ran = self.compare(run, '--quantity', 'iops', '-f', 'json')
        self.assertEqual(
            [('gold against general', 'iops', 'better')], self.findings(ran)
        )
        self.assertIn('general in each repeat', ran.stderr)
        ran = self.compare(
            run, '--reference', 'gold', '--quantity', 'iops', '-f', 'json'
        )
        self.assertEqual(4, ran.status)
        self.assertEqual(1, self.compare(run, '--reference', 'x').status)
        ran = self.compare(run, '--tier', 'gold')
        self.assertEqual(2, ran.status)
        self.assertIn('--tier is for several results', ran.stderr)

    def test_several_results_have_a_column_of_their_own(self):
        paths = [
            self.file(f'{name}.json', general=(100, 101, 99)) for name in 'abc'
        ]
        ran = self.compare(*paths, '-f', 'json')
        self.assertEqual(
            {paths[1], paths[2]},
            {row['Result'] for row in json.loads(ran.stdout)},
        )

    def test_copies_of_a_run_are_refused_with_their_paths(self):
        first, second = (
            self.file(f'{name}.json', general=(100, 101)) for name in 'ab'
        )
        copy = self.folder / 'copy.json'
        copy.write_bytes((self.folder / 'a.json').read_bytes())
        ran = self.compare(second, str(copy), '--baseline', first)
        self.assertEqual(1, ran.status)
        self.assertIn(f'{first}, {copy}: are results of the same', ran.stderr)
        self.assertIn('name one of these files', ran.stderr)

    def test_runs_of_both_sides(self):
        before = [
            self.file(f'before{each}.json', general=(each, each + 1))
            for each in (100, 150, 80)
        ]
        after = [
            self.file(f'after{each}.json', gold=(each, each + 1))
            for each in (1200, 900, 1600)
        ]
        baseline = [word for path in before for word in ('--baseline', path)]
        ran = self.compare(
            *after, *baseline, '--tier', 'general=gold', '-f', 'json'
        )
        self.assertIn(
            ('gold against general', 'iops', 'better'), self.findings(ran)
        )
        (first, _p99) = json.loads(ran.stdout)
        self.assertEqual(3, first['Difference']['repeats'])
        self.assertNotIn('one run on', ran.stderr)

    def test_junit(self):
        before = self.side('before', 100, 101, 99)
        after = self.side('after', 50, 51, 49)
        path = self.folder / 'junit.xml'
        self.compare(before, after, '--junit', str(path))
        (failure,) = ElementTree.parse(path).getroot().iter('failure')
        self.assertIn('worse', failure.get('message'))
        ran = self.compare(
            before, after, '--junit', str(self.folder / 'no' / 'such')
        )
        self.assertEqual(1, ran.status)
        self.assertIn('cannot write', ran.stderr)

    def test_junit_shows_no_text_that_turns_round(self):
        tier = 'gen\u202eeral\x85'
        before = self.file('before.json', **{tier: (100, 101, 99)})
        after = self.file('after.json', **{tier: (50, 51, 49)})
        path = self.folder / 'junit.xml'
        self.compare(before, after, '--junit', str(path))
        text = path.read_text('utf-8')
        self.assertIn('gen\\u202eeral', text)
        self.assertNotIn('\u202e', text)
        self.assertNotIn('\x85', text)

    def test_a_result_is_never_replaced_by_what_is_made_of_it(self):
        before = self.file('before.json', general=(100, 101, 99))
        after = self.file('after.json', general=(50, 51, 49))
        link = self.folder / 'link.json'
        link.symlink_to(after)
        text = pathlib.Path(after).read_text()
        for output in (after, str(link), f'{self.folder}/./after.json'):
            ran = self.compare(before, after, '--junit', output)
            self.assertEqual(1, ran.status)
            self.assertIn('is a file that is read', ran.stderr)
            ran = shell.openstack(
                'tier', 'report', before, after, '-o', output
            )
            self.assertEqual(1, ran.status)
            self.assertIn('is a file that is read', ran.stderr)
        self.assertEqual(text, pathlib.Path(after).read_text())

    def test_a_number_that_nothing_can_be_computed_with_is_named(self):
        good = self.file('good.json', general=(1, 2))
        document = json.loads(pathlib.Path(good).read_text())
        (pattern,) = document['tiers'][0]['patterns']
        pattern['slots'][0]['merged']['clat']['bins'][0] = [10**400, 5]
        bad = self.folder / 'bad.json'
        bad.write_text(json.dumps(document))
        ran = self.compare(good, str(bad))
        self.assertEqual(1, ran.status)
        self.assertIn(
            'bad.json: tiers[0].patterns[0].slots[0].merged.clat.bins[0][0]',
            ran.stderr,
        )
        self.assertIn('expected an integer below 10^100', ran.stderr)

    def test_a_file_that_is_no_result_is_named(self):
        good = self.file('good.json', general=(1, 1))
        bad = self.folder / 'bad.json'
        for text, said in (
            ('{"version": 99}', 'reads version 7'),
            ('[', 'expected the whole result file of a run: name another'),
            ('', 'expected the whole result file of a run: name another'),
            ('[]', 'name the result file of a run'),
            ('{"version": 7, "run": 5, "\\u001b[2J": 1}', 'missing'),
        ):
            bad.write_text(text)
            ran = self.compare(good, str(bad))
            self.assertEqual(1, ran.status)
            self.assertIn('bad.json', ran.stderr)
            self.assertIn(said, ran.stderr)
            self.assertNotIn('\x1b', ran.stderr)
        ran = self.compare(good, str(self.folder / 'missing.json'))
        self.assertIn('cannot read', ran.stderr)
        # It has no end.
        ran = self.compare(good, '/dev/zero')
        self.assertEqual(1, ran.status)
        self.assertIn(
            'cannot read /dev/zero: a character device, not a file', ran.stderr
        )
        with open(bad, 'wb') as sparse:
            sparse.truncate(513 * 1024**2)
        ran = self.compare(good, str(bad))
        self.assertEqual(1, ran.status)
        self.assertIn('more than 512 MiB', ran.stderr)

    def test_hostile_names_do_not_steer_the_terminal(self):
        path = self.folder / 'hostile.json'
        run = results.run(
            {
                name: {'x': [results.slot([1.0], clat_ms=MANY_MS)] * 2}
                for name in ('\x1b[2Ja', 'b\u202e\n')
            }
        )
        path.write_text(run_result.write(run))
        for arguments in ((), ('-f', 'json'), ('-f', 'value')):
            ran = self.compare(str(path), *arguments)
            for text in (ran.stdout, ran.stderr):
                self.assertNotIn('\x1b', text)
                self.assertNotIn('\u202e', text)

    def test_csv_has_numbers_and_the_text_of_the_table(self):
        before = self.side('before', 100, 102, 98, 100)
        after = self.side('after', 80, 81, 79, 80)
        ran = self.compare(
            *(before, after, '--quantity', 'iops', '-f', 'csv'),
            *('-c', 'Baseline', '-c', 'Difference', '-c', 'Finding'),
        )
        _, row = csv.reader(ran.stdout.splitlines())
        self.assertAlmostEqual(100, float(row[0]), 1)
        self.assertRegex(row[1], r'^-20\.0 % \(-[0-9.]+ to -[0-9.]+\)$')
        self.assertEqual('worse', row[2])

    def test_wrong_arguments(self):
        good = self.file('good.json', general=(1, 1))
        for option, value in (
            ('--quantity', 'speed'),
            ('--least-difference', 'nan'),
            ('--wanted-difference', '0'),
        ):
            ran = self.compare(good, good, option, value)
            self.assertEqual(2, ran.status)
            self.assertIn(f'{value!r}: expected', ran.stderr)
        ran = self.compare(
            *(good, self.file('other.json', general=(1, 1))),
            *('--tier', 'general=general', '--tier', 'general'),
        )
        self.assertEqual(2, ran.status)
        self.assertIn('--tier names general twice', ran.stderr)
        other = self.file('third.json', general=(1, 1))
        for arguments, said in (
            ((good, '--tier', 'general'), '--tier is for several results'),
            ((good, other, '--reference', 'general'), '--reference is for'),
            ((good, other, '--tier', 'general='), "--tier 'general='"),
            ((good, other, '--tier', '=general'), "--tier '=general'"),
        ):
            ran = self.compare(*arguments)
            self.assertEqual(2, ran.status)
            self.assertIn(said, ran.stderr)
        ran = self.compare(good, good)
        self.assertEqual(1, ran.status)
        self.assertIn('the same file', ran.stderr)
