# SPDX-License-Identifier: Apache-2.0

"""`openstack tier headroom`: how many more volumes a tier takes."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.cli import values


class ShowHeadroom(results_command.ResultsLister):
    """Show how many more volumes a tier takes until an expectation breaks.

    Reads the load curve of the tier from result files of paced runs, such as
    those of the task curve.yaml; the IOPS limits of its volumes (what it has
    sold) from Cinder; and its present load (what it carries) from Ceph.
    Answers two different questions: how many volumes fit if every volume uses
    its limit at once (sold), and how many if the volumes go on as they do now
    (carried). A new volume counts with its limit. Shows the same up to the
    knee of the curve and up to 70 % of the most that the tier can do.
    Changes nothing.
    """

    _epilog = """Exit status: 0 there is room for one more volume before each
expectation, sold and carried; 4 for one of them there is none; 3 something
could not be determined, or nothing is expected, and there is room for the
rest; 1 an error occurred; 2
a wrong argument; 6 Cinder did not answer.

Example: openstack tier headroom database curve.json --expect p99_ms_max=50
"""

    name = 'tier headroom'
    module = 'cinder_tiers.loop.headroom.headroom_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        base.add_catalog(parser)
        parser.add_argument('tier', metavar='<tier>', help='name of the tier')
        results.add_files(parser)
        results.add_expectations(
            parser,
            'until this limit of latency breaks, such as p99_ms_max=50 (may '
            'be repeated; default: those that the tiers file expects of the '
            'tier for the pattern of the curve)',
        )
        base.add_names(
            parser,
            '--curve',
            '<pattern>',
            'only the curve of this pattern, such as randwrite-4k (may be '
            'repeated; default: all curves of the results)',
            dest='curves',
        )
        parser.add_argument(
            '--per-volume-iops',
            metavar='<iops>',
            type=values.positive,
            help=(
                'what a volume of the kind may do (default: the limit of the '
                "QoS spec of the tier's volume type, from Cinder)"
            ),
        )
        parser.add_argument(
            '--volumes',
            metavar='<number>',
            type=values.count,
            help=(
                'how many volumes the tier has sold, each with '
                '--per-volume-iops (default: those of its volume type, each '
                'with its own limit, from Cinder)'
            ),
        )
        parser.add_argument(
            '--load',
            metavar='<iops>',
            type=values.not_negative,
            help=(
                'what the tier carries now, of the direction of the curve '
                '(default: what clients do on its pools, from Ceph)'
            ),
        )
