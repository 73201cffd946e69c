# SPDX-License-Identifier: Apache-2.0

"""A tuning in a report: what it searched, and what it confirmed."""

import json
import pathlib

from tests.unit.loop.report import page_reader
from tests.unit.loop.report import test_report_command


class TuningChartTestCase(test_report_command.ReportCase):
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
        self.assertIn(
            'general: <b>=100 is 100 % better in iops than the tiers file'
            ' (97.42 to 102.6 %)',
            page.texts,
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
