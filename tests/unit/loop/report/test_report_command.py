# SPDX-License-Identifier: Apache-2.0

"""`openstack tier report`, run by the real shell on real result files."""

import math
import pathlib
import subprocess
import sys
import tempfile

import testtools

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.tune import history as histories
from cinder_tiers.loop.tune import tuning as tunings
from tests.unit.cli import shell
from tests.unit.loop.report import page_reader
from tests.unit.loop.report import printers
from tests.unit.loop.report import runs
from tests.unit.loop.sweep import test_effects_command

#: An interpreter in which a package cannot be imported.
WITHOUT = """
import sys
sys.modules[{missing!r}] = None
from tests.unit.cli import shell
ran = shell.openstack(*sys.argv[1:])
print(ran.stderr)
sys.exit(ran.status)
"""


class ReportCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / 'report.html'

    def file(self, name, **arguments):
        path = self.folder / name
        path.write_text(
            run_result.write(runs.run(patterns=1, repeats=3, **arguments))
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

    def sweep(self):
        return test_effects_command.SweepFolder(
            self.folder / 'out',
            {'osd_fast': 2, 'osd_slow': 0.5, 'osd_same': 1, '<b>': None},
        ).file

    def tuning(self, **changed):
        """The file of a tuning, with the folder of its only block."""
        sweep = pathlib.Path(self.sweep())
        folder = self.folder / 'tuned'
        folder.mkdir()
        sweep.parent.rename(folder / 'block-0001')

        def block(part, *gains):
            return histories.Taken(
                part=part,
                seconds=60.0,
                outcomes=tuple(
                    histories.CandidateOutcome(
                        candidate=candidate, gain=gain, broken=broken
                    )
                    for candidate, gain, broken in gains
                ),
            )

        history = histories.History(
            blocks=(
                block(
                    histories.BlockPurpose.SEARCH,
                    ((1, 0), math.log(2), ()),
                    ((2, 1), None, ()),
                    ((0, 1), 0.1, ('p99 of <b>',)),
                ),
                *(
                    block(
                        histories.BlockPurpose.CONFIRM,
                        ((1, 0), math.log(2) + noise, ()),
                    )
                    for noise in (0.01, -0.01, 0.0, 0.0)
                ),
            ),
            finalists=((1, 0),),
            planned=4,
        )
        path = folder / tunings.NAME
        path.write_text(
            tunings.write(
                tunings.Tuning(
                    **{
                        'identity': 'x',
                        'tier': 'general',
                        'goal': 'iops',
                        'budget_s': 3600.0,
                        'seed': 1,
                        'options': (
                            tunings.Option(
                                name='qos.front_end.<b>',
                                default='500',
                                values=('100', '200'),
                            ),
                            tunings.Option(
                                name='rbd.osd_options.b',
                                default='',
                                values=('1',),
                            ),
                        ),
                        'history': history,
                        **changed,
                    }
                )
            ),
            'utf-8',
        )
        return str(path)


class ReportTestCase(ReportCase):
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
        self.assertIn('one run each: cannot tell', ''.join(page.texts))

    def test_files_of_one_name_are_told_apart(self):
        (self.folder / 'b').mkdir()
        paths = [self.file('run.json'), self.file('b/run.json', seed=2)]
        self.assertEqual(0, self.report(*paths).status)
        page = page_reader.Page(self.output.read_text('utf-8'))
        for path in paths:
            self.assertIn(path, page.texts)

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
        self.assertEqual(2, ran.status)
        self.assertIn("'happiness': expected", ran.stderr)
        self.assertFalse(self.output.exists())

    def test_quantities_and_a_direction_alone(self):
        for words, expected in (
            (('--quantity', 'mean_ms'), 'mean, ms'),
            (
                ('--quantity', 'iops', '--direction', 'read'),
                'read IOPS',
            ),
        ):
            ran = self.report(self.file('run.json'), *words)
            self.assertEqual(0, ran.status, ran.stderr)
            page = page_reader.Page(self.output.read_text('utf-8'))
            self.assertEqual(
                {expected},
                {row['Quantity'] for row in page.table('Quantity', 'Finding')},
            )

    def test_the_extra_that_is_missing_is_named(self):
        for missing in ('altair', 'scipy'):
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
