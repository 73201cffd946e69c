# SPDX-License-Identifier: Apache-2.0

"""`openstack tier report`, run by the real shell on real result files."""

import json
import math
import os
import pathlib
import stat
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
        self.assertIn('one run each: cannot tell', ''.join(page.texts))

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

    def sweep(self):
        return test_effects_command.SweepFolder(
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
                'Effects on IOPS, x, default 100: osd_fast '
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

    def test_no_result_of_a_slot_is_replaced(self):
        tuning = pathlib.Path(self.tuning())
        block = tuning.parent / 'block-0001'
        for path, output in (
            (tuning, block / 'slot-0001.json'),
            (tuning, block / 'sweep.json'),
            (block / 'sweep.json', block / 'slot-0002.json'),
        ):
            before = output.read_bytes()
            ran = shell.openstack(
                'tier', 'report', str(path), '-o', str(output)
            )
            self.assertEqual(1, ran.status)
            self.assertIn('is a file that is read', ran.stderr)
            self.assertEqual(before, output.read_bytes())

    def test_a_sweep_is_reported_alone(self):
        ran = self.report(self.file('run.json'), self.sweep())
        self.assertEqual(1, ran.status)
        self.assertIn('to be the only file', ran.stderr)
        self.assertFalse(self.output.exists())

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

    def test_a_tuning_has_its_search_and_its_confirmation(self):
        ran = self.report(self.tuning())
        self.assertEqual((0, '', ''), (ran.status, ran.stdout, ran.stderr))
        page = page_reader.Page(self.output.read_text('utf-8'))
        self.assertEqual(
            [('<b>=100', '100.0', 'proposed'), ('b=1', '-', 'ruled out')],
            [
                (row['Candidate'], row['Gain %'], row['Finding'])
                for row in page.table('Candidate', 'Finding')
            ][:2],
        )
        self.assertEqual(
            [('<b>=100', '100.0', '100.0'), ('<b>=200 b=1', '-', '100.0')],
            [
                (row['Candidate'], row['Gain %'], row['Best so far %'])
                for row in page.table('Measurement', 'Best so far %')
            ][:2],
        )
        confirmed, searched = (
            alternative for alternative, *_ in page.pictures()
        )
        self.assertIn('<b>=100 200, from 19', confirmed)
        self.assertIn('<b>=100 100 %', searched)
        self.assertIn('100, 200; in the tiers file: 500', page.texts)
        self.assertEqual([], page.left_open)
        self.assertNotIn('b', {name for name, _attributes in page.elements})

    def test_a_tuning_that_contradicts_itself_is_refused(self):
        path = pathlib.Path(self.tuning())
        value = json.loads(path.read_text('utf-8'))
        for change, said in (
            ({'goal': 'speed'}, "goal 'speed'"),
            ({'options': []}, 'not a candidate of this space'),
            ({'version': 2}, "version: found '2', expected 1"),
            ({'history': {}}, 'history.blocks: it is missing'),
        ):
            path.write_text(json.dumps({**value, **change}), 'utf-8')
            ran = self.report(str(path))
            self.assertEqual(1, ran.status, change)
            self.assertIn(said, ran.stderr)
        path.write_text(json.dumps(value), 'utf-8')
        (path.parent / 'block-0001').rename(path.parent / 'elsewhere')
        ran = self.report(str(path))
        self.assertEqual(1, ran.status)
        self.assertIn('no sound result of its blocks was found', ran.stderr)

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
