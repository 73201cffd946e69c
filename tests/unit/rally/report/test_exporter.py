# SPDX-License-Identifier: Apache-2.0

"""Rally's export of result files as a page."""

import pathlib
import tempfile

from rally.task import exporter
import testtools

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.report import exporter as report_exporter
from rally_scenarios.plugins.results import reference
from rally_scenarios.plugins import servers
from tests.unit.loop.report import page_reader
from tests.unit.loop.report import runs


def task(*outputs):
    """A task of one workload, as Rally gives it to exporters."""
    return {
        'subtasks': [
            {
                'workloads': [
                    {
                        'data': [
                            {'output': {'additive': [], 'complete': each}}
                            for each in outputs
                        ]
                    }
                ]
            }
        ]
    }


class ExporterTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def output(self, seed):
        result = runs.run(tiers=('a',), patterns=1, repeats=1, seed=seed)
        path = self.folder / f'{seed}.json'
        path.write_text(run_result.write(result))
        return [reference.output(path, result.run)]

    def test_all_iterations_are_on_one_page(self):
        found = exporter.TaskExporter.get('cinder-tiers-html')
        self.assertIs(report_exporter.ReportExporter, found)
        path = self.folder / 'report.html'
        made = found(
            [task(self.output(1), []), task(self.output(2))], str(path)
        ).generate()
        self.assertEqual(path.as_uri(), made['open'])
        page = page_reader.Page(made['files'][str(path)])
        for seed in (1, 2):
            self.assertIn(f'run {seed:016x}', page.texts)

    def test_without_a_destination_the_page_is_printed(self):
        made = report_exporter.ReportExporter(
            [task(self.output(1))], None
        ).generate()
        self.assertIn('<!DOCTYPE html>', made['print'])

    def test_tasks_without_results_are_told(self):
        error = self.assertRaises(
            servers.FleetError,
            report_exporter.ReportExporter([task([])], None).generate,
        )
        self.assertIn('names a result file', str(error))
