# SPDX-License-Identifier: Apache-2.0

"""`openstack tier report`, run by the real shell on real result files."""

import pathlib
import subprocess
import sys
import tempfile

import testtools

from rally_scenarios.bench.result import result as run_result
from tests.unit.cli import shell
from tests.unit.report import page_reader
from tests.unit.report import runs

#: An interpreter in which a package cannot be imported.
WITHOUT = """
import sys
sys.modules[{missing!r}] = None
from tests.unit.cli import shell
ran = shell.openstack(*sys.argv[1:])
print(ran.stderr)
sys.exit(ran.status)
"""


class ReportTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / 'report.html'

    def file(self, name, **arguments):
        path = self.folder / name
        path.write_text(
            run_result.write(runs.run(patterns=1, repeats=2, **arguments))
        )
        return str(path)

    def report(self, *arguments):
        return shell.openstack(
            'tier', 'report', *arguments, '-o', str(self.output)
        )

    def test_a_page_is_written(self):
        ran = self.report(
            self.file('before.json'),
            self.file('after.json', seed=2),
            '--quantity',
            'mean_ms',
        )
        self.assertEqual((0, '', ''), (ran.status, ran.stdout, ran.stderr))
        page = page_reader.Page(self.output.read_text('utf-8'))
        self.assertIn('before.json', page.texts)
        self.assertNotIn(str(self.folder), ''.join(page.texts))
        self.assertEqual(
            {'mean_ms (ms)'},
            {row['Quantity'] for row in page.table('Quantity', 'Finding')},
        )

    def test_files_of_one_name_are_told_apart(self):
        (self.folder / 'b').mkdir()
        paths = [self.file('run.json'), self.file('b/run.json', seed=2)]
        self.assertEqual(0, self.report(*paths).status)
        page = page_reader.Page(self.output.read_text('utf-8'))
        for path in paths:
            self.assertIn(path, page.texts)

    def test_what_cannot_be_read_or_written_is_told(self):
        ran = self.report(str(self.folder / 'none.json'))
        self.assertEqual(1, ran.status)
        self.assertIn('none.json', ran.stderr)
        self.output.mkdir()
        ran = self.report(self.file('run.json'))
        self.assertEqual(1, ran.status)
        self.assertIn('cannot write', ran.stderr)

    def test_a_quantity_that_there_is_not(self):
        ran = self.report(self.file('run.json'), '--quantity', 'happiness')
        self.assertEqual(1, ran.status)
        self.assertIn("quantity 'happiness'", ran.stderr)
        self.assertFalse(self.output.exists())

    def test_the_extra_that_is_missing_is_named(self):
        for missing in ('altair', 'vl_convert', 'jinja2', 'scipy'):
            ran = subprocess.run(
                [
                    *(sys.executable, '-c', WITHOUT.format(missing=missing)),
                    *('tier', 'report', self.file('run.json')),
                    *('-o', str(self.output)),
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual(1, ran.returncode, ran.stderr)
            self.assertIn('install cinder-tiers[report]', ran.stdout)
