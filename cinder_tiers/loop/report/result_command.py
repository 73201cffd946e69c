# SPDX-License-Identifier: Apache-2.0

"""`openstack tier result`: the figures of one run."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import results_command


class ShowResult(results_command.ResultsLister):
    """Show the figures of a result file of a benchmark run.

    A row for each tier and pattern: the geometric mean of its complete
    repeats with its 95 % interval, percentiles of all of them merged, and why
    to read them with care. A percentile of too few I/Os is a dash. Above the
    table is what can be claimed of the tiers; below it, with --catalog, which
    expectations of the tiers file the run kept, and each kind of caveat once.
    Reads only files and needs no credentials.
    """

    _epilog = """Exit status: 0 the figures are shown, and with --catalog every
expectation was kept that was measured; 4 an expectation is broken; 3 a pattern
has no complete repeat, or it cannot be told whether an expectation is kept; 1
an error occurred; 2 a wrong argument.

Example: openstack tier result run.json --catalog tiers.yaml
"""

    name = 'tier result'
    module = 'cinder_tiers.loop.report.result_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        parser.add_argument(
            'result',
            metavar='<result>',
            help='result file of a run, see the task argument result_folder',
        )
        base.add_catalog(
            parser, 'tiers file whose "expect" is judged (default: none is)'
        )
