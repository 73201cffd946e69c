# SPDX-License-Identifier: Apache-2.0

"""`openstack tier compare`: what can be claimed of results side by side."""

import argparse

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command


class CompareResults(results_command.ResultsLister):
    """Compare result files of benchmark runs.

    With one result, compares its tiers with one of them, within each repeat.
    With several results or folders of results, compares each of the others
    with the first, tier by tier; with --baseline, compares all results named
    as baseline with all others. Each run is one observation: name a folder
    with three runs or more for each side, or give a --history of 17 runs.
    Reports what else differed besides the storage, then what can be claimed:
    first of the geometric mean of all patterns, then of each. All claims and
    intervals are corrected for multiple comparisons. Reads only files and
    needs no credentials.
    """

    _epilog = """Exit status: 0 between runs, everything is shown to be no
worse than --least-difference; between tiers of one run, nothing is worse; 4
something is worse; 3 between runs, something is not shown to be either;
between tiers, nothing can be told, or something cannot be compared, and
nothing is worse; 1 an error occurred; 2 a wrong argument.

Example: openstack tier compare before/ after/ --least-difference 5
"""

    name = 'tier compare'
    module = 'cinder_tiers.loop.compare.compare_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        results.add_files(
            parser,
            'result file of a run, see the task argument result_folder; or a '
            'folder of them, which are one side',
        )
        parser.add_argument(
            '--baseline',
            metavar='<result>',
            action='append',
            default=[],
            help=(
                'compare all other results together with this one, or with '
                'those in this folder (may be repeated)'
            ),
        )
        parser.add_argument(
            '--history',
            metavar='<result>',
            action='append',
            default=[],
            help=(
                'a former result of the first storage, or a folder of them, '
                'which shows how much runs vary (may be repeated)'
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
        base.add_name(
            parser,
            '--reference',
            '<tier>',
            'with one result: the tier that the others are compared with '
            '(default: the first of the run)',
        )
        results.add_quantities(parser)
        results.add_least_difference(parser)
        results.add_wanted_difference(parser, 'runs or repeats')
        base.add_name(
            parser,
            '--junit',
            '<file>',
            'also write the findings as JUnit XML, for a CI',
        )
