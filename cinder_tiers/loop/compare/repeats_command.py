# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repeats`: how many a wanted difference needs."""

import argparse

from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.cli import values


class PlanRepeats(results_command.ResultsLister):
    """Estimate how many repeats or runs show a difference.

    Takes the noise from the repeats of an earlier run, to compare its tiers;
    from six runs of the same storage or more, to compare it with itself after
    a change; or from --variation. For each pattern and quantity, shows how
    many repeats, or runs of each side, would show the difference if there is
    one, and how long they would take. Corrects for multiple comparisons, as
    "tier compare" will do with the results. Reads only files and needs no
    credentials.
    """

    _epilog = """Exit status: 0 each number of repeats is known; 3 one is not,
such as that of a pattern with fewer than three repeats; 1 an error occurred; 2
a wrong argument.

Example: openstack tier repeats nightly/ --difference 10 --quantity iops
"""

    name = 'tier repeats'
    module = 'cinder_tiers.loop.compare.repeats_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        parser.add_argument(
            'results',
            metavar='<result>',
            nargs='*',
            help=(
                'result file of a former run of the task, with three repeats '
                'or more; between runs, six of them, or a folder; may be left '
                'out with --variation'
            ),
        )
        parser.add_argument(
            '--difference',
            metavar='<percent>',
            type=values.positive,
            default=10.0,
            help='the difference that the run should show (default: 10)',
        )
        results.add_least_difference(
            parser,
            ', as in "tier compare"; also says how many repeats show that '
            'there is none',
        )
        parser.add_argument(
            '--power',
            metavar='<probability>',
            type=values.power,
            default=0.8,
            help='probability of finding the difference if there is one '
            '(default: 0.8)',
        )
        parser.add_argument(
            '--between',
            choices=('tiers', 'runs'),
            help=(
                'compare tiers of one run, within each repeat, or each tier '
                'with itself in other runs (default: tiers if there is one '
                'result with several, else runs)'
            ),
        )
        parser.add_argument(
            '--reference',
            metavar='<tier>',
            help=(
                'between tiers: the one that the others are compared with '
                '(default: the first of the run)'
            ),
        )
        parser.add_argument(
            '--variation',
            metavar='<percent>',
            type=values.variation,
            help=(
                'standard deviation in percent of the mean, in place of that '
                'of the results: of runs, or between tiers of repeats, '
                'without what tiers have in common in a repeat'
            ),
        )
        parser.add_argument(
            '--claims',
            metavar='<number>',
            type=values.number_of_claims,
            default=1,
            help=(
                'with --variation: how many patterns and quantities are to be '
                'compared together (default: 1)'
            ),
        )
        results.add_quantities(parser)
