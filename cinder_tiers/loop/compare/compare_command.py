# SPDX-License-Identifier: Apache-2.0

"""`openstack tier compare`: what can be claimed of results side by side."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command


class CompareResults(results_command.ResultsLister):
    """Compare result files of benchmark runs.

    With one result, compares its tiers with one of them, within each repeat.
    With several, compares each of the others with the first, tier by tier;
    with --baseline, compares all results named as baseline with all others,
    and each run is one observation. Reports what else differed besides the
    storage, then what can be claimed: better, worse, no relevant difference,
    or that there are too few repeats to tell, and how many would be needed.
    All claims are corrected for multiple comparisons. Reads only files and
    needs no credentials.
    """

    _epilog = """Exit status: 0 nothing is worse; 4 something is worse; 3
something could not be compared, but nothing is worse; 1 an error occurred; 2 a
wrong argument.

Example: openstack tier compare before.json after.json --least-difference 5
"""

    name = 'tier compare'
    module = 'cinder_tiers.loop.compare.compare_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        results.add_files(parser)
        parser.add_argument(
            '--baseline',
            metavar='<result>',
            action='append',
            default=[],
            help=(
                'compare all other results together with this one (may be '
                'repeated; from two results on each side, each run is one '
                'observation)'
            ),
        )
        parser.add_argument(
            '--tier',
            metavar='<tier>[=<tier>]',
            action='append',
            default=[],
            dest='tiers',
            help=(
                'compare only this tier, with the tier after "=" of the other '
                'results if it has another name there (may be repeated)'
            ),
        )
        parser.add_argument(
            '--reference',
            metavar='<tier>',
            type=base.not_empty,
            help=(
                'with one result: the tier that the others are compared with '
                '(default: the first of the run)'
            ),
        )
        results.add_quantities(parser)
        results.add_least_difference(parser)
        results.add_wanted_difference(parser, 'repeats')
        parser.add_argument(
            '--junit',
            metavar='<file>',
            type=base.not_empty,
            help='also write the findings as JUnit XML, for a CI',
        )
