# SPDX-License-Identifier: Apache-2.0

"""``rally task export --type cinder-tiers-html``: results as a page.

Adapter: iterations name their result files, and ``cinder_tiers.loop.report``
makes the page of them, which is that of ``openstack tier report``.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import os
import pathlib

from rally.task import exporter

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins.results import reference
from rally_scenarios.plugins import servers


def _outputs(task: Mapping) -> Iterator[list]:
    """The complete outputs of each iteration that has a result file."""
    for subtask in task['subtasks']:
        for workload in subtask['workloads']:
            for iteration in workload['data']:
                complete = iteration['output']['complete']
                if any(
                    each['title'] == tables.RESULT_TABLE_TITLE
                    for each in complete
                ):
                    yield complete


@exporter.configure('cinder-tiers-html')
class ReportExporter(exporter.TaskExporter):
    """Writes the report of all fleets of tasks as one HTML file.

    It reads their result files, so it must run where the task ran. Needs the
    extra "report" of cinder-tiers.
    """

    def generate(self) -> dict[str, object]:
        """The page, as Rally takes it.

        :returns: the file and its content, or the content to print
        :raises servers.FleetError: no iteration has a result, a file is gone,
            or the extra is not installed
        """
        # Rally imports all plugins; most of its hosts need no charts.
        try:
            from cinder_tiers.loop.compare import comparison
            from cinder_tiers.loop.report import content
            from cinder_tiers.loop.report import html
        except ImportError as error:
            raise servers.FleetError(
                f'cinder-tiers-html needs the extra "report" of cinder-tiers:'
                f' {error}; install cinder-tiers[report]'
            ) from error
        results: dict[str, run_result.RunResult] = {}
        for task in self.tasks_results:
            for outputs in _outputs(task):
                found = reference.result(outputs)
                results[f'run {found.run}'] = found
        if not results:
            raise servers.FleetError(
                'no iteration of these tasks names a result file: expected a'
                ' task of CinderTiers.fleet_fio that ended'
            )
        text = html.page(content.report(results, comparison.Question()))
        if not self.output_destination:
            return {'print': text}
        path = pathlib.Path(
            os.path.expanduser(self.output_destination)
        ).absolute()
        return {'files': {str(path): text}, 'open': path.as_uri()}
