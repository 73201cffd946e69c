# SPDX-License-Identifier: Apache-2.0

"""`openstack tier report`, run by the real shell on real result files."""

import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

import testtools

from rally_scenarios.bench.result import result as run_result
from tests.unit.cli import shell
from tests.unit.cli import test_sweep_effects
from tests.unit.report import page_reader
from tests.unit.report import printers
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

    def report(self, *arguments, output=None, **environment):
        return shell.openstack(
            'tier',
            'report',
            *arguments,
            '-o',
            str(output or self.output),
            **environment,
        )

    def printer(self, text=printers.WHOLE):
        """The variable that names a program in Chromium's place."""
        return {'CINDER_TIERS_CHROMIUM': printers.program(self.folder, text)}

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
        self.assertIn('cannot be written', ran.stderr)

    def test_a_new_page_is_for_whom_the_umask_says(self):
        former = os.umask(0o027)
        self.addCleanup(os.umask, former)
        self.report(self.file('run.json'))
        self.assertEqual(0o640, stat.S_IMODE(self.output.stat().st_mode))

    def test_a_pdf_is_the_page_printed(self):
        run = self.file('run.json')
        self.report(run)
        page = self.output.read_text('utf-8')
        for name, arguments in (
            ('report.pdf', ()),
            ('REPORT.PDF', ()),
            ('report', ('--type', 'pdf')),
        ):
            output = self.folder / name
            ran = self.report(run, *arguments, output=output, **self.printer())
            self.assertEqual((0, '', ''), (ran.status, ran.stdout, ran.stderr))
            printed = output.read_text('utf-8')
            self.assertTrue(printed.startswith('%PDF-'), name)
            self.assertIn(page, printed)
        output = self.folder / 'page.pdf'
        self.report(run, '--type', 'html', output=output)
        self.assertEqual(page, output.read_text('utf-8'))

    def test_a_failed_print_leaves_the_file_as_it_was(self):
        output = self.folder / 'report.pdf'
        output.write_text('before')
        ran = self.report(
            self.file('run.json'),
            output=output,
            **self.printer(printers.HALF),
        )
        self.assertEqual(1, ran.status)
        self.assertIn('printed no PDF', ran.stderr)
        # What the program says cannot steer the terminal.
        self.assertIn('No usable \\x1b[31msandbox!', ran.stderr)
        self.assertEqual('before', output.read_text())

    def test_the_chromium_that_is_missing_is_named(self):
        output = self.folder / 'report.pdf'
        # No result is read before: there is none.
        for environment, text in (
            ({'PATH': str(self.folder)}, 'install the package chromium'),
            ({'CINDER_TIERS_CHROMIUM': 'nonesuch'}, "no program 'nonesuch'"),
        ):
            ran = self.report('none.json', output=output, **environment)
            self.assertEqual(1, ran.status)
            self.assertIn(text, ran.stderr)
            self.assertIn('CINDER_TIERS_CHROMIUM', ran.stderr)
        self.assertFalse(output.exists())

    def test_a_quantity_that_there_is_not(self):
        ran = self.report(self.file('run.json'), '--quantity', 'happiness')
        self.assertEqual(1, ran.status)
        self.assertIn("quantity 'happiness'", ran.stderr)
        self.assertFalse(self.output.exists())

    def test_a_direction_alone(self):
        ran = self.report(
            self.file('before.json'),
            self.file('after.json', seed=2),
            *('--quantity', 'iops', '--direction', 'read'),
        )
        self.assertEqual(0, ran.status, ran.stderr)
        page = page_reader.Page(self.output.read_text('utf-8'))
        self.assertEqual(
            {'read_iops (IOPS)'},
            {row['Quantity'] for row in page.table('Quantity', 'Finding')},
        )

    def sweep(self):
        return test_sweep_effects.SweepFolder(
            self.folder / 'out',
            {'osd_fast': 2, 'osd_slow': 0.5, 'osd_same': 1, '<b>': None},
        ).file

    def test_a_sweep_has_the_effects_of_tier_effects(self):
        path = self.sweep()
        ran = self.report(path)
        self.assertEqual((0, '', ''), (ran.status, ran.stdout, ran.stderr))
        page = page_reader.Page(self.output.read_text('utf-8'))
        told = json.loads(
            shell.openstack('tier', 'effects', path, '-f', 'json').stdout
        )
        iops = [one for one in told if one['Quantity'] in ('iops', '-')]
        self.assertEqual(
            [
                (
                    one['Treatment'],
                    '-'
                    if one['Effect']['effect'] is None
                    else f'{one["Effect"]["effect"]:.1f}',
                    one['Finding'],
                )
                for one in iops
            ],
            [
                (row['Treatment'], row['Effect'], row['Finding'])
                for row in page.table('Treatment', 'Effect')
            ],
        )
        self.assertEqual('not in effect', iops[-1]['Finding'])
        alternative, light, _dark = page.pictures()[0]
        self.assertTrue(
            alternative.startswith(
                'Effects on iops, x, default 100: osd_fast '
            ),
            alternative,
        )
        self.assertIn('<b> not in effect', alternative)
        for label in ('default', 'osd_fast', 'osd_slow', 'osd_same'):
            self.assertIn(label, ''.join(light.itertext()))
        # The line of the default, which no other chart of bars has.
        self.assertEqual(
            1, sum('stroke-dasharray' in node.attrib for node in light.iter())
        )
        self.assertEqual([], page.left_open)
        self.assertNotIn('b', {name for name, _attributes in page.elements})
        self.assertIn('osd_fast 1', ''.join(page.texts))

    def test_a_sweep_is_reported_alone(self):
        ran = self.report(self.file('run.json'), self.sweep())
        self.assertEqual(1, ran.status)
        self.assertIn('no other file beside it', ran.stderr)
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
