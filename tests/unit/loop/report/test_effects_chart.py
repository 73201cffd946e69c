# SPDX-License-Identifier: Apache-2.0

"""A sweep in a report: the effects of its treatments."""

import json
import pathlib

from tests.unit.cli import shell
from tests.unit.loop.report import page_reader
from tests.unit.loop.report import test_report_command


class EffectsChartTestCase(test_report_command.ReportCase):
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
        alternative, light = page.pictures()[0]
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
        self.assertIn(
            '4k sequential reads: osd_fast does 2.00 times default (1.99 to'
            ' 2.0); osd_slow does 0.50 times default (0.50 to 0.50); cannot'
            ' tell osd_same and default apart (0.997 to 1.002 times)',
            page.texts,
        )
        # The blocks are the repeats.
        self.assertNotIn('one repeat', self.output.read_text('utf-8'))
        self.assertIn('all 16 slots: ', ''.join(page.texts))

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
