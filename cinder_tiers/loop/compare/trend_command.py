# SPDX-License-Identifier: Apache-2.0

"""`openstack tier trend`: where figures of tiers changed over time."""

import argparse

from cinder_tiers.cli import results
from cinder_tiers.cli import results_command


class ShowTrend(results_command.ResultsLister):
    """Find changes over time in the result files of successive runs.

    Each run is one observation. Where a quantity of a pattern changed its
    level, shows when, by how much, and what else differed from the run before.
    A series needs at least nine runs; the more runs there are on each side of
    a change, the sooner it is found, and the more tiers, patterns and
    quantities are compared, the more runs are needed. Where each run is like
    the one before, a change must be greater. Lists runs without a sound result
    of a pattern, which are left out. Reads only files and needs no
    credentials.
    """

    _epilog = """Exit status: 0 no quantity is at a worse level than before its
last change; 4 a quantity is at a worse level; 3 there were too few runs to
tell, they wander, or the newest has no sound result of a pattern, and nothing
is worse; 1 an error occurred; 2 a wrong argument.

Example: openstack tier trend mon.json tue.json wed.json thu.json --changes
"""

    name = 'tier trend'
    module = 'cinder_tiers.loop.compare.trend_rows'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command."""
        results.add_files(
            parser, 'result file of a run; their order does not matter'
        )
        results.add_quantities(parser)
        parser.add_argument(
            '--changes',
            action='store_true',
            help='show only what changed',
        )
