# SPDX-License-Identifier: Apache-2.0

"""`openstack tier effects`: what each treatment of a sweep is worth."""

import argparse

from cinder_tiers.cli import results
from cinder_tiers.cli import results_command


class ShowEffects(results_command.ResultsLister):
    """Show what each treatment of a sweep is worth.

    Compares each treatment with the default of the same block, in the results
    that a sweep left beside its sweep.json. An effect is a ratio of which the
    default is 100, with its 95 % interval. Says what can be claimed of it:
    better, worse, no relevant difference, or that the blocks are too few to
    determine it, and how many would be needed. A treatment that was not in
    effect has that as its finding, and no figure. All claims are corrected for
    their number. Reads only files and needs no credentials.
    """

    _epilog = """Exit status: 0 nothing is worse than the default; 4 something
is worse; 3 something was not compared or not in effect, and nothing is worse;
1 an error occurred; 2 a wrong argument.

Example: openstack tier effects results/sweep.json --least-difference 5
"""

    name = 'tier effects'
    module = 'cinder_tiers.loop.sweep.effects_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        results.add_sweep(parser, 'tier sweep')
        parser.add_argument(
            '--tier',
            metavar='<tier>',
            action='append',
            default=[],
            dest='tiers',
            help=(
                'compare only this tier of the results (may be repeated; '
                'default: all that each result has)'
            ),
        )
        results.add_quantities(
            parser,
            default=(
                'IOPS, p50 and p99, bandwidth where block sizes vary, and of '
                'a mix each direction'
            ),
        )
        results.add_least_difference(parser)
        results.add_wanted_difference(parser, 'blocks')
