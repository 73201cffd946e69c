# SPDX-License-Identifier: Apache-2.0

"""The matrix of Cinder releases: its cells, its reasons, its table."""

import csv
import json
import pathlib
import re
import subprocess
import sys

import fixtures
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDER = TOP / 'tests' / 'cinder_releases'
TABLE = TOP / 'doc' / 'source' / 'admin' / 'cinder-releases.csv'
PROGRAM = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
import matrix
matrix.RESULTS = pathlib.Path(sys.argv[2])
"""


def run(code, *arguments):
    """Run code with the module, in a process of its own; its output."""
    return subprocess.run(
        [sys.executable, '-c', PROGRAM + code, str(FOLDER), *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


class MatrixTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def rows(self, **found):
        """The rows of the table, by cell, of what came of some."""
        for name, one in found.items():
            path = self.folder / f'{name.replace("_", "-")}.json'
            path.write_text(json.dumps({'day': '2026-11-24', **one}))
        table = self.folder / 'table.csv'
        run(
            'matrix.write_table(pathlib.Path(sys.argv[3]))',
            str(self.folder),
            str(table),
        )
        with table.open(newline='') as stream:
            return list(csv.DictReader(stream))

    def test_a_cell_that_was_not_run_is_not_said_to_pass(self):
        rows = self.rows()
        self.assertEqual(20, len(rows))
        for row in rows:
            self.assertEqual(
                {'not run'},
                set(row.values()) - {row['Cinder'], row['Python']},
            )

    def test_what_passed_failed_and_cannot_be(self):
        part = {'passed': 7, 'failed': 0, 'skipped': 1}
        first, second, *_ = self.rows(
            cinder26_py311={
                'cinder': '26.0.0',
                'python': '3.11.7',
                'parts': {
                    'unit tests': part,
                    'green threads': {**part, 'failed': 2},
                    'native threads': {'refused': 'not in this Cinder'},
                },
            },
            cinder26_py312={
                'cinder': '26',
                'python': '3.12',
                'refused': 'does not build',
                'parts': {},
            },
        )
        self.assertEqual('26.0.0', first['Cinder'])
        self.assertEqual('3.11.7', first['Python'])
        self.assertEqual('7', first['unit tests'])
        self.assertEqual('2 of 9 failed', first['green threads'])
        self.assertEqual('not in this Cinder', first['native threads'])
        self.assertEqual('not run', first['MariaDB'])
        self.assertEqual('does not build', second['unit tests'])

    def test_a_cell_keeps_what_another_machine_has_found(self):
        part = {'passed': 7, 'failed': 0, 'skipped': 0}
        found = {'cinder': '26.0.0', 'python': '3.11.7'}
        self.rows(cinder26_py311={**found, 'parts': {'unit tests': part}})
        (self.folder / 'cinder26-py311.json').unlink()
        first, second, *_ = self.rows(
            cinder26_py312={**found, 'parts': {'MariaDB': part}}
        )
        self.assertEqual(
            ('26.0.0', '7', 'not run', '2026-11-24'),
            tuple(
                first[name]
                for name in ('Cinder', 'unit tests', 'MariaDB', 'Day')
            ),
        )
        self.assertEqual('7', second['MariaDB'])
        (self.folder / 'table.csv').write_text('Cinder,Python\n26,3.11\n')
        (self.folder / 'cinder26-py312.json').unlink()
        for row in self.rows():
            self.assertEqual('not run', row['MariaDB'])

    def test_the_reason_is_what_says_why(self):
        said = run(
            'print(matrix.reason_of(sys.argv[3]))',
            str(self.folder),
            'collecting\nerror: no wheel for this Python\ngood bye\n',
        )
        self.assertEqual('error: no wheel for this Python\n', said)

    def test_an_unknown_cell_is_refused(self):
        done = subprocess.run(
            [sys.executable, str(FOLDER / 'matrix.py'), 'cinder25-py311'],
            capture_output=True,
            text=True,
        )
        self.assertEqual(2, done.returncode)
        self.assertIn('cinder25-py311', done.stderr)

    def test_each_release_has_pins_of_its_own_cinder(self):
        cells = run('print(*matrix.CELLS)', str(self.folder)).split()
        releases = {re.search(r'cinder(\w+)-', cell)[1] for cell in cells}
        for release in releases - {'newest'}:
            text = (FOLDER / f'cinder-{release}.txt').read_text()
            self.assertRegex(text, rf'(?m)^cinder=={release}\.')

    def test_the_table_of_the_documentation_has_each_cell(self):
        with TABLE.open(newline='') as stream:
            found = list(csv.DictReader(stream))
        self.assertEqual(list(self.rows()[0]), list(found[0]))
        self.assertEqual(20, len(found))
