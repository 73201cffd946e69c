# SPDX-License-Identifier: Apache-2.0

"""Result files of earlier versions, which the real shell reads today.

``tests/cases/results`` has some as the code of their day wrote them, of guests
that ran fio 3.33; a field that today's reader requires and they lack fails
here.
"""

import json
import pathlib

import ddt
import fixtures
import testtools

from tests.unit.cli import shell

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'cases' / 'results'
FILES = sorted(path.name for path in FOLDER.glob('*.json'))


@ddt.ddt
class ResultsOfBeforeTestCase(testtools.TestCase):
    def test_there_is_one(self):
        self.assertIn('written-2026-11-26.json', FILES)

    @ddt.data(*FILES)
    def test_figures_are_those_that_the_file_has(self, name):
        written = json.loads((FOLDER / name).read_text())
        ran = shell.openstack(
            'tier', 'result', str(FOLDER / name), '-f', 'json'
        )
        self.assertIn(ran.status, (0, 3), ran.stderr)
        self.assertEqual(
            [
                (
                    tier['tier'],
                    pattern['pattern'],
                    round(pattern['iops']['mean'], 6),
                )
                for tier in written['tiers']
                for pattern in tier['patterns']
            ],
            [
                (row['Tier'], row['Pattern'], round(row['IOPS']['mean'], 6))
                for row in json.loads(ran.stdout)
            ],
        )

    @ddt.data(*FILES)
    def test_a_report_is_made_of_it(self, name):
        page = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'r.html')
        ran = shell.openstack(
            'tier', 'report', str(FOLDER / name), '-o', str(page)
        )
        self.assertEqual(0, ran.status, ran.stderr)
        text = page.read_text()
        written = json.loads((FOLDER / name).read_text())
        self.assertIn(written['run'], text)
        # Its guests have their values over time, as all had then.
        self.assertIn('Guests over time', text)

    def test_one_of_another_version_says_what_to_do(self):
        value = json.loads((FOLDER / FILES[0]).read_text())
        value['version'] -= 1
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'r.json')
        path.write_text(json.dumps(value))
        for words in (('result',), ('report', '-o', f'{path}.html')):
            ran = shell.openstack('tier', *words, str(path))
            self.assertEqual((1, ''), (ran.status, ran.stdout))
            self.assertIn(
                'read it with the cinder-tiers that wrote it, or measure'
                ' again',
                ran.stderr,
            )
