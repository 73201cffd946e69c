# SPDX-License-Identifier: Apache-2.0

"""`openstack tier report`: results as a page that can be shown."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command


class WriteReport(results_command.ResultsCommand):
    """Write a report of result files of benchmark runs.

    One HTML file that needs nothing else: charts, each with its table, what
    can be claimed of tiers or results side by side, why figures should be read
    with care, and what they were measured on. The page runs no script. With
    several results, each of the others is compared with the first. For the
    sweep.json of a sweep, shows what each treatment is worth, and for faults
    what the load did before, during and after them; for the tune.json of a
    tuning, what was searched and confirmed. Reads only files and needs no
    credentials.

    To a file whose name ends in .pdf, or with --type pdf, the same page is
    printed by a Chromium of this host, which reaches no network: that of
    $CINDER_TIERS_CHROMIUM, else one on $PATH. It leaves out the tables behind
    the charts, but for that of IOPS.
    """

    _epilog = """Exit status: 0 the report is written; 1 an error occurred; 2 a
wrong argument.

Examples: openstack tier report run.json -o report.html
  openstack tier report before.json after.json -o report.pdf
"""

    name = 'tier report'
    extra = 'report'
    module = 'cinder_tiers.loop.report.report_file'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        results.add_files(parser)
        parser.add_argument(
            '-o',
            '--output',
            metavar='<file>',
            type=base.not_empty,
            required=True,
            help='file to write; an existing file is replaced',
        )
        parser.add_argument(
            '--type',
            choices=('html', 'pdf'),
            help='format of the file (default: pdf if its name ends in '
            '.pdf, else html)',
        )
        results.add_quantities(parser)
        results.add_expectations(
            parser,
            'draw this limit of latency in load curves, such as p99_ms_max=50 '
            '(may be repeated)',
        )
        results.add_least_difference(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Reads, draws and writes.

        :raises base.CommandFailed: a file cannot be read or written, or
            what is asked for cannot be shown.
        """
        with base.user_errors():
            self.loaded().write(parsed_args)
